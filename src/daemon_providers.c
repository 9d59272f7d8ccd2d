/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_providers.h"

#include <assert.h>
#include <string.h>

static bool differs(const struct source_provider *a, const struct source_provider *b)
{
    return strcmp(a->name, b->name) != 0 || strcmp(a->state, b->state) != 0 ||
           strcmp(a->reason, b->reason) != 0 || strcmp(a->chosen, b->chosen) != 0;
}

static bool has_changed(const struct daemon_providers *providers, const struct source_view *view)
{
    if (providers->stored_count != view->provider_count)
        return true;
    for (size_t i = 0; i < view->provider_count; i++)
        if (differs(&providers->stored[i], &view->providers[i]))
            return true;
    return false;
}

static struct bytes words_or_absent(const char *words)
{
    return *words == '\0' ? BYTES_ABSENT : bytes_of(words);
}

static bool add_row(struct batch *batch, const char *source, const struct source_provider *provider,
                    int64_t now_us)
{
    struct record *row = batch_add(batch, RECORD_PROVIDER);
    if (row == NULL)
        return false;
    batch_set_int(row, PROVIDER_AT_US, now_us);
    return batch_set_text(batch, row, PROVIDER_SOURCE, bytes_of(source)) &&
           batch_set_text(batch, row, PROVIDER_NAME, bytes_of(provider->name)) &&
           batch_set_text(batch, row, PROVIDER_STATE, bytes_of(provider->state)) &&
           batch_set_text(batch, row, PROVIDER_REASON, words_or_absent(provider->reason)) &&
           batch_set_text(batch, row, PROVIDER_CHOSEN, words_or_absent(provider->chosen));
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    (void)arg, (void)rc; /* the next change is stored with everything */
    batch_give_back(batch);
}

void daemon_providers_look(struct daemon_providers *providers, const char *source,
                           const struct source_view *view, int64_t now_us,
                           const struct source_env *env)
{
    assert(view->provider_count <= SOURCE_PROVIDERS_MAX);
    if (view->provider_count == 0 || !has_changed(providers, view))
        return;
    struct batch *batch = batch_take(env->pool);
    if (batch == NULL)
        return;
    bool whole = true;
    for (size_t i = 0; i < view->provider_count; i++)
        whole = whole && add_row(batch, source, &view->providers[i], now_us);
    batch->answered = answered;
    if (!whole || env->submit(env->submit_arg, batch) != RC_OK) {
        batch_give_back(batch);
        return;
    }
    memcpy(providers->stored, view->providers, sizeof providers->stored);
    providers->stored_count = view->provider_count;
}
