/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_sweep.h - reads one account's feed, from its newest item down to a bound.
 *
 * A sweep begins without a token and pages to older items until it meets the mark, the time down to
 * which it was asked to read, or the feed's end. Each page is stored at once, together with what
 * its owner wants to remember of it; the next page is asked for when that is durable (I2), so a
 * sweep that is cut off goes on where it stood and asks for nothing twice. Pages after the first
 * are asked of the AppView that gave their token, since no other understands it. When a token is
 * not accepted any more, or who gave it fails and there are others, the sweep starts over from the
 * newest item, once; while nobody can be asked for that either, its place is kept.
 *
 * Where it is asked to compare, what is stored of the account in the stretch of feed that a page
 * shows, and is not on the page, was deleted: but only if the AppView, asked for it by name, does
 * not know it either (of a repost: still knows what was reposted, since it hides the others). What
 * lies above all that the feed shows may only not be there yet: if the feed shows nothing, or never
 * got so far, that is doubted, and nothing of it is gone until another reading says the same.
 *
 * What is too old to be kept is read like the rest, and not stored: else it would come back each
 * time that it was forgotten.
 *
 * An AppView that refuses the feed is asked for the profile, which tells an account that is gone
 * from one that is only away.
 *
 * Owner: a queue or a poller.  Thread: the ingest loop.  Memory: one page. */
#ifndef SOURCE_FEED_SWEEP_H
#define SOURCE_FEED_SWEEP_H

#include "ingest/quarantine.h"
#include "source/appview.h"
#include "source/feed_place.h"
#include "source/source.h"

struct sweep_order {
    struct bytes did, handle; /* copied; handle absent: not known */
    struct feed_mark mark;    /* all below is stored */
    bool to_mark;             /* read down to the mark; else, and without one, to `since_us` */
    int64_t since_us;
    struct feed_place place; /* where to go on; all zero: at the newest item */
    uint32_t pages_max;      /* of this run; 0: as many as there are */
    uint32_t page_size;
    int priority;
    int64_t asof_seq; /* commits known now */
    bool compare;
    bool doubted;  /* an earlier reading was: this one is believed */
    bool was_gone; /* stored as gone: an answer shows that it is back */
};

enum sweep_step {
    SWEEP_PAGE,     /* a page is being stored, more follow */
    SWEEP_COMPLETE, /* so is the last one: the bound, or the feed's end, is reached */
    SWEEP_PAUSED,   /* so is the last one of this run */
    SWEEP_GONE,     /* the account cannot be read: `standing` says why */
    SWEEP_FAILED,   /* this time; nothing is known of the account */
};

struct sweep_report {
    enum sweep_step step;
    const struct feed_place *place; /* with this page */
    uint32_t pages, fresh, urls;    /* of this run; fresh: posts above the mark */
    int status;                     /* of what was refused; 0: nobody answered */
    bool doubted;                   /* it shows less than was stored, and was not believed */
    const char *standing;           /* "deleted", "deactivated", "takendown" or "suspended" */
    const char *why;                /* a sentence, when it was refused or failed */
    const char *provider;           /* who answered last */
    int64_t now_us;
};

struct feed_sweep;

struct feed_sweep_ops {
    /* Adds what belongs into the commit of this step; RC_AGAIN: it does not fit, asked again with
     * an empty batch. */
    enum rc (*stage)(void *arg, struct feed_sweep *sweep, const struct sweep_report *report,
                     struct batch *batch);
    /* What was staged last is durable, or never will be (RC_AGAIN: the program stops); the sweep
     * may be started again. */
    void (*ended)(void *arg, struct feed_sweep *sweep, enum rc rc);
    /* A second page is needed. May be NULL. */
    void (*many)(void *arg, struct feed_sweep *sweep);
};

/* What all sweeps share; outlives them. */
struct sweep_env {
    const struct source_env *source;
    struct appview *appview;
    struct json_doc *doc; /* for one page; lent for the moment */
    struct quarantine *quarantine;
    uint64_t *pages; /* counts every page read */
    int64_t kept_us; /* what was shared longer ago is forgotten, and not stored; 0: nothing is */
};

struct feed_sweep *feed_sweep_new(const struct sweep_env *env, const struct feed_sweep_ops *ops,
                                  void *arg);
/* Nothing of it is under way. */
void feed_sweep_free(struct feed_sweep *sweep);
/* The sweep is idle. */
void feed_sweep_start(struct feed_sweep *sweep, const struct sweep_order *order);
/* Asks for nothing more; what is under way is still answered. `ended` is not called. */
void feed_sweep_stop(struct feed_sweep *sweep);
/* Nothing of it is under way. */
bool feed_sweep_idle(const struct feed_sweep *sweep);
/* Whom it reads, or read last. */
const struct sweep_order *feed_sweep_order(const struct feed_sweep *sweep);

#endif
