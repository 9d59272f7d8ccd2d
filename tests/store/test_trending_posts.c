/* SPDX-License-Identifier: Apache-2.0
 *
 * The posts that are told with a link on both stores, against a look at every post there is. */
#include "base/json.h"
#include "chance.h"
#include "config_load.h"
#include "query/trending.h"
#include "store_bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS     20
#define LINK       7
#define ACTORS     60
#define POSTS      400
#define SHOWN      200
#define NOW_US     INT64_C(1790000000000000)
#define ANSWER_MAX (1 << 20)

struct world {
    bool active[ACTORS];
    int64_t gone_us[ACTORS]; /* a post that was deleted, if there is no other; 0: none */
    int64_t old_us[ACTORS];  /* the latest post that is no longer kept; 0: none */
    struct {
        int actor; /* -1: it is there, but shares nothing */
        int64_t shared_us;
    } posts[POSTS];
    int post_count;
};

/* Few different times, so that many are the same. */
static int64_t some_time(struct chance *chance)
{
    return NOW_US - 40 + (int64_t)chance_below(chance, 40);
}

static void invent(struct world *world, struct chance *chance)
{
    memset(world, 0, sizeof *world);
    for (int i = 0; i < ACTORS; i++) {
        world->active[i] = chance_below(chance, 4) > 0;
        world->old_us[i] = chance_below(chance, 3) == 0 ? some_time(chance) : 0;
        world->gone_us[i] = some_time(chance);
    }
    world->post_count =
        1 + (int)(chance_below(chance, POSTS) * chance_below(chance, POSTS) / POSTS);
    for (int i = 0; i < world->post_count; i++) {
        world->posts[i].actor =
            chance_below(chance, 12) == 0 ? -1 : (int)chance_below(chance, ACTORS);
        world->posts[i].shared_us = some_time(chance);
    }
}

static void store_posts(const struct world *world, struct text *sql)
{
    for (int i = 0; i < world->post_count; i++) {
        int actor = world->posts[i].actor;
        text_appendf(sql,
                     "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) VALUES "
                     "(%d, 0, %d, 'p', 'r%d', 0, %" PRId64 ");",
                     i + 1, actor < 0 ? 1 : actor + 1, i + 1, world->posts[i].shared_us);
        if (actor < 0)
            text_appendf(sql, "INSERT INTO post_links (post_id, link_id) VALUES (%d, %d);", i + 1,
                         LINK);
        else
            text_appendf(sql,
                         "INSERT INTO post_links (post_id, link_id, actor) "
                         "VALUES (%d, %d, %d);",
                         i + 1, LINK, actor + 1);
    }
}

/* As the writer keeps it: of all posts of a person, kept or not, the latest. */
static void store_share(const struct world *world, int actor, struct text *sql)
{
    int64_t last_us = world->old_us[actor];
    int stored = 0, old = last_us != 0;
    for (int i = 0; i < world->post_count; i++) {
        if (world->posts[i].actor != actor)
            continue;
        stored++;
        last_us = world->posts[i].shared_us > last_us ? world->posts[i].shared_us : last_us;
    }
    if (last_us == 0)
        last_us = world->gone_us[actor];
    text_appendf(sql,
                 "INSERT INTO share (link_id, actor, last_us, n_posts, old_posts, counted, old_us) "
                 "VALUES (%d, %d, %" PRId64 ", %d, %d, %d, ",
                 LINK, actor + 1, last_us, stored + old, old, world->active[actor]);
    if (old == 0)
        text_append_string(sql, "NULL);");
    else
        text_appendf(sql, "%" PRId64 ");", world->old_us[actor]);
}

static void store_world(struct bench *bench, const struct world *world)
{
    struct text sql = {0};
    text_appendf(&sql,
                 "DELETE FROM share; DELETE FROM post_links; DELETE FROM post; DELETE FROM links; "
                 "DELETE FROM actors; INSERT INTO links (id, normalized_url, original_url, "
                 "share_count_total, last_shared_us) VALUES (%d, 'https://e.example/', 'x', %d, "
                 "%" PRId64 ");",
                 LINK, ACTORS, NOW_US);
    for (int i = 0; i < ACTORS; i++)
        text_appendf(&sql, "INSERT INTO actors (id, did, active) VALUES (%d, 'did:plc:%d', %d);",
                     i + 1, i, world->active[i]);
    store_posts(world, &sql);
    for (int i = 0; i < ACTORS; i++)
        store_share(world, i, &sql);
    run_script(bench, text_string(&sql));
    text_free(&sql);
}

/* Numbers of the posts to be told, latest first; of one time the later number first. */
static size_t look_at_all(const struct world *world, size_t max, int *shown)
{
    bool taken[POSTS] = {false};
    for (size_t count = 0; count < max; count++) {
        int best = -1;
        for (int i = world->post_count - 1; i >= 0; i--) {
            int actor = world->posts[i].actor;
            if (!taken[i] && actor >= 0 && world->active[actor] &&
                (best < 0 || world->posts[i].shared_us > world->posts[best].shared_us))
                best = i;
        }
        if (best < 0)
            return count;
        taken[best] = true;
        shown[count] = best + 1;
    }
    return max;
}

static void check_posts(const struct world *world, struct json posts, size_t max)
{
    int wanted[SHOWN];
    size_t count = look_at_all(world, max, wanted);
    assert_int_equal(json_count(posts), count);
    for (size_t i = 0; i < count; i++) {
        struct bytes uri = json_string_or_absent(json_get(json_at(posts, i), "uri"));
        char expected[64];
        snprintf(expected, sizeof expected, "at://did:plc:%d/p/r%d",
                 world->posts[wanted[i] - 1].actor, wanted[i]);
        assert_true(bytes_equal_string(uri, expected));
    }
}

static void the_posts_told_are_the_latest_of_all(void **state)
{
    struct bench *bench = *state;
    struct chance chance = chance_init("trending_posts");
    struct json_doc *doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    struct world *world = memory_new(sizeof *world);
    struct trending_request request = trending_request_default(NOW_US);
    struct config config;
    struct text out = {0};
    struct json root;
    config_init(&config);
    for (int round = 0; round < ROUNDS; round++) {
        invent(world, &chance);
        store_world(bench, world);
        assert_ok(trending_print_posts(bench->store, LINK, &out, &bench->err));
        assert_ok(json_parse_copy(doc, text_bytes(&out), &root, &bench->err));
        check_posts(world, json_get(root, "posts"), SHOWN);
        for (request.posts = 1; request.posts <= TRENDING_POSTS_MAX; request.posts++) {
            assert_ok(trending_print(bench->store, &config, &request, &out, &bench->err));
            assert_ok(json_parse_copy(doc, text_bytes(&out), &root, &bench->err));
            check_posts(world, json_pointer(root, "/links/0/posts"), (size_t)request.posts);
        }
    }
    config_deinit(&config);
    text_free(&out);
    free(world);
    json_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_STORE(the_posts_told_are_the_latest_of_all)};
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
