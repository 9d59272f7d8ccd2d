/* SPDX-License-Identifier: Apache-2.0
 *
 * ipfs_blocks.h - files cut into content-addressed blocks, as a gateway would hold them.
 *
 * The maker's side of what the program under test reads: encoders only, written apart from its
 * decoders. A block is never changed or taken away.
 * Owner: one thread. */
#ifndef SIM_IPFS_BLOCKS_H
#define SIM_IPFS_BLOCKS_H

#include "base/bytes.h"
#include "base/digest.h"

#define IPFS_CID_SIZE 64

struct ipfs_block {
    bool raw; /* else dag-pb */
    uint8_t digest[DIGEST_SIZE];
    char cid[IPFS_CID_SIZE];    /* version 1, base32 */
    char cid_v0[IPFS_CID_SIZE]; /* "" for a raw block */
    struct text bytes;
};

struct ipfs_blocks {
    struct ipfs_block *blocks;
    size_t count, cap;
};

/* How a file is cut. */
struct ipfs_shape {
    size_t chunk;    /* bytes of a leaf */
    unsigned fanout; /* children of a node */
    bool raw_leaves; /* leaves are bare bytes, and so is a file of one leaf */
};

/* A folder, or one that is spread over shards, of which this is the first. */
enum ipfs_folder { IPFS_FOLDER = 1, IPFS_SHARDS = 5 };

void ipfs_blocks_free(struct ipfs_blocks *blocks);
/* All three add what is not there yet and answer where it lies. */
size_t ipfs_blocks_add(struct ipfs_blocks *blocks, bool raw, struct bytes block);
size_t ipfs_blocks_add_file(struct ipfs_blocks *blocks, struct bytes file,
                            const struct ipfs_shape *shape);
/* With one entry. */
size_t ipfs_blocks_add_folder(struct ipfs_blocks *blocks, enum ipfs_folder kind, const char *name,
                              size_t child);
/* By the text of either version; NULL: not here. */
const struct ipfs_block *ipfs_blocks_find(const struct ipfs_blocks *blocks, struct bytes cid);
/* A node of a file over these blocks (`sizes` of the file each stands for) into `out`. */
void ipfs_node_write(const struct ipfs_blocks *blocks, const size_t *children,
                     const uint64_t *sizes, size_t count, struct text *out);

#endif
