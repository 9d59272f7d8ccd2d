/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/unixfs_path.h"

#include "decode/dag_pb.h"
#include "decode/murmur.h"
#include "decode/protobuf.h"
#include "decode/unixfs.h"
#include "decode/url_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HASH_BYTES   8
#define PREFIX_SIZE  3 /* two digits and a NUL: the usual fanout */
#define FANOUT       256
#define HASH_MURMUR3 0x22

enum { FIELD_HASH = 5, FIELD_FANOUT = 6 };

struct directory {
    struct dag_pb block;
    uint64_t type, hash, fanout;
};

static struct bytes first_name(struct bytes path)
{
    const char *slash = memchr(path.data, '/', path.len);
    return bytes_make(path.data, slash == NULL ? path.len : (size_t)(slash - path.data));
}

static void pass_name(struct unixfs_way *way, size_t len)
{
    size_t passed = len < way->path.len ? len + 1 : len;
    way->path = bytes_make(way->path.data + passed, way->path.len - passed);
    way->shards = 0;
}

static void read_data(struct directory *directory)
{
    struct bytes rest = directory->block.data;
    struct protobuf_field field;
    directory->type = UINT64_MAX;
    while (protobuf_next(&rest, &field) == RC_OK) {
        if (field.is_bytes)
            continue;
        if (field.number == UNIXFS_FIELD_TYPE)
            directory->type = field.value;
        else if (field.number == FIELD_HASH)
            directory->hash = field.value;
        else if (field.number == FIELD_FANOUT)
            directory->fanout = field.value;
    }
}

static enum rc open_directory(const struct cid *cid, struct bytes block, struct bytes name,
                              struct directory *directory, struct err *err)
{
    *directory = (struct directory){.type = UNIXFS_FILE};
    if (cid->codec == CID_DAG_PB) {
        enum rc rc = dag_pb_open(block, &directory->block, err);
        if (rc != RC_OK)
            return rc;
        read_data(directory);
    }
    if (directory->type == UNIXFS_SHARDS &&
        (directory->hash != HASH_MURMUR3 || directory->fanout != FANOUT))
        return err_set(err, RC_REJECT, "`%.*s` lies in a directory of shards that are not read",
                       (int)name.len, name.data);
    if (directory->type != UNIXFS_DIRECTORY && directory->type != UNIXFS_SHARDS)
        return err_set(err, RC_REJECT, "%s where a directory with `%.*s` should be",
                       unixfs_type_words(directory->type), (int)name.len, name.data);
    return RC_OK;
}

static bool find_link(const struct directory *directory, struct bytes name, struct cid *next)
{
    struct bytes rest = directory->block.block;
    struct dag_pb_link link;
    while (dag_pb_next_link(&rest, &link))
        if (bytes_equal(link.name, name)) {
            *next = link.cid;
            return true;
        }
    return false;
}

/* The entry stands in the shard with two digits before its name, the next shard with them alone. */
static bool find_in_shard(const struct directory *directory, struct bytes name,
                          struct unixfs_way *way, size_t len, struct cid *next)
{
    char prefixed[PREFIX_SIZE + UNIXFS_NAME_MAX];
    if (way->shards == HASH_BYTES)
        return false;
    unsigned digits = murmur3_64(name) >> 8 * (HASH_BYTES - 1 - way->shards) & 0xff;
    snprintf(prefixed, sizeof prefixed, "%02X", digits);
    memcpy(prefixed + PREFIX_SIZE - 1, name.data, name.len);
    if (find_link(directory, bytes_make(prefixed, PREFIX_SIZE - 1 + name.len), next)) {
        pass_name(way, len);
        return true;
    }
    way->shards++;
    return find_link(directory, bytes_make(prefixed, PREFIX_SIZE - 1), next);
}

enum rc unixfs_path_step(const struct cid *directory, struct bytes block, struct unixfs_way *way,
                         struct cid *next, struct err *err)
{
    char room[UNIXFS_NAME_MAX];
    struct url_text wanted = url_text_over(room, sizeof room);
    struct directory found;
    assert(way->path.len > 0);
    struct bytes name = first_name(way->path);
    url_text_put_unescaped(&wanted, name, false);
    if (wanted.full)
        return err_set(err, RC_REJECT, "the path has a name of more than %d bytes",
                       UNIXFS_NAME_MAX);
    enum rc rc = open_directory(directory, block, name, &found, err);
    if (rc != RC_OK)
        return rc;
    if (found.type == UNIXFS_SHARDS &&
        find_in_shard(&found, url_text_bytes(&wanted), way, name.len, next))
        return RC_OK;
    if (found.type == UNIXFS_DIRECTORY && way->shards == 0 &&
        find_link(&found, url_text_bytes(&wanted), next)) {
        pass_name(way, name.len);
        return RC_OK;
    }
    return err_set(err, RC_REJECT, "the directory has no `%.*s`", (int)name.len, name.data);
}
