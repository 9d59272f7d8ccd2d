/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_member.h"
#include "daemon_admin.h"
#include "daemon_call.h"
#include "daemon_quarantine.h"
#include "serve/page_frame.h"

#include <stdlib.h>

#define WAIT_US INT64_C(30000000)

struct quarantine_call {
    int64_t id;
    bool retry;
    enum rc outcome; /* a failure of the store itself is the job's */
    struct err why;
};

static struct quarantine_call *begin_call(struct request *request)
{
    struct quarantine_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free;
    return call;
}

void quarantine_api_begin(struct request *request)
{
    struct quarantine_call *call = begin_call(request);
    struct json root;
    struct bytes action = BYTES_ABSENT;
    if (!request_parse_body(request, &root))
        return;
    (void)json_string(json_get(root, "action"), &action);
    call->retry = bytes_equal_string(action, "retry");
    if (!json_i64(json_get(root, "id"), &call->id) ||
        (!call->retry && !bytes_equal_string(action, "drop")))
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "quarantine takes an id, a number, and an action, retry or drop");
}

/* A form carries no token: it is for who may write here without one, or whose proxy adds one. */
static void begin_form(struct request *request, bool retry)
{
    struct quarantine_call *call = begin_call(request);
    struct refusal refusal = {.code = REFUSAL_FORBIDDEN};
    call->retry = retry;
    if (request->visitor.bearer && (request->scopes & SCOPE_ADMIN) == 0) {
        err_set(&refusal.err, RC_REJECT, "this needs a token with the scope admin");
        page_refuse(request, &refusal);
    } else if (!bytes_to_i64(bytes_of(request->path_part), &call->id)) {
        refusal.code = REFUSAL_BAD_REQUEST;
        err_set(&refusal.err, RC_REJECT, "what is in quarantine has a number");
        page_refuse(request, &refusal);
    }
}

void quarantine_retry_begin(struct request *request)
{
    begin_form(request, true);
}

void quarantine_drop_begin(struct request *request)
{
    begin_form(request, false);
}

enum rc quarantine_route_work(struct request *request, struct store *store, struct err *err)
{
    struct quarantine_call *call = request->data;
    const struct admin *admin = request->service->options->routes_arg;
    (void)err;
    call->outcome =
        quarantine_ask_run(admin->quarantine, store, call->id, call->retry, WAIT_US, &call->why);
    return RC_OK;
}

void quarantine_api_finish(struct request *request)
{
    struct quarantine_call *call = request->data;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
    } else if (call->outcome != RC_OK) {
        request_refuse(request, daemon_call_refusal(call->outcome), "%s", call->why.text);
    } else {
        request_begin_json(request, &writer);
        json_member_i64(&writer, "id", call->id);
        request_send_json(request, &writer);
    }
}

void quarantine_form_finish(struct request *request)
{
    struct quarantine_call *call = request->data;
    struct refusal refusal = {.code = daemon_call_refusal(call->outcome), .err = call->why};
    if (request->job.rc != RC_OK) {
        request_fail(request);
    } else if (call->outcome != RC_OK) {
        page_refuse(request, &refusal);
    } else {
        request->location = "/status#quarantine";
        request_send(request, 303, NULL);
    }
}
