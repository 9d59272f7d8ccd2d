/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_bench.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the client ---- */

static void on_opened(void *arg)
{
    struct bench *bench = arg;
    bench->opened++;
    assert_false(bench->inside);
    if (bench->hello.len > 0)
        assert_int_equal(bench->runtime->ops->ws_send_text(bench->ws, text_bytes(&bench->hello)),
                         RC_OK);
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct bench *bench = arg;
    assert_int_equal(bench->closed, 0);
    for (size_t i = 0; i < ARENA_PAD; i++)
        bench->sum += (unsigned char)payload.data[payload.len + i];
    assert_int_equal(bench->sum, 0);
    bench->messages++;
    bench->message_bytes += payload.len;
    if (!bench->quiet) {
        text_append_string(&bench->log, binary ? "b:" : "t:");
        text_append(&bench->log, payload.data, payload.len);
        text_append_char(&bench->log, ';');
    }
    if (bench->close_on_message)
        bench->runtime->ops->ws_close(bench->ws, 1000, "enough");
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->closed++;
    bench->status = status;
    bench->why = *why;
    if (body.len > 0)
        text_append(&bench->body, body.data, body.len);
    loop_stop(bench->loop);
}

static void on_too_large(void *arg, uint64_t bytes)
{
    struct bench *bench = arg;
    text_appendf(&bench->log, "large:%llu;", (unsigned long long)bytes);
}

static const struct ws_events events = {
    .opened = on_opened, .message = on_message, .closed = on_closed};
static const struct ws_events patient_events = {
    .opened = on_opened, .message = on_message, .closed = on_closed, .too_large = on_too_large};

static void open_url(struct bench *bench, const char *url, struct ws_request request)
{
    request.url = url;
    bench->inside = true;
    bench->ws = bench->runtime->ops->ws_open(bench->runtime, &request,
                                             bench->patient ? &patient_events : &events, bench);
    bench->inside = false;
}

static void open_ws(struct bench *bench, struct ws_request request)
{
    char url[64];
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/subscribe?a=b", script_server_port(bench->server));
    open_url(bench, url, request);
}

void converse(struct bench *bench, struct ws_request request)
{
    open_ws(bench, request);
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
}

void assert_says(struct bench *bench, const char *words)
{
    if (strstr(bench->why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", bench->why.text, words);
}

/* ---- the server ---- */

static void answer_upgrade(struct bench *bench, struct script_conn *conn)
{
    struct text out = {0};
    assert_true(script_heard(conn, "GET /subscribe?a=b HTTP/1.1\r\n"));
    assert_true(script_heard(conn, "\r\nHost: 127.0.0.1:"));
    assert_true(script_heard(conn, "\r\nUser-Agent: tidemark/"));
    text_append_string(&out, "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
                             "CONNECTION: keep-alive, Upgrade\r\nSec-WebSocket-Accept: ");
    ws_script_put_accept(&out, conn);
    text_append_string(&out, "\r\n\r\n");
    if (bench->at_once.len > 0)
        text_append(&out, bench->at_once.data, bench->at_once.len);
    script_send(conn, text_bytes(&out));
    text_free(&out);
    script_take(conn, script_head_len(conn));
}

static void serve(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended || (conn->step == 0 && script_head_len(conn) == 0))
        return;
    if (conn->step == 0) {
        conn->step = 1;
        answer_upgrade(bench, conn);
    }
    struct text payload = {0};
    int opcode;
    while (ws_script_take(conn, &opcode, &payload)) {
        if (!bench->quiet) {
            text_appendf(&bench->heard, "%d:", opcode);
            if (payload.len > 0)
                text_append(&bench->heard, payload.data, payload.len);
            text_append_char(&bench->heard, ';');
        }
        if (bench->on_frame != NULL)
            bench->on_frame(bench, conn, opcode, text_bytes(&payload));
        else if (opcode == 8)
            ws_script_send(conn, 8, text_bytes(&payload));
    }
    text_free(&payload);
}

int ws_bench_start(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    bench->network = network_new(bench->loop, &(struct network_options){0});
    bench->server = script_server_new(bench->loop, serve, bench);
    *state = bench;
    return 0;
}

int ws_bench_finish(void **state)
{
    struct bench *bench = *state;
    network_free(bench->network);
    script_server_free(bench->server);
    loop_free(bench->loop);
    text_free(&bench->at_once);
    text_free(&bench->heard);
    text_free(&bench->hello);
    text_free(&bench->log);
    text_free(&bench->body);
    free(bench);
    return 0;
}
