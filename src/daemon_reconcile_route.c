/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_reconcile_route.h"

#include "base/json_member.h"
#include "daemon_admin.h"
#include "daemon_call.h"

#include <stdlib.h>

#define WAIT_US INT64_C(7200000000) /* it looks at every document there is */

struct reconcile_call {
    struct daemon_call base;
    bool dry;
    struct text members;
};

static void free_call(void *data)
{
    struct reconcile_call *call = data;
    text_free(&call->members);
    free(call);
}

void reconcile_begin(struct request *request)
{
    const struct admin *admin = request->service->options->routes_arg;
    struct reconcile_call *call = memory_new_zeroed(1, sizeof *call);
    struct json root;
    request->data = call;
    request->free_data = free_call;
    if (!daemon_call_begin(request, &root))
        return;
    struct json dry = json_get(root, "dryRun");
    if (json_type(dry) != JSON_ABSENT && !json_bool(dry, &call->dry))
        request_refuse(request, REFUSAL_BAD_REQUEST, "dryRun is true or false");
    else if (admin->content == NULL)
        request_refuse(request, REFUSAL_BAD_REQUEST, "no chain is followed here");
    else
        daemon_call_take_turn(request);
}

enum rc reconcile_work(struct request *request, struct store *store, struct err *err)
{
    struct reconcile_call *call = request->data;
    (void)store;
    (void)err;
    call->base.outcome = content_part_reconcile(call->base.admin->content, call->dry, WAIT_US,
                                                &call->members, &call->base.why);
    return RC_OK;
}

void reconcile_finish(struct request *request)
{
    const struct reconcile_call *call = request->data;
    struct json_writer writer;
    if (!daemon_call_end(request))
        return;
    request_begin_json(request, &writer);
    json_member_bool(&writer, "dryRun", call->dry);
    json_put_raw_members(&writer, text_bytes(&call->members));
    request_send_json(request, &writer);
}
