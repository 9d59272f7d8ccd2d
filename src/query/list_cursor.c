/* SPDX-License-Identifier: Apache-2.0 */
#include "query/list_cursor.h"

#include "query/filter_parts.h"
#include "query/row_fetch.h"

#include <assert.h>
#include <string.h>

#define CONDITION_BYTES_MAX ((size_t)2 << 20)

static enum rc refuse(struct refusal *refusal)
{
    return refusal_set(refusal, REFUSAL_BAD_REQUEST,
                       "cursor is {\"field\": name, \"value\": value, \"direction\": "
                       "\"before\"|\"after\", \"id\": the last row's}");
}

static enum rc take_value(const struct collection *collection, const struct order *order,
                          struct json value, struct list_cursor *cursor, struct refusal *refusal)
{
    const struct column *column = &collection->columns[order->terms[0].column];
    const struct filter_place place = {column, "cursor"};
    enum operand_fit fit;
    struct field field;
    if (strcmp(column->sql, column->key) != 0)
        return refusal_set(refusal, REFUSAL_BAD_REQUEST, "%s cannot be the field of a cursor",
                           column->name);
    if (json_type(value) == JSON_NULL && column->nullable) {
        field = field_null(column_stored_as(column->type));
        return row_key_set(&cursor->value, &field, 1) ? RC_OK : refuse(refusal);
    }
    enum rc rc = filter_read_value(&place, value, &field, &fit, refusal);
    if (rc != RC_OK)
        return rc;
    if (fit != OPERAND_EXACT || field.null || !row_key_set(&cursor->value, &field, 1))
        return refusal_set(refusal, REFUSAL_BAD_REQUEST,
                           "cursor.value is no value that %s can have", column->name);
    return RC_OK;
}

/* Absent, null, or the string that a row's id is. */
static bool take_id(struct json value, struct bytes *id)
{
    enum json_type type = json_type(value);
    *id = (struct bytes){0};
    return type == JSON_ABSENT || type == JSON_NULL || (json_string(value, id) && id->len > 0);
}

/* On one side of those without a value lie all others, on the other side nothing. */
static void write_condition(const struct order_term *term, bool before, struct json value,
                            struct text *out)
{
    text_appendf(out, "{\"%s\":{", term->name);
    if (json_type(value) == JSON_NULL) {
        text_append_string(out, before == term->nulls_high ? "\"$isNull\":false" : "\"$in\":[]");
    } else {
        text_append_string(out, before ? "\"$lt\":" : "\"$gt\":");
        json_print(value, out);
    }
    text_append_string(out, "}}");
}

enum rc list_cursor_parse(const struct collection *collection, const struct order *order,
                          struct json json, struct list_cursor *cursor, struct refusal *refusal)
{
    const struct order_term *first = &order->terms[0];
    struct bytes field, direction, id;
    enum json_type type = json_type(json);
    if (type == JSON_ABSENT || type == JSON_NULL)
        return RC_OK;
    if (!json_string(json_get(json, "field"), &field) ||
        !json_string(json_get(json, "direction"), &direction) ||
        !take_id(json_get(json, "id"), &id))
        return refuse(refusal);
    bool before = bytes_equal_string(direction, "before");
    if (!before && !bytes_equal_string(direction, "after"))
        return refuse(refusal);
    if (first->name == NULL || !bytes_equal_string(field, first->name))
        return refusal_set(refusal, REFUSAL_BAD_REQUEST,
                           "cursor.field is the first field of the order, %s",
                           first->name == NULL ? "which has none here" : first->name);
    enum rc rc = take_value(collection, order, json_get(json, "value"), cursor, refusal);
    if (rc != RC_OK)
        return rc;
    cursor->given = true;
    cursor->onward = before == first->desc;
    if (id.len > 0 && !cursor->onward)
        return refusal_set(refusal, REFUSAL_BAD_REQUEST,
                           "cursor.id goes with \"before\" and a descending order, or with "
                           "\"after\" and an ascending one");
    text_append(&cursor->id, id.len > 0 ? id.data : "", id.len);
    if (cursor->onward)
        return RC_OK;
    write_condition(first, before, json_get(json, "value"), &cursor->condition);
    if (first->nullable && before != first->nulls_high &&
        json_type(json_get(json, "value")) != JSON_NULL)
        text_appendf(&cursor->no_value, "{\"%s\":{\"$isNull\":true}}", first->name);
    return RC_OK;
}

static enum rc parse_both(const struct collection *collection, struct json filter,
                          const struct text *condition, struct filter **out,
                          struct refusal *refusal)
{
    struct text both = {0};
    struct json root;
    struct err err;
    text_append_string(&both, "{\"$and\":[");
    if (json_type(filter) == JSON_OBJECT && json_count(filter) > 0) {
        json_print(filter, &both);
        text_append_char(&both, ',');
    }
    text_append(&both, condition->data, condition->len);
    text_append_string(&both, "]}");
    struct json_doc *doc = json_doc_new(CONDITION_BYTES_MAX, JSON_DEPTH_MAX);
    enum rc rc = json_parse_copy(doc, text_bytes(&both), &root, &err);
    if (rc == RC_OK)
        rc = filter_parse(collection, root, out, refusal);
    else
        rc = refusal_set(refusal, REFUSAL_BAD_FILTER, "the filter is too large or too deep");
    json_doc_free(doc);
    text_free(&both);
    return rc;
}

enum rc list_cursor_filter(struct list_cursor *cursor, const struct collection *collection,
                           struct json filter, struct filter **out, struct refusal *refusal)
{
    enum rc rc = RC_OK;
    if (cursor->condition.len == 0)
        return filter_parse(collection, filter, out, refusal);
    if (cursor->no_value.len > 0)
        rc = parse_both(collection, filter, &cursor->no_value, &cursor->first, refusal);
    if (rc == RC_OK)
        rc = parse_both(collection, filter, &cursor->condition, out, refusal);
    return rc;
}

/* ---- the place ---- */

struct search {
    struct row_key *place;
    size_t count; /* parts of a place */
    bool too_long;
};

static bool take_place(void *arg, const struct field *columns, size_t count)
{
    struct search *search = arg;
    assert(count == search->count);
    search->too_long = !row_key_set(search->place, columns, count);
    return false;
}

static bool take_number(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1);
    if (!columns[0].null)
        *(int64_t *)arg = columns[0].i;
    return false;
}

/* Where the row of that id stands; a place without parts when it is gone. */
static enum rc find_row(const struct field *id, struct store *store,
                        const struct collection *collection, const struct order *order,
                        struct row_key *place, struct refusal *refusal, struct err *err)
{
    struct search search = {.place = place, .count = order->count};
    struct text sql = {0};
    text_append_string(&sql, "SELECT ");
    for (size_t i = 0; i < order->count; i++)
        text_appendf(&sql, "%s%s", i > 0 ? ", " : "", order->terms[i].sql);
    row_append_scope(collection, &sql);
    enum rc rc = store_query(store, text_string(&sql), id, 1, take_place, &search, err);
    text_free(&sql);
    return search.too_long ? refusal_set(refusal, REFUSAL_BAD_ORDER,
                                         "the row of cursor.id has too long a value to page by")
                           : rc;
}

/* The ingest number of a row that is gone, -1 when nobody knows it. That of a deleted document is
 * remembered for a while. */
static enum rc find_number(const struct field *id, struct store *store,
                           const struct collection *collection, int64_t *n, struct err *err)
{
    *n = -1;
    if (strcmp(collection->columns[0].sql, collection->n) == 0) {
        *n = id->i;
        return RC_OK;
    }
    const struct field key[] = {field_text(bytes_of(collection->tombstones)), *id};
    return store_query(store, "SELECT n FROM tombstones WHERE collection = ?1 AND key = ?2", key, 2,
                       take_number, n, err);
}

/* Of a place that is no row's only the value is known: it lies behind all rows of that value, or
 * of those behind the ones up to that number. */
static bool set_place(const struct list_cursor *cursor, int64_t n, struct row_key *place)
{
    struct field parts[ORDER_TERMS_MAX];
    struct row_key found = {0};
    size_t count = 1;
    row_key_move(&found, place);
    parts[0] = cursor->value.parts[0];
    if (found.count > 0) {
        memcpy(parts + 1, found.parts + 1, (found.count - 1) * sizeof parts[0]);
        count = found.count;
    } else if (n >= 0) {
        parts[1] = field_int(n);
        count = 2;
    }
    bool fits = row_key_set(place, parts, count);
    row_key_clear(&found);
    return fits;
}

/* Neither a row's place nor one behind all of its value: rows would be skipped. */
static enum rc find_place(const struct list_cursor *cursor, struct store *store,
                          const struct collection *collection, const struct order *order,
                          struct row_key *place, int64_t *n, struct refusal *refusal,
                          struct err *err)
{
    struct field id;
    if (!row_id(collection, text_bytes(&cursor->id), &id))
        return refusal_set(refusal, REFUSAL_BAD_REQUEST, "cursor.id is no id that %s can have",
                           collection->name);
    enum rc rc = find_row(&id, store, collection, order, place, refusal, err);
    if (rc != RC_OK || place->count > 0 || order->terms[0].column == 0)
        return rc;
    if (order->count == 2)
        rc = find_number(&id, store, collection, n, err);
    if (rc == RC_OK && *n < 0)
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "the row of cursor.id is gone: start the list again");
    return rc;
}

enum rc list_cursor_place(const struct list_cursor *cursor, struct store *store,
                          const struct collection *collection, const struct order *order,
                          struct row_key *place, struct refusal *refusal, struct err *err)
{
    int64_t n = -1;
    enum rc rc = RC_OK;
    row_key_clear(place);
    if (!cursor->given || !cursor->onward)
        return RC_OK;
    if (cursor->id.len > 0)
        rc = find_place(cursor, store, collection, order, place, &n, refusal, err);
    if (rc == RC_OK && !set_place(cursor, n, place))
        return refusal_set(refusal, REFUSAL_BAD_REQUEST, "cursor.value is too long");
    return rc;
}

/* ---- the rows ---- */

static void append_items(struct page *page, const struct page *rest)
{
    if (rest->rows == 0)
        return;
    page->items.len--; /* the array goes on */
    if (page->rows > 0)
        text_append_char(&page->items, ',');
    text_append(&page->items, rest->items.data + 1, rest->items.len - 1);
    page->rows += rest->rows;
}

/* On their side of a value those that have none always come first. One condition for both would
 * have no interval of the index. */
enum rc list_cursor_fetch(const struct list_cursor *cursor, struct store *store,
                          const struct page_request *wanted, struct page *page,
                          struct refusal *refusal, struct err *err)
{
    struct page_request request = *wanted;
    struct page rest = {0};
    if (cursor->first == NULL)
        return page_fetch(store, wanted, page, refusal, err);
    request.filter = cursor->first;
    enum rc rc = page_fetch(store, &request, page, refusal, err);
    if (rc != RC_OK || page->has_more)
        return rc;
    bool full = page->rows == wanted->page_size;
    request.filter = wanted->filter;
    request.page_size = full ? 1 : wanted->page_size - page->rows;
    rc = page_fetch(store, &request, &rest, refusal, err);
    page->has_more = rest.has_more || (full && rest.rows > 0);
    if (rc == RC_OK && !full)
        append_items(page, &rest);
    page_free(&rest);
    return rc;
}

void list_cursor_free(struct list_cursor *cursor)
{
    filter_free(cursor->first);
    row_key_clear(&cursor->value);
    text_free(&cursor->id);
    text_free(&cursor->condition);
    text_free(&cursor->no_value);
}
