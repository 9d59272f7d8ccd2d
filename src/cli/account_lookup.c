/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account_lookup.h"

#include "daemon_appview.h"
#include "decode/actor_view.h"
#include "sys/network.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOGETHER_MAX 25 /* what getProfiles takes */

struct asking {
    struct account_name *names;
    size_t count, at; /* those before it were asked for */
    size_t asked[TOGETHER_MAX], asked_count;
    struct loop *loop;
    struct appview *appview;
    account_told_fn *told;
    void *told_arg;
    enum rc rc;
    struct err *err;
};

static void go_on(struct asking *asking);

static char *copy(struct bytes words)
{
    char *text = memory_new(words.len + 1);
    memcpy(text, words.data, words.len);
    text[words.len] = '\0';
    return text;
}

/* By its handle, or by its DID where it had none that could be verified. */
static bool is_called(const struct actor_view *actor, const char *name)
{
    return bytes_equal_string(actor->did, name) ||
           (strlen(name) == actor->handle.len &&
            strncasecmp(name, actor->handle.data, actor->handle.len) == 0);
}

static void take(struct asking *asking, const struct actor_view *actor)
{
    for (size_t i = 0; i < asking->asked_count; i++) {
        struct account_name *name = &asking->names[asking->asked[i]];
        if (name->did != NULL || !is_called(actor, name->handle))
            continue;
        name->did = copy(actor->did);
        if (bytes_equal_string(actor->did, name->handle)) {
            free(name->handle);
            name->handle = copy(actor->handle);
        }
        if (actor->display_name.data != NULL)
            name->display_name = copy(actor->display_name);
    }
}

static void on_profiles(void *arg, const struct appview_answer *answer)
{
    struct asking *asking = arg;
    struct json_walk walk = json_walk(json_get(answer->root, "profiles"));
    struct bytes key;
    struct json profile;
    struct actor_view actor;
    if (answer->rc != RC_OK) {
        asking->rc = err_set(asking->err, RC_RETRY, "%s", answer->err.text);
        loop_stop(asking->loop);
        return;
    }
    while (json_walk_next(&walk, &key, &profile))
        if (actor_view_read(profile, &actor))
            take(asking, &actor);
    go_on(asking);
}

static void go_on(struct asking *asking)
{
    struct appview_param params[TOGETHER_MAX];
    asking->told(asking->told_arg, asking->at, asking->count);
    asking->asked_count = 0;
    for (; asking->at < asking->count && asking->asked_count < TOGETHER_MAX; asking->at++) {
        if (asking->names[asking->at].did != NULL)
            continue;
        params[asking->asked_count] =
            (struct appview_param){"actors", bytes_of(asking->names[asking->at].handle)};
        asking->asked[asking->asked_count++] = asking->at;
    }
    struct appview_request request = {.method = "app.bsky.actor.getProfiles",
                                      .params = params,
                                      .param_count = asking->asked_count,
                                      .priority = APPVIEW_URGENT};
    if (asking->asked_count == 0 ||
        appview_ask(asking->appview, &request, on_profiles, asking) == NULL)
        loop_stop(asking->loop); /* one question at a time always finds room */
}

enum rc account_lookup(const struct config *config, struct account_name *names, size_t count,
                       account_told_fn *told, void *arg, struct err *err)
{
    struct asking asking = {.names = names,
                            .count = count,
                            .loop = loop_new(),
                            .told = told,
                            .told_arg = arg,
                            .rc = RC_OK,
                            .err = err};
    struct network *network = network_new(asking.loop, &(struct network_options){0});
    enum rc rc = daemon_appview_make(config, loop_runtime(asking.loop), &asking.appview, err);
    if (rc == RC_OK) {
        go_on(&asking);
        loop_run(asking.loop);
        rc = asking.rc;
    }
    appview_free(asking.appview);
    network_free(network);
    loop_free(asking.loop);
    return rc;
}
