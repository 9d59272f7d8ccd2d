/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/news_page.h"

#include "base/timestamp.h"
#include "serve/page_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR_US     INT64_C(3600000000)
#define AWAY_US_MAX INT64_C(30000000) /* a connection that comes back at once is no news */
#define Q_SHOWN     120

struct choice {
    int64_t value;
    const char *words, *spoken;
};

static const struct choice windows[] = {
    {1, "1 h", "last hour"},    {6, "6 h", "last 6 hours"},  {24, "24 h", "last 24 hours"},
    {72, "3 d", "last 3 days"}, {168, "7 d", "last 7 days"}, {720, "30 d", "last 30 days"},
};
static const struct choice sorts[] = {
    {TRENDING_SHARES, "Most shared", NULL},
    {TRENDING_VELOCITY, "Rising", NULL},
    {TRENDING_RECENT, "Newest", NULL},
};
static const struct choice least[] = {
    {1, "1", NULL}, {2, "2", NULL}, {3, "3", NULL}, {5, "5", NULL}, {10, "10", NULL},
};
static const struct choice degrees[] = {
    {1, "whom I follow", NULL},
    {2, "and whom they follow", NULL},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- the controls ---- */

static void begin_view(struct markup *page, const struct news_question *question)
{
    struct text address = {0};
    news_question_print(question, "/", &address);
    markup_begin(page, "a");
    markup_attr(page, "href", text_bytes(&address));
    text_free(&address);
}

static void put_windows(struct markup *page, const struct news_question *question)
{
    markup_begin_class(page, "nav", "choices");
    markup_attr_string(page, "aria-label", "Time");
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct news_question other = *question;
        other.links.hours = windows[i].value;
        begin_view(page, &other);
        markup_attr_string(page, "title", windows[i].spoken);
        if (windows[i].value == question->links.hours)
            markup_attr_string(page, "aria-current", "true");
        markup_string(page, windows[i].words);
        markup_end(page, "a");
    }
    markup_end(page, "nav");
}

static void put_sorts(struct markup *page, const struct news_question *question)
{
    markup_begin_class(page, "nav", "choices");
    markup_attr_string(page, "aria-label", "Order");
    for (size_t i = 0; i < COUNT_OF(sorts); i++) {
        struct news_question other = *question;
        other.links.sort = (enum trending_sort)sorts[i].value;
        begin_view(page, &other);
        if (other.links.sort == question->links.sort)
            markup_attr_string(page, "aria-current", "true");
        markup_string(page, sorts[i].words);
        markup_end(page, "a");
    }
    markup_end(page, "nav");
}

static void put_hidden(struct markup *page, const char *name, const char *value)
{
    markup_begin(page, "input");
    markup_attr_string(page, "type", "hidden");
    markup_attr_string(page, "name", name);
    markup_attr_string(page, "value", value);
    markup_end(page, "input");
}

static void put_select(struct markup *page, const char *label, const char *name, int64_t chosen,
                       const struct choice *choices, size_t count)
{
    bool listed = false;
    markup_begin(page, "label");
    markup_string(page, label);
    markup_string(page, " ");
    markup_begin(page, "select");
    markup_attr_string(page, "name", name);
    for (size_t i = 0; i < count; i++) {
        markup_begin(page, "option");
        markup_attr_i64(page, "value", choices[i].value);
        markup_attr_flag(page, "selected", choices[i].value == chosen);
        markup_string(page, choices[i].words);
        markup_end(page, "option");
        listed = listed || choices[i].value == chosen;
    }
    if (!listed) {
        markup_begin(page, "option");
        markup_attr_i64(page, "value", chosen);
        markup_attr_flag(page, "selected", true);
        markup_textf(page, "%" PRId64, chosen);
        markup_end(page, "option");
    }
    markup_end(page, "select");
    markup_end(page, "label");
}

static void put_button(struct markup *page, const char *words)
{
    markup_begin(page, "button");
    markup_attr_string(page, "type", "submit");
    markup_string(page, words);
    markup_end(page, "button");
}

static void put_layout(struct markup *page, bool dense)
{
    markup_begin(page, "label");
    markup_begin(page, "input");
    markup_attr_string(page, "type", "checkbox");
    markup_attr_string(page, "name", "layout");
    markup_attr_string(page, "value", "dense");
    markup_attr_flag(page, "checked", dense);
    markup_end(page, "input");
    markup_string(page, " dense list");
    markup_end(page, "label");
}

static void put_filters(struct markup *page, const struct news_question *question)
{
    const struct trending_request *links = &question->links;
    bool unusual = links->min_shares > 1 || links->degree > 1 || question->dense;
    markup_begin_class(page, "details", "filters");
    markup_attr_flag(page, "open", unusual);
    markup_leaf(page, "summary", "Filters");
    markup_begin_class(page, "div", "fields");
    put_select(page, "shared by at least", "min_shares", links->min_shares, least, COUNT_OF(least));
    put_select(page, "people", "degree", links->degree, degrees, COUNT_OF(degrees));
    put_layout(page, question->dense);
    put_button(page, "Apply");
    markup_end(page, "div");
    markup_end(page, "details");
}

static void put_form(struct markup *page, const struct news_question *question)
{
    const struct trending_request *links = &question->links;
    char hours[24];
    snprintf(hours, sizeof hours, "%" PRId64, links->hours);
    markup_begin_class(page, "form", "ask");
    markup_attr_string(page, "action", "/");
    markup_attr_string(page, "role", "search");
    put_hidden(page, "hours", hours);
    put_hidden(page, "sort", news_sort_name(links->sort));
    if (links->domain[0] != '\0')
        put_hidden(page, "domain", links->domain);
    if (links->author[0] != '\0')
        put_hidden(page, "author", links->author);
    if (question->only != 0)
        put_hidden(page, "show", news_only_name(question->only));
    markup_begin_class(page, "div", "search");
    markup_begin(page, "input");
    markup_attr_string(page, "type", "search");
    markup_attr_string(page, "name", "q");
    markup_attr_string(page, "value", links->q);
    markup_attr_string(page, "placeholder", "Search titles and sites");
    markup_attr_string(page, "aria-label", "Search titles and sites");
    markup_attr_i64(page, "maxlength", TRENDING_Q_MAX - 1);
    markup_end(page, "input");
    put_button(page, "Search");
    markup_end(page, "div");
    put_filters(page, question);
    markup_end(page, "form");
}

/* ---- what is seen ---- */

/* The person's name, as the answer knows it; else as it was asked for. */
static struct bytes author_name(struct json answer, const char *author)
{
    struct json links = json_get(answer, "links");
    for (size_t i = 0; i < json_count(links); i++) {
        struct json sharers = json_get(json_at(links, i), "sharers");
        for (size_t k = 0; k < json_count(sharers); k++) {
            struct json who = json_at(sharers, k);
            struct bytes name = json_string_or_absent(json_get(who, "displayName"));
            struct bytes handle = json_string_or_absent(json_get(who, "handle"));
            if (!bytes_equal_string(json_string_or_absent(json_get(who, "did")), author) &&
                !bytes_equal_string(handle, author))
                continue;
            return name.len > 0 ? name : handle.len > 0 ? handle : bytes_of(author);
        }
    }
    return bytes_of(author);
}

static void put_without(struct markup *page, const struct news_question *question, size_t offset,
                        const char *words)
{
    struct news_question other = *question;
    ((char *)&other.links)[offset] = '\0';
    begin_view(page, &other);
    markup_attr_string(page, "class", "without");
    markup_string(page, words);
    markup_end(page, "a");
}

static void put_headline(struct markup *page, const struct news_page *news)
{
    const struct news_question *question = news->question;
    const struct trending_request *links = &question->links;
    markup_begin_class(page, "div", "headline");
    markup_begin(page, "h1");
    if (links->author[0] != '\0') {
        markup_string(page, "Shared by ");
        markup_stranger(page, author_name(news->answer, links->author), Q_SHOWN);
    } else if (links->domain[0] != '\0') {
        markup_stranger(page, bytes_of(links->domain), Q_SHOWN);
    } else {
        markup_string(page, "What is shared");
    }
    if (links->q[0] != '\0') {
        markup_string(page, ": \xe2\x80\x9c");
        markup_stranger(page, bytes_of(links->q), Q_SHOWN);
        markup_string(page, "\xe2\x80\x9d");
    }
    markup_end(page, "h1");
    if (links->author[0] != '\0')
        put_without(page, question, offsetof(struct trending_request, author), "by anybody");
    if (links->domain[0] != '\0')
        put_without(page, question, offsetof(struct trending_request, domain), "all sites");
    if (links->q[0] != '\0')
        put_without(page, question, offsetof(struct trending_request, q), "all words");
    markup_end(page, "div");
}

/* ---- how far it can be trusted ---- */

static bool begins_within(struct bytes time, const struct trending_request *links)
{
    int64_t us;
    return timestamp_parse(time, &us) && us > links->now_us - links->hours * HOUR_US;
}

/* Up to when anything could be heard. */
static void put_until(struct markup *page, int64_t heard_us, int64_t now_us)
{
    char time[TIMESTAMP_TEXT_MAX];
    if (!timestamp_format(heard_us, time))
        return;
    markup_string(page, " until ");
    page_put_clock(page, bytes_of(time), now_us);
    markup_string(page, "; nothing new has been heard since");
}

/* Who reads nothing misses everything: no word of completeness. */
static void put_turned_off(struct markup *page)
{
    markup_begin_class(page, "p", "standing");
    markup_attr_string(page, "role", "status");
    markup_string(page, "News are turned off: nothing new is read.");
    markup_end(page, "p");
}

static void put_completeness(struct markup *page, const struct news_page *news)
{
    const struct trending_request *links = &news->question->links;
    struct bytes since = json_string_or_absent(json_get(news->answer, "complete_since"));
    size_t gaps = json_count(json_get(news->answer, "gaps"));
    int64_t left = news->health == NULL ? 0 : news->health->backfill_queue_depth;
    int64_t away_us = news->health == NULL ? 0 : news->health->away_us;
    bool troubled = news->health != NULL && news->health->reason_count > 0;
    bool away = away_us > AWAY_US_MAX, whole = !begins_within(since, links);
    bool good = whole && gaps == 0 && left == 0 && !away && !troubled;
    markup_begin_class(page, "p", good ? "standing good" : "standing");
    markup_attr_string(page, "role", "status");
    markup_string(page, troubled || left > 0 ? "What was read is complete " : "Complete ");
    if (whole) {
        markup_string(page, "for all of this time");
    } else {
        markup_string(page, "since ");
        page_put_clock(page, since, links->now_us);
    }
    if (away)
        put_until(page, links->now_us - away_us, links->now_us);
    if (gaps > 0)
        markup_textf(page, "; %zu %s being filled", gaps,
                     page_plural((int64_t)gaps, "gap is", "gaps are"));
    if (left > 0)
        markup_textf(page, "; the histories of %" PRId64 " %s are being read", left,
                     page_plural(left, "account", "accounts"));
    markup_string(page, ".");
    if (json_type(json_get(news->answer, "truncated")) != JSON_ABSENT)
        markup_textf(page,
                     " Of all links the %zu most shared were looked at; a shorter time or a site "
                     "leaves fewer.",
                     links->walk_max);
    markup_end(page, "p");
}

static void put_troubles(struct markup *page, const struct health_view *health)
{
    if (health == NULL || health->reason_count == 0)
        return;
    markup_begin_class(page, "div", "notice");
    markup_attr_string(page, "role", "alert");
    markup_leaf(page, "p", "This page may be behind:");
    markup_begin(page, "ul");
    for (size_t i = 0; i < health->reason_count; i++) {
        markup_begin(page, "li");
        markup_stranger(page, bytes_of(health->reasons[i]), HEALTH_REASON_TEXT_MAX);
        markup_end(page, "li");
    }
    markup_end(page, "ul");
    markup_end(page, "div");
}

/* ---- nothing to see ---- */

static void put_way_out(struct markup *page, const struct news_question *question,
                        const char *words)
{
    markup_begin(page, "li");
    begin_view(page, question);
    markup_string(page, words);
    markup_end(page, "a");
    markup_end(page, "li");
}

static bool is_narrow(const struct news_question *question)
{
    const struct trending_request *links = &question->links;
    return links->q[0] != '\0' || links->domain[0] != '\0' || links->author[0] != '\0';
}

static void put_ways_out(struct markup *page, const struct news_question *question)
{
    struct news_question wider = *question, loose = *question, all = *question;
    wider.links.hours = question->links.hours < 24 ? 24 : 720;
    loose.links.min_shares = 1;
    all.links.q[0] = all.links.domain[0] = all.links.author[0] = '\0';
    markup_begin(page, "ul");
    if (wider.links.hours > question->links.hours)
        put_way_out(page, &wider,
                    wider.links.hours == 24 ? "Look at the last 24 hours"
                                            : "Look at the last 30 days");
    if (question->links.min_shares > 1)
        put_way_out(page, &loose, "Show what only one person shared, too");
    if (is_narrow(question))
        put_way_out(page, &all, "Show everything that was shared");
    markup_end(page, "ul");
}

static void put_advice(struct markup *page, const char *before, const char *setting,
                       const char *after)
{
    markup_begin(page, "p");
    markup_string(page, before);
    markup_leaf(page, "code", setting);
    markup_string(page, after);
    markup_end(page, "p");
}

static void put_empty(struct markup *page, const struct news_page *news)
{
    bool narrow = is_narrow(news->question);
    markup_begin_class(page, "div", "empty");
    if (news->turned_off && !narrow) {
        markup_leaf(page, "p", "News are turned off, so none are read.");
        put_advice(page, "Change ", "bluesky.mode", " and start the daemon again.");
    } else if (!news->follows_anybody && !narrow) {
        markup_leaf(page, "p",
                    "No account is configured yet, so nobody\xe2\x80\x99s follows are read.");
        put_advice(page, "Name one in ", "bluesky.actors", " and start the daemon again.");
    } else if (news->health != NULL && news->health->backfill_queue_depth > 0) {
        markup_leaf(page, "p", "Nothing yet: the histories of the accounts are still being read.");
    } else {
        markup_leaf(page, "p", "Nobody has shared a link that fits this view.");
    }
    put_ways_out(page, news->question);
    markup_end(page, "div");
}

/* ---- the whole ---- */

/* Those that are told with another one, too. */
static int64_t count_articles(struct json links)
{
    size_t count = json_count(links);
    for (size_t i = 0; i < json_count(links); i++)
        count += json_count(json_get(json_at(links, i), "also"));
    return (int64_t)count;
}

static void put_links(struct markup *page, const struct news_page *news)
{
    struct json links = json_get(news->answer, "links");
    size_t count = json_count(links);
    if (count == 0) {
        put_empty(page, news);
        return;
    }
    markup_begin_class(page, "ol", "links");
    for (size_t i = 0; i < count; i++)
        news_item_print(page, news->question, json_at(links, i), i + 1);
    markup_end(page, "ol");
    if (count_articles(links) >= news->question->links.limit &&
        news->question->links.limit < TRENDING_LIMIT_MAX) {
        struct news_question more = *news->question;
        more.links.limit = TRENDING_LIMIT_MAX;
        markup_begin_class(page, "p", "on");
        begin_view(page, &more);
        markup_string(page, "Show more");
        markup_end(page, "a");
        markup_end(page, "p");
    }
}

/* An author's page takes the name from wherever it stands in the answer. */
struct trending_request news_page_request(const struct news_question *question)
{
    struct trending_request wanted = question->links;
    wanted.posts = NEWS_PAGE_POSTS;
    wanted.stories = 1;
    if (wanted.author[0] == '\0')
        wanted.sharers = NEWS_PAGE_FACES;
    return wanted;
}

void news_page_print(const struct news_page *news, struct text *out)
{
    struct markup page;
    struct text feed = {0};
    news_question_print(news->question, "", &feed);
    const struct page_head head = {.title = "Tidemark: what is shared",
                                   .script = "page.js",
                                   .class_name = news->question->dense ? "news dense" : "news",
                                   .feed_view = text_string(&feed),
                                   .place = PAGE_NEWS};
    page_begin(&page, out, &head);
    put_headline(&page, news);
    markup_begin_class(&page, "div", "controls");
    put_windows(&page, news->question);
    put_sorts(&page, news->question);
    put_form(&page, news->question);
    markup_end(&page, "div");
    put_troubles(&page, news->health);
    if (news->turned_off)
        put_turned_off(&page);
    else
        put_completeness(&page, news);
    put_links(&page, news);
    page_end(&page);
    text_free(&feed);
}
