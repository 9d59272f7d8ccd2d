/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/bucket.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

static void check(const struct bucket *bucket)
{
    assert(bucket->level >= 0);
    assert(bucket->level <= (int64_t)bucket->limits.burst * bucket->limits.per_us);
    assert(bucket->told_left >= -1);
}

static void set_limits(struct bucket *bucket, const struct bucket_limits *limits)
{
    assert(limits->tokens <= BUCKET_TOKENS_MAX && limits->burst <= BUCKET_BURST_MAX);
    assert(limits->tokens == 0 || limits->burst > 0);
    assert(limits->tokens == 0 || (limits->per_us > 0 && limits->per_us <= BUCKET_PER_US_MAX));
    bucket->limits = *limits;
    if (limits->tokens == 0) {
        bucket->limits.burst = 0;
        bucket->limits.per_us = 0;
    }
    bucket->level = 0;
}

void bucket_init(struct bucket *bucket, const struct bucket_limits *limits, int64_t now_us)
{
    *bucket = (struct bucket){.seen_us = now_us, .paused_us = now_us, .told_left = -1};
    set_limits(bucket, limits);
    bucket->level = (int64_t)bucket->limits.burst * bucket->limits.per_us;
    check(bucket);
}

static void refill(struct bucket *bucket, int64_t now_us)
{
    check(bucket);
    if (now_us <= bucket->seen_us)
        return;
    int64_t full = (int64_t)bucket->limits.burst * bucket->limits.per_us;
    int64_t gained_us = now_us - bucket->seen_us;
    int64_t tokens = bucket->limits.tokens;
    bucket->seen_us = now_us;
    /* The comparison by division keeps a long sleep from overflowing the product. */
    if (tokens == 0 || gained_us > (full - bucket->level) / tokens)
        bucket->level = full;
    else
        bucket->level += gained_us * tokens;
    assert(bucket->level <= full);
}

void bucket_tune(struct bucket *bucket, const struct bucket_limits *limits, int64_t now_us)
{
    refill(bucket, now_us);
    set_limits(bucket, limits);
    check(bucket);
}

static void forget_told(struct bucket *bucket)
{
    assert(bucket->told_left >= -1);
    assert(bucket->seen_us >= bucket->told_reset || bucket->told_left == -1);
    bucket->told_left = -1;
    bucket->told_reset = 0;
}

/* When time alone would admit the weight: rate, pause and the server's budget together. */
static int64_t find_time(const struct bucket *bucket, uint32_t weight)
{
    assert(bucket->limits.tokens == 0 || weight <= bucket->limits.burst);
    assert(bucket->told_left == -1 || bucket->told_reset > bucket->seen_us);
    int64_t at_us = bucket->seen_us;
    int64_t missing = (int64_t)weight * bucket->limits.per_us - bucket->level;
    if (missing > 0)
        at_us += (missing + bucket->limits.tokens - 1) / bucket->limits.tokens;
    if (bucket->told_left >= 0 && bucket->told_left < weight && at_us < bucket->told_reset)
        at_us = bucket->told_reset;
    return at_us > bucket->paused_us ? at_us : bucket->paused_us;
}

int64_t bucket_when(struct bucket *bucket, uint32_t weight, int64_t now_us)
{
    assert(bucket->limits.tokens == 0 || weight <= bucket->limits.burst);
    refill(bucket, now_us);
    if (bucket->told_left >= 0 && bucket->seen_us >= bucket->told_reset)
        forget_told(bucket);
    int64_t at_us = find_time(bucket, weight);
    bool full = bucket->limits.flights_max != 0 && bucket->flights >= bucket->limits.flights_max;
    assert(at_us >= bucket->seen_us);
    return at_us <= bucket->seen_us && full ? BUCKET_NEVER : at_us;
}

enum rc bucket_take(struct bucket *bucket, uint32_t weight, int64_t now_us, int64_t *at_us)
{
    assert(at_us != NULL);
    *at_us = bucket_when(bucket, weight, now_us);
    if (*at_us > bucket->seen_us)
        return RC_AGAIN;
    bucket->level -= (int64_t)weight * bucket->limits.per_us;
    if (bucket->told_left >= 0)
        bucket->told_left -= weight;
    bucket->flights++;
    bucket->weight_in_flight += weight;
    assert(bucket->limits.flights_max == 0 || bucket->flights <= bucket->limits.flights_max);
    check(bucket);
    return RC_OK;
}

void bucket_release(struct bucket *bucket, uint32_t weight)
{
    assert(bucket->flights > 0);
    assert(bucket->weight_in_flight >= weight);
    bucket->flights--;
    bucket->weight_in_flight -= weight;
}

static int64_t believe(int64_t until_us, int64_t now_us)
{
    assert(now_us <= INT64_MAX - BUCKET_PAUSE_US_MAX);
    int64_t most_us = now_us + BUCKET_PAUSE_US_MAX;
    assert(most_us > now_us);
    return until_us < most_us ? until_us : most_us;
}

void bucket_told(struct bucket *bucket, uint32_t remaining, int64_t reset_us, int64_t now_us)
{
    refill(bucket, now_us);
    assert(bucket->seen_us >= now_us);
    reset_us = believe(reset_us, bucket->seen_us);
    if (reset_us <= bucket->seen_us)
        return;
    int64_t left = (int64_t)remaining - (int64_t)bucket->weight_in_flight;
    left = left > 0 ? left : 0;
    /* Answers overtake each other: within one budget the smaller number is the later one. */
    if (bucket->told_left >= 0 && reset_us <= bucket->told_reset && bucket->told_left < left)
        left = bucket->told_left;
    bucket->told_left = left;
    bucket->told_reset = reset_us;
    check(bucket);
}

void bucket_pause(struct bucket *bucket, int64_t until_us, int64_t now_us)
{
    check(bucket);
    until_us = believe(until_us, now_us);
    if (bucket->paused_us < until_us)
        bucket->paused_us = until_us;
    assert(bucket->paused_us >= until_us);
}

int64_t bucket_closed_until(const struct bucket *bucket, int64_t now_us)
{
    check(bucket);
    int64_t until_us = bucket->paused_us > now_us ? bucket->paused_us : now_us;
    if (bucket->told_left == 0 && bucket->told_reset > until_us)
        until_us = bucket->told_reset;
    assert(until_us >= now_us);
    return until_us;
}
