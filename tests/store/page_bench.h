/* SPDX-License-Identifier: Apache-2.0
 *
 * page_bench.h - a store with a table of things to page through, for one test. */
#ifndef TESTS_PAGE_BENCH_H
#define TESTS_PAGE_BENCH_H

#include "query/handle_ask.h"
#include "things.h"

struct bench {
    struct fixture fixture;
    struct store *store;
    struct json_doc *doc;
    struct handle_state state;       /* of the query that was opened last */
    struct handle_question question; /* what is asked beside the page */
    struct handle_answer answer;     /* the last one */
    struct refusal refusal;
    struct err err;
    struct text script; /* changes not yet in the store */
};

int page_bench_set_up(void **state);
int page_bench_tear_down(void **state);
void page_bench_run(struct bench *bench, const char *sql);
/* Opens a query; `order` is the JSON of an orderBy. */
void page_bench_open(struct bench *bench, const struct collection *collection, const char *order,
                     unsigned page_size);
/* The same, beginning around a row. */
enum rc page_bench_open_around(struct bench *bench, const struct collection *collection,
                               const char *order, unsigned page_size, const char *id);
/* What a restart of the program does to the query: it is on the shelf only. */
void page_bench_forget(struct bench *bench);
/* Asks the query as bench->question is. */
enum rc page_bench_try(struct bench *bench);
/* Asks for page `number`, or the next one when it is -1; the ids go to `ids`. */
size_t page_bench_ask(struct bench *bench, int64_t number, int64_t *ids, bool *has_more);
/* Asks onwards, or back, for the page of this number; NULL: the next one that way. */
size_t page_bench_ask_on(struct bench *bench, const int64_t *number, int64_t *ids);
size_t page_bench_ask_back(struct bench *bench, const int64_t *number, int64_t *ids);

#endif
