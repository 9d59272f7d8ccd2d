/* SPDX-License-Identifier: Apache-2.0
 *
 * store_bench.h - a claimed store, a batch to fill, and short ways to write and to look. */
#ifndef TESTS_STORE_BENCH_H
#define TESTS_STORE_BENCH_H

#include "both_stores.h"
#include "store/commit.h"

struct bench {
    struct fixture fixture;
    struct store *store;
    struct store_position position;
    struct commit *commit;
    struct batch batch;
    struct err err;
};

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), bench->err.text);                                    \
    } while (0)

#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, store_bench_set_up, store_bench_tear_down)

int store_bench_set_up(void **state);
int store_bench_tear_down(void **state);
struct record *add_post(struct bench *bench, const char *did, const char *rkey, const char *rev,
                        int op, int64_t shared_us, const char *text);
void add_cursor(struct bench *bench, const char *source, const char *stream, const char *state,
                int64_t position);
/* Commits the batch and empties it. */
enum rc write_batch(struct bench *bench);
/* Runs a script, which must succeed. */
void run_script(struct bench *bench, const char *sql);
/* The first column of the first row: a number, -1 when there is none; or words, valid until the
 * next call. */
int64_t number(struct bench *bench, const char *sql);
const char *word(struct bench *bench, const char *sql);

#endif
