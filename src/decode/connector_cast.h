/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_cast.h - what a source wrote, as the text, number or time it stands for.
 *
 * Amounts are decimal text all the way. A JSON number with a fraction is a double by the time it
 * gets here; it is taken only while it has so few digits that they are the ones that were written.
 * Equal amounts are equal bytes.
 *
 * Owner: the caller; results lie in its arena or in the source's own bytes.  Pure. */
#ifndef DECODE_CONNECTOR_CAST_H
#define DECODE_CONNECTOR_CAST_H

#include "base/arena.h"
#include "base/json.h"
#include "decode/connector_parts.h"
#include "decode/exact_number.h"

enum connector_scalar_kind {
    SCALAR_ABSENT, /* nothing, null or an empty text */
    SCALAR_TEXT,
    SCALAR_INTEGER,
    SCALAR_REAL,
    SCALAR_BOOL,
    SCALAR_TREE, /* an object or a list */
};

struct connector_scalar {
    enum connector_scalar_kind kind;
    struct bytes text; /* of all but REAL and TREE */
    struct json json;
};

/* Digits go into the arena; a full arena makes the value a tree, which no cast takes. */
struct connector_scalar connector_scalar(struct json value, struct arena *arena);
struct connector_scalar connector_scalar_text(struct bytes text);

/* These answer false when the scalar is something else than the cast expects; SCALAR_ABSENT is not
 * theirs to judge. */
must_check bool connector_cast_text(const struct connector_scalar *scalar, enum connector_cast cast,
                                    int scale, struct arena *arena, struct bytes *out);
must_check bool connector_cast_number(const struct connector_scalar *scalar,
                                      enum connector_cast cast, int64_t *out);
/* Microseconds, from 1970 to the year 9999. */
must_check bool connector_cast_time(const struct connector_scalar *scalar, enum connector_cast cast,
                                    int64_t *us);

#endif
