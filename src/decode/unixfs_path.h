/* SPDX-License-Identifier: Apache-2.0
 *
 * unixfs_path.h - what stands behind a content address: a way through directories.
 *
 * A path is names between slashes, none of them empty; an escape (%20) stands for its byte. Each
 * step looks the first name up in the block of a directory. A large directory is spread over
 * shards, a tree in which the bytes of the name's hash say where to go: then a step may lead to
 * the next shard, and the name stays the first. Nothing is followed but entries: `..` is a name
 * like any other.
 *
 * Borrows. Pure; any thread. */
#ifndef DECODE_UNIXFS_PATH_H
#define DECODE_UNIXFS_PATH_H

#include "decode/cid.h"

#define UNIXFS_PATH_STEPS_MAX 32
#define UNIXFS_NAME_MAX       255

struct unixfs_way {
    struct bytes path; /* that is left to go */
    unsigned shards;   /* gone through for its first name */
};

/* Goes on from the directory's block, which was checked against its address; the path has a name.
 * RC_REJECT: it is no directory that we read, or has no such name; it stays so. */
must_check enum rc unixfs_path_step(const struct cid *directory, struct bytes block,
                                    struct unixfs_way *way, struct cid *next, struct err *err);

#endif
