/* SPDX-License-Identifier: Apache-2.0
 *
 * block_line.h - a block as an indexer tells it: one JSON object in one line.
 *
 *   {"cursor":"c9","number":9,"hash":"h9","parent":"h8","uris":["ipfs://bafy...", ...]}
 *   {"cursor":"c7","number":7,"hash":"h7","undo":true}
 *
 * The second takes back every block after its own. `cursor` and `number` are always there; a uri is
 * an ipfs:// address, or an object {"uri","space"}; other members are nobody's business here. A
 * line is taken or refused whole, but for uris that are none: these are counted, and the others are
 * taken.
 *
 * Bytes are borrowed from the parsed document. Pure; any thread. */
#ifndef DECODE_BLOCK_LINE_H
#define DECODE_BLOCK_LINE_H

#include "base/json.h"

#define BLOCK_LINE_CURSOR_MAX 1024
#define BLOCK_LINE_HASH_MAX   80
#define BLOCK_LINE_SPACE_MAX  36

struct block_line {
    struct bytes cursor; /* opaque, not empty */
    uint64_t number;
    struct bytes hash, parent; /* absent: not said */
    bool undo;
    struct json uris;                /* a list, or absent */
    size_t unusable, first_unusable; /* of the uris: how many are none, and the first of these */
};

/* RC_REJECT: no such line, and why. */
must_check enum rc block_line_read(struct json root, struct block_line *line, struct err *err);
/* Says which uris of a line that has such are none, and why. */
void block_line_explain(const struct block_line *line, struct err *err);

/* Walks the names of a line that was read, past uris that are none: `name` is what stands behind
 * ipfs://, `space` who named it, or absent. `walk` begins as json_walk(line->uris). False: there
 * are no more. */
must_check bool block_line_next(struct json_walk *walk, struct bytes *name, struct bytes *space);

#endif
