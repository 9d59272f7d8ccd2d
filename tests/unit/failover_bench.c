/* SPDX-License-Identifier: Apache-2.0 */
#include "failover_bench.h"

const struct provider_failure broken = {RETRY_TRANSIENT, -1, "HTTP 503"};

struct failover group;
struct failover_stream stream;

int add(const char *name, uint32_t kinds, uint32_t preferred, int32_t priority)
{
    int number = PROVIDER_NONE;
    struct provider_spec spec = {
        .name = name, .kinds = kinds, .kind_preferred = preferred, .priority = priority};
    assert_int_equal(failover_add(&group, &spec, 0, &number, NULL), RC_OK);
    return number;
}

int failover_bench_set_up(void **state)
{
    (void)state;
    struct failover_settings settings;
    failover_settings_default(&settings);
    failover_init(&group, &settings);
    failover_stream_init(&stream, &group, "ethereum/normal");
    return 0;
}

struct failover_offer offer_of(uint32_t portable, uint32_t scoped, int owner)
{
    return (struct failover_offer){.portable = portable, .scoped = scoped, .owner = owner};
}

struct failover_pick choose(struct failover_stream *of, struct failover_offer offer, int64_t now_us)
{
    struct failover_pick pick;
    struct err err = {""};
    if (failover_choose(of, &offer, now_us, &pick, &err) != RC_OK)
        print_message("%s\n", err.text);
    assert_int_not_equal(pick.provider, PROVIDER_NONE);
    return pick;
}

void let_fail(struct failover_stream *of, const struct failover_pick *pick, int64_t now_us)
{
    failover_failed(of, pick, &broken, now_us, RETRY_CENTRE);
}
