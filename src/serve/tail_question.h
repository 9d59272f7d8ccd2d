/* SPDX-License-Identifier: Apache-2.0
 *
 * tail_question.h - from which commit on a client wants to follow which query.
 *
 * However the question came - as a command, as a subscription, as the address of a stream - it is
 * answered alike: the query is looked up on a reader's thread, and what it sees becomes a tail.
 *
 * Owner: whoever asks.  Thread: the serving loop, but for the look-up. */
#ifndef SERVE_TAIL_QUESTION_H
#define SERVE_TAIL_QUESTION_H

#include "query/handle_ask.h"
#include "serve/tail_hub.h"

#define TAIL_WAIT_MS_MAX 60000

struct tail_question {
    struct handle_question handle;
    struct handle_state state; /* once it was looked up */
    bool has_since;
    int64_t since;   /* told up to this commit; left out: the one of the open */
    int64_t wait_ms; /* for something to change; 0: not at all */
};

/* Reads {queryHandle, since?, wait?}; false: see the request's refusal. */
must_check bool tail_question_parse(struct tail_question *question, struct request *request,
                                    struct json params);
/* The same from its parts; `since` may be absent. */
must_check bool tail_question_set(struct tail_question *question, struct request *request,
                                  struct bytes handle, struct bytes since);
void tail_question_free(struct tail_question *question);
must_check enum rc tail_question_look_up(struct tail_question *question, struct store *store,
                                         struct refusal *refusal, struct err *err);
/* After the look-up: what it sees becomes the follower's tail, which is watched from now on and
 * away; the question has nothing to free any more. False: the request is answered, it may not. */
must_check bool tail_question_follow(struct tail_question *question, struct request *request,
                                     struct follower *follower);

#endif
