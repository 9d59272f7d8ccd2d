/* SPDX-License-Identifier: Apache-2.0
 *
 * Many walks at once through a collection that changes under them, on both stores, each page
 * compared with a sorted array that knows nothing of SQL.
 *
 *   test_page_walk [PLANT]   with one of `plants` it has to fail on both, and succeeds if so */
#include "walk_model.h"

#include <string.h>

/* Without sanitizers a run makes more than 100,000 walks; CI takes that one, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WALKS_SQLITE   3000
#define WALKS_POSTGRES 1000
#else
#define WALKS_SQLITE   100000
#define WALKS_POSTGRES 17000
#endif
#define WALKERS    50
#define ROUNDS_MAX 65536

struct met {
    int64_t n;
    bool stable; /* it kept its place and its match since the open */
    unsigned delivered;
};

struct walker {
    bool open;
    struct walk walk;
    struct walk_order order;
    int filter;
    int64_t fence;
    size_t page_size;
    bool asked;        /* for a page at least */
    uint32_t patience; /* of its pages: so many slices; 0: as many as it takes */
    struct thing start, end;
    bool started, placed;
    struct met met[THINGS_MAX];
    size_t met_count;
};

struct walks {
    struct walk_model model;
    struct chance chance;
    struct walker walkers[WALKERS];
    size_t target; /* things there should be */
    uint32_t slices_left;
    unsigned done, short_pages;
    uint64_t hash;
};

static uint64_t hashes[2][ROUNDS_MAX]; /* of all pages so far, by store and round */
static unsigned rounds[2];

/* ---- changes ---- */

static void hear_of_change(void *arg, const struct thing *before, const struct thing *after)
{
    struct walks *walks = arg;
    for (size_t i = 0; i < WALKERS; i++) {
        struct walker *walker = &walks->walkers[i];
        for (size_t k = 0; k < walker->met_count; k++)
            if (walker->met[k].n == before->n &&
                (!after->alive || walk_order_compare(&walker->order, before, after) != 0 ||
                 !walk_filter_matches(walker->filter, after)))
                walker->met[k].stable = false;
    }
}

static void change(struct walks *walks, struct thing *thing)
{
    if (thing != NULL)
        walk_model_change(&walks->model, thing, hear_of_change, walks);
}

/* Some things come, some change; seldom they are the ones at which a page ended. */
static void disturb(struct walks *walks)
{
    struct walk_model *model = &walks->model;
    size_t alive = 0;
    for (size_t i = 0; i < THINGS_MAX; i++)
        alive += model->things[i].alive;
    if (alive < walks->target)
        for (uint32_t i = 1 + chance_below(&walks->chance, 4); i > 0; i--)
            walk_model_insert(model);
    for (uint32_t i = chance_below(&walks->chance, alive > walks->target ? 6 : 3); i > 0; i--)
        change(walks, &model->things[chance_below(&walks->chance, THINGS_MAX)]);
    const struct walker *walker = &walks->walkers[chance_below(&walks->chance, WALKERS)];
    if (walker->placed)
        change(walks, walk_model_find(model, walker->end.n));
    walk_model_apply(model);
}

/* ---- one walk ---- */

static bool runs_out_of_patience(void *arg)
{
    struct walks *walks = arg;
    return walks->slices_left != 0 && --walks->slices_left == 0;
}

static void open_walk(struct walks *walks, struct walker *walker)
{
    struct bench *bench = walks->model.bench;
    struct thing *there[THINGS_MAX];
    struct text order = {0};
    *walker = (struct walker){.fence = walks->model.next_n};
    walk_order_choose(&walker->order, &walks->chance, &order);
    walker->filter = (int)chance_below(&walks->chance, FILTER_COUNT + 3) - 3;
    walker->filter = walker->filter < 0 ? 0 : walker->filter;
    walker->page_size = 1 + chance_below(&walks->chance, (uint32_t)walks->target);
    walk_open(bench, &walker->walk, walk_filters[walker->filter], text_string(&order),
              walker->page_size);
    if (chance_below(&walks->chance, 3) == 0) {
        walker->walk.request.slice_rows = 1 + chance_below(&walks->chance, 9);
        walker->walk.request.enough = runs_out_of_patience;
        walker->walk.request.enough_arg = walks;
        walker->patience = chance_below(&walks->chance, 4);
    }
    walker->open = true;
    walker->met_count =
        walk_model_list(&walks->model, &walker->order, walker->filter, walker->fence, there);
    for (size_t i = 0; i < walker->met_count; i++)
        walker->met[i] = (struct met){.n = there[i]->n, .stable = true};
    assert_int_equal(walker->walk.opening.total, walker->met_count);
    text_free(&order);
}

static void close_walk(struct walks *walks, struct walker *walker)
{
    for (size_t i = 0; i < walker->met_count; i++)
        if (walker->met[i].stable)
            assert_int_equal(walker->met[i].delivered, 1);
    walk_close(&walker->walk);
    *walker = (struct walker){0};
    walks->done++;
}

static void add_to_hash(struct walks *walks)
{
    const struct text *items = &walks->model.bench->page.items;
    for (size_t i = 0; i < items->len; i++)
        walks->hash = (walks->hash ^ (unsigned char)items->data[i]) * 1099511628211u;
}

/* A page is what is there after one place up to the next; `ids` must be that. */
static void expect_interval(struct walks *walks, const struct walker *walker, const int64_t *ids,
                            size_t count, size_t *left)
{
    struct thing *there[THINGS_MAX];
    size_t total =
        walk_model_list(&walks->model, &walker->order, walker->filter, walker->fence, there);
    size_t met = 0;
    *left = 0;
    for (size_t i = 0; i < total; i++) {
        bool after =
            walker->started && walk_order_compare(&walker->order, there[i], &walker->start) <= 0;
        bool beyond =
            walker->placed && walk_order_compare(&walker->order, there[i], &walker->end) > 0;
        if (after)
            continue;
        if (beyond) {
            ++*left;
            continue;
        }
        assert_true(met < count);
        assert_int_equal(ids[met++], there[i]->n);
    }
    assert_int_equal(met, count);
}

static void ask_again(struct walks *walks, struct walker *walker)
{
    int64_t ids[THINGS_MAX];
    size_t left;
    size_t count = walk_again(walks->model.bench, &walker->walk, ids);
    add_to_hash(walks);
    if (walker->placed)
        expect_interval(walks, walker, ids, count, &left);
}

static void mark_delivered(struct walker *walker, int64_t n)
{
    for (size_t i = 0; i < walker->met_count; i++)
        walker->met[i].delivered += walker->met[i].n == n;
}

static void take_step(struct walks *walks, struct walker *walker)
{
    int64_t ids[THINGS_MAX];
    size_t left;
    bool has_more, hurried = walker->patience > 0;
    walks->slices_left = walker->patience;
    size_t count = walk_next(walks->model.bench, &walker->walk, ids, &has_more);
    add_to_hash(walks);
    walker->asked = true;
    walker->start = walker->end;
    walker->started = walker->placed;
    walker->placed = walker->walk.end.count > 0;
    if (walker->placed)
        walker->end = walk_order_thing_at(&walker->order, &walker->walk.end);
    expect_interval(walks, walker, ids, count, &left);
    assert_true(count <= walker->page_size);
    if (hurried) {
        assert_true(has_more || left == 0);
        walks->short_pages += count < walker->page_size && has_more;
    } else {
        assert_int_equal(has_more, left > 0);
        assert_true(count == walker->page_size || !has_more);
    }
    for (size_t i = 0; i < count; i++)
        mark_delivered(walker, ids[i]);
    if (!has_more)
        close_walk(walks, walker);
}

/* ---- all of them ---- */

static void run_round(struct walks *walks)
{
    disturb(walks);
    for (size_t i = 0; i < WALKERS; i++) {
        struct walker *walker = &walks->walkers[i];
        if (!walker->open)
            open_walk(walks, walker);
        else if (walker->asked && chance_below(&walks->chance, 4) == 0)
            ask_again(walks, walker);
        else
            take_step(walks, walker);
    }
}

/* Few things, many things, and a thousandth of the time all of them equal. */
static void set_scene(struct walks *walks)
{
    static const size_t targets[] = {3, 8, 8, 12, 12, 16, 50};
    walks->target = targets[chance_below(&walks->chance, 7)];
    walks->model.ties = chance_below(&walks->chance, 5) == 0;
    for (size_t i = 0; walks->model.ties && i < THINGS_MAX; i++)
        change(walks, &walks->model.things[i]);
}

/* R004-31 R004-36 R004-37 R004-38 R004-39 R004-40 */
static void a_row_that_keeps_its_key_is_delivered_exactly_once(void **state)
{
    struct bench *bench = *state;
    struct walks *walks = calloc(1, sizeof *walks);
    unsigned wanted = both_stores_kind == FIXTURE_SQLITE ? WALKS_SQLITE : WALKS_POSTGRES;
    unsigned round = 0;
    walks->chance = chance_init("page_walk");
    walks->model = (struct walk_model){.bench = bench, .chance = &walks->chance, .next_n = 1};
    walks->hash = 14695981039346656037u;
    for (; walks->done < wanted; round++) {
        if (round % 20 == 0)
            set_scene(walks);
        run_round(walks);
        assert_true(round < ROUNDS_MAX);
        hashes[both_stores_kind][round] = walks->hash;
    }
    rounds[both_stores_kind] = round;
    printf("page_walk: %u walks, %u short pages, %u rounds\n", walks->done, walks->short_pages,
           round);
    for (size_t i = 0; i < WALKERS; i++)
        walk_close(&walks->walkers[i].walk);
    free(walks);
}

static const char *const plants[WALK_PLANTS] = {
    [WALK_BY_OFFSET] = "offset", [WALK_WITHOUT_TIES] = "ties", [WALK_BY_LIMIT] = "limit"};

static enum walk_plant plant_of(const char *word)
{
    for (enum walk_plant plant = WALK_BY_OFFSET; plant < WALK_PLANTS; plant++)
        if (strcmp(plants[plant], word) == 0)
            return plant;
    return WALK_AS_IT_IS;
}

int main(int argc, char **argv)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, walk_bench_set_up, walk_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_row_that_keeps_its_key_is_delivered_exactly_once),
    };
    walk_plant = argc > 1 ? plant_of(argv[1]) : WALK_AS_IT_IS;
    int failed = both_stores_run(tests, sizeof tests / sizeof tests[0]);
    if (argc > 1) {
        printf("caught=%d\n", failed);
        return failed == 2 ? 0 : 1;
    }
    unsigned both = rounds[0] < rounds[1] ? rounds[0] : rounds[1];
    if (both == 0 || hashes[0][both - 1] != hashes[1][both - 1]) {
        printf("the two stores gave different pages\n");
        failed++;
    }
    return failed;
}
