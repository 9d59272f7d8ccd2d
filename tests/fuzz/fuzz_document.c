/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as a document, and as a change of one: it is refused with a sentence, or it is stored as
 * what it says. What is printed of it reads back as the same document, and what is kept of it for
 * those who follow has the same values. */
#include "query/document.h"
#include "query/order.h"
#include "query/row_print.h"
#include "thing_table.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX  ((size_t)1 << 20)
#define BATCH_ROOM ((size_t)16384)
#define COLUMNS    (THING_VALUE_COUNT + 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct column columns[COLUMNS] = {
    {"id", COLUMN_TEXT, "t.id", "t.id", false},
    THING_VALUES,
};
static const struct collection_index indexes[] = {{{1, 2}, 2}};
static const struct collection things = {
    THING_TABLE,      .columns = columns, .column_count = COLUMNS, .indexes = indexes,
    .index_count = 1, .page_size = 10,    .declared = true,        .extra = "t.extra",
};

static struct json_doc *doc, *again;

static struct record *new_row(struct batch *batch, size_t bytes)
{
    *batch = (struct batch){0};
    arena_init(&batch->arena, 8 * bytes + document_row_size(&things) + BATCH_ROOM);
    struct record *row = document_add(&things, batch, RECORD_OP_PUT, 1);
    assert(row != NULL && batch_set_text(batch, row, ROW_ID, bytes_of("x")));
    return row;
}

static void check_refusal(enum rc rc, const struct refusal *refusal)
{
    assert(rc == RC_REJECT);
    assert(refusal->code == REFUSAL_BAD_DATA || refusal->code == REFUSAL_TOO_LARGE);
    assert(refusal->err.text[0] != '\0');
}

static void print(const struct record *row, struct text *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    row_print(&things, &row->fields[ROW_ID], &row->fields[ROW_EXTRA], &writer);
}

/* What is printed is the document: read and printed once more it is the same. */
static void check_printed(const struct record *row)
{
    struct text first = {0}, second = {0};
    struct refusal refusal;
    struct batch batch;
    struct json root;
    struct err err;
    print(row, &first);
    enum rc rc = json_parse_copy(again, text_bytes(&first), &root, &err);
    assert(rc == RC_OK);
    struct record *copy = new_row(&batch, first.len);
    rc = document_read(&things, root, "data", &batch, copy, &refusal);
    assert(rc == RC_OK);
    print(copy, &second);
    assert(bytes_equal(text_bytes(&first), text_bytes(&second)));
    arena_deinit(&batch.arena);
    text_free(&first);
    text_free(&second);
}

static void check_past(const struct record *row)
{
    struct field past[COLUMNS];
    struct text words = {0};
    struct json root;
    struct err err;
    document_print_past(&things, &row->fields[ROW_ID], &words);
    enum rc rc = json_parse_copy(again, text_bytes(&words), &root, &err);
    assert(rc == RC_OK);
    document_read_past(&things, root, past);
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct field *value = &row->fields[ROW_ID + i];
        assert(past[i].type == value->type && past[i].null == value->null);
        assert(columns[i].type == COLUMN_JSON || field_compare(&past[i], value) == 0);
    }
    text_free(&words);
}

static void check_row(const struct record *row)
{
    for (size_t i = 0; i < COLUMNS; i++)
        assert(row->fields[ROW_ID + i].type == column_stored_as(columns[i].type));
    check_printed(row);
    check_past(row);
}

static void check_change(const struct record *row, struct json change, size_t size)
{
    struct refusal refusal;
    struct batch batch;
    struct record *changed = new_row(&batch, 2 * size);
    enum rc rc = document_change(&things, &row->fields[ROW_ID], &row->fields[ROW_EXTRA], change,
                                 &batch, changed, &refusal);
    if (rc == RC_OK)
        check_row(changed);
    else
        check_refusal(rc, &refusal);
    arena_deinit(&batch.arena);
}

/* {"create": ..., "update": ...}, or one document. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct refusal refusal;
    struct batch batch;
    struct bytes id;
    struct json root;
    struct err err;
    if (doc == NULL) {
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
        again = json_doc_new(8 * BYTES_MAX, JSON_DEPTH_MAX);
    }
    if (json_parse_copy(doc, bytes_make(data, size), &root, &err) != RC_OK)
        return 0;
    struct json create = json_get(root, "create"), update = json_get(root, "update");
    if (json_type(create) == JSON_ABSENT)
        create = root;
    struct record *row = new_row(&batch, size);
    enum rc rc = document_id(create, "data", &id, &refusal);
    if (rc == RC_OK)
        rc = document_read(&things, create, "data", &batch, row, &refusal);
    if (rc != RC_OK) {
        check_refusal(rc, &refusal);
    } else {
        check_row(row);
        if (document_id(update, "data", &id, &refusal) == RC_OK)
            check_change(row, update, size);
    }
    arena_deinit(&batch.arena);
    return 0;
}
