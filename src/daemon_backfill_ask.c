/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_backfill_ask.h"

#include "daemon_errand.h"
#include "source/appview.h"
#include "source/backfill_request.h"
#include "source/delivery.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backfill_ask {
    const struct part_env *env;
    struct errand errand;
    struct delivery delivery;
    char actor[AT_DID_MAX + 1];
    int64_t hours;
};

static void stored(void *arg, enum rc rc)
{
    struct backfill_ask *ask = arg;
    ask->errand.why = (struct err){"the store did not take the request"};
    memcpy(ask->errand.answer.words, ask->actor, sizeof ask->actor);
    errand_finish(&ask->errand, rc == RC_OK ? RC_OK : RC_RETRY);
    if (rc == RC_OK)
        ask->env->tell(ask->env->tell_arg, PART_NEWS_BACKFILL);
}

static void store_request(void *arg)
{
    struct backfill_ask *ask = arg;
    struct batch *batch = delivery_take(&ask->delivery);
    if (batch == NULL)
        return;
    struct runtime *runtime = ask->env->runtime;
    enum rc rc = backfill_request_add(batch, bytes_of(ask->actor), ask->hours,
                                      runtime->ops->wall_us(runtime));
    assert(rc == RC_OK); /* one row fits */
    delivery_send(&ask->delivery);
}

static void refuse(struct backfill_ask *ask, enum rc rc, const char *why)
{
    err_set(&ask->errand.why, rc, "%s: %s", ask->actor, why);
    errand_finish(&ask->errand, rc);
}

static void take_did(void *arg, const struct appview_answer *answer)
{
    struct backfill_ask *ask = arg;
    struct bytes did = json_string_or_absent(json_get(answer->root, "did"));
    if (answer->rc == RC_REJECT) {
        refuse(ask, RC_REJECT, "the AppView knows no account of that name");
    } else if (answer->rc != RC_OK || did.len == 0 || did.len > AT_DID_MAX) {
        refuse(ask, RC_RETRY, "the AppView cannot say who that is: try again");
    } else {
        memcpy(ask->actor, did.data, did.len);
        ask->actor[did.len] = '\0';
        store_request(ask);
    }
}

static void begin(void *arg)
{
    struct backfill_ask *ask = arg;
    const struct appview_param handle = {"handle", bytes_of(ask->actor)};
    const struct appview_request request = {"com.atproto.identity.resolveHandle", &handle, 1,
                                            APPVIEW_URGENT, NULL};
    if (strncmp(ask->actor, "did:", 4) == 0)
        store_request(ask);
    else if (appview_ask(ask->env->appview, &request, take_did, ask) == NULL)
        refuse(ask, RC_RETRY, "too much is being asked of the AppView: try again");
}

_Static_assert(ERRAND_WORDS_MAX > AT_DID_MAX, "what is answered is a DID");

struct backfill_ask *backfill_ask_new(const struct part_env *env)
{
    struct backfill_ask *ask = memory_new_zeroed(1, sizeof *ask);
    ask->env = env;
    errand_init(&ask->errand, env->loop, "request", begin, ask);
    delivery_init(&ask->delivery, &env->source, store_request, stored, ask);
    return ask;
}

void backfill_ask_abandon(struct backfill_ask *ask)
{
    errand_abandon(&ask->errand);
    delivery_drop(&ask->delivery);
}

void backfill_ask_free(struct backfill_ask *ask)
{
    errand_deinit(&ask->errand);
    free(ask);
}

enum rc backfill_ask_run(struct backfill_ask *ask, const char *actor, int64_t hours,
                         int64_t wait_us, char did[AT_DID_MAX + 1], struct err *err)
{
    enum rc rc = errand_take(&ask->errand, err);
    if (rc != RC_OK)
        return rc;
    snprintf(ask->actor, sizeof ask->actor, "%s", actor);
    ask->hours = hours;
    struct errand_answer answer;
    rc = errand_run(&ask->errand, wait_us, &answer, err);
    if (rc == RC_OK)
        memcpy(did, answer.words, sizeof ask->actor);
    return rc;
}
