/* SPDX-License-Identifier: Apache-2.0
 *
 * unixfs.h - a file that is spread over blocks, put together from its content address.
 *
 * A reading says which blocks it wants and is given them in any order; each says where its own
 * bytes and those of its children lie in the file, so that every byte has one place. Always holds:
 * the file never grows over `size_max`, the blocks asked for never over UNIXFS_BLOCKS_MAX, nor
 * deeper than UNIXFS_DEPTH_MAX (I6); a file is whole only if every block said the same of its size
 * as its parent did. A block that several places name is asked for once while it is under way.
 *
 * The caller checks a block against its address before it gives it: what is refused here is wrong
 * for good, whoever sent it. A directory, a link or a list of shards is no file.
 *
 * Owner: the caller.  Thread: its own.  Allocates while it grows. */
#ifndef DECODE_UNIXFS_H
#define DECODE_UNIXFS_H

#include "decode/cid.h"

#define UNIXFS_BLOCKS_MAX 4096
#define UNIXFS_DEPTH_MAX  16
#define UNIXFS_BLOCK_MAX  ((size_t)2 << 20) /* of a block that is part of a file */

#define UNIXFS_FIELD_TYPE 1 /* of the message in a block */

enum unixfs_type {
    UNIXFS_RAW = 0,
    UNIXFS_DIRECTORY = 1,
    UNIXFS_FILE = 2,
    UNIXFS_SYMLINK = 4,
    UNIXFS_SHARDS = 5
};

struct unixfs_place; /* a block that belongs somewhere in the file */

struct unixfs_reading {
    size_t size_max;
    struct unixfs_place *places;
    size_t place_count, place_cap;
    size_t asked; /* places below it were asked for, or need not be */
    size_t open;  /* places whose block was not given yet */
    struct text content;
    bool broken;
};

void unixfs_begin(struct unixfs_reading *reading, const struct cid *root, size_t size_max);
void unixfs_end(struct unixfs_reading *reading);
/* The next block to ask for, once each; false: none until more blocks were given. */
must_check bool unixfs_want(struct unixfs_reading *reading, struct cid *cid);
/* A block that was asked for came. RC_REJECT: this is no file, or not one we take; it stays so. */
must_check enum rc unixfs_give(struct unixfs_reading *reading, const struct cid *cid,
                               struct bytes block, struct err *err);
/* Every block was given: `content` is the file. */
bool unixfs_is_whole(const struct unixfs_reading *reading);

/* What a block of that type is, for people. */
const char *unixfs_type_words(uint64_t type);

#endif
