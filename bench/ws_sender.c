/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_sender.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)256 << 10)
#define DIGITS      16 /* of a time in microseconds */
#define RKEY_DIGITS 13

struct ws_sender {
    struct ws_sender_options options;
    pthread_t thread;
    int listener, peer;
    unsigned port;
    atomic_bool stopping;
    _Atomic uint64_t sent;
    int64_t stamp_us;
    struct text chunk;
};

static int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- one connection ---- */

static bool send_all(struct ws_sender *sender, const char *data, size_t len)
{
    char heard[4096];
    while (len > 0 && !atomic_load(&sender->stopping)) {
        struct pollfd look = {sender->peer, POLLIN | POLLOUT, 0};
        if (poll(&look, 1, 100) < 0 || (look.revents & (POLLHUP | POLLERR)) != 0)
            return false;
        if ((look.revents & POLLIN) != 0 &&
            recv(sender->peer, heard, sizeof heard, MSG_DONTWAIT) == 0)
            return false;
        if ((look.revents & POLLOUT) == 0)
            continue;
        ssize_t done = send(sender->peer, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN)
            return false;
        if (done > 0) {
            data += done;
            len -= (size_t)done;
        }
    }
    return len == 0;
}

/* Reads the upgrade and agrees to it. */
static bool shake_hands(struct ws_sender *sender)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char heard[8192] = "", key[128], accept[64], answer[256];
    unsigned char digest[SHA_DIGEST_LENGTH];
    size_t len = 0;
    while (strstr(heard, "\r\n\r\n") == NULL) {
        ssize_t got = recv(sender->peer, heard + len, sizeof heard - 1 - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
        heard[len] = '\0';
    }
    const char *field = strcasestr(heard, "\r\nsec-websocket-key: ");
    if (field == NULL || sscanf(field + 21, "%60s", key) != 1)
        return false;
    snprintf(key + strlen(key), sizeof key - strlen(key), "%s", magic);
    SHA1((const unsigned char *)key, strlen(key), digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Accept: %s\r\n\r\n",
             accept);
    return send_all(sender, answer, strlen(answer));
}

static void put_number(char *at, size_t digits, uint64_t value)
{
    for (size_t i = digits; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
}

/* Gives the event at the end of the chunk a time, and a key, of its own. */
static void stamp(struct ws_sender *sender, char *event, size_t len, uint64_t number)
{
    static const char time_key[] = "\"time_us\":", rkey_key[] = "\"rkey\":\"";
    char *time = memmem(event, len, time_key, sizeof time_key - 1);
    char *rkey = memmem(event, len, rkey_key, sizeof rkey_key - 1);
    int64_t now_us = sender->options.per_second > 0 ? wall_us() : sender->stamp_us + 1;
    sender->stamp_us = now_us > sender->stamp_us ? now_us : sender->stamp_us + 1;
    assert(time != NULL);
    put_number(time + sizeof time_key - 1, DIGITS, (uint64_t)sender->stamp_us);
    if (sender->options.renumber && rkey != NULL)
        put_number(rkey + sizeof rkey_key - 1, RKEY_DIGITS, number);
}

static void put_frame(struct ws_sender *sender, uint64_t number)
{
    const struct ws_sender_stock *stock = &sender->options.stock;
    size_t at = (size_t)(number % stock->count);
    size_t len = stock->start[at + 1] - stock->start[at];
    struct text *chunk = &sender->chunk;
    text_append_char(chunk, (char)(stock->binary ? 0x82 : 0x81));
    assert(len < 65536);
    if (len < 126) {
        text_append_char(chunk, (char)len);
    } else {
        text_append_char(chunk, 126);
        text_append_char(chunk, (char)(len >> 8));
        text_append_char(chunk, (char)len);
    }
    text_append(chunk, stock->bytes + stock->start[at], len);
    if (sender->options.restamp)
        stamp(sender, chunk->data + chunk->len - len, len, number);
}

static void wait_turn(struct ws_sender *sender, int64_t begin_us, uint64_t number)
{
    int64_t due_us = begin_us + (int64_t)(number * 1000000 / sender->options.per_second);
    int64_t left_us = due_us - wall_us();
    if (left_us > 0)
        ppoll(NULL, 0, &(struct timespec){left_us / 1000000, (left_us % 1000000) * 1000}, NULL);
}

static void serve(struct ws_sender *sender)
{
    char heard[4096];
    int64_t begin_us = wall_us();
    uint64_t number = 0;
    if (!shake_hands(sender))
        return;
    while (number < sender->options.events && !atomic_load(&sender->stopping)) {
        text_clear(&sender->chunk);
        if (sender->options.per_second > 0) {
            wait_turn(sender, begin_us, number);
            put_frame(sender, number++);
        }
        while (sender->options.per_second == 0 && number < sender->options.events &&
               sender->chunk.len < CHUNK_BYTES)
            put_frame(sender, number++);
        if (!send_all(sender, sender->chunk.data, sender->chunk.len))
            return;
        atomic_store(&sender->sent, number);
    }
    while (!atomic_load(&sender->stopping)) {
        struct pollfd look = {sender->peer, POLLIN, 0};
        if (poll(&look, 1, 50) > 0 && recv(sender->peer, heard, sizeof heard, MSG_DONTWAIT) <= 0)
            return;
    }
}

static void *run(void *arg)
{
    struct ws_sender *sender = arg;
    const int at_once = 1; /* as the hosts do: an event waits for no acknowledgement */
    while (!atomic_load(&sender->stopping)) {
        struct pollfd look = {sender->listener, POLLIN, 0};
        if (poll(&look, 1, 50) <= 0)
            continue;
        sender->peer = accept4(sender->listener, NULL, NULL, SOCK_CLOEXEC);
        setsockopt(sender->peer, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
        atomic_store(&sender->sent, 0);
        serve(sender);
        close(sender->peer);
    }
    return NULL;
}

struct ws_sender *ws_sender_start(const struct ws_sender_options *options)
{
    struct ws_sender *sender = memory_new_zeroed(1, sizeof *sender);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    sender->options = *options;
    sender->stamp_us = wall_us() - INT64_C(3600000000);
    sender->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(sender->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(sender->listener, 4) != 0 ||
        getsockname(sender->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&sender->thread, NULL, run, sender) != 0)
        abort();
    sender->port = ntohs(address.sin_port);
    return sender;
}

unsigned ws_sender_port(const struct ws_sender *sender)
{
    return sender->port;
}

uint64_t ws_sender_sent(const struct ws_sender *sender)
{
    return atomic_load(&sender->sent);
}

void ws_sender_stop(struct ws_sender *sender)
{
    atomic_store(&sender->stopping, true);
    pthread_join(sender->thread, NULL);
    close(sender->listener);
    text_free(&sender->chunk);
    free(sender);
}
