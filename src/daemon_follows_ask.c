/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_follows_ask.h"

static void begin(void *arg)
{
    struct follows_ask *ask = arg;
    ask->env->tell(ask->env->tell_arg, PART_NEWS_RELOAD);
    errand_finish(&ask->errand, RC_OK);
}

void follows_ask_init(struct follows_ask *ask, const struct part_env *env)
{
    ask->env = env;
    errand_init(&ask->errand, env->loop, "reading of the follows", begin, ask);
}

void follows_ask_deinit(struct follows_ask *ask)
{
    errand_deinit(&ask->errand);
}

void follows_ask_abandon(struct follows_ask *ask)
{
    errand_abandon(&ask->errand);
}

enum rc follows_ask_run(struct follows_ask *ask, int64_t wait_us, int64_t *lists, struct err *err)
{
    *lists = (int64_t)ask->env->config->bluesky.actors.count;
    if (*lists == 0)
        return err_set(err, RC_REJECT,
                       "no account is configured whose follows could be read: set bluesky.actors");
    enum rc rc = errand_take(&ask->errand, err);
    return rc == RC_OK ? errand_run(&ask->errand, wait_us, NULL, err) : rc;
}
