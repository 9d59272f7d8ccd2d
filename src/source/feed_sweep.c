/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_sweep_parts.h"

#include "sys/crashpoint.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX  3
#define FILTER_WIDE "posts_with_replies"
#define FEED_METHOD "app.bsky.feed.getAuthorFeed"
#define WHO_METHOD  "app.bsky.actor.getProfile"

static void ask_page(struct feed_sweep *sweep);

/* ---- waiting, batches, the writer ---- */

static int64_t now_of(const struct feed_sweep *sweep)
{
    struct runtime *runtime = sweep->env->source->runtime;
    return runtime->ops->wall_us(runtime);
}

static void wake(void *arg)
{
    struct feed_sweep *sweep = arg;
    if (!sweep->stopping)
        sweep->resume(sweep);
}

void sweep_wait(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep), int64_t us)
{
    struct runtime *runtime = sweep->env->source->runtime;
    sweep->resume = resume;
    runtime->ops->timer_arm(runtime, &sweep->later, us);
}

bool sweep_take_batch(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep))
{
    if (sweep->batch == NULL)
        sweep->batch = batch_take(sweep->env->source->pool);
    if (sweep->batch == NULL)
        sweep_wait(sweep, resume, SWEEP_FULL_US);
    return sweep->batch != NULL;
}

static void finish(struct feed_sweep *sweep, enum rc rc)
{
    sweep->active = false;
    if (!sweep->stopping)
        sweep->ops->ended(sweep->arg, sweep, rc);
}

/* Everything of this step is durable. */
static void go_on(struct feed_sweep *sweep)
{
    sweep->staged = false;
    sweep->order.was_gone = false;
    if (sweep->report.step != SWEEP_PAGE) {
        finish(sweep, RC_OK);
        return;
    }
    sweep->place = sweep->next;
    if (sweep->report.pages == 1 && sweep->ops->many != NULL)
        sweep->ops->many(sweep->arg, sweep);
    ask_page(sweep);
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct feed_sweep *sweep = arg;
    assert(sweep->under_way > 0);
    crashpoint(CRASH_FEED_PAGE_STORED);
    batch_give_back(batch);
    sweep->under_way--;
    if (sweep->stopping || !sweep->active)
        return;
    if (rc != RC_OK) {
        finish(sweep, RC_AGAIN);
        return;
    }
    if (sweep->under_way == 0 && sweep->staged)
        go_on(sweep);
}

bool sweep_submit(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep))
{
    const struct source_env *source = sweep->env->source;
    sweep->batch->answered = answered;
    sweep->batch->owner = sweep;
    if (source->submit(source->submit_arg, sweep->batch) != RC_OK) {
        sweep_wait(sweep, resume, SWEEP_FULL_US);
        return false;
    }
    crashpoint(CRASH_FEED_PAGE_SENT);
    sweep->batch = NULL;
    sweep->under_way++;
    return true;
}

/* ---- the end of a step ---- */

static bool add_standing(struct feed_sweep *sweep, bool active)
{
    struct record *row = batch_add(sweep->batch, RECORD_ACCOUNT);
    if (row == NULL || !batch_set_text(sweep->batch, row, ACCOUNT_DID, bytes_of(sweep->did)) ||
        !batch_set_text(sweep->batch, row, ACCOUNT_STATUS,
                        active ? BYTES_ABSENT : bytes_of(sweep->standing)))
        return false;
    batch_set_int(row, ACCOUNT_ACTIVE, active);
    batch_set_int(row, ACCOUNT_AT_US, sweep->asked_us);
    return true;
}

static bool add_step(struct feed_sweep *sweep)
{
    bool gone = sweep->report.step == SWEEP_GONE && sweep->standing[0] != '\0';
    bool back = sweep->order.was_gone && sweep->report.pages > 0;
    if ((gone || back) && !add_standing(sweep, !gone))
        return false;
    return sweep->ops->stage(sweep->arg, sweep, &sweep->report, sweep->batch) == RC_OK;
}

void sweep_stage(struct feed_sweep *sweep)
{
    if (!sweep_take_batch(sweep, sweep_stage))
        return;
    sweep->report.now_us = now_of(sweep);
    struct batch_mark mark = batch_mark(sweep->batch);
    bool begun = sweep->batch->record_count > 0, fits = add_step(sweep);
    if (!fits)
        batch_undo(sweep->batch, mark);
    assert(fits || begun);                 /* an empty batch takes a step's few rows */
    if (sweep->batch->record_count == 0) { /* its owner has nothing to remember */
        batch_give_back(sweep->batch);
        sweep->batch = NULL;
        finish(sweep, RC_OK);
        return;
    }
    sweep->staged = fits;
    if (sweep_submit(sweep, sweep_stage) && !fits)
        sweep_stage(sweep);
}

/* ---- failures ---- */

static void end_with(struct feed_sweep *sweep, enum sweep_step step)
{
    sweep->report.step = step;
    sweep->report.place = &sweep->place;
    sweep->report.why = sweep->why.text;
    sweep->report.standing = sweep->standing;
    sweep_stage(sweep);
}

void sweep_fail(struct feed_sweep *sweep, const char *why)
{
    snprintf(sweep->why.text, sizeof sweep->why.text, "%s", why);
    end_with(sweep, SWEEP_FAILED);
}

/* How an AppView calls what became of an account. */
static const char *standing_of(const struct appview_answer *answer)
{
    static const struct {
        const char *error, *standing;
    } names[] = {{"AccountDeactivated", "deactivated"},
                 {"AccountTakedown", "takendown"},
                 {"AccountSuspended", "suspended"},
                 {"InvalidRequest", "deleted"},
                 {"NotFound", "deleted"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(answer->error, names[i].error) == 0)
            return names[i].standing;
    return "";
}

static void judge(void *arg, const struct appview_answer *answer)
{
    struct feed_sweep *sweep = arg;
    sweep->call = NULL;
    sweep->asked_us = answer->asked_us;
    if (answer->rc == RC_RETRY) {
        end_with(sweep, SWEEP_FAILED);
        return;
    }
    if (answer->rc == RC_REJECT)
        snprintf(sweep->standing, sizeof sweep->standing, "%s", standing_of(answer));
    end_with(sweep, SWEEP_GONE);
}

static void ask_profile(struct feed_sweep *sweep)
{
    const struct appview_param who = {"actor", bytes_of(sweep->did)};
    const struct appview_request request = {WHO_METHOD, &who, 1, sweep->order.priority, NULL};
    sweep->call = appview_ask(sweep->env->appview, &request, judge, sweep);
    if (sweep->call == NULL)
        sweep_wait(sweep, ask_profile, SWEEP_FULL_US);
}

static void start_over(struct feed_sweep *sweep)
{
    sweep->left = sweep->place;
    sweep->anew = true;
    sweep->place = (struct feed_place){.began_us = now_of(sweep)};
    sweep->resumed = false;
    sweep->lowest_us = INT64_MAX;
    sweep->idle_pages = 0;
    sweep->report.fresh = sweep->report.urls = 0; /* they are counted again */
    ask_page(sweep);
}

/* Who gave the token cannot be asked, and somebody else can. */
static bool is_stranded(const struct feed_sweep *sweep, const struct appview_answer *answer)
{
    return answer->rc == RC_RETRY && sweep->place.token[0] != '\0' &&
           appview_count(sweep->env->appview) > 1;
}

static void take_refusal(struct feed_sweep *sweep, const struct appview_answer *answer)
{
    sweep->report.status = answer->status;
    sweep->why = answer->err;
    if (!sweep->anew && (sweep->resumed || is_stranded(sweep, answer))) {
        start_over(sweep);
    } else if (answer->rc == RC_REJECT) {
        ask_profile(sweep);
    } else {
        if (sweep->left.token[0] != '\0')
            sweep->place = sweep->left;
        end_with(sweep, SWEEP_FAILED);
    }
}

/* ---- asking ---- */

static void take_answer(void *arg, const struct appview_answer *answer)
{
    struct feed_sweep *sweep = arg;
    sweep->call = NULL;
    sweep->asked_us = answer->asked_us;
    snprintf(sweep->provider, sizeof sweep->provider, "%s",
             answer->provider == NULL ? "" : answer->provider);
    sweep->report.provider = sweep->provider;
    if (answer->rc != RC_OK) {
        take_refusal(sweep, answer);
        return;
    }
    sweep->resumed = false;
    sweep->left.token[0] = '\0';
    text_clear(&sweep->body);
    text_append(&sweep->body, answer->body.data, answer->body.len);
    sweep_take_page(sweep);
}

static void ask_page(struct feed_sweep *sweep)
{
    char limit[16];
    snprintf(limit, sizeof limit, "%u", (unsigned)sweep->order.page_size);
    const struct appview_param params[PARAMS_MAX + 1] = {{"actor", bytes_of(sweep->did)},
                                                         {"limit", bytes_of(limit)},
                                                         {"filter", bytes_of(FILTER_WIDE)},
                                                         {"cursor", bytes_of(sweep->place.token)}};
    const struct appview_request request = {FEED_METHOD, params,
                                            PARAMS_MAX + (sweep->place.token[0] != '\0'),
                                            sweep->order.priority, NULL};
    const char *only = sweep->place.token[0] != '\0' ? sweep->place.provider : NULL;
    sweep->call = appview_ask_only(sweep->env->appview, &request, only, take_answer, sweep);
    if (sweep->call == NULL)
        sweep_wait(sweep, ask_page, SWEEP_FULL_US);
}

/* ---- its life ---- */

struct feed_sweep *feed_sweep_new(const struct sweep_env *env, const struct feed_sweep_ops *ops,
                                  void *arg)
{
    struct feed_sweep *sweep = memory_new_zeroed(1, sizeof *sweep);
    sweep->env = env;
    sweep->ops = ops;
    sweep->arg = arg;
    sweep->later = (struct timer){.fn = wake, .arg = sweep};
    id_set_init(&sweep->keys[0], 0);
    id_set_init(&sweep->keys[1], 0);
    return sweep;
}

void feed_sweep_free(struct feed_sweep *sweep)
{
    struct runtime *runtime = sweep->env->source->runtime;
    assert(sweep->under_way == 0 && !sweep->looking);
    runtime->ops->timer_disarm(runtime, &sweep->later);
    if (sweep->batch != NULL)
        batch_give_back(sweep->batch);
    id_set_deinit(&sweep->keys[0]);
    id_set_deinit(&sweep->keys[1]);
    text_free(&sweep->body);
    free(sweep);
}

static void copy_name(char *out, size_t size, struct bytes name)
{
    size_t len = name.len < size ? name.len : 0;
    if (len > 0)
        memcpy(out, name.data, len);
    out[len] = '\0';
}

void feed_sweep_start(struct feed_sweep *sweep, const struct sweep_order *order)
{
    assert(feed_sweep_idle(sweep) && order->did.len > 0 && order->did.len <= AT_DID_MAX);
    sweep->order = *order;
    copy_name(sweep->did, sizeof sweep->did, order->did);
    copy_name(sweep->handle, sizeof sweep->handle, order->handle);
    sweep->order.did = bytes_of(sweep->did);
    sweep->order.handle = bytes_of(sweep->handle);
    bool to_mark = order->to_mark && order->mark.us > 0;
    sweep->order.to_mark = to_mark;
    sweep->bound_us = to_mark ? order->mark.us : order->since_us;
    sweep->report = (struct sweep_report){.provider = sweep->provider};
    sweep->standing[0] = sweep->provider[0] = sweep->why.text[0] = '\0';
    sweep->place = order->place;
    sweep->lowest_us = INT64_MAX;
    sweep->idle_pages = 0;
    sweep->resumed = sweep->place.token[0] != '\0';
    sweep->anew = false;
    sweep->left.token[0] = '\0';
    if (sweep->place.began_us == 0)
        sweep->place.began_us = now_of(sweep);
    id_set_clear(&sweep->keys[0]);
    id_set_clear(&sweep->keys[1]);
    sweep->active = true;
    sweep->stopping = sweep->staged = false;
    ask_page(sweep);
}

void feed_sweep_stop(struct feed_sweep *sweep)
{
    struct runtime *runtime = sweep->env->source->runtime;
    sweep->stopping = true;
    runtime->ops->timer_disarm(runtime, &sweep->later);
    if (sweep->call != NULL)
        appview_cancel(sweep->env->appview, sweep->call);
    sweep->call = NULL;
    sweep->active = false;
    if (sweep->batch != NULL)
        batch_give_back(sweep->batch);
    sweep->batch = NULL;
}

bool feed_sweep_idle(const struct feed_sweep *sweep)
{
    return !sweep->active && sweep->under_way == 0 && !sweep->looking;
}

const struct sweep_order *feed_sweep_order(const struct feed_sweep *sweep)
{
    return &sweep->order;
}
