/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/bucket.h"

#include "chance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static void a_burst_goes_at_once_and_the_rest_at_the_rate(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.tokens = 5, .per_us = SECOND, .burst = 3}, 0);
    int64_t at_us;
    for (int i = 0; i < 3; i++)
        assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
    for (int64_t i = 1; i < 50; i++) {
        assert_int_equal(bucket_take(&bucket, 1, (i - 1) * 200000, &at_us), RC_AGAIN);
        assert_int_equal(at_us, i * 200000);
        assert_int_equal(bucket_take(&bucket, 1, at_us - 1, &at_us), RC_AGAIN);
        assert_int_equal(bucket_take(&bucket, 1, i * 200000, &at_us), RC_OK);
    }
}

static void a_pause_between_requests_is_a_bucket_of_one(void **state)
{
    (void)state;
    for (int64_t pause_ms = 100; pause_ms <= 500; pause_ms += 400) {
        struct bucket bucket;
        bucket_init(&bucket,
                    &(struct bucket_limits){.tokens = 1, .per_us = pause_ms * 1000, .burst = 1}, 0);
        int64_t now_us = SECOND, at_us;
        for (int i = 0; i < 100; i++) {
            assert_int_equal(bucket_take(&bucket, 1, now_us, &at_us), RC_OK);
            assert_int_equal(bucket_take(&bucket, 1, now_us, &at_us), RC_AGAIN);
            assert_int_equal(at_us - now_us, pause_ms * 1000);
            now_us = at_us;
        }
    }
}

static void no_more_than_the_places_are_under_way(void **state)
{
    (void)state;
    for (uint32_t places = 1; places <= 10; places++) {
        struct bucket bucket;
        bucket_init(&bucket, &(struct bucket_limits){.flights_max = places}, 0);
        int64_t at_us;
        for (uint32_t i = 0; i < places; i++)
            assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
        assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_AGAIN);
        assert_true(at_us == BUCKET_NEVER);
        bucket_release(&bucket, 1);
        assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
        assert_int_equal(bucket_take(&bucket, 1, SECOND, &at_us), RC_AGAIN);
    }
}

static void a_heavy_request_waits_for_all_its_tokens(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.tokens = 10, .per_us = SECOND, .burst = 20}, 0);
    int64_t at_us;
    assert_int_equal(bucket_take(&bucket, 15, 0, &at_us), RC_OK);
    assert_int_equal(bucket_take(&bucket, 20, 0, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 1500000);
    assert_int_equal(bucket_take(&bucket, 5, 0, &at_us), RC_OK);
    assert_int_equal(bucket_take(&bucket, 20, 1999999, &at_us), RC_AGAIN);
    assert_int_equal(bucket_take(&bucket, 20, 2 * SECOND, &at_us), RC_OK);
}

static void what_the_server_has_left_counts_until_its_reset(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.tokens = 100, .per_us = SECOND, .burst = 100}, 0);
    int64_t at_us;
    assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
    assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
    bucket_release(&bucket, 1);
    bucket_told(&bucket, 3, 60 * SECOND, 0); /* one is still under way: two are left */
    assert_int_equal(bucket_closed_until(&bucket, 0), 0);
    assert_int_equal(bucket_take(&bucket, 3, 0, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 60 * SECOND);
    assert_int_equal(bucket_take(&bucket, 2, 0, &at_us), RC_OK);
    assert_int_equal(bucket_closed_until(&bucket, 0), 60 * SECOND);
    bucket_told(&bucket, 90, 60 * SECOND, SECOND); /* an older answer, overtaken */
    assert_int_equal(bucket_take(&bucket, 1, 60 * SECOND - 1, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 60 * SECOND);
    assert_int_equal(bucket_take(&bucket, 1, 60 * SECOND, &at_us), RC_OK);
    assert_int_equal(bucket_take(&bucket, 50, 60 * SECOND, &at_us), RC_OK);
}

static void a_pause_stops_everybody_and_is_believed_for_an_hour_at_most(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.flights_max = 10}, 0);
    int64_t at_us;
    bucket_pause(&bucket, 30 * SECOND, 0);
    bucket_pause(&bucket, 10 * SECOND, 0);
    for (uint32_t weight = 1; weight < 5; weight++) {
        assert_int_equal(bucket_take(&bucket, weight, 29 * SECOND, &at_us), RC_AGAIN);
        assert_int_equal(at_us, 30 * SECOND);
    }
    assert_int_equal(bucket_closed_until(&bucket, SECOND), 30 * SECOND);
    assert_int_equal(bucket_closed_until(&bucket, 31 * SECOND), 31 * SECOND);
    assert_int_equal(bucket_take(&bucket, 1, 30 * SECOND, &at_us), RC_OK);
    bucket_pause(&bucket, INT64_MAX, 30 * SECOND);
    assert_int_equal(bucket_take(&bucket, 1, 31 * SECOND, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 30 * SECOND + BUCKET_PAUSE_US_MAX);
}

static void time_that_goes_back_gives_nothing_and_a_long_sleep_only_the_burst(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.tokens = 1000000, .per_us = 1, .burst = 1000000},
                0);
    int64_t at_us;
    assert_int_equal(bucket_take(&bucket, 1000000, INT64_MAX / 2, &at_us), RC_OK);
    assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_AGAIN);
    assert_int_equal(bucket_take(&bucket, 1, INT64_MAX / 2, &at_us), RC_AGAIN);
    assert_int_equal(at_us, INT64_MAX / 2 + 1);
}

/* The model: admissions as they happened, judged by the definition over every interval that ends
 * now, and a token count of its own that is never stored between requests. */
enum { KEPT = 48 };
struct model {
    struct bucket_limits limits;
    int64_t at_us[KEPT];
    uint32_t weight[KEPT];
    uint32_t count, flights;
    int64_t owed; /* what was admitted and is not yet earned back, in 1/per_us token */
    int64_t owed_us, pause_us;
};

static int64_t owed_at(const struct model *model, int64_t now_us)
{
    int64_t owed = model->owed - (int64_t)(now_us - model->owed_us) * model->limits.tokens;
    return owed > 0 ? owed : 0;
}

static bool fits(const struct model *model, uint32_t weight, int64_t now_us)
{
    int64_t most = (int64_t)model->limits.burst * model->limits.per_us;
    if (now_us < model->pause_us)
        return false;
    return owed_at(model, now_us) + (int64_t)weight * model->limits.per_us <= most;
}

static void admit(struct model *model, uint32_t weight, int64_t now_us)
{
    model->owed = owed_at(model, now_us) + (int64_t)weight * model->limits.per_us;
    model->owed_us = now_us;
    model->at_us[model->count % KEPT] = now_us;
    model->weight[model->count % KEPT] = weight;
    model->count++;
    model->flights++;
    uint64_t sum = 0;
    for (uint32_t back = 1; back <= KEPT && back <= model->count; back++) {
        uint32_t i = (model->count - back) % KEPT;
        sum += model->weight[i];
        int64_t earned = (int64_t)(now_us - model->at_us[i]) * model->limits.tokens;
        int64_t most = (int64_t)model->limits.burst * model->limits.per_us + earned;
        assert_true((int64_t)sum * model->limits.per_us <= most);
    }
}

static void begin_model(struct model *model, struct bucket *bucket, struct chance *chance,
                        int64_t now_us)
{
    *model = (struct model){
        .limits = {.tokens = 1 + chance_below(chance, 20),
                   .per_us = 1 + chance_below(chance, chance_below(chance, 2) ? 3000000 : 50),
                   .burst = 1 + chance_below(chance, 40),
                   .flights_max = chance_below(chance, 8)},
        .owed_us = now_us,
        .pause_us = now_us,
    };
    bucket_init(bucket, &model->limits, now_us);
}

static void ask_both(struct model *model, struct bucket *bucket, struct chance *chance,
                     uint32_t *weights, int64_t now_us)
{
    uint32_t weight = 1 + chance_below(chance, model->limits.burst);
    if (chance_below(chance, 3) > 0)
        weight = 1;
    int64_t at_us;
    bool room = model->limits.flights_max == 0 || model->flights < model->limits.flights_max;
    bool timely = fits(model, weight, now_us);
    enum rc rc = bucket_take(bucket, weight, now_us, &at_us);
    assert_int_equal(rc == RC_OK, room && timely);
    if (rc == RC_OK) {
        weights[model->flights % KEPT] = weight;
        admit(model, weight, now_us);
        return;
    }
    assert_int_equal(at_us == BUCKET_NEVER, timely);
    if (timely)
        return;
    assert_true(at_us > now_us);
    assert_true(fits(model, weight, at_us));
    assert_false(fits(model, weight, at_us - 1));
}

static void no_interval_ever_admits_more_than_rate_and_burst(void **state)
{
    (void)state;
    struct chance chance = chance_init("bucket");
    struct model model = {0};
    struct bucket bucket;
    uint32_t weights[KEPT];
    int64_t now_us = 0;
    for (uint32_t op = 0; op < 1500000; op++) {
        if (op % 5000 == 0)
            begin_model(&model, &bucket, &chance, now_us);
        uint32_t dice = chance_below(&chance, 100);
        if (dice < 60) {
            if (model.flights == KEPT) {
                bucket_release(&bucket, weights[--model.flights]);
                continue;
            }
            ask_both(&model, &bucket, &chance, weights, now_us);
        } else if (dice < 75) {
            if (model.flights > 0)
                bucket_release(&bucket, weights[--model.flights]);
        } else if (dice < 99) {
            now_us += chance_below(&chance, (uint32_t)model.limits.per_us * 2);
        } else {
            int64_t until_us = now_us + chance_below(&chance, (uint32_t)model.limits.per_us * 4);
            bucket_pause(&bucket, until_us, now_us);
            model.pause_us = until_us > model.pause_us ? until_us : model.pause_us;
        }
    }
}

static void a_server_budget_is_never_overdrawn_before_its_reset(void **state)
{
    (void)state;
    struct chance chance = chance_init("budget");
    struct bucket bucket;
    bucket_init(&bucket, &(struct bucket_limits){.tokens = 10, .per_us = 1000, .burst = 50}, 0);
    int64_t now_us = 0, reset_us = 0;
    uint32_t left = 0;
    for (uint32_t op = 0; op < 1000000; op++) {
        if (now_us >= reset_us) {
            left = chance_below(&chance, 30);
            reset_us = now_us + 1 + chance_below(&chance, 20000);
            bucket_told(&bucket, left, reset_us, now_us);
        }
        uint32_t weight = 1 + chance_below(&chance, 4);
        int64_t at_us;
        if (bucket_take(&bucket, weight, now_us, &at_us) == RC_OK) {
            assert_true(weight <= left);
            left -= weight;
            bucket_release(&bucket, weight);
        } else {
            assert_true(at_us > now_us);
            assert_true(weight <= left ? at_us < INT64_MAX : at_us >= reset_us);
        }
        now_us += chance_below(&chance, 300);
    }
}

static void other_limits_hold_at_once_and_admit_nothing_by_themselves(void **state)
{
    (void)state;
    struct bucket bucket;
    int64_t at_us;
    bucket_init(&bucket,
                &(struct bucket_limits){.tokens = 1, .per_us = 100, .burst = 5, .flights_max = 3},
                0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_OK);
    bucket_tune(&bucket,
                &(struct bucket_limits){.tokens = 1, .per_us = 1000, .burst = 1, .flights_max = 2},
                0);
    assert_int_equal(bucket_take(&bucket, 1, 0, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 1000);
    assert_int_equal(bucket_take(&bucket, 1, 1000, &at_us), RC_AGAIN);
    assert_int_equal(at_us, BUCKET_NEVER);
    bucket_release(&bucket, 1);
    assert_int_equal(bucket_take(&bucket, 1, 1000, &at_us), RC_AGAIN);
    bucket_release(&bucket, 1);
    assert_int_equal(bucket_take(&bucket, 1, 1000, &at_us), RC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_goes_at_once_and_the_rest_at_the_rate),
        cmocka_unit_test(a_pause_between_requests_is_a_bucket_of_one),
        cmocka_unit_test(no_more_than_the_places_are_under_way),
        cmocka_unit_test(a_heavy_request_waits_for_all_its_tokens),
        cmocka_unit_test(what_the_server_has_left_counts_until_its_reset),
        cmocka_unit_test(a_pause_stops_everybody_and_is_believed_for_an_hour_at_most),
        cmocka_unit_test(time_that_goes_back_gives_nothing_and_a_long_sleep_only_the_burst),
        cmocka_unit_test(no_interval_ever_admits_more_than_rate_and_burst),
        cmocka_unit_test(other_limits_hold_at_once_and_admit_nothing_by_themselves),
        cmocka_unit_test(a_server_budget_is_never_overdrawn_before_its_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
