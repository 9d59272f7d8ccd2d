/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.h - asks the store from a loop that must not wait for it.
 *
 * A question goes to a reader with its own connection; its rows come back to the loop, copied and
 * whole. Every question that was taken is answered exactly once, from a later turn of the loop,
 * also when the store cannot be read (RC_RETRY), when it took too long (RC_AGAIN) or when it has
 * more rows than anybody may ask for (RC_REJECT). A reader sees what was committed before the
 * question was asked.
 *
 * 250 ms are long enough for those who look again anyway, and short enough for SQLite to tidy up
 * its log. A patient question is asked again with 1, 4 and 16 s, and those behind it wait.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef STORE_LOOKUP_H
#define STORE_LOOKUP_H

#include "store/store.h"

#define LOOKUP_PARAMS_MAX 8
#define LOOKUP_ROWS_MAX   100000

struct loop;
struct lookup;

/* Fields of all rows, row after row; borrowed for the call. */
struct lookup_answer {
    enum rc rc;
    struct err err;
    const struct field *fields;
    size_t columns, rows;
};

typedef void lookup_fn(void *arg, const struct lookup_answer *answer);

/* At most `asks_max` questions are under way at a time. */
struct lookup *lookup_new(struct loop *loop, const char *store_url, unsigned asks_max);
/* Whoever asked must be there still: what was not answered yet is answered with RC_AGAIN now. */
void lookup_free(struct lookup *lookup);
/* `sql` must outlive the answer; parameters are copied. RC_AGAIN: too many are under way, or the
 * lookup is being freed. */
must_check enum rc lookup_ask(struct lookup *lookup, const char *sql, const struct field *params,
                              size_t param_count, lookup_fn *fn, void *arg);
/* For those who would have to give up what they do. */
must_check enum rc lookup_ask_patiently(struct lookup *lookup, const char *sql,
                                        const struct field *params, size_t param_count,
                                        lookup_fn *fn, void *arg);

#endif
