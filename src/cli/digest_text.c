/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/digest_text.h"

#include "base/markup.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TITLE_MAX 300
#define ABOUT_MAX 400
#define NAMES_MAX 5
#define HOUR_US   INT64_C(3600000000)
#define MINUTE_US INT64_C(60000000)

const char *const digest_format_names[DIGEST_FORMATS] = {"text", "markdown", "html"};

static struct bytes words_in(struct json object, const char *key)
{
    return json_string_or_absent(json_get(object, key));
}

static struct bytes title_of(struct json link)
{
    struct bytes title = words_in(link, "title");
    return utf8_cut(title.len > 0 ? title : words_in(link, "url"), TITLE_MAX);
}

/* ---- sentences ---- */

static void append_bytes(struct text *out, struct bytes bytes)
{
    text_append(out, bytes.data, bytes.len);
}

static void append_headline(const struct digest *digest, struct text *out)
{
    size_t count = json_count(json_get(digest->answer, "links"));
    int64_t hours = digest->hours;
    text_appendf(out, "What was shared in the last %" PRId64 " hour%s: %zu stor%s", hours,
                 hours == 1 ? "" : "s", count, count == 1 ? "y" : "ies");
}

/* "4 people: Ann, Bo, cy.example and 1 more; also at b.example" */
static void append_people(struct json link, struct text *out)
{
    struct json sharers = json_get(link, "sharers"), also = json_get(link, "also");
    size_t named = json_count(sharers) < NAMES_MAX ? json_count(sharers) : NAMES_MAX;
    int64_t people = 0;
    (void)json_i64(json_get(link, "shares"), &people);
    text_appendf(out, "%" PRId64 " %s: ", people, people == 1 ? "person" : "people");
    for (size_t i = 0; i < named; i++) {
        struct json who = json_at(sharers, i);
        struct bytes name = words_in(who, "displayName");
        if (name.len == 0)
            name = words_in(who, "handle");
        text_append_string(out, i > 0 ? ", " : "");
        append_bytes(out, name.len > 0 ? name : words_in(who, "did"));
    }
    if (people > (int64_t)named)
        text_appendf(out, " and %" PRId64 " more", people - (int64_t)named);
    for (size_t i = 0; i < json_count(also); i++) {
        text_append_string(out, i == 0 ? "; also at " : ", ");
        append_bytes(out, words_in(json_at(also, i), "domain"));
    }
}

static bool is_whole(const struct digest *digest, struct bytes since)
{
    int64_t us;
    return timestamp_parse(since, &us) && us <= digest->now_us - digest->hours * HOUR_US;
}

/* To the minute, and none too early: a person reads it. */
static void append_since(struct bytes since, struct text *out)
{
    char time[TIMESTAMP_TEXT_MAX];
    int64_t us;
    if (timestamp_parse(since, &us) &&
        timestamp_format((us + MINUTE_US - 1) / MINUTE_US * MINUTE_US, time))
        text_appendf(out, "; complete since %.10s %.5s UTC", time, time + 11);
}

/* What is not known to be there; "" when nothing is missing. */
static void append_missing(const struct digest *digest, struct text *out)
{
    size_t gaps = json_count(json_get(digest->answer, "gaps"));
    struct bytes since = words_in(digest->answer, "complete_since");
    bool incomplete = gaps > 0 || !is_whole(digest, since);
    if (gaps > 0)
        text_appendf(out, "%zu gap%s in this time %s still being filled", gaps,
                     gaps == 1 ? "" : "s", gaps == 1 ? "is" : "are");
    else if (incomplete)
        text_append_string(out, "Not all of this time has been read yet");
    if (incomplete)
        append_since(since, out);
    text_append_string(out, incomplete ? "." : "");
    if (json_type(json_get(digest->answer, "truncated")) != JSON_ABSENT)
        text_appendf(out,
                     "%sThere were more links than are looked at; those that the fewest people "
                     "shared are left out.",
                     incomplete ? " " : "");
}

/* ---- plain text ---- */

static void put_plain_link(struct json link, size_t number, struct text *out)
{
    struct text people = {0};
    append_people(link, &people);
    text_appendf(out, "\n%2zu. ", number);
    table_tame(out, title_of(link), 0);
    text_append_string(out, "\n    ");
    table_tame(out, words_in(link, "url"), 0);
    text_append_string(out, "\n    ");
    table_tame(out, text_bytes(&people), 0);
    text_append_char(out, '\n');
    text_free(&people);
}

static void print_plain(const struct digest *digest, struct text *out)
{
    struct json links = json_get(digest->answer, "links");
    append_headline(digest, out);
    text_append_char(out, '\n');
    for (size_t i = 0; i < json_count(links); i++)
        put_plain_link(json_at(links, i), i + 1, out);
    size_t before = out->len;
    text_append_char(out, '\n');
    append_missing(digest, out);
    if (out->len == before + 1)
        out->data[out->len = before] = '\0';
    else
        text_append_char(out, '\n');
}

/* ---- Markdown ---- */

/* Every sign that could mean something means itself. */
static void append_escaped(struct text *out, struct bytes words)
{
    for (size_t i = 0; i < words.len; i++) {
        unsigned char c = (unsigned char)words.data[i];
        if (c < 0x20 || c == 0x7f)
            text_append_char(out, ' ');
        else if (strchr("\\`*_{}[]()<>#+-.!|~&", c) != NULL)
            text_append(out, (char[]){'\\', (char)c}, 2);
        else
            text_append_char(out, (char)c);
    }
}

static void append_target(struct text *out, struct bytes url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.data[i];
        if (c <= 0x20 || c == '<' || c == '>' || c == '\\' || c == 0x7f)
            text_appendf(out, "%%%02X", c);
        else
            text_append_char(out, (char)c);
    }
}

static bool is_web(struct bytes url)
{
    return bytes_starts_with(url, "https://") || bytes_starts_with(url, "http://");
}

static void print_markdown(const struct digest *digest, struct text *out)
{
    struct json links = json_get(digest->answer, "links");
    struct text words = {0};
    text_append_string(out, "# ");
    append_headline(digest, out);
    text_append_string(out, "\n\n");
    for (size_t i = 0; i < json_count(links); i++) {
        struct json link = json_at(links, i);
        bool web = is_web(words_in(link, "url"));
        text_appendf(out, "%zu. %s", i + 1, web ? "[" : "");
        append_escaped(out, title_of(link));
        if (web) {
            text_append_string(out, "](<");
            append_target(out, words_in(link, "url"));
            text_append_string(out, ">)");
        }
        text_append_string(out, "  \n   ");
        text_clear(&words);
        append_people(link, &words);
        append_escaped(out, text_bytes(&words));
        text_append_char(out, '\n');
    }
    text_clear(&words);
    append_missing(digest, &words);
    if (words.len > 0) {
        text_append_char(out, '\n');
        append_escaped(out, text_bytes(&words));
        text_append_char(out, '\n');
    }
    text_free(&words);
}

/* ---- HTML ---- */

static void put_html_link(struct markup *html, struct json link)
{
    struct text people = {0};
    struct bytes about = words_in(link, "description");
    append_people(link, &people);
    markup_begin(html, "li");
    markup_begin(html, "p");
    markup_begin(html, "a");
    (void)markup_attr_url(html, "href", words_in(link, "url"));
    markup_stranger(html, title_of(link), TITLE_MAX);
    markup_end(html, "a");
    markup_end(html, "p");
    if (about.len > 0) {
        markup_begin(html, "p");
        markup_stranger(html, about, ABOUT_MAX);
        markup_end(html, "p");
    }
    markup_begin(html, "p");
    markup_stranger(html, text_bytes(&people), people.len);
    markup_end(html, "p");
    markup_end(html, "li");
    text_free(&people);
}

static void print_html(const struct digest *digest, struct text *out)
{
    struct json links = json_get(digest->answer, "links");
    struct text words = {0};
    struct markup html;
    append_headline(digest, &words);
    markup_init(&html, out, MARKUP_HTML);
    markup_begin(&html, "html");
    markup_attr_string(&html, "lang", "en");
    markup_begin(&html, "head");
    markup_begin(&html, "meta");
    markup_attr_string(&html, "charset", "utf-8");
    markup_end(&html, "meta");
    markup_leaf(&html, "title", text_string(&words));
    markup_end(&html, "head");
    markup_begin(&html, "body");
    markup_leaf(&html, "h1", text_string(&words));
    markup_begin(&html, "ol");
    for (size_t i = 0; i < json_count(links); i++)
        put_html_link(&html, json_at(links, i));
    markup_end(&html, "ol");
    text_clear(&words);
    append_missing(digest, &words);
    if (words.len > 0)
        markup_leaf(&html, "p", text_string(&words));
    markup_end(&html, "body");
    markup_end(&html, "html");
    text_append_char(out, '\n');
    text_free(&words);
}

void digest_print(const struct digest *digest, enum digest_format format, struct text *out)
{
    static void (*const print[DIGEST_FORMATS])(const struct digest *, struct text *) = {
        print_plain, print_markdown, print_html};
    print[format](digest, out);
}
