/* SPDX-License-Identifier: Apache-2.0 */
#include "source/follow_absent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_MAX 25 /* what getProfiles takes */

static void go_on(struct follow_absent *absent);

static void end(struct follow_absent *absent, enum rc rc, const struct err *err)
{
    absent->done(absent->arg, rc, err);
}

static bool is_unknown(const struct follow_absent *absent, size_t at)
{
    return at < absent->count && absent->accounts[at].fate == ABSENT_UNKNOWN;
}

/* ---- one by one: what the error is called tells ---- */

static enum absent_fate judge(const struct appview_answer *answer)
{
    if (answer->rc == RC_OK)
        return ABSENT_UNFOLLOWED;
    if (strcmp(answer->error, "AccountDeactivated") == 0)
        return ABSENT_DEACTIVATED;
    if (strcmp(answer->error, "AccountTakedown") == 0 ||
        strcmp(answer->error, "AccountSuspended") == 0)
        return ABSENT_TAKEN_DOWN;
    return ABSENT_GONE;
}

static void on_profile(void *arg, const struct appview_answer *answer)
{
    struct follow_absent *absent = arg;
    absent->call = NULL;
    if (answer->rc == RC_RETRY) {
        end(absent, RC_RETRY, &answer->err);
        return;
    }
    absent->accounts[absent->at].fate = judge(answer);
    go_on(absent);
}

/* ---- many together: those who are there ---- */

static void on_profiles(void *arg, const struct appview_answer *answer)
{
    struct follow_absent *absent = arg;
    absent->call = NULL;
    if (answer->rc != RC_OK) {
        end(absent, RC_RETRY, &answer->err);
        return;
    }
    struct json_walk walk = json_walk(json_get(answer->root, "profiles"));
    struct bytes key;
    struct json profile;
    struct actor_view actor;
    while (json_walk_next(&walk, &key, &profile)) {
        for (size_t i = absent->at; actor_view_read(profile, &actor) && i < absent->count; i++)
            if (bytes_equal(absent->accounts[i].actor.did, actor.did))
                absent->accounts[i].fate = ABSENT_UNFOLLOWED;
    }
    go_on(absent); /* the others are asked for one by one */
}

static void ask(struct follow_absent *absent, const char *method, const char *name, size_t count,
                appview_fn *fn)
{
    struct appview_param params[TOGETHER_MAX];
    static const struct err full = {"too many questions wait for the AppViews already"};
    size_t used = 0;
    for (size_t i = absent->at; i < absent->count && used < count; i++)
        if (is_unknown(absent, i))
            params[used++] = (struct appview_param){name, absent->accounts[i].actor.did};
    absent->call = appview_ask(
        absent->appview,
        &(struct appview_request){
            .method = method, .params = params, .param_count = used, .priority = absent->priority},
        fn, absent);
    if (absent->call == NULL)
        end(absent, RC_RETRY, &full);
}

static size_t count_unknown(const struct follow_absent *absent)
{
    size_t unknown = 0;
    for (size_t i = absent->at; i < absent->count && unknown < TOGETHER_MAX; i++)
        unknown += is_unknown(absent, i);
    return unknown;
}

static void go_on(struct follow_absent *absent)
{
    while (absent->at < absent->count && !is_unknown(absent, absent->at)) {
        absent->at++;
        if (absent->asked > 0)
            absent->asked--;
    }
    if (absent->at == absent->count) {
        end(absent, RC_OK, NULL);
    } else if (absent->asked > 0) {
        ask(absent, "app.bsky.actor.getProfile", "actor", 1, on_profile);
    } else {
        /* Those between the first and the last of them are known then, or asked for one by one. */
        size_t together = count_unknown(absent), last = absent->at;
        for (size_t seen = 0; seen < together; last++)
            seen += is_unknown(absent, last);
        absent->asked = last - absent->at;
        ask(absent, "app.bsky.actor.getProfiles", "actors", together, on_profiles);
    }
}

void follow_absent_start(struct follow_absent *absent, int priority)
{
    assert(absent->call == NULL);
    absent->priority = priority;
    absent->at = absent->asked = 0;
    go_on(absent);
}

void follow_absent_stop(struct follow_absent *absent)
{
    if (absent->call != NULL)
        appview_cancel(absent->appview, absent->call);
    absent->call = NULL;
}

/* ---- the list ---- */

static struct bytes keep(struct bytes words)
{
    if (words.data == NULL)
        return BYTES_ABSENT;
    char *copy = memory_new(words.len + 1);
    memcpy(copy, words.data, words.len);
    copy[words.len] = '\0';
    return bytes_make(copy, words.len);
}

void follow_absent_add(struct follow_absent *absent, const struct actor_view *actor,
                       enum absent_fate fate)
{
    if (absent->count == absent->cap) {
        absent->cap = absent->cap == 0 ? 16 : absent->cap * 2;
        absent->accounts = memory_resize(absent->accounts, absent->cap * sizeof *absent->accounts);
    }
    absent->accounts[absent->count++] = (struct absent_account){
        .actor = {keep(actor->did), keep(actor->handle), keep(actor->display_name), BYTES_ABSENT},
        .fate = fate};
}

void follow_absent_clear(struct follow_absent *absent)
{
    assert(absent->call == NULL);
    for (size_t i = 0; i < absent->count; i++) {
        struct actor_view *actor = &absent->accounts[i].actor;
        free((void *)(uintptr_t)actor->did.data);
        free((void *)(uintptr_t)actor->handle.data);
        free((void *)(uintptr_t)actor->display_name.data);
    }
    absent->count = 0;
}

void follow_absent_init(struct follow_absent *absent, struct appview *appview,
                        follow_absent_fn *done, void *arg)
{
    *absent = (struct follow_absent){.appview = appview, .done = done, .arg = arg};
}

void follow_absent_deinit(struct follow_absent *absent)
{
    absent->call = NULL; /* it went with the AppViews' client */
    follow_absent_clear(absent);
    free(absent->accounts);
}
