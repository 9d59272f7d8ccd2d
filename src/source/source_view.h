/* SPDX-License-Identifier: Apache-2.0
 *
 * source_view.h - what every source shows of its providers.
 *
 * Thread: the ingest loop. */
#ifndef SOURCE_SOURCE_VIEW_H
#define SOURCE_SOURCE_VIEW_H

#include "ingest/failover.h"
#include "source/source.h"

/* One of them, as people see it. */
void source_show_provider(const struct failover *group, int number, int64_t now_us,
                          struct source_provider *shown);
/* `current` is the number of the one in use, or PROVIDER_NONE; those beyond SOURCE_PROVIDERS_MAX
 * are left out. */
void source_show_providers(const struct failover *group, int current, int64_t now_us,
                           struct source_view *view);

#endif
