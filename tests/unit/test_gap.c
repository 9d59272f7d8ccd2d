/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaps that wait for their unit, alone and against a line of bits. */
#include "ingest/gap.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = 120 };

struct bench {
    struct gap_notes notes;
    struct batch batch;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    gap_notes_init(&bench->notes, "jetstream", "live");
    arena_init(&bench->batch.arena, 1 << 18);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    arena_deinit(&bench->batch.arena);
    free(bench);
    return 0;
}

static void clear(struct bench *bench)
{
    struct arena arena = bench->batch.arena;
    arena_reset(&arena);
    bench->batch = (struct batch){.arena = arena};
}

/* The rows as "[from,to) ", a closed one with an x. */
static void assert_rows(struct bench *bench, const char *expected)
{
    char text[512] = "", *at = text;
    for (struct record *row = bench->batch.first[RECORD_GAP]; row != NULL; row = row->next)
        at += snprintf(at, sizeof text - (size_t)(at - text), "[%lld,%lld)%s ",
                       (long long)row->fields[GAP_FROM_US].i, (long long)row->fields[GAP_TO_US].i,
                       row->fields[GAP_CLOSED_US].null ? "" : "x");
    assert_string_equal(text, expected);
    clear(bench);
}

static void what_is_noted_becomes_a_row_once(void **state)
{
    struct bench *bench = *state;
    gap_note(&bench->notes, 10, 20, "why");
    assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 1000), RC_OK);
    const struct record *row = bench->batch.first[RECORD_GAP];
    assert_true(bytes_equal_string(row->fields[GAP_REASON].b, "why"));
    assert_true(bytes_equal_string(row->fields[GAP_SOURCE].b, "jetstream"));
    assert_true(bytes_equal_string(row->fields[GAP_STREAM].b, "live"));
    assert_int_equal(row->fields[GAP_DETECTED_US].i, 1000);
    assert_rows(bench, "[10,20) ");
    assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 2000), RC_OK);
    assert_rows(bench, "");
}

/* Others close rows without a word: what was opened before is not touched again. */
static void a_gap_that_meets_one_that_is_a_row_is_a_row_of_its_own(void **state)
{
    struct bench *bench = *state;
    gap_note(&bench->notes, 10, 20, "why");
    assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 1000), RC_OK);
    assert_rows(bench, "[10,20) ");
    gap_note(&bench->notes, 15, 30, "why");
    assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 2000), RC_OK);
    assert_rows(bench, "[15,30) ");
}

static void noted_gaps_that_meet_are_one(void **state)
{
    struct bench *bench = *state;
    gap_note(&bench->notes, 10, 20, "why");
    gap_note(&bench->notes, 40, 50, "why");
    gap_note(&bench->notes, 60, 70, "why");
    gap_note(&bench->notes, 20, 40, "why");
    assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 1000), RC_OK);
    assert_rows(bench, "[10,50) [60,70) ");
}

static void a_gap_without_an_end_is_closed_where_it_ends(void **state)
{
    struct bench *bench = *state;
    char expected[64];
    snprintf(expected, sizeof expected, "[10,%lld)x [10,30) ", (long long)GAP_NO_END_US);
    assert_int_equal(gap_end(&bench->notes, &bench->batch, 10, 30, "why", 1000), RC_OK);
    assert_rows(bench, expected);
    snprintf(expected, sizeof expected, "[10,%lld)x ", (long long)GAP_NO_END_US);
    assert_int_equal(gap_end(&bench->notes, &bench->batch, 10, 10, "why", 1000), RC_OK);
    assert_rows(bench, expected);
}

static void what_a_full_batch_does_not_take_stays_noted(void **state)
{
    struct bench *bench = *state;
    struct arena whole = bench->batch.arena;
    size_t most = 0;
    for (size_t size = 0; size < 8192; size += 64) {
        bench->notes.count = 0;
        gap_note(&bench->notes, 10, 20, "why");
        gap_note(&bench->notes, 40, 50, "why");
        clear(bench);
        bench->batch.arena.size = size;
        enum rc rc = gap_open_noted(&bench->notes, &bench->batch, 1000);
        assert_int_equal(bench->notes.count + bench->batch.record_count, 2);
        assert_int_equal(rc, bench->notes.count == 0 ? RC_OK : RC_AGAIN);
        most = bench->batch.record_count > most ? bench->batch.record_count : most;
        clear(bench);
        rc = gap_end(&bench->notes, &bench->batch, 10, 30, "why", 1000);
        assert_int_equal(bench->batch.record_count, rc == RC_OK ? 2 : 0);
    }
    assert_int_equal(most, 2);
    bench->batch = (struct batch){.arena = whole};
}

/* However many are noted: all that is missing is called missing, exactly while there is room. */
static void rows_cover_what_was_noted(void **state)
{
    struct bench *bench = *state;
    struct seeded random = seeded_start("gaps");
    for (int round = 0; round < 2000; round++) {
        bool missing[LINE] = {0}, said[LINE] = {0};
        size_t count = 1 + (size_t)seeded_below(&random, 3 * GAP_NOTED_MAX);
        for (size_t i = 0; i < count; i++) {
            size_t from = (size_t)seeded_below(&random, LINE - 1);
            size_t to = from + 1 + (size_t)seeded_below(&random, i % 4 == 0 ? LINE - from : 3);
            to = to > LINE ? LINE : to;
            memset(missing + from, true, to - from);
            gap_note(&bench->notes, (int64_t)from, (int64_t)to, "why");
        }
        assert_int_equal(gap_open_noted(&bench->notes, &bench->batch, 1000), RC_OK);
        assert_true(bench->batch.record_count <= GAP_NOTED_MAX);
        for (struct record *row = bench->batch.first[RECORD_GAP]; row != NULL; row = row->next)
            for (int64_t at = row->fields[GAP_FROM_US].i; at < row->fields[GAP_TO_US].i; at++)
                said[at] = true;
        for (size_t at = 0; at < LINE; at++)
            assert_true(said[at] == missing[at] || (said[at] && count > GAP_NOTED_MAX));
        clear(bench);
    }
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(what_is_noted_becomes_a_row_once),
        ALONE(a_gap_that_meets_one_that_is_a_row_is_a_row_of_its_own),
        ALONE(noted_gaps_that_meet_are_one),
        ALONE(a_gap_without_an_end_is_closed_where_it_ends),
        ALONE(what_a_full_batch_does_not_take_stays_noted),
        ALONE(rows_cover_what_was_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
