/* SPDX-License-Identifier: Apache-2.0
 *
 * walk_bench.h - a store with a table of things, and walks through it page by page.
 *
 * A walk keeps its places itself, as whoever hands out handles does. */
#ifndef TESTS_WALK_BENCH_H
#define TESTS_WALK_BENCH_H

#include "query/query_page.h"
#include "things.h"

struct bench {
    struct fixture fixture;
    struct store *store;
    struct json_doc *doc;
    struct page page; /* the last one read */
    struct refusal refusal;
    struct err err;
    struct text script; /* changes not yet in the store */
};

int walk_bench_set_up(void **state);
int walk_bench_tear_down(void **state);
void walk_bench_run(struct bench *bench, const char *sql);

/* Ways to read pages that lose or repeat rows, in place of the product's: tests must notice. */
enum walk_plant {
    WALK_AS_IT_IS,
    WALK_BY_OFFSET,    /* so many rows are passed over */
    WALK_WITHOUT_TIES, /* what equals the last row is taken for read */
    WALK_BY_LIMIT,     /* a page that is asked for again is so many rows */
    WALK_PLANTS
};
extern enum walk_plant walk_plant;

struct walk {
    struct order order;
    struct filter *filter;
    struct opening opening;
    struct row_key start, end; /* of the last page; without a place: from the first row, to none */
    struct page_request request;
    size_t seen; /* rows, by offset */
};

/* `filter` and `order` are JSON; what a walk's pages are like can then be set in its request. */
void walk_open(struct bench *bench, struct walk *walk, const char *filter, const char *order,
               size_t page_size);
void walk_close(struct walk *walk);
/* The next page's ids, and whether more follow. */
size_t walk_next(struct bench *bench, struct walk *walk, int64_t *ids, bool *has_more);
/* The last page's interval again. */
size_t walk_again(struct bench *bench, struct walk *walk, int64_t *ids);

#endif
