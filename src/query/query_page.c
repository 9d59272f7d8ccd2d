/* SPDX-License-Identifier: Apache-2.0 */
#include "query/query_page.h"

#include "query/row_print.h"

#include <assert.h>

/* A page asked for again may have grown by this many rows and half as many again. */
#define MOVED_ROWS_MAX 64

struct reading {
    const struct page_request *request;
    struct page *page;
    struct json_writer writer;
    size_t limit; /* rows asked of the store */
    size_t seen;
    bool ended;    /* the page is whole */
    bool too_long; /* a key cannot be kept */
};

static void put_row(struct reading *reading, const struct field *columns)
{
    const struct collection *collection = reading->request->collection;
    const struct field *extra = columns + collection->column_count;
    row_print(collection, columns, collection->extra == NULL ? NULL : extra, &reading->writer);
    reading->page->rows++;
}

static bool is_full(const struct reading *reading)
{
    const struct page *page = reading->page;
    return page->rows == reading->request->page_size ||
           (page->rows > 0 && page->items.len >= PAGE_BYTES_MAX);
}

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct reading *reading = arg;
    const struct page_request *request = reading->request;
    const struct order *order = request->order;
    struct page *page = reading->page;
    assert(count >= order->count + request->collection->column_count);
    reading->seen++;
    if (reading->ended)
        return true;
    if (request->last != NULL) {
        reading->ended = row_key_compare(order, columns, request->last->parts) > 0;
    } else if (is_full(reading)) {
        reading->ended = page->has_more = true;
    } else if (!row_key_set(&page->last, columns, order->count)) {
        reading->ended = reading->too_long = true;
    }
    if (!reading->ended)
        put_row(reading, columns + order->count);
    return true;
}

static enum rc judge(const struct reading *reading, struct refusal *refusal)
{
    if (reading->too_long)
        return refusal_set(refusal, REFUSAL_BAD_ORDER,
                           "a value of %s is too long to page by: more than %d bytes",
                           reading->request->order->terms[0].name, ROW_KEY_BYTES_MAX);
    if (reading->request->last != NULL && !reading->ended && reading->seen == reading->limit)
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "too many rows moved into this page since it was delivered: open the "
                           "query again");
    return RC_OK;
}

enum rc page_fetch(struct store *store, const struct page_request *request, struct page *page,
                   struct refusal *refusal, struct err *err)
{
    size_t size = request->page_size;
    struct reading reading = {.request = request, .page = page, .limit = size + 1};
    struct seek_sql sql = {0};
    assert(size > 0 && size <= COLLECTION_PAGE_SIZE_MAX);
    if (request->last != NULL)
        reading.limit += size / 2 + MOVED_ROWS_MAX;
    const struct seek seek = {.collection = request->collection,
                              .order = request->order,
                              .where = filter_where(request->filter),
                              .fence_n = request->fence_n,
                              .after = request->after,
                              .rows_max = reading.limit};
    text_clear(&page->items);
    row_key_clear(&page->last);
    page->rows = 0;
    page->has_more = false;
    json_writer_init(&reading.writer, &page->items);
    json_begin_array(&reading.writer);
    seek_build(&seek, &sql);
    enum rc rc = store_query(store, text_string(&sql.text), sql.params, sql.param_count, take_row,
                             &reading, err);
    seek_sql_free(&sql);
    json_end_array(&reading.writer);
    return rc == RC_OK ? judge(&reading, refusal) : rc;
}

void page_free(struct page *page)
{
    text_free(&page->items);
    row_key_clear(&page->last);
}

const char *count_kind_name(enum count_kind kind)
{
    static const char *const names[] = {"exact", "atLeast", "none"};
    assert(kind <= COUNT_NONE);
    return names[kind];
}

static bool take_opening(void *arg, const struct field *columns, size_t count)
{
    struct opening *opening = arg;
    assert(count == 2);
    opening->seq = columns[0].i;
    opening->fence_n = columns[1].i;
    return true;
}

static bool take_total(void *arg, const struct field *columns, size_t count)
{
    struct opening *opening = arg;
    assert(count == 1 && columns[0].type == FIELD_INT);
    opening->total = columns[0].i;
    return true;
}

enum rc opening_read(struct store *store, const struct collection *collection, struct where where,
                     bool exact, struct opening *opening, struct err *err)
{
    struct seek_sql sql = {0};
    opening->fence_n = -1;
    opening->total = 0;
    enum rc rc = store_query(store, "SELECT commit_seq, next_n FROM engine WHERE id = 1", NULL, 0,
                             take_opening, opening, err);
    if (rc == RC_OK && opening->fence_n < 0)
        rc = err_set(err, RC_FATAL, "the store has no engine row");
    if (rc != RC_OK || opening->kind == COUNT_NONE)
        return rc;
    const struct seek seek = {.collection = collection,
                              .where = where,
                              .fence_n = opening->fence_n,
                              .rows_max = exact ? 0 : COUNT_EXACT_MAX + 1};
    seek_build_count(&seek, &sql);
    rc = store_query(store, text_string(&sql.text), sql.params, sql.param_count, take_total,
                     opening, err);
    seek_sql_free(&sql);
    opening->kind = COUNT_EXACT;
    if (rc == RC_AGAIN && !exact) {
        opening->kind = COUNT_AT_LEAST;
        rc = RC_OK;
    }
    if (!exact && opening->total > COUNT_EXACT_MAX) {
        opening->total = COUNT_EXACT_MAX;
        opening->kind = COUNT_AT_LEAST;
    }
    return rc;
}
