/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "serve/assets.h"

#include <assert.h>
#include <string.h>

static void show_health(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct health_view view = {.last_event_us_ago = -1, .cursor_time_us = -1};
    if (options->health != NULL)
        options->health(options->arg, &view);
    if (request->service->draining)
        health_degrade(&view, "the daemon is stopping");
    health_print(&view, &request->reply);
    request_send(request, health_is_good(&view) ? 200 : 503, "application/json");
}

static void show_metrics(struct request *request)
{
    const struct server_options *options = request->service->options;
    if (options->metrics != NULL)
        options->metrics(options->arg, &request->reply);
    handles_print_metrics(request->service->handles, &request->reply);
    request_send(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static const struct route built_in[] = {
    {.method = "GET",
     .path = "/",
     .listeners = ON_MAIN,
     .scope = SCOPE_ANYONE,
     .begin = home_begin},
    {.method = "GET",
     .path = "/assets/{}",
     .listeners = ON_MAIN,
     .scope = SCOPE_ANYONE,
     .begin = asset_begin},
    {.method = "GET",
     .path = "/health",
     .listeners = ON_ALL,
     .scope = SCOPE_ANYONE,
     .begin = show_health,
     .while_draining = true},
    {.method = "GET",
     .path = "/metrics",
     .listeners = ON_ALL,
     .scope = SCOPE_READ,
     .begin = show_metrics},
    {.method = "GET",
     .path = "/api/status",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = status_begin,
     .work = status_work,
     .finish = status_finish},
    {.method = "GET",
     .path = "/api/trending",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = trending_begin,
     .work = trending_work,
     .finish = trending_finish},
    {.method = "GET",
     .path = "/api/links/{}/posts",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = link_posts_begin,
     .work = link_posts_work,
     .finish = trending_finish},
    {.method = "GET",
     .path = "/api/events",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = events_begin,
     .work = events_work,
     .finish = events_finish},
    {.method = "GET",
     .path = "/api/ws",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = ws_begin},
    {.method = "POST",
     .path = "/api/data/query-open",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = query_open_begin,
     .work = query_open_work,
     .finish = query_open_finish},
    {.method = "POST",
     .path = "/api/data/query-next",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = query_next_begin,
     .work = query_page_work,
     .finish = query_page_finish},
    {.method = "POST",
     .path = "/api/data/query-prev",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = query_prev_begin,
     .work = query_page_work,
     .finish = query_page_finish},
    {.method = "POST",
     .path = "/api/data/query-tail",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = query_tail_begin,
     .work = query_tail_work,
     .finish = query_tail_finish},
    {.method = "POST",
     .path = "/api/data/query-close",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = query_close_begin,
     .work = query_close_work,
     .finish = query_close_finish},
    {.method = "GET",
     .path = "/api/admin/handles",
     .listeners = ON_MAIN,
     .scope = SCOPE_ADMIN,
     .begin = handles_begin,
     .work = handles_work,
     .finish = handles_finish},
};

static bool is_method(const struct route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* Whether the path is the route's; `{}` stands for one part of it, which is kept. */
static bool is_path(const char *pattern, const char *path, struct request *request)
{
    const char *hole = strstr(pattern, "{}");
    if (hole == NULL)
        return strcmp(pattern, path) == 0;
    size_t before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    size_t len = strcspn(path + before, "/");
    if (len == 0 || len >= sizeof request->path_part || strcmp(path + before + len, hole + 2) != 0)
        return false;
    memcpy(request->path_part, path + before, len);
    request->path_part[len] = '\0';
    return true;
}

static const struct route *search(const struct route *routes, size_t count, struct request *request,
                                  const char *method, const char *path, const struct route **other)
{
    for (size_t i = 0; i < count; i++) {
        if ((routes[i].listeners >> request->from & 1) == 0 ||
            !is_path(routes[i].path, path, request))
            continue;
        if (is_method(&routes[i], method))
            return &routes[i];
        *other = &routes[i];
    }
    return NULL;
}

void route_choose(struct request *request, const char *method, const char *path)
{
    const struct server_options *options = request->service->options;
    const struct route *other = NULL;
    request->route =
        search(built_in, sizeof built_in / sizeof built_in[0], request, method, path, &other);
    if (request->route == NULL)
        request->route =
            search(options->routes, options->route_count, request, method, path, &other);
    if (request->route != NULL) {
        assert(request->route->begin != NULL);
        assert((request->route->work == NULL) == (request->route->finish == NULL));
    } else if (other != NULL) {
        request->allow = strcmp(other->method, "GET") == 0 ? "GET, HEAD" : other->method;
        request_refuse(request, REFUSAL_METHOD_NOT_ALLOWED, "%s takes %s", other->path,
                       request->allow);
    } else {
        request_refuse(request, REFUSAL_NOT_FOUND, "nothing is at this address");
    }
}
