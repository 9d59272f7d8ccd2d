/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/view_cache.h"

#include "sys/thread.h"

#include <stdlib.h>

struct kept_page {
    struct text name; /* empty: the place is free */
    int64_t begun_us;
    struct text page;
};

struct view_cache {
    struct lock *lock;
    struct kept_page pages[VIEW_CACHE_PAGES];
};

struct view_cache *view_cache_new(void)
{
    struct view_cache *cache = memory_new_zeroed(1, sizeof *cache);
    cache->lock = lock_new();
    return cache;
}

void view_cache_free(struct view_cache *cache)
{
    for (size_t i = 0; i < VIEW_CACHE_PAGES; i++) {
        text_free(&cache->pages[i].name);
        text_free(&cache->pages[i].page);
    }
    lock_free(cache->lock);
    free(cache);
}

static struct kept_page *find(struct view_cache *cache, struct bytes name)
{
    for (size_t i = 0; i < VIEW_CACHE_PAGES; i++)
        if (bytes_equal(text_bytes(&cache->pages[i].name), name))
            return &cache->pages[i];
    return NULL;
}

static struct kept_page *oldest(struct view_cache *cache)
{
    struct kept_page *old = &cache->pages[0];
    for (size_t i = 0; i < VIEW_CACHE_PAGES; i++)
        if (cache->pages[i].begun_us < old->begun_us)
            old = &cache->pages[i];
    return old;
}

bool view_cache_find(struct view_cache *cache, struct bytes name, int64_t since_us,
                     struct text *out)
{
    lock_enter(cache->lock);
    const struct kept_page *kept = find(cache, name);
    bool found = kept != NULL && kept->begun_us >= since_us;
    if (found)
        text_append(out, kept->page.data, kept->page.len);
    lock_leave(cache->lock);
    return found;
}

void view_cache_keep(struct view_cache *cache, struct bytes name, int64_t begun_us,
                     struct bytes page)
{
    if (page.len > VIEW_CACHE_PAGE_BYTES)
        return;
    lock_enter(cache->lock);
    struct kept_page *kept = find(cache, name);
    if (kept == NULL)
        kept = oldest(cache);
    if (kept->begun_us <= begun_us) {
        text_clear(&kept->name);
        text_append(&kept->name, name.data, name.len);
        text_clear(&kept->page);
        text_append(&kept->page, page.data, page.len);
        kept->begun_us = begun_us;
    }
    lock_leave(cache->lock);
}
