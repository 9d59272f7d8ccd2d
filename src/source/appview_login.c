/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview_parts.h"
#include "sys/log.h"

#include <assert.h>

#define SECOND_US INT64_C(1000000)

/* A password that was refused will not be right the next minute, and servers count such tries. */
static const struct retry_schedule refused_schedule = {
    .delays_us = {0, 300 * SECOND_US, 1800 * SECOND_US, 3600 * SECOND_US},
    .delay_count = 4,
    .jitter_percent = RETRY_JITTER_PERCENT,
    .retry_after_us_max = RETRY_AFTER_US_MAX,
    .stubborn = true,
};

static struct provider *provider_of(struct appview *appview)
{
    return &appview->group.providers[appview->login.provider];
}

static void try_again(void *arg)
{
    struct appview *appview = arg;
    provider_of(appview)->disabled = false;
    appview_pump(appview);
}

/* Until then everybody is asked without it. */
static void set_aside(struct appview *appview, int64_t now_us, uint64_t random)
{
    struct appview_login *login = &appview->login;
    struct retry_decision next =
        retry_failed(&login->retry, RETRY_TRANSIENT, -1, now_us, random, NULL);
    provider_of(appview)->disabled = true;
    appview->runtime->ops->timer_arm(appview->runtime, &login->again, next.at_us - now_us);
}

static void on_ended(void *arg, enum rc rc, const struct err *err)
{
    struct appview *appview = arg;
    struct appview_login *login = &appview->login;
    int64_t now_us = appview_mono(appview);
    uint64_t random = appview->runtime->ops->random(appview->runtime);
    if (rc == RC_OK) {
        retry_succeeded(&login->retry);
        failover_succeeded(&appview->stream, &login->pick, now_us - login->began_us, now_us);
    } else {
        struct provider_failure failure = {
            .class = RETRY_TRANSIENT, .retry_after_us = -1, .reason = err->text};
        failover_failed(&appview->stream, &login->pick, &failure, now_us, random);
        if (rc == RC_REJECT)
            set_aside(appview, now_us, random);
        log_event(rc == RC_REJECT ? LOG_ERROR : LOG_WARN, APPVIEW_NAME, "not_logged_in",
                  (struct log_field[]){log_string("provider", provider_of(appview)->name),
                                       log_string("reason", err->text),
                                       log_string("meanwhile", "others are asked without a login"),
                                       LOG_END});
    }
    appview_pump(appview);
}

bool appview_login_first(struct appview *appview, const struct failover_pick *pick)
{
    struct appview_login *login = &appview->login;
    if (!login->wanted || pick->provider != login->provider ||
        appview_session_ready(&login->session))
        return false;
    login->pick = *pick;
    login->began_us = appview_mono(appview);
    appview_session_begin(&login->session);
    return true;
}

bool appview_login_refused(struct appview_call *call)
{
    struct appview_login *login = &call->appview->login;
    if (call->token == 0 || call->refusals == 2)
        return false; /* not even a new session helped */
    appview_session_refused(&login->session, call->token, ++call->refusals == 2);
    return true;
}

void appview_login_init(struct appview *appview, const struct appview_account *account,
                        int provider)
{
    struct appview_login *login = &appview->login;
    assert(appview->roots[provider] != NULL);
    login->wanted = true;
    login->provider = provider;
    login->again = (struct timer){.fn = try_again, .arg = appview};
    retry_init(&login->retry, &refused_schedule);
    appview_session_init(&login->session, appview->runtime, appview->roots[provider],
                         account->identifier, account->password, on_ended, appview);
}

void appview_login_deinit(struct appview *appview)
{
    if (!appview->login.wanted)
        return;
    appview->runtime->ops->timer_disarm(appview->runtime, &appview->login.again);
    appview_session_deinit(&appview->login.session);
}
