/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_providers.h - who can be asked for account histories, and how each is doing.
 *
 * A connector becomes a provider when it is added: with its configured address, keys and priority.
 * Rate limits are one provider's for the whole process; circuits and health are kept for each
 * platform, since a provider may serve one chain well and another badly.
 *
 * Always holds: a provider that needs a key and has none is never asked and says so; secrets are
 * only revealed to build requests.
 *
 * Owner: the daemon, or the command that imports.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_PROVIDERS_H
#define SOURCE_LEDGER_PROVIDERS_H

#include "base/secret.h"
#include "config.h"
#include "decode/connector.h"
#include "ingest/failover.h"
#include "source/ledger_nonces.h"
#include "source/ledger_pace.h"

#define LEDGER_PROVIDERS_MAX 64
#define LEDGER_STREAMS_MAX   16 /* of one platform, over all its providers */

struct ledger_provider {
    struct connector *connector;
    char *base_url; /* NULL: the connector's own */
    struct secret api_key, api_secret;
    int64_t priority;
    bool enabled;
    bool keyless; /* it needs a key and has none */
    struct ledger_pace pace;
};

/* A chain or an exchange with those who serve it; number i of `group` is members[i]. */
struct ledger_platform {
    struct ledger_platform *next;
    char name[CONNECTOR_ACCOUNT_MAX];
    struct failover group;
    struct ledger_provider *members[FAILOVER_PROVIDERS_MAX];
    const char *streams[LEDGER_STREAMS_MAX]; /* by the provider that is preferred */
    size_t stream_count;
    struct ledger_nonces *nonces; /* NULL: nobody of it needs any */
};

struct ledger_providers;

struct ledger_providers *ledger_providers_new(void);
void ledger_providers_free(struct ledger_providers *providers);
/* Reads a connector and what the configuration says about it. RC_REJECT: the sentence names file,
 * line and column. */
must_check enum rc ledger_providers_add(struct ledger_providers *providers, struct bytes yaml,
                                        const char *file, const struct config *config,
                                        int64_t now_us, struct err *err);
/* Keys that lie in files; absent ones change nothing. */
void ledger_providers_set_keys(struct ledger_providers *providers, const char *name,
                               struct bytes api_key, struct bytes api_secret);
/* By the connector's name; NULL: there is no such connector. */
const struct ledger_provider *ledger_providers_find(const struct ledger_providers *providers,
                                                    const char *name);
/* Whose files have these columns, and which of its streams that is; NULL: nobody's. */
struct ledger_provider *ledger_providers_csv(struct ledger_providers *providers,
                                             struct bytes columns,
                                             const struct connector_stream **stream);
/* RC_REJECT: nobody serves it. */
must_check enum rc ledger_providers_platform(struct ledger_providers *providers, struct bytes name,
                                             int64_t now_us, struct ledger_platform **out,
                                             struct err *err);
const struct ledger_platform *ledger_providers_first(const struct ledger_providers *providers);

/* What people are told to set beside `api_key`: "" or " and api_secret". */
const char *ledger_provider_more_keys(const struct ledger_provider *provider);

/* How this account's identifier is written; RC_REJECT: it is none of this platform. */
must_check enum rc ledger_platform_identifier(const struct ledger_platform *platform,
                                              struct bytes text, struct text *out, struct err *err);
/* Somebody who is enabled has this stream; `only`: whether this one has. NULL: anybody. */
bool ledger_platform_serves(const struct ledger_platform *platform, const char *only,
                            const char *stream);
/* Every provider of the platform lacks its key. */
bool ledger_platform_keyless(const struct ledger_platform *platform);

#endif
