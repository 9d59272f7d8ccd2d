/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ws_wire.h"

#include "base/utf8.h"
#include "serve/listener.h"
#include "sys/fd_watch.h"
#include "sys/socket_backlog.h"
#include "sys/ws_codec.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#define READ_SIZE     16384
#define READS_MAX     4 /* in one turn: others wait as well */
#define CLOSE_US      INT64_C(1000000)
#define DEAD_US       (WS_WIRE_PING_US * 2) /* no answer to a ping */
#define OUT_KEEP      65536
#define CODE_BAD      1002 /* RFC 6455, 7.4.1 */
#define CODE_BINARY   1003
#define CODE_NO_TEXT  1007
#define CODE_TOO_LONG 1009

static int64_t now_us(const struct ws_wire *wire)
{
    return wire->runtime->ops->mono_us(wire->runtime);
}

/* Who is full is watched also when nothing waits any more, which an answer may have taken along:
 * it is the loop that finds out that there is room. */
static void watch(struct ws_wire *wire)
{
    if (!wire->over)
        fd_watch_set(wire->watch, !wire->full, wire->full || wire->out_at < wire->out.len);
}

/* Whoever is at work with it may go on; the end comes from the loop. */
static void end(struct ws_wire *wire)
{
    if (wire->over)
        return;
    wire->over = true;
    fd_watch_set(wire->watch, false, false);
    wire->runtime->ops->timer_arm(wire->runtime, &wire->timer, 0);
}

/* ---- out ---- */

static size_t left_in(const struct ws_wire *wire)
{
    return wire->out.len - wire->out_at;
}

static size_t waiting_max(const struct ws_wire *wire)
{
    return unsent_is_over(wire->unsent) ? 0 : WS_WIRE_WAITING_MAX;
}

static void compact(struct ws_wire *wire)
{
    struct text *out = &wire->out;
    if (wire->out_at < out->len && wire->out_at < out->len / 2)
        return;
    size_t left = out->len - wire->out_at;
    if (left == 0 && out->cap > OUT_KEEP) {
        text_free(out);
    } else {
        if (left > 0)
            memmove(out->data, out->data + wire->out_at, left);
        out->len = left;
    }
    wire->out_at = 0;
}

static void flush(struct ws_wire *wire)
{
    while (!wire->over && wire->out_at < wire->out.len) {
        ssize_t sent = send(wire->fd, wire->out.data + wire->out_at, wire->out.len - wire->out_at,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (sent <= 0) {
            end(wire);
            return;
        }
        wire->out_at += (size_t)sent;
        wire->sent += sent;
    }
    compact(wire);
    unsent_note(wire->unsent, &wire->counted, left_in(wire) > 0 ? wire->out.cap : 0);
    wire->full |= left_in(wire) > waiting_max(wire);
    watch(wire);
}

static void note_room(struct ws_wire *wire)
{
    if (wire->over || !wire->full || left_in(wire) > waiting_max(wire) / 4)
        return;
    wire->full = false;
    wire->heard_us = now_us(wire); /* nothing was listened to meanwhile */
    watch(wire);
    if (!wire->closing)
        wire->ops->drained(wire);
}

void ws_wire_send(struct ws_wire *wire, struct bytes text)
{
    if (wire->over || wire->closing)
        return;
    ws_codec_write(wire->codec, WS_OPCODE_TEXT, text, &wire->out);
    flush(wire);
}

bool ws_wire_is_full(const struct ws_wire *wire)
{
    return wire->full || wire->closing || wire->over;
}

void ws_wire_close(struct ws_wire *wire, uint16_t code, const char *reason)
{
    if (wire->over || wire->closing)
        return;
    ws_codec_write_close(wire->codec, code, reason, &wire->out);
    wire->closing = true;
    wire->runtime->ops->timer_arm(wire->runtime, &wire->timer, CLOSE_US);
    flush(wire);
}

/* ---- in ---- */

static void answer_close(struct ws_wire *wire, struct bytes payload)
{
    uint16_t code;
    struct bytes reason;
    (void)ws_codec_read_close(payload, &code, &reason);
    ws_wire_close(wire, code == 1005 ? 1000 : code, "");
    end(wire);
}

static void take_event(struct ws_wire *wire, enum ws_event event, struct bytes payload,
                       const struct err *err)
{
    if (event == WS_EVENT_CLOSE)
        answer_close(wire, payload);
    else if (event == WS_EVENT_PROTOCOL)
        ws_wire_close(wire, CODE_BAD, err->text);
    else if (event == WS_EVENT_TOO_LARGE)
        ws_wire_close(wire, CODE_TOO_LONG, err->text);
    else if (event == WS_EVENT_BINARY)
        ws_wire_close(wire, CODE_BINARY, "commands are text");
    else if (event == WS_EVENT_TEXT && !utf8_is_text(payload))
        ws_wire_close(wire, CODE_NO_TEXT, "a message is not UTF-8");
    else if (event == WS_EVENT_TEXT && !wire->closing)
        wire->ops->message(wire, payload);
    else if (event == WS_EVENT_PING && !wire->closing) {
        ws_codec_write(wire->codec, WS_OPCODE_PONG, payload, &wire->out);
        flush(wire);
    }
}

static void take_input(struct ws_wire *wire, struct bytes input)
{
    struct bytes payload;
    struct err err;
    wire->heard_us = now_us(wire);
    while (!wire->over) {
        enum ws_event event = ws_codec_next(wire->codec, &input, &payload, &err);
        if (event == WS_EVENT_NONE)
            return;
        take_event(wire, event, payload, &err);
        if (event == WS_EVENT_PROTOCOL)
            return;
    }
}

static void read_some(struct ws_wire *wire)
{
    char buffer[READ_SIZE];
    for (int i = 0; i < READS_MAX && !wire->over && !wire->full; i++) {
        ssize_t got = recv(wire->fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (got <= 0) {
            end(wire);
            return;
        }
        take_input(wire, bytes_make(buffer, (size_t)got));
    }
}

static void on_ready(void *arg, bool readable, bool writable)
{
    struct ws_wire *wire = arg;
    if (writable) {
        flush(wire);
        note_room(wire);
    }
    if (readable)
        read_some(wire);
}

/* ---- beginning and end ---- */

void ws_wire_abort(struct ws_wire *wire)
{
    wire->over = true;
    wire->runtime->ops->timer_disarm(wire->runtime, &wire->timer);
    fd_watch_free(wire->watch);
    ws_codec_free(wire->codec);
    text_free(&wire->out);
    unsent_note(wire->unsent, &wire->counted, 0);
    MHD_upgrade_action(wire->upgraded, MHD_UPGRADE_ACTION_CLOSE);
    listener_run(wire->listener);
    wire->ops->closed(wire);
}

/* Who had taken all takes the next frame, too, if only its kernel lives: that says nothing. */
static void note_taken(struct ws_wire *wire)
{
    int64_t backlog = socket_backlog(wire->fd), taken = wire->sent - backlog;
    if (backlog < 0)
        return;
    if (wire->behind && taken > wire->taken)
        wire->heard_us = now_us(wire);
    wire->behind = backlog > 0 || wire->out_at < wire->out.len;
    wire->taken = taken;
}

static void on_timer(void *arg)
{
    struct ws_wire *wire = arg;
    note_taken(wire);
    if (wire->over || wire->closing || now_us(wire) - wire->heard_us >= DEAD_US) {
        ws_wire_abort(wire);
        return;
    }
    if (now_us(wire) - wire->heard_us >= WS_WIRE_PING_US) {
        ws_codec_write(wire->codec, WS_OPCODE_PING, bytes_of(""), &wire->out);
        flush(wire);
    }
    if (!wire->over)
        wire->runtime->ops->timer_arm(wire->runtime, &wire->timer, WS_WIRE_PING_US);
    wire->ops->tick(wire);
}

void ws_wire_open(struct ws_wire *wire, struct loop *loop, struct listener *listener, int fd,
                  struct MHD_UpgradeResponseHandle *upgraded, struct bytes early)
{
    assert(wire->ops != NULL && wire->unsent != NULL);
    wire->runtime = loop_runtime(loop);
    wire->listener = listener;
    wire->upgraded = upgraded;
    wire->fd = fd;
    wire->codec = ws_codec_new(WS_WIRE_MESSAGE_MAX, NULL, NULL);
    wire->timer = (struct timer){.fn = on_timer, .arg = wire};
    wire->watch = fd_watch_new(loop, fd, on_ready, wire);
    wire->runtime->ops->timer_arm(wire->runtime, &wire->timer, WS_WIRE_PING_US);
    watch(wire);
    take_input(wire, early);
}
