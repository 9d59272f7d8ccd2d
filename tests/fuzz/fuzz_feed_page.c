/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a page of a feed: refused with a sentence, or walked item by item; an item that is
 * refused, or does not fit, leaves the batch as it was. */
#include "decode/feed_page.h"

#include <assert.h>
#include <stdlib.h>

#define BYTES_MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_items(const struct feed_page *page, struct batch *batch)
{
    struct json_walk walk = json_walk(page->items);
    struct bytes key;
    struct json value;
    while (json_walk_next(&walk, &key, &value)) {
        /* Whose feed it is, is whoever the item says. */
        struct at_uri name = {.did = BYTES_ABSENT};
        struct bytes uri = json_string_or_absent(json_pointer(value, "/post/uri"));
        struct feed_reading reading = {INT64_MAX, 1};
        struct feed_item item;
        struct err err = {{0}};
        unsigned links;
        uint32_t before = batch->record_count;
        if (!at_uri_parse(uri, &name))
            continue;
        if (feed_item_read(value, name.did, &item, &err) != RC_OK) {
            assert(err.text[0] != '\0');
            continue;
        }
        assert(item.seen_us > 0 && item.sort_us <= item.seen_us);
        enum rc rc = feed_item_add(&item, &reading, batch, &links);
        assert(rc == RC_OK || batch->record_count == before);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    static struct arena arena;
    struct feed_page page;
    struct json root;
    struct err err = {{0}};
    if (doc == NULL) {
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
        arena_init(&arena, BYTES_MAX);
    }
    arena_reset(&arena);
    struct batch batch = {.arena = arena};
    if (json_parse_copy(doc, bytes_make(data, size), &root, &err) != RC_OK)
        return 0;
    if (feed_page_read(root, &page, &err) == RC_OK)
        walk_items(&page, &batch);
    else
        assert(err.text[0] != '\0');
    return 0;
}
