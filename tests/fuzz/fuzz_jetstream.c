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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    struct batch batch = {0};
    struct jetstream_event event;
    struct jetstream_peek peek;
    struct err err = {{0}};
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    char *padded = calloc(1, size + ARENA_PAD);
    if (padded == NULL)
        abort();
    if (size > 0)
        memcpy(padded, data, size);
    arena_init(&batch.arena, BYTES_MAX);
    enum rc rc =
        jetstream_event_decode(doc, bytes_make(padded, size), INT64_MAX, &batch, &event, &err);
    assert(rc == RC_OK || rc == RC_REJECT || rc == RC_AGAIN);
    assert(batch.record_count == (rc == RC_OK ? event.records : 0));
    assert(rc != RC_REJECT || err.text[0] != '\0');
    bool is_event = rc == RC_OK && event.message == JETSTREAM_EVENT;
    if (jetstream_peek(bytes_make(padded, size), &peek) && is_event) {
        assert(bytes_equal(peek.did, event.did));
        assert(event.seq != 0 || peek.time_us == event.time_us);
    }
    arena_deinit(&batch.arena);
    free(padded);
    return 0;
}
