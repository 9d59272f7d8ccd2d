/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_condition.h - does what a connector says about an answer or a record hold?
 *
 * Owner: the caller.  Pure. */
#ifndef DECODE_CONNECTOR_CONDITION_H
#define DECODE_CONNECTOR_CONDITION_H

#include "decode/connector_cast.h"
#include "decode/connector_expand.h"
#include "decode/connector_page.h"

/* Where pointers lead: into `body`, or with `^` into `above`. An entry's key is a member of its
 * value under the name `key_as`. */
struct connector_ground {
    struct json body, above;
    const char *key_as; /* NULL: no entry */
    struct bytes key;
    const struct connector_answer *answer; /* NULL: a record's */
};

struct connector_scalar connector_find(const struct connector_ground *ground, const char *pointer,
                                       bool above, struct arena *arena);
/* `scratch` is written over. */
bool connector_holds(const struct connector_condition *condition,
                     const struct connector_ground *ground, const struct connector_scope *scope,
                     struct arena *arena, struct text *scratch);
bool connector_where_holds(const struct connector_where *where,
                           const struct connector_ground *ground,
                           const struct connector_scope *scope, struct arena *arena,
                           struct text *scratch);
/* The value of a header (lowercase name); absent when there is none. */
struct bytes connector_header_value(struct bytes headers, const char *name);

#endif
