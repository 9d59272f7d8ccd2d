/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a message: refused with a sentence and the batch as it was, or understood; and what
 * a peek says of a message, the parser does not contradict. */
#include "decode/jetstream_event.h"
#include "decode/jetstream_peek.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)
#define ROOM_MAX  ((size_t)1 << 19) /* enough for the links of any post of BYTES_MAX */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every link belongs to the one post. */
static void check_links(const struct batch *batch)
{
    const struct record *post = batch->first[RECORD_POST];
    for (const struct record *link = batch->first[RECORD_LINK]; link != NULL; link = link->next) {
        assert(post != NULL && post->next == NULL);
        assert(bytes_equal(link->fields[LINK_DID].b, post->fields[POST_DID].b));
        assert(bytes_equal(link->fields[LINK_REV].b, post->fields[POST_REV].b));
        assert(!link->fields[LINK_URL].null && link->fields[LINK_URL].b.len > 0);
    }
}

/* What is kept of a post's rich text is JSON again. */
static void check_facets(const struct batch *batch)
{
    static struct json_doc *doc;
    const struct record *post = batch->first[RECORD_POST];
    struct json facets;
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    if (post == NULL || post->fields[POST_FACETS].null)
        return;
    enum rc rc = json_parse_copy(doc, post->fields[POST_FACETS].b, &facets, NULL);
    assert(rc == RC_OK && json_type(facets) == JSON_ARRAY && json_count(facets) > 0);
}

/* With one byte less than it takes nothing is added. */
static void check_full(struct json_doc *doc, struct bytes frame, bool added, size_t used)
{
    struct batch batch = {0};
    struct jetstream_event event;
    if (!added)
        return;
    arena_init(&batch.arena, used - 1);
    enum rc rc = jetstream_event_decode(doc, frame, INT64_MAX, &batch, &event, NULL);
    assert(rc == RC_AGAIN && batch.record_count == 0);
    arena_deinit(&batch.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    static struct arena arena;
    struct jetstream_event event;
    struct jetstream_peek peek;
    struct err err = {{0}};
    if (doc == NULL) {
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
        arena_init(&arena, ROOM_MAX);
    }
    arena_reset(&arena);
    struct batch batch = {.arena = arena};
    char *padded = calloc(1, size + ARENA_PAD);
    if (padded == NULL)
        abort();
    if (size > 0)
        memcpy(padded, data, size);
    enum rc rc =
        jetstream_event_decode(doc, bytes_make(padded, size), INT64_MAX, &batch, &event, &err);
    assert(rc == RC_OK || rc == RC_REJECT || rc == RC_AGAIN);
    assert(batch.record_count == (rc == RC_OK ? event.records : 0));
    assert(rc != RC_REJECT || err.text[0] != '\0');
    assert(rc != RC_AGAIN);
    check_links(&batch);
    check_facets(&batch);
    check_full(doc, bytes_make(padded, size), rc == RC_OK && event.records > 0, batch.arena.used);
    bool is_event = rc == RC_OK && event.message == JETSTREAM_EVENT;
    if (jetstream_peek(bytes_make(padded, size), &peek) && is_event) {
        assert(bytes_equal(peek.did, event.did));
        assert(event.seq != 0 || peek.time_us == event.time_us);
    }
    free(padded);
    return 0;
}
