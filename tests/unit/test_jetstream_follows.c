/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom the stream is asked for, and from when on they are heard; on a scripted machine. */
#include "stream_desk.h"

#include <stdio.h>
#include <string.h>

#define V2 "/xrpc/network.bsky.jetstream."

/* R001-08 R001-13 */
static void who_is_followed_is_told_on_the_open_connection(void **state)
{
    (void)state;
    struct stream_desk desk;
    static char dids[10001][24];
    static struct bytes many[10001];
    struct bytes one = bytes_of("did:web:one"), two = bytes_of("did:web:two");
    for (int i = 0; i < 10001; i++) {
        snprintf(dids[i], sizeof dids[i], "did:web:n%d", i);
        many[i] = bytes_of(dids[i]);
    }
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .only_followed = true});
    stream_desk_start(&desk);
    assert_non_null(strstr(desk.ws_url, "requireHello=true"));
    stream_desk_opened(&desk);
    assert_int_equal(desk.messages, 0); /* nobody is known yet: nothing may flow */
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    jetstream_change_follows(desk.source, &two, 1, &one, 1);
    stream_desk_pass(&desk, 0);
    assert_int_equal(desk.messages, 1); /* two changes, one message */
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[\"did:web:two\"]"));
    jetstream_change_follows(desk.source, &two, 1, &one, 1);
    stream_desk_pass(&desk, 0);
    assert_int_equal(desk.messages, 1); /* nothing changed */
    jetstream_change_follows(desk.source, many, 10001, NULL, 0);
    stream_desk_pass(&desk, 0);
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[]"));
    jetstream_change_follows(desk.source, NULL, 0, many, 10001);
    stream_desk_pass(&desk, 0);
    assert_non_null(strstr(text_string(&desk.sent), "\"wantedDids\":[\"did:web:two\"]"));
    assert_int_equal(desk.dials, 1);
    stream_desk_finish(&desk);
}

static void the_second_wire_is_never_sent_a_message(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct bytes one = bytes_of("did:web:one");
    stream_desk_begin(&desk,
                      &(struct jetstream_options){.endpoints = {"ws://h" V2 "subscribeEvents"},
                                                  .only_followed = true});
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_pass(&desk, 0);
    assert_int_equal(desk.messages, 0);
    assert_null(strstr(desk.ws_url, "requireHello"));
    stream_desk_message(&desk, stream_desk_event(0, 5));
    struct source_view view;
    desk.source->ops->view(desk.source, &view);
    assert_int_equal(view.filtered, 1);
    assert_int_equal(view.follows, 1);
    assert_true(view.committed_us > 0); /* a stranger's event moves the cursor, too */
    stream_desk_finish(&desk);
}

/* What one who is new shares comes once the server knows; only then a history shows the rest. */
static void one_who_is_new_is_heard_once_the_server_knows(void **state)
{
    (void)state;
    static const char *const urls[] = {"ws://h/subscribe", "ws://h" V2 "subscribeEvents"};
    struct bytes one = bytes_of("did:web:one"), two = bytes_of("did:web:two");
    for (size_t wire = 0; wire < 2; wire++) {
        struct stream_desk desk;
        stream_desk_begin(
            &desk, &(struct jetstream_options){.endpoints = {urls[wire]}, .only_followed = true});
        jetstream_change_follows(desk.source, &one, 1, NULL, 0);
        stream_desk_start(&desk);
        assert_false(jetstream_hears(desk.source, one)); /* it will be live, and is not yet */
        stream_desk_opened(&desk);
        assert_false(jetstream_hears(desk.source, one));
        stream_desk_pass(&desk, 2000000);
        assert_true(jetstream_hears(desk.source, one));
        assert_false(jetstream_hears(desk.source, two));
        jetstream_change_follows(desk.source, &two, 1, NULL, 0);
        assert_false(jetstream_hears(desk.source, two)); /* the message is not sent yet */
        stream_desk_pass(&desk, 0);
        assert_false(jetstream_hears(desk.source, two)); /* nor did it arrive */
        stream_desk_pass(&desk, 2000000);
        assert_true(jetstream_hears(desk.source, two));
        jetstream_change_follows(desk.source, NULL, 0, &one, 1);
        stream_desk_pass(&desk, 0);
        assert_false(jetstream_hears(desk.source, one));
        assert_true(jetstream_hears(desk.source, two)); /* for whom nothing changed */
        stream_desk_finish(&desk);
    }
}

static void a_message_that_cannot_go_yet_is_not_taken_for_told(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct bytes one = bytes_of("did:web:one");
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .only_followed = true});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    desk.full = true;
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    for (int i = 0; i < 50; i++)
        stream_desk_pass(&desk, 100000);
    assert_false(jetstream_hears(desk.source, one));
    desk.full = false;
    stream_desk_pass(&desk, 100000);
    assert_int_equal(desk.messages, 1);
    stream_desk_pass(&desk, 2000000);
    assert_true(jetstream_hears(desk.source, one));
    stream_desk_finish(&desk);
}

/* Histories are not kept waiting for a host that is gone: what they cannot show is asked of it. */
static void without_a_connection_the_next_one_asks_from_where_histories_end(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct bytes one = bytes_of("did:web:one"), two = bytes_of("did:web:two");
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                         .only_followed = true});
    jetstream_change_follows(desk.source, &one, 1, NULL, 0);
    stream_desk_start(&desk);
    assert_null(strstr(desk.ws_url, "cursor="));
    stream_desk_ended(&desk, 503, "");
    assert_true(jetstream_hears(desk.source, one)); /* who reads now has all up to now */
    stream_desk_pass(&desk, 60000000);
    assert_int_equal(desk.dials, 2);
    assert_non_null(strstr(desk.ws_url, "cursor=17899999"));
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(desk_wall_us(&desk.clock.runtime), 0));
    stream_desk_ended(&desk, 1001, "");
    jetstream_change_follows(desk.source, &two, 1, NULL, 0);
    assert_true(jetstream_hears(desk.source, two)); /* it will be asked for with the others */
    stream_desk_pass(&desk, 60000000);
    stream_desk_opened(&desk);
    assert_non_null(strstr(text_string(&desk.sent), "did:web:two"));
    stream_desk_finish(&desk);
}

/* A place that histories gave is written down with what comes first, whether or not that says where
 * the host is. */
static void what_comes_first_from_where_histories_end_may_be_anything(void **state)
{
    (void)state;
    static const char *const firsts[] = {"{\"no\":\"event\"}", "no JSON", NULL};
    struct bytes one = bytes_of("did:web:one");
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        struct stream_desk desk;
        stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                             .only_followed = true});
        jetstream_change_follows(desk.source, &one, 1, NULL, 0);
        stream_desk_start(&desk);
        stream_desk_ended(&desk, 503, "");
        int64_t blind_us = desk_wall_us(&desk.clock.runtime);
        assert_true(jetstream_hears(desk.source, one));
        stream_desk_pass(&desk, 60000000);
        stream_desk_opened(&desk);
        /* The last is a host whose clock is behind: it is asked again, from further back. */
        stream_desk_message(&desk, firsts[i] != NULL ? firsts[i]
                                                     : stream_desk_event(blind_us - 600000000, 0));
        stream_desk_pass(&desk, 1000000);
        struct source_view view;
        desk.source->ops->view(desk.source, &view);
        assert_int_equal(view.events, 1);
        assert_int_equal(view.committed_us, blind_us);
        stream_desk_finish(&desk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_followed_is_told_on_the_open_connection),
        cmocka_unit_test(the_second_wire_is_never_sent_a_message),
        cmocka_unit_test(one_who_is_new_is_heard_once_the_server_knows),
        cmocka_unit_test(a_message_that_cannot_go_yet_is_not_taken_for_told),
        cmocka_unit_test(without_a_connection_the_next_one_asks_from_where_histories_end),
        cmocka_unit_test(what_comes_first_from_where_histories_end_may_be_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
