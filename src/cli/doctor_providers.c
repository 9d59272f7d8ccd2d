/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_probe.h"

#include "cli/connector_folder.h"
#include "decode/connector_expand.h"
#include "sys/clock.h"
#include "sys/network.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US    INT64_C(1000000)
#define SKEW_WARN_US (5 * SECOND_US) /* what a slow answer may feign */
#define SKEW_FAIL_US (300 * SECOND_US)

struct probing {
    struct doctor_probe *probes;
    size_t count, room;
};

static void add(struct probing *probing, enum doctor_asks asks, const char *root,
                const char *advice)
{
    if (*root == '\0')
        return;
    if (probing->count == probing->room) {
        probing->room = probing->room == 0 ? 16 : probing->room * 2;
        probing->probes = memory_resize(probing->probes, probing->room * sizeof *probing->probes);
    }
    doctor_probe_init(&probing->probes[probing->count++], asks, root, advice);
}

static void add_list(struct probing *probing, enum doctor_asks asks, struct config_list roots,
                     const char *advice)
{
    for (size_t i = 0; i < roots.count; i++)
        add(probing, asks, roots.items[i], advice);
}

/* ---- providers of histories ---- */

/* Scheme and host are enough, and hold no key. */
static void find_origin(const struct ledger_provider *provider, struct text *out)
{
    const struct connector_vars nothing = {.from = -1, .to = -1, .page = -1, .offset = -1};
    const struct connector_scope scope = {provider->connector, NULL,
                                          &provider->connector->platforms[0], &nothing};
    if (provider->base_url != NULL)
        text_append_string(out, provider->base_url);
    else if (!connector_expand(&scope, &provider->connector->base_url, false, out))
        return;
    const char *host = strstr(text_string(out), "://");
    if (host != NULL) {
        out->len = (size_t)(host + 3 + strcspn(host + 3, "/?#") - out->data);
        out->data[out->len] = '\0';
    }
}

static void add_ledger(struct probing *probing, const struct ledger_providers *providers,
                       const struct config_provider *settings, struct doctor_report *report)
{
    const struct ledger_provider *provider = ledger_providers_find(providers, settings->name);
    struct text origin = {0};
    if (!settings->enabled)
        return;
    if (provider == NULL) {
        doctor_say(report, DOCTOR_WARN, settings->name,
                   "Correct the name under providers, or add its description to ledger.connectors",
                   "no connector has this name");
    } else if (provider->keyless) {
        doctor_say(report, DOCTOR_WARN, settings->name,
                   "Set its api_key_file, or api_secret_file where requests are signed",
                   "it has no key and is never asked");
    } else {
        find_origin(provider, &origin);
        add(probing, DOCTOR_LEDGER, text_string(&origin),
            "Correct its base_url under providers, or see why the host does not answer");
    }
    text_free(&origin);
}

static void add_ledgers(struct probing *probing, const struct config *config,
                        struct doctor_report *report)
{
    struct ledger_providers *providers;
    struct err err = {0};
    if (config->provider_count == 0 && config->ledger.accounts.count == 0)
        return;
    providers = ledger_providers_new();
    if (connector_folder_read(config, providers, clock_mono_us(), &err) != RC_OK)
        doctor_say(report, DOCTOR_FAIL, "connectors", "Correct what is named, or ledger.connectors",
                   "%s", err.text);
    for (size_t i = 0; i < config->provider_count; i++)
        add_ledger(probing, providers, &config->providers[i], report);
    ledger_providers_free(providers);
}

/* ---- all of them ---- */

static void add_all(struct probing *probing, const struct config *config,
                    struct doctor_report *report)
{
    if (config_has_firehose(config)) {
        add(probing, DOCTOR_FIREHOSE, config->jetstream.endpoint,
            "Correct jetstream.endpoint, or see why the host does not answer");
        add(probing, DOCTOR_FIREHOSE, config->jetstream.fallback_endpoint,
            "Correct jetstream.fallback_endpoint, or see why the host does not answer");
    }
    if (config->bluesky.mode != CONFIG_MODE_OFF)
        add_list(probing, DOCTOR_APPVIEW, config->bluesky.appview,
                 "Correct bluesky.appview, or see why the host does not answer");
    if (config->bluesky.mode != CONFIG_MODE_OFF && *config->bluesky.identifier != '\0')
        add(probing, DOCTOR_PDS, config->bluesky.pds,
            "Correct bluesky.pds, or see why the host does not answer");
    add_list(probing, DOCTOR_RPC, config->content.rpc,
             "Correct content.rpc, or see why the node does not answer");
    add_list(probing, DOCTOR_GATEWAY, config->content.gateways,
             "Correct content.gateways, or see why the host does not answer");
    add_ledgers(probing, config, report);
}

static void run(struct probing *probing, const struct config *config)
{
    const char *ca_file = config->fetch.ca_file;
    struct loop *loop = loop_new();
    struct network *network =
        network_new(loop, &(struct network_options){.ca_file = *ca_file == '\0' ? NULL : ca_file});
    size_t left = probing->count;
    for (size_t i = 0; i < probing->count; i++)
        doctor_probe_start(&probing->probes[i], loop, &left);
    if (probing->count > 0)
        loop_run(loop);
    assert(left == 0);
    network_free(network);
    loop_free(loop);
}

/* Somebody else can be asked the same: the program goes on without this one. */
static bool has_substitute(const struct probing *probing, enum doctor_asks asks)
{
    for (size_t i = 0; asks != DOCTOR_LEDGER && i < probing->count; i++)
        if (probing->probes[i].asks == asks && probing->probes[i].good)
            return true;
    return false;
}

static void tell(const struct probing *probing, struct doctor_clues *clues,
                 struct doctor_report *report)
{
    for (size_t i = 0; i < probing->count; i++) {
        const struct doctor_probe *probe = &probing->probes[i];
        enum doctor_level bad = has_substitute(probing, probe->asks) ? DOCTOR_WARN : DOCTOR_FAIL;
        doctor_say(report, probe->good ? DOCTOR_OK : bad, probe->name,
                   probe->good ? NULL : probe->advice, "%s", probe->words.text);
        if (!probe->date_known || clues->skew_known)
            continue;
        clues->skew_known = true;
        clues->skew_us = probe->skew_us;
        snprintf(clues->teller, sizeof clues->teller, "%s", probe->name);
    }
}

void doctor_check_providers(const struct config *config, struct doctor_clues *clues,
                            struct doctor_report *report)
{
    struct probing probing = {0};
    add_all(&probing, config, report);
    run(&probing, config);
    tell(&probing, clues, report);
    for (size_t i = 0; i < probing.count; i++)
        doctor_probe_deinit(&probing.probes[i]);
    free(probing.probes);
}

/* ---- the clock ---- */

static void compare_with_events(const struct doctor_clues *clues, struct doctor_report *report)
{
    int64_t ahead_us = clues->newest_event_us - clock_wall_us();
    if (clues->newest_event_us == 0)
        doctor_say(report, DOCTOR_WARN, "clock", "See that it is kept right: timedatectl",
                   "not compared: no provider told the time, and no event is stored");
    else if (ahead_us > SKEW_WARN_US)
        doctor_say(report, DOCTOR_FAIL, "clock", "Set it: timedatectl set-ntp true",
                   "the newest event is %.0f s in this clock's future",
                   (double)ahead_us / SECOND_US);
    else
        doctor_say(report, DOCTOR_OK, "clock", NULL,
                   "not behind the newest event, which is %.0f s old; no provider told the time",
                   (double)-ahead_us / SECOND_US);
}

void doctor_check_clock(const struct doctor_clues *clues, struct doctor_report *report)
{
    int64_t apart_us = clues->skew_us < 0 ? -clues->skew_us : clues->skew_us;
    if (!clues->skew_known) {
        compare_with_events(clues, report);
        return;
    }
    enum doctor_level level = apart_us > SKEW_FAIL_US   ? DOCTOR_FAIL
                              : apart_us > SKEW_WARN_US ? DOCTOR_WARN
                                                        : DOCTOR_OK;
    doctor_say(report, level, "clock",
               level == DOCTOR_OK ? NULL : "Set it: timedatectl set-ntp true", "%.0f s %s %s",
               (double)apart_us / SECOND_US, clues->skew_us < 0 ? "ahead of" : "behind",
               clues->teller);
}
