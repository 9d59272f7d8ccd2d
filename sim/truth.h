/* SPDX-License-Identifier: Apache-2.0
 *
 * truth.h - what a perfect client would have stored by now: posts and reposts.
 *
 * One line of JSON per post and repost that lives and whose author is active, sorted by (did,
 * collection, rkey) in byte order, after one line with the counts and a SHA-256 over "uri TAB rev
 * LF" of each line in that order. `rev`, `updated_us` and the text are those of the last version,
 * `time_us` is that of the creation. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "sim/world.h"

struct truth_scope {
    const bool *accounts; /* one flag per account; NULL: all */
    bool summary_only;
    int64_t from_us; /* records created earlier are left out */
};

struct truth_row {
    const char *did;
    char rkey[TID_SIZE];
    uint8_t collection;
    uint32_t k; /* the event that created the record */
};

void truth_write(const struct world *world, const struct truth_scope *scope, struct text *out);
/* The records of the scope in their order; the caller frees them. */
struct truth_row *truth_rows(const struct world *world, const struct truth_scope *scope,
                             size_t *count);

#endif
