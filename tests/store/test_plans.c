/* SPDX-License-Identifier: Apache-2.0
 *
 * Every statement of a commit fits the schema. What a commit settles after its rows costs what the
 * commit touched, not what the store holds; though nobody but the writer has ever told PostgreSQL
 * how much is in the tables. */
#include "store/statement.h"
#include "store_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMITS    5
#define POSTS      300
#define BLOCKS_MAX 200

/* Half of the posts carry a link, the other half repost these; a few of the latter are new. */
static const char planting[] =
    "INSERT INTO actors (id, did) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i "
    "WHERE n < 100) SELECT n, 'did:web:a' || n FROM i;"
    "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, subject) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000) "
    "SELECT n, 1, 1 + n % 100, 'app.bsky.feed.post', 'k' || n, CASE WHEN n > 10000 THEN 1 ELSE 0 "
    "END, n, CASE WHEN n > 10000 THEN 'at://did:web:a' || (1 + (n - 10000) % 100) || "
    "'/app.bsky.feed.post/k' || (n - 10000) END FROM i;"
    "INSERT INTO links (id, normalized_url, original_url) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 10000) "
    "SELECT n, 'https://l/' || n, 'x' FROM i;"
    "INSERT INTO post_links (post_id, link_id, via, actor) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 10000) "
    "SELECT n, n, 'post', 1 + n % 100 FROM i;"
    "INSERT INTO touched_posts (n, subject_n, own) VALUES (19001, 9001, 0), (19002, 9002, 0), "
    "(19003, 9003, 1), (19004, 9004, 0)";
/* What earlier commits have touched is gone, but for the room it took. */
static const char past[] =
    "INSERT INTO touched_posts (n, subject_n, own) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL "
    "SELECT n + 1 FROM i WHERE n < 20000) SELECT n, n, 0 FROM i; DELETE FROM touched_posts; "
    "UPDATE engine SET next_n = 100000";
/* What left in the last days; none of it is old. */
static const char departures[] =
    "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) WITH RECURSIVE i(n) AS (SELECT 1 "
    "UNION ALL SELECT n + 1 FROM i WHERE n < 20000) SELECT 'posts', 'k' || n, '', n, n, 1000 + n "
    "FROM i; "
    "INSERT INTO past_rows (collection, seq, key, at_us, item) WITH RECURSIVE i(n) AS (SELECT 1 "
    "UNION ALL SELECT n + 1 FROM i WHERE n < 20000) SELECT 'posts', n, 'k' || n, 1000 + n, '{}' "
    "FROM i; "
    "INSERT INTO request_keys (collection, key, digest, seq, at_us) WITH RECURSIVE i(n) AS (SELECT "
    "1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000) SELECT 'posts', 'k' || n, 'd', n, 1000 + n "
    "FROM i";
struct plan {
    struct text words;
    long blocks; /* that were read, found in memory or not; -1: not said yet */
};

static bool take_line(void *arg, const struct field *columns, size_t count)
{
    struct plan *plan = arg;
    struct bytes line = columns[count - 1].b;
    text_append(&plan->words, line.data, line.len);
    text_append_char(&plan->words, '\n');
    const char *buffers = strstr(text_string(&plan->words), "Buffers: shared ");
    if (buffers != NULL && plan->blocks < 0) {
        const char *hit = strstr(buffers, "hit="), *read = strstr(buffers, "read=");
        plan->blocks = (hit == NULL ? 0 : strtol(hit + 4, NULL, 10)) +
                       (read == NULL ? 0 : strtol(read + 5, NULL, 10));
    }
    return true;
}

static long blocks_max = BLOCKS_MAX;

/* `tables`: letters of those that may be large. */
static bool costs_what_it_touches(const struct plan *plan, const char *tables)
{
    if (both_stores_kind == FIXTURE_POSTGRES)
        return plan->blocks >= 0 && plan->blocks <= blocks_max;
    for (; *tables != '\0'; tables++) {
        const char whole[] = {'S', 'C', 'A', 'N', ' ', *tables, '\n', '\0'};
        if (strstr(text_string(&plan->words), whole) != NULL)
            return false;
    }
    return true;
}

/* The text of a statement about touched posts alone; false: it is another. */
static bool settles_touched(size_t which, struct text *sql)
{
    const struct statement *statement = statement_at(NULL, which);
    enum dialect dialect = both_stores_kind == FIXTURE_SQLITE ? DIALECT_SQLITE : DIALECT_POSTGRES;
    uint8_t params[STATEMENT_PARAMS_MAX];
    return strstr(statement->sql, "FROM touched_posts t") != NULL &&
           statement_expand(statement, dialect, sql, params) == 0;
}

static void explain(struct bench *bench, const char *sql, const char *tables)
{
    bool sqlite = both_stores_kind == FIXTURE_SQLITE;
    struct plan plan = {.blocks = -1};
    struct text asked = {0};
    text_appendf(&asked, "%s %s",
                 sqlite ? "EXPLAIN QUERY PLAN" : "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF)", sql);
    assert_ok(
        store_query(bench->store, text_string(&asked), NULL, 0, take_line, &plan, &bench->err));
    if (!costs_what_it_touches(&plan, tables))
        fail_msg("%s\n%s", sql, text_string(&plan.words));
    text_free(&asked);
    text_free(&plan.words);
}

static void write_posts(struct bench *bench, int commit)
{
    char rkey[32];
    for (int i = 0; i < POSTS; i++) {
        snprintf(rkey, sizeof rkey, "c%d-%d", commit, i);
        add_post(bench, "did:web:b", rkey, "r1", POST_OP_PUT, 1, "words");
    }
    assert_ok(write_batch(bench));
}

static void what_a_commit_settles_costs_what_it_touched(void **state)
{
    struct bench *bench = *state;
    struct text sql = {0};
    size_t explained = 0;
    run_script(bench, past);
    bench->position.next_n = 100000;
    for (int i = 0; i < COMMITS; i++)
        write_posts(bench, i);
    run_script(bench, planting);
    for (size_t i = 0; i < statement_count(NULL); i++) {
        if (!settles_touched(i, &sql))
            continue;
        explain(bench, text_string(&sql), "pdsl");
        explained++;
    }
    assert_true(explained >= 5);
    text_free(&sql);
}

static bool forgets_departures(const struct statement *statement)
{
    return statement->kind == RECORD_PRUNE && strstr(statement->sql, "LIMIT 500") != NULL &&
           (strstr(statement->sql, " tombstones t ") != NULL ||
            strstr(statement->sql, " past_rows t ") != NULL ||
            strstr(statement->sql, " request_keys k ") != NULL);
}

/* As the writer sends it, with one bound for everything: before it nothing left. */
static void explain_with_bound(struct bench *bench, const struct statement *statement)
{
    bool sqlite = both_stores_kind == FIXTURE_SQLITE;
    struct text sql = {0}, asked = {0};
    uint8_t fields[STATEMENT_PARAMS_MAX];
    size_t count =
        statement_expand(statement, sqlite ? DIALECT_SQLITE : DIALECT_POSTGRES, &sql, fields);
    if (sqlite) {
        explain(bench, text_string(&sql), "tk");
    } else {
        text_appendf(&asked, "PREPARE a AS %s", text_string(&sql));
        run_script(bench, text_string(&asked));
        text_clear(&asked);
        for (size_t i = 0; i < count; i++)
            text_appendf(&asked, "%s%s", i == 0 ? "EXECUTE a(" : ", ",
                         fields[i] == PARAM_SEQ ? "1" : "'{1000}'");
        text_append_string(&asked, ")");
        explain(bench, text_string(&asked), "");
        run_script(bench, "DEALLOCATE a");
    }
    text_free(&asked);
    text_free(&sql);
}

static void what_is_forgotten_costs_nothing_while_nothing_is_old(void **state)
{
    struct bench *bench = *state;
    size_t explained = 0;
    write_posts(bench, 0);
    run_script(bench, departures);
    for (size_t i = 0; i < statement_count(NULL); i++) {
        if (!forgets_departures(statement_at(NULL, i)))
            continue;
        explain_with_bound(bench, statement_at(NULL, i));
        explained++;
    }
    assert_int_equal(explained, 6);
}

/* Links that are due, and stay because of their posts. */
static const char kept[] =
    "INSERT INTO actors (id, did) VALUES (1, 'did:web:a');"
    "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000) "
    "SELECT n, 1, 1, 'app.bsky.feed.post', 'k' || n, 0, 5000 + n FROM i;"
    "INSERT INTO links (id, normalized_url, original_url, share_count_total, below_us) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000) "
    "SELECT n, 'https://l/' || n, 'x', 1, 1 FROM i;"
    "INSERT INTO post_links (post_id, link_id, via, actor) "
    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000) "
    "SELECT n, n, 'post', 1 FROM i";

/* On SQLite: posts are looked for after a slice was taken, not until one is full. */
static void expect_slice_first(struct bench *bench, const struct statement *statement)
{
    struct text sql = {0}, asked = {0};
    struct plan plan = {.blocks = -1};
    uint8_t params[STATEMENT_PARAMS_MAX];
    statement_expand(statement, DIALECT_SQLITE, &sql, params);
    text_appendf(&asked, "EXPLAIN QUERY PLAN %s", text_string(&sql));
    assert_ok(
        store_query(bench->store, text_string(&asked), NULL, 0, take_line, &plan, &bench->err));
    const char *words = text_string(&plan.words), *taken = strstr(words, "SCAN l\n");
    const char *posts = strstr(words, "SEARCH x ");
    if (strstr(words, "links_below") != NULL && posts != NULL && (taken == NULL || posts < taken))
        fail_msg("%s\n%s", text_string(&sql), words);
    text_free(&plan.words);
    text_free(&asked);
    text_free(&sql);
}

static void a_prune_looks_at_a_slice_of_the_links(void **state)
{
    struct bench *bench = *state;
    size_t explained = 0;
    run_script(bench, kept);
    write_posts(bench, 0);
    blocks_max = 500 * 40;
    for (size_t i = 0; i < statement_count(NULL); i++) {
        const struct statement *statement = statement_at(NULL, i);
        if (statement->kind != RECORD_PRUNE || strstr(statement->sql, "FROM links l ") == NULL ||
            strstr(statement->sql, "owed") != NULL)
            continue;
        if (both_stores_kind == FIXTURE_SQLITE)
            expect_slice_first(bench, statement);
        else
            explain_with_bound(bench, statement);
        explained++;
    }
    blocks_max = BLOCKS_MAX;
    assert_int_equal(explained, 4);
}

/* A commit prepares only what it needs: here is where all of them meet the schema. */
static void every_statement_fits_the_schema(void **state)
{
    struct bench *bench = *state;
    bool sqlite = both_stores_kind == FIXTURE_SQLITE;
    struct text sql = {0}, script = {0};
    uint8_t params[STATEMENT_PARAMS_MAX];
    write_posts(bench, 0); /* from the first commit on SQLite knows the tables of records */
    for (size_t i = 0; i < statement_count(NULL); i++) {
        statement_expand(statement_at(NULL, i), sqlite ? DIALECT_SQLITE : DIALECT_POSTGRES, &sql,
                         params);
        text_clear(&script);
        text_appendf(&script, sqlite ? "EXPLAIN %s" : "PREPARE a AS %s; DEALLOCATE a",
                     text_string(&sql));
        run_script(bench, text_string(&script));
    }
    text_free(&script);
    text_free(&sql);
}

/* Nothing of it is in the commit that is explained. */
static const char marks[] =
    "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) WITH RECURSIVE i(n) AS (SELECT 1 "
    "UNION ALL SELECT n + 1 FROM i WHERE n < 20000) SELECT CASE n % 2 WHEN 0 THEN 'links' ELSE "
    "'posts.n' END, 'k' || n, '', n, n + 1, 1000 + n FROM i";

/* Neither store may go through a collection, an account or a source for what a commit has touched
 * of it; SQLite has no figures of the tables. */
static void no_statement_goes_through_a_whole_collection(void **state)
{
    static const char *const through[] = {
        "USING PRIMARY KEY (collection=?)",
        "l USING INDEX links_total",
        "raw_transactions USING AUTOMATIC",
        "raw_transactions USING INDEX sqlite_autoindex_raw_transactions_1 (account_id=?)",
        "owed USING COVERING INDEX sqlite_autoindex_owed_1 (source=?)",
    };
    struct bench *bench = *state;
    struct text sql = {0}, asked = {0};
    uint8_t params[STATEMENT_PARAMS_MAX];
    write_posts(bench, 0);
    run_script(bench, marks);
    for (size_t i = 0; i < statement_count(NULL); i++) {
        struct plan plan = {.blocks = -1};
        if (both_stores_kind == FIXTURE_POSTGRES) {
            if (strstr(statement_at(NULL, i)->sql, "{by ") != NULL)
                explain_with_bound(bench, statement_at(NULL, i));
            continue;
        }
        statement_expand(statement_at(NULL, i), DIALECT_SQLITE, &sql, params);
        text_clear(&asked);
        text_appendf(&asked, "EXPLAIN QUERY PLAN %s", text_string(&sql));
        assert_ok(
            store_query(bench->store, text_string(&asked), NULL, 0, take_line, &plan, &bench->err));
        for (size_t j = 0; j < sizeof through / sizeof through[0]; j++)
            if (strstr(text_string(&plan.words), through[j]) != NULL)
                fail_msg("%s\n%s", text_string(&sql), text_string(&plan.words));
        text_free(&plan.words);
    }
    text_free(&asked);
    text_free(&sql);
}

/* Whatever the server thinks of a plan's cost. */
static void no_question_is_compiled(void **state)
{
    struct bench *bench = *state;
    struct plan plan = {.blocks = -1};
    struct store *reader;
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    assert_ok(store_query(reader,
                          both_stores_kind == FIXTURE_SQLITE ? "SELECT 'off'"
                                                             : "SELECT current_setting('jit')",
                          NULL, 0, take_line, &plan, &bench->err));
    assert_string_equal(text_string(&plan.words), "off\n");
    text_free(&plan.words);
    store_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(every_statement_fits_the_schema),
        ON_STORE(no_statement_goes_through_a_whole_collection),
        ON_STORE(no_question_is_compiled),
        ON_STORE(what_a_commit_settles_costs_what_it_touched),
        ON_STORE(what_is_forgotten_costs_nothing_while_nothing_is_old),
        ON_STORE(a_prune_looks_at_a_slice_of_the_links),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
