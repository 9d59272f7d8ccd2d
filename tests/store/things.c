/* SPDX-License-Identifier: Apache-2.0 */
#include "things.h"

#include "thing_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct column columns[] = {
    THING_NUMBER,
    {"a", COLUMN_INT, "t.a", "t.a", false},
    {"b", COLUMN_TEXT, "t.b", "t.b", true},
    {"f", COLUMN_FLOAT, "t.f", "t.f", true},
};
static const struct collection_order order_by_a[] = {{1, true}};
static const struct collection_index indexes[] = {
    {{1}, 1}, {{0}, 1}, {{2}, 1}, {{1, 2}, 2}, {{3, 1}, 2}};
const struct collection things = {
    THING_TABLE,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .order = order_by_a,
    .order_count = 1,
    .indexes = indexes,
    .index_count = sizeof indexes / sizeof indexes[0],
    .page_size = 100,
};

enum rc things_open(struct fixture *fixture, struct store **store, struct err *err)
{
    unsigned applied;
    fixture_open(fixture, both_stores_kind);
    enum rc rc = store_open(fixture->url, STORE_WRITE, store, err);
    if (rc == RC_OK)
        rc = store_migrate(*store, &applied, err);
    if (rc == RC_OK)
        rc = (*store)->ops->script(
            *store,
            both_stores_kind == FIXTURE_SQLITE
                ? "CREATE TABLE thing (n INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT, f REAL)"
                : "CREATE TABLE thing (n BIGINT PRIMARY KEY, a BIGINT NOT NULL, "
                  "b TEXT COLLATE \"C\", f DOUBLE PRECISION)",
            err);
    return rc;
}

size_t things_read_ids(struct json_doc *doc, const struct text *items, int64_t *ids)
{
    struct json root, item;
    struct bytes key, id;
    struct err err;
    size_t count = 0;
    assert_int_equal(json_parse_copy(doc, text_bytes(items), &root, &err), RC_OK);
    struct json_walk walk = json_walk(root);
    while (json_walk_next(&walk, &key, &item)) {
        assert_true(json_string(json_get(item, "id"), &id));
        assert_true(bytes_to_i64(id, &ids[count++]));
    }
    return count;
}
