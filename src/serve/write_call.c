/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/write_call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES_MAX 255

static void free_call(struct write *write)
{
    struct write_call *call = (struct write_call *)write;
    id_set_deinit(&write->names);
    if (write->batch.arena.block != NULL)
        arena_deinit(&write->batch.arena);
    text_free(&call->id);
    text_free(&call->key);
    text_free(&call->reply);
    free(call);
}

bool write_call_find(struct request *request, struct json root, struct write_call *call)
{
    struct refusal *refusal = &request->refusal;
    if (!request_find_collection(request, root, &call->collection))
        return false;
    if (!call->collection->declared)
        refusal_set(refusal, REFUSAL_FORBIDDEN,
                    "%s is built in and can only be read; declare a collection of your own under "
                    "`collections` in the configuration",
                    call->collection->name);
    else if (request->service->desk == NULL)
        refusal_set(refusal, REFUSAL_UNAVAILABLE, "nothing can be written here");
    else
        return true;
    return false;
}

/* ---- requests that must not be done twice ---- */

bool write_call_take_key(struct request *request, struct json root, struct write_call *call)
{
    struct json value = json_get(root, "idempotencyKey");
    enum json_type type = json_type(value);
    struct bytes key;
    if (type == JSON_ABSENT || type == JSON_NULL)
        return true;
    if (!json_string(value, &key) || key.len == 0 || key.len > KEY_BYTES_MAX) {
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST,
                    "idempotencyKey is a string of 1 to %d bytes", KEY_BYTES_MAX);
        return false;
    }
    text_append(&call->key, key.data, key.len);
    write_name(&call->write, call->collection->name, WRITE_NAME_KEY, key);
    return true;
}

void write_call_note(struct write_call *call, struct bytes words)
{
    digest_sha256(words, call->digest);
}

static bool take_key_row(void *arg, const struct field *columns, size_t count)
{
    struct write_call *call = arg;
    assert(count == 2);
    call->found = true;
    call->seq = columns[1].i;
    call->replayed = columns[0].b.len == DIGEST_SIZE &&
                     memcmp(columns[0].b.data, call->digest, DIGEST_SIZE) == 0;
    return false;
}

enum rc write_call_find_key(struct request *request, struct store *store, struct err *err)
{
    struct write_call *call = request->data;
    const struct field key[] = {field_text(bytes_of(call->collection->name)),
                                field_text(text_bytes(&call->key))};
    call->found = call->replayed = false;
    if (call->key.len == 0)
        return RC_OK;
    enum rc rc = store_query(
        store, "SELECT digest, seq FROM request_keys WHERE collection = ?1 AND key = ?2", key, 2,
        take_key_row, call, err);
    if (rc == RC_OK && call->found && !call->replayed)
        return refusal_set(&request->refusal, REFUSAL_CONFLICT,
                           "this idempotencyKey was sent before, with another request");
    call->found = false;
    return rc;
}

bool write_call_keep_key(struct write_call *call, struct record *row)
{
    struct batch *batch = &call->write.batch;
    return call->key.len == 0 ||
           (batch_set_text(batch, row, ROW_KEY, text_bytes(&call->key)) &&
            batch_set_text(batch, row, ROW_DIGEST, bytes_make(call->digest, DIGEST_SIZE)));
}

/* ---- the answer ---- */

void write_call_answer(struct write *write, enum rc rc)
{
    struct write_call *call = (struct write_call *)write;
    struct request *request = write->request;
    struct json_writer writer;
    if (rc == RC_REJECT) {
        request_refuse(request, REFUSAL_BAD_DATA, "the store refuses this: see the log");
        return;
    }
    if (rc != RC_OK) {
        request_refuse(request, REFUSAL_UNAVAILABLE,
                       "the store failed, and it is not known whether this is stored: look, or ask "
                       "again with the same idempotencyKey");
        return;
    }
    request_begin_json(request, &writer);
    if (call->reply.len > 0)
        json_put_raw_members(&writer, text_bytes(&call->reply));
    json_key(&writer, "seq");
    json_put_i64(&writer, call->replayed ? call->seq : write->batch.seq);
    request_send_json(request, &writer);
}

struct write_call *write_call_begin(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    struct write_call *call = memory_new_zeroed(1, sizeof *call);
    call->at_us = runtime->ops->wall_us(runtime);
    call->write.request = request;
    call->write.committed = write_call_answer;
    call->write.free = free_call;
    id_set_init(&call->write.names, runtime->ops->random(runtime));
    request->data = call;
    request->free_data = desk_leave;
    return call;
}

void write_call_end(struct request *request, struct write_call *call)
{
    if (!request->answered)
        desk_submit(&call->write);
    if (request->answered)
        desk_release(&call->write);
}
