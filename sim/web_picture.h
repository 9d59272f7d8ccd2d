/* SPDX-License-Identifier: Apache-2.0
 *
 * web_picture.h - pictures that the simulator draws, and what strangers send in place of one.
 *
 * A picture follows from its number: two colours and a wave, a PNG of some hundred bytes. */
#ifndef SIM_WEB_PICTURE_H
#define SIM_WEB_PICTURE_H

#include "sim/http_server.h"

/* GET /picture/KIND/ID, and /img/... as where a network keeps the pictures of posts. */
http_handler_fn web_picture_get, web_picture_thumb;

/* Answers with the picture of that number. */
void web_picture_reply(struct http_exchange *exchange, uint32_t id);

#endif
