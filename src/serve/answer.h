/* SPDX-License-Identifier: Apache-2.0
 *
 * answer.h - an answered request as bytes on its connection.
 *
 * Thread: the serving loop. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "serve/request.h"

#include <microhttpd.h>

/* Hands the reply to the library, which sends it; MHD_NO: the connection is to be closed. */
enum MHD_Result answer_send(struct request *request);

#endif
