/* SPDX-License-Identifier: Apache-2.0
 *
 * subjects.h - posts that somebody followed reposted or quoted, fetched because nobody followed
 * wrote them.
 *
 * The store notes which ones it lacks; they are asked of an AppView, 25 at a time, and stored as
 * what they are: no act of sharing, kept for their links. One that the AppView does not have may
 * not have reached it yet, and is asked for again while the share is young; then it is given up,
 * with the reason, until somebody shares it anew. One address that the AppView cannot read spoils
 * the question for the others, so they are then asked one by one.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_SUBJECTS_H
#define SOURCE_SUBJECTS_H

#include "source/appview.h"
#include "source/due.h"

struct subjects;

/* `appview` must outlive it. */
struct subjects *subjects_new(const struct source_env *env, struct appview *appview);
/* Everything under way was answered or forgotten. */
void subjects_free(struct subjects *subjects);
void subjects_start(struct subjects *subjects);
/* While the AppView is there still. */
void subjects_stop(struct subjects *subjects);
bool subjects_stopped(const struct subjects *subjects);
struct due_counts subjects_counts(const struct subjects *subjects);

#endif
