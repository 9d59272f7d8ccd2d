/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/peer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS        10
#define LINGER_MS      1000
#define READ_CHUNK     65536
#define KEEP_BYTES_MAX 1048576

struct peer {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    const struct peer_handler *handler;
    void *arg;
    struct tls_line *tls;     /* NULL: plain */
    struct text wire;         /* what TLS itself has to say */
    struct text out, sending; /* sending: taken from out, gone up to `sent` */
    size_t sent, writing;     /* writing: bytes of the write under way */
    bool finishing, closing, stalled, slow;
    size_t slow_bytes;
    uint64_t slow_until_ms;
    int handles; /* libuv handles that still have to close */
    char input[READ_CHUNK];
};

static void pump(struct peer *peer);

static bool waits_for_timer(const struct peer *peer)
{
    return uv_is_active((const uv_handle_t *)&peer->timer) != 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    if (--peer->handles > 0)
        return;
    peer->handler->on_closed(peer->arg);
    tls_line_free(peer->tls);
    text_free(&peer->wire);
    text_free(&peer->out);
    text_free(&peer->sending);
    free(peer);
}

static void close_now(struct peer *peer, bool reset)
{
    if (peer->closing)
        return;
    peer->closing = true;
    uv_close((uv_handle_t *)&peer->timer, on_handle_closed);
    if (!reset || uv_tcp_close_reset(&peer->tcp, on_handle_closed) != 0)
        uv_close((uv_handle_t *)&peer->tcp, on_handle_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct peer *peer = handle->data;
    (void)suggested;
    *buf = uv_buf_init(peer->input, sizeof peer->input);
}

/* Takes bytes through TLS; the handler hears what is left of them. */
static void read_secret(struct peer *peer, struct bytes input)
{
    struct text plain = {0};
    bool good = tls_line_feed(peer->tls, input, &plain, &peer->wire);
    if (peer->wire.len > 0 && !waits_for_timer(peer))
        pump(peer);
    if (plain.len > 0 && !peer->finishing && !peer->closing)
        peer->handler->on_bytes(peer->arg, text_bytes(&plain));
    if (!good)
        peer_finish(peer);
    text_free(&plain);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct peer *peer = stream->data;
    struct bytes input = bytes_make(buf->base, count < 0 ? 0 : (size_t)count);
    if (count < 0)
        close_now(peer, false);
    else if (count > 0 && !peer->finishing && peer->tls != NULL)
        read_secret(peer, input);
    else if (count > 0 && !peer->finishing)
        peer->handler->on_bytes(peer->arg, input);
}

static void on_linger(uv_timer_t *timer)
{
    close_now(timer->data, false);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct peer *peer = request->data;
    if (peer->closing)
        return;
    /* Reading on until the other side closes keeps the kernel from answering with a reset, which
     * could destroy what was just sent. */
    if (status != 0)
        close_now(peer, false);
    else
        uv_timer_start(&peer->timer, on_linger, LINGER_MS, 0);
}

static void on_written(uv_write_t *request, int status)
{
    struct peer *peer = request->data;
    peer->sent += peer->writing;
    peer->writing = 0;
    if (status != 0)
        close_now(peer, false);
    if (!peer->closing)
        pump(peer);
}

static void on_tick(uv_timer_t *timer)
{
    struct peer *peer = timer->data;
    if (peer->stalled) {
        peer->stalled = false;
        uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
    }
    pump(peer);
}

/* What goes out over TLS: its own words, what was appended, and at the end the farewell. */
static void wrap(struct peer *peer)
{
    text_clear(&peer->sending);
    text_append(&peer->sending, peer->wire.data, peer->wire.len);
    text_clear(&peer->wire);
    tls_line_wrap(peer->tls, text_bytes(&peer->out), &peer->sending);
    text_clear(&peer->out);
    if (peer->finishing)
        tls_line_end(peer->tls, &peer->sending);
    peer->sent = 0;
}

static void swap_buffers(struct peer *peer)
{
    if (peer->tls != NULL) {
        wrap(peer);
        return;
    }
    struct text empty = peer->sending;
    peer->sending = peer->out;
    peer->out = empty;
    peer->sent = 0;
    if (peer->out.cap > KEEP_BYTES_MAX)
        text_free(&peer->out);
    text_clear(&peer->out);
}

/* Sends what is due; when nothing is left, shuts down or asks for more. */
static void pump(struct peer *peer)
{
    if (peer->writing > 0 || peer->stalled || peer->closing)
        return;
    if (peer->sent == peer->sending.len)
        swap_buffers(peer);
    size_t left = peer->sending.len - peer->sent;
    if (left == 0) {
        if (peer->finishing) {
            peer->shutdown.data = peer;
            if (uv_shutdown(&peer->shutdown, (uv_stream_t *)&peer->tcp, on_shutdown) != 0)
                close_now(peer, false);
        } else {
            peer->handler->on_drained(peer->arg);
        }
        return;
    }
    if (peer->slow && uv_now(peer->tcp.loop) >= peer->slow_until_ms) {
        peer->slow = false;
        uv_timer_stop(&peer->timer);
    }
    peer->writing = peer->slow && peer->slow_bytes < left ? peer->slow_bytes : left;
    uv_buf_t buf = uv_buf_init(peer->sending.data + peer->sent, (unsigned)peer->writing);
    peer->write.data = peer;
    if (peer->slow) {
        /* The next bytes leave with the next tick, not when these are gone. */
        int sent = uv_try_write((uv_stream_t *)&peer->tcp, &buf, 1);
        peer->writing = 0;
        peer->sent += sent > 0 ? (size_t)sent : 0;
        if (sent < 0 && sent != UV_EAGAIN)
            close_now(peer, false);
        else
            uv_timer_start(&peer->timer, on_tick, TICK_MS, 0);
    } else if (uv_write(&peer->write, (uv_stream_t *)&peer->tcp, &buf, 1, on_written) != 0) {
        peer->writing = 0;
        close_now(peer, false);
    }
}

struct peer *peer_accept(uv_stream_t *listener, const struct peer_handler *handler, void *arg,
                         struct tls_keys *keys, enum tls_manner manner)
{
    struct peer *peer = memory_new_zeroed(1, sizeof *peer);
    peer->handler = handler;
    peer->arg = arg;
    peer->handles = 2;
    if (uv_tcp_init(listener->loop, &peer->tcp) != 0) {
        free(peer);
        return NULL;
    }
    uv_timer_init(listener->loop, &peer->timer);
    peer->tcp.data = peer->timer.data = peer;
    if (uv_accept(listener, (uv_stream_t *)&peer->tcp) != 0 ||
        uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read) != 0) {
        close_now(peer, false);
        return peer;
    }
    uv_tcp_nodelay(&peer->tcp, 1);
    if (keys != NULL && manner == TLS_GARBAGE) {
        text_append_string(&peer->out, "\x15\x03 this is no handshake\r\n");
        peer_finish(peer);
    } else if (keys != NULL) {
        peer->tls = tls_line_new(keys, manner == TLS_STRANGE);
    }
    return peer;
}

void peer_hand_over(struct peer *peer, const struct peer_handler *handler, void *arg)
{
    peer->handler = handler;
    peer->arg = arg;
}

struct text *peer_out(struct peer *peer)
{
    return &peer->out;
}

void peer_flush(struct peer *peer)
{
    if (!waits_for_timer(peer) && peer->out.len > 0)
        pump(peer);
}

bool peer_is_busy(const struct peer *peer)
{
    return peer->writing > 0 || peer->closing || peer->finishing || waits_for_timer(peer);
}

void peer_finish(struct peer *peer)
{
    if (peer->finishing || peer->closing)
        return;
    peer->finishing = true;
    if (!waits_for_timer(peer))
        pump(peer);
}

void peer_reset(struct peer *peer)
{
    close_now(peer, true);
}

void peer_stall(struct peer *peer, uint64_t ms)
{
    if (peer->closing || peer->finishing)
        return;
    peer->stalled = true;
    uv_read_stop((uv_stream_t *)&peer->tcp);
    uv_timer_start(&peer->timer, on_tick, ms, 0);
}

bool peer_is_stalled(const struct peer *peer)
{
    return peer->stalled;
}

void peer_slow(struct peer *peer, size_t bytes, uint64_t ms)
{
    assert(bytes > 0);
    peer->slow = true;
    peer->slow_bytes = bytes;
    peer->slow_until_ms = uv_now(peer->tcp.loop) + ms;
    if (!peer->closing && !waits_for_timer(peer) && peer->writing == 0)
        uv_timer_start(&peer->timer, on_tick, TICK_MS, 0);
}

uv_loop_t *peer_loop(const struct peer *peer)
{
    return peer->tcp.loop;
}
