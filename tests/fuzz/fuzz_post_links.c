/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes, as the record of a post when they are JSON and as the text of one otherwise: every
 * link is its own identity, met once, and lies in the arena. */
#include "base/json_write.h"
#include "decode/post_links.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(const struct arena *arena, struct bytes bytes)
{
    return bytes.data == NULL ||
           (bytes.data >= arena->block && bytes.data + bytes.len <= arena->block + arena->used);
}

static void check_link(const struct post_links *links, size_t i, const struct arena *arena)
{
    const struct post_link *link = &links->links[i];
    struct url_identity identity;
    enum rc rc = url_normalize(link->normalized, &identity, NULL);
    assert(rc == RC_OK && bytes_equal(identity.normalized, link->normalized));
    assert(bytes_equal(identity.host, link->host) && bytes_equal(identity.domain, link->domain));
    rc = url_normalize(link->reader, &identity, NULL);
    assert(rc == RC_OK && bytes_equal(identity.normalized, link->normalized));
    assert(link->via != 0 && link->title.len <= POST_CARD_TITLE_MAX);
    assert(inside(arena, link->normalized) && inside(arena, link->reader));
    assert(inside(arena, link->title) && inside(arena, link->description));
    assert(inside(arena, link->thumb));
    for (size_t k = 0; k < i; k++)
        assert(!bytes_equal(links->links[k].normalized, link->normalized));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    static struct arena arena, small;
    static struct post_links links, again;
    struct text record = {0};
    struct json root;
    if (doc == NULL) {
        doc = json_doc_new((size_t)1 << 20, JSON_DEPTH_MAX);
        arena_init(&arena, 1 << 20);
        arena_init(&small, 512);
    }
    arena_reset(&arena);
    arena_reset(&small);
    if (json_parse_copy(doc, bytes_make(data, size), &root, NULL) != RC_OK) {
        struct json_writer writer;
        json_writer_init(&writer, &record);
        json_begin_object(&writer);
        json_key(&writer, "text");
        json_put_string(&writer, bytes_make(data, size));
        json_end_object(&writer);
        enum rc parsed = json_parse_copy(doc, text_bytes(&record), &root, NULL);
        assert(parsed == RC_OK);
    }
    enum rc rc = post_links_read(root, &arena, &links);
    assert(rc == RC_OK && links.count <= POST_LINKS_MAX && inside(&arena, links.quote));
    for (size_t i = 0; i < links.count; i++)
        check_link(&links, i, &arena);
    rc = post_links_read(root, &small, &again);
    assert(rc == RC_OK ? again.count == links.count : rc == RC_AGAIN && small.used == 0);
    text_free(&record);
    return 0;
}
