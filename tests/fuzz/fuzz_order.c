/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as an order of rows, and as the place that a client names itself: refused with a
 * sentence, or the order is total, ends in the ingest number, and puts rows as a plain comparison
 * of their values does. */
#include "query/list_cursor.h"
#include "query/order.h"
#include "thing_table.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)
#define COLUMNS   4
#define ROWS      5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct column columns[COLUMNS] = {
    THING_NUMBER,
    {"s", COLUMN_TEXT, "t.s", "t.s", true},
    {"i", COLUMN_INT, "t.i", "t.i", true},
    {"f", COLUMN_FLOAT, "t.f", "t.f", false},
};
static const struct collection things = {
    THING_TABLE,
    .columns = columns,
    .column_count = COLUMNS,
    .page_size = 10,
};
/* NULL is said by a number no row has. */
#define NONE (-99)
static const struct {
    const char *s;
    int64_t i;
    double f;
} rows[ROWS] = {{"a", 1, 0.5}, {"a", NONE, 0.5}, {"b", -7, -1}, {NULL, 1, 2}, {"", NONE, 0.5}};

static struct field value_of(size_t row, unsigned column)
{
    if (column == 1)
        return field_text(bytes_of(rows[row].s));
    if (column == 3)
        return (struct field){.type = FIELD_REAL, .d = rows[row].f};
    struct field field = field_int(column == 0 ? (int64_t)row : rows[row].i);
    field.null = column == 2 && rows[row].i == NONE;
    return field;
}

/* Below 0: `a` is the lower one, NULL not looked at. */
static int compare_values(size_t a, size_t b, unsigned column)
{
    if (column == 1)
        return strcmp(rows[a].s, rows[b].s);
    if (column == 3)
        return (rows[a].f > rows[b].f) - (rows[a].f < rows[b].f);
    int64_t x = column == 0 ? (int64_t)a : rows[a].i, y = column == 0 ? (int64_t)b : rows[b].i;
    return (x > y) - (x < y);
}

static int compare_slowly(const struct order *order, size_t a, size_t b)
{
    for (size_t i = 0; i < order->count; i++) {
        const struct order_term *term = &order->terms[i];
        unsigned column = term->name == NULL ? 0 : term->column;
        bool a_null = value_of(a, column).null, b_null = value_of(b, column).null;
        int sign = a_null || b_null ? (int)b_null - (int)a_null : compare_values(a, b, column);
        if ((a_null || b_null) && term->nulls_high)
            sign = -sign;
        if (sign != 0)
            return term->desc ? -sign : sign;
    }
    return 0;
}

static void check_rows(const struct order *order)
{
    struct field keys[ROWS][ORDER_TERMS_MAX];
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < order->count; i++)
            keys[row][i] = value_of(row, order->terms[i].name == NULL ? 0 : order->terms[i].column);
    for (size_t a = 0; a < ROWS; a++)
        for (size_t b = 0; b < ROWS; b++) {
            int sign = row_key_compare(order, keys[a], keys[b]), slow = compare_slowly(order, a, b);
            assert((sign < 0) == (slow < 0) && (sign > 0) == (slow > 0));
            assert((sign == 0) == (a == b));
        }
}

static void check_cursor(const struct order *order, struct json json)
{
    struct list_cursor cursor = {0};
    struct refusal refusal = {0};
    struct filter *filter = NULL;
    struct json none = {0};
    enum rc rc = list_cursor_parse(&things, order, json, &cursor, &refusal);
    if (rc != RC_OK) {
        assert(refusal.code != REFUSAL_NONE && refusal.err.text[0] != '\0');
    } else if (cursor.given) {
        assert(cursor.value.count == 1);
        assert(cursor.onward == (cursor.condition.len == 0));
        rc = list_cursor_filter(&cursor, &things, none, &filter, &refusal);
        assert(rc == RC_OK && (filter != NULL) != cursor.onward);
    }
    filter_free(filter);
    list_cursor_free(&cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    struct order order;
    struct refusal refusal = {0};
    struct json json;
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    if (json_parse_copy(doc, bytes_make(data, size), &json, NULL) != RC_OK)
        return 0;
    struct json wanted = json_type(json) == JSON_OBJECT ? json_get(json, "orderBy") : json;
    if (order_parse(&things, wanted, &order, &refusal) != RC_OK) {
        assert(refusal.code != REFUSAL_NONE && refusal.err.text[0] != '\0');
        return 0;
    }
    assert(order.count > 0 && order.count <= ORDER_TERMS_MAX);
    assert(strcmp(order.terms[order.count - 1].sql, things.n) == 0);
    check_rows(&order);
    check_cursor(&order, json_get(json, "cursor"));
    return 0;
}
