/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "query/handle.h"
#include "query/status.h"

#include <stdlib.h>

void status_ask(struct service *service, struct status_live *live)
{
    service->options->status(service->options->arg, live);
    live->progress.handles_open = (int64_t)handles_counts(service->handles).open;
}

void status_begin(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct status_live *live = NULL;
    if (options->status == NULL)
        return;
    live = memory_new_zeroed(1, sizeof *live);
    request->data = live;
    request->free_data = free;
    status_ask(request->service, live);
}

enum rc status_work(struct request *request, struct store *store, struct err *err)
{
    text_clear(&request->reply);
    return status_print(store, request->data, &request->reply, err);
}

void status_finish(struct request *request)
{
    if (request->job.rc == RC_OK)
        request_send(request, 200, "application/json");
    else
        request_fail(request);
}
