/* SPDX-License-Identifier: Apache-2.0 */
#include "history_server.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 16
#define REQUEST_MAX     4096
#define HEAD_MAX        256
#define FIRST_BLOCK     UINT64_C(10000000)
#define FIRST_SECOND    UINT64_C(1600000000)
#define BLOCK_SECONDS   12
#define LOOK_MS         50

/* Places of digits; every row is as long as this. */
#define TENS8  "00000000"
#define TENS16 TENS8 TENS8
#define TENS64 TENS16 TENS16 TENS16 TENS16
static const char row_text[] =
    "{\"blockNumber\":\"" TENS8 "\",\"timeStamp\":\"" TENS8 "00\",\"hash\":\"0x" TENS64
    "\",\"nonce\":\"" TENS8 "\",\"blockHash\":\"0x" TENS64 "\",\"transactionIndex\":\"7\","
    "\"from\":\"" HISTORY_ACCOUNT "\",\"to\":\"0xDAC17F958D2ee523a2206206994597C13D831ec7\","
    "\"value\":\"1" TENS16 "\",\"gas\":\"90000\",\"gasPrice\":\"20000000000\",\"isError\":\"0\","
    "\"txreceipt_status\":\"1\",\"input\":\"0x\",\"contractAddress\":\"\","
    "\"cumulativeGasUsed\":\"1234567\",\"gasUsed\":\"21000\",\"confirmations\":\"4242424\","
    "\"methodId\":\"0x\",\"functionName\":\"\"},";
#define ROW_SIZE (sizeof row_text - 1)
static const char before[] = "{\"status\":\"1\",\"message\":\"OK\",\"result\":[";
static const char after[] = "]}";

struct connection {
    char request[REQUEST_MAX];
    size_t len;
};

struct history_server {
    int listener;
    unsigned port;
    pthread_t thread;
    atomic_bool stopping;
    _Atomic uint64_t rows, requests;
    struct pollfd polled[CONNECTIONS_MAX + 1]; /* the listener first */
    struct connection connections[CONNECTIONS_MAX + 1];
    char *page;
    size_t block_at, second_at, hash_at, nonce_at, block_hash_at, value_at;
};

/* ---- a page ---- */

static size_t place_of(const char *key, size_t prefix)
{
    const char *at = strstr(row_text, key);
    assert(at != NULL);
    return (size_t)(at - row_text) + strlen(key) + prefix;
}

static void put_digits(char *at, unsigned digits, uint64_t value)
{
    for (unsigned i = digits; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
}

static void put_hex(char *at, unsigned digits, uint64_t value)
{
    for (unsigned i = digits; i-- > 0; value >>= 4)
        at[i] = "0123456789abcdef"[value & 15];
}

/* No two numbers give the same. */
static uint64_t mix(uint64_t number)
{
    number ^= number >> 31;
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number ^= number >> 29;
    return number * UINT64_C(0xd6e8feb86659fd93);
}

static void put_row(const struct history_server *server, char *at, uint64_t number)
{
    uint64_t block = number / HISTORY_PER_BLOCK, own = mix(number + 1);
    memcpy(at, row_text, ROW_SIZE);
    put_digits(at + server->block_at, 8, FIRST_BLOCK + block);
    put_digits(at + server->second_at, 10, FIRST_SECOND + block * BLOCK_SECONDS);
    put_hex(at + server->hash_at, 16, own);
    put_hex(at + server->hash_at + 48, 16, number);
    put_digits(at + server->nonce_at, 8, number);
    put_hex(at + server->block_hash_at, 16, mix(block));
    put_digits(at + server->value_at, 16, own);
}

static uint64_t number_after(const char *request, const char *key, uint64_t absent)
{
    const char *at = strstr(request, key);
    return at == NULL ? absent : strtoull(at + strlen(key), NULL, 10);
}

static size_t make_page(struct history_server *server, const char *request)
{
    uint64_t rows = atomic_load(&server->rows);
    uint64_t from = number_after(request, "startblock=", FIRST_BLOCK);
    uint64_t size = number_after(request, "offset=", 1000);
    uint64_t page = number_after(request, "&page=", 1);
    uint64_t first = (from < FIRST_BLOCK ? 0 : from - FIRST_BLOCK) * HISTORY_PER_BLOCK;
    char head[HEAD_MAX];
    assert(size > 0 && size <= HISTORY_PAGE_MAX && page > 0);
    first += (page - 1) * size;
    uint64_t count = first >= rows ? 0 : rows - first < size ? rows - first : size;
    size_t body = sizeof before - 1 + count * ROW_SIZE - (count > 0) + sizeof after - 1;
    size_t len = (size_t)snprintf(head, sizeof head,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                  "Content-Length: %zu\r\n\r\n%s",
                                  body, before);
    memcpy(server->page, head, len);
    for (uint64_t i = 0; i < count; i++, len += ROW_SIZE)
        put_row(server, server->page + len, first + i);
    len -= count > 0; /* the last comma */
    memcpy(server->page + len, after, sizeof after - 1);
    return len + sizeof after - 1;
}

/* ---- connections ---- */

static bool send_all(struct history_server *server, int fd, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t sent = send(fd, server->page + done, len - done, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR)
            return false;
        done += sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* Answers what has come whole; false: the connection is over. */
static bool hear(struct history_server *server, size_t which)
{
    struct connection *connection = &server->connections[which];
    int fd = server->polled[which].fd;
    ssize_t got =
        recv(fd, connection->request + connection->len, REQUEST_MAX - 1 - connection->len, 0);
    if (got <= 0)
        return false;
    connection->len += (size_t)got;
    connection->request[connection->len] = '\0';
    if (strstr(connection->request, "\r\n\r\n") == NULL)
        return connection->len < REQUEST_MAX - 1;
    connection->len = 0;
    atomic_fetch_add(&server->requests, 1);
    return send_all(server, fd, make_page(server, connection->request));
}

static void welcome(struct history_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
    size_t which = 1;
    while (which <= CONNECTIONS_MAX && server->polled[which].fd >= 0)
        which++;
    if (fd >= 0 && which > CONNECTIONS_MAX) {
        close(fd);
    } else if (fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        server->polled[which] = (struct pollfd){.fd = fd, .events = POLLIN};
        server->connections[which].len = 0;
    }
}

static void hang_up(struct history_server *server, size_t which)
{
    close(server->polled[which].fd);
    server->polled[which].fd = -1;
}

static void *serve(void *arg)
{
    struct history_server *server = arg;
    while (!atomic_load(&server->stopping)) {
        if (poll(server->polled, CONNECTIONS_MAX + 1, LOOK_MS) <= 0)
            continue;
        if (server->polled[0].revents != 0)
            welcome(server);
        for (size_t i = 1; i <= CONNECTIONS_MAX; i++)
            if (server->polled[i].fd >= 0 && server->polled[i].revents != 0 && !hear(server, i))
                hang_up(server, i);
    }
    for (size_t i = 1; i <= CONNECTIONS_MAX; i++)
        if (server->polled[i].fd >= 0)
            hang_up(server, i);
    return NULL;
}

/* ---- life ---- */

static void listen_somewhere(struct history_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listening = bind(server->listener, (struct sockaddr *)&address, len) == 0 &&
                     listen(server->listener, CONNECTIONS_MAX) == 0 &&
                     getsockname(server->listener, (struct sockaddr *)&address, &len) == 0;
    assert(listening);
    server->port = ntohs(address.sin_port);
}

struct history_server *history_server_start(void)
{
    struct history_server *server = calloc(1, sizeof *server);
    assert(server != NULL);
    server->block_at = place_of("\"blockNumber\":\"", 0);
    server->second_at = place_of("\"timeStamp\":\"", 0);
    server->hash_at = place_of("\"hash\":\"", 2);
    server->nonce_at = place_of("\"nonce\":\"", 0);
    server->block_hash_at = place_of("\"blockHash\":\"", 2);
    server->value_at = place_of("\"value\":\"", 1);
    server->page = malloc(HEAD_MAX + sizeof after + HISTORY_PAGE_MAX * ROW_SIZE);
    assert(server->page != NULL);
    listen_somewhere(server);
    server->polled[0] = (struct pollfd){.fd = server->listener, .events = POLLIN};
    for (size_t i = 1; i <= CONNECTIONS_MAX; i++)
        server->polled[i].fd = -1;
    bool running = pthread_create(&server->thread, NULL, serve, server) == 0;
    assert(running);
    return server;
}

unsigned history_server_port(const struct history_server *server)
{
    return server->port;
}

void history_server_set(struct history_server *server, uint64_t rows)
{
    atomic_store(&server->rows, rows);
}

uint64_t history_server_requests(struct history_server *server)
{
    return atomic_exchange(&server->requests, 0);
}

void history_server_stop(struct history_server *server)
{
    atomic_store(&server->stopping, true);
    pthread_join(server->thread, NULL);
    close(server->listener);
    free(server->page);
    free(server);
}
