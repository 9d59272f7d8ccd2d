/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/unixfs.h"

#include "decode/dag_pb.h"
#include "decode/protobuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_DATA = 2, FIELD_SIZE = 3, FIELD_BLOCK_SIZE = 4 };

struct unixfs_place {
    struct cid cid;
    uint64_t offset;
    uint64_t size; /* as the parent says; the root's is not known before it came */
    uint32_t depth;
    bool given;
};

/* What a block of a file says of itself. */
struct file_node {
    struct dag_pb block;
    struct bytes sizes; /* the message, to be walked again for the sizes of the children */
    struct bytes data;
    uint64_t size;
    size_t child_count;
};

const char *unixfs_type_words(uint64_t type)
{
    switch (type) {
    case UNIXFS_RAW:
    case UNIXFS_FILE:
        return "a file";
    case UNIXFS_DIRECTORY:
        return "a directory";
    case UNIXFS_SYMLINK:
        return "a symbolic link";
    case UNIXFS_SHARDS:
        return "a sharded directory";
    default:
        return "UnixFS of another type";
    }
}

static void add_place(struct unixfs_reading *reading, const struct unixfs_place *place)
{
    if (reading->place_count == reading->place_cap) {
        reading->place_cap = reading->place_cap == 0 ? 8 : reading->place_cap * 2;
        reading->places =
            memory_resize(reading->places, reading->place_cap * sizeof *reading->places);
    }
    reading->places[reading->place_count++] = *place;
    reading->open++;
}

void unixfs_begin(struct unixfs_reading *reading, const struct cid *root, size_t size_max)
{
    *reading = (struct unixfs_reading){.size_max = size_max};
    add_place(reading, &(struct unixfs_place){.cid = *root});
}

void unixfs_end(struct unixfs_reading *reading)
{
    free(reading->places);
    text_free(&reading->content);
    *reading = (struct unixfs_reading){0};
}

/* One that came already does not count: its block was not kept. */
static bool is_under_way(const struct unixfs_reading *reading, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!reading->places[i].given &&
            cid_equal(&reading->places[i].cid, &reading->places[at].cid))
            return true;
    return false;
}

bool unixfs_want(struct unixfs_reading *reading, struct cid *cid)
{
    while (!reading->broken && reading->asked < reading->place_count) {
        size_t at = reading->asked++;
        if (reading->places[at].given || is_under_way(reading, at))
            continue;
        *cid = reading->places[at].cid;
        return true;
    }
    return false;
}

/* The sizes of the children, one by one, in the order of the links. */
static bool next_size(struct bytes *rest, struct bytes *packed, uint64_t *size)
{
    struct protobuf_field field;
    while (packed->len == 0) {
        if (protobuf_next(rest, &field) != RC_OK)
            return false;
        if (field.number != FIELD_BLOCK_SIZE)
            continue;
        if (field.is_bytes) {
            *packed = field.bytes;
            continue;
        }
        *size = field.value;
        return true;
    }
    return protobuf_varint(packed, size);
}

/* Counts the children and adds up what they and the block's own bytes take. */
static enum rc measure(struct file_node *node, size_t size_max, struct err *err)
{
    struct bytes rest = node->sizes, packed = BYTES_ABSENT;
    uint64_t sum = node->data.len, size;
    while (next_size(&rest, &packed, &size)) {
        if (size > size_max || sum + size > size_max)
            return err_set(err, RC_REJECT, "the file is larger than %zu bytes", size_max);
        sum += size;
        node->child_count++;
    }
    if (packed.len > 0 || node->child_count != node->block.link_count)
        return err_set(err, RC_REJECT, "the block links to %zu blocks and gives sizes of %zu",
                       node->block.link_count, node->child_count);
    if (sum > size_max)
        return err_set(err, RC_REJECT, "the file is larger than %zu bytes", size_max);
    if (node->size != UINT64_MAX && node->size != sum)
        return err_set(err, RC_REJECT, "the block says it has %llu bytes, its parts have %llu",
                       (unsigned long long)node->size, (unsigned long long)sum);
    node->size = sum;
    return RC_OK;
}

static enum rc read_node(struct bytes block, size_t size_max, struct file_node *node,
                         struct err *err)
{
    struct protobuf_field field;
    uint64_t type = UINT64_MAX;
    *node = (struct file_node){.size = UINT64_MAX, .data = BYTES_ABSENT};
    enum rc rc = dag_pb_open(block, &node->block, err);
    if (rc != RC_OK)
        return rc;
    struct bytes rest = node->sizes = node->block.data;
    while ((rc = protobuf_next(&rest, &field)) == RC_OK) {
        if (field.number == UNIXFS_FIELD_TYPE && !field.is_bytes)
            type = field.value;
        else if (field.number == FIELD_DATA && field.is_bytes)
            node->data = field.bytes;
        else if (field.number == FIELD_SIZE && !field.is_bytes)
            node->size = field.value;
    }
    if (rc != RC_AGAIN || type == UINT64_MAX)
        return err_set(err, RC_REJECT, "the block is no part of a file");
    if (type != UNIXFS_FILE && type != UNIXFS_RAW)
        return err_set(err, RC_REJECT, "%s, not a file", unixfs_type_words(type));
    return measure(node, size_max, err);
}

/* The root says how large the file is; everybody else was told by its parent. */
static enum rc settle_size(struct unixfs_reading *reading, struct unixfs_place *place,
                           uint64_t size, struct err *err)
{
    if (place->depth == 0) {
        place->size = size;
        text_reserve(&reading->content, (size_t)size)[size] = '\0';
        reading->content.len = (size_t)size;
    } else if (place->size != size) {
        return err_set(err, RC_REJECT, "a block has %llu bytes where %llu were announced",
                       (unsigned long long)size, (unsigned long long)place->size);
    }
    return RC_OK;
}

static enum rc add_children(struct unixfs_reading *reading, const struct file_node *node,
                            const struct unixfs_place *parent, struct err *err)
{
    struct bytes links = node->block.block, sizes = node->sizes, packed = BYTES_ABSENT;
    struct dag_pb_link link;
    uint64_t size, offset = parent->offset + node->data.len;
    if (node->child_count > 0 && parent->depth == UNIXFS_DEPTH_MAX)
        return err_set(err, RC_REJECT, "the file is nested deeper than %d blocks",
                       UNIXFS_DEPTH_MAX);
    if (node->child_count > UNIXFS_BLOCKS_MAX - reading->place_count)
        return err_set(err, RC_REJECT, "the file has more than %d blocks", UNIXFS_BLOCKS_MAX);
    while (dag_pb_next_link(&links, &link) && next_size(&sizes, &packed, &size)) {
        add_place(reading,
                  &(struct unixfs_place){
                      .cid = link.cid, .offset = offset, .size = size, .depth = parent->depth + 1});
        offset += size;
    }
    assert(offset == parent->offset + node->size);
    return RC_OK;
}

static void put_bytes(struct unixfs_reading *reading, uint64_t offset, struct bytes data)
{
    assert(offset + data.len <= reading->content.len);
    if (data.len > 0)
        memcpy(reading->content.data + offset, data.data, data.len);
}

static enum rc fill_place(struct unixfs_reading *reading, size_t at, struct bytes block,
                          struct err *err)
{
    struct file_node node = {.data = block, .size = block.len};
    enum rc rc = RC_OK;
    if (reading->places[at].cid.codec == CID_DAG_PB)
        rc = read_node(block, reading->size_max, &node, err);
    else if (block.len > reading->size_max)
        rc = err_set(err, RC_REJECT, "the file is larger than %zu bytes", reading->size_max);
    if (rc == RC_OK)
        rc = settle_size(reading, &reading->places[at], node.size, err);
    if (rc != RC_OK)
        return rc;
    struct unixfs_place place = reading->places[at];
    put_bytes(reading, place.offset, node.data);
    reading->places[at].given = true;
    reading->open--;
    return node.child_count == 0 ? RC_OK : add_children(reading, &node, &place, err);
}

enum rc unixfs_give(struct unixfs_reading *reading, const struct cid *cid, struct bytes block,
                    struct err *err)
{
    size_t before = reading->place_count;
    for (size_t at = 0; at < before; at++) {
        if (reading->places[at].given || !cid_equal(&reading->places[at].cid, cid))
            continue;
        enum rc rc = fill_place(reading, at, block, err);
        if (rc != RC_OK) {
            reading->broken = true;
            return rc;
        }
    }
    return RC_OK;
}

bool unixfs_is_whole(const struct unixfs_reading *reading)
{
    return !reading->broken && reading->open == 0;
}
