/* SPDX-License-Identifier: Apache-2.0 */
#include "query/document.h"
#include "query/row_print.h"
#include "serve/routes.h"
#include "serve/write_call.h"

#include <assert.h>

static void begin_on_one(struct request *request)
{
    struct write_call *call = write_call_begin(request);
    struct json root;
    struct bytes id;
    if (!request_parse_body(request, &root))
        return;
    bool good = write_call_find(request, root, call) && request_take_id(request, root, &id) &&
                write_call_take_key(request, root, call);
    if (!good) {
        request_refuse_with(request, &request->refusal);
        return;
    }
    text_append(&call->id, id.data, id.len);
    write_name(&call->write, call->collection->name, WRITE_NAME_DOCUMENT, id);
    desk_enter(request->service->desk, &call->write, true);
}

void update_begin(struct request *request)
{
    begin_on_one(request);
}

void delete_begin(struct request *request)
{
    begin_on_one(request);
}

static enum rc refuse_absent(struct request *request)
{
    const struct write_call *call = request->data;
    return refusal_set(&request->refusal, REFUSAL_NOT_FOUND,
                       "%s has no document with the id \"%.*s\"", call->collection->name,
                       (int)call->id.len, text_string(&call->id));
}

/* The row that is there, and what becomes of it. */
struct change {
    struct request *request;
    int op;
    struct json data; /* of a change */
    enum rc rc;
};

static size_t stored_bytes(const struct field *columns, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += !columns[i].null && columns[i].type == FIELD_TEXT ? columns[i].b.len : 0;
    return bytes;
}

static struct record *begin_row(const struct change *change, size_t bytes)
{
    struct write_call *call = change->request->data;
    struct batch *batch = &call->write.batch;
    if (batch->arena.block != NULL)
        arena_deinit(&batch->arena);
    *batch = (struct batch){0};
    arena_init(&batch->arena, bytes + document_row_size(call->collection) + WRITE_ROOM);
    struct record *row = document_add(call->collection, batch, change->op, call->at_us);
    bool fits = row != NULL && batch_set_text(batch, row, ROW_ID, text_bytes(&call->id));
    assert(fits);
    return row;
}

/* What it was is told to those who follow it, unless it is the same as before. */
static void note_past(const struct change *change, const struct text *past, struct record *row)
{
    struct write_call *call = change->request->data;
    struct text now = {0};
    if (change->op == RECORD_OP_PUT)
        document_print_past(call->collection, &row->fields[ROW_ID], &now);
    if (!bytes_equal(text_bytes(&now), text_bytes(past))) {
        bool fits = batch_set_text(&call->write.batch, row, ROW_WAS, text_bytes(past));
        assert(fits);
    }
    text_free(&now);
}

static bool change_row(void *arg, const struct field *columns, size_t count)
{
    struct change *change = arg;
    struct request *request = change->request;
    struct write_call *call = request->data;
    const struct collection *collection = call->collection;
    struct text past = {0};
    assert(count == collection->column_count + 1);
    call->found = true;
    document_print_past(collection, columns, &past);
    struct record *row =
        begin_row(change, 3 * (request->body.len + stored_bytes(columns, count)) +
                              document_growth(text_bytes(&request->body)) + past.len);
    if (change->op == RECORD_OP_PUT)
        change->rc = document_change(collection, columns, &columns[count - 1], change->data,
                                     &call->write.batch, row, &request->refusal);
    if (change->rc == RC_OK) {
        bool fits = write_call_keep_key(call, row);
        assert(fits);
        note_past(change, &past, row);
    }
    text_free(&past);
    return false;
}

static enum rc read_row(struct request *request, row_fn *see, void *arg, struct store *store,
                        struct err *err)
{
    const struct write_call *call = request->data;
    const struct collection *collection = call->collection;
    const struct field id = field_text(text_bytes(&call->id));
    struct text sql = {0};
    text_append_string(&sql, "SELECT ");
    for (size_t i = 0; i < collection->column_count; i++)
        text_appendf(&sql, "%s, ", collection->columns[i].sql);
    text_appendf(&sql, "%s FROM %s WHERE t.id = ?1", collection->extra, collection->table);
    enum rc rc = store_query(store, text_string(&sql), &id, 1, see, arg, err);
    text_free(&sql);
    return rc;
}

static enum rc change_document(struct change *change, struct store *store, struct err *err)
{
    struct request *request = change->request;
    struct write_call *call = request->data;
    call->found = false;
    enum rc rc = read_row(request, change_row, change, store, err);
    if (rc == RC_OK)
        rc = change->rc;
    return rc == RC_OK && !call->found ? refuse_absent(request) : rc;
}

/* ---- done before ---- */

/* What the request asks for: no other one has these words. */
static void note_request(struct write_call *call, const char *deed, struct json data)
{
    struct text words = {0};
    if (call->key.len == 0)
        return;
    text_appendf(&words, "%s %zu ", deed, call->id.len);
    text_append(&words, text_string(&call->id), call->id.len);
    if (json_type(data) != JSON_ABSENT)
        json_print(data, &words);
    write_call_note(call, text_bytes(&words));
    text_free(&words);
}

static void put_item(struct write_call *call, const struct field *columns,
                     const struct field *extra)
{
    struct text item = {0};
    struct json_writer writer;
    json_writer_init(&writer, &item);
    row_print(call->collection, columns, extra, &writer);
    text_clear(&call->reply);
    text_append_string(&call->reply, "\"item\":");
    text_append(&call->reply, item.data, item.len);
    text_free(&item);
}

static bool put_present(void *arg, const struct field *columns, size_t count)
{
    put_item(arg, columns, &columns[count - 1]);
    return false;
}

/* Others may have changed it since, and it may be gone. */
static enum rc answer_again(struct request *request, struct store *store, struct err *err)
{
    struct write_call *call = request->data;
    text_clear(&call->reply);
    text_append_string(&call->reply, "\"item\":null");
    return read_row(request, put_present, call, store, err);
}

/* ---- the routes ---- */

static void finish_on_one(struct request *request)
{
    struct write_call *call = request->data;
    if (request->job.rc != RC_OK)
        request_fail(request);
    else if (call->replayed)
        write_call_answer(&call->write, RC_OK);
    write_call_end(request, call);
}

/* RC_REJECT: `data` is no change of this document. */
static enum rc check_data(struct request *request, struct json data)
{
    const struct write_call *call = request->data;
    struct bytes id;
    enum rc rc = document_id(data, "data", &id, &request->refusal);
    if (rc == RC_OK && id.data != NULL && !bytes_equal(id, text_bytes(&call->id)))
        return refusal_set(&request->refusal, REFUSAL_BAD_DATA,
                           "data.id: a document keeps its id: leave it out, or create another");
    return rc;
}

enum rc update_work(struct request *request, struct store *store, struct err *err)
{
    struct write_call *call = request->data;
    struct json_doc *doc = json_doc_new(request->body.len + 1, JSON_DEPTH_MAX);
    struct change change = {.request = request, .op = RECORD_OP_PUT, .rc = RC_OK};
    struct json root;
    enum rc rc = json_parse_copy(doc, text_bytes(&request->body), &root, err);
    assert(rc == RC_OK);
    change.data = json_get(root, "data");
    rc = check_data(request, change.data);
    note_request(call, "update", change.data);
    if (rc == RC_OK)
        rc = write_call_find_key(request, store, err);
    if (rc == RC_OK)
        rc = call->replayed ? answer_again(request, store, err)
                            : change_document(&change, store, err);
    json_doc_free(doc);
    return rc;
}

void update_finish(struct request *request)
{
    struct write_call *call = request->data;
    const struct record *row = call->write.batch.first[RECORD_ROW];
    if (request->job.rc == RC_OK && !call->replayed)
        put_item(call, &row->fields[ROW_ID], &row->fields[ROW_EXTRA]);
    finish_on_one(request);
}

enum rc delete_work(struct request *request, struct store *store, struct err *err)
{
    struct write_call *call = request->data;
    struct change change = {.request = request, .op = RECORD_OP_DELETE, .rc = RC_OK};
    note_request(call, "delete", (struct json){0});
    enum rc rc = write_call_find_key(request, store, err);
    return rc != RC_OK || call->replayed ? rc : change_document(&change, store, err);
}

void delete_finish(struct request *request)
{
    finish_on_one(request);
}
