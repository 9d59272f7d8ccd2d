/* SPDX-License-Identifier: Apache-2.0
 *
 * The source on a scripted machine: each test says what the hosts answer and looks at what they
 * were asked. */
#include "daemon_uptime.h"
#include "ingest/retry.h"
#include "source/jetstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 INT64_C(1790000000000000)
#define V2 "/xrpc/network.bsky.jetstream."

struct desk {
    struct runtime runtime; /* first: the runtime is the desk */
    int64_t mono_us;
    struct timer_heap timers;
    struct batch_pool *pool;
    struct source *source;
    struct batch *handed[64];
    size_t handed_count;
    /* what was asked */
    char http_url[512], ws_url[2048];
    http_done_fn *http_done;
    void *http_arg;
    bool http_cancelled, closed;
    const struct ws_events *events;
    void *events_arg;
    struct text sent; /* the last message to the server */
    unsigned dials, messages;
};

static int64_t wall_us(struct runtime *runtime)
{
    return T0 + ((struct desk *)runtime)->mono_us;
}

static int64_t mono_us(struct runtime *runtime)
{
    return ((struct desk *)runtime)->mono_us;
}

static uint64_t chance(struct runtime *runtime)
{
    (void)runtime;
    return RETRY_CENTRE;
}

static void arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    struct desk *desk = (struct desk *)runtime;
    timer_heap_arm(&desk->timers, timer, desk->mono_us + delay_us);
}

static void disarm(struct runtime *runtime, struct timer *timer)
{
    timer_heap_disarm(&((struct desk *)runtime)->timers, timer);
}

static struct http_call *http_send(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    struct desk *desk = (struct desk *)runtime;
    snprintf(desk->http_url, sizeof desk->http_url, "%s", request->url);
    desk->http_done = done;
    desk->http_arg = arg;
    return (struct http_call *)(void *)desk;
}

static void http_cancel(struct runtime *runtime, struct http_call *call)
{
    assert_ptr_equal(call, runtime);
    ((struct desk *)runtime)->http_cancelled = true;
}

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    struct desk *desk = (struct desk *)runtime;
    snprintf(desk->ws_url, sizeof desk->ws_url, "%s", request->url);
    desk->events = events;
    desk->events_arg = arg;
    desk->dials++;
    desk->closed = false;
    return (struct ws *)(void *)desk;
}

static enum rc ws_send_text(struct ws *ws, struct bytes payload)
{
    struct desk *desk = (struct desk *)(void *)ws;
    text_clear(&desk->sent);
    text_append(&desk->sent, payload.data, payload.len);
    desk->messages++;
    return RC_OK;
}

static void ws_close(struct ws *ws, uint16_t code, const char *reason)
{
    (void)code;
    (void)reason;
    ((struct desk *)(void *)ws)->closed = true;
}

static const struct runtime_ops ops = {.wall_us = wall_us,
                                       .mono_us = mono_us,
                                       .random = chance,
                                       .timer_arm = arm,
                                       .timer_disarm = disarm,
                                       .http_send = http_send,
                                       .http_cancel = http_cancel,
                                       .ws_open = ws_open,
                                       .ws_send_text = ws_send_text,
                                       .ws_close = ws_close};

static enum rc submit(void *arg, struct batch *batch)
{
    struct desk *desk = arg;
    assert_true(desk->handed_count < 64);
    desk->handed[desk->handed_count++] = batch;
    return RC_OK;
}

static void commit_all(struct desk *desk)
{
    while (desk->handed_count > 0) {
        struct batch *batch = desk->handed[0];
        memmove(desk->handed, desk->handed + 1, --desk->handed_count * sizeof *desk->handed);
        batch->answered(batch->owner, batch, RC_OK);
    }
}

static void pass(struct desk *desk, int64_t us)
{
    struct timer *timer;
    desk->mono_us += us;
    while ((timer = timer_heap_pop(&desk->timers, desk->mono_us)) != NULL)
        timer->fn(timer->arg);
    commit_all(desk);
}

static void begin(struct desk *desk, struct jetstream_options *options)
{
    struct err err;
    *desk = (struct desk){.runtime = {.ops = &ops}, .pool = batch_pool_new(4, 1 << 17)};
    struct source_env env = {
        .runtime = &desk->runtime, .pool = desk->pool, .submit = submit, .submit_arg = desk};
    if (options->reconnect_delay_seconds == 0)
        options->reconnect_delay_seconds = 1;
    assert_int_equal(jetstream_new(&env, options, &desk->source, &err), RC_OK);
}

static void start(struct desk *desk)
{
    desk->source->ops->start(desk->source);
    pass(desk, 0);
}

static void opened(struct desk *desk)
{
    desk->events->opened(desk->events_arg);
}

static void message(struct desk *desk, const char *json)
{
    char padded[2048] = {0};
    snprintf(padded, sizeof padded - ARENA_PAD, "%s", json);
    desk->events->message(desk->events_arg, false, bytes_make(padded, strlen(padded)));
    commit_all(desk);
}

static void ended(struct desk *desk, int status, const char *body)
{
    struct err why = {"it ended"};
    desk->events->closed(desk->events_arg, status, bytes_of(body), &why);
    pass(desk, 0);
}

static void fetched(struct desk *desk, enum rc rc, int status, const char *body)
{
    struct http_response answer = {
        .rc = rc, .status = status, .body = bytes_of(body), .retry_after_ms = -1};
    http_done_fn *done = desk->http_done;
    desk->http_done = NULL;
    done(desk->http_arg, &answer);
}

static void finish(struct desk *desk)
{
    struct err why = {"closed by us"};
    desk->source->ops->stop(desk->source);
    if (desk->closed)
        desk->events->closed(desk->events_arg, 0, BYTES_ABSENT, &why);
    commit_all(desk);
    assert_true(desk->source->ops->stopped(desk->source));
    desk->source->ops->free(desk->source);
    batch_pool_free(desk->pool);
    timer_heap_deinit(&desk->timers);
    text_free(&desk->sent);
}

static const char *event_at(int64_t time_us, int64_t seq)
{
    static char json[512];
    if (seq == 0)
        snprintf(json, sizeof json, "{\"did\":\"did:web:a\",\"time_us\":%lld,\"kind\":\"none\"}",
                 (long long)time_us);
    else
        snprintf(json, sizeof json,
                 "{\"$type\":\"message\",\"payload\":{\"$type\":\"x#sync\",\"did\":\"did:web:a\","
                 "\"seq\":%lld,\"time\":\"2026-09-21T14:13:20.000000Z\"}}",
                 (long long)seq);
    return json;
}

static void a_dictionary_that_cannot_be_had_means_plain_messages(void **state)
{
    (void)state;
    static const struct {
        enum rc rc;
        int status;
        const char *body, *address;
    } answers[] = {{RC_RETRY, 0, "", V2 "subscribeEvents?"},
                   {RC_OK, 500, "", V2 "subscribeEvents?"},
                   {RC_OK, 200, "<html>", V2 "subscribeEvents?"},
                   {RC_OK, 404, "not found", "ws://h/subscribe"}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct desk desk;
        begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}, .compress = true});
        start(&desk);
        assert_string_equal(desk.http_url, "http://h" V2 "getZstdDictionary");
        assert_int_equal(desk.dials, 0);
        fetched(&desk, answers[i].rc, answers[i].status, answers[i].body);
        assert_int_equal(desk.dials, 1);
        assert_non_null(strstr(desk.ws_url, answers[i].address));
        assert_null(strstr(desk.ws_url, "zstd"));
        assert_null(strstr(desk.ws_url, "compress"));
        opened(&desk);
        finish(&desk);
    }
}

static void without_compression_no_dictionary_is_asked_for(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}});
    start(&desk);
    assert_string_equal(desk.http_url, "");
    assert_int_equal(desk.dials, 1);
    opened(&desk);
    finish(&desk);
}

static void a_stop_while_the_dictionary_is_fetched_ends_at_once(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}, .compress = true});
    start(&desk);
    desk.source->ops->stop(desk.source);
    assert_true(desk.http_cancelled);
    assert_true(desk.source->ops->stopped(desk.source));
    finish(&desk);
}

static void a_host_without_the_second_wire_is_remembered(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}});
    start(&desk);
    assert_non_null(strstr(desk.ws_url, "subscribeEvents"));
    ended(&desk, 404, "404 page not found");
    assert_int_equal(desk.dials, 2); /* at once: it is no failure */
    assert_non_null(strstr(desk.ws_url, "ws://h/subscribe"));
    opened(&desk);
    message(&desk, event_at(T0, 0));
    ended(&desk, 1001, "");
    pass(&desk, 2000000);
    assert_int_equal(desk.dials, 3);
    assert_non_null(strstr(desk.ws_url, "ws://h/subscribe"));
    opened(&desk);
    finish(&desk);
}

static void a_cursor_too_old_is_asked_exactly_and_then_by_time(void **state)
{
    (void)state;
    static const char too_old[] = "{\"error\":\"CursorTooOld\",\"message\":\"older\"}";
    struct desk desk;
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h" V2 "subscribeEvents"}});
    start(&desk);
    opened(&desk);
    message(&desk, event_at(0, 5000));
    ended(&desk, 1001, "");
    pass(&desk, 2000000);
    assert_non_null(strstr(desk.ws_url, "&cursor=4000"));
    ended(&desk, 400, too_old);
    assert_non_null(strstr(desk.ws_url, "&cursor=5000"));
    ended(&desk, 400, too_old);
    assert_non_null(strstr(desk.ws_url, "&cursor=1789999998000000"));
    assert_int_equal(desk.dials, 4);
    /* Refused once more there is nothing else to ask for: a failure, waited out. */
    ended(&desk, 400, too_old);
    assert_int_equal(desk.dials, 4);
    finish(&desk);
}

static void after_an_event_of_the_future_the_stream_is_asked_where_it_stood(void **state)
{
    (void)state;
    static const char *const urls[] = {"ws://h/subscribe", "ws://h" V2 "subscribeEvents"};
    static const char *const asked[] = {"cursor=1789999998000000", "cursor=4001"};
    static const char liar[] =
        "{\"$type\":\"message\",\"payload\":{\"$type\":\"x#sync\",\"did\":\"did:web:a\","
        "\"seq\":5001,\"time\":\"2099-09-21T14:13:20Z\"}}";
    for (int wire = 0; wire < 2; wire++) {
        struct desk desk;
        struct source_view view;
        begin(&desk, &(struct jetstream_options){.endpoints = {urls[wire]}});
        start(&desk);
        opened(&desk);
        message(&desk, event_at(T0, wire == 0 ? 0 : 5000));
        message(&desk, wire == 0 ? event_at(T0 * 2, 0) : liar);
        pass(&desk, 1000000);
        desk.source->ops->view(desk.source, &view);
        assert_int_equal(view.ahead, 1);
        assert_true(view.committed_us == T0 && view.received_us == T0);
        ended(&desk, 1001, "");
        pass(&desk, 2000000);
        assert_int_equal(desk.dials, 2);
        assert_non_null(strstr(desk.ws_url, asked[wire]));
        finish(&desk);
    }
}

/* What the batches that were handed over say, as one text. */
static void take_rows(struct desk *desk, enum record_id kind, struct text *out)
{
    for (size_t i = 0; i < desk->handed_count; i++)
        for (struct record *row = desk->handed[i]->first[kind]; row != NULL; row = row->next)
            record_print(row, out);
}

static void what_is_too_large_is_gone_past_and_leaves_a_note_and_a_gap(void **state)
{
    (void)state;
    struct desk desk;
    struct text notes = {0}, gaps = {0};
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    start(&desk);
    opened(&desk);
    message(&desk, event_at(T0, 0));
    desk.events->too_large(desk.events_arg, 9000000);
    take_rows(&desk, RECORD_QUARANTINE, &notes);
    take_rows(&desk, RECORD_GAP, &gaps);
    assert_non_null(strstr(text_string(&notes),
                           "a message of 9000000 bytes after 1790000000000000 is over the"));
    assert_non_null(strstr(text_string(&notes), "\"size\":9000000"));
    assert_int_equal(gaps.len, 0); /* where it ends is not known yet: the cursor stays before it */
    commit_all(&desk);
    desk.mono_us += 2000000;
    char next[256] = {0};
    snprintf(next, sizeof next, "%s", event_at(T0 + 500, 0));
    desk.events->message(desk.events_arg, false, bytes_make(next, strlen(next)));
    take_rows(&desk, RECORD_GAP, &gaps);
    assert_non_null(strstr(text_string(&gaps), "\"from_us\":1790000000000000"));
    assert_non_null(strstr(text_string(&gaps), "\"to_us\":1790000000000500"));
    assert_non_null(strstr(text_string(&gaps), "too large"));
    commit_all(&desk);
    assert_int_equal(desk.dials, 1);
    assert_false(desk.closed);
    finish(&desk);
    text_free(&notes);
    text_free(&gaps);
}

/* R001-08 R001-13 */
static void who_is_followed_is_told_on_the_open_connection(void **state)
{
    (void)state;
    struct desk desk;
    static char dids[10001][24];
    static struct bytes many[10001];
    struct bytes one = bytes_of("did:web:one"), two = bytes_of("did:web:two");
    for (int i = 0; i < 10001; i++) {
        snprintf(dids[i], sizeof dids[i], "did:web:n%d", i);
        many[i] = bytes_of(dids[i]);
    }
    begin(&desk,
          &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}, .only_followed = true});
    start(&desk);
    assert_non_null(strstr(desk.ws_url, "requireHello=true"));
    opened(&desk);
    assert_int_equal(desk.messages, 0); /* nobody is known yet: nothing may flow */
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    jetstream_change_follows(desk.source, &two, 1, &one, 1);
    pass(&desk, 0);
    assert_int_equal(desk.messages, 1); /* two changes, one message */
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[\"did:web:two\"]"));
    jetstream_change_follows(desk.source, &two, 1, &one, 1);
    pass(&desk, 0);
    assert_int_equal(desk.messages, 1); /* nothing changed */
    jetstream_change_follows(desk.source, many, 10001, NULL, 0);
    pass(&desk, 0);
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[]"));
    jetstream_change_follows(desk.source, NULL, 0, many, 10001);
    pass(&desk, 0);
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[\"did:web:two\"]"));
    assert_int_equal(desk.dials, 1);
    finish(&desk);
}

static void the_second_wire_is_never_sent_a_message(void **state)
{
    (void)state;
    struct desk desk;
    struct bytes one = bytes_of("did:web:one");
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h" V2 "subscribeEvents"},
                                             .only_followed = true});
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    start(&desk);
    opened(&desk);
    pass(&desk, 0);
    assert_int_equal(desk.messages, 0);
    assert_null(strstr(desk.ws_url, "requireHello"));
    message(&desk, event_at(0, 5));
    struct source_view view;
    desk.source->ops->view(desk.source, &view);
    assert_int_equal(view.filtered, 1);
    assert_int_equal(view.follows, 1);
    assert_true(view.committed_us > 0); /* a stranger's event moves the cursor, too */
    finish(&desk);
}

/* R001-148 R001-35: a drop each hour, and each time the first attempt to come back is refused. */
static void a_day_with_a_drop_each_hour_is_up_for_more_than_99_percent(void **state)
{
    (void)state;
    const int64_t second = 1000000, hour = 3600 * second, look = second / 5;
    struct desk desk;
    struct uptime uptime = {0};
    struct source_view view = {0};
    unsigned answered = 0, drops = 0;
    bool refuse = false;
    begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                             .reconnect_delay_seconds = 5});
    start(&desk);
    for (int64_t passed = 0; passed < 24 * hour; passed += look) {
        if (desk.dials > answered) {
            answered = desk.dials;
            if (drops > 0)
                assert_int_equal(passed % hour - hour / 2, (refuse ? 5 : 15) * second);
            refuse ? ended(&desk, 503, "") : opened(&desk);
            refuse = false;
        } else if (passed % hour == hour / 2) {
            ended(&desk, 0, "");
            refuse = true;
            drops++;
        } else if (view.state == SOURCE_LIVE && passed % second == 0) {
            message(&desk, event_at(T0 + desk.mono_us, 0));
        }
        desk.source->ops->view(desk.source, &view);
        uptime_tell(&uptime, view.state == SOURCE_LIVE, view.bytes, desk.mono_us + 1);
        pass(&desk, look);
    }
    printf("24 drops in 24 hours: up %.2f %% of the time\n", uptime_percent(&uptime));
    assert_int_equal(drops, 24);
    assert_int_equal(desk.dials, 1 + 2 * drops);
    assert_true(uptime_percent(&uptime) > 99);
    assert_true(uptime_percent(&uptime) < 100);
    finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dictionary_that_cannot_be_had_means_plain_messages),
        cmocka_unit_test(without_compression_no_dictionary_is_asked_for),
        cmocka_unit_test(a_stop_while_the_dictionary_is_fetched_ends_at_once),
        cmocka_unit_test(a_host_without_the_second_wire_is_remembered),
        cmocka_unit_test(a_cursor_too_old_is_asked_exactly_and_then_by_time),
        cmocka_unit_test(after_an_event_of_the_future_the_stream_is_asked_where_it_stood),
        cmocka_unit_test(what_is_too_large_is_gone_past_and_leaves_a_note_and_a_gap),
        cmocka_unit_test(who_is_followed_is_told_on_the_open_connection),
        cmocka_unit_test(the_second_wire_is_never_sent_a_message),
        cmocka_unit_test(a_day_with_a_drop_each_hour_is_up_for_more_than_99_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
