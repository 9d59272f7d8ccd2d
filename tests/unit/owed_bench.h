/* SPDX-License-Identifier: Apache-2.0
 *
 * owed_bench.h - a scripted machine and a table of owed rows, for what works them off.
 *
 * Time stands still but for owed_bench_pass. The table answers questions as the store would, and a
 * commit changes it as the store would; what else was committed is kept as lines of JSON. */
#ifndef TESTS_OWED_BENCH_H
#define TESTS_OWED_BENCH_H

#include "source/source.h"

#define OWED_BENCH_T0       INT64_C(1790000000000000)
#define OWED_BENCH_SECOND   INT64_C(1000000)
#define OWED_BENCH_ROWS_MAX 1024
#define OWED_BENCH_SENT_MAX 1024

struct owed_bench_row {
    char item[256], address[256], state[8], reason[128]; /* state "": no row */
    int64_t attempts, next_us, since_us;
};

struct owed_bench_sent {
    char url[4096];
    int64_t at_us; /* since the start */
    uint32_t total_ms_max, redirects_max;
    bool stranger;
    http_done_fn *done; /* NULL: over */
    void *arg;
};

struct owed_bench {
    struct runtime runtime; /* first: the runtime is the bench */
    struct source_env env;
    int64_t mono_us;
    int64_t back_us; /* by so much the wall clock was set back */
    struct timer_heap timers;
    struct owed_bench_row rows[OWED_BENCH_ROWS_MAX];
    size_t row_count;
    struct owed_bench_sent sent[OWED_BENCH_SENT_MAX];
    size_t sent_count;
    struct text committed; /* a line per record, but for owed rows */
    unsigned commits, fail_commits;
    bool hold_commits; /* batches wait until this ends */
    /* under way */
    struct batch *batches[8];
    size_t batch_count;
    struct timer writer, reader;
    lookup_fn *lookup;
    void *lookup_arg;
    int64_t lookup_now, lookup_limit, lookup_latest;
};

void owed_bench_init(struct owed_bench *bench);
void owed_bench_deinit(struct owed_bench *bench);
struct owed_bench_row *owed_bench_add(struct owed_bench *bench, const char *item,
                                      const char *address);
struct owed_bench_row *owed_bench_find(struct owed_bench *bench, const char *item);
void owed_bench_pass(struct owed_bench *bench, int64_t us);
/* The exchange under way for an address that begins like this; the test fails without one. */
struct owed_bench_sent *owed_bench_sent_to(struct owed_bench *bench, const char *url);
/* `headers` as the wire has them, each with its line end. */
void owed_bench_answer(struct owed_bench_sent *sent, int status, const char *headers,
                       const char *body);
void owed_bench_break(struct owed_bench_sent *sent, enum rc rc, const char *why);
size_t owed_bench_asking(const struct owed_bench *bench);

#endif
