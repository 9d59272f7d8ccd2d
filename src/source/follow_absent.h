/* SPDX-License-Identifier: Apache-2.0
 *
 * follow_absent.h - accounts that were on a list of follows and are not on it any more: what became
 * of each.
 *
 * AppViews leave those out who are deactivated or taken down. They are still followed: one day they
 * may be back, and it is by their events that one hears of it. Those who are there but not on the
 * list are not followed any more, and those whom the AppView does not know are gone. Nothing is
 * decided before all could be asked.
 *
 * Owner: the reading of a list.  Thread: the ingest loop. */
#ifndef SOURCE_FOLLOW_ABSENT_H
#define SOURCE_FOLLOW_ABSENT_H

#include "decode/actor_view.h"
#include "source/appview.h"

enum absent_fate {
    ABSENT_UNKNOWN,
    ABSENT_UNFOLLOWED, /* it is there, and not on the list */
    ABSENT_GONE,       /* nobody knows it */
    ABSENT_AWAY,       /* deactivated or taken down, and known to be */
    ABSENT_DEACTIVATED,
    ABSENT_TAKEN_DOWN,
    ABSENT_RETURNED, /* on the list, but stored as away: the stream has not told */
};

struct absent_account {
    struct actor_view actor; /* as stored; in `memory` of the list */
    enum absent_fate fate;
};

/* RC_OK: every fate is known. RC_RETRY: the AppViews could not tell. */
typedef void follow_absent_fn(void *arg, enum rc rc, const struct err *err);

struct follow_absent {
    struct appview *appview;
    int priority;
    follow_absent_fn *done;
    void *arg;
    struct absent_account *accounts;
    size_t count, cap;
    size_t at;    /* those before it are known */
    size_t asked; /* of those from there on that are asked for together; 0: one by one */
    struct appview_call *call;
};

void follow_absent_init(struct follow_absent *absent, struct appview *appview,
                        follow_absent_fn *done, void *arg);
void follow_absent_deinit(struct follow_absent *absent);
/* Adds one; its words are copied. ABSENT_UNKNOWN: is asked for. */
void follow_absent_add(struct follow_absent *absent, const struct actor_view *actor,
                       enum absent_fate fate);
void follow_absent_clear(struct follow_absent *absent);
/* Asks for all that are not known; `done` is called later, unless it is stopped. */
void follow_absent_start(struct follow_absent *absent, int priority);
void follow_absent_stop(struct follow_absent *absent);

#endif
