/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page_frame.h"

#include "base/timestamp.h"
#include "query/kept_picture.h"
#include "serve/assets.h"
#include "serve/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

/* ---- head ---- */

static void put_meta(struct markup *page, const char *name, const char *content)
{
    markup_begin(page, "meta");
    markup_attr_string(page, "name", name);
    markup_attr_string(page, "content", content);
    markup_end(page, "meta");
}

static void begin_link(struct markup *page, const char *rel, const char *type)
{
    markup_begin(page, "link");
    markup_attr_string(page, "rel", rel);
    if (type != NULL)
        markup_attr_string(page, "type", type);
}

static void put_link(struct markup *page, const char *rel, const char *type, const char *href)
{
    begin_link(page, rel, type);
    markup_attr_string(page, "href", href);
    markup_end(page, "link");
}

static void put_feed(struct markup *page, const char *type, const char *path, const char *view,
                     const char *title)
{
    struct text address = {0};
    text_appendf(&address, "%s%s", path, view);
    begin_link(page, "alternate", type);
    markup_attr_string(page, "title", title);
    markup_attr(page, "href", text_bytes(&address));
    markup_end(page, "link");
    text_free(&address);
}

static void put_script(struct markup *page, const char *src, bool module)
{
    markup_begin(page, "script");
    if (module)
        markup_attr_string(page, "type", "module");
    markup_attr_string(page, "src", src);
    markup_end(page, "script");
}

static void put_head(struct markup *page, const struct page_head *head)
{
    markup_begin(page, "head");
    markup_begin(page, "meta");
    markup_attr_string(page, "charset", "utf-8");
    markup_end(page, "meta");
    put_meta(page, "viewport", "width=device-width, initial-scale=1");
    put_meta(page, "color-scheme", "light dark");
    put_meta(page, "referrer", "no-referrer");
    markup_leaf(page, "title", head->title);
    put_link(page, "icon", "image/svg+xml", asset_address("tidemark.svg"));
    put_link(page, "stylesheet", NULL, asset_address("page.css"));
    if (head->feed_view != NULL) {
        put_feed(page, "application/rss+xml", "/feed.xml", head->feed_view, "This view as RSS");
        put_feed(page, "application/feed+json", "/feed.json", head->feed_view,
                 "This view as JSON Feed");
    }
    /* The chosen colours are in force before anything is drawn. */
    put_script(page, asset_address("theme.js"), false);
    if (head->script != NULL)
        put_script(page, asset_address(head->script), true);
    markup_end(page, "head");
}

/* ---- banner and foot ---- */

static void put_place(struct markup *page, const char *href, const char *words, bool current)
{
    markup_begin(page, "a");
    markup_attr_string(page, "href", href);
    if (current)
        markup_attr_string(page, "aria-current", "page");
    markup_string(page, words);
    markup_end(page, "a");
}

static void put_banner(struct markup *page, const struct page_head *head)
{
    markup_begin_class(page, "a", "skip");
    markup_attr_string(page, "href", "#content");
    markup_string(page, "Skip to the content");
    markup_end(page, "a");
    markup_begin_class(page, "header", "banner");
    markup_begin_class(page, "a", "brand");
    markup_attr_string(page, "href", "/");
    markup_begin(page, "img");
    markup_attr_string(page, "src", asset_address("tidemark.svg"));
    markup_attr_string(page, "alt", "");
    markup_attr_string(page, "width", "26");
    markup_attr_string(page, "height", "26");
    markup_end(page, "img");
    markup_string(page, "Tidemark");
    markup_end(page, "a");
    markup_begin_class(page, "nav", "places");
    markup_attr_string(page, "aria-label", "Pages");
    put_place(page, "/", "News", head->place == PAGE_NEWS);
    put_place(page, "/status", "Status", head->place == PAGE_STATUS);
    markup_end(page, "nav");
    markup_end(page, "header");
}

void page_begin(struct markup *page, struct text *out, const struct page_head *head)
{
    markup_init(page, out, MARKUP_HTML);
    markup_begin(page, "html");
    markup_attr_string(page, "lang", "en");
    put_head(page, head);
    markup_begin_class(page, "body", head->class_name);
    put_banner(page, head);
    markup_begin(page, "main");
    markup_attr_string(page, "id", "content");
}

void page_end(struct markup *page)
{
    static const char *const places[][2] = {
        {"/feed.xml", "RSS"},          {"/feed.json", "JSON Feed"}, {"/api/trending", "API"},
        {"/api/openapi.json", "Docs"}, {"/health", "Health"},       {"/metrics", "Metrics"},
    };
    markup_end(page, "main");
    markup_begin_class(page, "footer", "foot");
    markup_begin(page, "nav");
    markup_attr_string(page, "aria-label", "For programs");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        put_place(page, places[i][0], places[i][1], false);
    markup_end(page, "nav");
    markup_begin(page, "p");
    markup_string(page, "Tidemark " TIDEMARK_VERSION);
    markup_end(page, "p");
    markup_end(page, "footer");
    markup_end(page, "body");
    markup_end(page, "html");
    text_append_char(page->out, '\n');
}

/* ---- words ---- */

const char *page_plural(int64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void put_span(struct markup *page, int64_t seconds)
{
    if (seconds < 60)
        markup_string(page, "just now");
    else if (seconds < 3600)
        markup_textf(page, "%" PRId64 " min ago", seconds / 60);
    else if (seconds < 48 * 3600)
        markup_textf(page, "%" PRId64 " h ago", seconds / 3600);
    else
        markup_textf(page, "%" PRId64 " d ago", seconds / 86400);
}

static void begin_time(struct markup *page, struct bytes time, const char *class_name)
{
    markup_begin_class(page, "time", class_name);
    markup_attr(page, "datetime", time);
}

void page_put_age(struct markup *page, struct bytes time, int64_t now_us)
{
    int64_t us;
    if (!timestamp_parse(time, &us))
        return;
    begin_time(page, time, "age");
    markup_attr(page, "title", time);
    put_span(page, (now_us - us) / SECOND_US);
    markup_end(page, "time");
}

void page_put_clock(struct markup *page, struct bytes time, int64_t now_us)
{
    char then[TIMESTAMP_TEXT_MAX], today[TIMESTAMP_TEXT_MAX];
    int64_t us;
    if (!timestamp_parse(time, &us) || !timestamp_format(us, then) ||
        !timestamp_format(now_us, today))
        return;
    begin_time(page, time, "clock");
    if (strncmp(then, today, 10) != 0)
        markup_textf(page, "%.10s ", then);
    markup_textf(page, "%.5s UTC", then + 11);
    markup_end(page, "time");
}

/* ---- pictures ---- */

void page_put_picture(struct markup *page, const struct page_picture *picture)
{
    struct text address = {0};
    text_append_string(&address, "/image/");
    if (picture->url.len > 0 && picture_name_print(picture->owner, picture->url, &address)) {
        markup_begin_class(page, "img", picture->class_name);
        markup_attr(page, "src", text_bytes(&address));
        markup_attr_string(page, "alt", "");
        markup_attr_i64(page, "width", picture->width);
        markup_attr_i64(page, "height", picture->height);
        markup_attr_string(page, "loading", "lazy");
        markup_attr_string(page, "decoding", "async");
        if (picture->stead.len > 0)
            markup_attr(page, "data-stead", picture->stead);
        markup_end(page, "img");
    }
    text_free(&address);
}

/* ---- answers ---- */

bool page_is_wanted(const struct request *request)
{
    const char *accepted = request_header(request, "Accept");
    return accepted != NULL && strstr(accepted, "text/html") != NULL;
}

/* Who pressed something on another page goes back there. */
static void put_way_on(struct markup *page, const struct request *request)
{
    bool of_status =
        request->route != NULL && bytes_starts_with(bytes_of(request->route->path), "/status/");
    markup_begin(page, "p");
    put_place(page, of_status ? "/status#quarantine" : "/",
              of_status ? "Back to the quarantine" : "What is shared today", false);
    markup_end(page, "p");
}

void page_refuse(struct request *request, const struct refusal *refusal)
{
    const struct page_head head = {
        .title = "Tidemark: not here", .class_name = "plain", .place = PAGE_OTHER};
    struct markup page;
    request->service->refusals[refusal->code]++;
    text_clear(&request->reply);
    page_begin(&page, &request->reply, &head);
    markup_leaf(&page, "h1", "This cannot be shown");
    markup_begin_class(&page, "p", "notice");
    markup_stranger(&page, bytes_of(refusal->err.text), sizeof refusal->err.text);
    markup_end(&page, "p");
    put_way_on(&page, request);
    page_end(&page);
    request->policy = PAGE_POLICY;
    request_send(request, request_status_of(refusal->code), PAGE_TYPE);
}

bool page_is_made(struct request *request)
{
    struct refusal refusal = {.code = REFUSAL_NOT_FOUND, .err = request->job.err};
    if (request->job.rc == RC_REJECT)
        page_refuse(request, &refusal);
    else if (request->job.rc != RC_OK)
        request_fail(request);
    return request->job.rc == RC_OK;
}

void page_finish(struct request *request)
{
    if (!page_is_made(request))
        return;
    request->policy = PAGE_POLICY;
    request_send(request, 200, PAGE_TYPE);
}
