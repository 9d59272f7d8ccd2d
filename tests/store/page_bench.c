/* SPDX-License-Identifier: Apache-2.0 */
#include "page_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void page_bench_run(struct bench *bench, const char *sql)
{
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
}

int page_bench_set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct store_position position;
    unsigned applied;
    fixture_open(&bench->fixture, both_stores_kind);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &bench->store, &bench->err));
    assert_ok(store_migrate(bench->store, &applied, &bench->err));
    assert_ok(store_claim(bench->store, "test", NULL, 1, &position, &bench->err));
    page_bench_run(
        bench,
        both_stores_kind == FIXTURE_SQLITE
            ? "CREATE TABLE thing (n INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT, f REAL)"
            : "CREATE TABLE thing (n BIGINT PRIMARY KEY, a BIGINT NOT NULL, "
              "b TEXT COLLATE \"C\", f DOUBLE PRECISION)");
    bench->doc = json_doc_new(8 << 20, JSON_DEPTH_MAX);
    bench->handles = handles_new(0, 0);
    *state = bench;
    both_stores_executed++;
    return 0;
}

int page_bench_tear_down(void **state)
{
    struct bench *bench = *state;
    if (bench->busy) /* a failed test left it so */
        handle_abandon(bench->handles, bench->handle, 0);
    page_free(&bench->page);
    text_free(&bench->script);
    handles_free(bench->handles);
    json_doc_free(bench->doc);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static const struct column thing_columns[] = {
    {"id", COLUMN_ID, "t.n", "t.n", false},
    {"a", COLUMN_INT, "t.a", "t.a", false},
    {"b", COLUMN_TEXT, "t.b", "t.b", true},
    {"f", COLUMN_FLOAT, "t.f", "t.f", true},
};
static const struct collection_order thing_order[] = {{1, true}};
const struct collection page_bench_things = {
    .name = "things",
    .table = "thing t",
    .joins = "",
    .n = "t.n",
    .columns = thing_columns,
    .column_count = 4,
    .order = thing_order,
    .order_count = 1,
    .page_size = 100,
};

void page_bench_open(struct bench *bench, const struct collection *collection, const char *order,
                     unsigned page_size)
{
    struct handle_spec spec = {.collection = collection, .page_size = page_size};
    static uint64_t random[2];
    struct json root;
    random[0]++;
    assert_ok(json_parse_copy(bench->doc, bytes_of(order), &root, &bench->err));
    assert_ok(order_parse(collection, root, &spec.order, &bench->refusal));
    assert_ok(opening_read(bench->store, collection, (struct where){0}, false, &spec.opening,
                           &bench->err));
    assert_ok(
        handle_open(bench->handles, &spec, (uint8_t *)random, 0, &bench->handle, &bench->refusal));
}

size_t page_bench_ask(struct bench *bench, int64_t number, int64_t *ids, bool *has_more)
{
    enum handle_step step;
    struct page_request request;
    struct json root, item;
    struct bytes key, id;
    size_t count = 0;
    assert_ok(handle_begin(bench->handle, number, &step, &number, &request, &bench->refusal));
    *has_more = false;
    if (step == STEP_END)
        return 0;
    bench->busy = true;
    assert_ok(page_fetch(bench->store, &request, &bench->page, &bench->refusal, &bench->err));
    size_t rows = bench->page.rows;
    bench->busy = false;
    assert_ok(handle_deliver(bench->handles, bench->handle, step, &bench->page, 0, has_more,
                             &bench->refusal));
    assert_ok(json_parse_copy(bench->doc, text_bytes(&bench->page.items), &root, &bench->err));
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &item)) {
        assert_true(json_string(json_get(item, "id"), &id));
        assert_true(bytes_to_i64(id, &ids[count++]));
    }
    assert_int_equal(count, rows);
    return count;
}
