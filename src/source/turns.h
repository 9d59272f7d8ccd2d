/* SPDX-License-Identifier: Apache-2.0
 *
 * turns.h - requests to hosts that strangers named: each host at its pace, and so many at once.
 *
 *   turn_wait -> waits for its host -> queued for a place -> `ask` is called -> turn_send
 *
 * Always holds: those whose host is ready ask in the order in which it became so, and no more
 * places are taken than there are. A place is given back by whoever took it, when nothing of the
 * answer is in hand any more.
 *
 * Owner: whoever asks; turns and what they are of stay where they were made ready.  Thread: the
 * owner's. */
#ifndef SOURCE_TURNS_H
#define SOURCE_TURNS_H

#include "base/err.h"
#include "source/cards_pace.h"
#include "sys/runtime.h"

struct turns;

typedef void turn_fn(void *arg);

/* One request, again and again. */
struct turn {
    struct turns *turns;
    struct timer timer;     /* until its host may be asked */
    struct turn *next;      /* behind it in the queue */
    struct http_call *call; /* NULL: nothing was sent, or it was answered */
    void *arg;
};

struct turns {
    struct runtime *runtime;
    struct cards_pace pace;
    turn_fn *ask; /* of a turn that has come, by its `arg`; calls turn_send() */
    struct turn *first, **end;
    uint32_t taken, places;
};

void turns_init(struct turns *turns, struct runtime *runtime, turn_fn *ask, uint32_t places,
                int64_t per_host_us);
void turn_init(struct turn *turn, struct turns *turns, void *arg);

/* RC_OK: it waits for its turn at the host of `address`. RC_REJECT: that is no address. RC_AGAIN:
 * the turn is further away than `ahead_us`; come back in `wait_us`. */
must_check enum rc turn_wait(struct turn *turn, struct bytes address, int64_t ahead_us,
                             int64_t *wait_us, struct err *err);
/* Takes a place and asks; `done` gets the turn's `arg` and calls turn_answered() first. */
void turn_send(struct turn *turn, const struct http_request *request, http_done_fn *done);
void turn_answered(struct turn *turn);
/* It waits for nothing any more, and nobody is told of an answer. Its place stays taken. */
void turn_stop(struct turn *turn);

/* A place is taken for another reason; it is free again, and who waits for one may have it. */
void turns_take_place(struct turns *turns);
void turns_give_place(struct turns *turns);
/* Lets those ask whose turn has come, as far as there are places. */
void turns_go_on(struct turns *turns);
/* The host of `address` is not asked for so long. */
void turns_pause(struct turns *turns, struct bytes address, int64_t wait_us);

#endif
