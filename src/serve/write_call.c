/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/write_call.h"

#include <stdlib.h>

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
