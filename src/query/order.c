/* SPDX-License-Identifier: Apache-2.0 */
#include "query/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY_ROOM 64 /* more than is needed, for the next one */

static struct order_term *add_term(const struct collection *collection, struct order *order,
                                   uint8_t column, bool desc)
{
    const struct column *from = &collection->columns[column];
    assert(order->count < COLLECTION_ORDER_MAX && from->key != NULL);
    struct order_term *term = &order->terms[order->count++];
    *term = (struct order_term){.sql = from->key,
                                .name = from->name,
                                .column = column,
                                .desc = desc,
                                .nullable = from->nullable};
    return term;
}

/* What follows the ingest number decides nothing; without it the order is not total. */
static void end_with_ingest_number(const struct collection *collection, struct order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        if (strcmp(order->terms[i].sql, collection->n) == 0) {
            order->count = i + 1;
            return;
        }
    }
    bool desc = order->count > 0 ? order->terms[order->count - 1].desc : !collection->oldest_first;
    order->terms[order->count++] = (struct order_term){.sql = collection->n, .desc = desc};
}

enum field_type column_stored_as(enum column_type type)
{
    switch (type) {
    case COLUMN_TEXT:
    case COLUMN_JSON:
        return FIELD_TEXT;
    case COLUMN_FLOAT:
        return FIELD_REAL;
    case COLUMN_BYTES:
        return FIELD_BLOB;
    default:
        return FIELD_INT;
    }
}

void order_default(const struct collection *collection, struct order *order)
{
    *order = (struct order){0};
    for (size_t i = 0; i < collection->order_count; i++)
        add_term(collection, order, collection->order[i].column, collection->order[i].desc);
    end_with_ingest_number(collection, order);
}

static enum rc parse_direction(struct json item, struct bytes field, bool *desc,
                               struct refusal *refusal)
{
    struct json value = json_get(item, "direction");
    struct bytes word = json_string_or_absent(value);
    *desc = bytes_equal_string(word, "desc");
    if (json_type(value) == JSON_ABSENT || *desc || bytes_equal_string(word, "asc"))
        return RC_OK;
    return refusal_set(refusal, REFUSAL_BAD_ORDER, "orderBy %.*s: direction is \"asc\" or \"desc\"",
                       (int)field.len, field.data);
}

/* Where NULLs go is said as it is seen, first or last. */
static enum rc parse_nulls(struct json item, struct order_term *term, struct refusal *refusal)
{
    struct json value = json_get(item, "nulls");
    struct bytes word = json_string_or_absent(value);
    bool last = bytes_equal_string(word, "last");
    if (json_type(value) == JSON_ABSENT)
        return RC_OK;
    if (!last && !bytes_equal_string(word, "first"))
        return refusal_set(refusal, REFUSAL_BAD_ORDER, "orderBy %s: nulls is \"first\" or \"last\"",
                           term->name);
    term->nulls_high = term->nullable && last != term->desc;
    return RC_OK;
}

static enum rc parse_item(const struct collection *collection, struct json item,
                          struct order *order, struct refusal *refusal)
{
    struct bytes field;
    bool desc;
    if (json_type(item) != JSON_OBJECT || !json_string(json_get(item, "field"), &field))
        return refusal_set(
            refusal, REFUSAL_BAD_ORDER,
            "orderBy is a list of {\"field\": name, \"direction\": \"asc\"|\"desc\"}");
    if (field.len > 128)
        field.len = 128;
    int column = collection_column(collection, field);
    if (column < 0)
        return collection_refuse_field(collection, "orderBy", field, refusal);
    if (collection->columns[column].key == NULL)
        return refusal_set(refusal, REFUSAL_BAD_ORDER, "orderBy: %s cannot be ordered by %.*s",
                           collection->name, (int)field.len, field.data);
    for (size_t i = 0; i < order->count; i++)
        if (order->terms[i].column == column)
            return refusal_set(refusal, REFUSAL_BAD_ORDER, "orderBy names %.*s twice",
                               (int)field.len, field.data);
    enum rc rc = parse_direction(item, field, &desc, refusal);
    if (rc != RC_OK)
        return rc;
    return parse_nulls(item, add_term(collection, order, (uint8_t)column, desc), refusal);
}

enum rc order_parse(const struct collection *collection, struct json order_by, struct order *order,
                    struct refusal *refusal)
{
    enum json_type type = json_type(order_by);
    struct bytes key;
    struct json item;
    *order = (struct order){0};
    if (type == JSON_ABSENT || type == JSON_NULL ||
        (type == JSON_ARRAY && json_count(order_by) == 0)) {
        order_default(collection, order);
        return RC_OK;
    }
    if (type != JSON_ARRAY)
        return refusal_set(
            refusal, REFUSAL_BAD_ORDER,
            "orderBy is a list of {\"field\": name, \"direction\": \"asc\"|\"desc\"}");
    if (json_count(order_by) > COLLECTION_ORDER_MAX)
        return refusal_set(refusal, REFUSAL_BAD_ORDER, "orderBy names more than %d fields",
                           COLLECTION_ORDER_MAX);
    struct json_walk walk = json_walk(order_by);
    while (json_walk_next(&walk, &key, &item)) {
        enum rc rc = parse_item(collection, item, order, refusal);
        if (rc != RC_OK)
            return rc;
    }
    end_with_ingest_number(collection, order);
    return RC_OK;
}

bool order_renew(struct order *order, const struct collection *collection)
{
    struct order fresh = *order;
    for (size_t i = 0; i < fresh.count; i++) {
        struct order_term *term = &fresh.terms[i];
        if (term->name == NULL)
            continue;
        int column = collection_column(collection, bytes_of(term->name));
        if (column < 0 || collection->columns[column].key == NULL)
            return false;
        term->column = (uint8_t)column;
        term->sql = collection->columns[column].key;
        term->name = collection->columns[column].name;
    }
    *order = fresh;
    return true;
}

static bool is_fixed(uint64_t fixed, uint8_t column)
{
    return (fixed >> column & 1) != 0;
}

static bool matters(const struct order_term *term, uint64_t fixed)
{
    return term->name == NULL || !is_fixed(fixed, term->column);
}

bool order_term_ends_in_nulls(const struct order_term *term)
{
    return term->desc != term->nulls_high;
}

/* An index is read from one of its ends to the other. */
static bool has_one_direction(const struct order *order, uint64_t fixed)
{
    bool desc = order->terms[order->count - 1].desc;
    for (size_t i = 0; i < order->count; i++) {
        const struct order_term *term = &order->terms[i];
        if (matters(term, fixed) && (term->desc != desc || term->nulls_high))
            return false;
    }
    return true;
}

/* The index names the order's fields in turn, but for fixed ones; the ingest number follows. */
static bool serves(const struct collection_index *index, const struct order *order, uint64_t fixed)
{
    size_t term = 0;
    for (size_t i = 0; i < index->count; i++) {
        bool met = term < order->count && order->terms[term].name != NULL &&
                   order->terms[term].column == index->columns[i];
        if (!met && !is_fixed(fixed, index->columns[i]))
            return false;
        term += met;
    }
    while (term < order->count && !matters(&order->terms[term], fixed))
        term++;
    return term + 1 >= order->count && has_one_direction(order, fixed);
}

static size_t count_pinned(const struct collection_index *index, uint64_t fixed)
{
    size_t count = 0;
    while (count < index->count && is_fixed(fixed, index->columns[count]))
        count++;
    return count;
}

const struct collection_index *order_index(const struct collection *collection,
                                           const struct order *order, uint64_t fixed)
{
    const struct collection_index *best = NULL;
    size_t best_pinned = 0;
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct collection_index *index = &collection->indexes[i];
        size_t pinned = count_pinned(index, fixed);
        if ((best == NULL || pinned > best_pinned) && serves(index, order, fixed)) {
            best = index;
            best_pinned = pinned;
        }
    }
    return best;
}

/* ---- places ---- */

bool row_key_has_bytes(const struct field *field)
{
    return !field->null && (field->type == FIELD_TEXT || field->type == FIELD_BLOB);
}

/* The parts may be the key's own: their bytes are in this order there, too. */
static void copy_parts(struct row_key *key, char *bytes, const struct field *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct field part = parts[i];
        if (row_key_has_bytes(&part)) {
            if (part.b.len > 0)
                memmove(bytes, part.b.data, part.b.len);
            part.b.data = bytes;
            bytes += part.b.len;
        }
        key->parts[i] = part;
    }
}

bool row_key_set(struct row_key *key, const struct field *parts, size_t count)
{
    size_t total = 0;
    assert(count > 0 && count <= ORDER_TERMS_MAX);
    for (size_t i = 0; i < count; i++)
        total += row_key_has_bytes(&parts[i]) ? parts[i].b.len : 0;
    if (total > ROW_KEY_BYTES_MAX) {
        row_key_clear(key);
        return false;
    }
    if (key->bytes == NULL || total > key->room) {
        char *bytes = memory_new(total + KEY_ROOM);
        copy_parts(key, bytes, parts, count);
        free(key->bytes);
        key->bytes = bytes;
        key->room = total + KEY_ROOM;
    } else {
        copy_parts(key, key->bytes, parts, count);
    }
    key->count = count;
    return true;
}

void row_key_clear(struct row_key *key)
{
    free(key->bytes);
    *key = (struct row_key){0};
}

void row_key_move(struct row_key *to, struct row_key *from)
{
    assert(to != from);
    row_key_clear(to);
    *to = *from;
    *from = (struct row_key){0};
}

static double real_of(const struct field *field)
{
    return field->type == FIELD_INT ? (double)field->i : field->d;
}

int field_compare(const struct field *a, const struct field *b)
{
    if (a->null || b->null)
        return (int)b->null - (int)a->null;
    if (a->type == FIELD_INT && b->type == FIELD_INT)
        return (a->i > b->i) - (a->i < b->i);
    if (row_key_has_bytes(a) && row_key_has_bytes(b))
        return bytes_compare(a->b, b->b);
    assert(!row_key_has_bytes(a) && !row_key_has_bytes(b));
    return (real_of(a) > real_of(b)) - (real_of(a) < real_of(b));
}

int row_key_compare(const struct order *order, const struct field *a, const struct field *b)
{
    for (size_t i = 0; i < order->count; i++) {
        const struct order_term *term = &order->terms[i];
        int sign = field_compare(&a[i], &b[i]);
        bool turned = term->desc;
        if (a[i].null || b[i].null)
            turned = order_term_ends_in_nulls(term);
        if (sign != 0)
            return turned ? -sign : sign;
    }
    return 0;
}
