/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "ingest/quarantine.h"
#include "sys/batch_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US INT64_C(3600000000)
#define NOW_US  (1000 * HOUR_US + 5)

struct bench {
    struct batch_pool *pool;
    struct batch *batch;
    struct quarantine quarantine;
    char *raw; /* more than one row may hold */
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->pool = batch_pool_new(1, (size_t)64 << 20);
    bench->batch = batch_take(bench->pool);
    quarantine_init(&bench->quarantine, "source");
    bench->raw = malloc(QUARANTINE_ROW_BYTES_MAX + 1);
    memset(bench->raw, 'r', QUARANTINE_ROW_BYTES_MAX + 1);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    batch_give_back(bench->batch);
    batch_pool_free(bench->pool);
    free(bench->raw);
    free(bench);
    return 0;
}

static const struct record *add(struct bench *bench, size_t len, int64_t now_us)
{
    struct bytes raw = bytes_make(bench->raw, len);
    assert_int_equal(
        quarantine_add(&bench->quarantine, bench->batch, "host", raw, len, "no JSON", now_us),
        RC_OK);
    return bench->batch->last[RECORD_QUARANTINE];
}

static bool has_text(const struct record *row, unsigned field, const char *text)
{
    return !row->fields[field].null && bytes_equal_string(row->fields[field].b, text);
}

/* (I7): whatever becomes of its bytes, a row says what came, from whom and why it is here. */
static void expect_row(const struct record *row, const struct bench *bench, size_t len, bool kept)
{
    uint8_t digest[DIGEST_SIZE];
    digest_sha256(bytes_make(bench->raw, len), digest);
    assert_true(has_text(row, QUARANTINE_SOURCE, "source"));
    assert_true(has_text(row, QUARANTINE_PROVIDER, "host"));
    assert_true(has_text(row, QUARANTINE_REASON, "no JSON"));
    assert_true(bytes_equal(row->fields[QUARANTINE_DIGEST].b, bytes_make(digest, EVENT_ID_SIZE)));
    assert_int_equal(row->fields[QUARANTINE_SIZE].i, len);
    assert_int_equal(row->fields[QUARANTINE_RAW].null, !kept);
    if (kept)
        assert_true(bytes_equal(row->fields[QUARANTINE_RAW].b, bytes_make(bench->raw, len)));
}

static void a_row_holds_so_much_and_of_more_only_what_it_was(void **state)
{
    struct bench *bench = *state;
    static const struct {
        size_t len;
        bool kept;
    } cases[] = {{0, true},
                 {1, true},
                 {QUARANTINE_ROW_BYTES_MAX, true},
                 {QUARANTINE_ROW_BYTES_MAX + 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_row(add(bench, cases[i].len, NOW_US), bench, cases[i].len, cases[i].kept);
    assert_int_equal(bench->quarantine.rows, 4);
    assert_int_equal(bench->quarantine.cut, 1);
}

/* Garbage at any rate costs so many bytes an hour; every row of it is there still. */
static void an_hour_keeps_so_much_and_the_next_one_as_much_again(void **state)
{
    struct bench *bench = *state;
    int64_t whole = QUARANTINE_HOUR_BYTES_MAX / QUARANTINE_ROW_BYTES_MAX;
    for (int64_t hour = 0; hour < 2; hour++) {
        int64_t now_us = NOW_US + hour * HOUR_US;
        for (int64_t i = 0; i < whole; i++)
            expect_row(add(bench, QUARANTINE_ROW_BYTES_MAX, now_us), bench,
                       QUARANTINE_ROW_BYTES_MAX, true);
        expect_row(add(bench, 1, now_us), bench, 1, false);
        expect_row(add(bench, 0, now_us), bench, 0, true); /* which takes nothing */
    }
    assert_int_equal(bench->quarantine.rows, 2 * (whole + 2));
    assert_int_equal(bench->quarantine.cut, 2);
}

/* What did not fit is asked for again, and costs nothing until it does. */
static void a_full_batch_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct arena *arena = &bench->batch->arena;
    const size_t sizes[] = {arena_left(arena), arena_left(arena) - 512};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct batch_mark mark = batch_mark(bench->batch);
        assert_non_null(arena_take(arena, sizes[i]));
        int64_t left = bench->quarantine.bytes_left;
        assert_int_equal(quarantine_add(&bench->quarantine, bench->batch, "host",
                                        bytes_make(bench->raw, 4096), 4096, "no JSON", NOW_US),
                         RC_AGAIN);
        assert_int_equal(bench->quarantine.rows, 0);
        assert_int_equal(bench->quarantine.bytes_left, left);
        assert_int_equal(bench->batch->record_count, 0);
        batch_undo(bench->batch, mark);
        arena->used = mark.used;
    }
    expect_row(add(bench, 4096, NOW_US), bench, 4096, true);
}

/* Of a message that was passed over there is only a note; its size is told all the same. */
static void a_note_stands_for_what_was_too_large(void **state)
{
    struct bench *bench = *state;
    struct bytes note = bytes_of("a message too large");
    assert_int_equal(quarantine_add(&bench->quarantine, bench->batch, "host", note,
                                    UINT64_C(5000000), "too large", NOW_US),
                     RC_OK);
    const struct record *row = bench->batch->last[RECORD_QUARANTINE];
    assert_int_equal(row->fields[QUARANTINE_SIZE].i, 5000000);
    assert_true(bytes_equal(row->fields[QUARANTINE_RAW].b, note));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_holds_so_much_and_of_more_only_what_it_was, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_hour_keeps_so_much_and_the_next_one_as_much_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_batch_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_note_stands_for_what_was_too_large, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
