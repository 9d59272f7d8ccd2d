/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_providers.h"

#include "ingest/cursor.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_providers {
    struct ledger_provider *items[LEDGER_PROVIDERS_MAX]; /* the preferred ones first */
    size_t count;
    struct ledger_platform *platforms;
    struct ledger_nonces nonces;
};

struct ledger_providers *ledger_providers_new(void)
{
    return memory_new_zeroed(1, sizeof(struct ledger_providers));
}

static void free_provider(struct ledger_provider *provider)
{
    connector_free(provider->connector);
    secret_clear(&provider->api_key);
    secret_clear(&provider->api_secret);
    free(provider->base_url);
    free(provider);
}

void ledger_providers_free(struct ledger_providers *providers)
{
    if (providers == NULL)
        return;
    for (struct ledger_platform *at; (at = providers->platforms) != NULL;) {
        providers->platforms = at->next;
        free(at);
    }
    for (size_t i = 0; i < providers->count; i++)
        free_provider(providers->items[i]);
    free(providers);
}

static void look_for_keys(struct ledger_provider *provider)
{
    bool lacks = !secret_given(&provider->api_key) ||
                 (provider->connector->sign != SIGN_NONE && !secret_given(&provider->api_secret));
    provider->keyless = lacks && connector_needs_key(provider->connector);
}

static void configure(struct ledger_provider *provider, const struct config_provider *settings)
{
    provider->enabled = true;
    provider->priority = provider->connector->priority;
    if (settings != NULL) {
        provider->enabled = settings->enabled;
        if (settings->origins[CONFIG_PROVIDER_PRIORITY].from != CONFIG_DEFAULT)
            provider->priority = settings->priority;
        if (settings->base_url[0] != '\0')
            provider->base_url = memory_copy_string(settings->base_url);
        secret_set(&provider->api_key, secret_reveal(&settings->api_key));
        secret_set(&provider->api_secret, secret_reveal(&settings->api_secret));
    }
    look_for_keys(provider);
}

enum rc ledger_providers_add(struct ledger_providers *providers, struct bytes yaml,
                             const char *file, const struct config *config, int64_t now_us,
                             struct err *err)
{
    struct connector *connector;
    assert(providers->platforms == NULL); /* all are added before any is asked */
    if (providers->count == LEDGER_PROVIDERS_MAX)
        return err_set(err, RC_REJECT, "%s: no more than %d connectors", file,
                       LEDGER_PROVIDERS_MAX);
    enum rc rc = connector_load(yaml, file, &connector, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < providers->count; i++)
        if (strcmp(providers->items[i]->connector->provider, connector->provider) == 0) {
            rc = err_set(err, RC_REJECT, "%s: the provider %s is described in %s already", file,
                         connector->provider, providers->items[i]->connector->file);
            connector_free(connector);
            return rc;
        }
    struct ledger_provider *provider = memory_new_zeroed(1, sizeof *provider);
    provider->connector = connector;
    configure(provider, config_provider_find(config, connector->provider));
    ledger_pace_init(&provider->pace, &connector->rate, now_us);
    size_t at = providers->count++;
    for (; at > 0 && providers->items[at - 1]->priority > provider->priority; at--)
        providers->items[at] = providers->items[at - 1];
    providers->items[at] = provider;
    return RC_OK;
}

void ledger_providers_set_keys(struct ledger_providers *providers, const char *name,
                               struct bytes api_key, struct bytes api_secret)
{
    assert(providers->platforms == NULL);
    for (size_t i = 0; i < providers->count; i++) {
        struct ledger_provider *provider = providers->items[i];
        if (strcmp(provider->connector->provider, name) != 0)
            continue;
        if (api_key.len > 0)
            secret_set(&provider->api_key, api_key);
        if (api_secret.len > 0)
            secret_set(&provider->api_secret, api_secret);
        look_for_keys(provider);
    }
}

const struct ledger_provider *ledger_providers_find(const struct ledger_providers *providers,
                                                    const char *name)
{
    for (size_t i = 0; i < providers->count; i++)
        if (strcmp(providers->items[i]->connector->provider, name) == 0)
            return providers->items[i];
    return NULL;
}

static void add_streams(struct ledger_platform *platform, const struct connector *connector)
{
    for (size_t i = 0; i < connector->stream_count; i++) {
        const char *name = connector->streams[i].name;
        size_t at = 0;
        while (at < platform->stream_count && strcmp(platform->streams[at], name) != 0)
            at++;
        if (at == platform->stream_count && at < LEDGER_STREAMS_MAX &&
            connector->streams[i].request != NULL &&
            connector_stream_serves(&connector->streams[i], bytes_of(platform->name)))
            platform->streams[platform->stream_count++] = name;
    }
}

static enum rc add_member(struct ledger_platform *platform, struct ledger_provider *provider,
                          int64_t now_us, struct err *err)
{
    const struct connector *connector = provider->connector;
    /* Everybody can begin at the beginning, so no position rules anybody out. */
    struct provider_spec spec = {.name = connector->provider,
                                 .kinds = (1U << CURSOR_KINDS) - 2,
                                 .kind_preferred = cursor_bit(CURSOR_BLOCK_NUMBER),
                                 .replay_blocks = connector->replay_blocks,
                                 .replay_us = connector->replay_us,
                                 .priority = (int32_t)provider->priority,
                                 .disabled = !provider->enabled || provider->keyless};
    int number;
    enum rc rc = failover_add(&platform->group, &spec, now_us, &number, err);
    if (rc != RC_OK)
        return rc;
    platform->members[number] = provider;
    if (!spec.disabled)
        add_streams(platform, connector);
    return RC_OK;
}

struct ledger_provider *ledger_providers_csv(struct ledger_providers *providers,
                                             struct bytes columns,
                                             const struct connector_stream **stream)
{
    for (size_t i = 0; i < providers->count; i++) {
        *stream = connector_csv_stream(providers->items[i]->connector, columns);
        if (*stream != NULL)
            return providers->items[i];
    }
    return NULL;
}

static struct ledger_platform *find_platform(const struct ledger_providers *providers,
                                             struct bytes name)
{
    struct ledger_platform *at = providers->platforms;
    while (at != NULL && !bytes_equal_string(name, at->name))
        at = at->next;
    return at;
}

enum rc ledger_providers_platform(struct ledger_providers *providers, struct bytes name,
                                  int64_t now_us, struct ledger_platform **out, struct err *err)
{
    struct failover_settings settings;
    enum rc rc = RC_OK;
    *out = find_platform(providers, name);
    if (*out != NULL)
        return RC_OK;
    struct ledger_platform *platform = memory_new_zeroed(1, sizeof *platform);
    snprintf(platform->name, sizeof platform->name, "%.*s", (int)name.len, name.data);
    failover_settings_default(&settings);
    failover_init(&platform->group, &settings);
    for (size_t i = 0; i < providers->count && rc == RC_OK; i++)
        if (connector_platform(providers->items[i]->connector, name) != NULL) {
            rc = add_member(platform, providers->items[i], now_us, err);
            if (providers->items[i]->connector->uses_nonce)
                platform->nonces = &providers->nonces;
        }
    if (rc == RC_OK && platform->group.count == 0)
        rc = err_set(err, RC_REJECT, "no connector serves %.*s", (int)name.len, name.data);
    if (rc != RC_OK) {
        free(platform);
        return rc;
    }
    platform->next = providers->platforms;
    providers->platforms = *out = platform;
    return RC_OK;
}

const struct ledger_platform *ledger_providers_first(const struct ledger_providers *providers)
{
    return providers->platforms;
}

const char *ledger_provider_more_keys(const struct ledger_provider *provider)
{
    return provider->connector->sign == SIGN_NONE ? "" : " and api_secret";
}

enum rc ledger_platform_identifier(const struct ledger_platform *platform, struct bytes text,
                                   struct text *out, struct err *err)
{
    assert(platform->group.count > 0);
    return connector_identifier_read(platform->members[0]->connector->identifier, text, out, err);
}

bool ledger_platform_serves(const struct ledger_platform *platform, const char *only,
                            const char *stream)
{
    for (int i = 0; i < platform->group.count; i++) {
        const struct connector *connector = platform->members[i]->connector;
        const struct connector_stream *shape = connector_stream(connector, bytes_of(stream));
        bool wanted = only == NULL || strcmp(only, connector->provider) == 0;
        if (wanted && shape != NULL && shape->request != NULL &&
            !platform->group.providers[i].disabled &&
            connector_stream_serves(shape, bytes_of(platform->name)))
            return true;
    }
    return false;
}

bool ledger_platform_keyless(const struct ledger_platform *platform)
{
    for (int i = 0; i < platform->group.count; i++)
        if (!platform->members[i]->keyless)
            return false;
    return true;
}
