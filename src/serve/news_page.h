/* SPDX-License-Identifier: Apache-2.0
 *
 * news_page.h - what people share, as a page.
 *
 * The page is made of the very answer that the API gives for the same question, so both always say
 * the same. Every control is a link or a form whose address holds the whole view.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_NEWS_PAGE_H
#define SERVE_NEWS_PAGE_H

#include "base/json.h"
#include "base/markup.h"
#include "serve/health.h"
#include "serve/news_question.h"

#define NEWS_PAGE_POSTS 3 /* of each that stand on the page */
#define NEWS_PAGE_FACES 5

struct news_page {
    const struct news_question *question;
    struct json answer; /* as /api/trending gives it */
    const struct health_view *health;
    bool follows_anybody; /* accounts are configured */
    bool turned_off;      /* whoever is configured, nothing is read */
};

/* What has to be asked to print the page of a view. */
struct trending_request news_page_request(const struct news_question *question);
void news_page_print(const struct news_page *page, struct text *out);
/* One post that shares a link, as an item of a list. */
void news_post_print(struct markup *page, const struct news_question *question, struct json post);
/* One link of the answer as an item of the list, the `rank`-th from 1 on. */
void news_item_print(struct markup *page, const struct news_question *question, struct json link,
                     size_t rank);

#endif
