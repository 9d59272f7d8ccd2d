/* SPDX-License-Identifier: Apache-2.0 */
#include "writer_bench.h"

#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define RETRY_US    2000
#define GIVE_UP_US  20000000
#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

bool writer_bench_start(struct writer_bench *bench, const struct workload *workload,
                        const char *url)
{
    struct err err;
    struct store *store = NULL;
    if (store_open(url, STORE_WRITE, &store, &err) == RC_OK)
        return writer_bench_take(bench, workload, store);
    fprintf(stderr, "bench: %s\n", err.text);
    return false;
}

bool writer_bench_take(struct writer_bench *bench, const struct workload *workload,
                       struct store *store)
{
    struct err err;
    struct store_position position;
    unsigned applied;
    if (store_migrate(store, &applied, &err) != RC_OK ||
        store_claim(store, "bench", NULL, 1, &position, &err) != RC_OK) {
        fprintf(stderr, "bench: %s\n", err.text);
        store_close(store);
        return false;
    }
    *bench = (struct writer_bench){.workload = workload, .done = position.commit_seq};
    bench->answers = answers_new(256u << 10);
    struct writer_options options = {.gather_us = 1,
                                     .retry_us_min = RETRY_US,
                                     .give_up_us = GIVE_UP_US,
                                     .fatal = answers_fatal,
                                     .arg = bench->answers};
    bench->writer = writer_start(store, position, &options);
    return true;
}

void writer_bench_stop(struct writer_bench *bench)
{
    writer_stop(bench->writer, NULL);
    answers_free(bench->answers);
}

void writer_bench_submit(struct writer_bench *bench)
{
    struct batch *batch = answers_batch(bench->answers, bench->handed);
    batch_fn *committed = batch->committed;
    void *courier = batch->courier;
    workload_fill(batch, bench->done + 1);
    batch->committed = committed;
    batch->courier = courier;
    if (writer_submit(bench->writer, batch) != RC_OK)
        abort();
    bench->handed++;
    bench->done++;
}

bool writer_bench_settle(struct writer_bench *bench, const char *url)
{
    return answers_wait(bench->answers, bench->handed) &&
           answers_are(bench->answers, bench->handed, RC_OK) &&
           workload_check(bench->workload, url) == bench->done;
}

uint64_t writer_bench_retries(struct writer_bench *bench)
{
    struct writer_state shown;
    writer_state(bench->writer, &shown);
    return shown.retries;
}

bool writer_bench_await_retries(struct writer_bench *bench, uint64_t count)
{
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (writer_bench_retries(bench) < count)
        if (clock_mono_us() > until)
            return false;
    return true;
}
