/* SPDX-License-Identifier: Apache-2.0
 *
 * news_feed.h - a view of what is shared, for programs that read feeds.
 *
 * Made of the same answer as the page of the view. What is in a feed does not depend on when it is
 * asked for, only on what is shared, so a reader that has it already is told so.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_NEWS_FEED_H
#define SERVE_NEWS_FEED_H

#include "base/json.h"
#include "serve/news_question.h"

struct news_feed {
    const struct news_question *question;
    struct json answer; /* as /api/trending gives it */
    const char *origin; /* "http://127.0.0.1:8080": where this is served */
};

/* RSS 2.0; JSON Feed 1.1. */
void news_feed_print_rss(const struct news_feed *feed, struct text *out);
void news_feed_print_json(const struct news_feed *feed, struct text *out);

#endif
