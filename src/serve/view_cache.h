/* SPDX-License-Identifier: Apache-2.0
 *
 * view_cache.h - pages that were made a moment ago, for others who want the same.
 *
 * A page that many people have open changes for all of them at once, and they all ask for it again.
 * Whoever says that a page of the last moments will do gets the one that was made for another; all
 * others get their own. A page shows what everybody sees who may see it at all: who that is was
 * decided before.
 *
 * Bounded (I6): so many pages of so many bytes; the one that was made longest ago makes room.
 *
 * Owner: the server.  Thread: any. */
#ifndef SERVE_VIEW_CACHE_H
#define SERVE_VIEW_CACHE_H

#include "base/bytes.h"

#define VIEW_CACHE_PAGES      16
#define VIEW_CACHE_PAGE_BYTES ((size_t)512 << 10) /* a larger one is not kept */

struct view_cache;

struct view_cache *view_cache_new(void);
void view_cache_free(struct view_cache *cache);

/* Appends the page of that name whose making began at `since_us` or later; false: there is none. */
bool view_cache_find(struct view_cache *cache, struct bytes name, int64_t since_us,
                     struct text *out);
/* Keeps a copy, unless there is a newer one. */
void view_cache_keep(struct view_cache *cache, struct bytes name, int64_t begun_us,
                     struct bytes page);

#endif
