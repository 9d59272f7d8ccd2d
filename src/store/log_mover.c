/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_mover.h"

#include "store/store.h"
#include "sys/log.h"
#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>

#define MOVES_MAX 8 /* in a row */

struct log_mover {
    struct store *store;
    struct queue *calls; /* of one place: who is awake need not be woken twice */
    struct thread *thread;
};

static void move(struct log_mover *mover)
{
    struct err err;
    bool whole = false;
    enum rc rc = RC_OK;
    for (int i = 0; i < MOVES_MAX && rc == RC_OK && !whole; i++)
        rc = mover->store->ops->move_log(mover->store, &whole, &err);
    if (rc != RC_OK && rc != RC_AGAIN)
        log_event_limited(LOG_WARN, "store", "log_not_moved",
                          (struct log_field[]){log_string("reason", err.text),
                                               log_string("next", "the writer moves it"), LOG_END});
}

static void move_until_closed(void *arg)
{
    struct log_mover *mover = arg;
    while (queue_pop(mover->calls, QUEUE_FOR_EVER) != NULL)
        move(mover);
}

struct log_mover *log_mover_start(const struct store *store)
{
    struct store *own;
    struct err err;
    assert((store->ops->move_log == NULL) == (store->ops->log_is_due == NULL));
    if (store->ops->move_log == NULL)
        return NULL;
    if (store_open(store->url, STORE_MOVE, &own, &err) != RC_OK) {
        log_event(LOG_WARN, "store", "log_not_moved",
                  (struct log_field[]){log_string("reason", err.text),
                                       log_string("next", "the writer moves it"), LOG_END});
        return NULL;
    }
    struct log_mover *mover = memory_new_zeroed(1, sizeof *mover);
    mover->store = own;
    mover->calls = queue_new(1);
    mover->thread = thread_start("log-mover", move_until_closed, mover);
    return mover;
}

void log_mover_wake(struct log_mover *mover)
{
    enum rc rc = queue_push(mover->calls, mover);
    assert(rc == RC_OK || rc == RC_AGAIN);
}

void log_mover_stop(struct log_mover *mover)
{
    if (mover == NULL)
        return;
    queue_close(mover->calls);
    thread_join(mover->thread);
    queue_free(mover->calls);
    store_close(mover->store);
    free(mover);
}
