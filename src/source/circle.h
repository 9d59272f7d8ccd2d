/* SPDX-License-Identifier: Apache-2.0
 *
 * circle.h - whose sharing counts: those whom our accounts follow and, if wanted, those whom so
 * many of them follow.
 *
 * The lists are read from the AppView, one at a time: of each of our accounts at the start, then at
 * an interval and when an operator asks; of those they follow once a day, when nobody else has a
 * question. A list stands only once it was read whole; until then, and while no AppView can be
 * had, what is stored stands. The account behind a handle is found once and remembered with its
 * list. An account that is no longer configured takes its list along.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_CIRCLE_H
#define SOURCE_CIRCLE_H

#include "source/appview.h"
#include "store/store.h"

/* What may change while it runs. */
struct circle_tuning {
    int64_t refresh_us;
    bool backfill;
    int64_t lookback_us;
};

struct circle_options {
    const char *const *actors; /* handles or DIDs; outlive the circle */
    size_t actor_count;
    struct circle_tuning tuning;
    bool second_degree;
    int64_t sources_min, second_max;
    void (*changed)(void *arg); /* a list stands that did not before */
    void *arg;
};

struct circle_view {
    size_t actors, listed; /* our accounts, and those of whom a list stands */
    size_t in_trouble;     /* those whose list could not be read the last time */
};

struct circle;

struct circle *circle_new(const struct source_env *env, struct appview *appview,
                          const struct circle_options *options);
/* Nothing of it is under way, or never will be answered. */
void circle_free(struct circle *circle);
/* The lists that stand, before the start; rows of the statement below. */
extern const char circle_load_sql[];
bool circle_load_row(void *circle, const struct field *columns, size_t count);
void circle_start(struct circle *circle);
void circle_tune(struct circle *circle, const struct circle_tuning *tuning);
/* Reads all lists of ours anew, as soon as it can. */
void circle_refresh(struct circle *circle);
void circle_stop(struct circle *circle);
bool circle_stopped(const struct circle *circle);
void circle_look(const struct circle *circle, struct circle_view *view);

#endif
