/* SPDX-License-Identifier: Apache-2.0
 *
 * coding.h - an answer made smaller, in a way that its reader asked for.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_CODING_H
#define SERVE_CODING_H

#include "base/bytes.h"
#include "base/rc.h"

#define CODING_BYTES_MIN 1024 /* below that it is not worth the while */

enum coding { CODING_NONE, CODING_GZIP, CODING_ZSTD };

/* The best of those that an Accept-Encoding header allows; NULL: it was not sent. */
enum coding coding_choose(const char *accepted);
/* As it is called in headers. */
const char *coding_name(enum coding coding);
/* Whether content of this type gets smaller at all. */
bool coding_helps(const char *content_type);
/* Appends `content`, coded; false, and nothing was appended, when it would not be smaller. */
must_check bool coding_apply(enum coding coding, struct bytes content, struct text *out);

#endif
