/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_part.h - what the daemon is made of: parts that know the store and the loop, not each
 * other.
 *
 * A part is made when the configuration asks for it, before the store is open; then, in this order:
 *   load    reads the store before the writer has it
 *   open    gets its files and sources ready; the writer runs, the loop does not
 *   start   begins; from now on everything happens on the loop
 *   stop    asks for nothing new; what is under way is still answered
 *   free    once the writer, the lookup and the network are gone, every batch answered
 * Parts that depend on what others store are told by a word that something of a kind is in the
 * store now; they look for themselves, so a word too many or a word lost in a crash does no harm.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_PART_H
#define DAEMON_PART_H

#include "config.h"
#include "source/source.h"
#include "store/store.h"
#include "sys/loop.h"

struct appview;
struct collections;
struct daemon_view;
struct part_env;

/* What is in the store now that was not before. */
enum part_news {
    PART_NEWS_FOLLOWS = 1 << 0,  /* whose sharing counts */
    PART_NEWS_BACKFILL = 1 << 1, /* accounts whose history is to be read */
    PART_NEWS_GAPS = 1 << 2,     /* gaps opened or closed */
    PART_NEWS_RELOAD = 1 << 3,   /* nothing: an operator wants it looked at anew */
};

struct part {
    const struct part_ops *ops;
};

struct part_ops {
    /* NULL where a function is not needed; `free` always is. */
    enum rc (*load)(struct part *part, struct store *store, struct err *err);
    enum rc (*open)(struct part *part, struct err *err);
    void (*start)(struct part *part);
    /* A few times a second; `now_us` is monotonic, `view` what the parts before it show. */
    void (*look)(struct part *part, int64_t now_us, const struct daemon_view *view);
    void (*heed)(struct part *part, unsigned news);
    /* Takes over the settings that may change; `fresh` is borrowed for the call. */
    void (*reload)(struct part *part, const struct config *fresh);
    /* Adds what it shows of itself. */
    void (*view)(struct part *part, struct daemon_view *view);
    void (*stop)(struct part *part);
    bool (*stopped)(const struct part *part); /* NULL: at once */
    void (*free)(struct part *part);
    /* Whether it hears all that a followed account does from now on; NULL: that is not its part. */
    bool (*hears)(struct part *part, struct bytes did);
    /* The source whose position it keeps in memory; NULL: none. When it was stopped, and the
     * store has forgotten the position, `restart` begins as with a fresh store. */
    const char *source;
    enum rc (*restart)(struct part *part, struct err *err);
};

/* What a part is given; complete from `open` on, and there until it is freed. */
struct part_env {
    const struct config *config;
    struct loop *loop;
    struct runtime *runtime;
    struct bytes folder;             /* where files lie that are no rows */
    struct source_env source;        /* for the sources it makes: batches, the writer, questions */
    struct collections *collections; /* what can be asked for; there until all parts are gone */
    struct appview *appview; /* shared; gone when parts are freed, with all that was asked */
    void (*tell)(void *arg, unsigned news);
    void *tell_arg;
    /* Whether all that a followed account does from now on comes to one of the parts, or none of
     * them hears anything. */
    bool (*hears)(void *arg, struct bytes did);
    void *hears_arg;
};

#endif
