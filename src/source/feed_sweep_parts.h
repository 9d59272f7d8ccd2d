/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_sweep_parts.h - what the parts of a sweep share: asking, storing a page, comparing.
 *
 * At any time exactly one thing is awaited: an answer of the AppView, an answer of the store, a
 * commit, or a timer. Owner and thread: the sweep's. */
#ifndef SOURCE_FEED_SWEEP_PARTS_H
#define SOURCE_FEED_SWEEP_PARTS_H

#include "base/id_set.h"
#include "source/feed_sweep.h"

#define SWEEP_FULL_US     INT64_C(20000)  /* until a batch or a place at the writer may be free */
#define SWEEP_STORE_US    INT64_C(500000) /* until a store that did not answer in time may */
#define SWEEP_COMPARE_MAX 25 /* of stored posts in one question: as many as an AppView takes */

/* A stored post that the page does not show. */
struct sweep_missing {
    bool repost;
    char rkey[AT_RKEY_MAX + 1], rev[65];
    char asked[2048]; /* the address whose existence decides */
    bool known;       /* the AppView has it */
    bool doubtful;    /* one reading does not show that it is gone */
};

struct feed_sweep {
    const struct sweep_env *env;
    const struct feed_sweep_ops *ops;
    void *arg;
    struct sweep_order order;
    char did[AT_DID_MAX + 1], handle[FEED_HANDLE_MAX + 1];
    int64_t bound_us;
    bool active, stopping;
    bool resumed;           /* the token is of an earlier run and was not answered yet */
    bool anew;              /* this run has started over ... */
    struct feed_place left; /* ... from here; no token: a page was read since */
    struct appview_call *call;
    int64_t asked_us; /* wall time of the question that was answered last */
    bool looking;     /* the store was asked */
    struct timer later;
    void (*resume)(struct feed_sweep *sweep); /* what the timer goes on with */
    struct text body;                         /* of the page that is being stored */
    size_t item;                              /* the next of it */
    struct feed_place place, next;            /* before and after this page */
    struct feed_tally tally;
    int64_t lowest_us;     /* that a page came down to, and ... */
    unsigned idle_pages;   /* ... how many in a row came no lower */
    struct id_set keys[2]; /* "collection/key" of what this page and the one before it show */
    char after_key[AT_COLLECTION_MAX + AT_RKEY_MAX + 2]; /* compared up to here */
    bool compared;                                       /* to the end */
    struct sweep_missing missing[SWEEP_COMPARE_MAX];
    size_t missing_count;
    struct batch *batch;
    unsigned under_way; /* batches at the writer */
    struct sweep_report report;
    char standing[16], provider[CURSOR_PROVIDER_MAX + 1];
    struct err why;
    bool staged; /* the report's own batch is at the writer */
};

/* Goes on with `resume` later. */
void sweep_wait(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep), int64_t us);
/* Hands over what is filled; false: not now, `resume` is called again. */
bool sweep_submit(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep));
/* A batch to fill; false: there is none, `resume` is called again. */
bool sweep_take_batch(struct feed_sweep *sweep, void (*resume)(struct feed_sweep *sweep));
/* Ends this step: adds the owner's rows, hands over, and goes on when all is durable. */
void sweep_stage(struct feed_sweep *sweep);
void sweep_fail(struct feed_sweep *sweep, const char *why);

/* Looks the page over and begins to work it off. */
void sweep_take_page(struct feed_sweep *sweep);
/* Stores the page item by item, then stages. */
void sweep_store_page(struct feed_sweep *sweep);
/* Finds what the page should show and does not, then stores the page. */
void sweep_compare(struct feed_sweep *sweep);

#endif
