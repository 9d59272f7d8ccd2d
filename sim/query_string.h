/* SPDX-License-Identifier: Apache-2.0
 *
 * query_string.h - the parameters of a URL, read one after the other.
 *
 * Percent escapes and '+' are decoded; a broken escape stays as it is. Repeated names come as
 * often as they stand there. */
#ifndef SIM_QUERY_STRING_H
#define SIM_QUERY_STRING_H

#include "base/bytes.h"

struct query_walk {
    struct bytes rest;
    struct text name_text, value_text;
    struct bytes name, value; /* of the parameter at hand; valid until the next step */
};

struct query_walk query_walk(struct bytes query);
bool query_walk_next(struct query_walk *walk);
void query_walk_deinit(struct query_walk *walk);

/* Copies the first value of that name into `out` and returns true; false when there is none or it
 * does not fit. */
bool query_get(struct bytes query, const char *name, char *out, size_t size);
/* The first value of that name as a number, or `fallback`. */
uint64_t query_get_u64(struct bytes query, const char *name, uint64_t fallback);

#endif
