/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema as people and older programs meet it, on both stores (R001-87). */
#include "store_bench.h"

#include <string.h>

#include <stdio.h>

static void deleting_from_the_posts_view_takes_its_links_along(void **state) /* R001-85 */
{
    struct bench *bench = *state;
    add_post(bench, "did:plc:a", "1", "r1", 0, 100, "x");
    assert_ok(write_batch(bench));
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO links (id, normalized_url, original_url) VALUES (1, 'https://e', 'https://e');"
        "INSERT INTO post_links (post_id, link_id) SELECT id, 1 FROM posts",
        &bench->err));
    assert_int_equal(number(bench, "SELECT share_count FROM trending_links"), 1); /* R001-86 */
    assert_ok(bench->store->ops->script(bench->store, "DELETE FROM posts", &bench->err));
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 1);
}

/* R000-40 R001-81 R001-83 R003-61 R003-62 */
static void the_tables_of_the_seed_documents_have_their_columns_and_defaults(void **state)
{
    struct bench *bench = *state;
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO poll_state (user_handle) VALUES ('a.example');"
        "INSERT INTO follows (did, handle) VALUES ('did:plc:a', 'a.example');"
        "INSERT INTO jetstream_state (cursor_time_us) VALUES (5)",
        &bench->err));
    assert_int_equal(number(bench, "SELECT posts_fetched_count FROM poll_state"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM follows WHERE added_at IS NOT NULL "
                                   "AND NOT backfill_completed AND display_name IS NULL "
                                   "AND last_seen_at IS NULL"),
                     1);
    /* R001-43: there is one row only */
    assert_int_equal(
        bench->store->ops->script(bench->store,
                                  "INSERT INTO jetstream_state (id, cursor_time_us) VALUES (2, 5)",
                                  &bench->err),
        RC_REJECT);
    assert_int_equal(
        bench->store->ops->script(bench->store,
                                  "INSERT INTO follows (did, handle) VALUES ('did:plc:b', NULL)",
                                  &bench->err),
        RC_REJECT);
    const char *twice = "INSERT INTO raw_transactions (n, account_id, provider_name, stream, "
                        "event_id, status) SELECT coalesce(max(n), 0) + 1, 1, 'p', 'normal', "
                        "'0123456789abcdef', 'confirmed' FROM raw_transactions";
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO account (id, name, type, platform, identifier, created_us) VALUES "
        "(1, 'x', 'exchange', 'kraken', 'k', 0);"
        "INSERT INTO import_sessions (id, account_id, status, imported, skipped, started_us, "
        "error) VALUES (1, 1, 'failed', 2, 3, 4, 'why')",
        &bench->err));
    assert_ok(bench->store->ops->script(bench->store, twice, &bench->err));
    assert_int_equal(bench->store->ops->script(bench->store, twice, &bench->err), RC_REJECT);
}

/* R001-82 */
static void the_indexes_of_the_follows_table_have_their_names(void **state)
{
    struct bench *bench = *state;
    const char *sql = both_stores_kind == FIXTURE_SQLITE
                          ? "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                            "name IN ('idx_follows_did', 'idx_follows_handle')"
                          : "SELECT count(*) FROM pg_indexes WHERE tablename = 'follows' AND "
                            "indexname IN ('idx_follows_did', 'idx_follows_handle')";
    assert_int_equal(number(bench, sql), 2);
}

/* Posts of 1 and of 30 hours ago; link 1 is shared today, 2 only long ago, 3 long ago by five. */
static void fill_for_the_janitor(struct bench *bench)
{
    int64_t now = number(bench, both_stores_kind == FIXTURE_SQLITE
                                    ? "SELECT CAST(strftime('%s') AS INTEGER) * 1000000"
                                    : "SELECT CAST(extract(epoch FROM now()) AS int8) * 1000000");
    for (int i = 0; i < 8; i++) {
        char did[32], rkey[8];
        snprintf(did, sizeof did, "did:plc:%d", i);
        snprintf(rkey, sizeof rkey, "%d", i);
        int64_t created_us = now - (i < 2 ? 1 : 30) * INT64_C(3600000000);
        batch_set_int(add_post(bench, did, rkey, "r1", 0, created_us, "x"), POST_CREATED_US,
                      created_us);
    }
    assert_ok(write_batch(bench));
    run_script(bench, "INSERT INTO links (id, normalized_url, original_url) VALUES "
                      "(1, 'https://1', 'https://1'), (2, 'https://2', 'https://2'), "
                      "(3, 'https://3', 'https://3');"
                      "INSERT INTO post_links (post_id, link_id) SELECT id, 1 FROM posts "
                      "WHERE rkey IN ('0', '2');"
                      "INSERT INTO post_links (post_id, link_id) SELECT id, 2 FROM posts "
                      "WHERE rkey = '3';"
                      "INSERT INTO post_links (post_id, link_id) SELECT id, 3 FROM posts "
                      "WHERE rkey IN ('3', '4', '5', '6', '7');"
                      "INSERT INTO poll_state (user_handle) VALUES ('a.example')");
}

#define LINKS_WITHOUT_RECENT_POSTS(now_)                                                           \
    "DELETE FROM links\n"                                                                          \
    "WHERE id NOT IN (\n"                                                                          \
    "  SELECT DISTINCT link_id\n"                                                                  \
    "  FROM post_links pl\n"                                                                       \
    "  JOIN posts p ON pl.post_id = p.id\n"                                                        \
    "  WHERE p.created_at > " now_ "\n"                                                            \
    ")\n"                                                                                          \
    "AND id NOT IN (\n"                                                                            \
    "  -- Keep links with 5+ shares (trending threshold)\n"                                        \
    "  SELECT link_id\n"                                                                           \
    "  FROM post_links\n"                                                                          \
    "  GROUP BY link_id\n"                                                                         \
    "  HAVING COUNT(*) >= 5\n"                                                                     \
    ");\n"

/* R001-84: as printed on PostgreSQL; SQLite has no NOW(), INTERVAL and TRUNCATE, there the same is
 * said in its own words. */
static void the_printed_statements_of_the_janitor_run(void **state)
{
    struct bench *bench = *state;
    bool postgres = both_stores_kind == FIXTURE_POSTGRES;
    fill_for_the_janitor(bench);
    run_script(bench, postgres ? LINKS_WITHOUT_RECENT_POSTS("NOW() - INTERVAL '24 hours'")
                               : LINKS_WITHOUT_RECENT_POSTS(
                                     "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours')"));
    assert_int_equal(number(bench, "SELECT count(*) FROM links WHERE id = 2"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM links"), 2);
    run_script(bench, postgres
                          ? "DELETE FROM posts\nWHERE created_at < NOW() - INTERVAL '24 hours';"
                          : "DELETE FROM posts WHERE created_at < "
                            "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours');");
    assert_int_equal(number(bench, "SELECT count(*) FROM posts"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM post_links"), 1);
    run_script(bench, postgres ? "TRUNCATE poll_state;" : "DELETE FROM poll_state;");
    assert_int_equal(number(bench, "SELECT count(*) FROM poll_state"), 0);
}

/* R000-36 R000-37 R000-38: the questions that seed 000 prints for poll_state. */
static void the_printed_questions_about_poll_state_run(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO poll_state (user_handle, last_cursor) VALUES ('a', NULL), "
                      "('b', ''), ('c', '2025-08-11T23:26:32.374Z')");
    assert_int_equal(number(bench,
                            "SELECT\n"
                            "    COUNT(CASE WHEN last_cursor IS NOT NULL AND last_cursor != ''\n"
                            "               THEN 1 END) as has_cursor,\n"
                            "    COUNT(CASE WHEN last_cursor IS NULL OR last_cursor = ''\n"
                            "               THEN 1 END) as no_cursor\n"
                            "FROM poll_state;"),
                     1);
    assert_string_equal(word(bench, "SELECT user_handle, last_cursor, last_polled_at\n"
                                    "FROM poll_state\n"
                                    "WHERE user_handle = 'c';"),
                        "c");
    run_script(bench, "UPDATE poll_state SET last_polled_at = '2025-08-11 10:00:00' "
                      "WHERE user_handle = 'a'; UPDATE poll_state SET last_polled_at = "
                      "'2025-08-11 11:00:00' WHERE user_handle = 'b';");
    assert_string_equal(word(bench, "SELECT user_handle, last_polled_at\n"
                                    "FROM poll_state\n"
                                    "WHERE last_cursor IS NULL OR last_cursor = ''\n"
                                    "ORDER BY last_polled_at DESC;"),
                        "b");
    run_script(bench, "DELETE FROM poll_state WHERE user_handle = 'c';");
    assert_int_equal(number(bench, "SELECT count(*) FROM poll_state"), 2);
}

/* R003-17 */
static void a_cursor_of_one_stream_leaves_the_others_byte_identical(void **state)
{
    struct bench *bench = *state;
    add_cursor(bench, "ethereum:0x1", "normal", "{ \"kept\" : [1, 2.50] }", 1);
    assert_ok(write_batch(bench));
    add_cursor(bench, "kraken", "ledger", "{}", 2);
    add_cursor(bench, "ethereum:0x1", "token", "{}", 2);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT state FROM cursors WHERE stream = 'normal'"),
                        "{ \"kept\" : [1, 2.50] }");
}

static bool append_step(void *arg, const struct field *columns, size_t count)
{
    const struct field *words = &columns[count - 1]; /* SQLite puts numbers before them */
    text_append(arg, words->b.data, words->b.len);
    text_append_char(arg, '\n');
    return true;
}

/* R001-77: over the posts of the window the view walks the links and finds the rest by index; a
 * planner that may read whole tables, if they are small, needs to read none. */
static void the_view_of_trending_links_reads_no_post_that_is_not_of_its_link(void **state)
{
    struct bench *bench = *state;
    struct text plan = {0};
    run_script(bench,
               "INSERT INTO actors (id, did) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL "
               "SELECT n + 1 FROM i WHERE n < 50) SELECT n, 'did:plc:x' || n FROM i;"
               "INSERT INTO links (id, normalized_url, original_url) WITH RECURSIVE i(n) AS "
               "(SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 300) "
               "SELECT n, 'https://e/' || n, 'x' FROM i;"
               "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
               "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3000) "
               "SELECT n, 0, 1 + n % 50, 'c', 'k' || n, 0, n FROM i;"
               "INSERT INTO post_links (post_id, link_id, via, actor) "
               "SELECT n, 1 + n % 300, 'post', actor FROM post; ANALYZE");
    bool sqlite = both_stores_kind == FIXTURE_SQLITE;
    if (!sqlite)
        run_script(bench, "SET enable_seqscan = off");
    const char *sql = sqlite ? "EXPLAIN QUERY PLAN SELECT * FROM trending_links WHERE id = 7"
                             : "EXPLAIN SELECT * FROM trending_links WHERE id = 7";
    assert_ok(store_query(bench->store, sql, NULL, 0, append_step, &plan, &bench->err));
    assert_null(strstr(text_string(&plan), sqlite ? "SCAN l" : "Seq Scan"));
    assert_null(strstr(text_string(&plan), sqlite ? "SCAN p" : "Seq Scan"));
    text_clear(&plan);
    sql = sqlite ? "EXPLAIN QUERY PLAN SELECT * FROM trending_links ORDER BY share_count DESC"
                 : "EXPLAIN SELECT * FROM trending_links ORDER BY share_count DESC";
    assert_ok(store_query(bench->store, sql, NULL, 0, append_step, &plan, &bench->err));
    assert_null(strstr(text_string(&plan), sqlite ? "SCAN p" : "Seq Scan"));
    assert_non_null(strstr(text_string(&plan), sqlite ? "post_links_link (link_id=?)" : "Index"));
    assert_int_equal(number(bench, "SELECT count(*) FROM trending_links"), 300);
    assert_int_equal(number(bench, "SELECT share_count FROM trending_links WHERE id = 8"), 1);
    text_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(deleting_from_the_posts_view_takes_its_links_along),
        ON_STORE(the_tables_of_the_seed_documents_have_their_columns_and_defaults),
        ON_STORE(the_indexes_of_the_follows_table_have_their_names),
        ON_STORE(the_printed_statements_of_the_janitor_run),
        ON_STORE(the_printed_questions_about_poll_state_run),
        ON_STORE(a_cursor_of_one_stream_leaves_the_others_byte_identical),
        ON_STORE(the_view_of_trending_links_reads_no_post_that_is_not_of_its_link),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
