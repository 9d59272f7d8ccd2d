/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/provider.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void check(const struct provider *provider)
{
    assert(provider->open || provider->failures_in_row < provider->open_failures);
    assert(provider->open == (provider->open_us > 0));
    assert(provider->health >= 0 && provider->health <= PROVIDER_HEALTH_FULL);
}

static bool one_bit_of(uint32_t bit, uint32_t mask)
{
    assert((bit & (bit - 1)) == 0);
    assert((bit & ~mask) == 0);
    return bit != 0;
}

void provider_init(struct provider *provider, const struct provider_spec *spec, int64_t now_us)
{
    assert(spec->name != NULL && spec->name[0] != '\0');
    assert(strlen(spec->name) < PROVIDER_NAME_MAX);
    assert(spec->kinds == 0 || one_bit_of(spec->kind_preferred, spec->kinds));
    assert(spec->replay_blocks >= 0 && spec->replay_us >= 0);
    *provider = (struct provider){
        .kinds = spec->kinds,
        .kind_preferred = spec->kind_preferred,
        .replay_blocks = spec->replay_blocks,
        .replay_us = spec->replay_us,
        .priority = spec->priority,
        .disabled = spec->disabled,
        .open_failures = spec->open_failures > 0 ? spec->open_failures : PROVIDER_OPEN_FAILURES,
        .open_us_max = spec->open_us_max > 0 ? spec->open_us_max : PROVIDER_OPEN_US_MAX,
        .health = PROVIDER_HEALTH_FULL,
        .latency_us = -1,
        .succeeded_us = INT64_MIN,
        .failed_us = INT64_MIN,
        .proof = PROVIDER_UNPROVED,
    };
    memcpy(provider->name, spec->name, strlen(spec->name) + 1);
    bucket_init(&provider->bucket, &spec->limits, now_us);
    check(provider);
}

enum circuit provider_circuit(const struct provider *provider, int64_t now_us)
{
    check(provider);
    assert(provider->open || provider->open_until_us == 0);
    if (!provider->open)
        return CIRCUIT_CLOSED;
    return now_us < provider->open_until_us ? CIRCUIT_OPEN : CIRCUIT_HALF_OPEN;
}

const char *provider_circuit_name(enum circuit circuit)
{
    static const char *const names[] = {"closed", "open", "half-open"};
    assert(circuit >= CIRCUIT_CLOSED);
    assert(circuit <= CIRCUIT_HALF_OPEN);
    return names[circuit];
}

static bool probe_under_way(const struct provider *provider, int64_t now_us)
{
    assert(provider != NULL);
    assert(!provider->probing || provider->probe_until_us >= provider->open_until_us);
    return provider->probing && now_us < provider->probe_until_us;
}

int64_t provider_ready_us(const struct provider *provider, int64_t now_us)
{
    check(provider);
    if (!provider->open)
        return now_us;
    int64_t at_us = provider->open_until_us > now_us ? provider->open_until_us : now_us;
    if (probe_under_way(provider, now_us) && provider->probe_until_us > at_us)
        at_us = provider->probe_until_us;
    assert(at_us >= now_us);
    return at_us;
}

bool provider_probe_wanted(const struct provider *provider, int64_t now_us)
{
    check(provider);
    if (provider->disabled || probe_under_way(provider, now_us))
        return false;
    if (provider->open)
        return now_us >= provider->open_until_us;
    if (provider->failures_in_row == 0)
        return false;
    assert(provider->failed_us != INT64_MIN);
    return now_us - provider->failed_us >= PROVIDER_OPEN_US_MIN;
}

struct provider_ticket provider_probe_begin(struct provider *provider, int64_t now_us)
{
    assert(provider_probe_wanted(provider, now_us));
    assert(now_us <= INT64_MAX - PROVIDER_PROBE_US_MAX);
    provider->probing = true;
    provider->probe_until_us = now_us + PROVIDER_PROBE_US_MAX;
    provider->probe++;
    return (struct provider_ticket){
        .epoch = provider->epoch, .probe = provider->probe, .blows = provider->blows};
}

struct provider_ticket provider_ticket(const struct provider *provider)
{
    check(provider);
    assert(!provider->open);
    return (struct provider_ticket){.epoch = provider->epoch, .blows = provider->blows};
}

static void average_health(struct provider *provider, int32_t sample)
{
    assert(sample == 0 || sample == PROVIDER_HEALTH_FULL);
    provider->health = (provider->health * 9 + sample) / 10;
    check(provider);
}

/* Whether the answer may move the circuit: the probe under way, which it ends, or a request sent
 * since the circuit last closed. */
static bool take_ticket(struct provider *provider, struct provider_ticket ticket)
{
    check(provider);
    assert(ticket.probe <= provider->probe && ticket.epoch <= provider->epoch);
    assert(ticket.blows <= provider->blows);
    if (ticket.probe == 0) {
        assert(!provider->open || ticket.epoch < provider->epoch);
        return ticket.epoch == provider->epoch;
    }
    if (!provider->probing || ticket.probe != provider->probe)
        return false;
    provider->probing = false;
    return true;
}

void provider_succeeded(struct provider *provider, struct provider_ticket ticket,
                        int64_t latency_us, int64_t now_us)
{
    check(provider);
    assert(latency_us >= 0);
    provider->successes++;
    average_health(provider, PROVIDER_HEALTH_FULL);
    provider->latency_us = provider->latency_us < 0
                               ? latency_us
                               : provider->latency_us + (latency_us - provider->latency_us) / 5;
    if (!take_ticket(provider, ticket))
        return;
    if (now_us > provider->succeeded_us)
        provider->succeeded_us = now_us;
    provider->failures_in_row = 0;
    provider->limited_in_row = 0;
    provider->open = false;
    provider->open_us = 0;
    provider->open_until_us = 0;
    check(provider);
}

/* Opens the circuit, or keeps it open after a failed probe. */
static void open_circuit(struct provider *provider, bool longer, int64_t now_us)
{
    assert(now_us <= INT64_MAX - PROVIDER_OPEN_US_MAX);
    if (!provider->open)
        provider->open_us = PROVIDER_OPEN_US_MIN;
    else if (longer && provider->open_us < provider->open_us_max / 2)
        provider->open_us *= 2;
    else if (longer)
        provider->open_us = provider->open_us_max;
    provider->open = true;
    provider->open_until_us = now_us + provider->open_us;
    int64_t paused_us = bucket_closed_until(&provider->bucket, now_us);
    if (provider->open_until_us < paused_us)
        provider->open_until_us = paused_us;
    provider->probing = false;
    provider->epoch++;
    assert(provider->open_until_us > now_us);
}

/* Several requests under way hit one limit together: only the first of them lengthens the pause. */
static void slow_down(struct provider *provider, const struct provider_failure *failure,
                      int64_t now_us)
{
    assert(failure->class == RETRY_RATE_LIMITED || failure->retry_after_us > 0);
    assert(now_us <= INT64_MAX - BUCKET_PAUSE_US_MAX);
    int64_t pause_us = failure->retry_after_us;
    if (pause_us <= 0) {
        if (bucket_closed_until(&provider->bucket, now_us) > now_us)
            return;
        pause_us = PROVIDER_LIMIT_US_MIN;
        for (uint32_t i = 0; i < provider->limited_in_row && pause_us < PROVIDER_LIMIT_US_MAX; i++)
            pause_us *= 2;
        provider->limited_in_row++;
    }
    if (pause_us > BUCKET_PAUSE_US_MAX)
        pause_us = BUCKET_PAUSE_US_MAX;
    bucket_pause(&provider->bucket, now_us + pause_us, now_us);
}

void provider_failed(struct provider *provider, struct provider_ticket ticket,
                     const struct provider_failure *failure, int64_t now_us)
{
    check(provider);
    assert(failure->class >= RETRY_PERMANENT && failure->class <= RETRY_AUTH);
    assert(failure->reason != NULL);
    bool limited = failure->class == RETRY_RATE_LIMITED;
    bool ill = failure->class == RETRY_TRANSIENT || failure->class == RETRY_AUTH;
    provider->failures++;
    provider->limited += limited;
    provider->failed_us = now_us > provider->failed_us ? now_us : provider->failed_us;
    (void)provider_words_copy(provider->last_error, sizeof provider->last_error, failure->reason);
    if (ill)
        average_health(provider, 0);
    if (limited || failure->retry_after_us > 0)
        slow_down(provider, failure, now_us);
    if (!take_ticket(provider, ticket))
        return;
    if (ill && ticket.blows == provider->blows && provider->failures_in_row < UINT32_MAX) {
        provider->failures_in_row++;
        provider->blows++;
    }
    if (provider->open || failure->class == RETRY_AUTH ||
        provider->failures_in_row >= provider->open_failures)
        open_circuit(provider, ill, now_us);
    check(provider);
}

void provider_abandoned(struct provider *provider, struct provider_ticket ticket)
{
    check(provider);
    assert(ticket.epoch <= provider->epoch);
    if (provider->latency_us < 0 && provider->unmeasured < UINT32_MAX)
        provider->unmeasured++;
    (void)take_ticket(provider, ticket);
}

void provider_outrun(struct provider *provider, struct provider_ticket ticket, const char *reason)
{
    check(provider);
    assert(reason != NULL);
    (void)provider_words_copy(provider->last_error, sizeof provider->last_error, reason);
    average_health(provider, 0);
    provider_abandoned(provider, ticket);
}

void provider_proved(struct provider *provider, const struct provider_proof *proof)
{
    assert(proof->at_us >= 0);
    assert(proof->block >= 0 || proof->time_us >= 0);
    if (proof->at_us >= provider->proof.at_us)
        provider->proof = *proof;
}

size_t provider_words_copy(char *out, size_t size, const char *words)
{
    assert(size > 0);
    assert(words != NULL);
    struct bytes kept = utf8_cut(bytes_make(words, strnlen(words, size)), size - 1);
    size_t len = 0;
    for (size_t i = 0, steers; i<kept.len; i += steers> 0 ? steers : 1) {
        steers = utf8_steers(kept, i);
        out[len++] = steers > 0 ? ' ' : kept.data[i];
    }
    out[len] = '\0';
    return len;
}

/* What its latency is worth against others'. */
static int64_t latency_rank(const struct provider *provider)
{
    assert(provider->latency_us >= -1);
    assert(provider->latency_us == -1 || provider->successes > 0);
    bool spent = provider->latency_us < 0 && provider->unmeasured >= PROVIDER_UNKNOWN_TRIES;
    return spent ? INT64_MAX : provider->latency_us;
}

int provider_compare(const struct provider *a, const struct provider *b)
{
    check(a);
    check(b);
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    const int32_t step = PROVIDER_HEALTH_FULL / 10;
    int32_t a_band = (a->health + step / 2) / step, b_band = (b->health + step / 2) / step;
    if (a_band != b_band)
        return a_band > b_band ? -1 : 1;
    int64_t a_us = latency_rank(a), b_us = latency_rank(b);
    return a_us < b_us ? -1 : a_us > b_us;
}

void provider_name_of_url(const char *url, char out[PROVIDER_NAME_MAX])
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url : host + 3;
    size_t len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', len);
    if (at != NULL) {
        len -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    assert(out != NULL);
    snprintf(out, PROVIDER_NAME_MAX, "%.*s", (int)len, host);
    assert(strlen(out) < PROVIDER_NAME_MAX);
}
