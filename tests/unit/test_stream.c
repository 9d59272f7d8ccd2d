/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream's pages alone, then whole imports with failover, lost commits and restarts against a
 * naive set that plays the store's unique key. */
#include "ingest/stream.h"

#include "base/json.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TRUTH_MAX = 12000, PAGE_MAX = 1000 };

struct bench {
    struct stream stream;
    struct json_doc *doc;
    struct batch batch;
    struct err err;
    struct window_id ids[PAGE_MAX];
    bool fresh[PAGE_MAX];
    size_t fresh_count;
    struct text stored;     /* the cursor row */
    bool judge[TRUTH_MAX];  /* rows the store has */
    uint64_t rows, refused; /* refused: handed on although the store had it */
    int64_t covered;        /* [0, covered) as stored */
};

static struct bench *bench_new(void)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    arena_init(&bench->batch.arena, 1 << 16);
    stream_init(&bench->stream, "ethereum:0x1", "normal");
    return bench;
}

static void bench_free(struct bench *bench)
{
    stream_deinit(&bench->stream);
    json_doc_free(bench->doc);
    arena_deinit(&bench->batch.arena);
    text_free(&bench->stored);
    free(bench);
}

static int set_up(void **state)
{
    *state = bench_new();
    return 0;
}

static int tear_down(void **state)
{
    bench_free(*state);
    return 0;
}

static struct window_id id_of(uint32_t number)
{
    struct window_id id = {{0}};
    memcpy(id.byte, &number, sizeof number);
    id.byte[15] = 1;
    return id;
}

/* A page of records [from, to), as its provider gives it. */
static enum rc take(struct bench *bench, const char *provider, uint32_t from, uint32_t to,
                    enum cursor_completion completion)
{
    struct cursor at = cursor_make_number(CURSOR_BLOCK_NUMBER, to == 0 ? 0 : to - 1, NULL);
    struct stream_page page = {.provider_name = provider,
                               .ids = bench->ids,
                               .id_count = to - from,
                               .extracted = &at,
                               .extracted_count = from < to,
                               .completion = completion,
                               .covered = {from, to},
                               .now_us = 1700000000000000};
    for (uint32_t i = from; i < to; i++)
        bench->ids[i - from] = id_of(i);
    return stream_take(&bench->stream, &page, bench->doc, &bench->batch, bench->fresh,
                       &bench->fresh_count, &bench->err);
}

/* The transaction: rows, cursor and coverage together, or nothing. */
static void answer(struct bench *bench, bool commits)
{
    const struct record *row = bench->batch.last[RECORD_CURSOR];
    if (commits) {
        text_clear(&bench->stored);
        text_append(&bench->stored, row->fields[CURSOR_ROW_STATE].b.data,
                    row->fields[CURSOR_ROW_STATE].b.len);
        const struct record *covered = bench->batch.last[RECORD_COVERAGE];
        if (covered != NULL && covered->fields[COVERAGE_LO].i <= bench->covered &&
            covered->fields[COVERAGE_HI].i > bench->covered)
            bench->covered = covered->fields[COVERAGE_HI].i;
    }
    struct arena arena = bench->batch.arena;
    arena_reset(&arena);
    bench->batch = (struct batch){.arena = arena};
    stream_answered(&bench->stream, commits ? RC_OK : RC_REJECT);
}

static void insert_fresh(struct bench *bench, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        if (!bench->fresh[i - from])
            continue;
        bench->refused += bench->judge[i];
        bench->rows += !bench->judge[i];
        bench->judge[i] = true;
    }
}

static void page(struct bench *bench, const char *provider, uint32_t from, uint32_t to,
                 enum cursor_completion completion)
{
    assert_int_equal(take(bench, provider, from, to, completion), RC_OK);
    insert_fresh(bench, from, to);
    answer(bench, true);
}

static void restart(struct bench *bench)
{
    stream_deinit(&bench->stream);
    stream_init(&bench->stream, "ethereum:0x1", "normal");
    assert_int_equal(
        stream_resume(&bench->stream, bench->doc,
                      bench->stored.len > 0 ? text_bytes(&bench->stored) : BYTES_ABSENT,
                      &bench->err),
        RC_OK);
}

/* R003-06, R003-07: the last new record, and how many there were. */
static void a_page_gives_its_new_records_and_a_cursor(void **state)
{
    struct bench *bench = *state;
    page(bench, "alpha", 0, 3, CURSOR_UNSAID);
    assert_int_equal(bench->fresh_count, 3);
    assert_int_equal(take(bench, "alpha", 2, 5, CURSOR_UNSAID), RC_OK);
    assert_false(bench->fresh[0]);
    assert_true(bench->fresh[1] && bench->fresh[2]);
    const struct record *row = bench->batch.last[RECORD_CURSOR];
    assert_int_equal(row->fields[CURSOR_ROW_POSITION].i, 4);
    assert_true(bytes_equal_string(row->fields[CURSOR_ROW_STREAM].b, "normal"));
    assert_string_equal(bench->stream.cursor.last_transaction_id,
                        "04000000000000000000000000000001");
    assert_int_equal(bench->stream.cursor.total_fetched, 5);
    assert_int_equal(bench->stream.skipped, 1);
    assert_int_equal(take(bench, "alpha", 5, 6, CURSOR_UNSAID), RC_AGAIN); /* one at a time */
    answer(bench, true);
    assert_int_equal(bench->covered, 5);
}

/* R003-21: what a lost commit held is new again. */
static void an_abandoned_page_is_taken_back(void **state)
{
    struct bench *bench = *state;
    page(bench, "alpha", 0, 10, CURSOR_UNSAID);
    struct cursor_state before = bench->stream.cursor;
    assert_int_equal(take(bench, "alpha", 8, 20, CURSOR_COMPLETE), RC_OK);
    assert_int_equal(bench->fresh_count, 10);
    assert_false(stream_is_complete(&bench->stream)); /* not stored yet */
    answer(bench, false);
    assert_memory_equal(&before, &bench->stream.cursor, sizeof before);
    assert_int_equal(bench->covered, 10);
    assert_int_equal(take(bench, "alpha", 8, 20, CURSOR_COMPLETE), RC_OK);
    assert_int_equal(bench->fresh_count, 10);
    answer(bench, true);
    assert_true(stream_is_complete(&bench->stream));
}

/* R003-20: true, false, and absent, which is false. */
static void a_batch_is_complete_when_its_cursor_says_so(void **state)
{
    (void)state;
    static const struct {
        enum cursor_completion said;
        const char *stored; /* NULL: it is not mentioned */
    } cases[] = {{CURSOR_COMPLETE, "\"isComplete\":true"},
                 {CURSOR_INCOMPLETE, "\"isComplete\":false"},
                 {CURSOR_UNSAID, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = bench_new();
        page(bench, "alpha", 0, 3, cases[i].said);
        const char *told = strstr(text_string(&bench->stored), "\"isComplete\"");
        assert_int_equal(told != NULL, cases[i].stored != NULL);
        if (told != NULL)
            assert_memory_equal(told, cases[i].stored, strlen(cases[i].stored));
        for (int again = 0; again < 2; again++) {
            assert_int_equal(stream_is_complete(&bench->stream), i == 0);
            restart(bench);
        }
        bench_free(bench);
    }
}

/* R003-23, R003-52: a terminal page of duplicates, or without anything, ends the import. */
static void completion_survives_duplicates_and_empty_pages(void **state)
{
    struct bench *bench = *state;
    page(bench, "alpha", 0, 10, CURSOR_UNSAID);
    page(bench, "alpha", 5, 10, CURSOR_COMPLETE);
    assert_int_equal(bench->fresh_count, 0);
    assert_true(stream_is_complete(&bench->stream));
    page(bench, "alpha", 0, 0, CURSOR_UNSAID);
    assert_true(stream_is_complete(&bench->stream));
    assert_int_equal(bench->stream.cursor.primary.number, 9); /* (I9) */
    page(bench, "alpha", 10, 12, CURSOR_INCOMPLETE);
    assert_false(stream_is_complete(&bench->stream));
    page(bench, "beta", 0, 0, CURSOR_COMPLETE);
    assert_true(stream_is_complete(&bench->stream));
    restart(bench);
    assert_true(stream_is_complete(&bench->stream));
}

/* R003-49: the last stored record is known on the first page after a restart. */
static void a_restart_knows_the_last_record(void **state)
{
    struct bench *bench = *state;
    page(bench, "alpha", 0, 10, CURSOR_UNSAID);
    restart(bench);
    assert_int_equal(bench->stream.stream_window.count, 1);
    assert_int_equal(take(bench, "beta", 9, 12, CURSOR_UNSAID), RC_OK);
    assert_false(bench->fresh[0]);
    assert_int_equal(bench->fresh_count, 2);
    answer(bench, true);
    assert_int_equal(bench->stream.cursor.total_fetched, 12);
}

static void a_full_batch_or_a_bad_page_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct cursor_state before = bench->stream.cursor;
    bench->batch.record_count = BATCH_RECORDS_MAX;
    assert_int_equal(take(bench, "alpha", 0, 10, CURSOR_UNSAID), RC_AGAIN);
    bench->batch.record_count = BATCH_RECORDS_MAX - 1; /* the cursor fits, the coverage does not */
    assert_int_equal(take(bench, "alpha", 0, 10, CURSOR_UNSAID), RC_AGAIN);
    assert_null(bench->batch.first[RECORD_CURSOR]);
    bench->batch.record_count = 0;
    assert_int_equal(take(bench, "", 0, 10, CURSOR_UNSAID), RC_REJECT);
    assert_memory_equal(&before, &bench->stream.cursor, sizeof before);
    assert_null(bench->batch.first[RECORD_COVERAGE]);
    page(bench, "alpha", 0, 10, CURSOR_UNSAID);
    assert_int_equal(bench->fresh_count, 10);
}

/* R003-50, R003-53: neither gaps nor duplicates, whatever the overlap; up to the window's size
 * nothing reaches the store twice. */
static void an_overlap_of_any_size_leaves_the_truth(void **state)
{
    (void)state;
    static const uint32_t overlaps[] = {0, 1, 999, 1000, 1001, 5000};
    for (size_t k = 0; k < sizeof overlaps / sizeof *overlaps; k++) {
        struct bench *bench = bench_new();
        for (uint32_t from = 0; from < 6000; from += 100)
            page(bench, "alpha", from, from + 100, CURSOR_UNSAID);
        for (uint32_t from = 6000 - overlaps[k]; from < 8000; from += 250) {
            uint32_t to = from + 250 < 8000 ? from + 250 : 8000;
            page(bench, "beta", from, to, to == 8000 ? CURSOR_COMPLETE : CURSOR_UNSAID);
        }
        assert_int_equal(bench->rows, 8000);
        assert_int_equal(bench->refused, overlaps[k] <= 1000 ? 0 : overlaps[k]);
        assert_true(stream_is_complete(&bench->stream));
        assert_int_equal(bench->covered, 8000);
        bench_free(bench);
    }
}

/* One import: pages of any size, cut anywhere, commits that are lost, restarts, failovers. */
static uint64_t import(struct bench *bench, struct seeded *random, uint32_t truth)
{
    static const uint32_t overlaps[] = {0, 1, 999, 1000, 1001, 5000};
    static const char *const providers[] = {"alpha", "beta", "gamma"};
    const char *provider = "alpha";
    uint32_t at = 0; /* where the next page begins */
    uint64_t records = 0;
    while (!stream_is_complete(&bench->stream)) {
        uint32_t to = at + (uint32_t)seeded_below(random, 400);
        to = to < truth ? to : truth;
        enum rc rc = take(bench, provider, at, to, to == truth ? CURSOR_COMPLETE : CURSOR_UNSAID);
        assert_int_equal(rc, RC_OK);
        records += to - at;
        int64_t total = bench->stream.cursor.total_fetched;
        uint64_t chance = seeded_below(random, 20);
        if (chance >= 2)
            insert_fresh(bench, at, to);
        answer(bench, chance >= 2);
        assert_true(bench->stream.cursor.total_fetched <= total);
        if (chance >= 2)
            at = to;
        if (chance == 3) {
            restart(bench); /* what is stored says where it goes on, that record included */
            at = (uint32_t)bench->stream.cursor.primary.number;
        }
        if (chance == 4) {
            uint32_t back = overlaps[seeded_below(random, 6)];
            provider = providers[seeded_below(random, 3)];
            at = back < at ? at - back : 0;
        }
        assert_true(bench->covered >= at);
    }
    return records;
}

/* R003-47: random failover points and page cuts: the union equals the truth. */
static void any_import_ends_with_the_truth(void **state)
{
    (void)state;
    struct seeded random = seeded_start("imports");
    uint64_t records = 0;
    while (records < 1000000) {
        struct bench *bench = bench_new();
        uint32_t truth = (uint32_t)seeded_below(&random, TRUTH_MAX);
        records += import(bench, &random, truth);
        assert_int_equal(bench->rows, truth);
        assert_int_equal(bench->covered, truth);
        for (uint32_t i = 0; i < truth; i++)
            assert_true(bench->judge[i]);
        assert_true(bench->stream.cursor.total_fetched >= truth);
        bench_free(bench);
    }
    printf("# imports: %lu records\n", (unsigned long)records);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(a_page_gives_its_new_records_and_a_cursor),
        ALONE(an_abandoned_page_is_taken_back),
        cmocka_unit_test(a_batch_is_complete_when_its_cursor_says_so),
        ALONE(completion_survives_duplicates_and_empty_pages),
        ALONE(a_restart_knows_the_last_record),
        ALONE(a_full_batch_or_a_bad_page_changes_nothing),
        cmocka_unit_test(an_overlap_of_any_size_leaves_the_truth),
        cmocka_unit_test(any_import_ends_with_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
