/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranking of links on both stores, against one that looks at every share of every link. */
#include "base/timestamp.h"
#include "chance.h"
#include "config_load.h"
#include "query/trending.h"
#include "store_bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACTORS  40
#define LINKS   400
#define ROUNDS  4
#define ASKED   40
#define NOW_US  INT64_C(1790000000000000)
#define HOUR_US INT64_C(3600000000)

struct person {
    bool active, counted, standing, pusher, muted;
    int degree; /* 0: not in the circle */
    double weight;
};

struct world {
    struct person people[ACTORS];
    int64_t shared_us[LINKS][ACTORS]; /* 0: not shared */
    bool no_news[LINKS], muted_site[LINKS], cats[LINKS];
    struct config config;
    struct config_problems problems;
};

static void make_config(struct world *world, bool circle)
{
    static const char yaml[] = "news:\n  mute_accounts: [did:plc:1, H2.example]\n"
                               "  mute_domains: [www.Bad.example]\n  mute_words: [Horrible]\n"
                               "  weights: [did:plc:3=300, did:plc:4=0, h5.Example=50]\n"
                               "bluesky: {actors: [%s]}\n";
    char text[512];
    snprintf(text, sizeof text, yaml, circle ? "you.example" : "");
    config_init(&world->config);
    config_read_yaml(&world->config, "t.yaml", bytes_of(text), &world->problems);
    assert_int_equal(world->problems.count, 0);
}

static void invent(struct world *world, struct chance *chance, bool circle)
{
    memset(world, 0, sizeof *world);
    make_config(world, circle);
    for (int i = 0; i < ACTORS; i++) {
        struct person *person = &world->people[i];
        bool active = chance_below(chance, 8) > 0;
        person->active = active;
        person->standing = chance_below(chance, 8) == 0;
        person->counted = person->standing ? chance_below(chance, 2) : active;
        person->pusher = chance_below(chance, 6) == 0;
        person->degree = (int)chance_below(chance, 3);
        person->weight = i == 3 ? 3 : i == 4 ? 0 : i == 5 ? 0.5 : 1;
        person->muted = i == 1 || i == 2;
    }
    for (int i = 0; i < LINKS; i++) {
        uint32_t often = 1 + chance_below(chance, 100) * chance_below(chance, 100) / 100;
        world->no_news[i] = chance_below(chance, 12) == 0;
        world->muted_site[i] = chance_below(chance, 12) == 0;
        world->cats[i] = chance_below(chance, 3) == 0;
        for (int j = 0; j < ACTORS; j++)
            if (chance_below(chance, 100) < often)
                world->shared_us[i][j] = NOW_US - (int64_t)chance_below(chance, 48 * 60) * 60000000;
    }
}

static const char *site_of(const struct world *world, int i)
{
    return world->muted_site[i] ? (i % 2 == 0 ? "m.bad.example" : "bad.example")
           : i % 5 == 0         ? "other.example"
                                : "good.example";
}

static void store_link(const struct world *world, int i, struct text *sql)
{
    int64_t total = 0, last_us = 0;
    for (int j = 0; j < ACTORS; j++) {
        int64_t at_us = world->shared_us[i][j];
        /* A total may be too high, as while an account's shares leave it, and never too low. */
        total += at_us != 0 && (world->people[j].counted || world->people[j].active);
        last_us = at_us > last_us ? at_us : last_us;
    }
    const char *site = site_of(world, i);
    text_appendf(sql,
                 "INSERT INTO links (id, normalized_url, original_url, title, share_count_total, "
                 "last_shared_us, first_shared_us, domain, flags) VALUES (%d, 'https://%s/%d', "
                 "'https://%s/%d', '%s', %" PRId64 ", %" PRId64 ", 5, '%s', %d);",
                 i + 1, site, i, site, i, world->cats[i] ? "All about CATS" : "Something", total,
                 last_us, site, world->no_news[i] ? 16 : 0);
    for (int j = 0; j < ACTORS; j++)
        if (world->shared_us[i][j] != 0)
            text_appendf(sql,
                         "INSERT INTO share (link_id, actor, last_us, n_posts, counted) VALUES "
                         "(%d, %d, %" PRId64 ", 1, %d);",
                         i + 1, j + 1, world->shared_us[i][j], world->people[j].counted);
}

static void store_world(struct bench *bench, const struct world *world)
{
    struct text sql = {0};
    text_append_string(&sql, "DELETE FROM share; DELETE FROM links; DELETE FROM standing; "
                             "DELETE FROM circle; DELETE FROM actors;");
    for (int i = 0; i < ACTORS; i++) {
        const struct person *person = &world->people[i];
        text_appendf(&sql,
                     "INSERT INTO actors (id, did, handle, active, pusher) VALUES (%d, "
                     "'did:plc:%d', 'h%d.example', %d, %d);",
                     i + 1, i, i, person->active, person->pusher);
        if (person->standing)
            text_appendf(&sql, "INSERT INTO standing VALUES (%d);", i + 1);
        if (person->degree > 0)
            text_appendf(&sql, "INSERT INTO circle VALUES ('did:plc:%d', %d, 1);", i,
                         person->degree);
    }
    for (int i = 0; i < LINKS; i++)
        store_link(world, i, &sql);
    run_script(bench, text_string(&sql));
    text_free(&sql);
}

/* ---- the ranking that looks at everything ---- */

struct rank {
    int64_t id, shares, key;
    double score;
};

static bool counts(const struct world *world, int actor, int64_t degree)
{
    const struct person *person = &world->people[actor];
    if (!person->active || person->muted)
        return false;
    return world->config.bluesky.actors.count == 0 ||
           (person->degree > 0 && person->degree <= degree);
}

/* Whether the one that is asked about shared it in the window, on the site that is asked about. */
static bool is_meant(const struct world *world, const struct trending_request *request, int i)
{
    int author = 0;
    if (request->domain[0] != '\0' && strcasecmp(request->domain, site_of(world, i)) != 0)
        return false;
    if (request->author[0] == '\0')
        return true;
    assert_int_equal(sscanf(request->author, "h%d.EXAMPLE", &author), 1);
    return world->shared_us[i][author] >= NOW_US - request->hours * HOUR_US;
}

static struct rank judge(const struct world *world, const struct trending_request *request, int i)
{
    struct rank rank = {.id = i + 1};
    int64_t last_us = 0, any_us = 0;
    for (int j = 0; j < ACTORS; j++) {
        const struct person *person = &world->people[j];
        int64_t at_us = world->shared_us[i][j];
        any_us = at_us > any_us ? at_us : any_us;
        rank.key += at_us != 0 && (person->counted || person->active);
        if (at_us == 0 || at_us < NOW_US - request->hours * HOUR_US ||
            !counts(world, j, request->degree))
            continue;
        double weight = person->weight != 1 ? person->weight : person->pusher ? 0.5 : 1;
        int64_t steps = (NOW_US - at_us) / (6 * HOUR_US / TRENDING_STEPS);
        if (request->sort == TRENDING_VELOCITY)
            weight *= pow(0.5, ((double)steps + 0.5) / TRENDING_STEPS);
        rank.score += weight;
        rank.shares++;
        last_us = at_us > last_us ? at_us : last_us;
    }
    if (request->sort == TRENDING_RECENT) {
        rank.score = (double)last_us;
        rank.key = any_us;
    }
    bool out = world->no_news[i] || world->muted_site[i] || rank.shares < request->min_shares ||
               (request->q[0] != '\0' && !world->cats[i]) || !is_meant(world, request, i);
    if (out)
        rank.score = 0;
    return rank;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (fabs(x->score - y->score) > 1e-9)
        return x->score < y->score ? 1 : -1;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->id < y->id ? 1 : -1;
}

static struct trending_request ask_anything(struct chance *chance)
{
    static const int hours[] = {1, 6, 24, 48};
    struct trending_request request = trending_request_default(NOW_US);
    request.hours = hours[chance_below(chance, 4)];
    request.limit = 1 + chance_below(chance, 100);
    request.min_shares = 1 + chance_below(chance, 4);
    request.degree = 1 + chance_below(chance, 2);
    request.sort = (enum trending_sort)chance_below(chance, 3);
    if (chance_below(chance, 3) == 0)
        snprintf(request.q, sizeof request.q, "cats");
    if (chance_below(chance, 3) == 0)
        snprintf(request.domain, sizeof request.domain, "Other.example");
    if (chance_below(chance, 3) == 0)
        snprintf(request.author, sizeof request.author, "h%u.EXAMPLE",
                 (unsigned)chance_below(chance, ACTORS));
    return request;
}

static void compare(struct bench *bench, const struct world *world,
                    const struct trending_request *request)
{
    static struct trending got;
    struct rank ranks[LINKS];
    for (int i = 0; i < LINKS; i++)
        ranks[i] = judge(world, request, i);
    qsort(ranks, LINKS, sizeof ranks[0], compare_ranks);
    assert_ok(trending_rank(bench->store, &world->config, request, &got, &bench->err));
    size_t wanted = 0;
    while (wanted < (size_t)request->limit && ranks[wanted].score > 0)
        wanted++;
    assert_int_equal(got.count, wanted);
    for (size_t i = 0; i < wanted; i++) {
        assert_true(fabs(got.links[i].score - ranks[i].score) < 1e-6);
        assert_int_equal(got.links[i].shares, ranks[i].shares);
        /* Sums of the same weights may differ in their last digit, and their order with it. */
        if (request->sort != TRENDING_VELOCITY)
            assert_int_equal(got.links[i].id, ranks[i].id);
    }
}

static void the_ranking_is_the_one_of_looking_at_everything(void **state)
{
    struct bench *bench = *state;
    struct chance chance = chance_init("trending");
    struct world *world = calloc(1, sizeof *world);
    for (int round = 0; round < ROUNDS; round++) {
        invent(world, &chance, round % 2);
        store_world(bench, world);
        for (int i = 0; i < ASKED; i++) {
            struct trending_request request = ask_anything(&chance);
            compare(bench, world, &request);
        }
        struct trending_request unknown = trending_request_default(NOW_US);
        static struct trending got;
        snprintf(unknown.author, sizeof unknown.author, "nobody.example");
        assert_int_equal(trending_rank(bench->store, &world->config, &unknown, &got, &bench->err),
                         RC_REJECT);
        config_deinit(&world->config);
    }
    free(world);
}

/* Many links, few of which can come in. */
static void the_walk_ends_where_nobody_further_down_can_come_in(void **state)
{
    struct bench *bench = *state;
    static struct trending got;
    struct trending_request request = trending_request_default(NOW_US);
    struct world *world = calloc(1, sizeof *world);
    make_config(world, false);
    run_script(bench, "INSERT INTO actors (id, did) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL "
                      "SELECT n + 1 FROM i WHERE n < 20) SELECT n, 'did:plc:x' || n FROM i;"
                      "INSERT INTO links (id, normalized_url, original_url, share_count_total, "
                      "last_shared_us) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
                      "FROM i WHERE n < 20000) SELECT n, 'https://e/' || n, 'x', "
                      "CASE WHEN n % 200 = 0 THEN 20 ELSE 1 END, 1789999990000000 FROM i;"
                      "INSERT INTO share (link_id, actor, last_us, n_posts, counted) "
                      "SELECT l.id, a.id, 1789999990000000, 1, 1 FROM links l, actors a "
                      "WHERE l.share_count_total = 20 OR a.id = 1");
    assert_ok(trending_rank(bench->store, &world->config, &request, &got, &bench->err));
    assert_int_equal(got.count, 50);
    assert_int_equal(got.links[0].shares, 20);
    assert_true(got.walked <= 500);
    config_deinit(&world->config);
    free(world);
}

/* Links of which nothing tells one from the other but the words of the least of them. */
static void plant_equals(struct bench *bench, int count)
{
    struct text script = {0};
    text_appendf(&script,
                 "INSERT INTO actors (id, did) VALUES (1, 'did:plc:x');"
                 "INSERT INTO links (id, normalized_url, original_url, title, share_count_total, "
                 "last_shared_us) WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i "
                 "WHERE n < %d) SELECT n, 'https://e/' || n, 'x', CASE WHEN n = 1 THEN "
                 "'Zanzibar' ELSE 'Elsewhere' END, 1, 1789999990000000 FROM i;"
                 "INSERT INTO share (link_id, actor, last_us, n_posts, counted) "
                 "SELECT id, 1, 1789999990000000, 1, 1 FROM links; ANALYZE links",
                 count);
    run_script(bench, text_string(&script));
    text_free(&script);
}

static void a_search_finds_the_least_of_many_equals(void **state)
{
    struct bench *bench = *state;
    static struct trending got;
    struct trending_request request = trending_request_default(NOW_US);
    struct world *world = calloc(1, sizeof *world);
    make_config(world, false);
    plant_equals(bench, 120000);
    snprintf(request.q, sizeof request.q, "zanzibar");
    assert_ok(trending_rank(bench->store, &world->config, &request, &got, &bench->err));
    assert_int_equal(got.count, 1);
    assert_int_equal(got.links[0].id, 1);
    assert_int_equal(got.walked, 120000);
    assert_false(got.truncated);
    request.sort = TRENDING_RECENT;
    assert_ok(trending_rank(bench->store, &world->config, &request, &got, &bench->err));
    assert_int_equal(got.count, 1);
    config_deinit(&world->config);
    free(world);
}

static void what_was_not_looked_at_is_told(void **state)
{
    struct bench *bench = *state;
    struct trending_request request = trending_request_default(NOW_US);
    struct world *world = calloc(1, sizeof *world);
    struct text answer = {0};
    make_config(world, false);
    plant_equals(bench, 1000);
    snprintf(request.q, sizeof request.q, "zanzibar");
    request.walk_max = 999;
    assert_ok(trending_print(bench->store, &world->config, &request, &answer, &bench->err));
    assert_null(
        strstr(text_string(&answer), "truncated")); /* the last of them came with the rest */
    request.walk_max = 500;
    text_clear(&answer);
    assert_ok(trending_print(bench->store, &world->config, &request, &answer, &bench->err));
    assert_non_null(strstr(text_string(&answer), "\"links\":[],"));
    assert_non_null(strstr(text_string(&answer), "\"truncated\":true"));
    text_free(&answer);
    config_deinit(&world->config);
    free(world);
}

static void expect_complete_since(struct bench *bench, const struct config *config, int64_t hours,
                                  int64_t since_us)
{
    struct trending_request request = trending_request_default(NOW_US);
    struct text answer = {0};
    char time[TIMESTAMP_TEXT_MAX], wanted[TIMESTAMP_TEXT_MAX + 32];
    request.hours = hours;
    assert_ok(trending_print(bench->store, config, &request, &answer, &bench->err));
    assert_true(timestamp_format(since_us, time));
    snprintf(wanted, sizeof wanted, "\"complete_since\":\"%s\"", time);
    assert_non_null(strstr(text_string(&answer), wanted));
    text_free(&answer);
}

/* Of what was never read, and of what is kept no longer, nobody can say that nothing is missing. */
static void completeness_ends_where_reading_began_and_keeping_ends(void **state)
{
    struct bench *bench = *state;
    struct config config;
    char sql[128];
    config_init(&config);
    snprintf(sql, sizeof sql, "UPDATE schema_migrations SET applied_us = %" PRId64,
             NOW_US - HOUR_US);
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
    expect_complete_since(bench, &config, 24, NOW_US - 24 * HOUR_US);
    expect_complete_since(bench, &config, 168, NOW_US - 24 * HOUR_US);
    config.retention.window_hours = 100;
    expect_complete_since(bench, &config, 168, NOW_US - 25 * HOUR_US);
    config.did_manager.backfill_lookback_hours = 72;
    expect_complete_since(bench, &config, 168, NOW_US - 73 * HOUR_US);
    config.retention.enabled = false;
    config.did_manager.backfill_lookback_hours = 150;
    expect_complete_since(bench, &config, 168, NOW_US - 151 * HOUR_US);
    expect_complete_since(bench, &config, 48, NOW_US - 48 * HOUR_US);
    config_deinit(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(completeness_ends_where_reading_began_and_keeping_ends),
        ON_STORE(the_ranking_is_the_one_of_looking_at_everything),
        ON_STORE(the_walk_ends_where_nobody_further_down_can_come_in),
        ON_STORE(a_search_finds_the_least_of_many_equals),
        ON_STORE(what_was_not_looked_at_is_told),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
