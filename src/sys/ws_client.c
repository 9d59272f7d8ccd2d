/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/ws_client.h"

#include "sys/curl_driver.h"
#include "sys/send_queue.h"
#include "sys/ws_codec.h"
#include "sys/ws_upgrade.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define INPUT_BYTES        65536
#define TURN_BYTES_MAX     (256 * 1024)
#define OUT_BYTES_MAX      (16 * 1024 * 1024)
#define PONG_BACKLOG_MAX   65536
#define CLOSE_MS_MAX       2000
#define CONNECT_MS_DEFAULT 10000
#define PING_MS_DEFAULT    30000
#define PONG_MS_DEFAULT    10000
#define MESSAGE_DEFAULT    (4 * 1024 * 1024)

#define CODE_NONE      1005 /* never on the wire: a close frame without a code */
#define CODE_PROTOCOL  1002
#define CODE_TOO_LARGE 1009

enum ws_state { WS_DIALING, WS_UPGRADING, WS_OPEN, WS_CLOSING, WS_OVER };

struct ws_client {
    struct loop *loop;
    struct runtime *runtime;
    struct curl_driver *driver;
    char *ca_file;
    struct ws *first;
};

struct ws {
    struct ws_client *client;
    struct ws *previous, *next;
    enum ws_state state;
    struct ws_events events;
    void *arg;
    struct curl_task task;
    char curl_error[CURL_ERROR_SIZE];
    uv_poll_t poll;
    bool polled;
    int poll_events;
    struct ws_upgrade upgrade;
    struct text http_url, answer, body;
    struct ws_codec *codec;
    struct send_queue out;
    char input[INPUT_BYTES];
    struct timer deadline, ping, pong, more, over;
    uint32_t connect_ms, ping_ms, pong_ms;
    bool heard, held;
    int status; /* what `closed` will be told */
    struct err why;
};

static void arm(struct ws *ws, struct timer *timer, uint32_t ms)
{
    ws->client->runtime->ops->timer_arm(ws->client->runtime, timer, (int64_t)ms * 1000);
}

static void disarm(struct ws *ws, struct timer *timer)
{
    struct runtime *runtime = ws->client->runtime;
    runtime->ops->timer_disarm(runtime, timer);
}

/* ---- the end ---- */

static void disarm_all(struct ws *ws)
{
    struct timer *all[] = {&ws->deadline, &ws->ping, &ws->pong, &ws->more, &ws->over};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        disarm(ws, all[i]);
}

/* Says why it ends. A sentence already there stays: the first reason is the true one. */
static void __attribute__((format(printf, 2, 3))) blame(struct ws *ws, const char *format, ...)
{
    if (ws->why.text[0] != '\0')
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(ws->why.text, sizeof ws->why.text, format, args);
    va_end(args);
}

/* The connection is over with `status`; its user hears of it in the next turn. */
static void end(struct ws *ws, int status)
{
    if (ws->state == WS_OVER)
        return;
    assert(ws->why.text[0] != '\0');
    ws->state = WS_OVER;
    ws->status = status;
    disarm_all(ws);
    if (ws->polled)
        uv_poll_stop(&ws->poll);
    arm(ws, &ws->over, 0);
}

static void release(struct ws *ws)
{
    text_free(&ws->http_url);
    text_free(&ws->answer);
    text_free(&ws->body);
    send_queue_deinit(&ws->out);
    ws_codec_free(ws->codec);
    free(ws);
}

static void on_poll_closed(uv_handle_t *handle)
{
    release(handle->data);
}

/* Lets go of the socket and of the list. A watched connection is released by a later turn. */
static void disconnect(struct ws *ws)
{
    disarm_all(ws);
    if (ws->previous != NULL)
        ws->previous->next = ws->next;
    else
        ws->client->first = ws->next;
    if (ws->next != NULL)
        ws->next->previous = ws->previous;
    if (ws->polled)
        uv_close((uv_handle_t *)&ws->poll, on_poll_closed);
    if (ws->task.easy != NULL) {
        curl_driver_remove(ws->client->driver, &ws->task);
        curl_easy_cleanup(ws->task.easy);
    }
}

static void on_over(void *arg)
{
    struct ws *ws = arg;
    disconnect(ws);
    ws->events.closed(ws->arg, ws->status, text_bytes(&ws->body), &ws->why);
    if (!ws->polled)
        release(ws);
}

/* ---- bytes out ---- */

static void watch(struct ws *ws);

static void flush(struct ws *ws)
{
    struct bytes piece;
    while (ws->state != WS_OVER && (piece = send_queue_front(&ws->out)).len > 0) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(ws->task.easy, piece.data, piece.len, &sent);
        if (code == CURLE_AGAIN)
            break;
        if (code != CURLE_OK) {
            blame(ws, "the connection broke while sending: %s", curl_easy_strerror(code));
            end(ws, 0);
            return;
        }
        send_queue_sent(&ws->out, sent);
    }
    watch(ws);
}

/* From here on nothing is delivered; the peer has a moment to answer. `ws->why` is set. */
static void begin_close(struct ws *ws, uint16_t code, const char *reason)
{
    assert(ws->state == WS_OPEN);
    ws->state = WS_CLOSING;
    ws->status = code;
    ws->held = false;
    disarm(ws, &ws->ping);
    disarm(ws, &ws->pong);
    arm(ws, &ws->deadline, ws->pong_ms < CLOSE_MS_MAX ? ws->pong_ms : CLOSE_MS_MAX);
    ws_codec_write_close(ws->codec, code, reason, &ws->out.tail);
    flush(ws);
}

/* ---- frames in ---- */

static void on_close_frame(struct ws *ws, struct bytes payload)
{
    uint16_t code;
    struct bytes reason;
    bool valid = ws_codec_read_close(payload, &code, &reason);
    if (ws->state == WS_CLOSING) {
        end(ws, ws->status);
        return;
    }
    char text[128] = "";
    for (size_t i = 0; i < reason.len && i < sizeof text - 1; i++)
        text[i] = (unsigned char)reason.data[i] < ' ' ? '?' : reason.data[i];
    if (valid)
        blame(ws, "the server closed the connection with code %u%s%s", code,
              text[0] == '\0' ? "" : ": ", text);
    else
        blame(ws, "the server sent a malformed close frame");
    if (code == CODE_NONE)
        ws_codec_write(ws->codec, WS_OPCODE_CLOSE, BYTES_ABSENT, &ws->out.tail);
    else
        ws_codec_write_close(ws->codec, code, "", &ws->out.tail);
    flush(ws);
    end(ws, code);
}

static void on_event(struct ws *ws, enum ws_event event, struct bytes payload)
{
    switch (event) {
    case WS_EVENT_TEXT:
    case WS_EVENT_BINARY:
        if (ws->state == WS_OPEN)
            ws->events.message(ws->arg, event == WS_EVENT_BINARY, payload);
        break;
    case WS_EVENT_PING:
        /* A peer that pings and does not read gets no queue of pongs. */
        if (ws->state == WS_OPEN && send_queue_len(&ws->out) < PONG_BACKLOG_MAX) {
            ws_codec_write(ws->codec, WS_OPCODE_PONG, payload, &ws->out.tail);
            flush(ws);
        }
        break;
    case WS_EVENT_CLOSE:
        on_close_frame(ws, payload);
        break;
    case WS_EVENT_TOO_LARGE:
        if (ws->state == WS_OPEN && ws->events.too_large != NULL)
            ws->events.too_large(ws->arg, ws_codec_message_len(ws->codec));
        else if (ws->state == WS_OPEN)
            begin_close(ws, CODE_TOO_LARGE, "message too large");
        break;
    case WS_EVENT_PROTOCOL:
        if (ws->state == WS_OPEN) {
            ws_codec_write_close(ws->codec, CODE_PROTOCOL, "", &ws->out.tail);
            flush(ws);
        }
        end(ws, CODE_PROTOCOL);
        break;
    case WS_EVENT_PONG:
    case WS_EVENT_NONE:
        break;
    }
}

static void decode(struct ws *ws, struct bytes input)
{
    enum ws_event event = WS_EVENT_PONG;
    while (ws->state != WS_OVER && event != WS_EVENT_NONE) {
        struct bytes payload;
        struct err err = {0}; /* one that was gone past is no reason for what comes later */
        event = ws_codec_next(ws->codec, &input, &payload, &err);
        if (err.text[0] != '\0' && (event != WS_EVENT_TOO_LARGE || ws->events.too_large == NULL))
            blame(ws, "%s", err.text);
        on_event(ws, event, payload);
    }
}

static void read_answer(struct ws *ws, struct bytes input, bool ended)
{
    size_t head_len = 0;
    int status = 0;
    if (input.len > 0)
        text_append(&ws->answer, input.data, input.len);
    enum rc rc = ws_upgrade_read(&ws->upgrade, text_bytes(&ws->answer), ended, &head_len, &status,
                                 &ws->body, &ws->why);
    if (rc == RC_AGAIN)
        return;
    if (rc != RC_OK) {
        ws_upgrade_tell_wait(text_bytes(&ws->answer), ws->client->runtime, &ws->events, ws->arg);
        end(ws, status == 101 ? 0 : status);
        return;
    }
    ws->state = WS_OPEN;
    disarm(ws, &ws->deadline);
    arm(ws, &ws->ping, ws->ping_ms);
    ws->events.opened(ws->arg);
    decode(ws, bytes_make(ws->answer.data + head_len, ws->answer.len - head_len));
}

static void hung_up(struct ws *ws, CURLcode code)
{
    if (ws->state == WS_UPGRADING) {
        read_answer(ws, BYTES_ABSENT, true);
        return;
    }
    blame(ws, "the connection ended without a close frame%s%s", code == CURLE_OK ? "" : ": ",
          code == CURLE_OK ? "" : curl_easy_strerror(code));
    end(ws, ws->state == WS_CLOSING ? ws->status : 0);
}

static void read_socket(void *arg)
{
    struct ws *ws = arg;
    size_t taken = 0;
    while (ws->state != WS_OVER && !ws->held && taken < TURN_BYTES_MAX) {
        size_t got = 0;
        CURLcode code = curl_easy_recv(ws->task.easy, ws->input, sizeof ws->input, &got);
        if (code == CURLE_AGAIN)
            return;
        if (code != CURLE_OK || got == 0) {
            hung_up(ws, code);
            return;
        }
        taken += got;
        ws->heard = true;
        disarm(ws, &ws->pong);
        if (ws->state == WS_UPGRADING)
            read_answer(ws, bytes_make(ws->input, got), false);
        else
            decode(ws, bytes_make(ws->input, got));
    }
    /* TLS may hold bytes that no poll will announce: come back by ourselves. */
    if (ws->state != WS_OVER && !ws->held)
        arm(ws, &ws->more, 0);
}

/* ---- events of the loop ---- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct ws *ws = poll->data;
    (void)status;
    if ((events & UV_WRITABLE) != 0)
        flush(ws);
    read_socket(ws);
}

static void watch(struct ws *ws)
{
    int events = (ws->held ? 0 : UV_READABLE) | (send_queue_len(&ws->out) > 0 ? UV_WRITABLE : 0);
    if (ws->state == WS_OVER || events == ws->poll_events)
        return;
    ws->poll_events = events;
    uv_poll_start(&ws->poll, events, on_ready);
}

static void on_deadline(void *arg)
{
    struct ws *ws = arg;
    if (ws->state == WS_UPGRADING && ws->answer.len > 0)
        read_answer(ws, BYTES_ABSENT, true);
    blame(ws, "no connection within %u ms", ws->connect_ms);
    end(ws, ws->status);
}

static void on_ping_time(void *arg)
{
    struct ws *ws = arg;
    assert(ws->state == WS_OPEN);
    ws->heard = false;
    if (ws->pong.index == 0)
        arm(ws, &ws->pong, ws->pong_ms);
    arm(ws, &ws->ping, ws->ping_ms);
    ws_codec_write(ws->codec, WS_OPCODE_PING, BYTES_ABSENT, &ws->out.tail);
    flush(ws);
}

/* The loop itself may have been late: look at the socket before calling the peer dead. */
static void on_silence(void *arg)
{
    struct ws *ws = arg;
    if (ws->held) /* it is we who do not listen */
        arm(ws, &ws->pong, ws->pong_ms);
    else
        read_socket(ws);
    if (ws->state != WS_OPEN || ws->heard || ws->held)
        return;
    blame(ws, "no pong and no data within %u ms of a ping: the peer is dead", ws->pong_ms);
    end(ws, 0);
}

static void on_dialed(void *arg, CURLcode result)
{
    struct ws *ws = arg;
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (result == CURLE_OK)
        curl_easy_getinfo(ws->task.easy, CURLINFO_ACTIVESOCKET, &fd);
    if (ws->state == WS_OVER)
        return;
    if (fd == CURL_SOCKET_BAD ||
        uv_poll_init_socket(loop_uv(ws->client->loop), &ws->poll, fd) != 0) {
        blame(ws, "cannot connect: %s",
              ws->curl_error[0] != '\0' ? ws->curl_error : curl_easy_strerror(result));
        end(ws, 0);
        return;
    }
    ws->poll.data = ws;
    ws->polled = true;
    ws->state = WS_UPGRADING;
    flush(ws);
}

/* ---- interface ---- */

struct ws_client *ws_client_new(struct loop *loop, const char *ca_file)
{
    struct ws_client *client = memory_new_zeroed(1, sizeof *client);
    client->loop = loop;
    client->runtime = loop_runtime(loop);
    client->driver = curl_driver_new(loop);
    client->ca_file = ca_file == NULL ? NULL : memory_copy_string(ca_file);
    return client;
}

void ws_client_free(struct ws_client *client)
{
    for (struct ws *ws = client->first, *next; ws != NULL; ws = next) {
        next = ws->next;
        disconnect(ws);
        if (!ws->polled)
            release(ws);
    }
    curl_driver_free(client->driver);
    free(client->ca_file);
    free(client);
}

static uint64_t random_word(void *arg)
{
    struct runtime *runtime = arg;
    return runtime->ops->random(runtime);
}

static void dial(struct ws *ws)
{
    CURL *easy = curl_driver_tunnel(ws->client->ca_file, text_string(&ws->http_url));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ws->connect_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, ws->curl_error);
    ws->task = (struct curl_task){easy, on_dialed, ws};
    curl_driver_add(ws->client->driver, &ws->task);
    arm(ws, &ws->deadline, ws->connect_ms);
}

struct ws *ws_client_open(struct ws_client *client, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    assert(events->opened != NULL && events->message != NULL && events->closed != NULL);
    struct ws *ws = memory_new_zeroed(1, sizeof *ws);
    *ws = (struct ws){.client = client, .next = client->first, .events = *events, .arg = arg};
    if (client->first != NULL)
        client->first->previous = ws;
    client->first = ws;
    ws->connect_ms = request->connect_ms_max == 0 ? CONNECT_MS_DEFAULT : request->connect_ms_max;
    ws->ping_ms = request->ping_ms == 0 ? PING_MS_DEFAULT : request->ping_ms;
    ws->pong_ms = request->pong_ms_max == 0 ? PONG_MS_DEFAULT : request->pong_ms_max;
    ws->deadline = (struct timer){.fn = on_deadline, .arg = ws};
    ws->ping = (struct timer){.fn = on_ping_time, .arg = ws};
    ws->pong = (struct timer){.fn = on_silence, .arg = ws};
    ws->more = (struct timer){.fn = read_socket, .arg = ws};
    ws->over = (struct timer){.fn = on_over, .arg = ws};
    size_t max = request->message_bytes_max == 0 ? MESSAGE_DEFAULT : request->message_bytes_max;
    ws->codec = ws_codec_new(max, random_word, client->runtime);
    uint64_t nonce[2] = {random_word(client->runtime), random_word(client->runtime)};
    ws_upgrade_init(&ws->upgrade, (const uint8_t *)nonce);
    if (ws_upgrade_url(request->url, &ws->http_url, &ws->why) != RC_OK ||
        ws_upgrade_write(&ws->upgrade, text_string(&ws->http_url), request, &ws->out.tail,
                         &ws->why) != RC_OK)
        end(ws, 0);
    else
        dial(ws);
    return ws;
}

enum rc ws_client_send_text(struct ws *ws, struct bytes payload)
{
    if (ws->state != WS_OPEN)
        return RC_REJECT;
    if (send_queue_len(&ws->out) > 0 && send_queue_len(&ws->out) + payload.len > OUT_BYTES_MAX)
        return RC_AGAIN;
    ws_codec_write(ws->codec, WS_OPCODE_TEXT, payload, &ws->out.tail);
    flush(ws);
    return RC_OK;
}

void ws_client_hold(struct ws *ws, bool on)
{
    if (ws->state != WS_OPEN || ws->held == on)
        return;
    ws->held = on;
    watch(ws);
    if (!on)
        arm(ws, &ws->more, 0);
}

void ws_client_close(struct ws *ws, uint16_t code, const char *reason)
{
    if (ws->state == WS_OVER || ws->state == WS_CLOSING)
        return;
    blame(ws, "closed by us: %s", reason == NULL ? "" : reason);
    if (ws->state == WS_OPEN)
        begin_close(ws, code, reason == NULL ? "" : reason);
    else
        end(ws, 0);
}
