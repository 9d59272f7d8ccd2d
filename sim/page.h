/* SPDX-License-Identifier: Apache-2.0
 *
 * page.h - a listing from newest to oldest, given out in pages.
 *
 * Items are ordered by (time in ms, cid), newest first. A cursor means "strictly older than this"
 * and stays good when the item it came from is gone. A page that is full has a cursor, whether
 * anything follows or not, so the last page may be empty; a page that is not full has none. */
#ifndef SIM_PAGE_H
#define SIM_PAGE_H

#include "sim/atproto_id.h"

struct page_item {
    int64_t ms;
    char cid[CID_SIZE];
    uint32_t number; /* what the caller knows it by */
};

struct page {
    struct page_item *items;
    size_t count, cap;
};

void page_add(struct page *page, const struct page_item *item);
void page_sort(struct page *page);
/* First item after the cursor (empty: from the top); false when the cursor is of no known form. */
bool page_seek(const struct page *page, const char *cursor, size_t *begin);
/* Appends `,"cursor":"…"` when the page [begin, end) is full. */
void page_put_cursor(const struct page *page, size_t begin, size_t end, unsigned limit,
                     struct text *out);
void page_deinit(struct page *page);

#endif
