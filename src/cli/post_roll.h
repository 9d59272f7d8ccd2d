/* SPDX-License-Identifier: Apache-2.0
 *
 * post_roll.h - every post and repost of a store, by address, with a digest of what it says.
 *
 * Posts of accounts that are away are left out: nobody is shown them. Read from the daemon when one
 * runs, else from the store. Memory: about 150 bytes per post.
 *
 * Owner: the command. */
#ifndef CLI_POST_ROLL_H
#define CLI_POST_ROLL_H

#include "cli/target.h"

struct post_row {
    struct bytes uri;
    uint64_t digest; /* of kind, text and subject */
    int64_t shared_us;
};

struct post_roll {
    struct post_row *rows; /* sorted by address */
    size_t count, cap;
    char **blocks; /* where the addresses lie */
    size_t block_count, block_used;
};

/* `target` is open. */
must_check enum rc post_roll_read(struct post_roll *roll, struct target *target, struct err *err);
void post_roll_free(struct post_roll *roll);

#endif
