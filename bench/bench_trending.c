/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks a day of a million links, as the product walks them and by the join over all posts of the
 * window that seed 001 prints; both must find the same numbers of people. Then makes the whole page
 * that a reader opens, people, posts and stories included, against that join alone; and looks for a
 * word that no link has, for which every link of a week is looked at. SQLite. */
#include "config_load.h"
#include "fixture.h"
#include "query/trending.h"
#include "serve/news_page.h"
#include "stopwatch.h"

#include <sqlite3.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LINKS      1000000
#define ACTORS     200000
#define SHARES_MAX 2000
#define DAYS       7
#define ROUNDS     5
#define GOAL       0.05
#define FOUND_GOAL 2.0
#define NOW_US     INT64_C(1790000000000000)
#define HOUR_US    INT64_C(3600000000)
#define ANSWER_MAX ((size_t)64 << 20)

static const char join_sql[] =
    "SELECT pl.link_id, COUNT(DISTINCT p.actor) AS n, MAX(p.shared_us) FROM post p "
    "JOIN post_links pl ON pl.post_id = p.n WHERE p.shared_us >= ?1 AND p.kind < 2 "
    "GROUP BY pl.link_id ORDER BY n DESC LIMIT 50";

struct filling {
    sqlite3 *db;
    sqlite3_stmt *post, *post_link, *share, *link;
    int64_t posts;
    uint64_t chance;
};

static uint64_t next_random(struct filling *filling)
{
    filling->chance =
        filling->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return filling->chance >> 33;
}

static double next_unit(struct filling *filling)
{
    return ((double)next_random(filling) + 1) / 2147483649.0;
}

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_trending: %s: %s\n", rc_name(rc), err->text);
    abort();
}

static void run(struct filling *filling, const char *sql)
{
    int code = sqlite3_exec(filling->db, sql, NULL, NULL, NULL);
    assert(code == SQLITE_OK);
}

static sqlite3_stmt *prepare(struct filling *filling, const char *sql)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(filling->db, sql, -1, &statement, NULL);
    assert(code == SQLITE_OK);
    return statement;
}

static void insert(sqlite3_stmt *statement, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(statement, i + 1, values[i]);
    int code = sqlite3_step(statement);
    assert(code == SQLITE_DONE);
    sqlite3_reset(statement);
}

/* A link is born at some time of the week and shared by a few, or by many, in the hours after. */
static void add_link(struct filling *filling, int64_t id)
{
    double people = pow(next_unit(filling), -0.6);
    int count = people > SHARES_MAX ? SHARES_MAX : (int)people;
    int64_t born_us = NOW_US - (int64_t)(next_unit(filling) * DAYS * 24 * HOUR_US), last_us = 0;
    int64_t first_actor = (int64_t)(next_random(filling) % ACTORS);
    for (int i = 0; i < count; i++) {
        int64_t at_us = born_us - (int64_t)(log(next_unit(filling)) * 6 * HOUR_US);
        at_us = at_us > NOW_US ? NOW_US - 1 : at_us;
        last_us = at_us > last_us ? at_us : last_us;
        int64_t actor = 1 + (first_actor + (int64_t)i * 97) % ACTORS, n = ++filling->posts;
        insert(filling->post, (int64_t[]){n, actor, n, at_us}, 4);
        insert(filling->post_link, (int64_t[]){n, id, actor}, 3);
        insert(filling->share, (int64_t[]){id, actor, at_us}, 3);
    }
    insert(filling->link, (int64_t[]){id, id, count, born_us, last_us}, 5);
}

static void fill(const char *path)
{
    struct filling filling = {.chance = 42};
    int code = sqlite3_open(path, &filling.db);
    assert(code == SQLITE_OK);
    run(&filling, "PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN;"
                  "INSERT INTO actors (id, did) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL "
                  "SELECT n + 1 FROM i WHERE n < 200000) SELECT n, 'did:plc:' || n FROM i");
    filling.post = prepare(&filling, "INSERT INTO post (n, seq, actor, collection, rkey, kind, "
                                     "shared_us) VALUES (?1, 0, ?2, 'p', ?3, 0, ?4)");
    filling.post_link = prepare(&filling, "INSERT INTO post_links (post_id, link_id, actor) "
                                          "VALUES (?1, ?2, ?3)");
    filling.share = prepare(&filling, "INSERT INTO share (link_id, actor, last_us, n_posts, "
                                      "counted) VALUES (?1, ?2, ?3, 1, 1)");
    filling.link = prepare(&filling, "INSERT INTO links (id, normalized_url, original_url, "
                                     "share_count_total, first_shared_us, last_shared_us) VALUES "
                                     "(?1, 'https://e.example/' || ?2, 'x', ?3, ?4, ?5)");
    for (int64_t id = 1; id <= LINKS; id++)
        add_link(&filling, id);
    run(&filling, "COMMIT; ANALYZE");
    fprintf(stderr, "trending: %d links, %lld shares\n", LINKS, (long long)filling.posts);
    sqlite3_finalize(filling.post);
    sqlite3_finalize(filling.post_link);
    sqlite3_finalize(filling.share);
    sqlite3_finalize(filling.link);
    sqlite3_close(filling.db);
}

struct counts {
    int64_t people[TRENDING_LIMIT_MAX];
    size_t count;
};

static bool take_count(void *arg, const struct field *columns, size_t count)
{
    struct counts *counts = arg;
    assert(count == 3);
    counts->people[counts->count++] = columns[1].i;
    return true;
}

static double ask_by_join(struct store *store, int64_t hours, struct counts *counts)
{
    struct field since = field_int(NOW_US - hours * HOUR_US);
    struct err err;
    double before = seconds_now();
    counts->count = 0;
    check(store_query(store, join_sql, &since, 1, take_count, counts, &err), &err);
    return seconds_now() - before;
}

static double ask_by_walk(struct store *store, const struct config *config, int64_t hours,
                          const char *word, struct counts *counts)
{
    static struct trending trending;
    struct trending_request request = trending_request_default(NOW_US);
    struct err err;
    request.hours = hours;
    snprintf(request.q, sizeof request.q, "%s", word);
    double before = seconds_now();
    check(trending_rank(store, config, &request, &trending, &err), &err);
    double took = seconds_now() - before;
    counts->count = trending.count;
    for (size_t i = 0; i < trending.count; i++)
        counts->people[i] = trending.links[i].shares;
    return took;
}

static bool report(const char *name, int64_t hours, double took, double join, double goal)
{
    bool ok = took <= join * goal;
    printf("{\"name\":\"%s_%dh\",\"value\":%.2f,\"unit\":\"ms\",\"against\":%.2f,"
           "\"ratio\":%.4f,\"goal\":%.2f,\"ok\":%s}\n",
           name, (int)hours, took * 1e3, join * 1e3, took / join, goal, ok ? "true" : "false");
    return ok;
}

/* As the page's route makes it, from the question to the last byte of HTML. */
static double make_page(struct store *store, const struct config *config, int64_t hours)
{
    struct news_question question = news_question_usual(NOW_US);
    struct health_view health = {.last_event_us_ago = -1, .cursor_time_us = -1};
    struct text json = {0}, html = {0};
    struct json answer;
    struct err err;
    question.links.hours = hours;
    const struct trending_request wanted = news_page_request(&question);
    double before = seconds_now();
    check(trending_print(store, config, &wanted, &json, &err), &err);
    struct json_doc *doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    check(json_parse_copy(doc, text_bytes(&json), &answer, &err), &err);
    const struct news_page page = {.question = &question, .answer = answer, .health = &health};
    news_page_print(&page, &html);
    double took = seconds_now() - before;
    assert(json_count(json_get(answer, "links")) > 0 && html.len > json.len / 2);
    json_doc_free(doc);
    text_free(&json);
    text_free(&html);
    return took;
}

static bool compare_page(struct store *store, const struct config *config, int64_t hours)
{
    struct counts joined;
    double made = 1e9, join = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double a = make_page(store, config, hours), b = ask_by_join(store, hours, &joined);
        made = a < made ? a : made;
        join = b < join ? b : join;
    }
    return report("page", hours, made, join, GOAL);
}

/* With a word that no link has nothing is found, and everything was looked at. */
static bool compare_ways(struct store *store, const struct config *config, int64_t hours,
                         const char *word)
{
    struct counts walked, joined;
    double walk = 1e9, join = 1e9;
    bool search = *word != '\0';
    for (int i = 0; i < ROUNDS; i++) {
        double a = ask_by_walk(store, config, hours, word, &walked);
        double b = ask_by_join(store, hours, &joined);
        walk = a < walk ? a : walk;
        join = b < join ? b : join;
    }
    assert(walked.count == (search ? 0 : joined.count));
    for (size_t i = 0; i < walked.count; i++)
        assert(walked.people[i] == joined.people[i]);
    return report(search ? "search" : "trending", hours, walk, join, search ? FOUND_GOAL : GOAL);
}

int main(void)
{
    struct fixture fixture;
    struct store *store;
    struct config config;
    struct err err;
    unsigned applied;
    fixture_open(&fixture, FIXTURE_SQLITE);
    check(store_open(fixture.url, STORE_WRITE, &store, &err), &err);
    check(store_migrate(store, &applied, &err), &err);
    store_close(store);
    fill(fixture.url + sizeof "sqlite:" - 1);
    config_init(&config);
    check(store_open(fixture.url, STORE_READ, &store, &err), &err);
    bool day = compare_ways(store, &config, 24, ""), week = compare_ways(store, &config, 168, ""),
         page = compare_page(store, &config, 24),
         search = compare_ways(store, &config, 168, "zanzibar");
    store_close(store);
    config_deinit(&config);
    fixture_close(&fixture);
    return day && week && page && search ? 0 : 1;
}
