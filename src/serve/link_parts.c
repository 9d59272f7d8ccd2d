/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/link_parts.h"

#include "base/address_words.h"
#include "serve/page_frame.h"

#define TITLE_MAX   300
#define ADDRESS_MAX 200

static struct bytes words_in(struct json link, const char *key)
{
    return json_string_or_absent(json_get(link, key));
}

void link_put_title(struct markup *page, const char *heading, struct json link)
{
    struct bytes url = words_in(link, "url"), title = words_in(link, "title");
    struct text words = {0};
    if (title.len == 0)
        address_words_append(url, &words);
    markup_begin(page, heading);
    markup_begin_class(page, "a", "title");
    if (markup_attr_url(page, "href", url))
        markup_attr_string(page, "rel", "noopener noreferrer ugc");
    markup_stranger(page, title.len > 0 ? title : text_bytes(&words), TITLE_MAX);
    markup_end(page, "a");
    markup_end(page, heading);
    text_free(&words);
}

void link_put_address(struct markup *page, struct json link)
{
    struct bytes url = words_in(link, "url");
    if (words_in(link, "title").len > 0 || url.len == 0)
        return;
    markup_begin_class(page, "p", "address");
    markup_stranger(page, url, ADDRESS_MAX);
    markup_end(page, "p");
}

bool link_has_picture(const struct news_question *question, struct json link)
{
    return question->pictures && words_in(link, "image").len > 0;
}

void link_put_picture(struct markup *page, const struct news_question *question, struct json link)
{
    if (!link_has_picture(question, link))
        return;
    const struct page_picture picture = {.class_name = "picture",
                                         .owner = words_in(link, "id"),
                                         .url = words_in(link, "image"),
                                         .width = 160,
                                         .height = 90};
    page_put_picture(page, &picture);
}
