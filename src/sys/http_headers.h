/* SPDX-License-Identifier: Apache-2.0
 *
 * http_headers.h - the head of an HTTP answer as "name: value\r\n" lines, names lowercased.
 *
 * Pure. A line that is no header is left out; when a new status line comes (after a 100, say), what
 * came before it is forgotten. */
#ifndef SYS_HTTP_HEADERS_H
#define SYS_HTTP_HEADERS_H

#include "base/bytes.h"

#define HTTP_HEADERS_BYTES_MAX 65536

/* Takes one raw line. False: the head is over HTTP_HEADERS_BYTES_MAX. */
bool http_headers_add(struct text *headers, struct bytes line);
/* The first value of `name` (lowercase), or absent. */
struct bytes http_headers_find(struct bytes headers, const char *name);
/* What the server's clock said, in seconds since 1970; -1 when it did not tell. */
int64_t http_headers_date(struct bytes headers);
/* Milliseconds that Retry-After asks for, from seconds or from a date, -1 when it does not. A date
 * is measured against the answer's own Date, or `wall_us` without one. */
int64_t http_headers_retry_after(struct bytes headers, int64_t wall_us);

#endif
