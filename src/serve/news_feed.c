/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/news_feed.h"

#include "base/json_write.h"
#include "base/markup.h"
#include "base/timestamp.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY_US    INT64_C(86400000000)
#define TITLE_MAX 300
#define NAMES_MAX 5

/* ---- words of an item ---- */

static struct bytes string_in(struct json object, const char *key)
{
    return json_string_or_absent(json_get(object, key));
}

/* Of a story the article that was known first: which one leads changes with every share, and what
 * has another name is news to a reader once more. */
static void append_guid(struct json link, struct text *out)
{
    struct json also = json_get(link, "also");
    int64_t first = INT64_MAX, id = 0;
    for (size_t i = 0; i <= json_count(also); i++) {
        struct json article = i == 0 ? link : json_at(also, i - 1);
        if (bytes_to_i64(string_in(article, "id"), &id) && id < first)
            first = id;
    }
    text_appendf(out, "tidemark:link:%" PRId64, first);
}

static void append_title(struct json link, struct text *out)
{
    struct bytes title = string_in(link, "title");
    struct bytes whole = title.len > 0 ? title : string_in(link, "url");
    struct bytes shown = utf8_cut(whole, TITLE_MAX);
    text_append(out, shown.data, shown.len);
    if (shown.len < whole.len)
        text_append_string(out, "\xe2\x80\xa6");
}

static void append_people(struct json link, struct text *out)
{
    struct json sharers = json_get(link, "sharers");
    int64_t people = 0;
    size_t named = json_count(sharers) < NAMES_MAX ? json_count(sharers) : NAMES_MAX;
    (void)json_i64(json_get(link, "shares"), &people);
    text_append_string(out, "Shared by ");
    for (size_t i = 0; i < named; i++) {
        struct json who = json_at(sharers, i);
        struct bytes name = string_in(who, "displayName");
        if (name.len == 0)
            name = string_in(who, "handle");
        if (name.len == 0)
            name = string_in(who, "did");
        text_append_string(out, i > 0 ? ", " : "");
        text_append(out, name.data, name.len);
    }
    if (people > (int64_t)named)
        text_appendf(out, "%s%" PRId64 " more", named > 0 ? " and " : "", people - (int64_t)named);
    text_append_char(out, '.');
}

static void put_paragraph(struct markup *html, struct bytes words)
{
    if (words.len == 0)
        return;
    markup_begin(html, "p");
    markup_text(html, words);
    markup_end(html, "p");
}

/* The other articles of the story: no item of the feed is about them. */
static void put_others(struct markup *html, struct json link)
{
    struct json also = json_get(link, "also");
    size_t count = json_count(also);
    if (count == 0)
        return;
    markup_begin(html, "p");
    for (size_t i = 0; i < count; i++) {
        struct json other = json_at(also, i);
        struct bytes domain = string_in(other, "domain"), url = string_in(other, "url");
        int64_t people = 0;
        (void)json_i64(json_get(other, "shares"), &people);
        markup_string(html, i == 0 ? "Also at " : ", ");
        markup_begin(html, "a");
        (void)markup_attr_url(html, "href", url);
        markup_attr(html, "title", string_in(other, "title"));
        markup_stranger(html, domain.len > 0 ? domain : url, TITLE_MAX);
        markup_end(html, "a");
        markup_textf(html, " (%" PRId64 ")", people);
    }
    markup_string(html, ".");
    markup_end(html, "p");
}

/* Paragraphs of HTML: what the article says of itself, who shared it, who else tells it, and why it
 * is here. */
static void append_html(struct json link, struct text *out)
{
    struct text people = {0};
    struct markup html;
    markup_init_part(&html, out, MARKUP_HTML);
    append_people(link, &people);
    put_paragraph(&html, string_in(link, "description"));
    put_paragraph(&html, text_bytes(&people));
    put_others(&html, link);
    put_paragraph(&html, string_in(link, "why"));
    text_free(&people);
}

static void append_address(const struct news_feed *feed, const char *path, struct text *out)
{
    text_append_string(out, feed->origin);
    news_question_print(feed->question, path, out);
}

static void append_name(const struct news_feed *feed, struct text *out)
{
    const struct trending_request *links = &feed->question->links;
    text_append_string(out, "Tidemark: what is shared");
    if (links->author[0] != '\0')
        text_appendf(out, " by %s", links->author);
    if (links->domain[0] != '\0')
        text_appendf(out, " of %s", links->domain);
    if (links->q[0] != '\0')
        text_appendf(out, " about %s", links->q);
    text_appendf(out, " (%" PRId64 " h, %s)", links->hours, news_sort_name(links->sort));
}

/* ---- RSS ---- */

/* "Tue, 11 Aug 2026 09:00:00 GMT", as RFC 822 with a year of four digits wants it. */
static bool append_date(struct bytes time, struct text *out)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[TIMESTAMP_TEXT_MAX];
    int64_t us;
    uint64_t month;
    if (!timestamp_parse(time, &us) || us < 0 || !timestamp_format(us, text) ||
        !bytes_to_u64(bytes_make(text + 5, 2), &month))
        return false;
    text_appendf(out, "%s, %.2s %s %.4s %.8s GMT", days[us / DAY_US % 7], text + 8,
                 months[month - 1], text, text + 11);
    return true;
}

static void put_filled(struct markup *rss, const char *name, struct text *text)
{
    markup_begin(rss, name);
    markup_text(rss, text_bytes(text));
    markup_end(rss, name);
    text_clear(text);
}

static void put_item(struct markup *rss, struct json link)
{
    struct text words = {0};
    struct bytes url = string_in(link, "url");
    markup_begin(rss, "item");
    append_title(link, &words);
    put_filled(rss, "title", &words);
    text_append(&words, url.data, url.len);
    put_filled(rss, "link", &words);
    markup_begin(rss, "guid");
    markup_attr_string(rss, "isPermaLink", "false");
    append_guid(link, &words);
    markup_text(rss, text_bytes(&words));
    text_clear(&words);
    markup_end(rss, "guid");
    if (append_date(string_in(link, "first_shared_at"), &words))
        put_filled(rss, "pubDate", &words);
    append_html(link, &words);
    put_filled(rss, "description", &words);
    markup_end(rss, "item");
    text_free(&words);
}

void news_feed_print_rss(const struct news_feed *feed, struct text *out)
{
    struct json_walk walk = json_walk(json_get(feed->answer, "links"));
    struct text words = {0};
    struct bytes key;
    struct json link;
    struct markup rss;
    markup_init(&rss, out, MARKUP_XML);
    markup_begin(&rss, "rss");
    markup_attr_string(&rss, "version", "2.0");
    markup_attr_string(&rss, "xmlns:atom", "http://www.w3.org/2005/Atom");
    markup_begin(&rss, "channel");
    append_name(feed, &words);
    put_filled(&rss, "title", &words);
    append_address(feed, "/", &words);
    put_filled(&rss, "link", &words);
    markup_leaf(&rss, "description", "The links that the people you follow share, ranked.");
    append_address(feed, "/feed.xml", &words);
    markup_begin(&rss, "atom:link");
    markup_attr_string(&rss, "rel", "self");
    markup_attr_string(&rss, "type", "application/rss+xml");
    markup_attr(&rss, "href", text_bytes(&words));
    markup_end(&rss, "atom:link");
    while (json_walk_next(&walk, &key, &link))
        put_item(&rss, link);
    markup_end(&rss, "channel");
    markup_end(&rss, "rss");
    text_append_char(out, '\n');
    text_free(&words);
}

/* ---- JSON Feed ---- */

static void put_text(struct json_writer *json, const char *key, struct text *text)
{
    json_key(json, key);
    json_put_string(json, bytes_make(text_string(text), text->len));
    text_clear(text);
}

static void put_entry(struct json_writer *json, struct json link)
{
    struct text words = {0};
    json_begin_object(json);
    append_guid(link, &words);
    put_text(json, "id", &words);
    json_key(json, "url");
    json_put_string(json, string_in(link, "url"));
    append_title(link, &words);
    put_text(json, "title", &words);
    append_html(link, &words);
    put_text(json, "content_html", &words);
    json_key(json, "date_published");
    json_put_string(json, string_in(link, "first_shared_at"));
    json_end_object(json);
    text_free(&words);
}

void news_feed_print_json(const struct news_feed *feed, struct text *out)
{
    struct json_walk walk = json_walk(json_get(feed->answer, "links"));
    struct text words = {0};
    struct bytes key;
    struct json link;
    struct json_writer json;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, "version");
    json_put_cstring(&json, "https://jsonfeed.org/version/1.1");
    append_name(feed, &words);
    put_text(&json, "title", &words);
    append_address(feed, "/", &words);
    put_text(&json, "home_page_url", &words);
    append_address(feed, "/feed.json", &words);
    put_text(&json, "feed_url", &words);
    json_key(&json, "items");
    json_begin_array(&json);
    while (json_walk_next(&walk, &key, &link))
        put_entry(&json, link);
    json_end_array(&json);
    json_end_object(&json);
    text_append_char(out, '\n');
    text_free(&words);
}
