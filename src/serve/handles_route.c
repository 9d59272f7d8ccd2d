/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "query/handle_roll.h"

#include <microhttpd.h>

#include <inttypes.h>
#include <stdlib.h>

/* ---- the open queries of every session ---- */

struct listing_call {
    int64_t before;
    struct handle_roll page;
};

static void free_listing(void *data)
{
    struct listing_call *call = data;
    handle_roll_free(&call->page);
    free(call);
}

void handles_begin(struct request *request)
{
    struct listing_call *call = memory_new_zeroed(1, sizeof *call);
    const char *before =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "before");
    request->data = call;
    request->free_data = free_listing;
    if (before != NULL && !bytes_to_i64(bytes_of(before), &call->before))
        request_refuse(request, REFUSAL_BAD_REQUEST, "before is a number that a list ended with");
}

enum rc handles_work(struct request *request, struct store *store, struct err *err)
{
    struct listing_call *call = request->data;
    return handle_roll_read(store, call->before, &call->page, err);
}

static const char *standing(const void *handles, const uint8_t name[HANDLE_NAME_SIZE])
{
    return handle_standing(handles, name);
}

void handles_finish(struct request *request)
{
    struct listing_call *call = request->data;
    struct runtime *runtime = request->service->runtime;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    request_begin_json(request, &writer);
    handle_roll_print(&call->page, runtime->ops->wall_us(runtime), standing,
                      request->service->handles, &writer);
    request_send_json(request, &writer);
}

/* ---- their numbers ---- */

void metric_append(struct text *out, const char *name, const char *kind, const char *sentence,
                   uint64_t value)
{
    text_appendf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, sentence, name, kind,
                 name, value);
}

void handles_print_metrics(const struct handles *handles, struct text *out)
{
    const struct handle_counts counts = handles_counts(handles);
    uint64_t kept = (uint64_t)counts.kept;
    metric_append(out, "tidemark_handles_open", "gauge", "Open queries in memory.", counts.open);
    metric_append(out, "tidemark_handles_parked", "gauge", "Open queries that are on disk only.",
                  kept > counts.open ? kept - counts.open : 0);
    metric_append(out, "tidemark_handles_opened_total", "counter", "Queries opened.",
                  counts.opened);
    metric_append(out, "tidemark_handles_parked_total", "counter",
                  "Times that a query left memory because of a quota.", counts.parked);
    metric_append(out, "tidemark_handles_expired_total", "counter",
                  "Queries that nobody used for too long.", counts.expired);
}
