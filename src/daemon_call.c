/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_call.h"

#include "daemon_admin.h"

#include <assert.h>

bool daemon_call_begin(struct request *request, struct json *root)
{
    const struct admin *admin = request->service->options->routes_arg;
    assert(request->data != NULL);
    if (!request_parse_body(request, root))
        return false;
    if (admin->busy)
        request_refuse(request, REFUSAL_CONFLICT,
                       "the daemon does another operator's errand: try again when it is done");
    return !admin->busy;
}

void daemon_call_take_turn(struct request *request)
{
    struct daemon_call *call = request->data;
    call->admin = request->service->options->routes_arg;
    assert(!call->admin->busy);
    call->admin->busy = true;
}

enum refusal_code daemon_call_refusal(enum rc outcome)
{
    return outcome == RC_AGAIN    ? REFUSAL_CONFLICT
           : outcome == RC_REJECT ? REFUSAL_BAD_REQUEST
                                  : REFUSAL_UNAVAILABLE;
}

bool daemon_call_end(struct request *request)
{
    struct daemon_call *call = request->data;
    assert(call->admin->busy);
    call->admin->busy = false;
    if (request->job.rc != RC_OK)
        request_fail(request);
    else if (call->outcome != RC_OK)
        request_refuse(request,
                       call->keyless ? REFUSAL_FORBIDDEN : daemon_call_refusal(call->outcome), "%s",
                       call->why.text);
    return request->job.rc == RC_OK && call->outcome == RC_OK;
}
