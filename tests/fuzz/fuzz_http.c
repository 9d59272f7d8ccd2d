/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes on a connection of the server: what it answers is HTTP, with a status it documents, and
 * never a word of the store; and it goes on serving others.
 *
 * The first byte says which listener is spoken to and in how many pieces. Behind the bytes comes a
 * request that ends the connection; where the bytes have eaten it, that nothing follows does. */
#include "fuzz_server.h"
#include "fuzz_turns.h"

#include <unistd.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PIECES_MAX  4
#define REFUSAL     "{\"success\":false,\"code\":"
#define INTERNAL    REFUSAL "\"INTERNAL\""
#define UNAVAILABLE REFUSAL "\"UNAVAILABLE\""

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char last[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static void speak(int fd, const uint8_t *data, size_t size, size_t pieces)
{
    bool heard = true;
    for (size_t i = 0; i < pieces && heard; i++) {
        size_t from = size * i / pieces, to = size * (i + 1) / pieces;
        heard = fuzz_speak(fd, data + from, to - from);
        if (i + 1 < pieces)
            fuzz_turns_run();
    }
    if (heard)
        fuzz_speak(fd, last, strlen(last));
    fuzz_hush(fd);
}

static void check(size_t len)
{
    static const char statuses[] =
        "101 200 204 304 400 401 403 404 405 409 410 411 413 414 426 429 431 501 505";
    char status[4];
    if (len == 0)
        return;
    assert(len > 12 && memcmp(fuzz_answer, "HTTP/1.", 7) == 0);
    snprintf(status, sizeof status, "%.3s", fuzz_answer + 9);
    if (strstr(statuses, status) == NULL)
        fprintf(stderr, "%s\n", fuzz_answer);
    assert(strstr(statuses, status) != NULL);
    /* What the store says about a statement it refuses ends in one of these; the list of all codes
     * has them, too. */
    assert(memmem(fuzz_answer, len, INTERNAL, strlen(INTERNAL)) == NULL);
    assert(memmem(fuzz_answer, len, UNAVAILABLE, strlen(UNAVAILABLE)) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_server_start();
    if (size == 0)
        return 0;
    int fd = fuzz_dial((data[0] & 1) != 0);
    speak(fd, data + 1, size - 1, 1 + data[0] / 2 % PIECES_MAX);
    check(fuzz_listen(fd, NULL, NULL));
    close(fd);
    fuzz_look_after();
    return 0;
}
