/* SPDX-License-Identifier: Apache-2.0 */
#include "query/query_page.h"

#include "query/row_print.h"
#include "sys/clock.h"

#include <assert.h>

/* A page asked for again may have grown by this many rows and half as many again. */
#define MOVED_ROWS_MAX 64
#define SLICE_ROWS_MIN 16
#define SLICE_ROWS_MAX 32768
#define ITEMS_ROOM     16384 /* most pages fit without growing */

struct reading {
    struct store *store;
    const struct page_request *request;
    struct page *page;
    struct json_writer writer;
    int64_t end_us;  /* monotonic */
    size_t rows_max; /* in a page asked for again */
    size_t limit;    /* rows asked of the store */
    size_t seen;
    bool ended;          /* the page is whole */
    bool too_long;       /* a key cannot be kept */
    bool too_many;       /* rows moved into it */
    bool too_large;      /* or grew in it */
    bool sliced;         /* the rows are judged here */
    struct row_key at;   /* of the last row looked at in slices */
    struct row_key from; /* where the slice under way begins */
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

/* Whether a page asked for again cannot take another row. */
static bool is_overgrown(struct reading *reading)
{
    const struct page *page = reading->page;
    reading->too_many = page->rows == reading->rows_max;
    reading->too_large = page->rows > 0 && page->items.len >= PAGE_AGAIN_BYTES_MAX;
    return reading->too_many || reading->too_large;
}

/* Puts a row into the page, unless that is whole without it. */
static void add_row(struct reading *reading, const struct field *columns)
{
    const struct order *order = reading->request->order;
    struct page *page = reading->page;
    if (reading->request->last != NULL)
        reading->ended = is_overgrown(reading);
    else if (is_full(reading))
        reading->ended = page->has_more = true;
    else if (!row_key_set(&page->last, columns, order->count))
        reading->ended = reading->too_long = true;
    if (!reading->ended)
        put_row(reading, columns + order->count);
}

static bool wants_rows(const struct reading *reading)
{
    return !reading->ended && reading->seen < reading->limit;
}

static void look_at_row(struct reading *reading, const struct field *columns)
{
    const struct page_request *request = reading->request;
    const struct order *order = request->order;
    if (request->last != NULL)
        reading->ended = row_key_compare(order, columns, request->last->parts) > 0;
    if (reading->ended)
        return;
    if (!reading->sliced) {
        add_row(reading, columns);
        return;
    }
    reading->page->scanned++;
    if (filter_matches(request->filter, columns + order->count))
        add_row(reading, columns);
    if (!reading->ended && !row_key_set(&reading->at, columns, order->count))
        reading->ended = reading->too_long = true;
}

/* Rows that are on their way are taken to the end: to stop them is a journey of its own. */
static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct reading *reading = arg;
    const struct page_request *request = reading->request;
    assert(count >= request->order->count + request->collection->column_count);
    reading->seen++;
    if (!reading->ended)
        look_at_row(reading, columns);
    return wants_rows(reading) || !reading->store->ops->near;
}

static enum rc judge(const struct reading *reading, struct refusal *refusal)
{
    if (reading->too_long)
        return refusal_set(refusal, REFUSAL_BAD_ORDER,
                           "a value of %s is too long to page by: more than %d bytes",
                           reading->request->order->terms[0].name, ROW_KEY_BYTES_MAX);
    if (reading->too_many)
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "too many rows moved into this page since it was delivered: open the "
                           "query again");
    if (reading->too_large)
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "the rows of this page grew to more than %d MiB since it was delivered: "
                           "open the query again",
                           PAGE_AGAIN_BYTES_MAX >> 20);
    return RC_OK;
}

static void begin_page(struct reading *reading)
{
    struct page *page = reading->page;
    text_clear(&page->items);
    row_key_clear(&page->last);
    page->rows = page->scanned = 0;
    page->has_more = false;
    reading->seen = 0;
    reading->ended = reading->too_long = reading->too_many = reading->too_large = false;
    text_reserve(&page->items, ITEMS_ROOM);
    json_writer_init(&reading->writer, &page->items);
    json_begin_array(&reading->writer);
}

static enum rc run_query(struct reading *reading, const struct seek_sql *sql, struct err *err)
{
    struct store *store = reading->store;
    store->one_plan = reading->page->index != NULL;
    enum rc rc = store_query(store, text_string(&sql->text), sql->params, sql->param_count,
                             take_row, reading, err);
    store->one_plan = false;
    return rc;
}

static enum rc run_seek(struct reading *reading, const struct seek *seek, struct err *err)
{
    struct seek_sql sql = {0};
    enum rc rc = RC_OK;
    if (reading->store->ops->near) {
        for (size_t i = 0; rc == RC_OK && wants_rows(reading) && seek_build_rung(seek, i, &sql);
             i++)
            rc = run_query(reading, &sql, err);
    } else {
        seek_build(seek, &sql);
        rc = run_query(reading, &sql, err);
    }
    seek_sql_free(&sql);
    return rc;
}

static enum rc read_rows(struct reading *reading, struct where where, const struct row_key *after,
                         struct err *err)
{
    const struct page_request *request = reading->request;
    struct seek seek = {.collection = request->collection,
                        .order = request->order,
                        .where = where,
                        .fence_n = request->fence_n,
                        .after = after,
                        .rows_max = reading->limit};
    reading->seen = 0;
    enum rc rc = run_seek(reading, &seek, err);
    if (rc == RC_OK && wants_rows(reading) && seek_leaves_nulls(&seek)) {
        seek.nulls = true;
        seek.rows_max = reading->limit - reading->seen;
        rc = run_seek(reading, &seek, err);
    }
    return rc;
}

/* ---- in one query ---- */

static enum rc read_at_once(struct reading *reading, struct refusal *refusal, struct err *err)
{
    const struct page_request *request = reading->request;
    begin_page(reading);
    reading->limit = (request->last == NULL ? request->page_size : reading->rows_max) + 1;
    enum rc rc = read_rows(reading, filter_where(request->filter), request->after, err);
    return rc == RC_OK ? judge(reading, refusal) : rc;
}

/* ---- in slices ---- */

static bool has_enough(const struct reading *reading)
{
    const struct page_request *request = reading->request;
    const struct store *store = reading->store;
    if (reading->at.count == 0 || request->last != NULL)
        return false; /* nothing is known yet; what was delivered before is delivered whole */
    if (request->enough != NULL)
        return request->enough(request->enough_arg);
    return clock_mono_us() >= reading->end_us ||
           (store->stop != NULL && store->stop(store->stop_arg));
}

/* The next slice's length: the time for a query sets the pace. False: even the shortest one gave
 * no row. */
static bool set_pace(struct reading *reading, bool in_time, bool moved)
{
    if (reading->request->slice_rows > 0)
        return moved;
    if (in_time && reading->limit < SLICE_ROWS_MAX)
        reading->limit *= 2;
    if (in_time)
        return true;
    bool shortest = reading->limit == SLICE_ROWS_MIN;
    reading->limit /= 4;
    if (reading->limit < SLICE_ROWS_MIN)
        reading->limit = SLICE_ROWS_MIN;
    return moved || !shortest;
}

static enum rc read_on(struct reading *reading, struct where where, struct err *err)
{
    do {
        size_t before = reading->page->scanned;
        bool begun = reading->at.count > 0;
        /* A copy: the rows of the slice move the place, and its later queries still need it. */
        bool kept = !begun || row_key_set(&reading->from, reading->at.parts, reading->at.count);
        assert(kept);
        enum rc rc =
            read_rows(reading, where, begun ? &reading->from : reading->request->after, err);
        if (rc != RC_OK && rc != RC_AGAIN)
            return rc;
        if (reading->ended || (rc == RC_OK && reading->seen < reading->limit))
            return RC_OK;
        if (!set_pace(reading, rc == RC_OK, reading->page->scanned > before))
            return rc;
    } while (!has_enough(reading));
    reading->page->has_more = true;
    row_key_move(&reading->page->last, &reading->at);
    return RC_OK;
}

static enum rc read_in_slices(struct reading *reading, struct refusal *refusal, struct err *err)
{
    const struct page_request *request = reading->request;
    struct text sql = {0};
    begin_page(reading);
    reading->page->sliced = reading->sliced = true;
    reading->limit = request->slice_rows > 0 ? request->slice_rows : request->page_size + 1;
    enum rc rc =
        read_on(reading, filter_index_where(request->filter, reading->page->index, &sql), err);
    text_free(&sql);
    row_key_clear(&reading->at);
    row_key_clear(&reading->from);
    return rc == RC_OK ? judge(reading, refusal) : rc;
}

enum rc page_fetch(struct store *store, const struct page_request *request, struct page *page,
                   struct refusal *refusal, struct err *err)
{
    struct reading reading = {.store = store,
                              .request = request,
                              .page = page,
                              .rows_max = request->page_size * 3 / 2 + MOVED_ROWS_MAX,
                              .end_us = clock_mono_us() + PAGE_SCAN_US};
    enum rc rc = RC_AGAIN;
    assert(request->page_size > 0 && request->page_size <= COLLECTION_PAGE_SIZE_MAX);
    page->sliced = false;
    page->index = order_index(request->collection, request->order, filter_fixed(request->filter));
    if (page->index == NULL || (!request->counted && request->slice_rows == 0))
        rc = read_at_once(&reading, refusal, err);
    if (rc == RC_AGAIN && page->index != NULL)
        rc = read_in_slices(&reading, refusal, err);
    json_end_array(&reading.writer);
    return rc;
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
