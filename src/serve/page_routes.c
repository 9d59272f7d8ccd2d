/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "serve/news_feed.h"
#include "serve/news_page.h"
#include "serve/page_frame.h"
#include "serve/routes.h"
#include "serve/view_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX ((size_t)8 << 20)
#define AGE_S_MAX  60
#define HOST_MAX   255

/* One view of what is shared, on its way to a person. */
struct view_call {
    struct news_question question;
    struct health_view health;
    struct text answer; /* as the API would give it */
    char origin[320];   /* of the server, as the client sees it */
    int64_t begun_us;
    int64_t since_us; /* a page that was begun no earlier will do */
    char etag[40];
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
    call->question.pictures = pictures_shown(request->service);
    if (options->config == NULL ||
        news_question_read_page(request, &call->question, &refusal) != RC_OK) {
        page_refuse(request, &refusal);
        return;
    }
    call->health = (struct health_view){.last_event_us_ago = -1, .cursor_time_us = -1};
    if (options->health != NULL)
        options->health(options->arg, &call->health);
}

/* ---- the page ---- */

/* How old a page may be for this client, in seconds; one that says nothing wants its own. */
static int64_t age_allowed(struct request *request)
{
    const char *said = request_header(request, "Cache-Control");
    const char prefix[] = "max-age=";
    uint64_t seconds;
    if (said == NULL || strncmp(said, prefix, sizeof prefix - 1) != 0 ||
        !bytes_to_u64(bytes_of(said + sizeof prefix - 1), &seconds))
        return 0;
    return seconds < AGE_S_MAX ? (int64_t)seconds : AGE_S_MAX;
}

void home_begin(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    begin_view(request);
    struct view_call *call = request->data;
    int64_t age_s = age_allowed(request);
    call->begun_us = runtime->ops->mono_us(runtime);
    call->since_us = age_s == 0 ? INT64_MAX : call->begun_us - age_s * 1000000;
}

static void print_page(struct request *request, struct view_call *call, struct json answer)
{
    const struct config *config = request->service->options->config;
    struct news_page page = {.question = &call->question,
                             .answer = answer,
                             .health = &call->health,
                             .follows_anybody = config->bluesky.actors.count > 0,
                             .turned_off = config->bluesky.mode == CONFIG_MODE_OFF};
    news_page_print(&page, &request->reply);
}

typedef void print_fn(struct request *request, struct view_call *call, struct json answer);

/* Asks what the API would answer and has it written in another way. */
static enum rc print_view(struct request *request, struct store *store,
                          const struct trending_request *wanted, print_fn *print, struct err *err)
{
    struct view_call *call = request->data;
    struct json answer;
    text_clear(&request->reply);
    enum rc rc =
        trending_print(store, request->service->options->config, wanted, &call->answer, err);
    if (rc != RC_OK)
        return rc;
    struct json_doc *doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    rc = json_parse_copy(doc, text_bytes(&call->answer), &answer, err);
    if (rc == RC_OK)
        print(request, call, answer);
    else
        rc = err_wrap(err, RC_FATAL, "our own answer cannot be read");
    json_doc_free(doc);
    return rc;
}

enum rc home_work(struct request *request, struct store *store, struct err *err)
{
    const struct view_call *call = request->data;
    struct view_cache *views = request->service->views;
    struct text name = {0};
    enum rc rc = RC_OK;
    news_question_print(&call->question, call->question.pictures ? "/+pictures" : "/", &name);
    text_clear(&request->reply);
    if (!view_cache_find(views, text_bytes(&name), call->since_us, &request->reply)) {
        const struct trending_request wanted = news_page_request(&call->question);
        rc = print_view(request, store, &wanted, print_page, err);
        if (rc == RC_OK)
            view_cache_keep(views, text_bytes(&name), call->begun_us, text_bytes(&request->reply));
    }
    text_free(&name);
    return rc;
}

/* ---- feeds ---- */

/* A name or an address, and perhaps a port. */
static bool is_host(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-._:[]");
    return len > 0 && len <= HOST_MAX && text[len] == '\0';
}

/* As far as the client and a proxy before us say where this is. It goes into this answer only. */
static void note_origin(struct request *request, struct view_call *call)
{
    const char *host = request_host(request);
    const char *site = request_header(request, "X-Forwarded-Host");
    if (site != NULL && is_host(site))
        host = site;
    const char *proto = request_header(request, "X-Forwarded-Proto");
    bool tls = proto != NULL && strcmp(proto, "https") == 0;
    snprintf(call->origin, sizeof call->origin, "http%s://%s", tls ? "s" : "",
             host == NULL ? "localhost" : host);
}

void feed_begin(struct request *request)
{
    begin_view(request);
    note_origin(request, request->data);
}

static void print_feed(struct request *request, struct view_call *call, struct json answer)
{
    const struct news_feed feed = {
        .question = &call->question, .answer = answer, .origin = call->origin};
    if (strcmp(request->route->path, "/feed.xml") == 0)
        news_feed_print_rss(&feed, &request->reply);
    else
        news_feed_print_json(&feed, &request->reply);
}

enum rc feed_work(struct request *request, struct store *store, struct err *err)
{
    const struct view_call *call = request->data;
    struct trending_request wanted = call->question.links;
    wanted.posts = 0;
    wanted.stories = 1;
    return print_view(request, store, &wanted, print_feed, err);
}

static void send_feed(struct request *request, const char *content_type)
{
    struct view_call *call = request->data;
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct text feed = request->reply;
    if (!page_is_made(request))
        return;
    digest_sha256(text_bytes(&feed), digest);
    digest_hex(digest, hex);
    snprintf(call->etag, sizeof call->etag, "\"%.32s\"", hex);
    request->reply = (struct text){0};
    request_send_known(request, content_type, call->etag, text_bytes(&feed));
    text_free(&feed);
}

void feed_rss_finish(struct request *request)
{
    send_feed(request, "application/rss+xml; charset=utf-8");
}

void feed_json_finish(struct request *request)
{
    send_feed(request, "application/feed+json");
}
