/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "config.h"
#include "serve/assets.h"
#include "serve/page_frame.h"
#include "store/store_files.h"

#include <assert.h>
#include <inttypes.h>
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

static void put_refusals(const struct service *service, struct text *out)
{
    text_append_string(out, "# HELP tidemark_refusals_total Requests that were not done, by code.\n"
                            "# TYPE tidemark_refusals_total counter\n");
    for (size_t i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++)
        text_appendf(out, "tidemark_refusals_total{code=\"%s\"} %" PRIu64 "\n",
                     refusal_name((enum refusal_code)i), service->refusals[i]);
    text_appendf(out,
                 "# HELP tidemark_connections_cut_total Connections that took too long.\n"
                 "# TYPE tidemark_connections_cut_total counter\n"
                 "tidemark_connections_cut_total %" PRIu64 "\n"
                 "# HELP tidemark_requests_waiting Requests that a reader has, or that wait for "
                 "one.\n# TYPE tidemark_requests_waiting gauge\n"
                 "tidemark_requests_waiting %u\n",
                 service->cuts, service->waiting);
}

static void show_metrics(struct request *request)
{
    const struct server_options *options = request->service->options;
    if (options->metrics != NULL)
        options->metrics(options->arg, &request->reply);
    handles_print_metrics(request->service->handles, &request->reply);
    tails_print_metrics(request->service->tails, &request->reply);
    text_appendf(&request->reply,
                 "# HELP tidemark_list_cursors_total Lists that named a cursor: the old way.\n"
                 "# TYPE tidemark_list_cursors_total counter\n"
                 "tidemark_list_cursors_total %" PRIu64 "\n",
                 request->service->list_cursors);
    put_refusals(request->service, &request->reply);
    request_send(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static void show_routes(struct request *request);
static void show_store(struct request *request);

/* On the main listener and the socket: the address, who may ask, and the steps of the answer. */
#define MAIN(verb, address, who, first, second, third)                                             \
    {                                                                                              \
        .method = (verb), .path = (address), .listeners = ON_MAIN, .scope = (who),                 \
        .begin = (first), .work = (second), .finish = (third)                                      \
    }
#define GET(address, who, first, second, third)  MAIN("GET", address, who, first, second, third)
#define POST(address, who, first, second, third) MAIN("POST", address, who, first, second, third)
/* For who may read: the answer may be large. */
#define LARGE(verb, address, first, second, third)                                                 \
    {                                                                                              \
        .method = (verb), .path = (address), .listeners = ON_MAIN, .scope = SCOPE_READ,            \
        .begin = (first), .work = (second), .finish = (third), .large = true                       \
    }

static const struct route built_in[] = {
    LARGE("GET", "/", home_begin, home_work, page_finish),
    LARGE("GET", "/links/{}", link_page_begin, link_page_work, page_finish),
    LARGE("GET", "/feed.xml", feed_begin, feed_work, feed_rss_finish),
    LARGE("GET", "/feed.json", feed_begin, feed_work, feed_json_finish),
    GET("/status", SCOPE_READ, status_page_begin, status_page_work, page_finish),
    GET("/ipfs/{}", SCOPE_READ, document_begin, document_work, document_finish),
    LARGE("GET", "/image/{}", picture_begin, picture_work, picture_finish),
    GET("/ipfs/{}/{}", SCOPE_READ, document_begin, document_work, document_finish),
    GET("/assets/{}", SCOPE_ANYONE, asset_begin, NULL, NULL),
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
    GET("/api/openapi.json", SCOPE_ANYONE, openapi_begin, NULL, NULL),
    GET("/api/status", SCOPE_READ, status_begin, status_work, status_finish),
    LARGE("GET", "/api/trending", trending_begin, trending_work, trending_finish),
    LARGE("GET", "/api/links/{}/posts", link_posts_begin, link_posts_work, trending_finish),
    GET("/api/events", SCOPE_READ, events_begin, events_work, events_finish),
    GET("/api/ws", SCOPE_READ, ws_begin, NULL, NULL),
    POST("/api/data/query-open", SCOPE_READ, query_open_begin, query_open_work, query_open_finish),
    LARGE("POST", "/api/data/query-next", query_next_begin, query_page_work, query_page_finish),
    LARGE("POST", "/api/data/query-prev", query_prev_begin, query_page_work, query_page_finish),
    LARGE("POST", "/api/data/query-tail", query_tail_begin, query_tail_work, query_tail_finish),
    POST("/api/data/query-close", SCOPE_READ, query_close_begin, query_close_work,
         query_close_finish),
    {.method = "POST",
     .path = "/api/data/create",
     .listeners = ON_MAIN,
     .scope = SCOPE_WRITE,
     .begin = create_begin,
     .work = create_work,
     .finish = create_finish,
     .body_max = CREATE_BODY_MAX},
    LARGE("POST", "/api/data/read", read_begin, read_work, read_finish),
    POST("/api/data/update", SCOPE_WRITE, update_begin, update_work, update_finish),
    POST("/api/data/delete", SCOPE_WRITE, delete_begin, delete_work, delete_finish),
    LARGE("POST", "/api/data/list", list_begin, list_work, list_finish),
    GET("/api/admin/routes", SCOPE_ADMIN, show_routes, NULL, NULL),
    GET("/api/admin/store", SCOPE_ADMIN, show_store, NULL, NULL),
    GET("/api/admin/handles", SCOPE_ADMIN, handles_begin, handles_work, handles_finish),
};

#define BUILT_IN_COUNT (sizeof built_in / sizeof built_in[0])

/* ---- what there is ---- */

static void put_route(const struct route *route, struct json_writer *writer)
{
    static const char *const listeners[] = {
        [LISTENER_MAIN] = "main", [LISTENER_HEALTH] = "health", [LISTENER_SOCKET] = "socket"};
    char scope[SCOPES_TEXT_MAX];
    scopes_print(route->scope, scope);
    json_begin_object(writer);
    json_key(writer, "method");
    json_put_cstring(writer, route->method);
    json_key(writer, "path");
    json_put_cstring(writer, route->path);
    json_key(writer, "scope");
    json_put_cstring(writer, route->scope == SCOPE_ANYONE ? "anyone" : scope);
    json_key(writer, "listeners");
    json_begin_array(writer);
    for (size_t i = 0; i < LISTENER_COUNT; i++)
        if ((route->listeners >> i & 1) != 0)
            json_put_cstring(writer, listeners[i]);
    json_end_array(writer);
    json_end_object(writer);
}

static void put_code(enum refusal_code code, struct json_writer *writer)
{
    json_begin_object(writer);
    json_key(writer, "code");
    json_put_cstring(writer, refusal_name(code));
    json_key(writer, "status");
    json_put_i64(writer, request_status_of(code));
    json_key(writer, "hint");
    json_put_cstring(writer, refusal_hint(code));
    json_end_object(writer);
}

static void show_routes(struct request *request)
{
    const struct server_options *options = request->service->options;
    struct json_writer writer;
    request_begin_json(request, &writer);
    json_key(&writer, "routes");
    json_begin_array(&writer);
    for (size_t i = 0; i < BUILT_IN_COUNT; i++)
        put_route(&built_in[i], &writer);
    for (size_t i = 0; i < options->route_count; i++)
        put_route(&options->routes[i], &writer);
    json_end_array(&writer);
    json_key(&writer, "codes");
    json_begin_array(&writer);
    for (enum refusal_code code = REFUSAL_NONE + 1; code < REFUSAL_COUNT; code++)
        put_code(code, &writer);
    json_end_array(&writer);
    request_send_json(request, &writer);
}

static void show_store(struct request *request)
{
    struct json_writer writer;
    struct text name = {0};
    store_name(request->service->options->config->store.url, &name);
    request_begin_json(request, &writer);
    json_key(&writer, "store");
    json_put_string(&writer, text_bytes(&name));
    request_send_json(request, &writer);
    text_free(&name);
}

/* ---- which one is meant ---- */

static bool is_method(const struct route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* Whether the path is the route's; `{}` stands for one part of it, which is kept, and a second one
 * for all that follows, which is kept with it. */
static bool is_path(const char *pattern, const char *path, struct request *request)
{
    const char *hole = strstr(pattern, "{}");
    if (hole == NULL)
        return strcmp(pattern, path) == 0;
    size_t before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    const char *after = hole + 2;
    size_t len = strcspn(path + before, "/");
    if (len > 0 && path[before + len] == '/' && strcmp(after, "/{}") == 0) {
        len = strlen(path + before);
        after = "";
    }
    if (len == 0 || len >= sizeof request->path_part || strcmp(path + before + len, after) != 0)
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

/* Who typed an address wrong is a person, unless it is one of the API. */
static void refuse_unknown(struct request *request, const char *path)
{
    const struct refusal refusal = {.code = REFUSAL_NOT_FOUND,
                                    .err = {"nothing is at this address"}};
    if (strncmp(path, "/api/", 5) != 0 && page_is_wanted(request))
        page_refuse(request, &refusal);
    else
        request_refuse_with(request, &refusal);
}

void route_choose(struct request *request, const char *method, const char *path)
{
    const struct server_options *options = request->service->options;
    const struct route *other = NULL;
    request->route = search(built_in, BUILT_IN_COUNT, request, method, path, &other);
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
        refuse_unknown(request, path);
    }
}
