/* SPDX-License-Identifier: Apache-2.0
 *
 * answer.h - an answered request as bytes on its connection.
 *
 * A large answer is made smaller before it is sent, if the client asks for that, on a thread of its
 * own: nobody else waits meanwhile.
 *
 * Thread: the serving loop, but for that. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "serve/request.h"

#include <microhttpd.h>

/* Notes how much memory the reply takes until the request ends. */
void answer_count(struct request *request);
/* Whether somebody makes the reply of an answered request smaller now, and calls `done` then. */
bool answer_pack(struct request *request, worker_done_fn *done);
/* Hands the reply to the library, which sends it; MHD_NO: the connection is to be closed. */
enum MHD_Result answer_send(struct request *request);

#endif
