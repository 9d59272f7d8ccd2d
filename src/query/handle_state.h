/* SPDX-License-Identifier: Apache-2.0
 *
 * handle_state.h - what a handle stands for: one session's query, and how far it was read.
 *
 * Collection, order, filter, session and fence never change after the open, but for what is
 * declared of the collection; the walk moves and the page size may. All of it can be written down
 * as names and values, and made anew from them: no SQL is kept, and nothing follows a default that
 * changed later.
 *
 * Owner: whoever holds the handle. */
#ifndef QUERY_HANDLE_STATE_H
#define QUERY_HANDLE_STATE_H

#include "query/query_page.h"
#include "query/walk.h"

#define HANDLE_NAME_SIZE    16
#define HANDLE_SESSION_SIZE 16

struct handle_state {
    uint8_t name[HANDLE_NAME_SIZE];
    uint8_t session[HANDLE_SESSION_SIZE];
    bool known; /* false: nothing but the name is, and the session is the asker's */
    const struct collection *collection;
    struct order order;
    struct filter *filter; /* owned; NULL: all rows */
    unsigned page_size;
    struct opening opening;
    struct walk walk;
    int64_t version; /* how often it was kept */
    int64_t opened_us, used_us;
    int64_t kept_us; /* what the shelf knows of used_us */
};

/* As one page of it is asked for; the page's places are the caller's to add. */
struct page_request handle_state_request(const struct handle_state *state);
/* Frees what it owns and keeps the name and the session. */
void handle_state_forget(struct handle_state *state);
/* The order as a query-open would say it, all of it. */
void handle_state_print_order(const struct handle_state *state, struct text *out);

/* As it was written down. */
struct handle_words {
    struct bytes collection, order_by, filter, walk;
};

/* Who knows the collections; NULL is answered for a name without one. */
struct handle_finder {
    const struct collection *(*find)(void *arg, struct bytes name);
    void *arg;
};

/* Fills in what the words say. HANDLE_NOT_FOUND when they make no sense any more: the collection or
 * a field of it is gone, or is of another type. */
must_check enum rc handle_state_read(struct handle_state *state, const struct handle_words *words,
                                     const struct handle_finder *finder, struct refusal *refusal);
/* The same of the collection as it is declared now, if there is one of that name. When what it asks
 * for is gone from there the state is forgotten. */
void handle_state_renew(struct handle_state *state, const struct handle_finder *finder);

#endif
