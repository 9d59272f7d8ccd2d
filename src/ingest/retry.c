/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/retry.h"

#include <assert.h>
#include <string.h>

#define MS_US     INT64_C(1000)
#define SECOND_US INT64_C(1000000)

/* What no rule names can get better by itself and is transient. 401 is a matter of credentials,
 * not of the account asked for. */
static const struct retry_rule general_rules[] = {
    {400, 400, NULL, RETRY_PERMANENT}, {401, 401, NULL, RETRY_AUTH},
    {403, 404, NULL, RETRY_PERMANENT}, {407, 407, NULL, RETRY_AUTH},
    {410, 410, NULL, RETRY_PERMANENT}, {429, 429, NULL, RETRY_RATE_LIMITED},
};

static const int64_t reconnect_seconds[] = {5, 10, 30, 60};

static const struct retry_rule *find_rule(const struct retry_failure *failure,
                                          const struct retry_rule *rules, size_t rule_count)
{
    assert(failure->cause == RETRY_BY_STATUS);
    assert(rules != NULL || rule_count == 0);
    for (size_t i = 0; i < rule_count; i++) {
        const struct retry_rule *rule = &rules[i];
        assert(rule->status_min <= rule->status_max);
        if (failure->status < rule->status_min || failure->status > rule->status_max)
            continue;
        if (rule->error == NULL)
            return rule;
        if (failure->error != NULL && strcmp(rule->error, failure->error) == 0)
            return rule;
    }
    return NULL;
}

enum retry_class retry_classify(const struct retry_failure *failure, const struct retry_rule *rules,
                                size_t rule_count)
{
    assert(failure != NULL);
    assert(failure->cause >= RETRY_BY_STATUS && failure->cause <= RETRY_GARBLED);
    if (failure->cause == RETRY_REFUSED)
        return RETRY_PERMANENT;
    if (failure->cause != RETRY_BY_STATUS)
        return RETRY_TRANSIENT;
    const struct retry_rule *rule = find_rule(failure, rules, rule_count);
    if (rule == NULL)
        rule = find_rule(failure, general_rules, sizeof general_rules / sizeof general_rules[0]);
    return rule == NULL ? RETRY_TRANSIENT : rule->class;
}

const char *retry_class_name(enum retry_class class)
{
    static const char *const names[] = {"permanent", "transient", "rate-limited", "auth"};
    assert(class >= RETRY_PERMANENT);
    assert(class <= RETRY_AUTH);
    return names[class];
}

struct retry_schedule retry_schedule_poll(uint32_t backoff_ms, uint32_t retries_max)
{
    assert(backoff_ms > 0);
    assert(retries_max < UINT32_MAX);
    struct retry_schedule schedule = {
        .delay_count = 1, /* the first attempt does not wait */
        .attempts_max = retries_max + 1,
        .alert_failures = RETRY_ALERT_FAILURES,
        .jitter_percent = RETRY_JITTER_PERCENT,
        .retry_after_us_max = RETRY_AFTER_US_MAX,
    };
    int64_t delay_us = (int64_t)backoff_ms * MS_US;
    while (schedule.delay_count < RETRY_STEPS_MAX) {
        if (delay_us > RETRY_DELAY_US_MAX)
            delay_us = RETRY_DELAY_US_MAX;
        schedule.delays_us[schedule.delay_count++] = delay_us;
        delay_us *= 2;
    }
    return schedule;
}

struct retry_schedule retry_schedule_reconnect(uint32_t delay_seconds, uint32_t attempts_max)
{
    const uint32_t count = sizeof reconnect_seconds / sizeof reconnect_seconds[0];
    assert(delay_seconds > 0);
    assert(count <= RETRY_STEPS_MAX);
    struct retry_schedule schedule = {
        .delay_count = count,
        .attempts_max = attempts_max,
        .alert_failures = RETRY_ALERT_FAILURES,
        .jitter_percent = RETRY_JITTER_PERCENT,
        .retry_after_us_max = RETRY_AFTER_US_MAX,
        .stubborn = true,
    };
    int64_t first_us = (int64_t)delay_seconds * SECOND_US;
    if (first_us > RETRY_DELAY_US_MAX)
        first_us = RETRY_DELAY_US_MAX;
    int64_t most_us = reconnect_seconds[count - 1] * SECOND_US;
    if (most_us < first_us)
        most_us = first_us;
    for (uint32_t i = 0; i < count; i++) {
        int64_t delay_us = first_us * reconnect_seconds[i] / reconnect_seconds[0];
        schedule.delays_us[i] = delay_us < most_us ? delay_us : most_us;
    }
    return schedule;
}

int64_t retry_delay(const struct retry_schedule *schedule, uint32_t failures,
                    int64_t retry_after_us, uint64_t random)
{
    assert(schedule->delay_count > 0 && schedule->delay_count <= RETRY_STEPS_MAX);
    assert(schedule->jitter_percent < 100);
    uint32_t step = failures < schedule->delay_count ? failures : schedule->delay_count - 1;
    int64_t delay_us = schedule->delays_us[step];
    assert(delay_us >= 0 && delay_us <= RETRY_DELAY_US_MAX);
    int64_t swing_us = delay_us * schedule->jitter_percent / 100;
    /* The top 32 bits, signed around the centre, as a fraction of the swing. */
    int64_t fraction = (int64_t)(random >> 32) - (INT64_C(1) << 31);
    int64_t wait_us = delay_us + swing_us * fraction / (INT64_C(1) << 31);
    if (retry_after_us > schedule->retry_after_us_max)
        retry_after_us = schedule->retry_after_us_max;
    return wait_us > retry_after_us ? wait_us : retry_after_us;
}

int64_t retry_longest(const struct retry_schedule *schedule)
{
    assert(schedule->delay_count > 0 && schedule->delay_count <= RETRY_STEPS_MAX);
    assert(schedule->jitter_percent < 100);
    int64_t longest_us = schedule->retry_after_us_max;
    for (uint32_t i = 0; i < schedule->delay_count; i++) {
        int64_t delay_us = schedule->delays_us[i];
        int64_t wait_us = delay_us + delay_us * schedule->jitter_percent / 100;
        if (wait_us > longest_us)
            longest_us = wait_us;
    }
    return longest_us;
}

void retry_init(struct retry *retry, const struct retry_schedule *schedule)
{
    assert(retry != NULL);
    assert(schedule->delay_count > 0 && schedule->delay_count <= RETRY_STEPS_MAX);
    *retry = (struct retry){.schedule = *schedule};
}

int64_t retry_begin(const struct retry *retry, int64_t now_us, uint64_t random)
{
    assert(retry->schedule.delay_count > 0);
    assert(retry->failures == 0);
    return now_us + retry_delay(&retry->schedule, 0, -1, random);
}

/* Why no further attempt is made, or NULL when there is one. */
static const char *find_stop(const struct retry *retry, enum retry_class class)
{
    const struct retry_schedule *schedule = &retry->schedule;
    assert(retry->failures > 0);
    assert(class >= RETRY_PERMANENT && class <= RETRY_AUTH);
    if (!schedule->stubborn && class == RETRY_PERMANENT)
        return "the failure is permanent";
    if (!schedule->stubborn && class == RETRY_AUTH)
        return "fresh credentials were refused too";
    if (schedule->attempts_max != 0 && retry->failures >= schedule->attempts_max)
        return "no attempts are left";
    return NULL;
}

struct retry_decision retry_failed(struct retry *retry, enum retry_class class,
                                   int64_t retry_after_us, int64_t now_us, uint64_t random,
                                   struct err *err)
{
    assert(retry->schedule.delay_count > 0);
    assert(class >= RETRY_PERMANENT && class <= RETRY_AUTH);
    struct retry_decision decision = {.action = RETRY_WAIT};
    if (class == RETRY_AUTH) {
        decision.action = RETRY_REFRESH;
        if (!retry->refreshed) {
            /* An expired token is nobody's failure: its renewal costs no attempt and no wait. */
            retry->refreshed = true;
            int64_t most_us = retry->schedule.retry_after_us_max;
            int64_t asked_us = retry_after_us < most_us ? retry_after_us : most_us;
            decision.at_us = now_us + (asked_us > 0 ? asked_us : 0);
            return decision;
        }
    }
    bool alerted = retry_alerting(retry);
    if (retry->failures < UINT32_MAX)
        retry->failures++;
    decision.alert = !alerted && retry_alerting(retry);
    const char *stop = find_stop(retry, class);
    if (stop != NULL) {
        decision.action = RETRY_STOP;
        decision.at_us = INT64_MAX;
        (void)err_set(err, RC_REJECT, "gave up after %u failed attempt%s: %s",
                      (unsigned)retry->failures, retry->failures == 1 ? "" : "s", stop);
        return decision;
    }
    decision.at_us =
        now_us + retry_delay(&retry->schedule, retry->failures, retry_after_us, random);
    return decision;
}

void retry_succeeded(struct retry *retry)
{
    assert(retry != NULL);
    assert(retry->schedule.delay_count > 0);
    retry->failures = 0;
    retry->refreshed = false;
}

bool retry_alerting(const struct retry *retry)
{
    assert(retry != NULL);
    assert(retry->schedule.delay_count > 0);
    return retry->schedule.alert_failures != 0 && retry->failures >= retry->schedule.alert_failures;
}
