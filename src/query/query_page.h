/* SPDX-License-Identifier: Apache-2.0
 *
 * query_page.h - one page of a collection, read from the store and written as JSON.
 *
 * A page is the interval of keys after one place up to and including another. A new page ends where
 * its rows are enough; a page asked for again ends at the place that was recorded (I10), however
 * many rows are there now. When rows that moved into such an interval, or grew there, are too much
 * for one reply (I6), the page is refused with CONFLICT rather than cut, since a cut would lose
 * rows.
 *
 * A filter that few rows match can make the store look at many. What it does not find in the time
 * of one query is read in slices: the next so many rows of the index, judged here. When that took
 * PAGE_SCAN_US a new page ends with the last row looked at, short or even empty, and more follow.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_QUERY_PAGE_H
#define QUERY_QUERY_PAGE_H

#include "query/filter.h"
#include "store/store.h"

#define PAGE_BYTES_MAX (4 << 20) /* a new page ends here, however many rows were asked for */
/* One asked for again has no row behind this. A page that nobody changed is never refused: before
 * its last row it has less than a new page may have. */
#define PAGE_AGAIN_BYTES_MAX (32 << 20)
#define COUNT_EXACT_MAX      100000
#define PAGE_SCAN_US         INT64_C(1500000)

struct page_request {
    const struct collection *collection;
    const struct order *order;
    const struct filter *filter; /* NULL: all rows */
    int64_t fence_n;
    const struct row_key *after; /* the page begins after this place; NULL: at the beginning */
    const struct row_key *last;  /* and ends with this one; NULL: it is a new page */
    size_t page_size;
    bool counted; /* `scanned` is asked for */
    /* For tests, which have no clock: the rows of a slice (0: none unless they are needed), and
     * whether a new page is to end after one (NULL: when its time is over). */
    size_t slice_rows;
    bool (*enough)(void *arg);
    void *enough_arg;
};

struct page {
    struct text items; /* a JSON array */
    size_t rows;
    bool has_more;       /* told of new pages only */
    struct row_key last; /* where a new page ends; without a place when nothing is left */
    const struct collection_index *index; /* that has the order; NULL: the store sorts */
    bool sliced;                          /* it was read in slices, and */
    size_t scanned;                       /* so many rows were looked at */
};

/* RC_REJECT: see `refusal`; RC_RETRY and RC_FATAL: the store failed, see `err`. May be called again
 * on the same page. */
must_check enum rc page_fetch(struct store *store, const struct page_request *request,
                              struct page *page, struct refusal *refusal, struct err *err);
void page_free(struct page *page);

enum count_kind { COUNT_EXACT, COUNT_AT_LEAST, COUNT_NONE };

/* "exact", "atLeast" or "none". */
const char *count_kind_name(enum count_kind kind);

struct opening {
    int64_t fence_n, seq; /* what was committed when the query was opened */
    int64_t total;
    enum count_kind kind;
};

/* Reads where the store stands and counts the rows: all of them when `exact`, else up to
 * COUNT_EXACT_MAX and not longer than a query may take; not at all when opening->kind is
 * COUNT_NONE. */
must_check enum rc opening_read(struct store *store, const struct collection *collection,
                                struct where where, bool exact, struct opening *opening,
                                struct err *err);

#endif
