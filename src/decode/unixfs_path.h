/* SPDX-License-Identifier: Apache-2.0
 *
 * unixfs_path.h - what stands behind a content address: a way through directories.
 *
 * A path is names between slashes, none of them empty; an escape (%20) stands for its byte. Each
 * step looks one name up in the block of a directory. A directory that is spread over shards is not
 * gone through, and nothing is followed but entries: `..` is a name like any other.
 *
 * Borrows. Pure; any thread. */
#ifndef DECODE_UNIXFS_PATH_H
#define DECODE_UNIXFS_PATH_H

#include "decode/cid.h"

#define UNIXFS_PATH_STEPS_MAX 32
#define UNIXFS_NAME_MAX       255

/* Cuts the first name off `path`, which has one, and finds the address that the directory's block
 * has for it. The block was checked against its address. RC_REJECT: it is no directory that we
 * read, or has no such name; it stays so. */
must_check enum rc unixfs_path_step(const struct cid *directory, struct bytes block,
                                    struct bytes *path, struct cid *next, struct err *err);

#endif
