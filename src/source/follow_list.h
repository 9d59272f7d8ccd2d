/* SPDX-License-Identifier: Apache-2.0
 *
 * follow_list.h - one list of follows, read from the AppView to its end.
 *
 * Its pages are stored as they come, all from one AppView, since no other understands the tokens
 * that lead from page to page. After the last one those who were on the list before and are not any
 * more are looked at; then one record puts the whole list in force. A reading that ends early, for
 * whatever reason, has changed nothing, and the next one begins anew.
 *
 * A list from which nearly everybody is gone is more likely an AppView's fault than a person's
 * wish: it is a reading that ended early, until another AppView says so, too; where there is no
 * other, or none that works for long, until the next readings do.
 *
 *   idle -> pages -> who is missing -> the end of the list -> idle
 *
 * Owner: whoever wants lists read, one at a time.  Thread: the ingest loop. */
#ifndef SOURCE_FOLLOW_LIST_H
#define SOURCE_FOLLOW_LIST_H

#include "base/id_set.h"
#include "ingest/provider.h"
#include "source/delivery.h"
#include "source/follow_absent.h"

#define FOLLOW_LIST_MAX 100000 /* accounts on one list */
#define FOLLOW_IDLE_MAX 1000   /* pages in a row that have nobody new */

/* Of one owner, from reading to reading; all zero at first. */
struct follow_doubt {
    unsigned times;                   /* in a row that a list was not believed */
    bool last;                        /* the last reading was one of these */
    char provider[PROVIDER_NAME_MAX]; /* who gave the first of these */
};

struct follow_order {
    const char *owner;          /* a DID */
    int64_t id;                 /* larger than that of any list before it */
    const char *actor;          /* as configured; NULL: one whom ours follow */
    struct follow_doubt *doubt; /* outlives the reading; NULL: every list is believed */
    int priority;               /* at the AppViews */
    int64_t actors;             /* how many are ours */
    bool backfill;              /* read those that are new ... */
    int64_t lookback_us;        /* ... so far back ... */
    int backfill_priority;
    int64_t sources_min; /* of the second degree; -1: as before */
    int64_t second_max;
};

/* RC_OK: it stands. RC_REJECT: the AppView will not list it. RC_RETRY: it could not be read whole.
 * Words are borrowed for the call. */
typedef void follow_list_fn(void *arg, enum rc rc, const struct err *err);

enum follow_stage { FOLLOW_IDLE, FOLLOW_PAGES, FOLLOW_MISSING, FOLLOW_END };

struct follow_list {
    const struct source_env *env;
    struct appview *appview;
    follow_list_fn *ended;
    void *arg;
    enum follow_stage stage;
    struct follow_order order;
    char owner[ACTOR_DID_MAX + 1];
    int64_t began_us; /* wall time */
    struct id_set seen;
    struct text cursor;               /* of the next page */
    char provider[PROVIDER_NAME_MAX]; /* of the last page */
    bool last_page, asking_store, stopping;
    size_t kept;         /* absent ones that were written */
    unsigned idle_pages; /* in a row */
    struct follow_absent absent;
    struct appview_call *call;
    struct delivery delivery;
};

void follow_list_init(struct follow_list *list, const struct source_env *env,
                      struct appview *appview, follow_list_fn *ended, void *arg);
/* Nothing of it is under way. */
void follow_list_deinit(struct follow_list *list);
/* The list is idle. `actor` must outlive the reading. */
void follow_list_start(struct follow_list *list, const struct follow_order *order);
/* Asks for nothing more; `ended` is not called any more. */
void follow_list_stop(struct follow_list *list);
/* Nothing is under way. */
bool follow_list_idle(const struct follow_list *list);

#endif
