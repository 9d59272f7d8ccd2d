/* SPDX-License-Identifier: Apache-2.0 */
#include "query/document.h"

#include "base/json_write.h"
#include "base/timestamp.h"
#include "query/order.h"
#include "query/row_print.h"
#include "store/row_table.h"

#include <assert.h>
#include <stdlib.h>

#define FOUND_BYTES_MAX 48
#define EXTRA_BYTES_MAX ((size_t)64 << 20)
#define EXPONENT_GROWTH 16 /* 1e16 is stored as 10000000000000000.0 */

size_t document_row_size(const struct collection *collection)
{
    size_t fields = ROW_COLUMNS + collection->column_count;
    return sizeof(struct record) + fields * (sizeof(struct field) + ARENA_PAD + 32);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* In a text this takes a few for exponents that are none, which only makes room. */
size_t document_growth(struct bytes json)
{
    size_t exponents = 0;
    for (size_t i = 1; i < json.len; i++)
        exponents += (json.data[i] == 'e' || json.data[i] == 'E') && is_digit(json.data[i - 1]);
    return exponents * EXPONENT_GROWTH;
}

struct record *document_add(const struct collection *collection, struct batch *batch, int op,
                            int64_t now_us)
{
    enum field_type types[COLLECTION_COLUMNS_MAX];
    unsigned count = (unsigned)collection->column_count - 1;
    assert(collection->declared);
    for (unsigned i = 0; i < count; i++)
        types[i] = column_stored_as(collection->columns[i + 1].type);
    struct record *row = batch_add_row(batch, types, count);
    if (row == NULL || !batch_set_text(batch, row, ROW_COLLECTION, bytes_of(collection->name)))
        return NULL;
    batch_set_int(row, ROW_ACT, row_table_act(collection->shape, op));
    batch_set_int(row, ROW_AT_US, now_us);
    return row;
}

/* ---- one value ---- */

static const char *expected(enum column_type type)
{
    static const char *const words[] = {
        [COLUMN_TEXT] = "text (a string)",
        [COLUMN_INT] = "int (a whole number of 64 bits)",
        [COLUMN_TIME] = "time (a string like \"2026-01-31T09:00:00Z\")",
        [COLUMN_BOOL] = "bool (true or false)",
        [COLUMN_FLOAT] = "float (a number)",
    };
    return words[type];
}

static enum rc refuse_value(const char *where, const char *field, const char *wanted,
                            struct json found, struct refusal *refusal)
{
    struct text text = {0};
    json_print(found, &text);
    bool cut = text.len > FOUND_BYTES_MAX;
    enum rc rc = refusal_set(refusal, REFUSAL_BAD_DATA, "%s.%s: expected %s, found %.*s%s", where,
                             field, wanted, cut ? FOUND_BYTES_MAX : (int)text.len,
                             text_string(&text), cut ? "..." : "");
    text_free(&text);
    return rc;
}

/* Whether `value` is of the type; sets what needs no memory. */
static bool convert(enum column_type type, struct json value, struct field *out)
{
    struct bytes text;
    bool yes;
    switch (type) {
    case COLUMN_TIME:
        return json_string(value, &text) && timestamp_parse(text, &out->i);
    case COLUMN_BOOL:
        if (!json_bool(value, &yes))
            return false;
        out->i = yes;
        return true;
    case COLUMN_FLOAT:
        if (!json_real(value, &out->d))
            return false;
        out->d = out->d == 0 ? 0 : out->d; /* SQLite keeps no sign of zero */
        return true;
    case COLUMN_INT:
        return json_type(value) == JSON_INT && json_i64(value, &out->i);
    case COLUMN_TEXT:
        return json_type(value) == JSON_STRING;
    default:
        return type == COLUMN_JSON;
    }
}

static bool set_text(struct batch *batch, struct record *row, unsigned field, struct json value,
                     bool is_json)
{
    struct bytes plain;
    if (!is_json && json_string(value, &plain))
        return batch_set_text(batch, row, field, plain);
    struct text text = {0};
    json_print(value, &text);
    bool fits = batch_set_text(batch, row, field, text_bytes(&text));
    text_free(&text);
    return fits;
}

/* RC_REJECT: it is not of the type; RC_AGAIN: the batch is full. */
static enum rc set_column(const struct collection *collection, size_t column, struct json value,
                          struct batch *batch, struct record *row)
{
    enum column_type type = collection->columns[column].type;
    unsigned at = ROW_ID + (unsigned)column;
    struct field field = field_null(row->fields[at].type);
    if (json_type(value) == JSON_NULL) {
        row->fields[at] = field;
        return RC_OK;
    }
    if (!convert(type, value, &field))
        return RC_REJECT;
    if (type == COLUMN_TEXT || type == COLUMN_JSON)
        return set_text(batch, row, at, value, type == COLUMN_JSON) ? RC_OK : RC_AGAIN;
    field.null = false;
    row->fields[at] = field;
    return RC_OK;
}

static enum rc refuse_size(struct refusal *refusal)
{
    return refusal_set(refusal, REFUSAL_TOO_LARGE,
                       "the documents are too large to be stored at once: send fewer");
}

static enum rc set_given(const struct collection *collection, struct json data, const char *where,
                         struct batch *batch, struct record *row, struct refusal *refusal)
{
    for (size_t i = 1; i < collection->column_count; i++) {
        struct json value = json_get(data, collection->columns[i].name);
        if (json_type(value) == JSON_ABSENT)
            continue;
        enum rc rc = set_column(collection, i, value, batch, row);
        if (rc == RC_AGAIN)
            return refuse_size(refusal);
        if (rc != RC_OK)
            return refuse_value(where, collection->columns[i].name,
                                expected(collection->columns[i].type), value, refusal);
    }
    return RC_OK;
}

/* What an index cannot hold on one store is refused on both. */
static enum rc check_keys(const struct collection *collection, const char *where,
                          const struct record *row, struct refusal *refusal)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct collection_index *index = &collection->indexes[i];
        size_t bytes = 0;
        for (size_t k = 0; k < index->count; k++) {
            const struct field *field = &row->fields[ROW_ID + index->columns[k]];
            bytes += field->type == FIELD_TEXT && !field->null ? field->b.len : 0;
        }
        if (bytes > DOCUMENT_KEY_BYTES_MAX)
            return refusal_set(refusal, REFUSAL_BAD_DATA,
                               "%s.%s: expected at most %d bytes in an indexed field%s, found %zu",
                               where, collection->columns[index->columns[0]].name,
                               DOCUMENT_KEY_BYTES_MAX,
                               index->count > 1 ? " and those it is indexed with" : "", bytes);
    }
    return RC_OK;
}

/* ---- keys ---- */

static enum rc refuse_twice(const char *where, struct bytes key, struct refusal *refusal)
{
    struct text text = {0};
    struct json_writer writer;
    json_writer_init(&writer, &text);
    json_put_string(&writer, key);
    bool cut = text.len > FOUND_BYTES_MAX;
    enum rc rc = refusal_set(refusal, REFUSAL_BAD_DATA,
                             "%s: expected each key once in an object, found "
                             "%.*s%s twice",
                             where, cut ? FOUND_BYTES_MAX : (int)text.len, text_string(&text),
                             cut ? "..." : "");
    text_free(&text);
    return rc;
}

static int by_bytes(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

static enum rc check_keys_of(struct json object, const char *where, struct refusal *refusal)
{
    size_t count = json_count(object), taken = 0;
    struct json_walk walk = json_walk(object);
    struct json value;
    enum rc rc = RC_OK;
    if (count < 2)
        return RC_OK;
    struct bytes *keys = memory_new(count * sizeof *keys);
    while (taken < count && json_walk_next(&walk, &keys[taken], &value))
        taken++;
    qsort(keys, taken, sizeof *keys, by_bytes);
    for (size_t i = 1; i < taken && rc == RC_OK; i++)
        if (bytes_equal(keys[i], keys[i - 1]))
            rc = refuse_twice(where, keys[i], refusal);
    free(keys);
    return rc;
}

/* Readers of JSON differ in which of two they take. As deep as it was parsed: JSON_DEPTH_MAX. */
static enum rc check_twice(struct json value, const char *where, struct refusal *refusal)
{
    struct json_walk walk = json_walk(value);
    struct bytes key;
    struct json inside;
    enum rc rc = json_type(value) == JSON_OBJECT ? check_keys_of(value, where, refusal) : RC_OK;
    while (rc == RC_OK && json_walk_next(&walk, &key, &inside))
        rc = check_twice(inside, where, refusal);
    return rc;
}

/* ---- what has no column ---- */

static bool is_extra(const struct collection *collection, struct bytes key)
{
    return collection_column(collection, key) < 0;
}

static void put_member(struct json_writer *writer, struct bytes key, struct json value)
{
    struct text text = {0};
    json_print(value, &text);
    json_key_bytes(writer, key);
    json_put_raw(writer, text_bytes(&text));
    text_free(&text);
}

/* Members of `from` without a column that `but` does not name. */
static void put_extra(const struct collection *collection, struct json from, struct json but,
                      struct json_writer *writer)
{
    struct json_walk walk = json_walk(from);
    struct bytes key;
    struct json value;
    while (json_walk_next(&walk, &key, &value))
        if (is_extra(collection, key) && json_type(json_get_bytes(but, key)) == JSON_ABSENT)
            put_member(writer, key, value);
}

static bool set_extra(struct batch *batch, struct record *row, const struct text *extra)
{
    row->fields[ROW_EXTRA] = field_null(FIELD_TEXT);
    return extra->len <= 2 || batch_set_text(batch, row, ROW_EXTRA, text_bytes(extra));
}

/* ---- documents ---- */

enum rc document_id(struct json data, const char *where, struct bytes *id, struct refusal *refusal)
{
    struct json value = json_get(data, "id");
    enum json_type type = json_type(value);
    *id = (struct bytes){0};
    if (json_type(data) != JSON_OBJECT)
        return refusal_set(refusal, REFUSAL_BAD_DATA, "%s: expected an object", where);
    if (type == JSON_ABSENT || type == JSON_NULL)
        return RC_OK;
    if (!json_string(value, id) || id->len == 0 || id->len > DOCUMENT_ID_BYTES_MAX)
        return refuse_value(where, "id", "a string of 1 to 512 bytes", value, refusal);
    return RC_OK;
}

enum rc document_read(const struct collection *collection, struct json data, const char *where,
                      struct batch *batch, struct record *row, struct refusal *refusal)
{
    struct text extra = {0};
    struct json_writer writer;
    enum rc rc = check_twice(data, where, refusal);
    if (rc == RC_OK)
        rc = set_given(collection, data, where, batch, row, refusal);
    if (rc == RC_OK)
        rc = check_keys(collection, where, row, refusal);
    if (rc != RC_OK)
        return rc;
    json_writer_init(&writer, &extra);
    json_begin_object(&writer);
    put_extra(collection, data, (struct json){0}, &writer);
    json_end_object(&writer);
    if (!set_extra(batch, row, &extra))
        rc = refuse_size(refusal);
    text_free(&extra);
    return rc;
}

static bool copy_stored(const struct collection *collection, const struct field *columns,
                        struct batch *batch, struct record *row)
{
    for (size_t i = 1; i < collection->column_count; i++) {
        struct field *to = &row->fields[ROW_ID + i];
        if (columns[i].null)
            continue;
        if (to->type == FIELD_TEXT) {
            if (!batch_set_text(batch, row, ROW_ID + (unsigned)i, columns[i].b))
                return false;
        } else {
            *to = columns[i];
        }
    }
    return true;
}

/* A key of `extra` that was declared since moves to its column, if it is of the type. */
static bool move_extra(const struct collection *collection, struct json stored, struct json data,
                       struct batch *batch, struct record *row, struct json_writer *writer)
{
    struct json_walk walk = json_walk(stored);
    struct bytes key;
    struct json value;
    while (json_walk_next(&walk, &key, &value)) {
        int column = collection_column(collection, key);
        if (column < 0 || json_type(json_get_bytes(data, key)) != JSON_ABSENT)
            continue;
        enum rc rc = set_column(collection, (size_t)column, value, batch, row);
        if (rc == RC_AGAIN)
            return false;
        if (rc == RC_REJECT)
            put_member(writer, key, value);
    }
    return true;
}

enum rc document_change(const struct collection *collection, const struct field *columns,
                        const struct field *extra, struct json data, struct batch *batch,
                        struct record *row, struct refusal *refusal)
{
    struct text merged = {0};
    struct json stored = {0};
    struct json_writer writer;
    struct err err;
    enum rc rc = check_twice(data, "data", refusal);
    if (rc != RC_OK)
        return rc;
    struct json_doc *doc = json_doc_new(EXTRA_BYTES_MAX, JSON_DEPTH_MAX);
    /* What is stored was written here; were it damaged, the new keys stand alone. */
    if (!extra->null && json_parse_copy(doc, extra->b, &stored, &err) != RC_OK)
        stored = (struct json){0};
    json_writer_init(&writer, &merged);
    json_begin_object(&writer);
    put_extra(collection, stored, data, &writer);
    bool fits = copy_stored(collection, columns, batch, row) &&
                move_extra(collection, stored, data, batch, row, &writer);
    put_extra(collection, data, (struct json){0}, &writer);
    json_end_object(&writer);
    if (!fits || !set_extra(batch, row, &merged))
        rc = refuse_size(refusal);
    if (rc == RC_OK)
        rc = set_given(collection, data, "data", batch, row, refusal);
    if (rc == RC_OK)
        rc = check_keys(collection, "data", row, refusal);
    text_free(&merged);
    json_doc_free(doc);
    return rc;
}

/* ---- what a row was ---- */

void document_print_past(const struct collection *collection, const struct field *columns,
                         struct text *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    row_print(collection, columns, NULL, &writer);
}

void document_read_past(const struct collection *collection, struct json past,
                        struct field *columns)
{
    for (size_t i = 0; i < collection->column_count; i++) {
        enum column_type type = collection->columns[i].type;
        struct json value = json_get(past, collection->columns[i].name);
        struct bytes text = {.data = ""};
        struct field *to = &columns[i];
        bool none = json_type(value) == JSON_ABSENT || json_type(value) == JSON_NULL;
        *to = field_null(column_stored_as(type));
        if (none || !convert(type, value, to))
            continue;
        if (to->type == FIELD_TEXT && type != COLUMN_JSON)
            (void)json_string(value, &text);
        if (to->type == FIELD_TEXT)
            *to = field_text(text);
        to->null = false;
    }
}
