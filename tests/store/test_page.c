/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through collections on both stores, against a sorted array that knows nothing of SQL. */
#include "fixture.h"
#include "query/handle.h"
#include "store/store.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 400
#define WALKS    60

struct bench {
    struct fixture fixture;
    struct store *store;
    struct json_doc *doc;
    struct handles *handles;
    struct handle *handle;
    struct page page;
    struct refusal refusal;
    struct err err;
    bool busy;          /* a page is being read */
    struct text script; /* changes not yet in the store */
};

static enum fixture_kind kind;
static unsigned executed;
static struct text everything[2]; /* all pages of the property test, by store */

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s / %s", rc_name(got_), bench->err.text, bench->refusal.err.text);      \
    } while (0)

static void run(struct bench *bench, const char *sql)
{
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
}

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct store_position position;
    unsigned applied;
    fixture_open(&bench->fixture, kind);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &bench->store, &bench->err));
    assert_ok(store_migrate(bench->store, &applied, &bench->err));
    assert_ok(store_claim(bench->store, "test", NULL, 1, &position, &bench->err));
    run(bench,
        kind == FIXTURE_SQLITE
            ? "CREATE TABLE thing (n INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT, f REAL)"
            : "CREATE TABLE thing (n BIGINT PRIMARY KEY, a BIGINT NOT NULL, "
              "b TEXT COLLATE \"C\", f DOUBLE PRECISION)");
    bench->doc = json_doc_new(8 << 20, JSON_DEPTH_MAX);
    bench->handles = handles_new(0, 0);
    *state = bench;
    executed++;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    if (bench->busy) /* a failed test left it so */
        handle_abandon(bench->handles, bench->handle, 0);
    page_free(&bench->page);
    text_free(&bench->script);
    handles_free(bench->handles);
    json_doc_free(bench->doc);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static const struct column thing_columns[] = {
    {"id", COLUMN_ID, "t.n", "t.n", false},
    {"a", COLUMN_INT, "t.a", "t.a", false},
    {"b", COLUMN_TEXT, "t.b", "t.b", true},
    {"f", COLUMN_FLOAT, "t.f", "t.f", true},
};
static const struct collection_order thing_order[] = {{1, true}};
static const struct collection things = {
    .name = "things",
    .table = "thing t",
    .joins = "",
    .n = "t.n",
    .columns = thing_columns,
    .column_count = 4,
    .order = thing_order,
    .order_count = 1,
    .page_size = 100,
};

/* ---- the model ---- */

struct thing {
    int64_t n;
    int a, b, f; /* places in the lists of values; 0 of b and f is NULL */
    bool alive, stable;
    unsigned delivered;
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
    *thing = (struct thing){.n = (int64_t)++model->count, .alive = true, .stable = true};
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
    thing->stable = false;
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
    run(model->bench, text_string(&model->bench->script));
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

static void open_walk(struct bench *bench, const struct collection *collection, const char *order,
                      unsigned page_size)
{
    struct handle_spec spec = {.collection = collection, .page_size = page_size};
    static uint64_t random[2];
    struct json root;
    random[0]++;
    assert_ok(json_parse_copy(bench->doc, bytes_of(order), &root, &bench->err));
    assert_ok(order_parse(collection, root, &spec.order, &bench->refusal));
    assert_ok(
        opening_read(bench->store, collection, spec.where, false, &spec.opening, &bench->err));
    assert_ok(
        handle_open(bench->handles, &spec, (uint8_t *)random, 0, &bench->handle, &bench->refusal));
}

/* Asks for `number`, or the next page when it is -1; the ids go to `ids`. */
static size_t ask(struct bench *bench, int64_t number, int64_t *ids, bool *has_more)
{
    enum handle_step step;
    struct page_request request;
    struct json root, item;
    struct bytes key, id;
    size_t count = 0;
    assert_ok(handle_begin(bench->handle, number, &step, &number, &request, &bench->refusal));
    *has_more = false;
    if (step == STEP_END)
        return 0;
    bench->busy = true;
    assert_ok(page_fetch(bench->store, &request, &bench->page, &bench->refusal, &bench->err));
    size_t rows = bench->page.rows;
    bench->busy = false;
    assert_ok(handle_deliver(bench->handles, bench->handle, step, &bench->page, 0, has_more,
                             &bench->refusal));
    assert_ok(json_parse_copy(bench->doc, text_bytes(&bench->page.items), &root, &bench->err));
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &item)) {
        assert_true(json_string(json_get(item, "id"), &id));
        assert_true(bytes_to_i64(id, &ids[count++]));
    }
    assert_int_equal(count, rows);
    return count;
}

static void expect_rows(struct thing *const *wanted, size_t wanted_count, const int64_t *ids,
                        size_t count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ids[i], wanted[i]->n);
}

/* The same page again: every row that is between the two places now. */
static void ask_again(struct model *model, int64_t number, const struct thing *start,
                      const struct thing *end)
{
    struct thing *there[ROWS_MAX], *wanted[ROWS_MAX];
    int64_t ids[ROWS_MAX];
    bool has_more;
    size_t count = list(model, there), wanted_count = 0;
    for (size_t i = 0; i < count; i++)
        if ((start == NULL || compare(there[i], start) > 0) && compare(there[i], end) <= 0)
            wanted[wanted_count++] = there[i];
    expect_rows(wanted, wanted_count, ids, ask(model->bench, number, ids, &has_more));
}

static void walk_to_the_end(struct model *model)
{
    struct thing *there[ROWS_MAX], start, end;
    int64_t ids[ROWS_MAX];
    bool has_more = true, placed = false;
    for (int64_t number = 0; has_more; number++) {
        size_t total = list(model, there), skip = 0;
        while (placed && skip < total && compare(there[skip], &end) <= 0)
            skip++;
        size_t wanted = total - skip < model->page_size ? total - skip : model->page_size;
        size_t count = ask(model->bench, below(model, 2) ? number : -1, ids, &has_more);
        expect_rows(there + skip, wanted, ids, count);
        assert_int_equal(has_more, skip + wanted < total);
        text_append(&everything[kind], model->bench->page.items.data, model->bench->page.items.len);
        for (size_t i = 0; i < count; i++)
            there[skip + i]->delivered++;
        bool had = placed;
        if (count == 0)
            break;
        start = end;
        end = *there[skip + count - 1];
        placed = true;
        disturb(model);
        for (size_t i = below(model, 3); i > 0; i--)
            ask_again(model, number, had ? &start : NULL, &end);
        disturb(model);
    }
    for (size_t i = 0; i < model->count; i++)
        if (model->things[i].stable && model->things[i].n < model->fence)
            assert_int_equal(model->things[i].delivered, 1);
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
}

/* R004-36 R004-37 R004-38 R004-39 R004-40 */
static void a_row_that_keeps_its_key_is_delivered_exactly_once(void **state)
{
    struct bench *bench = *state;
    const char *given = getenv("TIDEMARK_SEED");
    uint64_t seed = given == NULL ? 20251115 : strtoull(given, NULL, 10);
    struct text order = {0};
    struct model *model = calloc(1, sizeof *model);
    printf("# pages: TIDEMARK_SEED=%" PRIu64 "\n", seed);
    for (unsigned i = 0; i < WALKS; i++) {
        *model = (struct model){.bench = bench, .chance = seed + i};
        run(bench, "DELETE FROM thing; UPDATE engine SET next_n = 1");
        for (size_t rows = i == 0 ? 0 : below(model, 120); rows > 0; rows--)
            insert(model);
        apply(model);
        model->fence = (int64_t)model->count + 1;
        model->page_size = 1 + below(model, i % 3 == 0 ? 3 : 30);
        choose_order(model, &order);
        open_walk(bench, &things, text_string(&order), (unsigned)model->page_size);
        assert_int_equal(handle_spec(bench->handle)->opening.total, model->count);
        disturb(model);
        walk_to_the_end(model);
        handle_close(bench->handles, bench->handle);
    }
    text_free(&order);
    free(model);
}

static void make_things(struct bench *bench, unsigned count, const char *a)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "INSERT INTO thing (n, a) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL "
                 "SELECT i + 1 FROM s WHERE i < %u) SELECT i, %s FROM s;"
                 "UPDATE engine SET next_n = %u",
                 count, a, count + 1);
    run(bench, text_string(&sql));
    text_free(&sql);
}

static void a_thousand_rows_of_one_time_are_all_met_once(void **state) /* R004-35 */
{
    struct bench *bench = *state;
    bool seen[1001] = {false}, has_more = true;
    int64_t ids[8];
    size_t total = 0;
    make_things(bench, 1000, "7");
    open_walk(bench, &things, "[]", 7);
    while (has_more) {
        size_t count = ask(bench, -1, ids, &has_more);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[ids[i]]);
            seen[ids[i]] = true;
        }
        total += count;
    }
    assert_int_equal(total, 1000);
}

static void a_full_last_page_is_the_last(void **state) /* R004-14 */
{
    struct bench *bench = *state;
    int64_t ids[101];
    bool has_more;
    make_things(bench, 300, "i");
    open_walk(bench, &things, "[]", 100);
    for (int page = 0; page < 3; page++) {
        assert_int_equal(ask(bench, -1, ids, &has_more), 100);
        assert_int_equal(has_more, page < 2);
    }
}

static void counts_are_exact_up_to_a_hundred_thousand(void **state) /* R004-07 */
{
    struct bench *bench = *state;
    struct opening opening = {.kind = COUNT_EXACT};
    const struct where none = {0};
    make_things(bench, COUNT_EXACT_MAX, "i");
    assert_ok(opening_read(bench->store, &things, none, false, &opening, &bench->err));
    assert_int_equal(opening.total, COUNT_EXACT_MAX);
    assert_int_equal(opening.kind, COUNT_EXACT);
    assert_int_equal(opening.fence_n, COUNT_EXACT_MAX + 1);
    run(bench, "INSERT INTO thing (n, a) VALUES (100001, 1); UPDATE engine SET next_n = 100002");
    assert_ok(opening_read(bench->store, &things, none, false, &opening, &bench->err));
    assert_int_equal(opening.total, COUNT_EXACT_MAX);
    assert_int_equal(opening.kind, COUNT_AT_LEAST);
    assert_ok(opening_read(bench->store, &things, none, true, &opening, &bench->err));
    assert_int_equal(opening.total, COUNT_EXACT_MAX + 1);
    assert_int_equal(opening.kind, COUNT_EXACT);
    opening.kind = COUNT_NONE;
    assert_ok(opening_read(bench->store, &things, none, false, &opening, &bench->err));
    assert_int_equal(opening.kind, COUNT_NONE);
}

static void a_condition_narrows_pages_and_counts_alike(void **state)
{
    struct bench *bench = *state;
    const struct field params[] = {field_int(3), field_text(bytes_of("x"))};
    const struct where where = {
        .sql = "t.a = ?1 AND (t.b IS NULL OR t.b <> ?2)", .params = params, .count = 2};
    struct order order;
    struct opening opening = {.kind = COUNT_EXACT};
    make_things(bench, 100, "i % 10");
    assert_ok(opening_read(bench->store, &things, where, false, &opening, &bench->err));
    assert_int_equal(opening.total, 10);
    order_default(&things, &order);
    struct page_request request = {.collection = &things,
                                   .order = &order,
                                   .where = where,
                                   .fence_n = opening.fence_n,
                                   .page_size = 6};
    assert_ok(page_fetch(bench->store, &request, &bench->page, &bench->refusal, &bench->err));
    assert_int_equal(bench->page.rows, 6);
    assert_true(bench->page.has_more);
    struct row_key after = {0};
    row_key_move(&after, &bench->page.last);
    request.after = &after;
    assert_ok(page_fetch(bench->store, &request, &bench->page, &bench->refusal, &bench->err));
    assert_int_equal(bench->page.rows, 4);
    assert_false(bench->page.has_more);
    row_key_clear(&after);
}

static void a_page_that_too_many_rows_moved_into_is_refused_not_cut(void **state)
{
    struct bench *bench = *state;
    enum handle_step step;
    struct page_request request;
    int64_t ids[10], number;
    bool has_more;
    make_things(bench, 1000, "i");
    open_walk(bench, &things, "[{\"field\":\"a\",\"direction\":\"asc\"}]", 10);
    assert_int_equal(ask(bench, -1, ids, &has_more), 10);
    run(bench, "UPDATE thing SET a = 5 WHERE n > 500");
    assert_ok(handle_begin(bench->handle, 0, &step, &number, &request, &bench->refusal));
    assert_int_equal(page_fetch(bench->store, &request, &bench->page, &bench->refusal, &bench->err),
                     RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
    handle_abandon(bench->handles, bench->handle, 0);
}

static void a_changed_row_is_read_fresh_on_a_later_page(void **state) /* R004-32 */
{
    struct bench *bench = *state;
    int64_t ids[10];
    bool has_more;
    make_things(bench, 20, "i");
    open_walk(bench, &things, "[{\"field\":\"id\",\"direction\":\"asc\"}]", 10);
    ask(bench, -1, ids, &has_more);
    run(bench, "UPDATE thing SET b = 'changed' WHERE n = 15");
    ask(bench, -1, ids, &has_more);
    assert_non_null(strstr(text_string(&bench->page.items),
                           "{\"id\":\"15\",\"a\":15,\"b\":\"changed\",\"f\":null}"));
}

static void make_posts(struct bench *bench, unsigned count)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "INSERT INTO actors (id, did) VALUES (1, 'did:plc:a');"
                 "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, created_us, "
                 "body) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
                 "WHERE i < %u) SELECT i, 1, 1, 'app.bsky.feed.post', CAST(i AS TEXT), i %% 2, "
                 "1700000000000000 + i / 4, CASE WHEN i %% 3 = 0 THEN NULL ELSE "
                 "1700000000000000 + i * 1000 END, 'x' FROM s;"
                 "UPDATE engine SET next_n = %u; ANALYZE",
                 count, count + 1);
    run(bench, text_string(&sql));
    text_free(&sql);
}

static void a_post_looks_the_same_on_both_stores(void **state)
{
    struct bench *bench = *state;
    int64_t ids[2];
    bool has_more;
    make_posts(bench, 5);
    open_walk(bench, collection_find(bytes_of("posts")), "[]", 1);
    ask(bench, -1, ids, &has_more);
    assert_string_equal(text_string(&bench->page.items),
                        "[{\"id\":\"5\",\"uri\":\"at://did:plc:a/app.bsky.feed.post/5\","
                        "\"actorDid\":\"did:plc:a\",\"handle\":null,"
                        "\"collection\":\"app.bsky.feed.post\",\"rkey\":\"5\",\"kind\":\"repost\","
                        "\"text\":\"x\",\"subject\":null,\"sharedAt\":\"2023-11-14T22:13:20.000001Z"
                        "\",\"createdAt\":\"2023-11-14T22:13:20.005Z\",\"rev\":null,\"seq\":1}]");
}

/* Every collection and every field that can be ordered by, in both directions. */
static void every_built_in_collection_can_be_paged(void **state)
{
    struct bench *bench = *state;
    char order[128];
    int64_t ids[8];
    bool has_more;
    make_posts(bench, 9);
    run(bench, "INSERT INTO gaps VALUES (1, 's', 't', 1, 2, 'why', 3, NULL, 1), "
               "(2, 's', 't', 2, 3, 'why', 3, 4, 1), (3, 's', 't', 5, 6, 'why', 3, NULL, 1);"
               "INSERT INTO owed (id, source, stream, item, state, since_us, seq) VALUES "
               "(4, 's', 't', 'a', 'owed', 1, 1), (5, 's', 't', 'b', 'dead', 1, 1);"
               "INSERT INTO quarantine (id, source, digest, raw, size, reason, at_us, seq) VALUES "
               "(6, 's', 'd', 'r', 1, 'why', 1, 1), (7, 's', 'e', NULL, 1, 'why', 1, 1)");
    static const size_t rows[] = {9, 3, 2, 2};
    for (size_t i = 0; i < collections_built_in_count; i++) {
        const struct collection *collection = &collections_built_in[i];
        for (size_t j = 0; j < 2 * collection->column_count; j++) {
            size_t total = 0;
            if (collection->columns[j / 2].key == NULL)
                continue;
            snprintf(order, sizeof order, "[{\"field\":\"%s\",\"direction\":\"%s\"}]",
                     collection->columns[j / 2].name, j % 2 ? "desc" : "asc");
            open_walk(bench, collection, order, 2);
            do
                total += ask(bench, -1, ids, &has_more);
            while (has_more);
            assert_int_equal(total, rows[i]);
        }
    }
}

static bool take_plan(void *arg, const struct field *columns, size_t count)
{
    const struct field *words = &columns[count - 1];
    text_append(arg, words->b.data, words->b.len);
    text_append_char(arg, '\n');
    return true;
}

static void a_deep_page_is_found_by_the_index(void **state)
{
    struct bench *bench = *state;
    const struct collection *posts = collection_find(bytes_of("posts"));
    struct order order;
    struct row_key after = {0};
    struct seek_sql sql = {0};
    struct text plan = {0}, explain = {0};
    const struct field place[] = {field_int(1700000000000000 + 2000), field_int(8001)};
    make_posts(bench, 20000);
    order_default(posts, &order);
    assert_true(row_key_set(&after, place, 2));
    const struct seek seek = {
        .collection = posts, .order = &order, .fence_n = 20001, .after = &after, .rows_max = 101};
    seek_build(&seek, &sql);
    text_appendf(&explain, "%s %s", kind == FIXTURE_SQLITE ? "EXPLAIN QUERY PLAN" : "EXPLAIN",
                 text_string(&sql.text));
    assert_ok(store_query(bench->store, text_string(&explain), sql.params, sql.param_count,
                          take_plan, &plan, &bench->err));
    const char *words = text_string(&plan);
    if (kind == FIXTURE_SQLITE) {
        assert_non_null(strstr(words, "INDEX post_shared (shared_us=? AND n<?"));
        assert_non_null(strstr(words, "INDEX post_shared (shared_us<?"));
        assert_null(strstr(words, "SCAN t"));
    } else {
        /* Both rungs. The rows of a page are then fetched by number, in whatever way is cheapest. */
        const char *first = strstr(words, "using post_shared on post");
        assert_non_null(first);
        assert_non_null(strstr(first + 1, "using post_shared on post"));
    }
    text_free(&plan);
    text_free(&explain);
    seek_sql_free(&sql);
    row_key_clear(&after);
}

static int run_on(enum fixture_kind which)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_row_that_keeps_its_key_is_delivered_exactly_once),
        ON_STORE(a_thousand_rows_of_one_time_are_all_met_once),
        ON_STORE(a_full_last_page_is_the_last),
        ON_STORE(counts_are_exact_up_to_a_hundred_thousand),
        ON_STORE(a_condition_narrows_pages_and_counts_alike),
        ON_STORE(a_page_that_too_many_rows_moved_into_is_refused_not_cut),
        ON_STORE(a_changed_row_is_read_fresh_on_a_later_page),
        ON_STORE(a_post_looks_the_same_on_both_stores),
        ON_STORE(every_built_in_collection_can_be_paged),
        ON_STORE(a_deep_page_is_found_by_the_index),
    };
    kind = which;
    executed = 0;
    int failed = cmocka_run_group_tests_name(fixture_kind_name(which), tests, NULL, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(which), executed);
    return failed;
}

int main(void)
{
    int failed = run_on(FIXTURE_SQLITE) + run_on(FIXTURE_POSTGRES);
    if (!bytes_equal(text_bytes(&everything[0]), text_bytes(&everything[1]))) {
        printf("the two stores gave different pages\n");
        failed++;
    }
    text_free(&everything[0]);
    text_free(&everything[1]);
    return failed;
}
