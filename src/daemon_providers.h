/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_providers.h - what is known of each upstream, kept in the store.
 *
 * Looks at a source's view now and then, and when a provider's circuit, last failure or reason of
 * choice has changed since it was last stored, hands the writer a batch of its own. Without a free
 * batch it waits for the next look: the ingest of events goes first.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_PROVIDERS_H
#define DAEMON_PROVIDERS_H

#include "source/source.h"

struct daemon_providers {
    struct source_provider stored[SOURCE_PROVIDERS_MAX];
    size_t stored_count;
};

void daemon_providers_look(struct daemon_providers *providers, const char *source,
                           const struct source_view *view, int64_t now_us,
                           const struct source_env *env);

#endif
