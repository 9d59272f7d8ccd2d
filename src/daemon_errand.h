/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_errand.h - something that another thread has the ingest loop do, and waits for.
 *
 * One at a time: who takes it may say what is to be done, and has it run. It waits for the outcome
 * a bounded time; an errand it no longer waits for is still run, and makes room when it is done.
 *
 * Owner: whoever runs it.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_ERRAND_H
#define DAEMON_ERRAND_H

#include "base/err.h"
#include "sys/loop.h"

#define ERRAND_WORDS_MAX 2049 /* a DID fits, with its NUL */

/* What an errand may answer beside its outcome; filled in before it is finished. */
struct errand_answer {
    char words[ERRAND_WORDS_MAX];
    int64_t number;
};

struct errand {
    struct loop *loop;
    const char *name; /* "reset" */
    loop_fn *begin;
    void *arg;
    struct queue *idle; /* holds the errand itself while none is under way: who pops it may ask */
    struct queue *outcomes;
    enum rc outcome;
    struct err why; /* of an outcome that is not RC_OK */
    struct errand_answer answer;
    bool abandoned;
};

/* `begin(arg)` is called on the loop and sees to it that errand_finish() is, once. */
void errand_init(struct errand *errand, struct loop *loop, const char *name, loop_fn *begin,
                 void *arg);
void errand_deinit(struct errand *errand);
/* The loop has ended: whoever waits is told so now, and nothing is begun any more. */
void errand_abandon(struct errand *errand);
void errand_finish(struct errand *errand, enum rc rc);

/* Any thread but the loop's. RC_OK: it is the caller's, who fills in what is to be done and runs
 * it. RC_AGAIN: another one is under way. */
must_check enum rc errand_take(struct errand *errand, struct err *err);
/* Of a taken one. RC_RETRY: not done within the time, it may still be; else its outcome, and
 * `answer`, unless it is NULL, is what it answered. */
must_check enum rc errand_run(struct errand *errand, int64_t wait_us, struct errand_answer *answer,
                              struct err *err);

#endif
