/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_client.h - one question to the running daemon, over its socket.
 *
 * Plain HTTP/1.1, one connection each; the call waits. An answer is taken whole or not at all: it
 * has at most SOCKET_ANSWER_MAX bytes, and one that breaks off is a failure.
 *
 * Thread: any; for commands, never for a loop. */
#ifndef CLI_SOCKET_CLIENT_H
#define CLI_SOCKET_CLIENT_H

#include "base/bytes.h"
#include "base/err.h"

#define SOCKET_ANSWER_MAX ((size_t)64 << 20)

struct socket_question {
    const char *method, *path;
    const char *body;     /* JSON; NULL: none */
    unsigned seconds_max; /* without a byte */
};

struct socket_answer {
    int status;
    struct text body;
};

/* RC_OK: somebody listens there. RC_AGAIN: nobody does. RC_REJECT: we may not ask. */
must_check enum rc socket_look(const char *path, struct err *err);
/* RC_OK: answered, whatever the status; the body is appended. RC_RETRY: the connection broke or
 * nothing came in time. */
must_check enum rc socket_ask(const char *path, const struct socket_question *question,
                              struct socket_answer *answer, struct err *err);

#endif
