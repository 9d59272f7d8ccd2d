/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/web_link.h"
#include "sim/press.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BLOCK          16u /* pages of the own server that belong together */
#define SHORT_SPELLING 4u  /* every such spelling of an own page that has one is the short form */
#define PAPERS         61u

enum site { SITE_PAPER, SITE_OWN, SITE_NAMED };

/* The first is the article; those marked show that they are it, and may be shortened. */
static const struct {
    const char *kind;
    bool same;
} block_kinds[BLOCK] = {
    {"plain", true},    {"canonical", true}, {"ogurl", true},       {"twitter", false},
    {"title", false},   {"latin1", false},   {"metalatin1", false}, {"utf16", false},
    {"gzip", false},    {"chunked", false},  {"pdf", false},        {"huge", false},
    {"private", false}, {"foreign", false},  {"status404", false},  {"loop", false},
};

static const char *const sections[] = {"news", "science", "coast", "data", "letters"};

static bool chance(const struct world *world, uint32_t number, uint32_t percent)
{
    struct draw draw = draw_make(world_settings(world)->seed, number, SALT_SITE);
    return draw_below(&draw, 100) < percent;
}

static enum site site_of(const struct world *world, uint32_t link)
{
    const struct world_options *settings = world_settings(world);
    if (settings->web_percent > 0 && chance(world, link / BLOCK, settings->web_percent))
        return SITE_OWN;
    if (settings->named_percent > 0 && chance(world, ~link, settings->named_percent))
        return SITE_NAMED;
    return SITE_PAPER;
}

static uint32_t hash_of(const struct world *world, uint32_t link)
{
    struct draw draw = draw_make(world_settings(world)->seed, link, SALT_LINK);
    return (uint32_t)draw_next(&draw);
}

uint32_t web_link_number(uint32_t address)
{
    return address / 2;
}

static bool is_short(uint32_t address)
{
    return address % 2 == 1;
}

bool web_link_is_named(const struct world *world, uint32_t link)
{
    return site_of(world, link) == SITE_NAMED;
}

const char *web_link_kind(const struct world *world, uint32_t link, uint32_t *id)
{
    if (site_of(world, link) != SITE_OWN)
        return NULL;
    *id = link / BLOCK;
    return block_kinds[link % BLOCK].kind;
}

uint32_t web_link_article(const char *kind, uint32_t id)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        if (strcmp(kind, block_kinds[i].kind) == 0)
            return id * BLOCK + (block_kinds[i].same ? 0 : i);
    return WORLD_NONE;
}

void web_link_origin(const struct world *world, uint32_t article, char out[ORIGIN_SIZE])
{
    const struct world_options *settings = world_settings(world);
    const char *base = settings->web_base, *host = strstr(base, "://"), *port = strrchr(base, ':');
    char name[PRESS_HOST_SIZE];
    if (!settings->press || article == WORLD_NONE) {
        snprintf(out, ORIGIN_SIZE, "%s", base);
        return;
    }
    assert(host != NULL);
    press_host(settings->seed, article, name);
    snprintf(out, ORIGIN_SIZE, "%.*s://%s%s", (int)(host - base), base, name,
             port > host ? port : "");
}

uint32_t web_link_address(const struct world *world, uint32_t link, uint32_t spelling)
{
    bool shortened = site_of(world, link) == SITE_OWN && block_kinds[link % BLOCK].same &&
                     spelling % SPELLING_COUNT % SHORT_SPELLING == SHORT_SPELLING - 1;
    return link * 2 + shortened;
}

uint32_t web_link_merged(const struct world *world, uint32_t address)
{
    uint32_t link = web_link_number(address);
    if (site_of(world, link) != SITE_OWN || !block_kinds[link % BLOCK].same)
        return address;
    return (link - link % BLOCK) * 2;
}

/* Pages of papers: the host without decoration, then path and query. */
static void write_paper(const struct world *world, uint32_t link, char host[32], char path[96],
                        char query[32])
{
    uint32_t hash = hash_of(world, link);
    const char *section = sections[hash % 5];
    snprintf(host, 32, "paper%u.example", link % PAPERS);
    query[0] = '\0';
    if (link % 5 == 2)
        snprintf(query, 32, "id=%u", link);
    if (link % 29 == 5)
        snprintf(path, 96, "/pic/%08x.%s", hash, link % 2 == 0 ? "gif" : "jpg");
    else if (link % 11 == 3)
        snprintf(path, 96, "/wiki/%s-%08x_(tide)", section, hash);
    else if (link % 13 == 7)
        snprintf(path, 96, "/~%s/%08x", section, hash);
    else
        snprintf(path, 96, "/%s/%08x", section, hash);
}

struct decoration {
    const char *scheme, *label, *port, *path, *query_first, *query_last, *fragment;
    bool capitals, escape;
};

static const struct decoration decorations[SPELLING_COUNT] = {
    {.scheme = NULL},
    {.query_last = "utm_source=sky&utm_medium=social"},
    {.fragment = "#top"},
    {.scheme = "http"},
    {.label = "www."},
    {.port = ":443"},
    {.scheme = "http", .label = "www.", .port = ":80"},
    {.path = "/"},
    {.capitals = true},
    {.label = "m."},
    {.query_last = "fbclid=IwAR0x1&gclid=9"},
    {.query_first = "utm_campaign=a%20b"},
    {.fragment = "#:~:text=the%20tide"},
    {.label = "www.", .query_last = "utm_content=x", .fragment = "#more"},
    {.escape = true, .query_last = "mc_cid=5&mc_eid=6"},
    {.scheme = "http", .label = "WWW.", .path = "/", .query_last = "UTM_Source=Sky"},
};

static const char *or_else(const char *value, const char *otherwise)
{
    return value == NULL ? otherwise : value;
}

static void put_query(struct text *out, const char *const parts[3])
{
    char mark = '?';
    for (int i = 0; i < 3; i++) {
        if (parts[i] == NULL || parts[i][0] == '\0')
            continue;
        text_append_char(out, mark);
        text_append_string(out, parts[i]);
        mark = '&';
    }
}

static void put_path(struct text *out, const char *path, const struct decoration *how)
{
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '~' && how->escape)
            text_append_string(out, "%7e");
        else
            text_append_char(out, *c);
    }
    text_append_string(out, or_else(how->path, ""));
}

static void put_paper(const struct world *world, uint32_t link, uint32_t spelling, struct text *out)
{
    const struct decoration *how = &decorations[spelling];
    char host[32], path[96], query[32];
    write_paper(world, link, host, path, query);
    if (how->capitals)
        host[0] = 'P', host[1] = 'A';
    text_appendf(out, "%s://%s%s%s", or_else(how->scheme, "https"), or_else(how->label, ""), host,
                 or_else(how->port, ""));
    put_path(out, path, how);
    put_query(out, (const char *const[]){how->query_first, query, how->query_last});
    text_append_string(out, or_else(how->fragment, ""));
}

static void put_own(const struct world *world, uint32_t link, uint32_t spelling, struct text *out)
{
    const struct decoration *how = &decorations[spelling];
    const char *kind = block_kinds[link % BLOCK].kind;
    bool shortened = web_link_address(world, link, spelling) % 2 == 1;
    char origin[ORIGIN_SIZE];
    web_link_origin(world, web_link_article(kind, link / BLOCK), origin);
    text_appendf(out, "%s/%s/%s/%u", origin, shortened ? "s" : "web", kind, link / BLOCK);
    if (shortened)
        return;
    put_query(out, (const char *const[]){how->query_first, NULL, how->query_last});
    text_append_string(out, or_else(how->fragment, ""));
}

/* Names that mean something to whoever folds addresses. `plain` is the canonical form, `shared` how
 * people copy it; '@' stands for the page and '!' for the spelling. */
static const struct {
    const char *plain, *shared;
} named[] = {
    {"https://nytimes.com/2026/01/02/science/@.html",
     "https://www.nytimes.com/2026/01/02/science/@.html?unlocked_article_code=1.Ab!&smid=url"},
    {"https://theatlantic.com/science/archive/@",
     "https://www.theatlantic.com/science/archive/@/?gift=g!&utm_source=copy-link"},
    {"https://wsj.com/articles/@", "https://www.wsj.com/articles/@?st=s!&reflink=share"},
    {"https://paper1.example/kept/@",
     "https://web.archive.org/web/20260101000000/https://www.paper1.example/kept/@?utm_id=!"},
    {"https://paper2.example/sent/@",
     "https://www.google.com/url?q=https%3A%2F%2Fpaper2.example%2Fsent%2F@&usg=!"},
    {"https://youtube.com/watch?v=ab_@", "https://youtu.be/ab_@?si=!"},
    {"https://bsky.app/profile/sky.example/post/@",
     "https://bsky.app/profile/sky.example/post/@?utm_id=!"},
    {"https://bbc.com/news/@", "https://www.bbc.co.uk/news/@?at_link_id=!"},
};

#define NAMED_COUNT (sizeof named / sizeof named[0])
#define NAMED_SELF  6

static void put_named(const struct world *world, uint32_t link, uint32_t spelling, struct text *out)
{
    uint32_t site = link % NAMED_COUNT;
    const char *c = spelling == 0 ? named[site].plain : named[site].shared;
    for (; *c != '\0'; c++) {
        if (*c == '@')
            text_appendf(out, "%08x", hash_of(world, link));
        else if (*c == '!')
            text_appendf(out, "%u", spelling);
        else
            text_append_char(out, *c);
    }
}

void web_link_spell(const struct world *world, uint32_t link, uint32_t spelling, char out[URL_SIZE])
{
    struct text url = {0};
    enum site site = site_of(world, link);
    spelling %= SPELLING_COUNT;
    if (site == SITE_PAPER)
        put_paper(world, link, spelling, &url);
    else if (site == SITE_OWN)
        put_own(world, link, spelling, &url);
    else
        put_named(world, link, spelling, &url);
    assert(url.len > 0 && url.len < URL_SIZE);
    memcpy(out, text_string(&url), url.len + 1);
    text_free(&url);
}

void web_link_url(const struct world *world, uint32_t address, char out[URL_SIZE])
{
    web_link_spell(world, web_link_number(address), is_short(address) ? SHORT_SPELLING - 1 : 0,
                   out);
}

bool web_link_is_news(const struct world *world, uint32_t address)
{
    uint32_t link = web_link_number(address);
    switch (site_of(world, link)) {
    case SITE_PAPER:
        return link % 29 != 5;
    case SITE_NAMED:
        return link % NAMED_COUNT != NAMED_SELF;
    default:
        return true;
    }
}
