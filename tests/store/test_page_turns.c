/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers who turn back, on both stores, against a sorted array that knows nothing of SQL. */
#include "page_bench.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 400
#define WALKS    60

static struct text everything[2]; /* all pages, by store */

/* ---- the model ---- */

struct thing {
    int64_t n;
    int a, b, f; /* places in the lists of values; 0 of b and f is NULL */
    bool alive;
};

static const char *const texts[] = {NULL, "''", "'A'", "'Aa'", "'a'", "'z'", "'\xc3\xa4'"};
static const char *const reals[] = {"NULL", "-1.5", "0.0", "2.25", "1e9"};

struct model {
    struct bench *bench;
    uint64_t chance;
    struct thing things[ROWS_MAX];
    size_t count;
    struct {
        int field; /* 0 n, 1 a, 2 b, 3 f */
        bool desc;
    } terms[4];
    size_t term_count;
    int64_t fence;
    size_t page_size;
};

static size_t below(struct model *model, size_t bound)
{
    uint64_t z = model->chance += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((z ^ z >> 31) % bound);
}

static int64_t value_of(const struct thing *thing, int field)
{
    const int64_t values[] = {thing->n, thing->a, thing->b, thing->f};
    return values[field];
}

static const struct model *sorting; /* qsort hands nothing over */

static int compare(const struct thing *a, const struct thing *b)
{
    for (size_t i = 0; i < sorting->term_count; i++) {
        int64_t x = value_of(a, sorting->terms[i].field), y = value_of(b, sorting->terms[i].field);
        if (x != y)
            return (x < y) == sorting->terms[i].desc ? 1 : -1;
    }
    /* Ties: the number, as the last field goes. */
    bool desc = sorting->terms[sorting->term_count - 1].desc;
    if (a->n == b->n)
        return 0;
    return (a->n < b->n) == desc ? 1 : -1;
}

static int compare_pointers(const void *a, const void *b)
{
    return compare(*(struct thing *const *)a, *(struct thing *const *)b);
}

/* What is there, in order. */
static size_t list(struct model *model, struct thing **out)
{
    size_t count = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->things[i].alive && model->things[i].n < model->fence)
            out[count++] = &model->things[i];
    sorting = model;
    qsort(out, count, sizeof *out, compare_pointers);
    return count;
}

static void choose_values(struct model *model, struct thing *thing)
{
    thing->a = (int)below(model, 3);
    thing->b = (int)below(model, 7);
    thing->f = (int)below(model, 5);
}

static void insert(struct model *model)
{
    if (model->count == ROWS_MAX)
        return;
    struct thing *thing = &model->things[model->count];
    *thing = (struct thing){.n = (int64_t)++model->count, .alive = true};
    choose_values(model, thing);
    text_appendf(&model->bench->script,
                 "INSERT INTO thing VALUES (%" PRId64 ", %d, %s, %s);"
                 "UPDATE engine SET next_n = %" PRId64 ";",
                 thing->n, thing->a, thing->b == 0 ? "NULL" : texts[thing->b], reals[thing->f],
                 thing->n + 1);
}

static void change_something(struct model *model)
{
    struct text *script = &model->bench->script;
    if (model->count == 0)
        return;
    struct thing *thing = &model->things[below(model, model->count)];
    if (!thing->alive)
        return;
    if (below(model, 2) == 0) {
        thing->alive = false;
        text_appendf(script, "DELETE FROM thing WHERE n = %" PRId64 ";", thing->n);
    } else {
        choose_values(model, thing);
        text_appendf(script, "UPDATE thing SET a = %d, b = %s, f = %s WHERE n = %" PRId64 ";",
                     thing->a, thing->b == 0 ? "NULL" : texts[thing->b], reals[thing->f], thing->n);
    }
}

static void apply(struct model *model)
{
    if (model->bench->script.len == 0)
        return;
    page_bench_run(model->bench, text_string(&model->bench->script));
    text_clear(&model->bench->script);
}

static void disturb(struct model *model)
{
    for (size_t i = below(model, 4); i > 0; i--)
        insert(model);
    for (size_t i = below(model, 3); i > 0; i--)
        change_something(model);
    apply(model);
}

/* ---- the walk ---- */

static void expect_rows(struct thing *const *wanted, size_t wanted_count, const int64_t *ids,
                        size_t count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ids[i], wanted[i]->n);
}

static void choose_order(struct model *model, struct text *json)
{
    static const char *const names[] = {"id", "a", "b", "f"};
    bool used[4] = {false};
    size_t count = 1 + below(model, 3);
    text_clear(json);
    model->term_count = 0;
    while (model->term_count < count) {
        int field = (int)below(model, 12);
        field = field == 0 ? 0 : 1 + field % 3; /* the number itself seldom */
        if (used[field])
            continue;
        used[field] = true;
        model->terms[model->term_count].field = field;
        model->terms[model->term_count].desc = below(model, 2) == 0;
        text_appendf(json, "%s{\"field\":\"%s\",\"direction\":\"%s\"}",
                     model->term_count == 0 ? "[" : ",", names[field],
                     model->terms[model->term_count].desc ? "desc" : "asc");
        model->term_count++;
    }
    text_append_char(json, ']');
    /* What is named after the number itself belongs to no row's place. */
    for (size_t i = 0; i < model->term_count; i++)
        if (model->terms[i].field == 0)
            model->term_count = i + 1;
}

static uint64_t seed(void)
{
    const char *given = getenv("TIDEMARK_SEED");
    return given == NULL ? 20251115 : strtoull(given, NULL, 10);
}

/* ---- both ways ---- */

/* Where a page ends; `key` means nothing at the beginning. */
struct place {
    bool beginning;
    struct thing key;
    size_t size; /* rows that the page which ends here was made for */
};

/* The places that a reader may rely on, and where it stands among them. */
struct trail {
    struct place places[WALK_PLACES_MAX];
    int count, at;
    int64_t number;
    bool ended;
};

static bool is_within(const struct thing *thing, const struct place *start, const struct place *end)
{
    return (start->beginning || compare(thing, &start->key) > 0) && !end->beginning &&
           compare(thing, &end->key) <= 0;
}

/* The page between two places is what is there now. */
static void expect_interval(struct model *model, const struct place *start, const int64_t *ids,
                            size_t count)
{
    struct thing *there[ROWS_MAX] = {0}, *wanted[ROWS_MAX];
    size_t total = list(model, there), wanted_count = 0;
    for (size_t i = 0; i < total; i++)
        if (is_within(there[i], start, start + 1))
            wanted[wanted_count++] = there[i];
    expect_rows(wanted, wanted_count, ids, count);
}

static void drop_first(struct trail *trail)
{
    memmove(&trail->places[0], &trail->places[1], (WALK_PLACES_MAX - 1) * sizeof(struct place));
    trail->count--;
    trail->at--;
}

static void expect_new_page_after(struct model *model, struct trail *trail, const int64_t *ids,
                                  size_t count)
{
    struct thing *there[ROWS_MAX] = {0};
    if (trail->count == WALK_PLACES_MAX)
        drop_first(trail);
    struct place *start = &trail->places[trail->count - 1], *end = start + 1;
    size_t total = list(model, there), skip = 0;
    while (!start->beginning && skip < total && compare(there[skip], &start->key) <= 0)
        skip++;
    size_t wanted = total - skip < model->page_size ? total - skip : model->page_size;
    expect_rows(there + skip, wanted, ids, count);
    *end = wanted == 0 ? *start : (struct place){.key = *there[skip + wanted - 1]};
    end->size = model->page_size;
    trail->ended = skip + wanted == total;
    trail->at = trail->count++ - 1;
}

/* Found in the model as it was before the page was asked for. */
static struct place place_before(struct model *model, const struct place *end)
{
    struct thing *there[ROWS_MAX] = {0};
    size_t total = list(model, there), before = 0;
    while (before < total && compare(there[before], &end->key) < 0)
        before++;
    if (before < model->page_size)
        return (struct place){.beginning = true};
    return (struct place){.key = *there[before - model->page_size]};
}

static void expect_new_page_before(struct model *model, struct trail *trail, const int64_t *ids,
                                   size_t count)
{
    struct place start = place_before(model, &trail->places[0]);
    if (trail->count == WALK_PLACES_MAX) {
        trail->count--;
        trail->ended = false;
    }
    memmove(&trail->places[1], &trail->places[0], (size_t)trail->count * sizeof(struct place));
    trail->places[0] = start;
    trail->places[1].size = model->page_size;
    trail->count++;
    trail->at = 0;
    expect_interval(model, &trail->places[0], ids, count);
}

static void step_on(struct model *model, struct trail *trail, const int64_t *ids, size_t count)
{
    const struct handle_answer *answer = &model->bench->answer;
    assert_int_equal(answer->number, trail->number + 1);
    if (trail->at + 2 < trail->count) {
        trail->at++;
        expect_interval(model, &trail->places[trail->at], ids, count);
    } else if (trail->ended) {
        assert_int_equal(count, 0);
        assert_false(answer->has_more);
        return;
    } else {
        expect_new_page_after(model, trail, ids, count);
    }
    trail->number++;
}

static void step_back(struct model *model, struct trail *trail, const int64_t *ids, size_t count)
{
    const struct handle_answer *answer = &model->bench->answer;
    assert_int_equal(answer->number, trail->number - 1);
    if (trail->at > 0) {
        trail->at--;
        expect_interval(model, &trail->places[trail->at], ids, count);
    } else if (trail->places[0].beginning) {
        assert_int_equal(count, 0);
        assert_false(answer->has_previous);
        return;
    } else {
        expect_new_page_before(model, trail, ids, count);
    }
    trail->number--;
}

/* One page on or back, or the same again; always by its number, for the reader may stand beyond an
 * end. */
static void step(struct model *model, struct trail *trail)
{
    struct bench *bench = model->bench;
    int64_t ids[ROWS_MAX], number;
    size_t way = trail->at < 0 ? 0 : below(model, 5);
    bench->question.page_size = 0;
    if (below(model, 6) == 0)
        bench->question.page_size = (unsigned)(model->page_size = 1 + below(model, 12));
    if (below(model, 4) == 0)
        page_bench_forget(bench);
    if (way <= 1) {
        number = trail->number + 1;
        step_on(model, trail, ids, page_bench_ask_on(bench, &number, ids));
    } else if (way <= 3) {
        number = trail->number - 1;
        step_back(model, trail, ids, page_bench_ask_back(bench, &number, ids));
    } else {
        expect_interval(model, &trail->places[trail->at], ids,
                        page_bench_ask_back(bench, &trail->number, ids));
    }
    text_append(&everything[both_stores_kind], bench->answer.page.items.data,
                bench->answer.page.items.len);
}

static void begin_walk(struct model *model, struct trail *trail, const char *order, bool around)
{
    struct thing *there[ROWS_MAX] = {0};
    size_t total = list(model, there), at = total == 0 ? 0 : below(model, total);
    struct bench *bench = model->bench;
    char id[24];
    *trail = (struct trail){.count = 1, .at = -1, .number = -1};
    trail->places[0].beginning = true;
    if (!around || total == 0) {
        page_bench_open(bench, &things, order, (unsigned)model->page_size);
        return;
    }
    snprintf(id, sizeof id, "%" PRId64, there[at]->n);
    assert_int_equal(page_bench_open_around(bench, &things, order, (unsigned)model->page_size, id),
                     RC_OK);
    /* Half a page before the row, and the rest from it on. */
    size_t before = model->page_size / 2;
    size_t first = at > before ? at - before : 0;
    size_t last = first + model->page_size < total ? first + model->page_size : total;
    if (first > 0)
        trail->places[0] = (struct place){.key = *there[first - 1]};
    trail->places[1] = (struct place){.key = *there[last - 1], .size = model->page_size};
    trail->count = 2;
    trail->ended = last == total;
}

/* Wherever the reader goes, in whatever order: an interval it saw stays that interval as long as
 * its places are kept, and new ones join it without a gap. The query is forgotten in memory again
 * and again, as by restarts. R004-16 R004-24 R004-39 */
static void back_is_where_the_reader_came_from(void **state)
{
    struct bench *bench = *state;
    struct text order = {0};
    struct model *model = calloc(1, sizeof *model);
    struct trail trail;
    for (unsigned i = 0; i < WALKS; i++) {
        *model = (struct model){.bench = bench, .chance = seed() * 31 + i};
        page_bench_run(bench, "DELETE FROM thing; UPDATE engine SET next_n = 1");
        for (size_t rows = i == 0 ? 0 : below(model, 120); rows > 0; rows--)
            insert(model);
        apply(model);
        model->fence = (int64_t)model->count + 1;
        model->page_size = 1 + below(model, 9);
        choose_order(model, &order);
        begin_walk(model, &trail, text_string(&order), i % 2 == 1);
        for (int steps = 0; steps < 30; steps++) {
            disturb(model);
            step(model, &trail);
        }
    }
    text_free(&order);
    free(model);
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
