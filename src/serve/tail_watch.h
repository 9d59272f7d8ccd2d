/* SPDX-License-Identifier: Apache-2.0
 *
 * tail_watch.h - who is told of changes unasked, by which right, and what ends that.
 *
 * A tail is watched from the answer that begins it to its end, whether or not its client keeps up.
 * It ends, with a refusal, when its token is taken back, when its session ends, when its query is
 * closed and when the daemon stops. As long as it is watched its handle is in use and does not
 * expire.
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_TAIL_WATCH_H
#define SERVE_TAIL_WATCH_H

#include "serve/request.h"
#include "serve/tail_hub.h"

struct gate;
struct tail_watches;

struct tail_watches *tail_watches_new(struct tail_hub *hub);
/* None is watched any more. */
void tail_watches_free(struct tail_watches *watches);

/* By the right of the request that began it; `handle` is used at `now_us`. */
void tail_watch_begin(struct tail_watches *watches, struct follower *follower,
                      const struct request *request, const uint8_t handle[HANDLE_NAME_SIZE],
                      int64_t now_us);
/* It may have ended already. */
void tail_watch_end(struct follower *follower);

/* There are other tokens. */
void tail_watches_check(struct tail_watches *watches, const struct gate *gate);
void tail_watches_end_session(struct tail_watches *watches,
                              const uint8_t session[HANDLE_SESSION_SIZE]);
void tail_watches_end_handle(struct tail_watches *watches, const uint8_t handle[HANDLE_NAME_SIZE]);
/* All of them, those whose clients are slow and whom the hub does not know, too. */
void tail_watches_stop(struct tail_watches *watches);
/* Renews at `now_us` those not renewed since `since_us`; returns how many, at most `max`. */
size_t tail_watches_renew(struct tail_watches *watches, int64_t since_us, int64_t now_us,
                          uint8_t (*handles)[HANDLE_NAME_SIZE], size_t max);

#endif
