/* SPDX-License-Identifier: Apache-2.0
 *
 * names.h - how those whose sharing counts present themselves: names and pictures.
 *
 * A list of follows brings them along for those on it. For the others, 25 at a time are asked of
 * the AppViews, when nothing is known of them or what is known is a day old. Whoever the AppViews
 * do not show is not asked for again that day.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_NAMES_H
#define SOURCE_NAMES_H

#include "source/appview.h"

struct names;

struct names *names_new(const struct source_env *env, struct appview *appview);
/* Nothing of it is under way, or never will be answered. */
void names_free(struct names *names);
void names_start(struct names *names);
void names_stop(struct names *names);
bool names_stopped(const struct names *names);

#endif
