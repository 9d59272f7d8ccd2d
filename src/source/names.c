/* SPDX-License-Identifier: Apache-2.0 */
#include "source/names.h"

#include "decode/actor_view.h"
#include "source/delivery.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_MAX 25 /* what getProfiles takes */
#define SECOND_US    INT64_C(1000000)
#define LOOK_US      (60 * SECOND_US)
#define OLD_US       (86400 * SECOND_US)

static const char old_sql[] =
    "SELECT a.did FROM circle c JOIN actors a ON a.did = c.did "
    "WHERE a.active = 1 AND (a.profile_us IS NULL OR a.profile_us < ?1) ORDER BY a.did LIMIT 25";

struct names {
    const struct source_env *env;
    struct appview *appview;
    char dids[TOGETHER_MAX][ACTOR_DID_MAX + 1];
    bool shown[TOGETHER_MAX];
    size_t count;
    bool asking_store, stopping;
    struct appview_call *call;
    struct delivery delivery;
    struct timer wake;
};

static void look_again(struct names *names, int64_t wait_us)
{
    if (!names->stopping)
        names->env->runtime->ops->timer_arm(names->env->runtime, &names->wake, wait_us);
}

static void give_up(struct names *names, const char *reason)
{
    delivery_drop(&names->delivery);
    log_event_limited(LOG_INFO, "names", "not_read",
                      (struct log_field[]){log_string("reason", reason), LOG_END});
    look_again(names, LOOK_US);
}

static void on_stored(void *arg, enum rc rc)
{
    struct names *names = arg;
    /* As many as were asked for: there may be more. */
    look_again(names, rc == RC_OK && names->count == TOGETHER_MAX ? 0 : LOOK_US);
}

/* ---- the answer ---- */

static bool add_profile(struct names *names, struct bytes did, const struct actor_view *actor,
                        int64_t at_us)
{
    struct batch *batch = names->delivery.batch;
    struct record *record = batch_add(batch, RECORD_PROFILE);
    if (record == NULL)
        return false;
    batch_set_int(record, PROFILE_AT_US, at_us);
    bool whole = batch_set_text(batch, record, PROFILE_DID, did) &&
                 (actor == NULL || actor_view_put(actor, batch, record, PROFILE_HANDLE));
    if (!whole)
        batch_drop_last(batch, record);
    return whole;
}

static bool take_profile(struct names *names, const struct actor_view *actor, int64_t at_us)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->shown[i] || !bytes_equal_string(actor->did, names->dids[i]))
            continue;
        names->shown[i] = true;
        return add_profile(names, actor->did, actor, at_us);
    }
    return true; /* nobody asked for it */
}

static void on_profiles(void *arg, const struct appview_answer *answer)
{
    struct names *names = arg;
    struct json_walk walk = json_walk(json_get(answer->root, "profiles"));
    struct bytes key;
    struct json profile;
    struct actor_view actor;
    bool whole = true;
    names->call = NULL;
    if (answer->rc != RC_OK) {
        give_up(names, answer->err.text);
        return;
    }
    while (whole && json_walk_next(&walk, &key, &profile))
        if (actor_view_read(profile, &actor))
            whole = take_profile(names, &actor, answer->asked_us);
    for (size_t i = 0; i < names->count && whole; i++)
        if (!names->shown[i])
            whole = add_profile(names, bytes_of(names->dids[i]), NULL, answer->asked_us);
    if (whole)
        delivery_send(&names->delivery);
    else
        give_up(names, "the profiles are larger than they may be");
}

/* ---- the question ---- */

static void ask(void *arg)
{
    struct names *names = arg;
    struct appview_param params[TOGETHER_MAX];
    if (delivery_take(&names->delivery) == NULL)
        return; /* comes back here */
    for (size_t i = 0; i < names->count; i++)
        params[i] = (struct appview_param){"actors", bytes_of(names->dids[i])};
    struct appview_request request = {.method = "app.bsky.actor.getProfiles",
                                      .params = params,
                                      .param_count = names->count,
                                      .priority = APPVIEW_NAMES};
    names->call = appview_ask(names->appview, &request, on_profiles, names);
    if (names->call == NULL)
        give_up(names, "too many questions wait for the AppViews already");
}

static void on_old(void *arg, const struct lookup_answer *answer)
{
    struct names *names = arg;
    names->asking_store = false;
    names->count = 0;
    if (names->stopping)
        return;
    for (size_t i = 0; answer->rc == RC_OK && i < answer->rows; i++) {
        struct bytes did = answer->fields[i].b;
        if (did.len > ACTOR_DID_MAX)
            continue;
        memcpy(names->dids[names->count], did.data, did.len);
        names->dids[names->count][did.len] = '\0';
        names->shown[names->count++] = false;
    }
    if (names->count == 0)
        look_again(names, LOOK_US);
    else
        ask(names);
}

static void look(void *arg)
{
    struct names *names = arg;
    const struct source_env *env = names->env;
    struct field before = field_int(env->runtime->ops->wall_us(env->runtime) - OLD_US);
    assert(names->call == NULL && !names->asking_store);
    names->asking_store = env->ask(env->ask_arg, old_sql, &before, 1, on_old, names) == RC_OK;
    if (!names->asking_store)
        look_again(names, SECOND_US);
}

/* ---- life ---- */

struct names *names_new(const struct source_env *env, struct appview *appview)
{
    struct names *names = memory_new_zeroed(1, sizeof *names);
    names->env = env;
    names->appview = appview;
    names->wake = (struct timer){.fn = look, .arg = names};
    delivery_init(&names->delivery, env, ask, on_stored, names);
    return names;
}

void names_free(struct names *names)
{
    names->env->runtime->ops->timer_disarm(names->env->runtime, &names->wake);
    delivery_drop(&names->delivery);
    free(names);
}

void names_start(struct names *names)
{
    look_again(names, LOOK_US); /* the lists come first: they bring most names along */
}

void names_stop(struct names *names)
{
    names->stopping = true;
    names->env->runtime->ops->timer_disarm(names->env->runtime, &names->wake);
    if (names->call != NULL)
        appview_cancel(names->appview, names->call);
    names->call = NULL;
    delivery_drop(&names->delivery);
}

bool names_stopped(const struct names *names)
{
    return names->call == NULL && !names->asking_store && names->delivery.batch == NULL;
}
