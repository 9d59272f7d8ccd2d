/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_reset.h - forgetting a position while the program runs.
 *
 * A source keeps its position in memory and writes it with every unit, so a reset beneath it would
 * be overwritten. Therefore, in this order: a source that runs is stopped, what it has in hand is
 * committed; then the reset goes to the one writer; when it is durable the source is made anew and
 * begins as with a fresh store. Ended at any point, by a crash or a stop, either the reset is in
 * the store and the next start begins anew, or it is not and the next start goes on.
 *
 * One reset at a time. The asking thread waits for its outcome a bounded time; a reset it no longer
 * waits for is still made.
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_RESET_H
#define DAEMON_RESET_H

#include "store/reset_record.h"
#include "sys/batch_pool.h"
#include "sys/loop.h"

struct reset;

struct reset_ops {
    /* Stops what follows this source, if anything does. */
    void (*stop_source)(void *arg, const char *source);
    /* True when nothing follows it, or nothing of it is under way any more. */
    bool (*source_stopped)(void *arg, const char *source);
    /* The position is forgotten: makes it anew and starts it, if something followed it. */
    void (*restart_source)(void *arg, const char *source);
    enum rc (*submit)(void *arg, struct batch *batch);
};

struct reset *reset_new(struct loop *loop, struct batch_pool *pool, const struct reset_ops *ops,
                        void *arg);
/* After the outbox is freed. */
void reset_free(struct reset *reset);
/* The loop has ended: whoever waits is told so now, and nothing is begun any more. */
void reset_abandon(struct reset *reset);

/* Asks for a reset and waits for it, on any thread but the loop's; `stream` NULL: all streams.
 * RC_OK: it is durable. RC_AGAIN: another one is under way. RC_RETRY: not done within the time, it
 * may still be made. */
must_check enum rc reset_ask(struct reset *reset, const char *source, const char *stream,
                             int64_t wait_us, struct err *err);

#endif
