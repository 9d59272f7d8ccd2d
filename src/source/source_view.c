/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source_view.h"

#include <assert.h>
#include <stdio.h>

/* The last move to provider `number`, in words. */
static void show_choice(const struct failover *group, int number, struct source_provider *shown)
{
    const struct failover_switch *move;
    for (uint32_t back = 0; (move = failover_history(group, back)) != NULL; back++) {
        if (move->to != number)
            continue;
        const char *from = move->from == PROVIDER_NONE ? "none" : group->providers[move->from].name;
        snprintf(shown->chosen, sizeof shown->chosen, "from %s: %s", from, move->reason);
        return;
    }
}

void source_show_provider(const struct failover *group, int number, int64_t now_us,
                          struct source_provider *shown)
{
    const struct provider *provider = &group->providers[number];
    const char *state = provider_circuit_name(provider_circuit(provider, now_us));
    *shown = (struct source_provider){.successes = provider->successes,
                                      .failures = provider->failures,
                                      .latency_us = provider->latency_us};
    provider_words_copy(shown->name, sizeof shown->name, provider->name);
    provider_words_copy(shown->state, sizeof shown->state, state);
    provider_words_copy(shown->reason, sizeof shown->reason, provider->last_error);
    show_choice(group, number, shown);
}

void source_show_providers(const struct failover *group, int current, int64_t now_us,
                           struct source_view *view)
{
    assert(group != NULL && view->provider_count == 0);
    for (int i = 0; i < group->count && i < SOURCE_PROVIDERS_MAX; i++) {
        struct source_provider *shown = &view->providers[view->provider_count++];
        source_show_provider(group, i, now_us, shown);
        shown->current = i == current;
    }
}
