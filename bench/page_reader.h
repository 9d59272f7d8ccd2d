/* SPDX-License-Identifier: Apache-2.0
 *
 * page_reader.h - one thread that reads pages over kept-alive HTTP connections, as fast as they
 * come: each connection asks for its next page as soon as it has the last one.
 *
 * Owner: the benchmark.  Thread: one. */
#ifndef BENCH_PAGE_READER_H
#define BENCH_PAGE_READER_H

#include <stdbool.h>
#include <stddef.h>

#define PAGE_READER_CONNECTIONS 16

struct page_connection {
    int fd;
    char request[512]; /* asked next */
    size_t request_len;
    char reply[1 << 16];
    size_t len, wanted; /* bytes there, and to come in all; 0: not known yet */
    long page;          /* asked for */
};

/* Sets the next request; before the first one there is no reply, and it may ask what it needs to
 * know with page_connection_ask(). */
typedef void page_turn_fn(struct page_connection *connection);

struct page_reader {
    struct page_connection connections[PAGE_READER_CONNECTIONS];
    page_turn_fn *turn;
};

/* Connects to the port on loopback and sets the first requests. */
void page_reader_open(struct page_reader *reader, unsigned port, page_turn_fn *turn);
/* Pages per second. */
double page_reader_run(struct page_reader *reader, double seconds);
void page_reader_close(struct page_reader *reader);

void page_connection_set(struct page_connection *connection, const char *path, const char *body);
/* Sends the request and waits for the reply. */
void page_connection_ask(struct page_connection *connection);

#endif
