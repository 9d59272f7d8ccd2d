/* SPDX-License-Identifier: Apache-2.0 */
#include "source/circle.h"

#include "ingest/retry.h"
#include "source/follow_list.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME           "follows"
#define TOGETHER_MAX   25 /* what getProfiles takes */
#define SECOND_US      INT64_C(1000000)
#define DAY_US         (86400 * SECOND_US)
#define NEVER          INT64_MAX
#define SECOND_LOOK_US (600 * SECOND_US)

const char circle_load_sql[] = "SELECT owner, actor, (SELECT max(listing) FROM listings) "
                               "FROM listings WHERE degree = 1";

static const char second_sql[] =
    "SELECT c.did FROM circle c LEFT JOIN listings l ON l.owner = c.did WHERE c.degree = 1 "
    "AND (l.owner IS NULL OR (l.degree = 2 AND l.at_us < ?1)) "
    "ORDER BY CASE WHEN l.at_us IS NULL THEN 0 ELSE l.at_us END, c.did LIMIT 2";

/* One of ours. */
struct ours {
    const char *name;            /* as configured */
    char did[ACTOR_DID_MAX + 1]; /* "": not known yet */
    bool listed;                 /* a list of it stands */
    bool asked;                  /* who it is */
    int64_t due_us;              /* monotonic */
    struct retry retry;
    struct follow_doubt doubt;
};

struct circle {
    const struct source_env *env;
    struct appview *appview;
    struct circle_options options;
    struct ours *ours;
    size_t count;
    struct id_set strays; /* stored owners that are not ours any more */
    struct follow_list list;
    struct ours *reading; /* whose list it is; NULL: of the second degree, or none */
    bool busy;            /* a question, a list or a delivery is under way */
    struct appview_call *call;
    struct delivery delivery;
    bool asking_store, started, stopping;
    int64_t last_id; /* of a list */
    int64_t second_due_us;
    bool second_last;    /* the list that is read is the last of this round */
    bool second_refused; /* its owner's list cannot be had: an empty one stands for it */
    struct timer wake;
};

static const struct retry_schedule schedule = {
    .delays_us = {0, 10 * SECOND_US, 30 * SECOND_US, 60 * SECOND_US, 300 * SECOND_US,
                  600 * SECOND_US},
    .delay_count = 6,
    .jitter_percent = RETRY_JITTER_PERCENT,
    .retry_after_us_max = RETRY_AFTER_US_MAX,
    .stubborn = true,
};

static void step(void *arg);

static int64_t mono(const struct circle *circle)
{
    return circle->env->runtime->ops->mono_us(circle->env->runtime);
}

static void step_at(struct circle *circle, int64_t at_us)
{
    int64_t wait_us = at_us - mono(circle);
    if (at_us != NEVER && !circle->stopping)
        circle->env->runtime->ops->timer_arm(circle->env->runtime, &circle->wake,
                                             wait_us > 0 ? wait_us : 0);
}

/* What was under way is over. */
static void rest(struct circle *circle)
{
    circle->busy = false;
    step_at(circle, mono(circle));
}

/* The store takes no list for one with a larger number, and the clock may have been set back. */
static int64_t next_id(struct circle *circle)
{
    int64_t now_us = circle->env->runtime->ops->wall_us(circle->env->runtime);
    circle->last_id = now_us > circle->last_id ? now_us : circle->last_id + 1;
    return circle->last_id;
}

/* ---- one of ours ---- */

static void note_failure(struct circle *circle, struct ours *ours, const char *reason)
{
    int64_t now_us = mono(circle);
    uint64_t random = circle->env->runtime->ops->random(circle->env->runtime);
    struct retry_decision next =
        retry_failed(&ours->retry, RETRY_TRANSIENT, -1, now_us, random, NULL);
    if (ours->doubt.last && appview_count(circle->appview) == 1)
        next.at_us = now_us + circle->options.tuning.refresh_us; /* a fault of it may last */
    if (ours->due_us == NEVER)
        ours->due_us = next.at_us;
    log_event(LOG_WARN, NAME, "not_listed",
              (struct log_field[]){
                  log_string("actor", ours->name), log_string("reason", reason),
                  log_int("again_seconds", (next.at_us - now_us) / SECOND_US),
                  log_string("kept", ours->listed ? "the list as stored" : "what is stored"),
                  LOG_END});
}

static void note_success(struct circle *circle, struct ours *ours)
{
    retry_succeeded(&ours->retry);
    if (ours->due_us == NEVER)
        ours->due_us = mono(circle) + circle->options.tuning.refresh_us;
    ours->listed = true;
}

static void note_second(struct circle *circle, enum rc rc, const struct err *err)
{
    circle->second_refused = rc == RC_REJECT;
    if (rc == RC_RETRY)
        circle->second_due_us = mono(circle) + SECOND_LOOK_US;
    if (rc != RC_OK)
        log_event_limited(LOG_INFO, NAME, "second_degree_not_listed",
                          (struct log_field[]){log_string("owner", circle->list.owner),
                                               log_string("reason", err->text), LOG_END});
}

static void on_list(void *arg, enum rc rc, const struct err *err)
{
    struct circle *circle = arg;
    struct ours *ours = circle->reading;
    circle->reading = NULL;
    if (rc == RC_OK && (ours != NULL || circle->second_last))
        circle->options.changed(circle->options.arg);
    if (ours != NULL && rc == RC_OK)
        note_success(circle, ours);
    else if (ours != NULL)
        note_failure(circle, ours, err->text);
    else
        note_second(circle, rc, err);
    rest(circle);
}

static void read_list(struct circle *circle, struct ours *ours)
{
    struct follow_order order = {
        .owner = ours->did,
        .id = next_id(circle),
        .actor = ours->name,
        .doubt = &ours->doubt,
        .priority = APPVIEW_FOLLOWS,
        .actors = (int64_t)circle->count,
        .backfill = circle->options.tuning.backfill,
        .lookback_us = circle->options.tuning.lookback_us,
        .backfill_priority = ours->listed ? BACKFILL_FOR_FOLLOW : BACKFILL_FOR_START,
        .sources_min = circle->options.second_degree ? -1 : 0,
    };
    circle->busy = true;
    circle->reading = ours;
    ours->due_us = NEVER; /* unless somebody asks for it meanwhile */
    follow_list_start(&circle->list, &order);
}

/* ---- who they are ---- */

static bool take_profile(struct ours *ours, struct json profiles)
{
    struct json_walk walk = json_walk(profiles);
    struct bytes key;
    struct json profile;
    struct actor_view actor;
    while (json_walk_next(&walk, &key, &profile)) {
        if (!actor_view_read(profile, &actor) || actor.handle.len != strlen(ours->name) ||
            strncasecmp(actor.handle.data, ours->name, actor.handle.len) != 0)
            continue;
        memcpy(ours->did, actor.did.data, actor.did.len);
        ours->did[actor.did.len] = '\0';
        return true;
    }
    return false;
}

static void on_profiles(void *arg, const struct appview_answer *answer)
{
    struct circle *circle = arg;
    circle->call = NULL;
    for (size_t i = 0; i < circle->count; i++) {
        struct ours *ours = &circle->ours[i];
        if (!ours->asked)
            continue;
        ours->asked = false;
        if (answer->rc == RC_OK && take_profile(ours, json_get(answer->root, "profiles")))
            continue; /* its list is due */
        ours->due_us = NEVER;
        note_failure(circle, ours,
                     answer->rc == RC_OK ? "the AppView knows nobody of this name"
                                         : answer->err.text);
    }
    rest(circle);
}

static void resolve(struct circle *circle)
{
    struct appview_param params[TOGETHER_MAX];
    struct appview_request request = {
        .method = "app.bsky.actor.getProfiles", .params = params, .priority = APPVIEW_FOLLOWS};
    int64_t now_us = mono(circle);
    for (size_t i = 0; i < circle->count && request.param_count < TOGETHER_MAX; i++) {
        struct ours *ours = &circle->ours[i];
        ours->asked = ours->did[0] == '\0' && ours->due_us <= now_us;
        if (ours->asked)
            params[request.param_count++] = (struct appview_param){"actors", bytes_of(ours->name)};
    }
    circle->call = appview_ask(circle->appview, &request, on_profiles, circle);
    circle->busy = circle->call != NULL;
    if (!circle->busy)
        step_at(circle, now_us + SECOND_US);
}

/* ---- who is not ours any more ---- */

static void on_stored(void *arg, enum rc rc)
{
    struct circle *circle = arg;
    if (rc == RC_OK)
        circle->options.changed(circle->options.arg);
    rest(circle);
}

/* NULL when the batch is full. */
static struct record *add_listing(struct circle *circle, struct batch *batch, struct bytes owner,
                                  int degree)
{
    int64_t at_us = circle->env->runtime->ops->wall_us(circle->env->runtime);
    struct record *record = batch_add(batch, RECORD_LISTING);
    if (record == NULL)
        return NULL;
    batch_set_int(record, LISTING_ID, next_id(circle));
    batch_set_int(record, LISTING_AT_US, at_us);
    batch_set_int(record, LISTING_DEGREE, degree);
    if (batch_set_text(batch, record, LISTING_OWNER, owner))
        return record;
    batch_drop_last(batch, record);
    return NULL;
}

/* As many as fit; what does not is written by the next step. */
static void remove_strays(struct circle *circle)
{
    struct batch *batch = delivery_take(&circle->delivery);
    struct bytes did;
    if (batch == NULL)
        return; /* comes back to the step */
    while (id_set_count(&circle->strays) > 0) {
        struct id_set_walk walk = id_set_walk(&circle->strays);
        (void)id_set_walk_next(&walk, &did);
        if (add_listing(circle, batch, did, 0) == NULL)
            break;
        log_event(LOG_INFO, NAME, "list_dropped",
                  (struct log_field[]){log_text("owner", did),
                                       log_string("reason", "it is no longer configured"),
                                       LOG_END});
        (void)id_set_remove(&circle->strays, did);
    }
    circle->busy = true;
    delivery_send(&circle->delivery);
}

/* ---- the second degree ---- */

/* It would be asked for again and again. */
static void write_refused(struct circle *circle)
{
    struct batch *batch = delivery_take(&circle->delivery);
    if (batch == NULL)
        return; /* comes back to the step */
    struct record *record = add_listing(circle, batch, bytes_of(circle->list.owner), 2);
    assert(record != NULL);
    batch_set_int(record, LISTING_ENTRIES, 0);
    if (circle->second_last) {
        batch_set_int(record, LISTING_SOURCES_MIN, circle->options.sources_min);
        batch_set_int(record, LISTING_SECOND_MAX, circle->options.second_max);
    }
    circle->second_refused = false;
    circle->busy = true;
    delivery_send(&circle->delivery);
}

static void on_second(void *arg, const struct lookup_answer *answer)
{
    struct circle *circle = arg;
    circle->asking_store = false;
    if (answer->rc != RC_OK || answer->rows == 0 || circle->stopping) {
        /* All lists are young enough, or the store cannot tell. */
        circle->second_due_us = mono(circle) + SECOND_LOOK_US;
        rest(circle);
        return;
    }
    char owner[ACTOR_DID_MAX + 1];
    struct bytes did = answer->fields[0].b;
    assert(did.len <= ACTOR_DID_MAX);
    memcpy(owner, did.data, did.len);
    owner[did.len] = '\0';
    circle->second_last = answer->rows == 1;
    struct follow_order order = {.owner = owner,
                                 .id = next_id(circle),
                                 .priority = APPVIEW_IDLE,
                                 .actors = (int64_t)circle->count,
                                 .sources_min =
                                     circle->second_last ? circle->options.sources_min : -1,
                                 .second_max = circle->options.second_max};
    follow_list_start(&circle->list, &order);
}

static void read_second(struct circle *circle)
{
    struct field before =
        field_int(circle->env->runtime->ops->wall_us(circle->env->runtime) - DAY_US);
    circle->asking_store =
        circle->env->ask(circle->env->ask_arg, second_sql, &before, 1, on_second, circle) == RC_OK;
    circle->busy = circle->asking_store;
    if (!circle->busy)
        step_at(circle, mono(circle) + SECOND_US);
}

/* ---- what comes next ---- */

static struct ours *find_due(struct circle *circle, int64_t now_us, int64_t *at_us)
{
    struct ours *best = NULL;
    for (size_t i = 0; i < circle->count; i++) {
        struct ours *ours = &circle->ours[i];
        if (ours->due_us < *at_us)
            *at_us = ours->due_us;
        if (ours->due_us <= now_us && (best == NULL || ours->due_us < best->due_us))
            best = ours;
    }
    return best;
}

/* Before that, whoever is on another's list may be on one of ours. */
static bool all_listed(const struct circle *circle)
{
    for (size_t i = 0; i < circle->count; i++)
        if (!circle->ours[i].listed)
            return false;
    return true;
}

static void step(void *arg)
{
    struct circle *circle = arg;
    int64_t now_us = mono(circle), at_us = NEVER;
    if (circle->busy || circle->stopping)
        return;
    struct ours *due = find_due(circle, now_us, &at_us);
    bool second = circle->options.second_degree && circle->second_due_us <= now_us;
    if (id_set_count(&circle->strays) > 0 && all_listed(circle))
        remove_strays(circle);
    else if (circle->second_refused)
        write_refused(circle);
    else if (due != NULL && due->did[0] == '\0')
        resolve(circle);
    else if (due != NULL)
        read_list(circle, due);
    else if (second)
        read_second(circle);
    else
        step_at(circle, circle->options.second_degree && circle->second_due_us < at_us
                            ? circle->second_due_us
                            : at_us);
}

/* ---- life ---- */

struct circle *circle_new(const struct source_env *env, struct appview *appview,
                          const struct circle_options *options)
{
    struct circle *circle = memory_new_zeroed(1, sizeof *circle);
    circle->env = env;
    circle->appview = appview;
    circle->options = *options;
    circle->count = options->actor_count;
    circle->ours = memory_new_zeroed(circle->count + 1, sizeof *circle->ours);
    circle->wake = (struct timer){.fn = step, .arg = circle};
    for (size_t i = 0; i < circle->count; i++) {
        struct ours *ours = &circle->ours[i];
        ours->name = options->actors[i];
        retry_init(&ours->retry, &schedule);
        if (strncmp(ours->name, "did:", 4) == 0 && strlen(ours->name) <= ACTOR_DID_MAX)
            memcpy(ours->did, ours->name, strlen(ours->name) + 1);
    }
    id_set_init(&circle->strays, env->runtime->ops->random(env->runtime));
    follow_list_init(&circle->list, env, appview, on_list, circle);
    delivery_init(&circle->delivery, env, step, on_stored, circle);
    return circle;
}

void circle_free(struct circle *circle)
{
    circle->env->runtime->ops->timer_disarm(circle->env->runtime, &circle->wake);
    delivery_drop(&circle->delivery);
    follow_list_deinit(&circle->list);
    id_set_deinit(&circle->strays);
    free(circle->ours);
    free(circle);
}

bool circle_load_row(void *arg, const struct field *columns, size_t count)
{
    struct circle *circle = arg;
    struct bytes owner = columns[0].b, actor = columns[1].null ? BYTES_ABSENT : columns[1].b;
    assert(count == 3 && !circle->started);
    circle->last_id = columns[2].i;
    bool found = false;
    for (size_t i = 0; i < circle->count && owner.len <= ACTOR_DID_MAX; i++) {
        struct ours *ours = &circle->ours[i];
        if (!bytes_equal_string(owner, ours->name) && !bytes_equal_string(actor, ours->name))
            continue;
        memcpy(ours->did, owner.data, owner.len);
        ours->did[owner.len] = '\0';
        ours->listed = found = true;
    }
    if (!found)
        (void)id_set_add(&circle->strays, owner);
    return true;
}

void circle_start(struct circle *circle)
{
    circle->started = true;
    circle_refresh(circle);
}

void circle_tune(struct circle *circle, const struct circle_tuning *tuning)
{
    int64_t latest_us = mono(circle) + tuning->refresh_us;
    circle->options.tuning = *tuning;
    for (size_t i = 0; i < circle->count; i++)
        if (circle->ours[i].due_us > latest_us)
            circle->ours[i].due_us = latest_us;
    step_at(circle, mono(circle));
}

void circle_refresh(struct circle *circle)
{
    for (size_t i = 0; i < circle->count; i++)
        circle->ours[i].due_us = mono(circle);
    step_at(circle, mono(circle));
}

void circle_stop(struct circle *circle)
{
    circle->stopping = true;
    circle->env->runtime->ops->timer_disarm(circle->env->runtime, &circle->wake);
    if (circle->call != NULL)
        appview_cancel(circle->appview, circle->call);
    circle->call = NULL;
    follow_list_stop(&circle->list);
    delivery_drop(&circle->delivery);
}

bool circle_stopped(const struct circle *circle)
{
    return circle->call == NULL && !circle->asking_store && circle->delivery.batch == NULL &&
           follow_list_idle(&circle->list);
}

void circle_look(const struct circle *circle, struct circle_view *view)
{
    *view = (struct circle_view){.actors = circle->count};
    for (size_t i = 0; i < circle->count; i++) {
        view->listed += circle->ours[i].listed;
        view->in_trouble += circle->ours[i].retry.failures > 0;
    }
}
