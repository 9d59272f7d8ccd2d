/* SPDX-License-Identifier: Apache-2.0
 *
 * timestamp.h - RFC 3339 to microseconds since 1970 UTC and back.
 *
 * Strict: a real calendar date, a zone (`Z`, `z` or an offset), seconds 0-59 (60 only where a leap
 * second may stand, the end of a month in UTC, counted as the next second). Digits beyond
 * microseconds are cut. Only instants from 0000-01-01 to 9999-12-31 UTC are known, so what was
 * parsed can be formatted. */
#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include "base/bytes.h"
#include "base/rc.h"

#define TIMESTAMP_TEXT_MAX 32

must_check bool timestamp_parse(struct bytes text, int64_t *us);
/* "2025-08-11T23:26:32.374Z": three digits when exact, else six. Outside the years 0000-9999:
 * false. */
must_check bool timestamp_format(int64_t us, char out[TIMESTAMP_TEXT_MAX]);
/* How long something took, for people: "6.2 ms", "875 ms", "1.4 s". */
void timestamp_format_wait(double seconds, char out[TIMESTAMP_TEXT_MAX]);

#endif
