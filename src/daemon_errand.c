/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_errand.h"

#include "sys/thread_queue.h"

#include <assert.h>

void errand_init(struct errand *errand, struct loop *loop, const char *name, loop_fn *begin,
                 void *arg)
{
    *errand = (struct errand){.loop = loop,
                              .name = name,
                              .begin = begin,
                              .arg = arg,
                              .idle = queue_new(1),
                              .outcomes = queue_new(1)};
    enum rc rc = queue_push(errand->idle, errand);
    assert(rc == RC_OK);
}

void errand_deinit(struct errand *errand)
{
    queue_pop(errand->idle, 0);
    queue_pop(errand->outcomes, 0);
    queue_free(errand->idle);
    queue_free(errand->outcomes);
}

void errand_abandon(struct errand *errand)
{
    errand->abandoned = true;
    queue_close(errand->idle);
    queue_close(errand->outcomes);
}

/* The outcome is for the one who asked; when that one has left, it makes room for the next. */
void errand_finish(struct errand *errand, enum rc rc)
{
    errand->outcome = rc;
    enum rc pushed = queue_push(errand->outcomes, errand);
    if (pushed != RC_OK) /* closed: nobody waits any more */
        assert(errand->abandoned);
}

/* One that nobody waited for any more may have ended meanwhile. */
enum rc errand_take(struct errand *errand, struct err *err)
{
    if (queue_pop(errand->idle, 0) != NULL || queue_pop(errand->outcomes, 0) != NULL)
        return RC_OK;
    return err_set(err, RC_AGAIN, "another %s is under way", errand->name);
}

enum rc errand_run(struct errand *errand, int64_t wait_us, struct errand_answer *answer,
                   struct err *err)
{
    enum rc rc = loop_post(errand->loop, errand->begin, errand->arg);
    if (rc != RC_OK) {
        rc = queue_push(errand->idle, errand);
        assert(rc == RC_OK); /* there was room: we took it from there */
        return err_set(err, RC_AGAIN, "the daemon has no time for it");
    }
    if (queue_pop(errand->outcomes, wait_us) == NULL)
        return err_set(err, RC_RETRY,
                       queue_is_closed(errand->outcomes)
                           ? "the daemon is stopping: the %s may or may not be made"
                           : "the store is not being written now: the %s is made once it is",
                       errand->name);
    rc = errand->outcome;
    if (rc != RC_OK)
        *err = errand->why;
    if (answer != NULL)
        *answer = errand->answer;
    enum rc pushed = queue_push(errand->idle, errand);
    if (pushed != RC_OK)
        assert(queue_is_closed(errand->idle));
    return rc;
}
