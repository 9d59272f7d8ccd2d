/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON as a block that an indexer tells, and as a person of a list of follows: taken whole
 * within its bounds, or refused whole with a sentence. */
#include "decode/actor_view.h"
#include "decode/block_line.h"
#include "decode/ipfs_uri.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct json root)
{
    struct block_line line;
    struct bytes name, space;
    struct err err = {""};
    size_t names = 0;
    if (block_line_read(root, &line, &err) != RC_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    assert(line.cursor.len > 0 && line.cursor.len <= BLOCK_LINE_CURSOR_MAX);
    assert(line.hash.len <= BLOCK_LINE_HASH_MAX && line.parent.len <= BLOCK_LINE_HASH_MAX);
    assert(line.number <= INT64_MAX && (!line.undo || json_count(line.uris) == 0));
    for (struct json_walk walk = json_walk(line.uris); block_line_next(&walk, &name, &space);) {
        assert(name.len > 0 && name.len <= IPFS_URI_NAME_MAX && space.len <= BLOCK_LINE_SPACE_MAX);
        names++;
    }
    /* None is left out but those that were counted. */
    assert(names + line.unusable == json_count(line.uris));
    assert(line.unusable == 0 || line.first_unusable < json_count(line.uris));
}

static void check_actor(struct json root)
{
    struct actor_view actor = {0};
    if (!actor_view_read(root, &actor))
        return;
    assert(actor.did.len <= ACTOR_DID_MAX && bytes_starts_with(actor.did, "did:"));
    assert(actor.handle.len > 0 && (actor.avatar.data == NULL || actor.avatar.len > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_doc *doc;
    struct json root;
    if (doc == NULL)
        doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    if (json_parse_copy(doc, bytes_make(data, size), &root, NULL) != RC_OK)
        return 0;
    check_line(root);
    check_actor(root);
    return 0;
}
