/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "store/row_table.h"
#include "store/verification.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA_BYTES_MAX ((size_t)64 << 20)

/* A field that some collection has, as the store has it written down. */
struct declared {
    char collection[ROW_TABLE_NAME_MAX], field[ROW_TABLE_NAME_MAX], type[ROW_TABLE_NAME_MAX];
};

struct rows {
    struct verification_check *check;
    struct declared *fields;
    size_t count, room;
    const struct declared *first; /* of the collection that is being read ... */
    size_t field_count;           /* ... and how many it has */
    struct json_doc *doc;
};

enum { ROW_NEXT_N, ROW_COMMIT_SEQ, ROW_N, ROW_SEQ, ROW_DOCUMENT_ID, ROW_REST, ROW_FIELDS_FROM };

static void copy_name(struct bytes from, char to[ROW_TABLE_NAME_MAX])
{
    snprintf(to, ROW_TABLE_NAME_MAX, "%.*s", (int)from.len, from.data == NULL ? "" : from.data);
}

static bool take_field(void *arg, const struct field *columns, size_t count)
{
    struct rows *rows = arg;
    assert(count == 3);
    if (rows->count == rows->room) {
        rows->room = rows->room == 0 ? 64 : rows->room * 2;
        rows->fields = memory_resize(rows->fields, rows->room * sizeof *rows->fields);
    }
    struct declared *field = &rows->fields[rows->count++];
    copy_name(columns[0].b, field->collection);
    copy_name(columns[1].b, field->field);
    copy_name(columns[2].b, field->type);
    return true;
}

/* ---- one document ---- */

static void complain(struct rows *rows, const struct field *id, const char *what, const char *about)
{
    struct text words = {0};
    text_appendf(&words, "%s: document \"%.*s\" %s%s", rows->first->collection,
                 id->null ? 0 : (int)id->b.len, id->null ? "" : id->b.data, what, about);
    verification_note(rows->check, text_bytes(&words));
    text_free(&words);
}

static enum field_type stored_as(const char *type)
{
    if (strcmp(type, "text") == 0 || strcmp(type, "json") == 0)
        return FIELD_TEXT;
    return strcmp(type, "float") == 0 ? FIELD_REAL : FIELD_INT;
}

static bool is_of_type(struct rows *rows, const char *type, const struct field *value)
{
    struct json any;
    struct err err;
    if (value->null)
        return true;
    if (value->type != stored_as(type))
        return false;
    if (strcmp(type, "bool") == 0)
        return value->i == 0 || value->i == 1;
    return strcmp(type, "json") != 0 || json_parse_copy(rows->doc, value->b, &any, &err) == RC_OK;
}

/* What has no column is an object, and does not name the document a second time. */
static bool is_rest(struct rows *rows, const struct field *extra)
{
    struct json root;
    struct err err;
    return extra->null ||
           (extra->type == FIELD_TEXT &&
            json_parse_copy(rows->doc, extra->b, &root, &err) == RC_OK &&
            json_type(root) == JSON_OBJECT && json_type(json_get(root, "id")) == JSON_ABSENT);
}

static bool judge_row(void *arg, const struct field *columns, size_t count)
{
    struct rows *rows = arg;
    const struct field *id = &columns[ROW_DOCUMENT_ID];
    assert(count == ROW_FIELDS_FROM + rows->field_count);
    if (id->null || id->type != FIELD_TEXT || id->b.len == 0)
        complain(rows, id, "has no id", "");
    if (columns[ROW_N].i >= columns[ROW_NEXT_N].i)
        complain(rows, id, "has a number that was not given yet", "");
    if (columns[ROW_SEQ].i > columns[ROW_COMMIT_SEQ].i)
        complain(rows, id, "has the seq of a commit that was not made yet", "");
    if (!is_rest(rows, &columns[ROW_REST]))
        complain(rows, id, "has something else than an object in extra", "");
    for (size_t i = 0; i < rows->field_count; i++)
        if (!is_of_type(rows, rows->first[i].type, &columns[ROW_FIELDS_FROM + i]))
            complain(rows, id, "has a value of another type in ", rows->first[i].field);
    return true;
}

/* ---- one collection ---- */

static enum rc read_documents(struct rows *rows, struct store *store, struct err *err)
{
    struct text sql = {0};
    text_append_string(&sql, "SELECT e.next_n, e.commit_seq, t.n, t.seq, t.id, t.extra");
    for (size_t i = 0; i < rows->field_count; i++)
        text_appendf(&sql, ", t.\"%s\"", rows->first[i].field);
    text_appendf(&sql, " FROM engine e CROSS JOIN \"" ROW_TABLE_PREFIX "%s\" t",
                 rows->first->collection);
    enum rc rc = store_query(store, text_string(&sql), NULL, 0, judge_row, rows, err);
    text_free(&sql);
    return rc;
}

/* Whoever follows the collection would be told that a living document has left. */
static enum rc read_traces(struct rows *rows, struct store *store, struct err *err)
{
    const char *name = rows->first->collection;
    struct text sql = {0};
    text_appendf(&sql,
                 "SELECT '%s: document \"' || t.id || '\" is deleted at seq ' || x.seq || ' and "
                 "lives since ' || t.seq FROM \"" ROW_TABLE_PREFIX "%s\" t JOIN tombstones x "
                 "ON x.collection = '%s' AND x.key = t.id WHERE x.seq >= t.seq UNION ALL "
                 "SELECT '%s: the id \"' || t.id || '\" is given ' || count(*) || ' times' "
                 "FROM \"" ROW_TABLE_PREFIX "%s\" t GROUP BY t.id HAVING count(*) > 1",
                 name, name, name, name, name);
    enum rc rc =
        store_query(store, text_string(&sql), NULL, 0, verification_take, rows->check, err);
    text_free(&sql);
    return rc;
}

static size_t count_fields(const struct rows *rows, size_t from)
{
    size_t count = 1;
    while (from + count < rows->count &&
           strcmp(rows->fields[from].collection, rows->fields[from + count].collection) == 0)
        count++;
    return count;
}

enum rc verification_rows(struct store *store, struct verification_check *check, struct err *err)
{
    struct rows rows = {.check = check, .doc = json_doc_new(EXTRA_BYTES_MAX, JSON_DEPTH_MAX)};
    enum rc rc = store_query(store,
                             "SELECT collection, field, type FROM declared_fields "
                             "ORDER BY collection, field",
                             NULL, 0, take_field, &rows, err);
    for (size_t at = 0; rc == RC_OK && at < rows.count; at += rows.field_count) {
        rows.first = &rows.fields[at];
        rows.field_count = count_fields(&rows, at);
        rc = read_documents(&rows, store, err);
        if (rc == RC_OK)
            rc = read_traces(&rows, store, err);
    }
    json_doc_free(rows.doc);
    free(rows.fields);
    return rc;
}
