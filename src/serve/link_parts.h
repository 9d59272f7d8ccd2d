/* SPDX-License-Identifier: Apache-2.0
 *
 * link_parts.h - what every page says of a link in the same way.
 *
 * A link comes as the API gives it. A page that says nothing of itself has a title made of its
 * address, and the address stands below it; both are text.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_LINK_PARTS_H
#define SERVE_LINK_PARTS_H

#include "base/json.h"
#include "base/markup.h"
#include "serve/news_question.h"

/* The title, which leads to the page, as a heading of that name. */
void link_put_title(struct markup *page, const char *heading, struct json link);
/* The whole address, where the title was made of it; else nothing. */
void link_put_address(struct markup *page, struct json link);
/* It has one, and pictures are shown. */
bool link_has_picture(const struct news_question *question, struct json link);
/* Its picture, from here; nothing where it has none. Room is kept for it from the start, so nothing
 * moves when it comes, or does not. */
void link_put_picture(struct markup *page, const struct news_question *question, struct json link);

#endif
