/* SPDX-License-Identifier: Apache-2.0
 *
 * digest_text.h - what was shared, as something to send: plain text, Markdown or HTML.
 *
 * Made of the same answer as the page. Titles and names are strangers' words: they steer no
 * terminal, and are neither Markdown nor HTML.
 *
 * Pure: no I/O, any thread. */
#ifndef CLI_DIGEST_TEXT_H
#define CLI_DIGEST_TEXT_H

#include "base/json.h"

enum digest_format { DIGEST_TEXT, DIGEST_MARKDOWN, DIGEST_HTML, DIGEST_FORMATS };

extern const char *const digest_format_names[DIGEST_FORMATS];

struct digest {
    struct json answer; /* what /api/trending gives with stories=1 */
    int64_t hours;      /* so many were asked for */
    int64_t now_us;     /* when the answer was there */
};

void digest_print(const struct digest *digest, enum digest_format format, struct text *out);

#endif
