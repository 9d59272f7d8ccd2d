/* SPDX-License-Identifier: Apache-2.0 */
#include "query/trending.h"
#include "serve/news_question.h"
#include "serve/routes.h"

#include <stdlib.h>

struct news_call {
    struct news_question question;
    int64_t link;
};

static struct news_call *begin(struct request *request)
{
    struct news_call *call = memory_new_zeroed(1, sizeof *call);
    struct runtime *runtime = request->service->runtime;
    call->question = news_question_usual(runtime->ops->wall_us(runtime));
    request->data = call;
    request->free_data = free;
    return call;
}

void trending_begin(struct request *request)
{
    struct news_call *call = begin(request);
    if (request->service->options->config == NULL) {
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is ranked here");
        return;
    }
    struct refusal refusal = {.code = REFUSAL_NONE};
    if (news_question_read(request, &call->question, &refusal) != RC_OK)
        request_refuse_with(request, &refusal);
}

enum rc trending_work(struct request *request, struct store *store, struct err *err)
{
    struct news_call *call = request->data;
    return trending_print(store, request->service->options->config, &call->question.links,
                          &request->reply, err);
}

void trending_finish(struct request *request)
{
    if (request->job.rc == RC_OK)
        request_send(request, 200, "application/json");
    else if (request->job.rc == RC_REJECT)
        request_refuse(request, REFUSAL_NOT_FOUND, "%s", request->job.err.text);
    else
        request_fail(request);
}

void link_posts_begin(struct request *request)
{
    struct news_call *call = begin(request);
    if (!bytes_to_i64(bytes_of(request->path_part), &call->link))
        request_refuse(request, REFUSAL_NOT_FOUND, "a link's id is a number");
}

enum rc link_posts_work(struct request *request, struct store *store, struct err *err)
{
    struct news_call *call = request->data;
    return trending_print_posts(store, call->link, &request->reply, err);
}
