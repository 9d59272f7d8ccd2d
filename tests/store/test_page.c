/* SPDX-License-Identifier: Apache-2.0
 *
 * Single cases of pages and counts, on both stores. */
#include "page_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void make_things(struct bench *bench, unsigned count, const char *a)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "INSERT INTO thing (n, a) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL "
                 "SELECT i + 1 FROM s WHERE i < %u) SELECT i, %s FROM s;"
                 "UPDATE engine SET next_n = %u",
                 count, a, count + 1);
    page_bench_run(bench, text_string(&sql));
    text_free(&sql);
}

static void a_thousand_rows_of_one_time_are_all_met_once(void **state) /* R004-35 */
{
    struct bench *bench = *state;
    bool seen[1001] = {false}, has_more = true;
    int64_t ids[8];
    size_t total = 0;
    make_things(bench, 1000, "7");
    page_bench_open(bench, &things, "[]", 7);
    while (has_more) {
        size_t count = page_bench_ask(bench, -1, ids, &has_more);
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
    page_bench_open(bench, &things, "[]", 100);
    for (int page = 0; page < 3; page++) {
        assert_int_equal(page_bench_ask(bench, -1, ids, &has_more), 100);
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
    page_bench_run(
        bench, "INSERT INTO thing (n, a) VALUES (100001, 1); UPDATE engine SET next_n = 100002");
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
    struct json root;
    struct filter *filter;
    struct order order;
    struct opening opening = {.kind = COUNT_EXACT};
    struct page page = {0};
    make_things(bench, 100, "i % 10");
    assert_ok(json_parse_copy(bench->doc, bytes_of("{\"a\":3,\"b\":{\"$ne\":\"x\"}}"), &root,
                              &bench->err));
    assert_ok(filter_parse(&things, root, &filter, &bench->refusal));
    assert_ok(
        opening_read(bench->store, &things, filter_where(filter), false, &opening, &bench->err));
    assert_int_equal(opening.total, 10);
    order_default(&things, &order);
    struct page_request request = {.collection = &things,
                                   .order = &order,
                                   .filter = filter,
                                   .fence_n = opening.fence_n,
                                   .page_size = 6};
    assert_ok(page_fetch(bench->store, &request, &page, &bench->refusal, &bench->err));
    assert_int_equal(page.rows, 6);
    assert_true(page.has_more);
    struct row_key after = {0};
    row_key_move(&after, &page.last);
    request.after = &after;
    assert_ok(page_fetch(bench->store, &request, &page, &bench->refusal, &bench->err));
    assert_int_equal(page.rows, 4);
    assert_false(page.has_more);
    row_key_clear(&after);
    page_free(&page);
    filter_free(filter);
}

static void a_page_that_too_many_rows_moved_into_is_refused_not_cut(void **state)
{
    struct bench *bench = *state;
    int64_t ids[10];
    bool has_more;
    make_things(bench, 1000, "i");
    page_bench_open(bench, &things, "[{\"field\":\"a\",\"direction\":\"asc\"}]", 10);
    assert_int_equal(page_bench_ask(bench, -1, ids, &has_more), 10);
    page_bench_run(bench, "UPDATE thing SET a = 5 WHERE n > 500");
    bench->question.named = true;
    bench->question.page = 0;
    assert_int_equal(page_bench_try(bench), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
}

/* Rows 1 to 10 have so many bytes. */
static void grow_things(struct bench *bench, unsigned bytes)
{
    char sql[160];
    const char *make = both_stores_kind == FIXTURE_SQLITE ? "hex(zeroblob(" : "repeat('xx', (";
    snprintf(sql, sizeof sql, "UPDATE thing SET b = %s%u)) WHERE n <= 10", make, bytes / 2);
    page_bench_run(bench, sql);
}

/* I6: what was delivered once is delivered whole, or not at all. */
static void a_page_whose_rows_grew_too_much_is_refused_not_cut(void **state)
{
    struct bench *bench = *state;
    int64_t ids[10];
    bool has_more;
    make_things(bench, 20, "i");
    page_bench_open(bench, &things, "[{\"field\":\"a\",\"direction\":\"asc\"}]", 10);
    assert_int_equal(page_bench_ask(bench, -1, ids, &has_more), 10);
    grow_things(bench, 3 << 20);
    bench->question.named = true;
    bench->question.page = 0;
    assert_ok(page_bench_try(bench));
    assert_int_equal(bench->answer.page.rows, 10);
    grow_things(bench, 4 << 20);
    assert_int_equal(page_bench_try(bench), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
    assert_non_null(strstr(bench->refusal.err.text, "32 MiB"));
    assert_int_equal(page_bench_ask(bench, -1, ids, &has_more), 10);
    assert_int_equal(ids[0], 11);
    bench->question.direction = WALK_PREVIOUS;
    assert_int_equal(page_bench_try(bench), RC_REJECT);
    assert_int_equal(bench->refusal.code, REFUSAL_CONFLICT);
    grow_things(bench, 2);
    assert_int_equal(page_bench_ask_back(bench, NULL, ids), 10);
    assert_int_equal(ids[0], 1);
}

static void a_changed_row_is_read_fresh_on_a_later_page(void **state) /* R004-32 */
{
    struct bench *bench = *state;
    int64_t ids[10];
    bool has_more;
    make_things(bench, 20, "i");
    page_bench_open(bench, &things, "[{\"field\":\"id\",\"direction\":\"asc\"}]", 10);
    page_bench_ask(bench, -1, ids, &has_more);
    page_bench_run(bench, "UPDATE thing SET b = 'changed' WHERE n = 15");
    page_bench_ask(bench, -1, ids, &has_more);
    assert_non_null(strstr(text_string(&bench->answer.page.items),
                           "{\"id\":\"15\",\"a\":15,\"b\":\"changed\",\"f\":null}"));
}

static void make_posts(struct bench *bench, unsigned count)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "INSERT INTO actors (id, did) VALUES (1, 'did:plc:a');"
                 "INSERT INTO actors (id, did) WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL "
                 "SELECT i + 1 FROM s WHERE i < 200) SELECT i, 'did:plc:' || i FROM s;"
                 "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, created_us, "
                 "body) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
                 "WHERE i < %u) SELECT i, 1, 1, 'app.bsky.feed.post', CAST(i AS TEXT), i %% 2, "
                 "1700000000000000 + i / 4, CASE WHEN i %% 3 = 0 THEN NULL ELSE "
                 "1700000000000000 + i * 1000 END, 'x' FROM s;"
                 "UPDATE engine SET next_n = %u; ANALYZE",
                 count, count + 1);
    page_bench_run(bench, text_string(&sql));
    text_free(&sql);
}

static void a_post_looks_the_same_on_both_stores(void **state)
{
    struct bench *bench = *state;
    int64_t ids[2];
    bool has_more;
    make_posts(bench, 5);
    page_bench_run(bench, "UPDATE post SET langs = 'en,de', tags = 'a \"b\"', "
                          "facets = '[{\"index\":{\"byteStart\":0}}]'");
    page_bench_open(bench, collection_find(bytes_of("posts")), "[]", 1);
    page_bench_ask(bench, -1, ids, &has_more);
    assert_string_equal(
        text_string(&bench->answer.page.items),
        "[{\"id\":\"5\",\"uri\":\"at://did:plc:a/app.bsky.feed.post/5\","
        "\"actorDid\":\"did:plc:a\",\"handle\":null,"
        "\"collection\":\"app.bsky.feed.post\",\"rkey\":\"5\",\"kind\":\"repost\","
        "\"text\":\"x\",\"subject\":null,\"sharedAt\":\"2023-11-14T22:13:20.000001Z"
        "\",\"createdAt\":\"2023-11-14T22:13:20.005Z\",\"rev\":null,\"langs\":\"en,de\","
        "\"tags\":\"a \\\"b\\\"\",\"facets\":[{\"index\":{\"byteStart\":0}}],\"active\":true,"
        "\"seq\":1}]");
}

/* Every collection and every field that can be ordered by, in both directions. */
static void every_built_in_collection_can_be_paged(void **state)
{
    struct bench *bench = *state;
    char order[128];
    int64_t ids[8];
    bool has_more;
    make_posts(bench, 9);
    page_bench_run(
        bench, "INSERT INTO gaps VALUES (1, 's', 't', 1, 2, 'why', 3, NULL, 1), "
               "(2, 's', 't', 2, 3, 'why', 3, 4, 1), (3, 's', 't', 5, 6, 'why', 3, NULL, 1);"
               "INSERT INTO owed (id, source, stream, item, state, since_us, seq) VALUES "
               "(4, 's', 't', 'a', 'owed', 1, 1), (5, 's', 't', 'b', 'dead', 1, 1);"
               "INSERT INTO quarantine (id, source, digest, raw, size, reason, at_us, seq) VALUES "
               "(6, 's', 'd', 'r', 1, 'why', 1, 1), (7, 's', 'e', NULL, 1, 'why', 1, 1);"
               "UPDATE post SET kind = 2 WHERE n = 9;" /* nobody shared it */
               "INSERT INTO links (id, normalized_url, original_url, share_count_total) VALUES "
               "(1, 'https://1', 'https://1', 3), (2, 'https://2', 'https://2', 2), "
               "(3, 'https://3', 'https://3', 3);"
               "INSERT INTO follows (did, handle) VALUES ('did:plc:a', 'a'), ('did:plc:b', 'b')");
    page_bench_run(
        bench,
        "INSERT INTO account VALUES (1, 'e:1', 'blockchain', 'e', '1', NULL, 1, 1), "
        "(2, 'e:2', 'blockchain', 'e', '2', 1, 1, 1);"
        "INSERT INTO import_sessions (id, account_id, status, imported, skipped, started_us, "
        "completed_us, error, seq) VALUES (1, 1, 'started', 0, 0, 1, NULL, NULL, 1), "
        "(2, 1, 'failed', 0, 0, 2, 3, 'why', 1), (3, 2, 'started', 0, 0, 1, NULL, NULL, 1);"
        "INSERT INTO raw_transactions VALUES "
        "(1, 1, 1, 'p', 's', 'a', NULL, NULL, NULL, 'pending', NULL, NULL), "
        "(2, 1, 1, 'p', 's', 'b', 'h', 7, 5, 'confirmed', '{}', '{}'), "
        "(3, 1, 1, 'p', 's', 'c', 'h', 7, 5, 'confirmed', '{}', '{}'), "
        "(4, 1, 2, 'p', 's', 'a', NULL, NULL, NULL, 'pending', NULL, NULL)");
    page_bench_run(
        bench, "INSERT INTO ipfs_cache (n, uri, is_errored, block, space) VALUES "
               "(1, 'ipfs://a', false, 7, NULL), (2, 'ipfs://b', true, 7, 's'), "
               "(3, 'ipfs://c', true, 8, NULL);"
               "INSERT INTO chain_blocks VALUES (1, 1, 7, 'h', NULL, 2), (2, 1, 8, NULL, NULL, 1), "
               "(3, 1, 9, 'i', 'h', 0), (4, 1, 10, 'j', 'i', 0)");
    static const size_t rows[] = {8, 3, 2, 2, 3, 2, 4, 2, 3, 3, 4};
    assert_int_equal(collections_built_in_count, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < collections_built_in_count; i++) {
        const struct collection *collection = &collections_built_in[i];
        for (size_t j = 0; j < 2 * collection->column_count; j++) {
            size_t total = 0;
            if (collection->columns[j / 2].key == NULL)
                continue;
            snprintf(order, sizeof order, "[{\"field\":\"%s\",\"direction\":\"%s\"}]",
                     collection->columns[j / 2].name, j % 2 ? "desc" : "asc");
            page_bench_open(bench, collection, order, 2);
            do
                total += page_bench_ask(bench, -1, ids, &has_more);
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

static void append_plan(struct bench *bench, const struct seek_sql *sql, struct text *plan)
{
    struct text explain = {0};
    text_appendf(&explain, "%s %s",
                 both_stores_kind == FIXTURE_SQLITE ? "EXPLAIN QUERY PLAN" : "EXPLAIN",
                 text_string(&sql->text));
    assert_ok(store_query(bench->store, text_string(&explain), sql->params, sql->param_count,
                          take_plan, plan, &bench->err));
    text_free(&explain);
}

static void a_deep_page_is_found_by_the_index(void **state)
{
    struct bench *bench = *state;
    const struct collection *posts = collection_find(bytes_of("posts"));
    struct order order;
    struct row_key after = {0};
    struct seek_sql sql = {0};
    struct text plan = {0};
    const struct field place[] = {field_int(1700000000000000 + 2000), field_int(8001)};
    make_posts(bench, 20000);
    order_default(posts, &order);
    assert_true(row_key_set(&after, place, 2));
    const struct seek seek = {
        .collection = posts, .order = &order, .fence_n = 20001, .after = &after, .rows_max = 101};
    if (both_stores_kind == FIXTURE_SQLITE) {
        for (size_t i = 0; seek_build_rung(&seek, i, &sql); i++)
            append_plan(bench, &sql, &plan);
        const char *words = text_string(&plan);
        assert_non_null(strstr(words, "INDEX post_shared (shared_us=? AND n<?"));
        assert_non_null(strstr(words, "INDEX post_shared (shared_us<?"));
        assert_null(strstr(words, "SCAN"));
        assert_null(strstr(words, "TEMP B-TREE"));
    } else {
        seek_build(&seek, &sql);
        append_plan(bench, &sql, &plan);
        const char *words = text_string(&plan);
        assert_non_null(strstr(words, "using post_shared on post"));
        assert_non_null(strstr(words, "(ROW(shared_us, n) < ROW("));
        assert_null(strstr(words, "Sort"));
    }
    text_free(&plan);
    seek_sql_free(&sql);
    row_key_clear(&after);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, page_bench_set_up, page_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_thousand_rows_of_one_time_are_all_met_once),
        ON_STORE(a_full_last_page_is_the_last),
        ON_STORE(counts_are_exact_up_to_a_hundred_thousand),
        ON_STORE(a_condition_narrows_pages_and_counts_alike),
        ON_STORE(a_page_that_too_many_rows_moved_into_is_refused_not_cut),
        ON_STORE(a_page_whose_rows_grew_too_much_is_refused_not_cut),
        ON_STORE(a_changed_row_is_read_fresh_on_a_later_page),
        ON_STORE(a_post_looks_the_same_on_both_stores),
        ON_STORE(every_built_in_collection_can_be_paged),
        ON_STORE(a_deep_page_is_found_by_the_index),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
