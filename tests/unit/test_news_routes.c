/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shared, as the API tells it. */
#include "config_load.h"
#include "server_bench.h"
#include "store/store.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US INT64_C(3600000000)

static struct config config;

/* Two people share an article, one of them by a repost; one shares a picture. What they shared last
 * is no longer kept. */
static void fill(struct bench *bench)
{
    struct store *store;
    struct text sql = {0};
    int64_t now_us = clock_wall_us();
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err), RC_OK);
    text_appendf(
        &sql,
        "INSERT INTO actors (id, did, handle, display_name) VALUES "
        "(9001, 'did:plc:ann', 'ann.example', 'Ann'), (9002, 'did:plc:bo', NULL, NULL);"
        "INSERT INTO links (id, normalized_url, original_url, title, domain, "
        "share_count_total, first_shared_us, last_shared_us, flags) VALUES "
        "(7, 'https://e.example/a', 'https://e.example/a?x=1', 'A \"title\"', 'e.example', "
        "2, 1700000000000000, %" PRId64 ", 0), "
        "(8, 'https://e.example/b.png', 'https://e.example/b.png', NULL, 'e.example', 1, "
        "1700000000000000, %" PRId64 ", 16);"
        "INSERT INTO share (link_id, actor, last_us, n_posts, counted) VALUES "
        "(7, 9001, %" PRId64 ", 1, 1), (7, 9002, %" PRId64 ", 1, 1), "
        "(8, 9001, %" PRId64 ", 1, 1);"
        "UPDATE share SET n_posts = 2, old_posts = 1, old_us = last_us;"
        "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, body) VALUES "
        "(9001, 1, 9001, 'app.bsky.feed.post', 'k', 0, 1700000000000000, 'Read this'), "
        "(9002, 1, 9002, 'app.bsky.feed.repost', 'k', 1, 1700000001000000, NULL);"
        "INSERT INTO post_links (post_id, link_id, via, actor) VALUES "
        "(9001, 7, 'post', 9001), (9002, 7, 'repost', 9002);",
        now_us, now_us, now_us - HOUR_US, now_us - 30 * HOUR_US, now_us);
    assert_int_equal(store->ops->script(store, text_string(&sql), &bench->err), RC_OK);
    text_clear(&sql);
    text_appendf(&sql,
                 "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) "
                 "VALUES (1, 'jetstream', 'live', %" PRId64 ", %" PRId64 ", 'away', 1, 1)",
                 now_us - 3 * HOUR_US, now_us - 2 * HOUR_US);
    assert_int_equal(store->ops->script(store, text_string(&sql), &bench->err), RC_OK);
    store_close(store);
    text_free(&sql);
}

static int set_up(void **state)
{
    int rc = bench_set_up(state);
    struct bench *bench = *state;
    config_init(&config);
    fill(bench);
    bench->options.config = &config;
    bench_restart(bench);
    bench_reconnect(bench);
    return rc;
}

static int tear_down(void **state)
{
    int rc = bench_tear_down(state);
    config_deinit(&config);
    return rc;
}

static void trending_tells_who_shared_what_and_why(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/api/trending"), 200);
    const char *start = "{\"links\":[{\"id\":\"7\",\"url\":\"https://e.example/a?x=1\","
                        "\"title\":\"A \\\"title\\\"\",\"description\":null,\"image\":null,"
                        "\"domain\":\"e.example\",\"shares\":1,"
                        "\"first_shared_at\":\"2023-11-14T22:13:20.000Z\",\"last_shared_at\":\"";
    assert_int_equal(strncmp(bench_body(bench), start, strlen(start)), 0);
    assert_true(bench_says(bench, "\"score\":1.0,\"why\":\"1 person shared it in the last 24 "
                                  "hours.\",\"sharers\":[{\"did\":\"did:plc:ann\",\"handle\":"
                                  "\"ann.example\",\"displayName\":\"Ann\",\"avatar\":null}]}],"
                                  "\"complete_since\":\""));
    assert_true(bench_says(bench, "\"gaps\":[{\"source\":\"jetstream\",\"stream\":\"live\","));
    assert_true(bench_says(bench, "\"reason\":\"away\"}]}"));
    assert_false(bench_says(bench, "b.png"));
    assert_int_equal(bench_get(bench, "/api/trending?hours=48&sort=velocity&limit=1"), 200);
    assert_true(bench_says(bench, "\"shares\":2,"));
    assert_true(bench_says(bench, "a share counts half after every 6 hours."));
    assert_int_equal(bench_get(bench, "/api/trending?hours=48&min_shares=3"), 200);
    assert_true(bench_says(bench, "{\"links\":[],"));
    assert_int_equal(bench_get(bench, "/api/trending?q=TITLE"), 200);
    assert_true(bench_says(bench, "\"id\":\"7\""));
    assert_int_equal(bench_get(bench, "/api/trending?q=cats%20and%20dogs"), 200);
    assert_true(bench_says(bench, "{\"links\":[],"));
    assert_int_equal(bench_get(bench, "/api/trending?domain=e.example&author=did:plc:ann"), 200);
    assert_true(bench_says(bench, "\"id\":\"7\""));
    assert_false(bench_says(bench, "\"posts\""));
    assert_int_equal(bench_get(bench, "/api/trending?posts=1"), 200);
    assert_true(bench_says(bench, "\"posts\":[{\"uri\":\"at://did:plc:bo/"));
    assert_false(bench_says(bench, "Read this"));
    assert_int_equal(bench_get(bench, "/api/trending?domain=f.example"), 200);
    assert_true(bench_says(bench, "{\"links\":[],"));
    assert_int_equal(bench_get(bench, "/api/trending?author=nobody.example"), 404);
    assert_true(bench_says(bench, "nobody is known here by the name nobody.example"));
}

static void wrong_parameters_are_refused_with_a_sentence(void **state)
{
    struct bench *bench = *state;
    static const char *const wrong[][2] = {
        {"hours=0", "hours is a number from 1 to 8760"},
        {"hours=x", "hours is a number from 1 to 8760"},
        {"limit=101", "limit is a number from 1 to 100"},
        {"min_shares=", "min_shares is a number from 1 to 1000000"},
        {"posts=6", "posts is a number from 0 to 5"},
        {"degree=3", "degree is a number from 1 to 2"},
        {"sort=best", "sort is shares, velocity or recent"},
        {"colour=red", "colour is no parameter of this address"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "/api/trending?%s", wrong[i][0]);
        assert_int_equal(bench_get(bench, path), 400);
        assert_true(bench_says(bench, wrong[i][1]));
        assert_true(bench_says(bench, "{\"success\":false,"));
    }
    char path[256] = "/api/trending?q=";
    memset(path + strlen(path), 'x', 200);
    assert_int_equal(bench_get(bench, path), 400);
}

/* What is passed on comes back with what others have added to its address. */
static void pages_and_feeds_pass_over_parameters_that_are_nobodys(void **state)
{
    struct bench *bench = *state;
    static const char *const paths[] = {"/", "/feed.xml", "/feed.json", "/status", "/links/7"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s?utm_source=x&fbclid&%%5B%%5D=1", paths[i]);
        assert_int_equal(bench_get(bench, path), 200);
    }
    assert_int_equal(bench_get(bench, "/?utm_source=x&hours=48&domain=f.example"), 200);
    assert_false(bench_says(bench, "https://e.example/a?x=1"));
    assert_int_equal(bench_get(bench, "/?utm_source=x&hours=0"), 400);
    assert_int_equal(bench_get(bench, "/api/trending?utm_source=x"), 400);
}

static void the_posts_behind_a_link_are_told_latest_first(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/api/links/7/posts"), 200);
    assert_string_equal(
        bench_body(bench),
        "{\"link\":{\"id\":\"7\",\"url\":\"https://e.example/a?x=1\",\"title\":\"A \\\"title\\\"\","
        "\"description\":null,\"image\":null,\"domain\":\"e.example\","
        "\"first_shared_at\":\"2023-11-14T22:13:20.000Z\"},"
        "\"posts\":[{\"uri\":\"at://did:plc:bo/app.bsky.feed.repost/k\",\"did\":\"did:plc:bo\","
        "\"handle\":null,\"displayName\":null,\"avatar\":null,\"text\":null,\"kind\":\"repost\","
        "\"shared_at\":"
        "\"2023-11-14T22:13:21.000Z\",\"via\":\"repost\"},"
        "{\"uri\":\"at://did:plc:ann/app.bsky.feed.post/k\",\"did\":\"did:plc:ann\","
        "\"handle\":\"ann.example\",\"displayName\":\"Ann\",\"avatar\":null,\"text\":\"Read "
        "this\",\"kind\":\"post\",\"shared_at\":"
        "\"2023-11-14T22:13:20.000Z\",\"via\":\"post\"}]}\n");
    assert_int_equal(bench_get(bench, "/api/links/99/posts"), 404);
    assert_true(bench_says(bench, "there is no link 99"));
    assert_int_equal(bench_get(bench, "/api/links/x/posts"), 404);
    assert_int_equal(bench_get(bench, "/api/links//posts"), 404);
    assert_int_equal(bench_get(bench, "/api/links/7/posts/more"), 404);
    assert_int_equal(bench_post(bench, "/api/links/7/posts", "{}"), 405);
}

static void the_page_shows_what_the_api_tells(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/?hours=24"), 200);
    assert_true(bench_says(bench, "<bdi>A &quot;title&quot;</bdi>"));
    assert_true(bench_says(bench, "1 gap is being filled"));
    assert_true(bench_says(bench, "<bdi>Read this</bdi>"));
    assert_false(bench_says(bench, "b.png"));
    assert_true(bench_says(bench, "<a href=\"/links/7\">All posts</a>"));
    assert_int_equal(bench_get(bench, "/links/7"), 200);
    assert_true(bench_says(bench, "<bdi>A &quot;title&quot;</bdi>"));
    assert_true(bench_says(bench, "<bdi>Read this</bdi>"));
    assert_true(bench_says(bench, " reposted it "));
    assert_true(bench_says(bench, "2 posts"));
    assert_int_equal(bench_get(bench, "/links/99"), 404);
    assert_true(bench_says(bench, "<bdi>there is no link 99</bdi>"));
    assert_int_equal(bench_get(bench, "/links/%3Cb%3E"), 404);
    assert_true(bench_says(bench, "<bdi>a link&#39;s id is a number</bdi>"));
    assert_int_equal(bench_get(bench, "/?hours=zero"), 400);
    assert_true(bench_says(bench, "<bdi>hours is a number from 1 to 8760</bdi>"));
    assert_int_equal(bench_get(bench, "/?author=%3Cb%3E.example"), 404);
    assert_true(bench_says(bench, "nobody is known here by the name &lt;b&gt;.example"));
}

static void name_link(struct bench *bench, const char *title)
{
    struct store *store;
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE links SET title = '%s' WHERE id = 7", title);
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err), RC_OK);
    assert_int_equal(store->ops->script(store, sql, &bench->err), RC_OK);
    store_close(store);
}

static bool page_says(struct bench *bench, const char *path, const char *age, const char *words)
{
    char asked[256];
    snprintf(asked, sizeof asked, "GET %s HTTP/1.1\r\nHost: localhost\r\nCache-Control: %s\r\n\r\n",
             path, age);
    assert_int_equal(bench_say(bench, asked), 200);
    return bench_says(bench, words);
}

/* Who lets it be of the last moments gets the page that another one was given, of the same view;
 * all others get what the store has. */
static void a_page_of_the_last_moments_is_shared(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/"), 200);
    name_link(bench, "renamed");
    assert_false(page_says(bench, "/", "max-age=60", "renamed"));
    assert_true(page_says(bench, "/?hours=48", "max-age=60", "renamed"));
    assert_true(page_says(bench, "/", "max-age=0", "renamed"));
    assert_true(page_says(bench, "/", "max-age=60", "renamed"));
    name_link(bench, "once more");
    assert_true(page_says(bench, "/", "max-age=soon", "once more"));
    assert_int_equal(bench_get(bench, "/?hours=48"), 200);
    assert_true(bench_says(bench, "once more"));
}

/* Feeds are asked for again and again, and are text like the rest. */
static void feeds_are_packed_for_who_asks(void **state)
{
    static const char *const paths[] = {"/feed.xml", "/feed.json"};
    struct bench *bench = *state;
    struct store *store;
    char request[256];
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err), RC_OK);
    assert_int_equal(
        store->ops->script(store,
                           "UPDATE links SET original_url = original_url || hex(zeroblob(500))",
                           &bench->err),
        RC_OK);
    store_close(store);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(bench_get(bench, paths[i]), 200);
        size_t plain = bench->answer.body.len;
        assert_true(plain >= 1024);
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n", paths[i]);
        assert_int_equal(bench_say(bench, request), 200);
        assert_true(bench_head_says(bench, "\r\nContent-Encoding: gzip\r\n"));
        assert_true(bench_head_says(bench, "\r\nVary: Accept-Encoding\r\n"));
        assert_true(bench->answer.body.len < plain);
    }
}

int main(void)
{
#define ON_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SERVER(trending_tells_who_shared_what_and_why),
        ON_SERVER(wrong_parameters_are_refused_with_a_sentence),
        ON_SERVER(pages_and_feeds_pass_over_parameters_that_are_nobodys),
        ON_SERVER(the_posts_behind_a_link_are_told_latest_first),
        ON_SERVER(the_page_shows_what_the_api_tells),
        ON_SERVER(a_page_of_the_last_moments_is_shared),
        ON_SERVER(feeds_are_packed_for_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
