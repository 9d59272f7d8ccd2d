/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/news_page.h"
#include "serve/page_frame.h"
#include "serve/routes.h"

#include <stdlib.h>

#define ANSWER_MAX ((size_t)8 << 20)

/* One view of what is shared, on its way to a person. */
struct view_call {
    struct news_question question;
    struct health_view health;
    struct text answer; /* as the API would give it */
};

static void free_view(void *data)
{
    struct view_call *call = data;
    text_free(&call->answer);
    free(call);
}

/* The page's own limits are no part of the address of a view. */
static void begin_view(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct view_call *call = memory_new_zeroed(1, sizeof *call);
    struct runtime *runtime = request->service->runtime;
    struct refusal refusal = {.code = REFUSAL_NOT_FOUND, .err = {"nothing is ranked here"}};
    request->data = call;
    request->free_data = free_view;
    call->question = news_question_usual(runtime->ops->wall_us(runtime));
    if (options->config == NULL ||
        news_question_read(request, &call->question, &refusal) != RC_OK) {
        page_refuse(request, &refusal);
        return;
    }
    call->health = (struct health_view){.last_event_us_ago = -1, .cursor_time_us = -1};
    if (options->health != NULL)
        options->health(options->arg, &call->health);
}

void home_begin(struct request *request)
{
    begin_view(request);
}

static enum rc print_page(struct request *request, struct view_call *call, struct err *err)
{
    struct json_doc *doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    struct news_page page = {.question = &call->question,
                             .health = &call->health,
                             .follows_anybody =
                                 request->service->options->config->bluesky.actors.count > 0};
    enum rc rc = json_parse_copy(doc, text_bytes(&call->answer), &page.answer, err);
    if (rc == RC_OK)
        news_page_print(&page, &request->reply);
    else
        rc = err_wrap(err, RC_FATAL, "our own answer cannot be read");
    json_doc_free(doc);
    return rc;
}

enum rc home_work(struct request *request, struct store *store, struct err *err)
{
    struct view_call *call = request->data;
    struct trending_request wanted = call->question.links;
    wanted.posts = NEWS_PAGE_POSTS;
    text_clear(&request->reply);
    enum rc rc =
        trending_print(store, request->service->options->config, &wanted, &call->answer, err);
    return rc == RC_OK ? print_page(request, call, err) : rc;
}

void home_finish(struct request *request)
{
    struct refusal refusal = {.code = REFUSAL_NOT_FOUND, .err = request->job.err};
    if (request->job.rc == RC_OK) {
        request->policy = PAGE_POLICY;
        request_send(request, 200, PAGE_TYPE);
    } else if (request->job.rc == RC_REJECT) {
        page_refuse(request, &refusal);
    } else {
        request_fail(request);
    }
}
