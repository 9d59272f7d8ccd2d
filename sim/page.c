/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/page.h"

#include <stdlib.h>
#include <string.h>

void page_add(struct page *page, const struct page_item *item)
{
    if (page->count == page->cap) {
        page->cap = page->cap == 0 ? 64 : page->cap * 2;
        page->items = memory_resize(page->items, sizeof *page->items * page->cap);
    }
    page->items[page->count++] = *item;
}

static int compare_items(const void *left, const void *right)
{
    const struct page_item *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms < b->ms ? 1 : -1;
    return -strcmp(a->cid, b->cid);
}

void page_sort(struct page *page)
{
    if (page->count > 0)
        qsort(page->items, page->count, sizeof *page->items, compare_items);
}

bool page_seek(const struct page *page, const char *cursor, size_t *begin)
{
    struct page_item after = {0};
    const char *gap = strstr(cursor, "__");
    *begin = 0;
    if (cursor[0] == '\0')
        return true;
    if (strstr(cursor, "::") != NULL) {
        *begin = page->count;
        return true;
    }
    if (gap == NULL || !bytes_to_i64(bytes_make(cursor, (size_t)(gap - cursor)), &after.ms) ||
        strlen(gap + 2) >= CID_SIZE)
        return false;
    memcpy(after.cid, gap + 2, strlen(gap + 2) + 1);
    while (*begin < page->count && compare_items(&page->items[*begin], &after) <= 0)
        ++*begin;
    return true;
}

void page_put_cursor(const struct page *page, size_t begin, size_t end, unsigned limit,
                     struct text *out)
{
    if (end - begin < limit)
        return;
    const struct page_item *last = &page->items[end - 1];
    text_appendf(out, ",\"cursor\":\"%lld__%s\"", (long long)last->ms, last->cid);
}

void page_deinit(struct page *page)
{
    free(page->items);
    *page = (struct page){0};
}
