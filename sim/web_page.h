/* SPDX-License-Identifier: Apache-2.0
 *
 * web_page.h - the pages of the simulator's own web server: good ones, and every bad one that a
 * fetcher of cards meets.
 *
 * A page is named by its kind and a number; what it says follows from both. */
#ifndef SIM_WEB_PAGE_H
#define SIM_WEB_PAGE_H

#include "sim/http_server.h"
#include "sim/world.h"

/* GET /web/KIND/ID and /s/KIND/ID */
http_handler_fn web_page_get, web_page_shortened;

/* Appends `,"kind":…` and, where the page has a card, `,"title":…,"description":…,"image":…` of
 * page `link` of the world; nothing when it lies elsewhere. */
void web_page_put_card(const struct world *world, uint32_t link, struct text *out);

#endif
