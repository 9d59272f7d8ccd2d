/* SPDX-License-Identifier: Apache-2.0
 *
 * The reading of one feed on a scripted machine: two AppViews show the same feed, and each has
 * tokens of its own for its pages. A store of a few flags keeps what the sweep hands over. */
#include "source/feed_sweep.h"

#include "base/timestamp.h"
#include "http_desk.h"
#include "source/feed_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND  INT64_C(1000000)
#define MINUTE  (60 * SECOND)
#define POSTS   60
#define PAGE    10
#define BATCHES 8
#define DID     "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
#define FEED    "app.bsky.feed.getAuthorFeed"

struct desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    struct source_env env;
    struct quarantine quarantine;
    struct json_doc *doc;
    uint64_t pages;
    struct sweep_env sweep_env;
    struct feed_sweep *sweep;
    struct batch *submitted[BATCHES];
    size_t submitted_count, answered;
    int64_t seen_us[POSTS]; /* of the feed's posts, the newest first */
    bool stored[POSTS];
    int fails_from[2]; /* post from which on the pages of an AppView fail; POSTS: none does */
    unsigned asked[2];
    const char *standing;  /* as the AppViews call it; NULL: the account is there */
    int64_t latency_us;    /* of each answer */
    int64_t active, at_us; /* what was said of the account, and of when */
    bool ended;
    /* of the last step */
    enum sweep_step step;
    struct feed_place place;
    unsigned fresh;
};

/* ---- the store ---- */

static enum rc submit(void *arg, struct batch *batch)
{
    struct desk *desk = arg;
    assert_true(desk->submitted_count < BATCHES);
    desk->submitted[desk->submitted_count++] = batch;
    return RC_OK;
}

static void store(struct desk *desk, struct batch *batch)
{
    for (struct record *row = batch->first[RECORD_POST]; row != NULL; row = row->next) {
        int64_t number;
        struct bytes rkey = row->fields[POST_RKEY].b;
        assert_true(bytes_to_i64(bytes_make(rkey.data + 1, rkey.len - 1), &number));
        assert_in_range(number, 0, POSTS - 1);
        desk->stored[number] = true;
    }
    for (struct record *row = batch->first[RECORD_ACCOUNT]; row != NULL; row = row->next) {
        desk->active = row->fields[ACCOUNT_ACTIVE].i;
        desk->at_us = row->fields[ACCOUNT_AT_US].i;
    }
    batch->answered(batch->owner, batch, RC_OK);
}

static enum rc stage(void *arg, struct feed_sweep *sweep, const struct sweep_report *report,
                     struct batch *batch)
{
    struct desk *desk = arg;
    desk->step = report->step;
    desk->place = *report->place;
    desk->fresh = report->fresh;
    return feed_rows_move(batch, feed_sweep_order(sweep)->did, report->place, 0, 0, NULL,
                          report->now_us);
}

static void ended(void *arg, struct feed_sweep *sweep, enum rc rc)
{
    struct desk *desk = arg;
    (void)sweep;
    assert_int_equal(rc, RC_OK);
    desk->ended = true;
}

static const struct feed_sweep_ops ops = {.stage = stage, .ended = ended};

/* ---- the AppViews ---- */

/* A token of the first is a post's number, one of the second half of it. */
static int first_of_page(const struct desk_request *sent, int view)
{
    const char *token = strstr(sent->url, "&cursor=");
    int64_t number = 0;
    assert_true(token == NULL || bytes_to_i64(bytes_of(token + strlen("&cursor=")), &number));
    return (int)number * (view + 1);
}

static void put_page(const struct desk *desk, int first, int view, struct text *body)
{
    char seen[TIMESTAMP_TEXT_MAX];
    text_append_string(body, "{\"feed\":[");
    for (int i = first; i < first + PAGE && i < POSTS; i++) {
        assert_true(timestamp_format(desk->seen_us[i], seen));
        text_appendf(body,
                     "%s{\"post\":{\"uri\":\"at://" DID "/app.bsky.feed.post/k%03d\",\"cid\":\"c\","
                     "\"record\":{\"text\":\"t\",\"createdAt\":\"%s\"},\"indexedAt\":\"%s\"}}",
                     i == first ? "" : ",", i, seen, seen);
    }
    text_append_string(body, "]");
    if (first + PAGE < POSTS)
        text_appendf(body, ",\"cursor\":\"%d\"", (first + PAGE) / (view + 1));
    text_append_string(body, "}");
}

static void answer(struct desk *desk, size_t number)
{
    struct text body = {0};
    const struct desk_request *sent = &desk->http.sent[number];
    int view = strncmp(sent->url, "http://b/", 9) == 0, first = first_of_page(sent, view);
    desk->asked[view]++;
    http_desk_pass(&desk->http, desk->latency_us);
    if (desk->standing != NULL) {
        bool feed = strstr(sent->url, FEED) != NULL;
        text_appendf(&body, "{\"error\":\"%s\"}", feed ? "InvalidRequest" : desk->standing);
        http_desk_answer(&desk->http, number, 400, text_string(&body));
        text_free(&body);
        return;
    }
    assert_non_null(strstr(sent->url, FEED));
    if (first >= desk->fails_from[view]) {
        http_desk_answer(&desk->http, number, 503, "{\"error\":\"InternalServerError\"}");
        return;
    }
    put_page(desk, first, view, &body);
    http_desk_answer(&desk->http, number, 200, text_string(&body));
    text_free(&body);
}

/* ---- the sweep ---- */

static void begin(struct desk *desk)
{
    struct err err;
    *desk = (struct desk){.fails_from = {POSTS, POSTS}};
    http_desk_init(&desk->http);
    struct appview_options options = {.endpoints = (const char *const[]){"http://a", "http://b"},
                                      .endpoint_count = 2,
                                      .asks_max = 8,
                                      .pace = {.backoff_ms = 1000, .retries_max = 3}};
    assert_int_equal(appview_new(&desk->http.clock.runtime, &options, &desk->appview, &err), RC_OK);
    desk->env = (struct source_env){.runtime = &desk->http.clock.runtime,
                                    .pool = batch_pool_new(BATCHES, 65536),
                                    .submit = submit,
                                    .submit_arg = desk};
    quarantine_init(&desk->quarantine, "feed");
    desk->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    desk->sweep_env = (struct sweep_env){.source = &desk->env,
                                         .appview = desk->appview,
                                         .doc = desk->doc,
                                         .quarantine = &desk->quarantine,
                                         .pages = &desk->pages};
    desk->sweep = feed_sweep_new(&desk->sweep_env, &ops, desk);
    for (int i = 0; i < POSTS; i++)
        desk->seen_us[i] = DESK_T0 - (i + 1) * MINUTE;
}

static void finish(struct desk *desk)
{
    assert_true(feed_sweep_idle(desk->sweep));
    feed_sweep_free(desk->sweep);
    appview_free(desk->appview);
    json_doc_free(desk->doc);
    batch_pool_free(desk->env.pool);
    http_desk_deinit(&desk->http);
}

static struct sweep_order whole_feed(void)
{
    return (struct sweep_order){
        .did = bytes_of(DID), .handle = bytes_of("a.example"), .since_us = 1, .page_size = PAGE};
}

/* Until it ends, at most ten minutes. */
static void read_feed(struct desk *desk, const struct sweep_order *order)
{
    int64_t end_us = desk->http.clock.mono_us + 10 * MINUTE;
    desk->ended = false;
    feed_sweep_start(desk->sweep, order);
    while (!desk->ended || desk->submitted_count > 0) {
        assert_true(desk->http.clock.mono_us < end_us);
        if (desk->submitted_count > 0)
            store(desk, desk->submitted[--desk->submitted_count]);
        else if (desk->answered < desk->http.sent_count)
            answer(desk, desk->answered++);
        else
            http_desk_pass(&desk->http, SECOND / 10);
    }
}

static unsigned count_stored(const struct desk *desk)
{
    unsigned count = 0;
    for (int i = 0; i < POSTS; i++)
        count += desk->stored[i];
    return count;
}

/* ---- tokens: only who gave one understands it ---- */

static void a_feed_that_one_appview_breaks_off_is_read_anew_at_the_other(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.fails_from[0] = 20;
    read_feed(&desk, &order);
    assert_int_equal(desk.step, SWEEP_COMPLETE);
    assert_int_equal(count_stored(&desk), POSTS);
    assert_int_equal(desk.fresh, POSTS); /* nothing counts twice */
    assert_int_equal(desk.asked[0], 2 + 4);
    assert_int_equal(desk.asked[1], POSTS / PAGE);
    assert_int_equal(desk.place.newest.us, desk.seen_us[0]);
    finish(&desk);
}

static void a_page_that_fails_once_is_asked_of_the_same_appview_again(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.fails_from[0] = 20;
    feed_sweep_start(desk.sweep, &order);
    while (desk.asked[0] < 3) {
        if (desk.submitted_count > 0)
            store(&desk, desk.submitted[--desk.submitted_count]);
        else
            answer(&desk, desk.answered++);
    }
    desk.fails_from[0] = POSTS; /* it was only once */
    while (!desk.ended) {
        if (desk.submitted_count > 0)
            store(&desk, desk.submitted[--desk.submitted_count]);
        else if (desk.answered < desk.http.sent_count)
            answer(&desk, desk.answered++);
        else
            http_desk_pass(&desk.http, SECOND / 10);
    }
    assert_int_equal(desk.step, SWEEP_COMPLETE);
    assert_int_equal(count_stored(&desk), POSTS);
    assert_int_equal(desk.asked[0], POSTS / PAGE + 1);
    assert_int_equal(desk.asked[1], 0);
    finish(&desk);
}

static void a_reading_goes_on_where_its_token_is_understood_or_anew(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        unsigned asked[2];
    } cases[] = {{"a", {4, 0}}, {"b", {0, 4}}, {"c", {6, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct desk desk;
        struct sweep_order order = whole_feed();
        begin(&desk);
        order.place = (struct feed_place){.began_us = DESK_T0, .reached_us = DESK_T0 - 20 * MINUTE};
        memcpy(order.place.provider, cases[i].provider, 2);
        memcpy(order.place.token, *cases[i].provider == 'b' ? "10" : "20", 3);
        read_feed(&desk, &order);
        assert_int_equal(desk.step, SWEEP_COMPLETE);
        assert_int_equal(count_stored(&desk), *cases[i].provider == 'c' ? POSTS : POSTS - 20);
        assert_int_equal(desk.asked[0], cases[i].asked[0]);
        assert_int_equal(desk.asked[1], cases[i].asked[1]);
        finish(&desk);
    }
}

/* An outage of all is no reason to read everything again. */
static void while_nobody_works_the_place_is_kept(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.fails_from[0] = 20;
    desk.fails_from[1] = 0;
    read_feed(&desk, &order);
    assert_int_equal(desk.step, SWEEP_FAILED);
    assert_string_equal(desk.place.token, "20");
    assert_string_equal(desk.place.provider, "a");
    assert_int_equal(count_stored(&desk), 20);
    desk.fails_from[0] = desk.fails_from[1] = POSTS;
    http_desk_pass(&desk.http, 2 * MINUTE);
    order.place = desk.place;
    read_feed(&desk, &order);
    assert_int_equal(desk.step, SWEEP_COMPLETE);
    assert_int_equal(count_stored(&desk), POSTS);
    finish(&desk);
}

/* ---- what a page tells of where the reading stands ---- */

static void a_date_ahead_of_the_clock_says_nothing_of_where_the_reading_stands(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.seen_us[0] = DESK_T0 + 24 * 60 * MINUTE;
    read_feed(&desk, &order);
    assert_int_equal(count_stored(&desk), POSTS); /* it is a post like the others */
    assert_int_equal(desk.place.newest.us, desk.seen_us[1]);
    assert_int_equal(desk.fresh, POSTS - 1); /* its time has not come */
    order.to_mark = true;
    order.mark = (struct feed_mark){.us = desk.seen_us[45]};
    read_feed(&desk, &order);
    assert_int_equal(desk.pages, 6 + 5);
    assert_int_equal(desk.fresh, 44);
    assert_int_equal(desk.place.newest.us, desk.seen_us[1]);
    finish(&desk);
}

static void what_retention_would_remove_at_once_is_not_stored(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.sweep_env.kept_us = 25 * MINUTE;
    int64_t last_us = desk.seen_us[4];
    desk.seen_us[4] = DESK_T0 - 300 * 24 * 60 * MINUTE; /* one that is dated back */
    read_feed(&desk, &order);
    assert_int_equal(desk.step, SWEEP_COMPLETE);
    assert_int_equal(count_stored(&desk), 24);
    assert_false(desk.stored[4]);
    assert_true(desk.stored[24]);               /* to the microsecond */
    assert_int_equal(desk.pages, POSTS / PAGE); /* it ends paging no earlier */
    assert_int_equal(desk.place.newest.us, desk.seen_us[0]);
    desk.seen_us[4] = last_us;
    desk.sweep_env.kept_us = 0;
    read_feed(&desk, &order);
    assert_int_equal(count_stored(&desk), POSTS);
    finish(&desk);
}

/* ---- what became of the account ---- */

/* The stream may tell the contrary while the answer is on its way. */
static void who_is_gone_or_back_is_so_from_when_it_was_asked(void **state)
{
    (void)state;
    struct desk desk;
    struct sweep_order order = whole_feed();
    begin(&desk);
    desk.active = -1;
    desk.latency_us = 5 * SECOND;
    desk.standing = "AccountDeactivated";
    read_feed(&desk, &order);
    assert_int_equal(desk.step, SWEEP_GONE);
    assert_int_equal(desk.active, 0);
    assert_int_equal(desk.at_us, DESK_T0 + 5 * SECOND); /* the profile, not the feed */
    desk.standing = NULL;
    order.was_gone = true;
    int64_t asked_us = DESK_T0 + desk.http.clock.mono_us;
    read_feed(&desk, &order);
    assert_int_equal(desk.active, 1);
    assert_int_equal(desk.at_us, asked_us);
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_feed_that_one_appview_breaks_off_is_read_anew_at_the_other),
        cmocka_unit_test(a_page_that_fails_once_is_asked_of_the_same_appview_again),
        cmocka_unit_test(a_reading_goes_on_where_its_token_is_understood_or_anew),
        cmocka_unit_test(while_nobody_works_the_place_is_kept),
        cmocka_unit_test(what_retention_would_remove_at_once_is_not_stored),
        cmocka_unit_test(who_is_gone_or_back_is_so_from_when_it_was_asked),
        cmocka_unit_test(a_date_ahead_of_the_clock_says_nothing_of_where_the_reading_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
