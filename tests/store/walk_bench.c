/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_bench.h"

#include <stdlib.h>
#include <string.h>

void walk_bench_run(struct bench *bench, const char *sql)
{
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
}

int walk_bench_set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    assert_ok(things_open(&bench->fixture, &bench->store, &bench->err));
    bench->doc = json_doc_new(8 << 20, JSON_DEPTH_MAX);
    *state = bench;
    both_stores_executed++;
    return 0;
}

int walk_bench_tear_down(void **state)
{
    struct bench *bench = *state;
    page_free(&bench->page);
    text_free(&bench->script);
    json_doc_free(bench->doc);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

/* ---- walks ---- */

void walk_open(struct bench *bench, struct walk *walk, const char *filter, const char *order,
               size_t page_size)
{
    struct json root;
    *walk = (struct walk){.opening = {.kind = COUNT_EXACT}};
    assert_ok(json_parse_copy(bench->doc, bytes_of(order), &root, &bench->err));
    assert_ok(order_parse(&things, root, &walk->order, &bench->refusal));
    assert_ok(json_parse_copy(bench->doc, bytes_of(filter), &root, &bench->err));
    assert_ok(filter_parse(&things, root, &walk->filter, &bench->refusal));
    assert_ok(opening_read(bench->store, &things, filter_where(walk->filter), false, &walk->opening,
                           &bench->err));
    walk->request = (struct page_request){.collection = &things,
                                          .order = &walk->order,
                                          .filter = walk->filter,
                                          .fence_n = walk->opening.fence_n,
                                          .page_size = page_size};
}

void walk_close(struct walk *walk)
{
    filter_free(walk->filter);
    row_key_clear(&walk->start);
    row_key_clear(&walk->end);
    *walk = (struct walk){0};
}

static size_t read_page(struct bench *bench, const struct walk *walk, int64_t *ids)
{
    assert_ok(page_fetch(bench->store, &walk->request, &bench->page, &bench->refusal, &bench->err));
    size_t count = things_read_ids(bench->doc, &bench->page.items, ids);
    assert_int_equal(count, bench->page.rows);
    return count;
}

enum walk_plant walk_plant = WALK_AS_IT_IS;

/* Reads everything up to the end of the page, and leaves out what was before it. */
static size_t read_by_offset(struct bench *bench, struct walk *walk, int64_t *ids)
{
    size_t page_size = walk->request.page_size, before = walk->seen;
    walk->request.after = NULL;
    walk->request.page_size = before + page_size;
    size_t count = read_page(bench, walk, ids);
    walk->request.page_size = page_size;
    before = before < count ? before : count;
    memmove(ids, ids + before, (count - before) * sizeof *ids);
    walk->seen = count;
    return count - before;
}

static size_t read_without_ties(struct bench *bench, struct walk *walk, int64_t *ids)
{
    struct row_key beyond = walk->end;
    if (beyond.count > 0)
        beyond.parts[beyond.count - 1].i =
            walk->order.terms[beyond.count - 1].desc ? INT64_MIN : INT64_MAX;
    walk->request.after = &beyond;
    size_t count = read_page(bench, walk, ids);
    walk->request.after = NULL;
    return count;
}

size_t walk_next(struct bench *bench, struct walk *walk, int64_t *ids, bool *has_more)
{
    walk->request.after = &walk->end;
    walk->request.last = NULL;
    size_t count = walk_plant == WALK_BY_OFFSET      ? read_by_offset(bench, walk, ids)
                   : walk_plant == WALK_WITHOUT_TIES ? read_without_ties(bench, walk, ids)
                                                     : read_page(bench, walk, ids);
    *has_more = bench->page.has_more;
    row_key_move(&walk->start, &walk->end);
    row_key_move(&walk->end, &bench->page.last);
    return count;
}

size_t walk_again(struct bench *bench, struct walk *walk, int64_t *ids)
{
    if (walk->end.count == 0) /* nothing was left then */
        return 0;
    walk->request.after = &walk->start;
    walk->request.last = walk_plant == WALK_BY_LIMIT ? NULL : &walk->end;
    return read_page(bench, walk, ids);
}
