/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaps alone, then against a line of bits and a naive table. */
#include "ingest/gap.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = 120, ROWS_MAX = 8192 };

struct row {
    int64_t from_us, to_us;
    bool open;
};

struct bench {
    struct gap_set set;
    struct batch batch;
    struct row table[ROWS_MAX];
    size_t rows;
};

static struct bench *bench_new(size_t capacity)
{
    struct bench *bench = calloc(1, sizeof *bench);
    gap_set_init(&bench->set, "jetstream", "live", capacity);
    arena_init(&bench->batch.arena, 1 << 18);
    return bench;
}

static void bench_free(struct bench *bench)
{
    gap_set_deinit(&bench->set);
    arena_deinit(&bench->batch.arena);
    free(bench);
}

static int set_up(void **state)
{
    *state = bench_new(0);
    return 0;
}

static int tear_down(void **state)
{
    bench_free(*state);
    return 0;
}

static struct row *row_of(struct bench *bench, int64_t from_us, int64_t to_us)
{
    for (size_t i = 0; i < bench->rows; i++)
        if (bench->table[i].from_us == from_us && bench->table[i].to_us == to_us)
            return &bench->table[i];
    assert_true(bench->rows < ROWS_MAX);
    bench->table[bench->rows] = (struct row){from_us, to_us, false};
    return &bench->table[bench->rows++];
}

static void clear(struct bench *bench)
{
    struct arena arena = bench->batch.arena;
    arena_reset(&arena);
    bench->batch = (struct batch){.arena = arena};
}

/* What the store does with the batch: first what closes, then the rows themselves. */
static void commit(struct bench *bench)
{
    for (struct record *r = bench->batch.first[RECORD_GAP]; r != NULL; r = r->next)
        for (size_t i = 0; i < bench->rows && !r->fields[GAP_CLOSED_US].null; i++)
            if (bench->table[i].from_us >= r->fields[GAP_FROM_US].i &&
                bench->table[i].to_us <= r->fields[GAP_TO_US].i)
                bench->table[i].open = false;
    for (struct record *r = bench->batch.first[RECORD_GAP]; r != NULL; r = r->next)
        row_of(bench, r->fields[GAP_FROM_US].i, r->fields[GAP_TO_US].i)->open =
            r->fields[GAP_CLOSED_US].null;
    clear(bench);
}

static void open(struct bench *bench, int64_t from_us, int64_t to_us)
{
    assert_int_equal(gap_open(&bench->set, &bench->batch, from_us, to_us, "why", 1000), RC_OK);
    commit(bench);
}

static void close(struct bench *bench, int64_t from_us, int64_t to_us)
{
    assert_int_equal(gap_close(&bench->set, &bench->batch, from_us, to_us, 2000), RC_OK);
    commit(bench);
}

/* The open rows, and the open gaps, as "[a,b) [c,d)". */
static void assert_open(struct bench *bench, const char *expected)
{
    char memory[256] = "", table[256] = "";
    size_t len = 0;
    for (size_t i = 0; i < bench->set.count; i++)
        len += (size_t)snprintf(memory + len, sizeof memory - len, "[%d,%d) ",
                                (int)bench->set.open[i].from_us, (int)bench->set.open[i].to_us);
    assert_string_equal(memory, expected);
    len = 0;
    for (int64_t from = 0; from < 1000; from++)
        for (size_t i = 0; i < bench->rows; i++)
            if (bench->table[i].open && bench->table[i].from_us == from)
                len += (size_t)snprintf(table + len, sizeof table - len, "[%d,%d) ", (int)from,
                                        (int)bench->table[i].to_us);
    assert_string_equal(table, expected);
}

static void closing_a_part_leaves_the_rest_as_new_rows(void **state)
{
    struct bench *bench = *state;
    open(bench, 10, 50);
    close(bench, 20, 30);
    assert_open(bench, "[10,20) [30,50) ");
    assert_int_equal(bench->rows, 3); /* the old row is kept, closed */
    close(bench, 0, 12);
    close(bench, 40, 100);
    assert_open(bench, "[12,20) [30,40) ");
    close(bench, 0, 100);
    assert_open(bench, "");
    close(bench, 0, 100);
    assert_int_equal(bench->batch.record_count, 0);
}

static void gaps_that_touch_become_one(void **state)
{
    struct bench *bench = *state;
    open(bench, 10, 20);
    open(bench, 30, 40);
    assert_open(bench, "[10,20) [30,40) ");
    open(bench, 20, 30);
    assert_open(bench, "[10,40) ");
    open(bench, 15, 35);
    assert_open(bench, "[10,40) ");
    open(bench, 5, 5);
    assert_open(bench, "[10,40) ");
    open(bench, 0, 100);
    assert_open(bench, "[0,100) ");
}

static void a_stream_is_complete_since_its_last_gap(void **state)
{
    struct bench *bench = *state;
    assert_true(gap_complete_since(&bench->set) == INT64_MIN);
    open(bench, 10, 20);
    open(bench, 30, 40);
    assert_int_equal(gap_complete_since(&bench->set), 40);
    assert_non_null(gap_find(&bench->set, 0, 11));
    assert_null(gap_find(&bench->set, 20, 30));
    assert_int_equal(gap_find(&bench->set, 20, 31)->from_us, 30);
    close(bench, 35, 40);
    assert_int_equal(gap_complete_since(&bench->set), 35);
    close(bench, 30, 35);
    assert_int_equal(gap_complete_since(&bench->set), 20);
}

static void without_room_more_is_called_missing_never_less(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2);
    open(bench, 10, 20);
    open(bench, 100, 110);
    open(bench, 30, 40);
    assert_open(bench, "[10,40) [100,110) ");
    assert_int_equal(gap_close(&bench->set, &bench->batch, 15, 16, 1), RC_AGAIN);
    assert_open(bench, "[10,40) [100,110) ");
    close(bench, 10, 11);
    assert_open(bench, "[11,40) [100,110) ");
    bench_free(bench);
}

/* Whoever closes rows in the store does not tell: what may be closed is not touched again. */
static void what_others_may_have_closed_stays_as_it_is(void **state)
{
    (void)state;
    struct bench *bench = bench_new(2);
    for (int64_t at = 10; at < 60; at += 10) {
        gap_note(&bench->set, at, at + 2, "test");
        gap_forget(&bench->set);
        assert_int_equal(gap_open_noted(&bench->set, &bench->batch, 1000), RC_OK);
        commit(bench);
    }
    assert_int_equal(bench->rows, 5);
    bench->table[4].open = false; /* [50,52) was filled */
    gap_note(&bench->set, 51, 54, "test");
    gap_forget(&bench->set);
    assert_int_equal(gap_open_noted(&bench->set, &bench->batch, 2000), RC_OK);
    assert_int_equal(bench->batch.record_count, 1);
    commit(bench);
    assert_int_equal(bench->rows, 6);
    for (size_t i = 0; i < 4; i++)
        assert_true(bench->table[i].open && bench->table[i].to_us == bench->table[i].from_us + 2);
    assert_false(bench->table[4].open);
    assert_true(bench->table[5].open && bench->table[5].from_us == 51);
    gap_forget(&bench->set);
    assert_int_equal(bench->set.count, 0);
    bench_free(bench);
}

/* What was read between the two does not fill it. */
static void a_gap_that_grew_was_found_when_its_last_part_was(void **state)
{
    struct bench *bench = *state;
    open(bench, 10, 20);
    assert_int_equal(gap_open(&bench->set, &bench->batch, 20, 30, "why", 3000), RC_OK);
    assert_int_equal(bench->batch.last[RECORD_GAP]->fields[GAP_DETECTED_US].i, 3000);
    commit(bench);
    assert_open(bench, "[10,30) ");
    assert_int_equal(gap_open(&bench->set, &bench->batch, 5, 10, "why", 2500), RC_OK);
    assert_int_equal(bench->batch.last[RECORD_GAP]->fields[GAP_DETECTED_US].i, 3000);
    commit(bench);
}

static void a_full_batch_changes_nothing(void **state)
{
    struct bench *bench = *state;
    open(bench, 10, 20);
    open(bench, 30, 40);
    struct arena whole = bench->batch.arena;
    for (size_t size = 0;; size += 64) { /* from no row to all three */
        arena_reset(&bench->batch.arena);
        bench->batch.arena.size = size;
        if (gap_open(&bench->set, &bench->batch, 0, 50, "why", 1) == RC_OK)
            break;
        assert_int_equal(bench->batch.record_count, 0);
        assert_null(bench->batch.first[RECORD_GAP]);
        assert_open(bench, "[10,20) [30,40) ");
    }
    assert_int_equal(bench->batch.record_count, 3);
    commit(bench);
    assert_open(bench, "[0,50) ");
    bench->batch.arena = whole;
}

static void load(struct bench *bench)
{
    struct field params[GAP_LOAD_PARAMS];
    gap_load_begin(&bench->set, params);
    assert_false(bench->set.unsure);
    for (int64_t from = 0; from < LINE; from++)
        for (size_t i = 0; i < bench->rows; i++) {
            if (!bench->table[i].open || bench->table[i].from_us != from)
                continue;
            struct field row[] = {field_int(from), field_int(bench->table[i].to_us),
                                  field_text(bytes_of("why")), field_int(1)};
            assert_true(gap_load_row(&bench->set, row, 4));
        }
}

static void check_line(struct bench *bench, const bool *missing, bool exactly)
{
    bool in_memory[LINE] = {false}, in_table[LINE] = {false};
    for (size_t i = 0; i < bench->set.count; i++)
        for (int64_t at = bench->set.open[i].from_us; at < bench->set.open[i].to_us; at++)
            in_memory[at] = true;
    for (size_t i = 0; i < bench->rows; i++)
        for (int64_t at = bench->table[i].from_us;
             bench->table[i].open && at < bench->table[i].to_us; at++) {
            assert_false(in_table[at]); /* open rows are disjoint */
            in_table[at] = true;
        }
    assert_memory_equal(in_memory, in_table, sizeof in_memory);
    for (int at = 0; at < LINE; at++) {
        assert_true(in_memory[at] || !missing[at]);
        if (exactly)
            assert_int_equal(in_memory[at], missing[at]);
    }
}

/* A closed row and none at all are alike here. */
static void forget_closed(struct bench *bench)
{
    size_t kept = 0;
    for (size_t i = 0; i < bench->rows; i++)
        if (bench->table[i].open)
            bench->table[kept++] = bench->table[i];
    bench->rows = kept;
}

/* One change, in a batch that commits or is lost. */
static void change(struct bench *bench, struct seeded *random, bool *missing)
{
    int64_t from = (int64_t)seeded_below(random, LINE);
    int64_t to = from + (int64_t)seeded_below(random, (uint64_t)(LINE - from) + 1);
    if (to > from + 12 && seeded_below(random, 4) != 0)
        to = from + 12;
    bool opens = seeded_below(random, 2) == 0;
    enum rc rc = opens ? gap_open(&bench->set, &bench->batch, from, to, "why", 1)
                       : gap_close(&bench->set, &bench->batch, from, to, 2);
    if (rc == RC_AGAIN)
        assert_int_equal(bench->batch.record_count, 0);
    if (seeded_below(random, 20) == 0) {
        clear(bench);
        gap_abandoned(&bench->set);
        load(bench);
        return;
    }
    commit(bench);
    for (int64_t at = from; at < to && rc == RC_OK; at++)
        missing[at] = opens;
    if (seeded_below(random, 50) == 0)
        load(bench);
}

static void open_rows_equal_a_line_of_bits(void **state)
{
    (void)state;
    struct seeded random = seeded_start("gaps");
    const size_t capacities[] = {256, 3, 256, 1};
    unsigned long changes = 0;
    for (int round = 0; changes < 1000000; round++) {
        size_t capacity = capacities[round % 4];
        struct bench *bench = bench_new(capacity);
        bool missing[LINE] = {false};
        for (int i = 0; i < 2000; i++, changes++) {
            if (bench->rows > 100)
                forget_closed(bench);
            change(bench, &random, missing);
            check_line(bench, missing, capacity == 256);
        }
        bench_free(bench);
    }
    printf("# gaps: %lu changes\n", changes);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(closing_a_part_leaves_the_rest_as_new_rows),
        ALONE(gaps_that_touch_become_one),
        ALONE(a_stream_is_complete_since_its_last_gap),
        ALONE(without_room_more_is_called_missing_never_less),
        cmocka_unit_test(what_others_may_have_closed_stays_as_it_is),
        ALONE(a_gap_that_grew_was_found_when_its_last_part_was),
        ALONE(a_full_batch_changes_nothing),
        cmocka_unit_test(open_rows_equal_a_line_of_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
