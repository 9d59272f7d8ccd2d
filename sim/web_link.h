/* SPDX-License-Identifier: Apache-2.0
 *
 * web_link.h - the pages that people link to, and the ways in which they spell an address.
 *
 * A page has a number and one canonical address, which the world chooses; every spelling is that
 * address decorated, so what a spelling means is known without any normalising. An `address` is
 * what can be told apart by looking at it alone: the page, or the shortened form of it, which only
 * a server can resolve. Pages come from three places: papers that exist nowhere, the simulator's
 * own server, whose pages come in blocks so that some of a block are one article, and, when asked
 * for, sites whose names are known for gifts, archives and redirections.
 *
 * Pure; any thread. */
#ifndef SIM_WEB_LINK_H
#define SIM_WEB_LINK_H

#include "sim/world.h"

#define URL_SIZE       256
#define SPELLING_COUNT 16
#define ORIGIN_SIZE    80

/* The address of page `link` and the address that `spelling` of it has. Spelling 0 is always the
 * canonical address itself; numbers beyond the count begin again. */
uint32_t web_link_address(const struct world *world, uint32_t link, uint32_t spelling);
void web_link_spell(const struct world *world, uint32_t link, uint32_t spelling,
                    char out[URL_SIZE]);

/* The normal form of an address. */
void web_link_url(const struct world *world, uint32_t address, char out[URL_SIZE]);
/* The address that it turns out to be once the page was fetched. */
uint32_t web_link_merged(const struct world *world, uint32_t address);
uint32_t web_link_number(uint32_t address);
/* False for what never trends: pictures, reactions and links into Bluesky itself. */
bool web_link_is_news(const struct world *world, uint32_t address);
/* True for pages that bear the name of a real site. */
bool web_link_is_named(const struct world *world, uint32_t link);
/* What page of the simulator's own server it is, and its id there; NULL for others. */
const char *web_link_kind(const struct world *world, uint32_t link, uint32_t *id);
/* The page of the world whose words that page of the own server shows; WORLD_NONE when nobody links
 * to pages of this kind. */
uint32_t web_link_article(const char *kind, uint32_t id);
/* Scheme, host and port of the site that an article of the own server lies on. */
void web_link_origin(const struct world *world, uint32_t article, char out[ORIGIN_SIZE]);

#endif
