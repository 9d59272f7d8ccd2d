/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/seq_wait.h"

#include <assert.h>
#include <stdlib.h>

#define LOOK_US INT64_C(250000) /* another daemon's commits ring no bell here */

struct seq_waits {
    struct runtime *runtime;
    struct timer timer;
    struct request *waiting[SEQ_WAITS_MAX];
    size_t count;
    bool stopped;
};

static int64_t now_us(const struct seq_waits *waits)
{
    return waits->runtime->ops->mono_us(waits->runtime);
}

static void refuse(struct request *request, bool stopped)
{
    const struct err said = request->refusal.err;
    if (stopped)
        refusal_set(&request->refusal, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
    else
        refusal_set(&request->refusal, REFUSAL_BEHIND, "%s; it was waited for %d s", said.text,
                    (int)(SEQ_WAIT_US_MAX / 1000000));
    request->route->finish(request);
    request_resume(request);
}

/* Everybody's turn: who is tried again comes back, if need be, when the work was done. */
static void look(void *arg)
{
    struct seq_waits *waits = arg;
    struct request *turn[SEQ_WAITS_MAX];
    size_t count = waits->count;
    int64_t now = now_us(waits);
    for (size_t i = 0; i < count; i++)
        turn[i] = waits->waiting[i];
    waits->count = 0;
    waits->runtime->ops->timer_disarm(waits->runtime, &waits->timer);
    for (size_t i = 0; i < count; i++) {
        if (waits->stopped || now >= turn[i]->behind_until_us)
            refuse(turn[i], waits->stopped);
        else
            request_read(turn[i]);
    }
}

struct seq_waits *seq_waits_new(struct runtime *runtime)
{
    struct seq_waits *waits = memory_new_zeroed(1, sizeof *waits);
    waits->runtime = runtime;
    waits->timer = (struct timer){.fn = look, .arg = waits};
    return waits;
}

void seq_waits_free(struct seq_waits *waits)
{
    assert(waits->count == 0);
    free(waits);
}

bool seq_waits_take(struct seq_waits *waits, struct request *request)
{
    if (request->job.rc != RC_REJECT || request->refusal.code != REFUSAL_BEHIND || waits->stopped ||
        waits->count == SEQ_WAITS_MAX)
        return false;
    if (request->behind_until_us == 0)
        request->behind_until_us = now_us(waits) + SEQ_WAIT_US_MAX;
    request->parked = true;
    waits->waiting[waits->count++] = request;
    if (waits->count == 1)
        waits->runtime->ops->timer_arm(waits->runtime, &waits->timer, LOOK_US);
    return true;
}

void seq_waits_note_commit(struct seq_waits *waits)
{
    if (waits->count > 0)
        look(waits);
}

void seq_waits_stop(struct seq_waits *waits)
{
    waits->stopped = true;
    look(waits);
}
