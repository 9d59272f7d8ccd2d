/* SPDX-License-Identifier: Apache-2.0
 *
 * pages.h - the rows of one query, page by page, from the daemon or from the store.
 *
 * What is read is what was there when it was opened. From a daemon it comes by a handle, without
 * one straight from the store, in the same order. Only one page is ever in memory. A handle that
 * the daemon has forgotten, since whoever reads the output took his time, is opened anew around the
 * row told last, while that is what it was.
 *
 * Owner: the command. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "cli/target.h"
#include "query/filter.h"
#include "query/query_page.h"

struct collections;

struct pages_question {
    const char *collection;
    struct bytes filter, order_by; /* JSON; without bytes: none, the collection's own */
    unsigned page_size;            /* 0: the collection's own */
    bool allow_scan;               /* an order without an index is taken, too */
};

struct pages {
    struct target *target;
    struct pages_question question; /* what it points at is borrowed until the end */
    struct text handle;             /* the daemon's name for it; empty: the store is read */
    int64_t number;                 /* of the next page */
    int64_t seq;                    /* of the opening, then of the last change */
    struct text last_id, last_row;  /* of the row that the daemon told last; the row is JSON */
    struct collections *collections;
    struct page_request request;
    struct filter *filter;
    struct order order;
    struct opening opening;
    struct row_key last;
};

/* The target was opened. RC_REJECT: what is asked for cannot be, and why. In every case
 * pages_close() is due. */
must_check enum rc pages_open(struct pages *pages, struct target *target,
                              const struct pages_question *question, struct err *err);
/* `items` borrows from `page`, which is filled; `more`: whether further ones follow. */
must_check enum rc pages_next(struct pages *pages, struct text *page, struct json *items,
                              bool *more, struct err *err);
/* The fields that every row has, at most `max` of them; 0: not known here. */
size_t pages_names(struct pages *pages, const char **names, size_t max);
/* Waits for what changes in the result; `changes` may be without any after a while. Only a daemon
 * can be asked. RC_AGAIN: it is away, or not ready yet; whoever asks again later goes on where this
 * was, with a handle of its own if need be, and misses nothing. RC_REJECT: what was missed is not
 * known any more, or nothing can be followed. */
must_check enum rc pages_tail(struct pages *pages, struct text *page, struct json *changes,
                              struct err *err);
void pages_close(struct pages *pages);

#endif
