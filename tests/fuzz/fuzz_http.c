/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes on a connection of the server: what it answers is HTTP, with a status it documents, and
 * never a word of the store; and it goes on serving others.
 *
 * The first byte says which listener is spoken to and in how many pieces. Behind the bytes comes a
 * request that ends the connection; where the bytes have eaten it, silence does. */
#include "base/bytes.h"
#include "config_tokens.h"
#include "fixture.h"
#include "serve/server.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 4
#define ANSWER_MAX (1 << 20)
#define WAIT_S     10
#define SILENCE_MS 3
#define LOOK_EVERY 64 /* inputs */
#define POSTS      50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char last[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static struct fixture fixture;
static struct server *server;
static struct server_options options;
static char socket_path[300], tokens_path[300];
static char *answer;

static void stop(void)
{
    server_stop(server);
    free(answer);
    fixture_close(&fixture);
}

static void make_store(void)
{
    struct store *store;
    struct store_position position;
    struct text sql = {0};
    struct err err;
    unsigned applied;
    enum rc rc = store_open(fixture.url, STORE_WRITE, &store, &err);
    assert(rc == RC_OK);
    rc = store_migrate(store, &applied, &err);
    assert(rc == RC_OK);
    rc = store_claim(store, "fuzz", NULL, 1, &position, &err);
    assert(rc == RC_OK);
    text_append_string(&sql, "INSERT INTO actors (id, did) VALUES (1, 'did:plc:a');");
    for (unsigned i = 1; i <= POSTS; i++)
        text_appendf(&sql,
                     "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
                     "VALUES (%u, 1, 1, 'app.bsky.feed.post', '%u', 0, %u);",
                     i, i, i / 7);
    text_appendf(&sql, "UPDATE engine SET next_n = %u", POSTS + 1);
    rc = store->ops->script(store, text_string(&sql), &err);
    assert(rc == RC_OK);
    text_free(&sql);
    store_close(store);
}

static void write_tokens(void)
{
    struct text line = {0};
    snprintf(tokens_path, sizeof tokens_path, "%s/tokens", fixture.folder);
    token_print_line(bytes_of("all"), SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN, bytes_of("all"),
                     &line);
    FILE *file = fopen(tokens_path, "w");
    assert(file != NULL);
    fputs(text_string(&line), file);
    fclose(file);
    chmod(tokens_path, 0600);
    text_free(&line);
}

static void start(void)
{
    static const char *const origins[] = {"https://a.example"};
    struct err err;
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_store();
    write_tokens();
    snprintf(socket_path, sizeof socket_path, "%s/tidemark.sock", fixture.folder);
    options = (struct server_options){
        .listen = "127.0.0.1:0",
        .socket_path = socket_path,
        .store_url = fixture.url,
        .gate = {.tokens_file = tokens_path, .cors_origins = {origins, 1}},
    };
    enum rc rc = server_start(&options, &server, &err);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", err.text);
    assert(rc == RC_OK);
    answer = memory_new(ANSWER_MAX + 1);
    atexit(stop);
}

/* Closed without a trace in the kernel, or its ports would run out. */
static int dial(bool local)
{
    const struct linger none = {.l_onoff = 1};
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    const struct sockaddr_in port = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)server_port(server, LISTENER_MAIN)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    snprintf(path.sun_path, sizeof path.sun_path, "%s", socket_path);
    int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    assert(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    int failed = connect(fd, local ? (const void *)&path : (const void *)&port,
                         local ? sizeof path : sizeof port);
    assert(failed == 0);
    return fd;
}

static bool speak_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false; /* it has heard enough */
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void speak(int fd, const uint8_t *data, size_t size, size_t pieces)
{
    bool heard = true;
    for (size_t i = 0; i < pieces && heard; i++) {
        size_t from = size * i / pieces, to = size * (i + 1) / pieces;
        heard = speak_all(fd, data + from, to - from);
    }
    if (heard)
        speak_all(fd, last, strlen(last));
}

static size_t listen_to(int fd, int silence_ms)
{
    struct pollfd heard = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    while (poll(&heard, 1, silence_ms) > 0) {
        ssize_t got = recv(fd, answer + len, ANSWER_MAX - len, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
        assert(len < ANSWER_MAX); /* an answer that never ends */
    }
    answer[len] = '\0';
    return len;
}

static void look_after(void)
{
    static const char ask[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd = dial(false);
    bool heard = speak_all(fd, ask, strlen(ask));
    assert(heard);
    struct pollfd answered = {.fd = fd, .events = POLLIN};
    int ready = poll(&answered, 1, WAIT_S * 1000);
    assert(ready == 1);
    size_t len = listen_to(fd, SILENCE_MS);
    assert(len > 0 && strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
    close(fd);
}

static void check(size_t len)
{
    static const char statuses[] =
        "101 200 204 304 400 401 403 404 405 409 410 411 413 414 429 431 501 505";
    char status[4];
    if (len == 0)
        return;
    assert(len > 12 && memcmp(answer, "HTTP/1.", 7) == 0);
    snprintf(status, sizeof status, "%.3s", answer + 9);
    if (strstr(statuses, status) == NULL)
        fprintf(stderr, "%s\n", answer);
    assert(strstr(statuses, status) != NULL);
    /* What the store says about a statement it refuses ends in one of these. */
    assert(memmem(answer, len, "\"code\":\"INTERNAL\"", 17) == NULL);
    assert(memmem(answer, len, "\"code\":\"UNAVAILABLE\"", 20) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned inputs;
    if (server == NULL)
        start();
    if (size == 0)
        return 0;
    int fd = dial((data[0] & 1) != 0);
    speak(fd, data + 1, size - 1, 1 + data[0] / 2 % PIECES_MAX);
    check(listen_to(fd, SILENCE_MS));
    close(fd);
    if (++inputs % LOOK_EVERY == 0)
        look_after();
    return 0;
}
