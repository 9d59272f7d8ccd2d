/* SPDX-License-Identifier: Apache-2.0
 *
 * http_peer.h - the client's end of a connection, whose every byte the test decides.
 *
 * Reading blocks until the answer is whole; a server that does not answer fails the test by the
 * socket's own time limit. */
#ifndef TESTS_HTTP_PEER_H
#define TESTS_HTTP_PEER_H

#include "base/bytes.h"

#include <sys/types.h>

struct http_peer {
    int fd;
    struct text in; /* what came and was not taken yet */
};

struct http_answer {
    int status; /* 0: the connection ended before an answer */
    struct text head, body;
};

void http_peer_connect(struct http_peer *peer, unsigned port);
void http_peer_connect_unix(struct http_peer *peer, const char *path);
void http_peer_close(struct http_peer *peer);
void http_peer_send(struct http_peer *peer, const void *data, size_t len);
void http_peer_say(struct http_peer *peer, const char *words);
/* POST of a JSON body, or GET when `body` is NULL. */
void http_peer_ask(struct http_peer *peer, const char *path, const char *body);
/* What recv() says, without giving up when the kernel interrupts it: a socket with a time limit is
 * not restarted, and a loop that uses io_uring interrupts its thread often. */
ssize_t http_peer_receive(struct http_peer *peer, char *to, size_t len);
/* `head_only`: the answer to a HEAD. The answer is emptied first; free it with http_answer_free. */
void http_peer_read(struct http_peer *peer, struct http_answer *answer, bool head_only);
/* Whether the server ends the connection without another answer. */
bool http_peer_ended(struct http_peer *peer);
void http_answer_free(struct http_answer *answer);

#endif
