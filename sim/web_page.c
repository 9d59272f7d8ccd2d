/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/web_page.h"
#include "sim/event_json.h"
#include "sim/gzip_stream.h"
#include "sim/press.h"
#include "sim/sim.h"
#include "sim/web_fault.h"
#include "sim/web_link.h"
#include "sim/web_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILLING_BYTES  4194304u
#define BOMB_BYTES     16777216u
#define SLOW_BYTES     8u
#define SLOW_FILLING   65536u
#define CHAIN_HOPS     12u
#define HTML           "text/html; charset=utf-8"
#define PRIVATE_ORIGIN "http://10.0.0.1"
/* Nobody's, and on this machine: a client that follows it leaves nothing outside. */
#define INWARD_ORIGIN "http://127.0.0.9:9"

enum charset { CHARSET_UTF8, CHARSET_LATIN1, CHARSET_UTF16 };

enum card { CARD_NONE, CARD_OPEN_GRAPH, CARD_TWITTER, CARD_TITLE };

struct page_kind;

/* One request for a page. */
struct visit {
    struct http_exchange *exchange;
    struct sim *sim;
    const struct page_kind *kind;
    uint32_t id;
    struct text html;
};

typedef void reply_fn(struct visit *visit);

static reply_fn reply_plain, reply_gzip, reply_chunked, reply_notype, reply_huge, reply_late,
    reply_bomb, reply_slow, reply_silent, reply_cut, reply_loop, reply_chain, reply_inward,
    reply_status, reply_image;

static const struct page_kind {
    const char *name;
    reply_fn *reply;
    enum card card;
    enum charset charset;
    const char *type; /* NULL: HTML in UTF-8 */
    const char *head; /* further tags; '@' stands for the canonical address of the article */
    bool is_article;  /* shows that it is the page /web/plain/ID */
    int status;
} kinds[] = {
    {.name = "plain", .reply = reply_plain, .card = CARD_OPEN_GRAPH, .is_article = true},
    {.name = "canonical",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .head = "<link rel=\"canonical\" href=\"@\">",
     .is_article = true},
    {.name = "ogurl",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .head = "<meta property=\"og:url\" content=\"@\">",
     .is_article = true},
    {.name = "foreign",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .head = "<link rel=\"canonical\" href=\"https://paper1.example/elsewhere\">"},
    {.name = "twitter", .reply = reply_plain, .card = CARD_TWITTER},
    {.name = "title", .reply = reply_plain, .card = CARD_TITLE},
    {.name = "latin1",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .charset = CHARSET_LATIN1,
     .type = "text/html; charset=ISO-8859-1"},
    {.name = "metalatin1",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .charset = CHARSET_LATIN1,
     .type = "text/html"},
    {.name = "utf16",
     .reply = reply_plain,
     .card = CARD_OPEN_GRAPH,
     .charset = CHARSET_UTF16,
     .type = "text/html"},
    {.name = "gzip", .reply = reply_gzip, .card = CARD_OPEN_GRAPH},
    {.name = "chunked", .reply = reply_chunked, .card = CARD_OPEN_GRAPH},
    {.name = "pdf", .reply = reply_plain, .type = "application/pdf"},
    {.name = "picture", .reply = reply_image},
    {.name = "notype", .reply = reply_notype},
    {.name = "huge", .reply = reply_huge, .card = CARD_OPEN_GRAPH},
    {.name = "latecard", .reply = reply_late},
    {.name = "bomb", .reply = reply_bomb},
    {.name = "slow", .reply = reply_slow},
    {.name = "silent", .reply = reply_silent},
    {.name = "cut", .reply = reply_cut},
    {.name = "private", .reply = reply_plain, .card = CARD_OPEN_GRAPH},
    {.name = "loop", .reply = reply_loop},
    {.name = "chain", .reply = reply_chain},
    {.name = "inward", .reply = reply_inward},
    {.name = "status404", .reply = reply_status, .status = 404},
    {.name = "status410", .reply = reply_status, .status = 410},
    {.name = "status429", .reply = reply_status, .status = 429},
    {.name = "status500", .reply = reply_status, .status = 500},
    {.name = "status503", .reply = reply_status, .status = 503},
    {.name = "image", .reply = reply_image},
};

static const struct page_kind *find_kind(struct bytes name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (bytes_equal_string(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

struct card_words {
    char title[PRESS_HEADLINE_SIZE], description[PRESS_SUMMARY_SIZE], image[128];
};

/* What the card of a page says, in plain characters. */
static void write_words(const struct world *world, const struct page_kind *kind, uint32_t id,
                        struct card_words *words)
{
    const struct world_options *settings = world_settings(world);
    const char *name = kind->is_article ? "plain" : kind->name;
    uint32_t article = web_link_article(kind->name, id);
    char origin[ORIGIN_SIZE] = PRIVATE_ORIGIN;
    if (strcmp(kind->name, "private") != 0)
        web_link_origin(world, article, origin);
    snprintf(words->image, sizeof words->image, "%s/web/image/%u", origin, id);
    if (settings->press && article != WORLD_NONE) {
        press_headline(settings->seed, article, words->title);
        press_summary(settings->seed, article, words->description);
        return;
    }
    snprintf(words->title, sizeof words->title, "Page %u of %s%s", id, name,
             kind->charset == CHARSET_UTF8 ? "" : " caf\xc3\xa9");
    snprintf(words->description, sizeof words->description, "About %u & <%s>", id, name);
}

void web_page_put_card(const struct world *world, uint32_t link, struct text *out)
{
    uint32_t id;
    const char *name = web_link_kind(world, link, &id);
    struct card_words words = {0};
    if (name == NULL)
        return;
    const struct page_kind *kind = find_kind(bytes_of(name));
    text_appendf(out, ",\"kind\":\"%s\"", name);
    if (kind->card == CARD_NONE)
        return;
    write_words(world, kind, id, &words);
    text_append_string(out, ",\"title\":");
    event_json_string(out, bytes_of(words.title));
    if (kind->card == CARD_TITLE)
        return;
    text_append_string(out, ",\"description\":");
    event_json_string(out, bytes_of(words.description));
    text_append_string(out, ",\"image\":");
    event_json_string(out, bytes_of(words.image));
}

/* Text inside an attribute or an element. */
static void put_escaped(struct text *out, const char *words)
{
    for (; *words != '\0'; words++) {
        if (*words == '&')
            text_append_string(out, "&amp;");
        else if (*words == '<')
            text_append_string(out, "&lt;");
        else
            text_append_char(out, *words);
    }
}

static void put_tag(struct text *out, const char *attribute, const char *name, const char *content)
{
    text_appendf(out, "<meta %s=\"%s\" content=\"", attribute, name);
    put_escaped(out, content);
    text_append_string(out, "\">\n");
}

static void put_tags(struct visit *visit)
{
    struct text *out = &visit->html;
    struct card_words words = {.title = ""};
    write_words(visit->sim->world, visit->kind, visit->id, &words);
    text_append_string(out, "<title>");
    put_escaped(out, words.title);
    text_append_string(out, "</title>\n");
    if (visit->kind->card == CARD_TITLE)
        return;
    bool twitter = visit->kind->card == CARD_TWITTER;
    const char *attribute = twitter ? "name" : "property";
    put_tag(out, attribute, twitter ? "twitter:title" : "og:title", words.title);
    put_tag(out, attribute, twitter ? "twitter:description" : "og:description", words.description);
    put_tag(out, attribute, twitter ? "twitter:image" : "og:image", words.image);
}

/* Whoever opens an article of the press finds it there. */
static void put_body(struct visit *visit)
{
    struct text *out = &visit->html;
    struct card_words words = {0};
    if (!world_settings(visit->sim->world)->press) {
        text_append_string(out, "<p>tides &amp; marks</p>");
        return;
    }
    write_words(visit->sim->world, visit->kind, visit->id, &words);
    text_append_string(out, "<h1>");
    put_escaped(out, words.title);
    text_append_string(out, "</h1>\n<p>");
    put_escaped(out, words.description);
    text_append_string(out, "</p>\n<p>This article is invented, and so is the paper.</p>");
}

/* Where the page of that kind and the visit's id lies. */
static void write_address(const struct visit *visit, const char *kind, char out[URL_SIZE])
{
    char origin[ORIGIN_SIZE];
    web_link_origin(visit->sim->world, web_link_article(kind, visit->id), origin);
    snprintf(out, URL_SIZE, "%s/web/%s/%u", origin, kind, visit->id);
}

static void put_page(struct visit *visit)
{
    struct text *out = &visit->html;
    char article[URL_SIZE];
    write_address(visit, "plain", article);
    text_append_string(out, "<!doctype html>\n<html><head>\n");
    if (strcmp(visit->kind->name, "metalatin1") == 0)
        text_append_string(out, "<meta charset=\"iso-8859-1\">\n");
    put_tags(visit);
    for (const char *c = visit->kind->head; c != NULL && *c != '\0'; c++) {
        if (*c == '@')
            text_append_string(out, article);
        else
            text_append_char(out, *c);
    }
    text_append_string(out, "</head><body>");
    put_body(visit);
    text_append_string(out, "</body></html>\n");
}

static void put_filling(struct text *out, size_t bytes)
{
    text_append_string(out, "<!--");
    memset(text_reserve(out, bytes), '.', bytes);
    out->len += bytes;
    text_append_string(out, "-->");
}

/* Only two-byte sequences of UTF-8 occur, and of these only what Latin 1 knows. */
static void encode(struct text *html, enum charset charset)
{
    struct text out = {0};
    if (charset == CHARSET_UTF8)
        return;
    if (charset == CHARSET_UTF16)
        text_append(&out, "\xff\xfe", 2);
    for (size_t i = 0; i < html->len; i++) {
        unsigned char c = (unsigned char)html->data[i];
        if (c >= 0x80)
            c = (unsigned char)((c & 0x03u) << 6 | ((unsigned char)html->data[++i] & 0x3fu));
        text_append_char(&out, (char)c);
        if (charset == CHARSET_UTF16)
            text_append_char(&out, '\0');
    }
    text_free(html);
    *html = out;
}

static const char *type_of(const struct visit *visit)
{
    return visit->kind->type == NULL ? HTML : visit->kind->type;
}

static void reply_plain(struct visit *visit)
{
    put_page(visit);
    encode(&visit->html, visit->kind->charset);
    http_reply(visit->exchange, 200, type_of(visit), NULL, text_bytes(&visit->html));
}

static bool takes_gzip(const struct visit *visit)
{
    struct bytes accepted =
        http_request_header(http_exchange_request(visit->exchange), "Accept-Encoding");
    return accepted.len >= 4 && memmem(accepted.data, accepted.len, "gzip", 4) != NULL;
}

static void reply_gzip(struct visit *visit)
{
    struct text packed = {0};
    if (!takes_gzip(visit)) {
        reply_plain(visit);
        return;
    }
    put_page(visit);
    gzip_stream_store(text_bytes(&visit->html), &packed);
    http_reply(visit->exchange, 200, HTML, "Content-Encoding: gzip\r\n", text_bytes(&packed));
    text_free(&packed);
}

static void reply_bomb(struct visit *visit)
{
    struct text packed = {0};
    gzip_stream_repeat(' ', BOMB_BYTES, &packed);
    http_reply(visit->exchange, 200, HTML, "Content-Encoding: gzip\r\n", text_bytes(&packed));
    text_free(&packed);
}

static void reply_chunked(struct visit *visit)
{
    struct text raw = {0};
    put_page(visit);
    text_append_string(&raw, "HTTP/1.1 200 OK\r\nContent-Type: " HTML
                             "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < visit->html.len;) {
        size_t len = visit->html.len - at < 50 ? visit->html.len - at : 50;
        text_appendf(&raw, "%zx\r\n", len);
        text_append(&raw, visit->html.data + at, len);
        text_append_string(&raw, "\r\n");
        at += len;
    }
    text_append_string(&raw, "0\r\n\r\n");
    http_reply_raw(visit->exchange, 200, text_bytes(&raw), false);
    text_free(&raw);
}

static void reply_notype(struct visit *visit)
{
    struct text raw = {0};
    put_page(visit);
    text_appendf(&raw, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", visit->html.len);
    text_append(&raw, visit->html.data, visit->html.len);
    http_reply_raw(visit->exchange, 200, text_bytes(&raw), false);
    text_free(&raw);
}

static void reply_huge(struct visit *visit)
{
    put_page(visit);
    put_filling(&visit->html, FILLING_BYTES);
    http_reply(visit->exchange, 200, HTML, NULL, text_bytes(&visit->html));
}

static void reply_late(struct visit *visit)
{
    put_filling(&visit->html, FILLING_BYTES);
    reply_plain(visit);
}

static void reply_slow(struct visit *visit)
{
    put_page(visit);
    put_filling(&visit->html, SLOW_FILLING);
    peer_slow(http_exchange_peer(visit->exchange), SLOW_BYTES, visit->sim->options.slow_page_ms);
    http_reply(visit->exchange, 200, HTML, NULL, text_bytes(&visit->html));
}

/* Head now, body when the stall is over. */
static void reply_silent(struct visit *visit)
{
    struct text raw = {0};
    struct peer *peer = http_exchange_peer(visit->exchange);
    put_page(visit);
    text_appendf(&raw, "HTTP/1.1 200 OK\r\nContent-Type: " HTML "\r\nContent-Length: %zu\r\n\r\n",
                 visit->html.len);
    http_reply_raw(visit->exchange, 200, text_bytes(&raw), false);
    peer_stall(peer, visit->sim->options.slow_page_ms);
    text_append(peer_out(peer), visit->html.data, visit->html.len);
    text_free(&raw);
}

static void reply_cut(struct visit *visit)
{
    struct text raw = {0};
    put_page(visit);
    text_appendf(&raw, "HTTP/1.1 200 OK\r\nContent-Type: " HTML "\r\nContent-Length: %zu\r\n\r\n",
                 visit->html.len + 1000);
    text_append(&raw, visit->html.data, visit->html.len / 2);
    http_reply_raw(visit->exchange, 200, text_bytes(&raw), true);
    text_free(&raw);
}

static void redirect(struct visit *visit, int status, const char *location)
{
    struct text headers = {0};
    text_appendf(&headers, "Location: %s\r\n", location);
    http_reply(visit->exchange, status, "text/plain", text_string(&headers), bytes_of("moved\n"));
    text_free(&headers);
}

static void reply_loop(struct visit *visit)
{
    char location[64];
    snprintf(location, sizeof location, "/web/loop/%u", visit->id);
    redirect(visit, 302, location);
}

/* The hops are counted in the id: ID.1, ID.2 and so on would be other pages, a query is not. */
static void reply_chain(struct visit *visit)
{
    struct bytes query = http_exchange_request(visit->exchange)->query;
    uint64_t hop = 0;
    char location[URL_SIZE];
    if (query.len > 4)
        (void)bytes_to_u64(bytes_make(query.data + 4, query.len - 4), &hop);
    if (hop + 1 < CHAIN_HOPS)
        snprintf(location, sizeof location, "/web/chain/%u?hop=%u", visit->id, (unsigned)hop + 1);
    else
        write_address(visit, "plain", location);
    redirect(visit, 307, location);
}

static void reply_inward(struct visit *visit)
{
    redirect(visit, 302, INWARD_ORIGIN "/inside");
}

static void reply_status(struct visit *visit)
{
    int status = visit->kind->status;
    http_reply(visit->exchange, status, HTML,
               status == 429 || status == 503 ? "Retry-After: 1\r\n" : NULL,
               bytes_of("<!doctype html><title>Something went wrong</title>"));
}

static void reply_image(struct visit *visit)
{
    web_picture_reply(visit->exchange, visit->id);
}

/* Splits "KIND/ID" after the prefix; false when it is no page, which has been answered. */
static bool begin_visit(struct visit *visit, struct http_exchange *exchange, struct sim *sim,
                        size_t prefix)
{
    struct bytes path = http_exchange_request(exchange)->path;
    const char *begin = path.data + prefix, *end = path.data + path.len;
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    uint64_t id = 0;
    *visit = (struct visit){.exchange = exchange, .sim = sim};
    if (slash != NULL && bytes_to_u64(bytes_make(slash + 1, (size_t)(end - slash - 1)), &id) &&
        id <= UINT32_MAX)
        visit->kind = find_kind(bytes_make(begin, (size_t)(slash - begin)));
    visit->id = (uint32_t)id;
    if (visit->kind == NULL)
        http_reply_text(exchange, 404, "there is no such page\n");
    return visit->kind != NULL;
}

void web_page_get(struct http_exchange *exchange, void *arg)
{
    struct visit visit;
    if (!begin_visit(&visit, exchange, arg, strlen("/web/")) ||
        web_fault_answers(exchange, arg, visit.kind->name))
        return;
    visit.kind->reply(&visit);
    text_free(&visit.html);
}

void web_page_shortened(struct http_exchange *exchange, void *arg)
{
    struct visit visit;
    char location[URL_SIZE];
    if (!begin_visit(&visit, exchange, arg, strlen("/s/")) ||
        web_fault_answers(exchange, arg, visit.kind->name))
        return;
    write_address(&visit, visit.kind->name, location);
    redirect(&visit, 301, location);
}
