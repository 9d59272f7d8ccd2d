/* SPDX-License-Identifier: Apache-2.0 */
#include "http_bench.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the client ---- */

static void on_told(void *arg, const struct http_response *response)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->rc = response->rc;
    bench->status = response->status;
    bench->err = response->err;
    bench->retry_after_ms = response->retry_after_ms;
    text_clear(&bench->body);
    text_clear(&bench->headers);
    text_clear(&bench->effective_url);
    if (response->rc == RC_OK) {
        for (size_t i = 0; i < ARENA_PAD; i++)
            assert_int_equal(response->body.data[response->body.len + i], 0);
        text_append(&bench->body, response->body.data, response->body.len);
        text_append_string(&bench->headers, "|");
        if (response->headers.len > 0)
            text_append(&bench->headers, response->headers.data, response->headers.len);
    }
    text_append_string(&bench->effective_url, response->effective_url);
    if (++bench->told == bench->wanted)
        loop_stop(bench->loop);
}

struct http_call *ask(struct bench *bench, const char *path, struct http_request request)
{
    char url[256];
    if (request.url == NULL) {
        assert_non_null(path);
        snprintf(url, sizeof url, "http://127.0.0.1:%u%s", script_server_port(bench->server), path);
        request.url = url;
    }
    bench->inside = true;
    struct http_call *call =
        bench->runtime->ops->http_send(bench->runtime, &request, on_told, bench);
    bench->inside = false;
    assert_non_null(call);
    return call;
}

void fetch(struct bench *bench, const char *path, struct http_request request)
{
    bench->wanted = bench->told + 1;
    ask(bench, path, request);
    loop_run(bench->loop);
    assert_int_equal(bench->told, bench->wanted);
}

void assert_says(struct bench *bench, enum rc rc, const char *words)
{
    if (bench->rc != rc || strstr(bench->err.text, words) == NULL)
        fail_msg("%s \"%s\" is not %s \"%s\"", rc_name(bench->rc), bench->err.text, rc_name(rc),
                 words);
}

/* ---- the server ---- */

static void serve(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended)
        return;
    if (bench->script != NULL) {
        bench->script(conn, ended);
        return;
    }
    size_t len;
    while ((len = script_head_len(conn)) > 0) {
        text_append(&bench->heard, conn->received.data, len);
        script_take(conn, len);
        bench->requests++;
        if (bench->answer_text.len > 0)
            script_send(conn, text_bytes(&bench->answer_text));
        else if (bench->answer != NULL)
            script_say(conn, bench->answer);
        if (bench->hang_up)
            script_hang_up(conn);
    }
}

int bench_start_with(void **state, struct network_options options)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    bench->network = network_new(bench->loop, &options);
    bench->server = script_server_new(bench->loop, serve, bench);
    *state = bench;
    return 0;
}

int bench_start(void **state)
{
    return bench_start_with(state, (struct network_options){0});
}

int bench_finish(void **state)
{
    struct bench *bench = *state;
    network_free(bench->network);
    script_server_free(bench->server);
    loop_free(bench->loop);
    text_free(&bench->answer_text);
    text_free(&bench->heard);
    text_free(&bench->body);
    text_free(&bench->headers);
    text_free(&bench->effective_url);
    free(bench);
    return 0;
}
