/* SPDX-License-Identifier: Apache-2.0
 *
 * handle_ask.h - opening a query and asking it for a page, from the question to what is kept.
 *
 * Always holds: the state on the shelf is the one before the question or the one that its answer
 * leads to, and the answer is given only after the latter was kept (I10). A state in memory that
 * may differ from the shelf's is forgotten and read again by whoever asks next.
 *
 * Both may be called again after RC_RETRY or RC_FATAL with the same arguments: a page is delivered
 * once, whether or not the first try was kept.
 *
 * Owner: who holds the handle.  Thread: any that owns the store's connection. */
#ifndef QUERY_HANDLE_ASK_H
#define QUERY_HANDLE_ASK_H

#include "query/handle_state.h"

struct handle_opening {
    bool exact;          /* count all rows, however many */
    struct bytes around; /* id of a row that the first page shows; absent: from the beginning */
};

/* The state has its collection, order, filter, page size, name, session and times; where the store
 * stands is read, and the handle is kept. RC_REJECT: see `refusal`. */
must_check enum rc handle_open(struct store *store, struct handle_state *state,
                               const struct handle_opening *question, struct refusal *refusal,
                               struct err *err);

struct handle_question {
    struct handle_finder finder;
    uint8_t session[HANDLE_SESSION_SIZE];
    enum walk_direction direction;
    bool named;         /* `page` is asked for; else the next one in this direction */
    int64_t page;       /* the number is pinned here once it is known */
    unsigned page_size; /* from this page on; 0: as before */
    bool counted;       /* the rows looked at are to be told */
    int64_t now_us, idle_us_max;
};

struct handle_answer {
    struct page page;
    int64_t number;
    bool has_more, has_previous;
    struct opening opening;
    size_t keys_used; /* parts of the place that the page was sought from; 0: the beginning */
};

/* Reads the state from the shelf unless it is known. RC_REJECT: HANDLE_NOT_FOUND, FORBIDDEN,
 * CONFLICT or what the page itself is refused for. */
must_check enum rc handle_ask(struct store *store, struct handle_state *state,
                              struct handle_question *question, struct handle_answer *answer,
                              struct refusal *refusal, struct err *err);

/* What the query is, for whoever follows it: from the shelf, so that it need not be held. `state`
 * has its name and nothing else. It counts as a use. RC_REJECT: HANDLE_NOT_FOUND or FORBIDDEN. */
must_check enum rc handle_look_up(struct store *store, struct handle_state *state,
                                  const struct handle_question *question, struct refusal *refusal,
                                  struct err *err);

#endif
