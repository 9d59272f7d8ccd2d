/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_filter.h"
#include "source/jetstream_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define V2 "/xrpc/network.bsky.jetstream.subscribeEvents"

static const char *const collections[] = {"app.bsky.feed.post", "app.bsky.feed.repost"};

static struct jetstream_host make(const char *endpoint)
{
    struct jetstream_host host;
    struct err err;
    assert_int_equal(jetstream_host_init(&host, endpoint, &err), RC_OK);
    return host;
}

static void expect_stream(const struct jetstream_host *host, const struct jetstream_ask *ask,
                          const char *address)
{
    struct text out = {0};
    jetstream_host_stream(host, ask, &out);
    assert_string_equal(text_string(&out), address);
    text_free(&out);
}

static void the_path_says_which_wire_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint, *name;
        enum jetstream_wire fixed;
        const char *address;
    } cases[] = {
        {"wss://a.example", "a.example", JETSTREAM_WIRE_UNKNOWN, "wss://a.example" V2},
        {"wss://a.example/", "a.example", JETSTREAM_WIRE_UNKNOWN, "wss://a.example" V2},
        {"ws://a.example:81/subscribe", "a.example:81", JETSTREAM_WIRE_V1,
         "ws://a.example:81/subscribe"},
        {"ws://a.example/own/way", "a.example", JETSTREAM_WIRE_V1, "ws://a.example/own/way"},
        {"wss://a.example" V2, "a.example", JETSTREAM_WIRE_V2, "wss://a.example" V2},
        {"wss://a.example/below" V2, "a.example", JETSTREAM_WIRE_V2, "wss://a.example/below" V2},
        {"wss://a.example/x/subscribeEvents", "a.example", JETSTREAM_WIRE_V2,
         "wss://a.example/x/subscribeEvents"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jetstream_host host = make(cases[i].endpoint);
        struct jetstream_ask ask = {0};
        char address[200];
        bool v2 = jetstream_host_wire(&host) == JETSTREAM_WIRE_V2;
        snprintf(address, sizeof address, "%s%s", cases[i].address,
                 v2 ? "?kinds=commit&kinds=identity&kinds=account" : "");
        assert_string_equal(host.name, cases[i].name);
        assert_int_equal(host.fixed, cases[i].fixed);
        expect_stream(&host, &ask, address);
        jetstream_host_deinit(&host);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "a.example", "https://a.example", "ws://", "wss:///x"};
    struct jetstream_host host;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(jetstream_host_init(&host, bad[i], &err), RC_REJECT);
}

static void each_wire_has_its_own_words(void **state)
{
    (void)state;
    struct jetstream_ask ask = {.collections = collections,
                                .collection_count = 2,
                                .cursor = 17,
                                .hello = true,
                                .compress = true,
                                .dictionary = 5};
    struct jetstream_host host = make("ws://h/subscribe?key=1");
    expect_stream(&host, &ask,
                  "ws://h/subscribe?key=1&wantedCollections=app.bsky.feed.post&"
                  "wantedCollections=app.bsky.feed.repost&compress=true&requireHello=true&"
                  "cursor=17");
    jetstream_host_deinit(&host);
    host = make("ws://h");
    expect_stream(&host, &ask,
                  "ws://h" V2 "?kinds=commit&kinds=identity&kinds=account&"
                  "collections=app.bsky.feed.post&collections=app.bsky.feed.repost&"
                  "zstdDictionary=5&cursor=17");
    struct text out = {0};
    jetstream_host_dictionary(&host, &out);
    assert_string_equal(text_string(&out),
                        "http://h/xrpc/network.bsky.jetstream.getZstdDictionary");
    text_free(&out);
    jetstream_host_deinit(&host);
}

static void an_answer_no_v2_server_gives_means_v1(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool named, v1;
    } answers[] = {{404, false, true},  {404, true, true},   {405, false, true},
                   {501, true, true},   {400, false, true},  {200, false, true},
                   {400, true, false},  {503, true, false},  {503, false, false},
                   {429, false, false}, {403, false, false}, {0, false, false}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct jetstream_host host = make("wss://h"), fixed = make("wss://h" V2);
        assert_int_equal(jetstream_host_refused(&host, answers[i].status, answers[i].named),
                         answers[i].v1);
        assert_int_equal(jetstream_host_wire(&host),
                         answers[i].v1 ? JETSTREAM_WIRE_V1 : JETSTREAM_WIRE_V2);
        assert_false(jetstream_host_refused(&fixed, answers[i].status, answers[i].named));
        assert_int_equal(jetstream_host_wire(&fixed), JETSTREAM_WIRE_V2);
        jetstream_host_deinit(&host);
        jetstream_host_deinit(&fixed);
    }
}

static void what_was_found_out_is_given_up_when_the_host_contradicts_it(void **state)
{
    (void)state;
    struct jetstream_host host = make("wss://h");
    assert_true(jetstream_host_refused(&host, 404, false));
    jetstream_host_agreed(&host, JETSTREAM_WIRE_V1);
    assert_int_equal(jetstream_host_wire(&host), JETSTREAM_WIRE_V1);
    /* Now v1 is not there either: wait, then begin with v2 again. */
    assert_false(jetstream_host_refused(&host, 404, false));
    assert_int_equal(jetstream_host_wire(&host), JETSTREAM_WIRE_V2);
    jetstream_host_deinit(&host);
}

static void the_filter_tells_both_lists_always(void **state)
{
    (void)state;
    struct jetstream_filter filter;
    struct text message = {0};
    jetstream_filter_init(&filter, false, 1);
    assert_true(jetstream_filter_needs_hello(&filter));
    assert_false(jetstream_filter_is_ready(&filter));
    assert_false(jetstream_filter_wants(&filter, bytes_of("did:web:a")));
    id_set_add(&filter.wanted, bytes_of("did:web:a"));
    assert_true(jetstream_filter_wants(&filter, bytes_of("did:web:a")));
    jetstream_filter_message(&filter, collections, 1, &message);
    assert_string_equal(text_string(&message),
                        "{\"type\":\"options_update\",\"payload\":{\"wantedCollections\":["
                        "\"app.bsky.feed.post\"],\"wantedDids\":[\"did:web:a\"]}}");
    for (int i = 0; i < JETSTREAM_FILTER_SERVER_MAX; i++) {
        char did[32];
        snprintf(did, sizeof did, "did:web:n%d", i);
        id_set_add(&filter.wanted, bytes_of(did));
    }
    /* One more than a server takes: the server sends everything, and it is judged here. */
    text_clear(&message);
    assert_false(jetstream_filter_needs_hello(&filter));
    jetstream_filter_message(&filter, collections, 0, &message);
    assert_string_equal(text_string(&message), "{\"type\":\"options_update\",\"payload\":{"
                                               "\"wantedCollections\":[],\"wantedDids\":[]}}");
    id_set_remove(&filter.wanted, bytes_of("did:web:n7"));
    assert_true(jetstream_filter_needs_hello(&filter));
    assert_false(jetstream_filter_wants(&filter, bytes_of("did:web:n7")));
    jetstream_filter_deinit(&filter);
    text_free(&message);
}

static void everybody_needs_no_filter(void **state)
{
    (void)state;
    struct jetstream_filter filter;
    jetstream_filter_init(&filter, true, 1);
    assert_true(jetstream_filter_wants(&filter, bytes_of("did:web:anyone")));
    assert_false(jetstream_filter_needs_hello(&filter));
    assert_false(jetstream_filter_is_ready(&filter));
    jetstream_filter_deinit(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_says_which_wire_it_is),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(each_wire_has_its_own_words),
        cmocka_unit_test(an_answer_no_v2_server_gives_means_v1),
        cmocka_unit_test(what_was_found_out_is_given_up_when_the_host_contradicts_it),
        cmocka_unit_test(the_filter_tells_both_lists_always),
        cmocka_unit_test(everybody_needs_no_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
