/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_server.h"

#include "base/bytes.h"
#include "config_tokens.h"
#include "fixture.h"
#include "fuzz_turns.h"
#include "store/store.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (1 << 20)
#define LOOK_EVERY 64 /* inputs */
#define POSTS      50

static struct fixture fixture;
static struct server *server;
static struct server_options options;
static char socket_path[300], tokens_path[300];
char *fuzz_answer;

static void stop(void)
{
    fuzz_turns_give_back();
    server_stop(server);
    server_free(server);
    fuzz_turns_end();
    free(fuzz_answer);
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

void fuzz_server_start(void)
{
    static const char *const origins[] = {"https://a.example"};
    struct err err;
    if (server != NULL)
        return;
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
    fuzz_turns_take();
    fuzz_answer = memory_new(ANSWER_MAX + 1);
    atexit(stop);
}

int fuzz_dial(bool local)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    if (!local)
        return fuzz_turns_dial_main();
    snprintf(path.sun_path, sizeof path.sun_path, "%s", socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(fd >= 0);
    int failed = connect(fd, (const void *)&path, sizeof path);
    assert(failed == 0);
    return fd;
}

/* Nobody else empties the socket: when it is full, it is the server's turn. */
bool fuzz_speak(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
            fuzz_turns_run();
            sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (sent <= 0)
            return false; /* it has heard enough */
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

void fuzz_hush(int fd)
{
    shutdown(fd, SHUT_WR);
}

size_t fuzz_listen(int fd, fuzz_enough_fn *enough, void *arg)
{
    size_t len = 0;
    for (ssize_t got = 1; got > 0 && (enough == NULL || !enough(arg, len));) {
        fuzz_turns_run();
        got = recv(fd, fuzz_answer + len, ANSWER_MAX - len, MSG_DONTWAIT);
        len += got > 0 ? (size_t)got : 0;
        assert(len < ANSWER_MAX); /* an answer that never ends */
    }
    fuzz_answer[len] = '\0';
    return len;
}

void fuzz_look_after(void)
{
    static unsigned inputs;
    if (++inputs % LOOK_EVERY != 0)
        return;
    static const char ask[] =
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int fd = fuzz_dial(false);
    bool heard = fuzz_speak(fd, ask, strlen(ask));
    assert(heard);
    size_t len = fuzz_listen(fd, NULL, NULL);
    assert(len > 0 && strncmp(fuzz_answer, "HTTP/1.1 200 ", 13) == 0);
    close(fd);
}
