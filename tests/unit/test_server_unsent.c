/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that their clients do not take: how many wait, and who is refused meanwhile. */
#include "server_bench.h"

#include "sys/thread.h"
#include "ws_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMANDS 32
#define LARGE    (4 << 20) /* bytes of an answer, at least */
#define LIST     "{\"collection\":\"posts\",\"limit\":10}"

/* An answer of each reader, one more that waits for it, and room that doubles as it grows. */
#define WAITING_MAX (10 * LARGE)

static int set_up(void **state)
{
    bench_set_up_followed(state);
    struct bench *bench = *state;
    bench_commit(bench, "UPDATE post SET rkey = rkey || hex(zeroblob(262144)) WHERE n > 384");
    return 0;
}

static unsigned long unsent(struct bench *bench)
{
    assert_int_equal(bench_get(bench, "/unsent"), 200);
    return strtoul(bench_body(bench), NULL, 10);
}

static int list(struct bench *bench)
{
    return bench_post(bench, "/api/data/list", LIST);
}

static void open_websocket(struct bench *bench, struct ws_peer *peer)
{
    assert_int_equal(ws_peer_open(peer, server_port(bench->server, LISTENER_MAIN), "/api/ws", ""),
                     101);
}

static void ask_for_lists(struct ws_peer *peer)
{
    char command[128];
    for (int i = 0; i < COMMANDS; i++) {
        snprintf(command, sizeof command, "{\"id\":%d,\"command\":\"list\",\"params\":" LIST "}",
                 i);
        ws_peer_say(peer, command);
    }
}

/* Asks for much, and reads nothing of it. */
static void fall_behind(struct bench *bench, struct ws_peer *peer)
{
    open_websocket(bench, peer);
    ask_for_lists(peer);
    while (unsent(bench) == 0)
        thread_yield();
}

static void a_websocket_that_does_not_read_has_few_answers_waiting(void **state)
{
    struct bench *bench = *state;
    struct ws_peer peer;
    fall_behind(bench, &peer);
    /* Readers take their turn in order: behind these all was read that was to be. */
    for (int i = 0; i < COMMANDS; i++)
        assert_int_equal(bench_post(bench, "/api/data/list", "{\"collection\":\"posts\"}"), 200);
    assert_true(unsent(bench) < WAITING_MAX);
    for (int i = 0; i < COMMANDS; i++) {
        assert_non_null(strstr(ws_peer_hear(&peer), "\"success\":true"));
        assert_true(peer.message.len > LARGE);
    }
    ws_peer_close(&peer);
}

static void commands_that_are_held_back_end_with_their_connection(void **state)
{
    struct bench *bench = *state;
    struct ws_peer peer;
    fall_behind(bench, &peer);
    ws_peer_close(&peer);
    while (unsent(bench) > 0)
        thread_yield();
    assert_int_equal(list(bench), 200);
}

static void commands_that_are_held_back_end_with_the_server(void **state)
{
    struct bench *bench = *state;
    struct ws_peer peer;
    bench->options.drain_us_max = 1;
    bench_restart(bench);
    bench_reconnect(bench);
    fall_behind(bench, &peer);
    bench_restart(bench);
    bench_reconnect(bench);
    assert_int_equal(unsent(bench), 0);
    ws_peer_close(&peer);
}

static void refuse_large_ones(struct bench *bench)
{
    bench->options.answer_bytes_max = 1;
    bench_restart(bench);
    bench_reconnect(bench);
}

static void beyond_all_that_may_wait_large_answers_are_refused(void **state)
{
    struct bench *bench = *state;
    struct http_peer idler;
    struct http_answer answer = {0};
    char handle[37];
    refuse_large_ones(bench);
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    http_peer_connect(&idler, server_port(bench->server, LISTENER_MAIN));
    http_peer_ask(&idler, "/huge", NULL);
    while (unsent(bench) == 0)
        thread_yield();
    assert_int_equal(list(bench), 503);
    assert_true(bench_says(bench, "\"code\":\"BUSY\""));
    assert_true(bench_head_says(bench, "Retry-After: 1"));
    assert_int_equal(bench_next(bench, handle), 503);
    assert_int_equal(bench_get(bench, "/health"), 200);
    assert_int_equal(bench_post(bench, "/api/data/query-open", "{\"collection\":\"posts\"}"), 200);
    http_peer_read(&idler, &answer, false);
    assert_int_equal(answer.status, 200);
    while (unsent(bench) > 0)
        thread_yield();
    /* Who was refused has lost no page. */
    assert_int_equal(bench_next(bench, handle), 200);
    assert_true(bench_says(bench, "\"pageNumber\":0,"));
    http_peer_close(&idler);
    http_answer_free(&answer);
}

static void a_websocket_is_refused_with_the_others_and_goes_on(void **state)
{
    struct bench *bench = *state;
    struct ws_peer idler, other;
    refuse_large_ones(bench);
    open_websocket(bench, &idler);
    open_websocket(bench, &other);
    ask_for_lists(&idler);
    while (unsent(bench) == 0)
        thread_yield();
    ws_peer_say(&other, "{\"id\":1,\"command\":\"list\",\"params\":{\"collection\":\"posts\"}}");
    assert_non_null(strstr(ws_peer_hear(&other), "\"code\":\"BUSY\""));
    ws_peer_say(&other, "{\"id\":2,\"command\":\"hello\"}");
    assert_non_null(strstr(ws_peer_hear(&other), "{\"id\":2,"));
    ws_peer_close(&idler);
    while (unsent(bench) > 0)
        thread_yield();
    ws_peer_say(&other, "{\"id\":3,\"command\":\"list\",\"params\":{\"collection\":\"posts\"}}");
    assert_non_null(strstr(ws_peer_hear(&other), "{\"id\":3,\"result\":{\"success\":true"));
    ws_peer_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_websocket_that_does_not_read_has_few_answers_waiting,
                                        set_up, bench_tear_down),
        cmocka_unit_test_setup_teardown(commands_that_are_held_back_end_with_their_connection,
                                        set_up, bench_tear_down),
        cmocka_unit_test_setup_teardown(commands_that_are_held_back_end_with_the_server, set_up,
                                        bench_tear_down),
        cmocka_unit_test_setup_teardown(beyond_all_that_may_wait_large_answers_are_refused, set_up,
                                        bench_tear_down),
        cmocka_unit_test_setup_teardown(a_websocket_is_refused_with_the_others_and_goes_on, set_up,
                                        bench_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
