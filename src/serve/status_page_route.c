/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"
#include "serve/status_page.h"

#include <stdlib.h>

#define HOUR_US    INT64_C(3600000000)
#define STATUS_MAX ((size_t)8 << 20)

struct status_view {
    struct status_live live;
    bool runs; /* somebody told what does */
    struct health_view health;
    struct rate_line rates[STATUS_SOURCES_MAX];
    size_t rate_count;
    struct status_gaps gaps;
    struct status_refusals refused;
    bool may_act;
    int64_t now_us;
};

/* Whether what its forms post is taken, as far as the visitor goes. */
static bool may_act(const struct request *request)
{
    unsigned wanted = request->visitor.bearer ? SCOPE_ADMIN : SCOPE_WRITE | SCOPE_ADMIN;
    return request->service->options->route_count > 0 && (request->scopes & wanted) != 0;
}

void status_page_begin(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct runtime *runtime = request->service->runtime;
    struct status_view *view = memory_new_zeroed(1, sizeof *view);
    request->data = view;
    request->free_data = free;
    view->may_act = may_act(request);
    view->now_us = runtime->ops->wall_us(runtime);
    view->health = (struct health_view){.last_event_us_ago = -1, .cursor_time_us = -1};
    if (options->health != NULL)
        options->health(options->arg, &view->health);
    view->runs = options->status != NULL;
    if (!view->runs)
        return;
    status_ask(request->service, &view->live);
    for (size_t i = 0; i < view->live.source_count; i++)
        if (rate_log_find(request->service->rates, bytes_of(view->live.sources[i].name),
                          &view->rates[view->rate_count]))
            view->rate_count++;
}

enum rc status_page_work(struct request *request, struct store *store, struct err *err)
{
    struct status_view *view = request->data;
    struct text status = {0};
    struct status_page page = {.health = &view->health,
                               .rates = view->rates,
                               .rate_count = view->rate_count,
                               .gaps = &view->gaps,
                               .refused = &view->refused,
                               .may_act = view->may_act,
                               .now_us = view->now_us};
    struct json_doc *doc = json_doc_new(STATUS_MAX, JSON_DEPTH_MAX);
    text_clear(&request->reply);
    enum rc rc = status_print(store, view->runs ? &view->live : NULL, &status, err);
    if (rc == RC_OK)
        rc = status_read_gaps(store, view->now_us - STATUS_PAGE_HOURS * HOUR_US, &view->gaps, err);
    if (rc == RC_OK)
        rc = status_read_refused(store, &view->refused, err);
    if (rc == RC_OK && json_parse_copy(doc, text_bytes(&status), &page.status, err) != RC_OK)
        rc = err_wrap(err, RC_FATAL, "our own answer cannot be read");
    if (rc == RC_OK)
        status_page_print(&page, &request->reply);
    json_doc_free(doc);
    text_free(&status);
    return rc;
}
