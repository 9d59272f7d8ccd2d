/* SPDX-License-Identifier: Apache-2.0 */
#include "owed_bench.h"

#include "ingest/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COLUMNS 5

static struct owed_bench *of(struct runtime *runtime)
{
    return (struct owed_bench *)(void *)runtime;
}

static int64_t wall_us(struct runtime *runtime)
{
    return OWED_BENCH_T0 + of(runtime)->mono_us - of(runtime)->back_us;
}

static int64_t mono_us(struct runtime *runtime)
{
    return of(runtime)->mono_us;
}

static uint64_t chance(struct runtime *runtime)
{
    (void)runtime;
    return RETRY_CENTRE;
}

static void arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    timer_heap_arm(&of(runtime)->timers, timer, of(runtime)->mono_us + delay_us);
}

static void disarm(struct runtime *runtime, struct timer *timer)
{
    timer_heap_disarm(&of(runtime)->timers, timer);
}

static struct http_call *http_send(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    struct owed_bench *bench = of(runtime);
    assert_true(bench->sent_count < OWED_BENCH_SENT_MAX);
    struct owed_bench_sent *sent = &bench->sent[bench->sent_count++];
    snprintf(sent->url, sizeof sent->url, "%s", request->url);
    sent->at_us = bench->mono_us;
    sent->total_ms_max = request->total_ms_max;
    sent->stranger = request->stranger;
    sent->redirects_max = request->redirects_max;
    sent->done = done;
    sent->arg = arg;
    return (struct http_call *)(void *)sent;
}

static void http_cancel(struct runtime *runtime, struct http_call *call)
{
    struct owed_bench_sent *sent = (struct owed_bench_sent *)(void *)call;
    (void)runtime;
    assert_non_null(sent->done);
    sent->done = NULL;
}

static const struct runtime_ops ops = {.wall_us = wall_us,
                                       .mono_us = mono_us,
                                       .random = chance,
                                       .timer_arm = arm,
                                       .timer_disarm = disarm,
                                       .http_send = http_send,
                                       .http_cancel = http_cancel};

/* ---- the store ---- */

static bool is_due(const struct owed_bench *bench, const struct owed_bench_row *row)
{
    return strcmp(row->state, "owed") == 0 &&
           (row->next_us <= bench->lookup_now || row->next_us > bench->lookup_latest);
}

/* Of what is due and was not told yet, the earliest. */
static struct owed_bench_row *find_due(struct owed_bench *bench, const bool *told)
{
    struct owed_bench_row *first = NULL;
    for (size_t i = 0; i < bench->row_count; i++) {
        struct owed_bench_row *row = &bench->rows[i];
        if (!told[i] && is_due(bench, row) && (first == NULL || row->next_us < first->next_us))
            first = row;
    }
    return first;
}

static void read_table(void *arg)
{
    struct owed_bench *bench = arg;
    static struct field fields[OWED_BENCH_ROWS_MAX * COLUMNS];
    static bool told[OWED_BENCH_ROWS_MAX];
    struct lookup_answer answer = {.rc = RC_OK, .fields = fields, .columns = COLUMNS};
    struct owed_bench_row *row;
    memset(told, 0, sizeof told);
    while ((int64_t)answer.rows < bench->lookup_limit && (row = find_due(bench, told)) != NULL) {
        struct field *field = &fields[answer.rows++ * COLUMNS];
        told[row - bench->rows] = true;
        field[0] = field_text(bytes_of(row->item));
        field[1] = field_int(row->attempts);
        field[2] = field_int(row->since_us);
        field[3] =
            row->address[0] == '\0' ? field_null(FIELD_TEXT) : field_text(bytes_of(row->address));
        field[4] = field_int(0);
    }
    lookup_fn *fn = bench->lookup;
    bench->lookup = NULL;
    fn(bench->lookup_arg, &answer);
}

static enum rc ask(void *arg, const char *sql, const struct field *params, size_t count,
                   lookup_fn *fn, void *fn_arg)
{
    struct owed_bench *bench = arg;
    assert_true(count == 5 && strstr(sql, "owed") != NULL);
    assert_null(bench->lookup);
    bench->lookup = fn;
    bench->lookup_arg = fn_arg;
    bench->lookup_now = params[2].i;
    bench->lookup_limit = params[3].i;
    bench->lookup_latest = params[4].i;
    arm(&bench->runtime, &bench->reader, 1);
    return RC_OK;
}

static void copy(char *out, size_t size, const struct field *field)
{
    snprintf(out, size, "%.*s", (int)(field->null ? 0 : field->b.len),
             field->null ? "" : field->b.data);
}

static void commit_owed(struct owed_bench *bench, const struct record *record)
{
    char item[256];
    copy(item, sizeof item, &record->fields[OWED_ITEM]);
    struct owed_bench_row *row = owed_bench_find(bench, item);
    copy(row->state, sizeof row->state, &record->fields[OWED_STATE]);
    copy(row->reason, sizeof row->reason, &record->fields[OWED_REASON]);
    row->attempts = record->fields[OWED_ATTEMPTS].i;
    row->next_us = record->fields[OWED_NEXT_US].null ? 0 : record->fields[OWED_NEXT_US].i;
}

static void commit_batch(struct owed_bench *bench, const struct batch *batch)
{
    for (unsigned id = 0; id < RECORD_ID_COUNT; id++)
        for (const struct record *record = batch->first[id]; record != NULL;
             record = record->next) {
            if (id == RECORD_OWED) {
                commit_owed(bench, record);
                continue;
            }
            record_print(record, &bench->committed);
            text_append_char(&bench->committed, '\n');
        }
}

static void write_batches(void *arg)
{
    struct owed_bench *bench = arg;
    struct batch *batches[8];
    size_t count = bench->batch_count;
    if (bench->hold_commits) {
        arm(&bench->runtime, &bench->writer, 1000);
        return;
    }
    memcpy(batches, bench->batches, sizeof batches);
    bench->batch_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool fails = bench->fail_commits > 0;
        bench->fail_commits -= fails;
        bench->commits++;
        if (!fails)
            commit_batch(bench, batches[i]);
        batches[i]->answered(batches[i]->owner, batches[i], fails ? RC_RETRY : RC_OK);
    }
}

static enum rc submit(void *arg, struct batch *batch)
{
    struct owed_bench *bench = arg;
    assert_true(bench->batch_count < 8);
    bench->batches[bench->batch_count++] = batch;
    arm(&bench->runtime, &bench->writer, 2000);
    return RC_OK;
}

/* ---- the test's side ---- */

void owed_bench_init(struct owed_bench *bench)
{
    *bench = (struct owed_bench){.runtime = {.ops = &ops}};
    bench->writer = (struct timer){.fn = write_batches, .arg = bench};
    bench->reader = (struct timer){.fn = read_table, .arg = bench};
    bench->env = (struct source_env){.runtime = &bench->runtime,
                                     .pool = batch_pool_new(4, (size_t)256 << 10),
                                     .submit = submit,
                                     .submit_arg = bench,
                                     .ask = ask,
                                     .ask_arg = bench};
}

void owed_bench_deinit(struct owed_bench *bench)
{
    assert_int_equal(owed_bench_asking(bench), 0);
    assert_int_equal(batch_pool_left(bench->env.pool), 4);
    assert_int_equal(bench->timers.count, 0);
    batch_pool_free(bench->env.pool);
    timer_heap_deinit(&bench->timers);
    text_free(&bench->committed);
}

struct owed_bench_row *owed_bench_add(struct owed_bench *bench, const char *item,
                                      const char *address)
{
    assert_true(bench->row_count < OWED_BENCH_ROWS_MAX);
    struct owed_bench_row *row = &bench->rows[bench->row_count++];
    snprintf(row->item, sizeof row->item, "%s", item);
    snprintf(row->address, sizeof row->address, "%s", address);
    snprintf(row->state, sizeof row->state, "owed");
    row->since_us = OWED_BENCH_T0;
    return row;
}

struct owed_bench_row *owed_bench_find(struct owed_bench *bench, const char *item)
{
    for (size_t i = 0; i < bench->row_count; i++)
        if (strcmp(bench->rows[i].item, item) == 0)
            return &bench->rows[i];
    fail_msg("nothing is owed for %s", item);
    return NULL;
}

void owed_bench_pass(struct owed_bench *bench, int64_t us)
{
    int64_t until_us = bench->mono_us + us, due_us;
    while (timer_heap_next(&bench->timers, &due_us) && due_us <= until_us) {
        bench->mono_us = due_us > bench->mono_us ? due_us : bench->mono_us;
        struct timer *timer = timer_heap_pop(&bench->timers, bench->mono_us);
        timer->fn(timer->arg);
    }
    bench->mono_us = until_us;
}

struct owed_bench_sent *owed_bench_sent_to(struct owed_bench *bench, const char *url)
{
    for (size_t i = 0; i < bench->sent_count; i++)
        if (bench->sent[i].done != NULL && strncmp(bench->sent[i].url, url, strlen(url)) == 0)
            return &bench->sent[i];
    fail_msg("nobody asks %s", url);
    return NULL;
}

static void tell(struct owed_bench_sent *sent, const struct http_response *response)
{
    http_done_fn *done = sent->done;
    assert_non_null(done);
    sent->done = NULL;
    done(sent->arg, response);
}

void owed_bench_answer(struct owed_bench_sent *sent, int status, const char *headers,
                       const char *body)
{
    size_t len = strlen(body);
    char *padded = calloc(1, len + ARENA_PAD);
    assert_non_null(padded);
    memcpy(padded, body, len);
    const char *after = strstr(headers, "retry-after: ");
    struct http_response response = {
        .status = status,
        .headers = bytes_of(headers),
        .body = bytes_make(padded, len),
        .effective_url = sent->url,
        .retry_after_ms =
            after == NULL ? -1 : strtol(after + strlen("retry-after: "), NULL, 10) * 1000};
    tell(sent, &response);
    free(padded);
}

void owed_bench_break(struct owed_bench_sent *sent, enum rc rc, const char *why)
{
    struct http_response response = {.rc = rc, .retry_after_ms = -1, .effective_url = sent->url};
    snprintf(response.err.text, sizeof response.err.text, "%s", why);
    tell(sent, &response);
}

size_t owed_bench_asking(const struct owed_bench *bench)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->sent_count; i++)
        count += bench->sent[i].done != NULL;
    return count;
}
