/* SPDX-License-Identifier: Apache-2.0 */
#include "query/document.h"
#include "query/row_print.h"
#include "serve/routes.h"
#include "serve/write_call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define DOCUMENTS_MAX BATCH_RECORDS_MAX
#define IDS_AT_ONCE   32
/* A larger body is read by a reader: on the loop everybody would wait for it. */
#define BODY_HERE_MAX ((size_t)64 << 10)

static void name_document(char out[32], struct json data, size_t at)
{
    if (json_type(data) == JSON_ARRAY)
        snprintf(out, 32, "data[%zu]", at);
    else
        snprintf(out, 32, "data");
}

/* A request with a key makes the same ids whenever it is sent. */
static void make_id(const struct write_call *call, size_t at, char out[UUID_TEXT_SIZE])
{
    uint8_t digest[DIGEST_SIZE];
    struct text seed = {0};
    text_append(&seed, call->key.len > 0 ? call->digest : call->chance, DIGEST_SIZE);
    text_appendf(&seed, "%s %zu ", call->collection->name, at);
    text_append(&seed, call->key.data, call->key.len);
    digest_sha256(text_bytes(&seed), digest);
    uuid_format(digest, out);
    text_free(&seed);
}

static bool add_document(struct request *request, struct write_call *call, struct json document,
                         size_t at, struct json data)
{
    struct batch *batch = &call->write.batch;
    struct refusal *refusal = &request->refusal;
    char where[32], made[UUID_TEXT_SIZE];
    struct bytes id;
    name_document(where, data, at);
    if (document_id(document, where, &id, refusal) != RC_OK)
        return false;
    if (id.data == NULL) {
        make_id(call, at, made);
        id = bytes_of(made);
    }
    if (!write_name(&call->write, call->collection->name, WRITE_NAME_DOCUMENT, id)) {
        refusal_set(refusal, REFUSAL_BAD_DATA, "%s.id: another document of this request has it",
                    where);
        return false;
    }
    struct record *row = document_add(call->collection, batch, RECORD_OP_PUT, call->at_us);
    if (row == NULL || !batch_set_text(batch, row, ROW_ID, id)) {
        refusal_set(refusal, REFUSAL_TOO_LARGE, "too much at once: send fewer documents");
        return false;
    }
    return document_read(call->collection, document, where, batch, row, refusal) == RC_OK;
}

static bool add_documents(struct request *request, struct write_call *call, struct json data)
{
    bool many = json_type(data) == JSON_ARRAY;
    size_t count = many ? json_count(data) : 1;
    struct json_walk walk = json_walk(data);
    struct bytes key;
    struct json document = data;
    if (count == 0 || count > DOCUMENTS_MAX) {
        refusal_set(&request->refusal, REFUSAL_LIMIT_RANGE, "data has 1 to %d documents, not %zu",
                    DOCUMENTS_MAX, count);
        return false;
    }
    arena_init(&call->write.batch.arena,
               2 * request->body.len + document_growth(text_bytes(&request->body)) +
                   count * document_row_size(call->collection) + WRITE_ROOM);
    for (size_t i = 0; i < count; i++) {
        if (many && !json_walk_next(&walk, &key, &document))
            break;
        if (!add_document(request, call, document, i, data))
            return false;
    }
    return true;
}

static bool take_key(struct request *request, struct json root, struct write_call *call)
{
    struct text data = {0};
    if (!write_call_take_key(request, root, call))
        return false;
    if (call->key.len > 0) {
        json_print(json_get(root, "data"), &data);
        write_call_note(call, text_bytes(&data));
    }
    text_free(&data);
    return true;
}

static void print_items(struct write_call *call)
{
    struct text items = {0};
    struct json_writer writer;
    json_writer_init(&writer, &items);
    json_begin_array(&writer);
    for (const struct record *row = call->write.batch.first[RECORD_ROW]; row != NULL;
         row = row->next)
        row_print(call->collection, &row->fields[ROW_ID], &row->fields[ROW_EXTRA], &writer);
    json_end_array(&writer);
    text_appendf(&call->reply, "\"items\":");
    text_append(&call->reply, items.data, items.len);
    text_free(&items);
}

static bool parse_create(struct request *request, struct json root, struct write_call *call)
{
    struct json data = json_get(root, "data");
    if (!write_call_find(request, root, call) || !take_key(request, root, call))
        return false;
    if (json_type(data) != JSON_OBJECT && json_type(data) != JSON_ARRAY) {
        refusal_set(&request->refusal, REFUSAL_BAD_DATA,
                    "data: expected an object, or a list of objects");
        return false;
    }
    if (!add_documents(request, call, data))
        return false;
    if (!write_call_keep_key(call, call->write.batch.first[RECORD_ROW])) {
        refusal_set(&request->refusal, REFUSAL_TOO_LARGE, "too much at once");
        return false;
    }
    print_items(call);
    return true;
}

/* Only ids that nobody else knows need no look at what is there. */
static bool must_look(const struct write_call *call, struct json data)
{
    struct json_walk walk = json_walk(data);
    struct bytes key;
    struct json document;
    bool named = json_type(json_get(data, "id")) != JSON_ABSENT;
    while (!named && json_type(data) == JSON_ARRAY && json_walk_next(&walk, &key, &document))
        named = json_type(json_get(document, "id")) != JSON_ABSENT;
    return named || call->key.len > 0;
}

/* Makes rows of the body, and the answer; false: see the request's refusal. */
static bool prepare(struct request *request, struct write_call *call)
{
    struct json_doc *doc = json_doc_new(CREATE_BODY_MAX, JSON_DEPTH_MAX);
    struct json root;
    call->prepared =
        request_parse_body_with(request, doc, &root) && parse_create(request, root, call);
    call->look = call->prepared && must_look(call, json_get(root, "data"));
    json_doc_free(doc);
    return call->prepared;
}

/* Whether it is at the desk now, and need not wait there. */
static bool come_to_desk(struct request *request, struct write_call *call)
{
    return desk_enter(request->service->desk, &call->write, call->look);
}

void create_begin(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    struct write_call *call = write_call_begin(request);
    for (size_t i = 0; i < DIGEST_SIZE; i += sizeof(uint64_t)) {
        uint64_t random = runtime->ops->random(runtime);
        memcpy(call->chance + i, &random, sizeof random);
    }
    if (request->body.len > BODY_HERE_MAX)
        return;
    if (!prepare(request, call))
        request_refuse_with(request, &request->refusal);
    else if (come_to_desk(request, call) && !call->look)
        write_call_end(request, call);
}

static bool take_id(void *arg, const struct field *columns, size_t count)
{
    struct write_call *call = arg;
    assert(count == 1);
    call->found = true;
    text_clear(&call->id);
    text_append(&call->id, columns[0].b.data, columns[0].b.len);
    return false;
}

/* Whether one of the next few ids is there; moves `row` behind them. */
static enum rc look_for_ids(struct write_call *call, const struct record **row, struct store *store,
                            struct err *err)
{
    struct field ids[IDS_AT_ONCE];
    struct text sql = {0};
    size_t count = 0;
    text_appendf(&sql, "SELECT t.id FROM %s WHERE t.id IN (", call->collection->table);
    for (; *row != NULL && count < IDS_AT_ONCE; *row = (*row)->next) {
        ids[count++] = (*row)->fields[ROW_ID];
        text_appendf(&sql, "%s?%zu", count > 1 ? ", " : "", count);
    }
    text_append_char(&sql, ')');
    enum rc rc = store_query(store, text_string(&sql), ids, count, take_id, call, err);
    text_free(&sql);
    return rc;
}

enum rc create_work(struct request *request, struct store *store, struct err *err)
{
    struct write_call *call = request->data;
    if (!call->prepared)
        return prepare(request, call) ? RC_OK : RC_REJECT;
    const struct record *row = call->write.batch.first[RECORD_ROW];
    enum rc rc = write_call_find_key(request, store, err);
    if (rc != RC_OK || call->replayed)
        return rc;
    while (row != NULL && rc == RC_OK && !call->found)
        rc = look_for_ids(call, &row, store, err);
    if (rc == RC_OK && call->found)
        return refusal_set(&request->refusal, REFUSAL_CONFLICT,
                           "%s has a document with the id \"%.*s\" already", call->collection->name,
                           (int)call->id.len, text_string(&call->id));
    return rc;
}

void create_finish(struct request *request)
{
    struct write_call *call = request->data;
    bool arrives = request->job.rc == RC_OK && call->write.state == WRITE_NEW;
    if (arrives && !come_to_desk(request, call))
        return;
    if (arrives && call->look) {
        request_read_again(request);
        return;
    }
    if (request->job.rc != RC_OK)
        request_fail(request);
    else if (call->replayed)
        write_call_answer(&call->write, RC_OK);
    write_call_end(request, call);
}
