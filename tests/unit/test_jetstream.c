/* SPDX-License-Identifier: Apache-2.0
 *
 * The source on a scripted machine: each test says what the hosts answer and looks at what they
 * were asked. */
#include "stream_desk.h"

#include "daemon_uptime.h"
#include "daemon_view.h"

#include <stdio.h>
#include <string.h>

#define V2 "/xrpc/network.bsky.jetstream."

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
        struct stream_desk desk;
        stream_desk_begin(&desk,
                          &(struct jetstream_options){.endpoints = {"ws://h"}, .compress = true});
        stream_desk_start(&desk);
        assert_string_equal(desk.http_url, "http://h" V2 "getZstdDictionary");
        assert_int_equal(desk.dials, 0);
        stream_desk_fetched(&desk, answers[i].rc, answers[i].status, answers[i].body);
        assert_int_equal(desk.dials, 1);
        assert_non_null(strstr(desk.ws_url, answers[i].address));
        assert_null(strstr(desk.ws_url, "zstd"));
        assert_null(strstr(desk.ws_url, "compress"));
        stream_desk_opened(&desk);
        stream_desk_finish(&desk);
    }
}

static void without_compression_no_dictionary_is_asked_for(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}});
    stream_desk_start(&desk);
    assert_string_equal(desk.http_url, "");
    assert_int_equal(desk.dials, 1);
    stream_desk_opened(&desk);
    stream_desk_finish(&desk);
}

static void a_stop_while_the_dictionary_is_fetched_ends_at_once(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h"}, .compress = true});
    stream_desk_start(&desk);
    desk.source->ops->stop(desk.source);
    assert_true(desk.http_cancelled);
    assert_true(desk.source->ops->stopped(desk.source));
    stream_desk_finish(&desk);
}

static void a_host_without_the_second_wire_is_remembered(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h"}});
    stream_desk_start(&desk);
    assert_non_null(strstr(desk.ws_url, "subscribeEvents"));
    stream_desk_ended(&desk, 404, "404 page not found");
    assert_int_equal(desk.dials, 2); /* at once: it is no failure */
    assert_non_null(strstr(desk.ws_url, "ws://h/subscribe"));
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(DESK_T0, 0));
    stream_desk_ended(&desk, 1001, "");
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.dials, 3);
    assert_non_null(strstr(desk.ws_url, "ws://h/subscribe"));
    stream_desk_opened(&desk);
    stream_desk_finish(&desk);
}

static void a_cursor_too_old_is_asked_exactly_and_then_by_time(void **state)
{
    (void)state;
    static const char too_old[] = "{\"error\":\"CursorTooOld\",\"message\":\"older\"}";
    struct stream_desk desk;
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h" V2 "subscribeEvents"}});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(0, 5000));
    stream_desk_ended(&desk, 1001, "");
    stream_desk_pass(&desk, 2000000);
    assert_non_null(strstr(desk.ws_url, "&cursor=4000"));
    stream_desk_ended(&desk, 400, too_old);
    assert_non_null(strstr(desk.ws_url, "&cursor=5000"));
    stream_desk_ended(&desk, 400, too_old);
    assert_non_null(strstr(desk.ws_url, "&cursor=1789999998000000"));
    assert_int_equal(desk.dials, 4);
    /* Refused once more there is nothing else to ask for: a failure, waited out. */
    stream_desk_ended(&desk, 400, too_old);
    assert_int_equal(desk.dials, 4);
    stream_desk_finish(&desk);
}

static void after_an_event_of_the_future_the_stream_is_asked_where_it_stood(void **state)
{
    (void)state;
    static const char *const urls[] = {"ws://h/subscribe", "ws://h" V2 "subscribeEvents"};
    static const char *const asked[] = {"cursor=1789999985000000", "cursor=4001"};
    static const char liar[] =
        "{\"$type\":\"message\",\"payload\":{\"$type\":\"x#sync\",\"did\":\"did:web:a\","
        "\"seq\":5001,\"time\":\"2099-09-21T14:13:20Z\"}}";
    for (int wire = 0; wire < 2; wire++) {
        struct stream_desk desk;
        struct source_view view;
        stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {urls[wire]}});
        stream_desk_start(&desk);
        stream_desk_opened(&desk);
        stream_desk_message(&desk, stream_desk_event(DESK_T0, wire == 0 ? 0 : 5000));
        stream_desk_message(&desk, wire == 0 ? stream_desk_event(DESK_T0 * 2, 0) : liar);
        stream_desk_pass(&desk, 1000000);
        desk.source->ops->view(desk.source, &view);
        assert_int_equal(view.ahead, 1);
        assert_true(view.committed_us == DESK_T0 && view.received_us == DESK_T0);
        stream_desk_ended(&desk, 1001, "");
        stream_desk_pass(&desk, 2000000);
        assert_int_equal(desk.dials, 2);
        assert_non_null(strstr(desk.ws_url, asked[wire]));
        stream_desk_finish(&desk);
    }
}

/* R001-148 R001-35: a drop each hour, and each time the first attempt to come back is refused. */
static void a_day_with_a_drop_each_hour_is_up_for_more_than_99_percent(void **state)
{
    (void)state;
    const int64_t second = 1000000, hour = 3600 * second, look = second / 5;
    struct stream_desk desk;
    struct uptime uptime = {0};
    struct source_view view = {0};
    unsigned answered = 0, drops = 0;
    int64_t events = 0;
    bool refuse = false;
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h" V2 "subscribeEvents"},
                                                  .reconnect_delay_seconds = 5});
    stream_desk_start(&desk);
    for (int64_t passed = 0; passed < 24 * hour; passed += look) {
        if (desk.dials > answered) {
            answered = desk.dials;
            if (drops > 0)
                assert_int_equal(passed % hour - hour / 2, (refuse ? 5 : 15) * second);
            refuse ? stream_desk_ended(&desk, 503, "") : stream_desk_opened(&desk);
            refuse = false;
        } else if (passed % hour == hour / 2) {
            stream_desk_ended(&desk, 0, "");
            refuse = true;
            drops++;
        } else if (view.state == SOURCE_LIVE && passed % second == 0) {
            stream_desk_message(&desk, stream_desk_event(0, ++events));
        }
        desk.source->ops->view(desk.source, &view);
        uptime_tell(&uptime, view.state == SOURCE_LIVE, view.bytes, desk.clock.mono_us + 1);
        stream_desk_pass(&desk, look);
    }
    printf("24 drops in 24 hours: up %.2f %% of the time\n", uptime_percent(&uptime));
    assert_int_equal(drops, 24);
    assert_int_equal(desk.dials, 1 + 2 * drops);
    assert_true(uptime_percent(&uptime) > 99);
    assert_true(uptime_percent(&uptime) < 100);
    stream_desk_finish(&desk);
}

/* Refuses the dial under way; seconds until the next one. */
static unsigned refuse(struct stream_desk *desk)
{
    unsigned waited = 0, dials = desk->dials;
    stream_desk_ended(desk, 503, "");
    for (; desk->dials == dials && waited < 3600; waited++)
        stream_desk_pass(desk, 1000000);
    return waited;
}

/* Whoever asks to be left alone for a time is, for an hour at most; also with its dictionary. */
static void a_host_that_says_when_to_come_back_is_left_alone_until_then(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .reconnect_delay_seconds = 5});
    stream_desk_start(&desk);
    desk.events->refused(desk.events_arg, 600000);
    assert_int_equal(refuse(&desk), 600);
    assert_int_equal(refuse(&desk), 10); /* it was said of that time only */
    desk.events->refused(desk.events_arg, INT64_C(86400000));
    unsigned dials = desk.dials;
    assert_int_equal(refuse(&desk), 3600);
    assert_int_equal(desk.dials, dials + 1);
    stream_desk_finish(&desk);
}

/* R001-35: however long it lasts, a host that is back is dialled within a minute. */
static void a_host_that_refuses_is_dialled_every_minute(void **state)
{
    (void)state;
    static const unsigned waits[] = {5, 10, 30, 60};
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .reconnect_delay_seconds = 5});
    stream_desk_start(&desk);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(refuse(&desk), waits[i < 3 ? i : 3]);
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(desk_wall_us(&desk.clock.runtime), 0));
    assert_int_equal(refuse(&desk), 5);
    stream_desk_finish(&desk);
}

static void of_two_hosts_that_refuse_one_is_dialled_every_minute(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(
        &desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe", "ws://g/subscribe"},
                                           .reconnect_delay_seconds = 5});
    stream_desk_start(&desk);
    for (unsigned i = 0; i < 100; i++)
        assert_in_range(refuse(&desk), 0, 60);
    stream_desk_finish(&desk);
}

/* R001-36: where a number of attempts is set, the last of them ends it with a clear word. */
static void after_so_many_attempts_it_ends_and_says_so(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .max_reconnect_attempts = 3});
    stream_desk_start(&desk);
    assert_true(refuse(&desk) < 3600);
    assert_true(refuse(&desk) < 3600);
    assert_int_equal(refuse(&desk), 3600);
    struct daemon_view view = {.has_source = true, .at_us = DESK_T0};
    struct health_view health = {0};
    desk.source->ops->view(desk.source, &view.source);
    assert_int_equal(view.source.state, SOURCE_STOPPED);
    daemon_view_health(&view, DESK_T0, &health);
    assert_non_null(strstr(health.reasons[0], "the firehose is not followed any more: "));
    stream_desk_finish(&desk);
}

/* R001-37 R001-129: without one, ten failures are an alert and not the end, and success ends it. */
static void ten_refusals_are_an_alert_until_an_event_comes(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct source_view view;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    stream_desk_start(&desk);
    for (unsigned failures = 1; failures <= 20; failures++) {
        assert_true(refuse(&desk) < 3600);
        desk.source->ops->view(desk.source, &view);
        assert_int_equal(view.alerting, failures >= 10);
    }
    stream_desk_ended(&desk, 503, "");
    desk.source->ops->view(desk.source, &view);
    assert_string_equal(view.providers[0].state, "open");
    stream_desk_pass(&desk, INT64_C(60000000));
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(desk_wall_us(&desk.clock.runtime), 0));
    desk.source->ops->view(desk.source, &view);
    assert_string_equal(view.providers[0].state, "closed");
    assert_false(view.alerting);
    stream_desk_finish(&desk);
}

static const char *a_delete(int64_t time_us)
{
    static char json[512];
    snprintf(
        json, sizeof json,
        "{\"did\":\"did:web:a\",\"time_us\":%lld,\"kind\":\"commit\",\"commit\":{\"rev\":\"3l3\","
        "\"operation\":\"delete\",\"collection\":\"app.bsky.feed.post\",\"rkey\":\"1\"}}",
        (long long)time_us);
    return json;
}

/* R001-123: how long events take into the store is not how long a replay takes. */
static void only_what_came_as_it_happened_is_timed(void **state)
{
    (void)state;
    static const struct {
        int64_t age_us;
        unsigned timed;
    } events[] = {{60000000, 1}, {10000001, 1}, {10000000, 2}, {60000000, 3}};
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    stream_desk_start(&desk);
    stream_desk_opened(&desk); /* asked for nothing old: whatever comes is new */
    stream_desk_message(&desk, a_delete(DESK_T0 - 7200000000));
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.timed, 1);
    stream_desk_ended(&desk, 1001, "");
    stream_desk_pass(&desk, 2000000);
    stream_desk_opened(&desk);
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        stream_desk_message(&desk, a_delete(desk_wall_us(&desk.clock.runtime) - events[i].age_us));
        stream_desk_pass(&desk, 2000000);
        assert_int_equal(desk.committed, 2 + i);
        assert_int_equal(desk.timed, events[i].timed);
    }
    stream_desk_finish(&desk);
}

/* R001-123: events that store nothing are gathered for a second, and nobody waits for them. What is
 * stored with them goes at once, and is timed from its own arrival. */
static void what_is_stored_is_timed_from_its_own_arrival(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(desk_wall_us(&desk.clock.runtime), 0));
    stream_desk_commit_all(&desk);
    assert_int_equal(desk.committed, 1);
    assert_int_equal(desk.timed, 0);
    stream_desk_message(&desk, stream_desk_event(desk_wall_us(&desk.clock.runtime), 0));
    stream_desk_pass(&desk, 700000);
    assert_int_equal(desk.committed, 1);
    int64_t came_us = desk_wall_us(&desk.clock.runtime);
    stream_desk_message(&desk, a_delete(came_us));
    stream_desk_commit_all(&desk);
    assert_int_equal(desk.committed, 2);
    assert_int_equal(desk.timed, 1);
    assert_true(desk.timed_from_us == came_us);
    stream_desk_finish(&desk);
}

/* A post of so many records: itself, and a link each for the others. */
static void post(struct stream_desk *desk, unsigned number, unsigned records)
{
    struct text json = {0};
    text_appendf(
        &json,
        "{\"did\":\"did:web:a\",\"time_us\":%lld,\"kind\":\"commit\",\"commit\":{\"rev\":"
        "\"3l%05u\",\"operation\":\"create\",\"collection\":\"app.bsky.feed.post\",\"rkey\":"
        "\"r%u\",\"cid\":\"c\",\"record\":{\"$type\":\"app.bsky.feed.post\",\"createdAt\":"
        "\"2026-09-21T14:13:20.000Z\",\"text\":\"look\",\"facets\":[",
        (long long)desk_wall_us(&desk->clock.runtime), number, number);
    for (unsigned i = 1; i < records; i++)
        text_appendf(&json,
                     "%s{\"index\":{\"byteStart\":0,\"byteEnd\":4},\"features\":[{\"$type\":"
                     "\"app.bsky.richtext.facet#link\",\"uri\":\"https://a.example/%u\"}]}",
                     i == 1 ? "" : ",", i);
    text_append_string(&json, "]}}}");
    memset(text_reserve(&json, ARENA_PAD), 0, ARENA_PAD);
    desk->events->message(desk->events_arg, false, text_bytes(&json));
    text_free(&json);
}

/* The cursor's row always has its place, however many records the last event brings. */
static void a_batch_is_never_so_full_that_its_cursor_has_no_place(void **state)
{
    (void)state;
    const unsigned most = 33;
    for (unsigned last = 1; last <= most; last++) {
        struct stream_desk desk;
        stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
        stream_desk_start(&desk);
        stream_desk_opened(&desk);
        unsigned number = 0, count = BATCH_RECORDS_MAX / most;
        while (number < STREAM_DESK_BATCHES) /* the store is slow: all others wait */
            post(&desk, number++, 1);
        for (unsigned i = 0; i < count; i++)
            post(&desk, number++, most);
        post(&desk, number++, last);
        struct source_view view;
        stream_desk_commit_all(&desk);
        desk.source->ops->view(desk.source, &view);
        assert_int_equal(view.events, number);
        assert_int_equal(view.records, STREAM_DESK_BATCHES + count * most + last);
        stream_desk_finish(&desk);
    }
}

/* The first one may be filled by now, or its reading may be under way: only its own row says so. */
static void a_gap_that_meets_an_earlier_one_is_a_row_of_its_own(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                  .start_us = DESK_T0 - INT64_C(7200000000)});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    post(&desk, 0, 1); /* two hours are missing */
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.gap_rows, 1);
    stream_desk_ended(&desk, 1006, "");
    stream_desk_pass(&desk, 2000000);
    stream_desk_opened(&desk); /* it asks from a little before where it stands */
    post(&desk, 1, 1);
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.gap_rows, 2);
    stream_desk_finish(&desk);
}

static void what_a_reset_passes_over_is_a_gap_up_to_the_first_event(void **state)
{
    (void)state;
    struct stream_desk desk;
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                  .forgotten_us = DESK_T0 - INT64_C(7200000000)});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.gap_rows, 0); /* nobody knows yet where it ends */
    post(&desk, 0, 1);
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.gap_rows, 2); /* the one without an end is closed, and one is open */
    assert_int_equal(desk.gap_from_us, DESK_T0 - INT64_C(7200000000));
    assert_int_equal(desk.gap_to_us, DESK_T0 + 2000000);
    post(&desk, 1, 1);
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.gap_rows, 2);
    stream_desk_finish(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reset_passes_over_is_a_gap_up_to_the_first_event),
        cmocka_unit_test(a_dictionary_that_cannot_be_had_means_plain_messages),
        cmocka_unit_test(without_compression_no_dictionary_is_asked_for),
        cmocka_unit_test(a_stop_while_the_dictionary_is_fetched_ends_at_once),
        cmocka_unit_test(a_host_without_the_second_wire_is_remembered),
        cmocka_unit_test(a_cursor_too_old_is_asked_exactly_and_then_by_time),
        cmocka_unit_test(after_an_event_of_the_future_the_stream_is_asked_where_it_stood),
        cmocka_unit_test(a_host_that_says_when_to_come_back_is_left_alone_until_then),
        cmocka_unit_test(a_host_that_refuses_is_dialled_every_minute),
        cmocka_unit_test(of_two_hosts_that_refuse_one_is_dialled_every_minute),
        cmocka_unit_test(after_so_many_attempts_it_ends_and_says_so),
        cmocka_unit_test(ten_refusals_are_an_alert_until_an_event_comes),
        cmocka_unit_test(only_what_came_as_it_happened_is_timed),
        cmocka_unit_test(what_is_stored_is_timed_from_its_own_arrival),
        cmocka_unit_test(a_batch_is_never_so_full_that_its_cursor_has_no_place),
        cmocka_unit_test(a_gap_that_meets_an_earlier_one_is_a_row_of_its_own),
        cmocka_unit_test(a_day_with_a_drop_each_hour_is_up_for_more_than_99_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
