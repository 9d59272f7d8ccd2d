/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_range.h - the part of an answer that a client asks for.
 *
 * One range is understood. Whatever else the header says is not an error: it is as if nothing was
 * asked for, and all is sent.
 *
 * Pure; any thread. */
#ifndef SERVE_BYTE_RANGE_H
#define SERVE_BYTE_RANGE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum byte_range_kind { BYTE_RANGE_ALL, BYTE_RANGE_FROM, BYTE_RANGE_LAST };

/* What was asked for. */
struct byte_range {
    enum byte_range_kind kind;
    int64_t first, last; /* FROM: both included. LAST: so many as `last` says */
};

/* `header` may be absent. */
struct byte_range byte_range_parse(struct bytes header);
/* Which bytes these are of `size`; false: it has none of them. */
bool byte_range_resolve(const struct byte_range *range, int64_t size, int64_t *at, int64_t *len);

#endif
