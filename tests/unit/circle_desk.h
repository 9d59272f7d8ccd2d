/* SPDX-License-Identifier: Apache-2.0
 *
 * circle_desk.h - a machine on which a test is the AppView and the store of the lists of follows:
 * it says what they answer, and looks at what was asked and written. */
#ifndef TESTS_UNIT_CIRCLE_DESK_H
#define TESTS_UNIT_CIRCLE_DESK_H

#include "http_desk.h"
#include "source/circle.h"

#define MINUTE_US  INT64_C(60000000)
#define SECOND_US  INT64_C(1000000)
#define REFRESH_US (60 * MINUTE_US)

struct circle_desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    struct batch_pool *pool;
    struct source_env env;
    struct circle *circle;
    struct batch *handed; /* at most one: one delivery at a time */
    /* the store */
    const char *sql;
    lookup_fn *fn;
    void *fn_arg;
    unsigned changed;
    /* what was written last, and in all */
    unsigned lines, listings, accounts;
    int64_t id, entries, degree, priority, since_us, sources_min;
    char words[256];
};

/* With so many AppViews, "http://a" and "http://b"; one unless told. */
void circle_desk_begin_with(struct circle_desk *desk, struct circle_options options,
                            size_t appviews);
void circle_desk_begin(struct circle_desk *desk, struct circle_options options);
/* For the account did:plc:me. */
void circle_desk_begin_did(struct circle_desk *desk);
void circle_desk_start(struct circle_desk *desk);
void circle_desk_finish(struct circle_desk *desk);
/* The writer takes what it was handed. */
void circle_desk_store(struct circle_desk *desk);
/* The store answers with `count` rows of `columns` texts; a NULL is a null, "0" and "1" numbers. */
void circle_desk_rows(struct circle_desk *desk, size_t count, size_t columns,
                      const char *const *texts);
/* Answers the last request, and lets what follows from it happen. */
void circle_desk_answer(struct circle_desk *desk, int status, const char *body);
const char *circle_desk_last_url(const struct circle_desk *desk);

#endif
