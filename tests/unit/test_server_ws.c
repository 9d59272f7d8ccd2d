/* SPDX-License-Identifier: Apache-2.0
 *
 * The websocket as a client sees it, from a real server. */
#include "server_bench.h"

#include "sys/clock.h"
#include "sys/thread.h"
#include "ws_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ws_peer client;

static int set_up(void **state)
{
    bench_set_up_followed(state);
    struct bench *bench = *state;
    assert_int_equal(
        ws_peer_open(&client, server_port(bench->server, LISTENER_MAIN), "/api/ws", ""), 101);
    return 0;
}

static int tear_down(void **state)
{
    ws_peer_close(&client);
    return bench_tear_down(state);
}

static const char *ask(const char *command)
{
    ws_peer_say(&client, command);
    return ws_peer_hear(&client);
}

static void assert_says(const char *message, const char *words)
{
    const char *found = strstr(message, words);
    if (found == NULL)
        print_error("no %s in %s\n", words, message);
    assert_non_null(found);
}

static void open_posts(char handle[37])
{
    const char *answer = ask("{\"id\":1,\"command\":\"query-open\",\"params\":"
                             "{\"collection\":\"posts\"}}");
    assert_says(answer, "{\"id\":1,\"result\":{\"success\":true,\"queryHandle\":\"");
    memcpy(handle, strstr(answer, "Handle\":\"") + 9, 36);
    handle[36] = '\0';
}

/* `more`: further parameters, each after a comma. */
static const char *ask_of(const char *id, const char *command, const char *handle, const char *more)
{
    char message[512];
    snprintf(message, sizeof message,
             "{\"id\":%s,\"command\":\"%s\",\"params\":{\"queryHandle\":\"%s\"%s}}", id, command,
             handle, more);
    return ask(message);
}

/* R004-19: the walk of HTTP, over a websocket. */
static void commands_are_answered_as_over_http(void **state)
{
    char handle[37];
    (void)state;
    open_posts(handle);
    for (int page = 0; page < 4; page++) {
        const char *answer = ask_of("\"p\"", "data/query-next", handle, "");
        assert_says(answer, "{\"id\":\"p\",\"result\":{\"success\":true,\"items\":[{\"id\":\"");
        assert_says(answer, page < 3 ? "\"hasMore\":true" : "\"hasMore\":false");
    }
    assert_string_equal(ask_of("2", "query-close", handle, ""),
                        "{\"id\":2,\"result\":{\"success\":true}}");
    assert_says(ask_of("3", "query-next", handle, ""),
                "{\"id\":3,\"result\":{\"success\":false,\"code\":\"HANDLE_NOT_FOUND\"");
}

static void what_is_no_command_is_refused_and_the_connection_stays(void **state)
{
    (void)state;
    assert_says(ask("nonsense"), "{\"id\":null,\"result\":{\"success\":false,\"code\":\"BAD_REQ");
    assert_says(ask("[1]"), "{\"id\":null,\"result\":{\"success\":false");
    assert_says(ask("{\"command\":\"query-open\"}"), "{\"id\":null,");
    assert_says(ask("{\"id\":{},\"command\":\"query-open\"}"), "{\"id\":null,");
    assert_says(ask("{\"id\":1}"), "command is missing");
    assert_says(ask("{\"id\":1,\"command\":\"drop-all\"}"), "\"code\":\"NOT_FOUND\"");
    assert_says(ask("{\"id\":1,\"command\":\"../status\"}"), "\"code\":\"NOT_FOUND\"");
    assert_says(ask("{\"id\":1,\"command\":\"query-open\",\"params\":[]}"), "BAD_REQUEST");
    assert_says(ask("{\"id\":18446744073709551615,\"command\":\"query-open\"}"),
                "{\"id\":18446744073709551615,\"result\":");
}

/* docs/API.md: an id has up to 128 bytes; how it is escaped does not count. */
static void an_id_is_told_back_up_to_its_longest(void **state)
{
    (void)state;
    for (int len = 127; len <= 129; len++) {
        char id[132], message[256];
        snprintf(id, sizeof id, "%0*d", len - 1, 7);
        snprintf(message, sizeof message, "{\"id\":\"%s\\n\",\"command\":\"drop-all\"}", id);
        assert_says(ask(message), len <= 128 ? id : "{\"id\":null,");
    }
}

static void hello_names_the_session(void **state)
{
    struct bench *bench = *state;
    struct ws_peer other;
    char handle[37], command[256];
    const char *hello = "{\"id\":0,\"command\":\"hello\",\"params\":"
                        "{\"session\":\"00112233445566778899aabbccddeeff\"}}";
    assert_says(ask(hello), "{\"success\":true,\"session\":\"00112233445566778899aabbccddeeff\"");
    assert_says(ask(hello), "\"code\":\"CONFLICT\"");
    open_posts(handle);
    snprintf(command, sizeof command,
             "{\"id\":1,\"command\":\"query-next\",\"params\":{\"queryHandle\":\"%s\"}}", handle);
    ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws", "");
    ws_peer_say(&other, "{\"id\":0,\"command\":\"hello\"}");
    assert_says(ws_peer_hear(&other), "{\"success\":true,\"session\":\"");
    ws_peer_say(&other, command);
    assert_says(ws_peer_hear(&other), "\"code\":\"FORBIDDEN\"");
    ws_peer_close(&other);
    ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws",
                 "Tidemark-Session: 00112233445566778899aabbccddeeff\r\n");
    ws_peer_say(&other, "{\"id\":0,\"command\":\"hello\",\"params\":{\"session\":\"x\"}}");
    assert_says(ws_peer_hear(&other), "\"code\":\"BAD_REQUEST\"");
    ws_peer_say(&other, command); /* the header's session stays */
    assert_says(ws_peer_hear(&other), "\"success\":true");
    ws_peer_close(&other);
}

/* A hello that is refused names no session: there is none to leave when the connection ends. */
static void a_refused_hello_leaves_the_session_as_it_was(void **state)
{
    static const char *const bad[] = {"5", "\"x\"", "{}", "[]", "true", "\"\""};
    struct bench *bench = *state;
    unsigned port = server_port(bench->server, LISTENER_MAIN);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ws_peer other;
        char hello[128];
        snprintf(hello, sizeof hello,
                 "{\"id\":0,\"command\":\"hello\",\"params\":{\"session\":%s}}", bad[i]);
        ws_peer_open(&other, port, "/api/ws", "");
        ws_peer_say(&other, hello);
        assert_says(ws_peer_hear(&other), "\"code\":\"BAD_REQUEST\"");
        ws_peer_close(&other);
        ws_peer_open(&other, port, "/api/ws", "");
        ws_peer_say(&other, hello);
        assert_says(ws_peer_hear(&other), "\"code\":\"BAD_REQUEST\"");
        ws_peer_say(&other, "{\"id\":1,\"command\":\"hello\"}"); /* who erred may try again */
        assert_says(ws_peer_hear(&other), "{\"success\":true,\"session\":\"");
        ws_peer_close(&other);
    }
    assert_says(ask("{\"id\":0,\"command\":\"hello\",\"params\":{\"session\":null}}"),
                "{\"success\":true,\"session\":\"");
}

static void hello_comes_before_anything_else(void **state)
{
    char handle[37];
    (void)state;
    assert_says(ask("nonsense"), "\"code\":\"BAD_REQUEST\"");
    open_posts(handle);
    assert_says(ask("{\"id\":0,\"command\":\"hello\"}"), "\"code\":\"CONFLICT\"");
    assert_says(ask_of("2", "query-next", handle, ""), "\"success\":true");
}

static size_t count_handles(struct bench *bench)
{
    struct http_peer admin;
    size_t count = 0;
    http_peer_connect_unix(&admin, bench->socket_path);
    http_peer_ask(&admin, "/api/admin/handles", NULL);
    http_peer_read(&admin, &bench->answer, false);
    http_peer_close(&admin);
    for (const char *at = bench_body(bench); (at = strstr(at, "\"handle\":")) != NULL; at++)
        count++;
    return count;
}

/* R004-27 */
static void a_session_that_does_not_come_back_takes_its_handles_along(void **state)
{
    struct bench *bench = *state;
    struct ws_peer other;
    char handle[37];
    bench->options.handles.grace_us = 1;
    bench_restart(bench);
    ws_peer_close(&client);
    ws_peer_open(&client, server_port(bench->server, LISTENER_MAIN), "/api/ws", "");
    ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws", "");
    ws_peer_say(&other, "{\"id\":0,\"command\":\"hello\"}");
    ws_peer_hear(&other);
    ws_peer_say(&other, "{\"id\":1,\"command\":\"query-open\",\"params\":"
                        "{\"collection\":\"links\"}}");
    assert_says(ws_peer_hear(&other), "\"success\":true");
    open_posts(handle); /* another session's */
    assert_int_equal(count_handles(bench), 2);
    ws_peer_close(&other);
    while (count_handles(bench) == 2)
        thread_yield();
    assert_int_equal(count_handles(bench), 1);
    assert_says(ask_of("2", "query-next", handle, ""), "\"success\":true");
}

static void add_post(struct bench *bench, int n)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
             "VALUES (%d, " BENCH_SEQ ", 1, 'app.bsky.feed.post', '%d', 0, 5000);"
             "UPDATE engine SET next_n = %d",
             n, n, n + 1);
    bench_commit(bench, sql);
}

static void changes_are_pushed_until_nobody_wants_them(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    open_posts(handle);
    assert_string_equal(ask_of("2", "query-tail", handle, ",\"push\":true"),
                        "{\"id\":2,\"result\":{\"success\":true,"
                        "\"seq\":1}}");
    assert_says(ask_of("2", "query-tail", handle, ",\"push\":true"), "\"code\":\"CONFLICT\"");
    add_post(bench, 393);
    const char *push = ws_peer_hear(&client);
    assert_says(push, "{\"push\":\"tail\",\"queryHandle\":\"");
    assert_says(push, handle);
    assert_says(push, "\"changes\":[{\"op\":\"enter\",\"seq\":2,\"item\":{\"id\":\"393\"");
    assert_says(push, "}}],\"seq\":2}");
    add_post(bench, 394);
    assert_says(ws_peer_hear(&client), "\"item\":{\"id\":\"394\"");
    assert_says(ask_of("4", "query-untail", handle, ""),
                "{\"id\":4,\"result\":{\"success\":true}}");
    add_post(bench, 395);
    /* Had it been pushed, it would come before the answer. */
    assert_says(ask_of("5", "query-tail", handle, ",\"since\":3"),
                "{\"id\":5,\"result\":{\"success\":true,\"changes\":[{\"op\":\"enter\",\"seq\":4");
}

static void a_tail_that_has_a_gap_says_so_and_ends(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    open_posts(handle);
    bench_commit(bench, "UPDATE tail_floors SET seq = " BENCH_SEQ);
    assert_says(ask_of("2", "query-tail", handle, ",\"push\":true"), "\"success\":true");
    const char *push = ws_peer_hear(&client);
    assert_says(push, "{\"push\":\"tail\",\"queryHandle\":\"");
    assert_says(push, "\"success\":false,\"code\":\"GAP\"");
    assert_says(ask_of("2", "query-tail", handle, ",\"push\":true,\"since\":2"),
                "\"success\":true,\"seq\":2");
}

static void commands_under_way_are_bounded(void **state)
{
    char handle[37], command[256];
    unsigned busy = 0, answered = 0;
    (void)state;
    open_posts(handle);
    for (int i = 0; i < 40; i++) {
        snprintf(command, sizeof command,
                 "{\"id\":%d,\"command\":\"query-tail\",\"params\":"
                 "{\"queryHandle\":\"%s\",\"wait\":60000}}",
                 i, handle);
        ws_peer_say(&client, command);
    }
    while (busy < 8) {
        busy += strstr(ws_peer_hear(&client), "\"code\":\"BUSY\"") != NULL;
        assert_true(++answered <= 8);
    }
    add_post(*state, 393);
    for (int i = 0; i < 32; i++)
        assert_says(ws_peer_hear(&client), "\"op\":\"enter\"");
}

static bool somebody_follows(struct bench *bench)
{
    assert_int_equal(bench_get(bench, "/metrics"), 200);
    return !bench_says(bench, "\ntidemark_tails_live 0\n");
}

static void commands_that_wait_end_with_their_connection(void **state)
{
    struct bench *bench = *state;
    struct ws_peer other;
    char handle[37], command[256];
    int64_t end_us = clock_mono_us() + 30 * INT64_C(1000000); /* half of what they wait for */
    open_posts(handle);
    ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws", "");
    for (int i = 0; i < 32; i++) {
        snprintf(command, sizeof command,
                 "{\"id\":%d,\"command\":\"query-tail\",\"params\":"
                 "{\"queryHandle\":\"%s\",\"wait\":60000}}",
                 i, handle);
        ws_peer_say(&other, command);
    }
    while (!somebody_follows(bench))
        thread_yield();
    ws_peer_close(&other);
    while (somebody_follows(bench)) {
        assert_true(clock_mono_us() < end_us);
        thread_yield();
    }
}

static void who_breaks_the_protocol_is_told_by_the_code(void **state)
{
    struct bench *bench = *state;
    unsigned port = server_port(bench->server, LISTENER_MAIN);
    struct ws_peer other;
    struct text large = {0};
    ws_peer_open(&other, port, "/api/ws", "");
    http_peer_send(&other.peer, "\x81\x01x", 3); /* not masked */
    assert_int_equal(ws_peer_read_close(&other), 1002);
    ws_peer_close(&other);
    ws_peer_open(&other, port, "/api/ws", "");
    ws_peer_send(&other, 2, bytes_of("binary"));
    assert_int_equal(ws_peer_read_close(&other), 1003);
    ws_peer_close(&other);
    for (int i = 0; i < 3 << 20; i++)
        text_append_char(&large, ' ');
    ws_peer_open(&other, port, "/api/ws", "");
    ws_peer_send(&other, WS_OPCODE_TEXT, text_bytes(&large));
    assert_int_equal(ws_peer_read_close(&other), 1009);
    ws_peer_close(&other);
    text_free(&large);
    ws_peer_open(&other, port, "/api/ws", "");
    ws_peer_send(&other, WS_OPCODE_PING, bytes_of("are you there"));
    assert_int_equal(ws_peer_read(&other), WS_EVENT_PONG);
    assert_string_equal(text_string(&other.message), "are you there");
    ws_peer_send(&other, WS_OPCODE_CLOSE, bytes_of("\x03\xe8"));
    assert_int_equal(ws_peer_read_close(&other), 1000);
    ws_peer_close(&other);
}

static void a_close_or_a_text_that_is_none_is_told_by_the_code(void **state)
{
    static const struct {
        enum ws_opcode opcode;
        const char *payload;
        uint16_t code;
    } cases[] = {
        {WS_OPCODE_CLOSE, "\x03\xee", 1002}, /* 1006 */
        {WS_OPCODE_CLOSE, "\x03\xf7", 1002}, /* 1015 */
        {WS_OPCODE_CLOSE, "\x03\xf8", 1002}, /* 1016 */
        {WS_OPCODE_CLOSE, "\x03", 1002},
        {WS_OPCODE_CLOSE, "\x03\xe8\xff", 1007},
        {WS_OPCODE_CLOSE, "\x0f\xa0", 4000},
        {WS_OPCODE_CLOSE, "", 1000},
        {WS_OPCODE_TEXT, "{\"id\":1,\"command\":\"hello\",\"x\":\"\xff\"}", 1007},
        {WS_OPCODE_TEXT, "\xe2\x82", 1007},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ws_peer other;
        ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws", "");
        ws_peer_send(&other, cases[i].opcode, bytes_of(cases[i].payload));
        assert_int_equal(ws_peer_read(&other), WS_EVENT_CLOSE);
        const unsigned char *said = (const unsigned char *)other.message.data;
        assert_true(other.message.len >= 2);
        assert_int_equal(said[0] << 8 | said[1], cases[i].code);
        ws_peer_close(&other);
    }
    assert_says(ask("{\"id\":1,\"command\":\"gr\xc3\xbc\xc3\x9f\"}"), "\"code\":\"NOT_FOUND\"");
}

static void only_what_asks_rightly_becomes_a_websocket(void **state)
{
    struct bench *bench = *state;
    struct ws_peer other;
    assert_int_equal(bench_get(bench, "/api/ws"), 400);
    assert_true(bench_says(bench, "this address is for websockets"));
    assert_int_equal(ws_peer_open(&other, server_port(bench->server, LISTENER_MAIN), "/api/ws",
                                  "Origin: https://elsewhere.example\r\n"),
                     403);
    ws_peer_close(&other);
    assert_int_equal(
        ws_peer_open(&other, server_port(bench->server, LISTENER_HEALTH), "/api/ws", ""), 404);
    ws_peer_close(&other);
}

static void a_stopping_server_says_goodbye(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    open_posts(handle);
    ws_peer_say(&client, "{\"id\":7,\"command\":\"query-open\",\"params\":"
                         "{\"collection\":\"links\"}}");
    assert_says(ws_peer_hear(&client), "{\"id\":7,");
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    assert_int_equal(ws_peer_read_close(&client), 1001);
}

int main(void)
{
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(commands_are_answered_as_over_http),
        WITH_SERVER(what_is_no_command_is_refused_and_the_connection_stays),
        WITH_SERVER(an_id_is_told_back_up_to_its_longest),
        WITH_SERVER(hello_names_the_session),
        WITH_SERVER(a_refused_hello_leaves_the_session_as_it_was),
        WITH_SERVER(hello_comes_before_anything_else),
        WITH_SERVER(a_session_that_does_not_come_back_takes_its_handles_along),
        WITH_SERVER(changes_are_pushed_until_nobody_wants_them),
        WITH_SERVER(a_tail_that_has_a_gap_says_so_and_ends),
        WITH_SERVER(commands_under_way_are_bounded),
        WITH_SERVER(commands_that_wait_end_with_their_connection),
        WITH_SERVER(who_breaks_the_protocol_is_told_by_the_code),
        WITH_SERVER(a_close_or_a_text_that_is_none_is_told_by_the_code),
        WITH_SERVER(only_what_asks_rightly_becomes_a_websocket),
        WITH_SERVER(a_stopping_server_says_goodbye),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
