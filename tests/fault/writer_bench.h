/* SPDX-License-Identifier: Apache-2.0
 *
 * writer_bench.h - the workload through a real writer, one commit at a time, each one checked.
 *
 * Thread: the test's. */
#ifndef TESTS_FAULT_WRITER_BENCH_H
#define TESTS_FAULT_WRITER_BENCH_H

#include "answers.h"
#include "workload.h"

struct writer_bench {
    const struct workload *workload;
    struct answers *answers;
    struct writer *writer;
    int64_t done;    /* commits the store must hold */
    unsigned handed; /* batches handed over */
};

/* Opens `url`, makes the schema where it is missing, claims it and starts a writer. False with the
 * reason on standard error when it cannot. */
bool writer_bench_start(struct writer_bench *bench, const struct workload *workload,
                        const char *url);
/* The same with a store that is open for writing already; takes it over. */
bool writer_bench_take(struct writer_bench *bench, const struct workload *workload,
                       struct store *store);
void writer_bench_stop(struct writer_bench *bench);
/* Hands commit `done` + 1 + the number under way over. */
void writer_bench_submit(struct writer_bench *bench);
/* Waits until all are answered with RC_OK, and compares what a reader of `url` sees. */
bool writer_bench_settle(struct writer_bench *bench, const char *url);
/* Waits until the writer has met trouble `count` times since its start; false after a minute. */
bool writer_bench_await_retries(struct writer_bench *bench, uint64_t count);
uint64_t writer_bench_retries(struct writer_bench *bench);

#endif
