/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_number.h - decimal numbers as text, exact to the last digit.
 *
 * Every result is in the one canonical form: no zeros in front or behind, no exponent, no "-0".
 * What would need more room than there is, is refused, never rounded.
 *
 * Owner: the caller.  Pure. */
#ifndef DECODE_EXACT_NUMBER_H
#define DECODE_EXACT_NUMBER_H

#include "base/bytes.h"
#include "base/rc.h"

#define EXACT_DECIMAL_MAX 160

/* `text` times ten to the power of `scale`. False: it is no decimal number, or too long. */
must_check bool exact_decimal(struct bytes text, int scale, char out[EXACT_DECIMAL_MAX],
                              size_t *len);
/* "0x" and 1 to 64 hexadecimal digits. */
must_check bool exact_hex(struct bytes text, char out[EXACT_DECIMAL_MAX], size_t *len);
/* a + b, or a - b. */
must_check bool exact_add(struct bytes a, struct bytes b, bool subtract,
                          char out[EXACT_DECIMAL_MAX], size_t *len);
must_check bool exact_multiply(struct bytes a, struct bytes b, char out[EXACT_DECIMAL_MAX],
                               size_t *len);

#endif
