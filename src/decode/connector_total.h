/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_total.h - an amount that a source does not write but that follows from what it writes.
 *
 * Exact: decimal text in, decimal text out. What is missing takes no part; what is there and no
 * number refuses the whole.
 *
 * Owner: the caller.  Pure. */
#ifndef DECODE_CONNECTOR_TOTAL_H
#define DECODE_CONNECTOR_TOTAL_H

#include "decode/connector_condition.h"

/* The field's sums or its product, into the arena. RC_AGAIN: none of the lists, or not both of the
 * factors, are there. RC_REJECT: a part is no number. */
must_check enum rc connector_total(const struct connector_field *field,
                                   const struct connector_ground *ground,
                                   const struct connector_scope *scope, struct arena *arena,
                                   struct text *scratch, struct bytes *out);

/* The power of ten by which amounts of the field are multiplied. */
int connector_scale(const struct connector_field *field, const struct connector_scope *scope);

#endif
