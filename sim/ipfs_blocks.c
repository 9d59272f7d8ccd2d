/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ipfs_blocks.h"

#include <stdlib.h>
#include <string.h>

#define CID_RAW_BYTE    0x55
#define CID_DAG_PB_BYTE 0x70
#define MULTIHASH_BYTES 34

struct part {
    size_t block;
    uint64_t size;
};

/* ---- how addresses are spelled ---- */

static void write_base32(const uint8_t *bytes, size_t len, char *out)
{
    size_t bits = len * 8, digit = 0;
    for (; digit * 5 < bits; digit++) {
        unsigned value = 0;
        for (size_t bit = digit * 5; bit < digit * 5 + 5; bit++)
            value = value * 2 + (bit < bits ? (unsigned)bytes[bit / 8] >> (7 - bit % 8) & 1 : 0);
        out[digit] = (char)(value < 26 ? 'a' + value : '2' + value - 26);
    }
    out[digit] = '\0';
}

/* Long division, one digit after the other from the end; no leading zero bytes. */
static void write_base58(const uint8_t *bytes, size_t len, char out[IPFS_CID_SIZE])
{
    static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    uint8_t rest[MULTIHASH_BYTES];
    char digits[IPFS_CID_SIZE];
    size_t count = 0, from = 0;
    memcpy(rest, bytes, len);
    while (from < len) {
        unsigned left = 0;
        for (size_t i = from; i < len; i++) {
            left = left * 256 + rest[i];
            rest[i] = (uint8_t)(left / 58);
            left %= 58;
        }
        digits[count++] = alphabet[left];
        while (from < len && rest[from] == 0)
            from++;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    out[count] = '\0';
}

static void name_block(struct ipfs_block *block)
{
    uint8_t binary[2 + MULTIHASH_BYTES] = {1, block->raw ? CID_RAW_BYTE : CID_DAG_PB_BYTE, 0x12,
                                           DIGEST_SIZE};
    memcpy(binary + 4, block->digest, DIGEST_SIZE);
    block->cid[0] = 'b';
    write_base32(binary, sizeof binary, block->cid + 1);
    if (!block->raw)
        write_base58(binary + 2, MULTIHASH_BYTES, block->cid_v0);
}

/* ---- how blocks are written ---- */

static void put_varint(struct text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_append_char(out, (char)(0x80 | (value & 0x7f)));
    text_append_char(out, (char)value);
}

static void put_number(struct text *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_bytes(struct text *out, unsigned field, struct bytes bytes)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len);
    text_append(out, bytes.data, bytes.len);
}

static void write_leaf(struct bytes data, struct text *out)
{
    struct text file = {0};
    put_number(&file, 1, 2);
    if (data.len > 0)
        put_bytes(&file, 2, data);
    put_number(&file, 3, data.len);
    put_bytes(out, 1, text_bytes(&file));
    text_free(&file);
}

static void put_link(struct text *out, const struct ipfs_block *child, const char *name,
                     uint64_t size)
{
    uint8_t cid[2 + MULTIHASH_BYTES] = {1, child->raw ? CID_RAW_BYTE : CID_DAG_PB_BYTE, 0x12,
                                        DIGEST_SIZE};
    size_t skip = child->raw ? 0 : 2; /* links of old encoders are of version 0 */
    struct text link = {0};
    memcpy(cid + 4, child->digest, DIGEST_SIZE);
    put_bytes(&link, 1, bytes_make(cid + skip, sizeof cid - skip));
    put_bytes(&link, 2, bytes_of(name));
    put_number(&link, 3, size);
    put_bytes(out, 2, text_bytes(&link));
    text_free(&link);
}

void ipfs_node_write(const struct ipfs_blocks *blocks, const size_t *children,
                     const uint64_t *sizes, size_t count, struct text *out)
{
    struct text file = {0};
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        put_link(out, &blocks->blocks[children[i]], "", sizes[i]);
        sum += sizes[i];
    }
    put_number(&file, 1, 2);
    put_number(&file, 3, sum);
    for (size_t i = 0; i < count; i++)
        put_number(&file, 4, sizes[i]);
    put_bytes(out, 1, text_bytes(&file));
    text_free(&file);
}

/* ---- the shelf ---- */

void ipfs_blocks_free(struct ipfs_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        text_free(&blocks->blocks[i].bytes);
    free(blocks->blocks);
    *blocks = (struct ipfs_blocks){0};
}

size_t ipfs_blocks_add(struct ipfs_blocks *blocks, bool raw, struct bytes bytes)
{
    struct ipfs_block block = {.raw = raw};
    digest_sha256(bytes, block.digest);
    for (size_t i = 0; i < blocks->count; i++)
        if (blocks->blocks[i].raw == raw &&
            memcmp(blocks->blocks[i].digest, block.digest, DIGEST_SIZE) == 0)
            return i;
    name_block(&block);
    text_append(&block.bytes, bytes.data, bytes.len);
    if (blocks->count == blocks->cap) {
        blocks->cap = blocks->cap == 0 ? 16 : blocks->cap * 2;
        blocks->blocks = memory_resize(blocks->blocks, blocks->cap * sizeof *blocks->blocks);
    }
    blocks->blocks[blocks->count] = block;
    return blocks->count++;
}

static size_t add_leaf(struct ipfs_blocks *blocks, struct bytes data, bool raw)
{
    struct text leaf = {0};
    if (raw)
        return ipfs_blocks_add(blocks, true, data);
    write_leaf(data, &leaf);
    size_t at = ipfs_blocks_add(blocks, false, text_bytes(&leaf));
    text_free(&leaf);
    return at;
}

/* One level of nodes over `count` parts, in their place; answers how many there are now. */
static size_t raise_level(struct ipfs_blocks *blocks, struct part *parts, size_t count,
                          unsigned fanout)
{
    size_t *children = memory_new(fanout * sizeof *children);
    uint64_t *sizes = memory_new(fanout * sizeof *sizes);
    size_t nodes = 0;
    for (size_t from = 0; from < count; from += fanout) {
        size_t n = count - from < fanout ? count - from : fanout;
        struct text node = {0};
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            children[i] = parts[from + i].block;
            sizes[i] = parts[from + i].size;
            sum += sizes[i];
        }
        ipfs_node_write(blocks, children, sizes, n, &node);
        parts[nodes++] = (struct part){ipfs_blocks_add(blocks, false, text_bytes(&node)), sum};
        text_free(&node);
    }
    free(children);
    free(sizes);
    return nodes;
}

size_t ipfs_blocks_add_file(struct ipfs_blocks *blocks, struct bytes file,
                            const struct ipfs_shape *shape)
{
    size_t count = file.len == 0 ? 1 : (file.len + shape->chunk - 1) / shape->chunk;
    struct part *parts = memory_new(count * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * shape->chunk, left = file.len - at;
        struct bytes leaf = bytes_make(file.data + at, left < shape->chunk ? left : shape->chunk);
        parts[i] = (struct part){add_leaf(blocks, leaf, shape->raw_leaves), leaf.len};
    }
    while (count > 1)
        count = raise_level(blocks, parts, count, shape->fanout);
    size_t root = parts[0].block;
    free(parts);
    return root;
}

size_t ipfs_blocks_add_folder(struct ipfs_blocks *blocks, enum ipfs_folder kind, const char *name,
                              size_t child)
{
    struct text node = {0}, folder = {0};
    put_link(&node, &blocks->blocks[child], name, blocks->blocks[child].bytes.len);
    put_number(&folder, 1, kind);
    if (kind == IPFS_SHARDS) { /* of 256 at most, by a hash of this kind */
        put_number(&folder, 5, 0x22);
        put_number(&folder, 6, 256);
    }
    put_bytes(&node, 1, text_bytes(&folder));
    size_t at = ipfs_blocks_add(blocks, false, text_bytes(&node));
    text_free(&node);
    text_free(&folder);
    return at;
}

const struct ipfs_block *ipfs_blocks_find(const struct ipfs_blocks *blocks, struct bytes cid)
{
    for (size_t i = 0; i < blocks->count; i++)
        if (bytes_equal_string(cid, blocks->blocks[i].cid) ||
            (!blocks->blocks[i].raw && bytes_equal_string(cid, blocks->blocks[i].cid_v0)))
            return &blocks->blocks[i];
    return NULL;
}
