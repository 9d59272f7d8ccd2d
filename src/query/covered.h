/* SPDX-License-Identifier: Apache-2.0
 *
 * covered.h - which parts of each history are stored whole, and what was never read between them.
 *
 * A part is half-open and in the positions of its stream: numbers of blocks or slots, or times in
 * microseconds, told apart by their size. Position 0 is the beginning. What lies above the last
 * part is not there yet, or not read yet: it is no hole.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_COVERED_H
#define QUERY_COVERED_H

#include "base/json_write.h"
#include "store/store.h"

struct covered_part {
    int64_t from, to;
};

/* Of one stream, lowest first; borrowed from the list it was found in. */
struct covered_stream {
    struct bytes source, name;
    const struct covered_part *parts;
    size_t count;
};

struct covered;

/* Of an account and of those derived from it; NULL: of all sources. */
must_check enum rc covered_read(struct store *store, const char *account, struct covered **out,
                                struct err *err);
void covered_free(struct covered *covered);
size_t covered_count(const struct covered *covered);
struct covered_stream covered_at(const struct covered *covered, size_t number);
/* One of which nothing is stored whole has no parts. */
struct covered_stream covered_find(const struct covered *covered, struct bytes source,
                                   struct bytes stream);

/* What was never read below the part of this number; false: nothing. */
bool covered_hole(const struct covered_stream *stream, size_t number, struct covered_part *hole);

/* Adds a part's members: numbers or ISO 8601 times, `from` null for the beginning. */
void covered_put_ends(struct json_writer *json, const struct covered_part *part);
/* Adds the members `covered` and `missing`, lists of parts. */
void covered_put(struct json_writer *json, const struct covered_stream *stream);
/* "up to 1200", "500 to 1200". */
void covered_say(struct text *out, const struct covered_part *part);

#endif
