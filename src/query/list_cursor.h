/* SPDX-License-Identifier: Apache-2.0
 *
 * list_cursor.h - the place that a client of the old way names itself.
 *
 *   cursor: {field, value, direction: "before"|"after", id?}
 *
 * The field is the first one of the order. A list goes on after the place when the direction is the
 * order's: before and descending, after and ascending. With the id of the last row that was seen
 * the place is exact: rows of an equal value come once each. That row may be gone: its number among
 * equals is its id, or is remembered for a while; else the list has to be started again, CONFLICT.
 * Without an id all rows of that value count as seen. Where the last row has no value, neither has
 * the cursor: null. When the direction is the other one, the list is of the rows on that side of
 * the value, with those that have none where they sort there, and an id has no meaning and is
 * refused.
 *
 * Owner: the caller.  Thread: any. */
#ifndef QUERY_LIST_CURSOR_H
#define QUERY_LIST_CURSOR_H

#include "query/query_page.h"

struct list_cursor {
    bool given;
    bool onward;           /* a place in the order; else it is a condition */
    struct row_key value;  /* one part */
    struct text id;        /* empty: none */
    struct text condition; /* a filter, as JSON */
    struct text no_value;  /* one of the rows that are on that side for having no value */
    struct filter *first;  /* the same with what the list is filtered by; NULL: none are */
};

/* Absent and null: `given` is false. */
must_check enum rc list_cursor_parse(const struct collection *collection, const struct order *order,
                                     struct json json, struct list_cursor *cursor,
                                     struct refusal *refusal);
/* Reads the filter together with the cursor's condition. */
must_check enum rc list_cursor_filter(struct list_cursor *cursor,
                                      const struct collection *collection, struct json filter,
                                      struct filter **out, struct refusal *refusal);
/* Finds the place; without one it stays empty. */
must_check enum rc list_cursor_place(const struct list_cursor *cursor, struct store *store,
                                     const struct collection *collection, const struct order *order,
                                     struct row_key *place, struct refusal *refusal,
                                     struct err *err);
/* Reads the page that is wanted, with that filter and that place. What is told of it are its items,
 * their number and whether there are more. */
must_check enum rc list_cursor_fetch(const struct list_cursor *cursor, struct store *store,
                                     const struct page_request *wanted, struct page *page,
                                     struct refusal *refusal, struct err *err);
void list_cursor_free(struct list_cursor *cursor);

#endif
