/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/utf8.h"
#include "serve/link_parts.h"
#include "serve/news_page.h"
#include "serve/page_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TITLE_MAX  300
#define ABOUT_MAX  400
#define PERSON_MAX 60
#define POST_MAX   700
#define NAMES_MAX  3
#define HUES       8

/* ---- people ---- */

static struct bytes name_of(struct json person)
{
    static const char *const keys[] = {"displayName", "handle", "did"};
    for (size_t i = 0; i < 3; i++) {
        struct bytes name = json_string_or_absent(json_get(person, keys[i]));
        if (name.len > 0)
            return name;
    }
    return bytes_of("somebody");
}

/* A colour and the first letter, which the portrait covers where it can be had. */
static void put_face(struct markup *page, const struct news_question *question, struct json person)
{
    struct bytes did = json_string_or_absent(json_get(person, "did")), name = name_of(person);
    size_t bad, len = name.len > 0 && (unsigned char)name.data[0] >= 0x80
                          ? utf8_sequence((const unsigned char *)name.data, name.len, &bad)
                          : 1;
    char class_name[16];
    snprintf(class_name, sizeof class_name, "face hue-%u", (unsigned)(hash_bytes(did, 0) % HUES));
    markup_begin_class(page, "span", class_name);
    markup_attr_string(page, "aria-hidden", "true");
    const struct page_picture portrait = {.class_name = "portrait",
                                          .owner = did,
                                          .url = json_string_or_absent(json_get(person, "avatar")),
                                          .stead = bytes_make(name.data, len),
                                          .width = 24,
                                          .height = 24};
    markup_text(page, portrait.stead);
    if (question->pictures)
        page_put_picture(page, &portrait);
    markup_end(page, "span");
}

static void put_author(struct markup *page, const struct news_question *question,
                       struct json person)
{
    struct news_question theirs = *question;
    struct text address = {0};
    struct bytes did = json_string_or_absent(json_get(person, "did"));
    if (did.len < sizeof theirs.links.author)
        snprintf(theirs.links.author, sizeof theirs.links.author, "%.*s", (int)did.len, did.data);
    theirs.links.q[0] = theirs.links.domain[0] = '\0';
    news_question_print(&theirs, "/", &address);
    markup_begin_class(page, "a", "person");
    markup_attr(page, "href", text_bytes(&address));
    markup_attr(page, "data-did", did);
    struct bytes handle = json_string_or_absent(json_get(person, "handle"));
    if (handle.len > 0)
        markup_attr(page, "title", handle);
    markup_stranger(page, name_of(person), PERSON_MAX);
    markup_end(page, "a");
    text_free(&address);
}

static void put_sharers(struct markup *page, const struct news_question *question, struct json link)
{
    struct json sharers = json_get(link, "sharers");
    size_t count = json_count(sharers);
    int64_t people = 0;
    (void)json_i64(json_get(link, "shares"), &people);
    markup_begin_class(page, "p", "sharers");
    markup_begin_class(page, "span", "faces");
    for (size_t i = 0; i < count && i < NEWS_PAGE_FACES; i++)
        put_face(page, question, json_at(sharers, i));
    markup_end(page, "span");
    markup_begin_class(page, "span", "names");
    size_t named = count < NAMES_MAX ? count : NAMES_MAX;
    for (size_t i = 0; i < named; i++) {
        if (i > 0)
            markup_string(page, ", ");
        put_author(page, question, json_at(sharers, i));
    }
    if (people > (int64_t)named)
        markup_textf(page, " and %" PRId64 " more", people - (int64_t)named);
    markup_end(page, "span");
    markup_end(page, "p");
}

/* ---- what they said ---- */

/* at://DID/app.bsky.feed.post/KEY, where people look at it. */
static bool append_post_address(struct bytes uri, struct text *out)
{
    static const char collection[] = "/app.bsky.feed.post/";
    if (!bytes_starts_with(uri, "at://"))
        return false;
    const char *did = uri.data + strlen("at://");
    const char *slash = memchr(did, '/', uri.len - 5);
    size_t left = slash == NULL ? 0 : (size_t)(uri.data + uri.len - slash);
    size_t prefix = sizeof collection - 1;
    if (left <= prefix || memcmp(slash, collection, prefix) != 0)
        return false;
    text_appendf(out, "https://bsky.app/profile/%.*s/post/%.*s", (int)(slash - did), did,
                 (int)(left - prefix), slash + prefix);
    return true;
}

static const char *deed_of(struct json post)
{
    struct bytes via = json_string_or_absent(json_get(post, "via"));
    if (bytes_equal_string(via, "repost"))
        return "reposted it";
    return bytes_equal_string(via, "quote") ? "quoted it" : "wrote";
}

static void put_post_time(struct markup *page, struct json post, int64_t now_us)
{
    struct text address = {0};
    struct bytes at = json_string_or_absent(json_get(post, "shared_at"));
    bool known = append_post_address(json_string_or_absent(json_get(post, "uri")), &address);
    markup_begin_class(page, known ? "a" : "span", "when");
    if (known) {
        markup_attr_url(page, "href", text_bytes(&address));
        markup_attr_string(page, "rel", "noopener noreferrer");
    }
    page_put_age(page, at, now_us);
    markup_end(page, known ? "a" : "span");
    text_free(&address);
}

void news_post_print(struct markup *page, const struct news_question *question, struct json post)
{
    struct bytes words = json_string_or_absent(json_get(post, "text"));
    markup_begin_class(page, "li", "post");
    markup_begin_class(page, "p", "by");
    put_face(page, question, post);
    put_author(page, question, post);
    markup_textf(page, " %s ", deed_of(post));
    put_post_time(page, post, question->links.now_us);
    markup_end(page, "p");
    if (words.len > 0) {
        markup_begin_class(page, "p", "words");
        markup_stranger(page, words, POST_MAX);
        markup_end(page, "p");
    }
    markup_end(page, "li");
}

static void put_all_posts(struct markup *page, struct bytes id)
{
    struct text address = {0};
    text_appendf(&address, "/links/%.*s", (int)id.len, id.data);
    markup_begin_class(page, "p", "all");
    markup_begin(page, "a");
    markup_attr(page, "href", text_bytes(&address));
    markup_string(page, "All posts");
    markup_end(page, "a");
    markup_end(page, "p");
    text_free(&address);
}

static void put_more(struct markup *page, const struct news_question *question, struct json link)
{
    struct json posts = json_get(link, "posts");
    size_t count = json_count(posts);
    markup_begin_class(page, "details", "more");
    markup_begin(page, "summary");
    markup_string(page, count > 0 ? "What they said \xc2\xb7 why it is here" : "Why it is here");
    markup_end(page, "summary");
    markup_begin_class(page, "p", "why");
    markup_text(page, json_string_or_absent(json_get(link, "why")));
    markup_end(page, "p");
    if (count > 0)
        markup_begin_class(page, "ul", "posts");
    for (size_t i = 0; i < count; i++)
        news_post_print(page, question, json_at(posts, i));
    if (count > 0)
        markup_end(page, "ul");
    put_all_posts(page, json_string_or_absent(json_get(link, "id")));
    markup_end(page, "details");
}

/* ---- the link itself ---- */

static void put_source(struct markup *page, const struct news_question *question, struct json link)
{
    struct news_question site = *question;
    struct bytes domain = json_string_or_absent(json_get(link, "domain"));
    struct text address = {0};
    markup_begin_class(page, "p", "source");
    if (domain.len > 0 && domain.len < sizeof site.links.domain) {
        snprintf(site.links.domain, sizeof site.links.domain, "%.*s", (int)domain.len, domain.data);
        site.links.q[0] = site.links.author[0] = '\0';
        news_question_print(&site, "/", &address);
        markup_begin_class(page, "a", "site");
        markup_attr(page, "href", text_bytes(&address));
        markup_stranger(page, domain, TITLE_MAX);
        markup_end(page, "a");
    }
    markup_begin_class(page, "span", "first");
    markup_string(page, "first seen ");
    page_put_age(page, json_string_or_absent(json_get(link, "first_shared_at")),
                 question->links.now_us);
    markup_end(page, "span");
    markup_end(page, "p");
    text_free(&address);
}

static void put_count(struct markup *page, int64_t people)
{
    markup_begin_class(page, "p", "count");
    markup_begin(page, "b");
    markup_textf(page, "%" PRId64, people);
    markup_end(page, "b");
    markup_string(page, " ");
    markup_leaf(page, "span", page_plural(people, "person", "people"));
    markup_end(page, "p");
}

/* The same story elsewhere. */
static void put_others(struct markup *page, struct json link)
{
    struct json_walk walk = json_walk(json_get(link, "also"));
    struct bytes key;
    struct json other;
    bool first = true;
    while (json_walk_next(&walk, &key, &other)) {
        struct bytes domain = json_string_or_absent(json_get(other, "domain"));
        struct bytes title = json_string_or_absent(json_get(other, "title"));
        int64_t people = 0;
        (void)json_i64(json_get(other, "shares"), &people);
        if (first)
            markup_begin_class(page, "p", "also");
        markup_string(page, first ? "also at " : ", ");
        markup_begin(page, "a");
        if (markup_attr_url(page, "href", json_string_or_absent(json_get(other, "url"))))
            markup_attr_string(page, "rel", "noopener noreferrer ugc");
        markup_attr(page, "title", title);
        markup_stranger(page, domain, TITLE_MAX);
        markup_end(page, "a");
        markup_textf(page, " (%" PRId64 ")", people);
        first = false;
    }
    if (!first)
        markup_end(page, "p");
}

void news_item_print(struct markup *page, const struct news_question *question, struct json link,
                     size_t rank)
{
    struct bytes id = json_string_or_absent(json_get(link, "id"));
    struct bytes about = json_string_or_absent(json_get(link, "description"));
    int64_t people = 0;
    (void)json_i64(json_get(link, "shares"), &people);
    markup_begin(page, "li");
    markup_begin_class(page, "article",
                       link_has_picture(question, link) ? "link pictured" : "link");
    markup_attr(page, "data-id", id);
    markup_attr_i64(page, "data-rank", (int64_t)rank);
    markup_attr(page, "data-first", json_string_or_absent(json_get(link, "first_shared_at")));
    put_count(page, people);
    markup_begin_class(page, "div", "body");
    link_put_title(page, "h2", link);
    link_put_address(page, link);
    put_source(page, question, link);
    if (about.len > 0) {
        markup_begin_class(page, "p", "about");
        markup_stranger(page, about, ABOUT_MAX);
        markup_end(page, "p");
    }
    put_others(page, link);
    put_sharers(page, question, link);
    put_more(page, question, link);
    markup_end(page, "div");
    link_put_picture(page, question, link);
    markup_end(page, "article");
    markup_end(page, "li");
}
