/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks that turn round, begin in the middle and change their page size, through a collection that
 * changes under them, on both stores, compared with an array that knows places only. */
#include "walk_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WALKS 60
#define STEPS 25

/* Where a page ends; `key` means nothing at the beginning. */
struct place {
    bool beginning;
    struct thing key;
};

/* The places that a reader may rely on, and where it stands among them. */
struct trail {
    struct place places[WALK_PLACES_MAX];
    int count, at;
    int64_t number;
    bool ended;
};

struct walk_back {
    struct walk_model model;
    struct chance chance;
    struct walk_order order;
    int filter;
    int64_t fence;
    size_t page_size;
    struct trail trail;
    struct text pages; /* all of them */
};

static struct text everything[2]; /* by store */

static uint32_t below(struct walk_back *walk, uint32_t bound)
{
    return chance_below(&walk->chance, bound);
}

static size_t list(struct walk_back *walk, struct thing **there)
{
    return walk_model_list(&walk->model, &walk->order, walk->filter, walk->fence, there);
}

static int compare(const struct walk_back *walk, const struct thing *a, const struct place *b)
{
    return b->beginning ? 1 : walk_order_compare(&walk->order, a, &b->key);
}

static void ignore_change(void *arg, const struct thing *before, const struct thing *after)
{
    (void)arg, (void)before, (void)after;
}

static void disturb(struct walk_back *walk)
{
    for (uint32_t i = below(walk, 4); i > 0; i--)
        walk_model_insert(&walk->model);
    for (uint32_t i = below(walk, 4); i > 0; i--)
        walk_model_change(&walk->model, &walk->model.things[below(walk, THINGS_MAX)], ignore_change,
                          NULL);
    walk_model_apply(&walk->model);
}

static void expect_rows(struct thing *const *wanted, size_t wanted_count, const int64_t *ids,
                        size_t count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ids[i], wanted[i]->n);
}

/* The page between two places is what is there now. */
static void expect_interval(struct walk_back *walk, const struct place *start, const int64_t *ids,
                            size_t count)
{
    struct thing *there[THINGS_MAX], *wanted[THINGS_MAX];
    size_t total = list(walk, there), wanted_count = 0;
    for (size_t i = 0; i < total; i++)
        if (compare(walk, there[i], start) > 0 && compare(walk, there[i], start + 1) <= 0)
            wanted[wanted_count++] = there[i];
    expect_rows(wanted, wanted_count, ids, count);
}

static void expect_new_page_after(struct walk_back *walk, const int64_t *ids, size_t count)
{
    struct thing *there[THINGS_MAX];
    struct trail *trail = &walk->trail;
    if (trail->count == WALK_PLACES_MAX) {
        memmove(&trail->places[0], &trail->places[1], (WALK_PLACES_MAX - 1) * sizeof(struct place));
        trail->count--;
    }
    struct place *start = &trail->places[trail->count - 1], *end = start + 1;
    size_t total = list(walk, there), skip = 0;
    while (skip < total && compare(walk, there[skip], start) <= 0)
        skip++;
    size_t wanted = total - skip < walk->page_size ? total - skip : walk->page_size;
    expect_rows(there + skip, wanted, ids, count);
    *end = wanted == 0 ? *start : (struct place){.key = *there[skip + wanted - 1]};
    trail->ended = skip + wanted == total;
    trail->at = trail->count++ - 1;
}

/* A page's size of rows before the place at which it ends, that one among them. */
static void expect_new_page_before(struct walk_back *walk, const int64_t *ids, size_t count)
{
    struct thing *there[THINGS_MAX];
    struct trail *trail = &walk->trail;
    struct place start = {.beginning = true};
    size_t total = list(walk, there), before = 0;
    while (before < total && compare(walk, there[before], &trail->places[0]) < 0)
        before++;
    if (before >= walk->page_size)
        start = (struct place){.key = *there[before - walk->page_size]};
    if (trail->count == WALK_PLACES_MAX) {
        trail->count--;
        trail->ended = false;
    }
    memmove(&trail->places[1], &trail->places[0], (size_t)trail->count * sizeof(struct place));
    trail->places[0] = start;
    trail->count++;
    trail->at = 0;
    expect_interval(walk, &trail->places[0], ids, count);
}

static void step_on(struct walk_back *walk)
{
    struct trail *trail = &walk->trail;
    const struct handle_answer *answer = &walk->model.bench->answer;
    int64_t ids[THINGS_MAX], number = trail->number + 1;
    size_t count = page_bench_ask_on(walk->model.bench, &number, ids);
    assert_int_equal(answer->number, number);
    if (trail->at + 2 < trail->count) {
        trail->at++;
        expect_interval(walk, &trail->places[trail->at], ids, count);
    } else if (trail->ended) {
        assert_int_equal(count, 0);
        assert_false(answer->has_more);
        return;
    } else {
        expect_new_page_after(walk, ids, count);
    }
    trail->number++;
    assert_int_equal(answer->has_more, !(trail->ended && trail->at + 2 == trail->count));
}

static void step_back(struct walk_back *walk)
{
    struct trail *trail = &walk->trail;
    const struct handle_answer *answer = &walk->model.bench->answer;
    int64_t ids[THINGS_MAX], number = trail->number - 1;
    size_t count = page_bench_ask_back(walk->model.bench, &number, ids);
    assert_int_equal(answer->number, number);
    if (trail->at > 0) {
        trail->at--;
        expect_interval(walk, &trail->places[trail->at], ids, count);
    } else if (trail->places[0].beginning) {
        assert_int_equal(count, 0);
        assert_false(answer->has_previous);
        return;
    } else {
        expect_new_page_before(walk, ids, count);
    }
    trail->number--;
    assert_int_equal(answer->has_previous, trail->at > 0 || !trail->places[0].beginning);
}

static void step_nowhere(struct walk_back *walk)
{
    struct trail *trail = &walk->trail;
    int64_t ids[THINGS_MAX];
    size_t count = page_bench_ask_back(walk->model.bench, &trail->number, ids);
    expect_interval(walk, &trail->places[trail->at], ids, count);
}

/* Always by its number, for the reader may stand beyond an end. */
static void step(struct walk_back *walk)
{
    struct bench *bench = walk->model.bench;
    uint32_t way = walk->trail.at < 0 ? 0 : below(walk, 5);
    bench->question.page_size = 0;
    if (below(walk, 6) == 0)
        bench->question.page_size = (unsigned)(walk->page_size = 1 + below(walk, 12));
    if (below(walk, 4) == 0)
        page_bench_forget(bench);
    if (way <= 1)
        step_on(walk);
    else if (way <= 3)
        step_back(walk);
    else
        step_nowhere(walk);
    text_append(&walk->pages, bench->answer.page.items.data, bench->answer.page.items.len);
}

/* Half a page before the row, and the rest from it on. */
static void begin_around(struct walk_back *walk, const char *order)
{
    struct thing *there[THINGS_MAX];
    struct trail *trail = &walk->trail;
    size_t total = list(walk, there), at = below(walk, (uint32_t)total);
    size_t before = walk->page_size / 2, first = at > before ? at - before : 0;
    size_t last = first + walk->page_size < total ? first + walk->page_size : total;
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, there[at]->n);
    assert_int_equal(page_bench_open_around(walk->model.bench, &page_bench_things, order,
                                            (unsigned)walk->page_size, id),
                     RC_OK);
    if (first > 0)
        trail->places[0] = (struct place){.key = *there[first - 1]};
    trail->places[1] = (struct place){.key = *there[last - 1]};
    trail->count = 2;
    trail->ended = last == total;
}

static void begin(struct walk_back *walk, bool around)
{
    struct bench *bench = walk->model.bench;
    struct thing *there[THINGS_MAX];
    struct text order = {0};
    walk_order_choose(&walk->order, &walk->chance, &order);
    walk->filter = below(walk, 2) == 0 ? 0 : (int)below(walk, FILTER_COUNT);
    walk->fence = walk->model.next_n;
    walk->page_size = 1 + below(walk, 9);
    walk->trail = (struct trail){.count = 1, .at = -1, .number = -1};
    walk->trail.places[0].beginning = true;
    bench->filter = walk_filters[walk->filter];
    if (around && list(walk, there) > 0)
        begin_around(walk, text_string(&order));
    else
        page_bench_open(bench, &page_bench_things, text_string(&order), (unsigned)walk->page_size);
    text_free(&order);
}

/* Wherever the reader goes, in whatever order: an interval it saw stays that interval as long as
 * its places are kept, and new ones join it without a gap. The query is forgotten in memory again
 * and again, as by restarts. R004-16 R004-24 R004-39 */
static void back_is_where_the_reader_came_from(void **state)
{
    struct bench *bench = *state;
    struct walk_back *walk = calloc(1, sizeof *walk);
    walk->chance = chance_init("page_back");
    walk->model = (struct walk_model){.bench = bench, .chance = &walk->chance, .next_n = 1};
    for (unsigned i = 0; i < WALKS; i++) {
        for (uint32_t rows = i == 0 ? 0 : below(walk, 30); rows > 0; rows--)
            walk_model_insert(&walk->model);
        walk_model_apply(&walk->model);
        begin(walk, i % 2 == 1);
        for (int steps = 0; steps < STEPS; steps++) {
            disturb(walk);
            step(walk);
        }
    }
    everything[both_stores_kind] = walk->pages;
    free(walk);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, page_bench_set_up, page_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(back_is_where_the_reader_came_from),
    };
    int failed = both_stores_run(tests, sizeof tests / sizeof tests[0]);
    if (!bytes_equal(text_bytes(&everything[0]), text_bytes(&everything[1]))) {
        printf("the two stores gave different pages\n");
        failed++;
    }
    text_free(&everything[0]);
    text_free(&everything[1]);
    return failed;
}
