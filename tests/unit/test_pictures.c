/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of links, on a scripted machine: who is asked when, and what is stored of it. */
#include "owed_bench.h"
#include "source/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND  OWED_BENCH_SECOND
#define PNG     "\x89PNG\r\n\x1a\n..."
#define PNG_HEX "89504e470d0a1a0a2e2e2e"

static const struct pictures_settings usual = {
    .enabled = true, .keep_bytes = 1000000, .cdn = "https://mirror.example/"};

struct desk {
    struct owed_bench bench;
    struct pictures *pictures;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    owed_bench_init(&desk->bench);
    desk->pictures = pictures_new(&desk->bench.env, &usual);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    desk->bench.hold_commits = false;
    pictures_stop(desk->pictures);
    owed_bench_pass(&desk->bench, SECOND);
    assert_true(pictures_stopped(desk->pictures));
    pictures_free(desk->pictures);
    owed_bench_deinit(&desk->bench);
    free(desk);
    return 0;
}

static void want(struct desk *desk, int64_t link, const char *url)
{
    char name[64];
    snprintf(name, sizeof name, "%d-%s", (int)link, strrchr(url, '/') + 1);
    pictures_want(desk->pictures, bytes_of(name), link, bytes_of(url));
    owed_bench_pass(&desk->bench, 0);
}

static void expect_stored(struct desk *desk, const char *words)
{
    owed_bench_pass(&desk->bench, SECOND);
    if (strstr(text_string(&desk->bench.committed), words) == NULL)
        fail_msg("no '%s' in: %s", words, text_string(&desk->bench.committed));
}

static void a_picture_is_asked_for_as_strangers_are_and_stored(void **state)
{
    struct desk *desk = *state;
    want(desk, 7, "https://a.example/i.png");
    assert_true(owed_bench_sent_to(&desk->bench, "https://a.example/i.png")->stranger);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/i.png"), 200, "", PNG);
    expect_stored(desk, "\"name\":\"7-i.png\",\"link\":7,");
    expect_stored(desk, "\"reason\":null,\"keep_bytes\":1000000,\"data\":\"" PNG_HEX "\"");
    assert_int_equal(pictures_counts(desk->pictures).fetched, 1);
    assert_int_equal(pictures_counts(desk->pictures).under_way, 0);
}

static void what_is_no_picture_is_noted_with_its_reason(void **state)
{
    struct desk *desk = *state;
    want(desk, 1, "https://a.example/page");
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/page"), 200,
                      "content-type: image/png\r\n", "<html><script>");
    expect_stored(desk, "\"reason\":\"it is no picture of pixels\"");
    want(desk, 2, "https://b.example/drawing");
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://b.example/drawing"), 200,
                      "content-type: image/svg+xml\r\n", "<svg xmlns='x'>");
    want(desk, 3, "https://c.example/gone");
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://c.example/gone"), 404, "", "no");
    expect_stored(desk, "\"reason\":\"its server answers 404\"");
    want(desk, 4, "https://d.example/inside");
    owed_bench_break(owed_bench_sent_to(&desk->bench, "https://d.example/inside"), RC_REJECT,
                     "10.0.0.1 is not public");
    expect_stored(desk, "\"reason\":\"10.0.0.1 is not public\"");
    want(desk, 5, "ftp://e.example/x");
    expect_stored(desk, "\"link\":5,");
    assert_null(strstr(text_string(&desk->bench.committed), "\"data\":\""));
    assert_int_equal(pictures_counts(desk->pictures).failed, 5);
}

static void the_networks_own_pictures_come_from_where_they_lie(void **state)
{
    struct desk *desk = *state;
    want(desk, 1, "https://cdn.bsky.app/img/feed_thumbnail/plain/did:plc:a/bafkreia@jpeg");
    owed_bench_sent_to(&desk->bench,
                       "https://mirror.example/img/feed_thumbnail/plain/did:plc:a/bafkreia@jpeg");
    want(desk, 2, "https://cdn.bsky.app.example/i.png");
    owed_bench_sent_to(&desk->bench, "https://cdn.bsky.app.example/i.png");
}

static void a_portrait_goes_with_no_link_and_is_asked_for_small(void **state)
{
    struct desk *desk = *state;
    const char *small = "https://mirror.example/img/avatar_thumbnail/plain/did:plc:a/b@jpeg";
    pictures_want(desk->pictures, bytes_of("did:plc:a-0123456789abcdef"), 0,
                  bytes_of("https://cdn.bsky.app/img/avatar/plain/did:plc:a/b@jpeg"));
    owed_bench_pass(&desk->bench, 0);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, small), 200, "", PNG);
    expect_stored(desk, "\"name\":\"did:plc:a-0123456789abcdef\",\"link\":null,");
    want(desk, 1, "https://a.example/img/avatar/x");
    owed_bench_sent_to(&desk->bench, "https://a.example/img/avatar/x");
}

static void a_picture_on_its_way_is_not_asked_for_again(void **state)
{
    struct desk *desk = *state;
    want(desk, 1, "https://a.example/i.png");
    want(desk, 1, "https://a.example/i.png");
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(desk->bench.sent_count, 1);
    assert_int_equal(pictures_counts(desk->pictures).turned_away, 0);
}

static void so_many_are_in_hand_and_so_many_wait_and_the_rest_is_turned_away(void **state)
{
    struct desk *desk = *state;
    char url[64];
    desk->bench.hold_commits = true;
    for (int i = 0; i < 70; i++) {
        snprintf(url, sizeof url, "https://h%d.example/i.png", i);
        want(desk, i, url);
    }
    assert_int_equal(owed_bench_asking(&desk->bench), 8);
    assert_int_equal(pictures_counts(desk->pictures).under_way, 64);
    assert_int_equal(pictures_counts(desk->pictures).turned_away, 6);
    /* Bytes that are not stored yet keep their place. */
    for (int i = 0; i < 8; i++)
        owed_bench_answer(&desk->bench.sent[i], 200, "", PNG);
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(owed_bench_asking(&desk->bench), 0);
    desk->bench.hold_commits = false;
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(owed_bench_asking(&desk->bench), 8);
    assert_int_equal(pictures_counts(desk->pictures).under_way, 56);
}

static void a_host_is_asked_at_a_pace(void **state)
{
    struct desk *desk = *state;
    want(desk, 1, "https://a.example/1");
    want(desk, 2, "https://a.example/2");
    assert_int_equal(owed_bench_asking(&desk->bench), 1);
    owed_bench_pass(&desk->bench, 50000);
    assert_int_equal(owed_bench_asking(&desk->bench), 2);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/1"), 429,
                      "retry-after: 30\r\n", "");
    want(desk, 3, "https://a.example/3");
    assert_int_equal(pictures_counts(desk->pictures).turned_away, 1);
}

static void nothing_is_fetched_while_they_are_turned_off(void **state)
{
    struct desk *desk = *state;
    struct pictures_settings off = usual;
    off.enabled = false;
    pictures_tune(desk->pictures, &off);
    want(desk, 1, "https://a.example/1");
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(desk->bench.sent_count, 0);
    pictures_tune(desk->pictures, &usual);
    want(desk, 1, "https://a.example/1");
    assert_int_equal(desk->bench.sent_count, 1);
}

static void a_stop_in_the_midst_leaves_nothing(void **state)
{
    struct desk *desk = *state;
    want(desk, 1, "https://a.example/1");
    want(desk, 2, "https://a.example/2");
    pictures_stop(desk->pictures);
    want(desk, 3, "https://b.example/3");
    assert_int_equal(owed_bench_asking(&desk->bench), 0);
    assert_int_equal(pictures_counts(desk->pictures).under_way, 0);
    assert_int_equal(desk->bench.commits, 0);
}

#define ON_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DESK(a_picture_is_asked_for_as_strangers_are_and_stored),
        ON_DESK(what_is_no_picture_is_noted_with_its_reason),
        ON_DESK(the_networks_own_pictures_come_from_where_they_lie),
        ON_DESK(a_portrait_goes_with_no_link_and_is_asked_for_small),
        ON_DESK(a_picture_on_its_way_is_not_asked_for_again),
        ON_DESK(so_many_are_in_hand_and_so_many_wait_and_the_rest_is_turned_away),
        ON_DESK(a_host_is_asked_at_a_pace),
        ON_DESK(nothing_is_fetched_while_they_are_turned_off),
        ON_DESK(a_stop_in_the_midst_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
