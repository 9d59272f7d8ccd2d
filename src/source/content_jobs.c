/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Until a document must be whole, when no position waits for it. */
#define ALONE_US_MAX INT64_C(600000000)

/* And when one does: a minute; less when no more blocks can be read because of it. Gateways that
 * work take less, and what is owed is tried again with all the time it wants. */
static const struct watermark_patience patience = {.open_us = INT64_C(60000000),
                                                   .crowded_us = INT64_C(15000000)};

/* ---- what is owed, as the store has it ---- */

static void take_owed(void *arg, const struct lookup_answer *answer)
{
    struct content *content = arg;
    content->loading = false;
    for (size_t i = 0; i < answer->rows; i++)
        owed_load_row(&content->owed, answer->fields + i * answer->columns, answer->columns);
    owed_load_end(&content->owed, answer->rc == RC_OK);
    if (!content->stopping)
        content_pump(content);
}

static void load_owed(struct content *content)
{
    struct field params[OWED_LOAD_PARAMS];
    if (content->loading || !owed_wants_load(&content->owed))
        return;
    owed_load_begin(&content->owed, params);
    content->loading = content->env.ask(content->env.ask_arg, owed_load_sql, params,
                                        OWED_LOAD_PARAMS, take_owed, content) == RC_OK;
    if (!content->loading)
        owed_load_end(&content->owed, false);
}

/* ---- jobs ---- */

void content_job_free(struct job *job)
{
    struct content *content = job->content;
    struct runtime *runtime = content->env.runtime;
    assert(job->place != JOB_FREE);
    runtime->ops->timer_disarm(runtime, &job->late);
    text_free(&job->document);
    content->large -= job->large;
    *(job->place == JOB_RUNNING ? &content->running : &content->held) -= 1;
    job->place = JOB_FREE;
    job->failure_count = 0;
}

/* Its result waits for a batch; another fetch may begin meanwhile. */
static void hold(struct job *job)
{
    struct runtime *runtime = job->content->env.runtime;
    runtime->ops->timer_disarm(runtime, &job->late);
    job->place = JOB_HELD;
    job->content->running--;
    job->content->held++;
}

static bool has_place(const struct content *content)
{
    return content->running < content->settings.concurrency &&
           content->running + content->held <
               CONTENT_JOBS_PER_FETCH * content->settings.concurrency;
}

static void take_outcome(void *arg, const struct content_outcome *outcome)
{
    struct job *job = arg;
    job->rc = outcome->rc;
    job->err = outcome->err;
    if (outcome->rc == RC_OK) {
        job->document = *outcome->content;
        *outcome->content = (struct text){0};
    } else if (outcome->rc == RC_RETRY) {
        job->rest_us = outcome->blocked->rest_us;
        job->failure_count = outcome->blocked->failure_count;
        memcpy(job->failures, outcome->blocked->failures,
               job->failure_count * sizeof *job->failures);
    }
    hold(job);
    content_pump(job->content);
}

static void give_up(struct job *job)
{
    struct gateway_failure *failure = &job->failures[0];
    content_fetch_cancel(&job->fetch);
    *failure = (struct gateway_failure){"gateways", RETRY_TRANSIENT, ""};
    snprintf(failure->reason, sizeof failure->reason, "not whole within %" PRId64 " s",
             (content_mono(job->content) - job->began_us) / 1000000);
    job->failure_count = 1;
    job->rest_us = -1;
    job->rc = RC_RETRY;
    hold(job);
}

static void end_late(void *arg)
{
    struct job *job = arg;
    give_up(job);
    content_pump(job->content);
}

/* When the fetch has to end so that the position can pass; false: the position waits for others. */
static bool owe_at(const struct job *job, int64_t *at_us)
{
    const struct content *content = job->content;
    if (job->need == CONTENT_NONE)
        return false;
    uint32_t at = content->needs[job->need].waiters;
    for (; at != CONTENT_NONE; at = content->waiters[at].next)
        if (watermark_owe_at(&content->watermark, &content->waiters[at].ticket, job->began_us,
                             &patience, at_us))
            return true;
    return false;
}

static struct job *begin_job(struct content *content, const char *uri, uint64_t block)
{
    struct job *job = content->jobs;
    while (job->place != JOB_FREE)
        job++;
    assert(job < content->jobs + CONTENT_JOBS_MAX);
    *job = (struct job){
        .place = JOB_RUNNING, .content = content, .need = CONTENT_NONE, .block = block};
    snprintf(job->uri, sizeof job->uri, "%s", uri);
    content->running++;
    return job;
}

/* Lets those that wait for it be large, as many as may be. */
static void let_grow(struct content *content)
{
    uint32_t left = content->running;
    for (struct job *job = content->jobs; left > 0 && content->large < CONTENT_LARGE_MAX; job++) {
        if (job->place != JOB_RUNNING)
            continue;
        left--;
        if (!job->fetch.waits)
            continue;
        job->large = true;
        content->large++;
        content_fetch_grow(&job->fetch);
    }
}

static void on_large(void *arg)
{
    const struct job *job = arg;
    let_grow(job->content);
}

static void begin_fetch(struct job *job, struct content_wish *wish)
{
    struct content *content = job->content;
    struct runtime *runtime = content->env.runtime;
    wish->grows = on_large;
    job->began_us = content_mono(content);
    job->late = (struct timer){.fn = end_late, .arg = job};
    runtime->ops->timer_arm(runtime, &job->late, ALONE_US_MAX);
    content_fetch_begin(&job->fetch, content->gateways, wish, take_outcome, job);
}

/* Where its document lies behind the address. */
static struct bytes path_of(const struct job *job)
{
    size_t scheme = sizeof IPFS_URI_SCHEME - 1;
    return ipfs_uri_path(bytes_of(job->canonical + scheme));
}

static void begin_need(struct content *content, uint32_t index)
{
    struct need *need = &content->needs[index];
    struct job *job = begin_job(content, need->uri, need->block);
    need->place = NEED_FETCHING;
    job->need = index;
    memcpy(job->canonical, need->canonical, sizeof job->canonical);
    begin_fetch(job,
                &(struct content_wish){need->cid, path_of(job), CONTENT_DOCUMENT_MAX, 0, NULL});
}

/* Gateways that called it hopeless need not be asked again. */
static uint32_t refusals_of(const struct content *content, const struct owed_item *item)
{
    const struct failover *group = gateways_group(content->gateways);
    uint32_t mask = 0;
    for (int i = 0; i < group->count; i++)
        if (owed_refused_by(item, group->providers[i].name))
            mask |= 1U << i;
    return mask;
}

static void begin_retry(struct content *content, const struct owed_item *item,
                        struct owed_ticket ticket)
{
    struct bytes unit = bytes_of(item->unit);
    uint32_t without = refusals_of(content, item);
    uint64_t block = 0;
    struct cid cid;
    if (unit.len > 0 && !bytes_to_u64(unit, &block))
        block = 0;
    struct job *job = begin_job(content, item->item, block);
    job->retry = ticket;
    if (!content_spell(job->uri, &cid, job->canonical, &job->err)) {
        job->rc = RC_REJECT; /* people may have it tried again whatever it is */
        hold(job);
        return;
    }
    begin_fetch(job,
                &(struct content_wish){cid, path_of(job), CONTENT_DOCUMENT_MAX, without, NULL});
}

/* Sleeps until the next retry is due, or is to be looked at again. One that is due has no place
 * yet: there will be one when another retry ends, and nothing comes of looking for it before. */
static void set_alarm(struct content *content)
{
    struct runtime *runtime = content->env.runtime;
    int64_t at_us, now_us = content_wall(content);
    if (owed_next_us(&content->owed, &at_us) && at_us > now_us)
        runtime->ops->timer_arm(runtime, &content->wake,
                                at_us - now_us < OWED_DELAY_US_MAX ? at_us - now_us
                                                                   : OWED_DELAY_US_MAX);
}

/* Gives up on what the position has waited for long enough, so that it becomes owed; true if there
 * was any. Wakes up for the next. */
static bool owe_late(struct content *content)
{
    struct runtime *runtime = content->env.runtime;
    int64_t at_us, next_us = INT64_MAX, now_us = content_mono(content);
    uint32_t left = content->running, before = content->held;
    for (struct job *job = content->jobs; left > 0; job++) {
        if (job->place != JOB_RUNNING)
            continue;
        left--;
        if (!owe_at(job, &at_us))
            continue;
        if (at_us <= now_us)
            give_up(job);
        else if (at_us < next_us)
            next_us = at_us;
    }
    if (next_us < INT64_MAX)
        runtime->ops->timer_arm(runtime, &content->owe, next_us - now_us);
    else
        runtime->ops->timer_disarm(runtime, &content->owe);
    return content->held > before;
}

static void begin_jobs(struct content *content)
{
    struct owed_ticket ticket;
    while (has_place(content)) {
        uint32_t idle = content->settings.concurrency - content->running;
        const struct owed_item *item = owed_take(
            &content->owed, idle, (uint32_t)content->waiting.count, content_wall(content), &ticket);
        if (item != NULL) {
            begin_retry(content, item, ticket);
            continue;
        }
        uint32_t index = content_list_take(content, &content->waiting);
        if (index == CONTENT_NONE)
            break;
        begin_need(content, index);
    }
}

void content_jobs_pump(struct content *content)
{
    load_owed(content);
    let_grow(content);
    do
        begin_jobs(content);
    while (owe_late(content));
    if (has_place(content))
        set_alarm(content);
}

void content_jobs_stop(struct content *content)
{
    struct runtime *runtime = content->env.runtime;
    for (struct job *job = content->jobs; content->running + content->held > 0; job++) {
        if (job->place == JOB_RUNNING)
            content_fetch_cancel(&job->fetch);
        if (job->place != JOB_FREE)
            content_job_free(job);
    }
    runtime->ops->timer_disarm(runtime, &content->wake);
    runtime->ops->timer_disarm(runtime, &content->owe);
    runtime->ops->timer_disarm(runtime, &content->check_again);
}
