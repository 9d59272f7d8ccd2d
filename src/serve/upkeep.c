/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/upkeep.h"

#include "query/handle_shelf.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define LOOK_US   INT64_C(1000000)
#define EXPIRE_US INT64_C(10000000)
#define RENEWALS  4 /* in the time in which a handle would expire */

enum task { TASK_END_SESSION, TASK_RENEW, TASK_EXPIRE };

struct upkeep {
    struct reader_job job;
    struct runtime *runtime;
    struct handles *handles;
    struct reader_pool *readers;
    struct tail_watches *watches;
    struct timer look;
    bool under_way, stopping;
    int64_t expire_at_us; /* the next time; monotonic */
    enum task task;
    uint8_t session[HANDLE_SESSION_SIZE]; /* that ended */
    int64_t since_us;                     /* not used since then: expired */
    size_t removed;
    int64_t used_us; /* by those who follow */
    uint8_t used[SHELF_SLICE_MAX][HANDLE_NAME_SIZE];
    size_t used_count;
};

/* ---- at the start ---- */

static enum rc count_shelf(struct handles *handles, const char *store_url, struct err *err)
{
    struct store *beside;
    int64_t count;
    enum rc rc = store_open(store_url, STORE_BESIDE, &beside, err);
    if (rc == RC_OK)
        rc = shelf_count(beside, &count, err);
    if (rc == RC_OK)
        handles_set_kept(handles, count);
    store_close(beside);
    return rc;
}

void upkeep_prepare(struct handles *handles, const char *store_url)
{
    struct err err;
    bool anew;
    enum rc rc = store_mend_beside(store_url, &anew, &err);
    if (rc == RC_OK && anew)
        log_event(LOG_WARN, "serve", "handles_lost",
                  (struct log_field[]){log_string("reason", "their file was damaged, or the store "
                                                            "was put back to an earlier state"),
                                       LOG_END});
    if (rc == RC_OK)
        rc = count_shelf(handles, store_url, &err);
    if (rc != RC_OK)
        log_event(LOG_WARN, "serve", "handles_not_at_hand",
                  (struct log_field[]){log_string("reason", err.text), LOG_END});
}

/* ---- on a reader's thread ---- */

static enum rc renew(const struct upkeep *upkeep, struct store *beside, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < upkeep->used_count && rc == RC_OK; i++)
        rc = shelf_touch(beside, upkeep->used[i], upkeep->used_us, err);
    return rc;
}

static enum rc work(struct reader_job *job, struct store *store, struct err *err)
{
    struct upkeep *upkeep = (struct upkeep *)job;
    struct store *beside;
    enum rc rc = store_beside(store, &beside, err);
    if (rc != RC_OK)
        return rc;
    if (upkeep->task == TASK_END_SESSION)
        return shelf_end_session(beside, upkeep->session, &upkeep->removed, err);
    if (upkeep->task == TASK_RENEW)
        return renew(upkeep, beside, err);
    return shelf_expire(beside, upkeep->since_us, &upkeep->removed, err);
}

/* ---- on the loop ---- */

static void submit(struct upkeep *upkeep, enum task task)
{
    upkeep->task = task;
    upkeep->removed = 0;
    upkeep->under_way = reader_pool_submit(upkeep->readers, &upkeep->job) == RC_OK;
}

/* Whether somebody follows a handle that it is time to renew. */
static bool gather_used(struct upkeep *upkeep, int64_t wall_us)
{
    int64_t since_us = wall_us - handles_limits(upkeep->handles)->idle_us / RENEWALS;
    upkeep->used_us = wall_us;
    upkeep->used_count =
        tail_watches_renew(upkeep->watches, since_us, wall_us, upkeep->used, SHELF_SLICE_MAX);
    return upkeep->used_count > 0;
}

/* What is to be done now, if anything. */
static void do_next(struct upkeep *upkeep)
{
    struct runtime *runtime = upkeep->runtime;
    int64_t wall_us = runtime->ops->wall_us(runtime), mono_us = runtime->ops->mono_us(runtime);
    if (session_take_ended(upkeep->handles, wall_us, upkeep->session)) {
        tail_watches_end_session(upkeep->watches, upkeep->session);
        submit(upkeep, TASK_END_SESSION);
    } else if (gather_used(upkeep, wall_us)) {
        submit(upkeep, TASK_RENEW);
    } else if (mono_us >= upkeep->expire_at_us) {
        upkeep->expire_at_us = mono_us + EXPIRE_US;
        upkeep->since_us = wall_us - handles_limits(upkeep->handles)->idle_us;
        handles_drop_idle(upkeep->handles, wall_us);
        submit(upkeep, TASK_EXPIRE);
    }
}

static void look(void *arg)
{
    struct upkeep *upkeep = arg;
    struct runtime *runtime = upkeep->runtime;
    if (!upkeep->under_way)
        do_next(upkeep);
    runtime->ops->timer_arm(runtime, &upkeep->look, LOOK_US);
}

static void note(struct upkeep *upkeep)
{
    if (upkeep->task == TASK_END_SESSION)
        handles_note_closed(upkeep->handles, upkeep->removed);
    else if (upkeep->task == TASK_EXPIRE)
        handles_note_expired(upkeep->handles, upkeep->removed);
}

bool upkeep_takes(struct upkeep *upkeep, struct reader_job *job)
{
    if (job != &upkeep->job)
        return false;
    upkeep->under_way = false;
    if (job->rc == RC_OK)
        note(upkeep);
    else if (!upkeep->stopping)
        log_event_limited(LOG_WARN, "serve", "handles_not_kept_up",
                          (struct log_field[]){log_string("reason", job->err.text), LOG_END});
    /* A full slice has a successor; one that failed waits for the next look. */
    if (upkeep->stopping)
        return true;
    if (job->rc == RC_OK && upkeep->removed == SHELF_SLICE_MAX)
        submit(upkeep, upkeep->task);
    else if (job->rc == RC_OK)
        do_next(upkeep);
    return true;
}

struct upkeep *upkeep_start(struct runtime *runtime, struct handles *handles,
                            struct reader_pool *readers, struct tail_watches *watches)
{
    struct upkeep *upkeep = memory_new_zeroed(1, sizeof *upkeep);
    upkeep->job.work = work;
    upkeep->runtime = runtime;
    upkeep->handles = handles;
    upkeep->readers = readers;
    upkeep->watches = watches;
    upkeep->look = (struct timer){.fn = look, .arg = upkeep};
    look(upkeep);
    return upkeep;
}

void upkeep_stop(struct upkeep *upkeep)
{
    upkeep->stopping = true;
    upkeep->runtime->ops->timer_disarm(upkeep->runtime, &upkeep->look);
}

void upkeep_free(struct upkeep *upkeep)
{
    assert(!upkeep->under_way);
    free(upkeep);
}
