/* SPDX-License-Identifier: Apache-2.0
 *
 * query-tail as a client sees it, from a real server. */
#include "server_bench.h"

#include "sys/clock.h"
#include "sys/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define TAIL "/api/data/query-tail"

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

static int ask_tail(struct bench *bench, const char *handle, const char *more)
{
    char body[256];
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"%s}", handle, more);
    return bench_post(bench, TAIL, body);
}

static void send_tail(struct http_peer *peer, const char *handle, const char *more)
{
    char body[256];
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"%s}", handle, more);
    http_peer_ask(peer, TAIL, body);
}

static long long last_seq(struct bench *bench)
{
    const char *at = strstr(bench_body(bench), "],\"seq\":");
    assert_non_null(at);
    return strtoll(at + 8, NULL, 10);
}

static void what_changed_since_the_open_is_told(void **state)
{
    struct bench *bench = *state;
    char handle[37], since[64];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    assert_true(bench_says(bench, "{\"success\":true,\"changes\":[],\"seq\":"));
    add_post(bench, 393);
    bench_commit(bench, "UPDATE post SET body = 'new', seq = " BENCH_SEQ " WHERE n = 7");
    bench_commit(bench, "INSERT INTO tombstones SELECT 'posts.n', '9', '', 9, " BENCH_SEQ ", 1;"
                        "DELETE FROM post WHERE n = 9");
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    assert_true(bench_says(bench, "[{\"op\":\"enter\",\"seq\":"));
    assert_true(bench_says(bench, "\"item\":{\"id\":\"393\",\"uri\":"));
    assert_true(bench_says(bench, "{\"op\":\"update\",\"seq\":"));
    assert_true(bench_says(bench, "\"text\":\"new\""));
    assert_true(bench_says(bench, ",\"item\":{\"id\":\"9\"}}],\"seq\":"));
    snprintf(since, sizeof since, ",\"since\":%lld", last_seq(bench));
    assert_int_equal(ask_tail(bench, handle, since), 200);
    assert_true(bench_says(bench, "\"changes\":[]"));
    add_post(bench, 394);
    assert_int_equal(ask_tail(bench, handle, since), 200);
    assert_true(bench_says(bench, "\"id\":\"394\""));
    assert_false(bench_says(bench, "\"id\":\"393\""));
}

/* What a post was is not kept, but what names it never changes. */
static void a_row_that_never_was_in_the_result_does_not_leave_it(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    bench_open_query(bench,
                     "{\"collection\":\"posts\",\"filter\":{\"rkey\":\"7\","
                     "\"text\":{\"$ne\":\"new\"}}}",
                     handle);
    bench_commit(bench, "UPDATE post SET body = 'new', seq = " BENCH_SEQ " WHERE rkey = '8'");
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    assert_true(bench_says(bench, "\"changes\":[]"));
    bench_commit(bench, "UPDATE post SET body = 'new', seq = " BENCH_SEQ " WHERE rkey = '7'");
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    assert_true(bench_says(bench, "\"changes\":[{\"op\":\"leave\""));
    bench_commit(bench, "UPDATE post SET kind = 2, seq = " BENCH_SEQ " WHERE rkey = '8'");
    assert_int_equal(ask_tail(bench, handle, ",\"since\":3"), 200);
    assert_true(bench_says(bench, "\"changes\":[]"));
}

/* R001-16: each is told what its own query sees, by the same commits. */
static void two_who_wait_are_told_independently(void **state)
{
    struct bench *bench = *state;
    struct http_peer other;
    char all[37], some[37];
    http_peer_connect(&other, server_port(bench->server, LISTENER_MAIN));
    bench_open_query(bench, "{\"collection\":\"posts\"}", all);
    bench_open_query(bench, "{\"collection\":\"posts\",\"filter\":{\"rkey\":\"394\"}}", some);
    add_post(bench, 393);
    assert_int_equal(ask_tail(bench, some, ""), 200);
    send_tail(&other, some, ",\"since\":2,\"wait\":60000");
    send_tail(&bench->peer, all, ",\"wait\":60000");
    http_peer_read(&bench->peer, &bench->answer, false);
    assert_true(bench_says(bench, "\"id\":\"393\""));
    add_post(bench, 394);
    http_peer_read(&other, &bench->answer, false);
    assert_true(bench_says(bench, "\"id\":\"394\""));
    assert_false(bench_says(bench, "\"id\":\"393\""));
    http_peer_close(&other);
}

static long long metric(struct bench *bench, const char *name)
{
    char line[80];
    assert_int_equal(bench_get(bench, "/metrics"), 200);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(bench_body(bench), line);
    assert_non_null(at);
    return strtoll(at + strlen(line), NULL, 10);
}

static void one_reading_after_a_commit_is_enough_for_all(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[20];
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    for (int i = 0; i < 20; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        send_tail(&peers[i], handle, ",\"wait\":60000");
    }
    while (metric(bench, "tidemark_tails_live") < 20)
        thread_yield();
    long long before = metric(bench, "tidemark_changes_readings_total");
    add_post(bench, 393);
    for (int i = 0; i < 20; i++) {
        http_peer_read(&peers[i], &bench->answer, false);
        assert_true(bench_says(bench, "\"id\":\"393\""));
        http_peer_close(&peers[i]);
    }
    assert_int_equal(metric(bench, "tidemark_changes_readings_total"), before + 1);
    assert_int_equal(metric(bench, "tidemark_tails_live"), 0);
}

/* Long before anything else would end them. */
static void wait_until_nobody_follows(struct bench *bench)
{
    int64_t end_us = clock_mono_us() + 10 * INT64_C(1000000);
    while (metric(bench, "tidemark_tails_live") > 0) {
        assert_true(clock_mono_us() < end_us);
        thread_yield();
    }
}

static void who_hangs_up_waits_no_longer(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[5], half;
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    for (int i = 0; i < 5; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        send_tail(&peers[i], handle, ",\"wait\":60000");
    }
    http_peer_connect_unix(&half, bench->socket_path);
    send_tail(&half, handle, ",\"wait\":60000");
    while (metric(bench, "tidemark_tails_live") < 6)
        thread_yield();
    http_peer_say(&peers[4], "GET /health HTTP/1.1\r\n"); /* more is unread when it goes */
    for (int i = 0; i < 5; i++)
        http_peer_close(&peers[i]);
    /* Who only says no more may still listen. */
    assert_int_equal(shutdown(half.fd, SHUT_WR), 0);
    http_peer_read(&half, &bench->answer, false);
    assert_true(bench_says(bench, "{\"success\":true,\"changes\":[],\"seq\":"));
    http_peer_close(&half);
    wait_until_nobody_follows(bench);
}

static void a_stream_ends_with_its_reader(void **state)
{
    struct bench *bench = *state;
    struct http_peer reader;
    char handle[37], path[128];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    snprintf(path, sizeof path, "/api/events?queryHandle=%s", handle);
    http_peer_connect(&reader, server_port(bench->server, LISTENER_MAIN));
    http_peer_ask(&reader, path, NULL);
    while (metric(bench, "tidemark_tails_live") < 1)
        thread_yield();
    http_peer_close(&reader);
    wait_until_nobody_follows(bench);
}

static void polls_leave_connections_to_those_who_do_not_wait(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[6];
    char handle[37];
    bench->options.connections_max = 8;
    bench_restart(bench);
    bench_reconnect(bench);
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    for (int i = 0; i < 6; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        send_tail(&peers[i], handle, ",\"wait\":60000");
    }
    while (metric(bench, "tidemark_tails_live") < 6)
        thread_yield();
    assert_int_equal(ask_tail(bench, handle, ",\"wait\":60000"), 503);
    assert_true(bench_says(bench, "\"code\":\"BUSY\""));
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    http_peer_close(&peers[5]);
    while (metric(bench, "tidemark_tails_live") == 6)
        thread_yield();
    assert_int_equal(ask_tail(bench, handle, ",\"wait\":1"), 200);
    add_post(bench, 393);
    for (int i = 0; i < 5; i++) {
        http_peer_read(&peers[i], &bench->answer, false);
        assert_true(bench_says(bench, "\"id\":\"393\""));
        http_peer_close(&peers[i]);
    }
}

static void who_waits_in_vain_is_told_how_far_it_is(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\",\"filter\":{\"rkey\":\"none\"}}", handle);
    assert_int_equal(ask_tail(bench, handle, ",\"wait\":1"), 200);
    assert_true(bench_says(bench, "\"changes\":[]"));
    long long seq = last_seq(bench);
    bench_commit(bench, "UPDATE actors SET handle = 'x'");
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    assert_int_equal(last_seq(bench), seq + 1);
}

static void pages_are_read_while_a_tail_waits(void **state)
{
    struct bench *bench = *state;
    struct http_peer other;
    char handle[37];
    http_peer_connect(&other, server_port(bench->server, LISTENER_MAIN));
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    send_tail(&other, handle, ",\"wait\":60000");
    for (int page = 0; page < 4; page++)
        assert_int_equal(bench_next(bench, handle), 200);
    add_post(bench, 393);
    http_peer_read(&other, &bench->answer, false);
    assert_true(bench_says(bench, "\"op\":\"enter\""));
    http_peer_close(&other);
}

static void what_is_forgotten_is_a_gap(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    bench_commit(bench, "UPDATE tail_floors SET seq = " BENCH_SEQ);
    assert_int_equal(ask_tail(bench, handle, ""), 410);
    assert_true(bench_says(bench, "\"code\":\"GAP\""));
    assert_int_equal(ask_tail(bench, handle, ",\"since\":1000000,\"wait\":1000"), 410);
    assert_true(bench_says(bench, "\"code\":\"GAP\""));
}

static void questions_that_make_no_sense_are_refused(void **state)
{
    struct bench *bench = *state;
    char handle[37];
    assert_int_equal(bench_post(bench, TAIL, "{}"), 400);
    assert_int_equal(ask_tail(bench, "x", ""), 404);
    assert_int_equal(ask_tail(bench, "00000000000000000000000000000000", ""), 404);
    assert_true(bench_says(bench, "\"code\":\"HANDLE_NOT_FOUND\""));
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_int_equal(ask_tail(bench, handle, ",\"wait\":60001"), 400);
    assert_true(bench_says(bench, "\"code\":\"LIMIT_RANGE\""));
    assert_int_equal(ask_tail(bench, handle, ",\"wait\":-1"), 400);
    assert_int_equal(ask_tail(bench, handle, ",\"since\":-1"), 400);
    assert_int_equal(ask_tail(bench, handle, ",\"since\":\"1\""), 400);
}

/* Reads from a stream until these words came. */
static void read_until(struct http_peer *peer, const char *words)
{
    char buffer[4096];
    while (peer->in.len == 0 || memmem(peer->in.data, peer->in.len, words, strlen(words)) == NULL) {
        ssize_t got = http_peer_receive(peer, buffer, sizeof buffer);
        if (got <= 0)
            fail_msg("no %s in %.300s", words, text_string(&peer->in));
        text_append(&peer->in, buffer, (size_t)got);
    }
}

static void ask_events(struct bench *bench, struct http_peer *peer, const char *handle,
                       const char *headers)
{
    char request[512];
    http_peer_connect(peer, server_port(bench->server, LISTENER_MAIN));
    snprintf(request, sizeof request,
             "GET /api/events?queryHandle=%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", handle,
             headers);
    http_peer_say(peer, request);
}

static void changes_come_as_events_and_go_on_where_they_ended(void **state)
{
    struct bench *bench = *state;
    struct http_peer stream;
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    ask_events(bench, &stream, handle, "");
    read_until(&stream, "Content-Type: text/event-stream\r\n");
    read_until(&stream, "retry: 1000\n\n");
    add_post(bench, 393);
    read_until(&stream, "id: 2\ndata: {\"changes\":[{\"op\":\"enter\",\"seq\":2,\"item\":{\"id\":"
                        "\"393\"");
    read_until(&stream, "}}],\"seq\":2}\n\n");
    add_post(bench, 394);
    read_until(&stream, "\"item\":{\"id\":\"394\"");
    http_peer_close(&stream);
    add_post(bench, 395);
    ask_events(bench, &stream, handle, "Last-Event-ID: 3\r\n");
    read_until(&stream, "id: 4\ndata: {\"changes\":[{\"op\":\"enter\",\"seq\":4,");
    assert_null(strstr(text_string(&stream.in), "\"393\""));
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    read_until(&stream, "event: refused\ndata: {\"success\":false,\"code\":\"SHUTTING_DOWN\"");
    read_until(&stream, "\r\n0\r\n\r\n");
    http_peer_close(&stream);
}

/* A byte behind the head would be the beginning of the next answer. */
static void of_a_stream_head_is_all_there_is(void **state)
{
    struct bench *bench = *state;
    char handle[37], request[256];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    snprintf(request, sizeof request,
             "HEAD /api/events?queryHandle=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", handle);
    http_peer_say(&bench->peer, request);
    http_peer_read(&bench->peer, &bench->answer, true);
    assert_int_equal(bench->answer.status, 200);
    assert_true(bench_head_says(bench, "\r\nContent-Type: text/event-stream\r\n"));
    assert_true(bench_head_says(bench, "\r\nConnection: close\r\n"));
    assert_true(http_peer_ended(&bench->peer));
    assert_int_equal(bench->peer.in.len, 0);
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 200);
}

static void a_stream_that_cannot_begin_is_refused(void **state)
{
    struct bench *bench = *state;
    char handle[37], path[128];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    snprintf(path, sizeof path, "/api/events?queryHandle=%s&since=99", handle);
    assert_int_equal(bench_get(bench, path), 410);
    assert_true(bench_says(bench, "\"code\":\"GAP\""));
    snprintf(path, sizeof path, "/api/events?queryHandle=%s&since=x", handle);
    assert_int_equal(bench_get(bench, path), 400);
    snprintf(path, sizeof path, "/api/events?queryHandle=%s&session=%032d", handle, 7);
    assert_int_equal(bench_get(bench, path), 403);
    assert_int_equal(bench_get(bench, "/api/events"), 404);
}

/* Whoever must see a commit waits for it a moment. */
static void a_reader_waits_for_the_commit_it_must_see(void **state)
{
    static const char *const asks[][2] = {
        {"/api/data/read", "\"id\":\"393\""},
        {"/api/data/list", "\"limit\":1"},
        {"/api/data/query-open", "\"pageSize\":1"},
    };
    struct bench *bench = *state;
    struct http_peer others[3];
    char body[256], handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_int_equal(ask_tail(bench, handle, ""), 200);
    for (int i = 0; i < 3; i++) {
        http_peer_connect(&others[i], server_port(bench->server, LISTENER_MAIN));
        snprintf(body, sizeof body, "{\"collection\":\"posts\",%s,\"minSeq\":%lld}", asks[i][1],
                 last_seq(bench) + 2);
        http_peer_ask(&others[i], asks[i][0], body);
    }
    for (int page = 0; page < 4; page++) /* they have been looked at by then */
        assert_int_equal(bench_next(bench, handle), 200);
    add_post(bench, 392 + 1);
    add_post(bench, 392 + 2);
    for (int i = 0; i < 3; i++) {
        http_peer_read(&others[i], &bench->answer, false);
        assert_int_equal(bench->answer.status, 200);
        http_peer_close(&others[i]);
    }
}

static void a_stopping_server_sends_away_who_waits_for_a_commit(void **state)
{
    struct bench *bench = *state;
    struct http_peer other;
    http_peer_connect(&other, server_port(bench->server, LISTENER_MAIN));
    http_peer_ask(&other, "/api/data/list", "{\"collection\":\"posts\",\"minSeq\":1000000}");
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    http_peer_read(&other, &bench->answer, false);
    assert_int_equal(bench->answer.status, 503);
    http_peer_close(&other);
}

static void a_stopping_server_answers_who_waits(void **state)
{
    struct bench *bench = *state;
    struct http_peer other;
    char handle[37];
    http_peer_connect(&other, server_port(bench->server, LISTENER_MAIN));
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    send_tail(&other, handle, ",\"wait\":60000");
    assert_int_equal(bench_next(bench, handle), 200);
    server_stop(bench->server);
    server_free(bench->server);
    bench->server = NULL;
    http_peer_read(&other, &bench->answer, false);
    assert_int_equal(bench->answer.status, 503);
    assert_true(bench_says(bench, "\"code\":\"SHUTTING_DOWN\""));
    http_peer_close(&other);
}

static void stop_server(void *arg)
{
    server_stop(((struct bench *)arg)->server);
}

/* It is not among those who are told of a stop: its client keeps up only afterwards. */
static void a_slow_stream_ends_with_its_server(void **state)
{
    struct bench *bench = *state;
    struct http_peer stream;
    char handle[37], buffer[65536];
    bench_open_query(bench, "{\"collection\":\"posts\"}", handle);
    ask_events(bench, &stream, handle, "");
    read_until(&stream, "retry: 1000\n\n");
    while (metric(bench, "tidemark_tails_live") + metric(bench, "tidemark_tails_behind") > 0)
        bench_commit(bench, "UPDATE post SET body = hex(zeroblob(500000)), seq = " BENCH_SEQ
                            " WHERE n = 7");
    struct thread *stopping = thread_start("stop", stop_server, bench);
    while (bench_get(bench, "/metrics") == 200)
        bench_reconnect(bench);
    text_clear(&stream.in);
    for (ssize_t got; (got = http_peer_receive(&stream, buffer, sizeof buffer)) > 0;) {
        if (stream.in.len > sizeof buffer)
            text_clear(&stream.in);
        text_append(&stream.in, buffer, (size_t)got);
    }
    thread_join(stopping);
    assert_non_null(strstr(text_string(&stream.in), "event: refused\ndata: {\"success\":false,"));
    server_free(bench->server);
    bench->server = NULL;
    http_peer_close(&stream);
}

int main(void)
{
#define WITH_SERVER(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, bench_set_up_followed, bench_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(what_changed_since_the_open_is_told),
        WITH_SERVER(a_row_that_never_was_in_the_result_does_not_leave_it),
        WITH_SERVER(two_who_wait_are_told_independently),
        WITH_SERVER(one_reading_after_a_commit_is_enough_for_all),
        WITH_SERVER(who_hangs_up_waits_no_longer),
        WITH_SERVER(a_stream_ends_with_its_reader),
        WITH_SERVER(polls_leave_connections_to_those_who_do_not_wait),
        WITH_SERVER(who_waits_in_vain_is_told_how_far_it_is),
        WITH_SERVER(pages_are_read_while_a_tail_waits),
        WITH_SERVER(what_is_forgotten_is_a_gap),
        WITH_SERVER(questions_that_make_no_sense_are_refused),
        WITH_SERVER(changes_come_as_events_and_go_on_where_they_ended),
        WITH_SERVER(of_a_stream_head_is_all_there_is),
        WITH_SERVER(a_stream_that_cannot_begin_is_refused),
        WITH_SERVER(a_reader_waits_for_the_commit_it_must_see),
        WITH_SERVER(a_stopping_server_sends_away_who_waits_for_a_commit),
        WITH_SERVER(a_stopping_server_answers_who_waits),
        WITH_SERVER(a_slow_stream_ends_with_its_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
