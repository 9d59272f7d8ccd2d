/* SPDX-License-Identifier: Apache-2.0
 *
 * document_type.h - what a stranger's document is, as far as its first bytes prove.
 *
 * Only what a browser shows without running anything is ever named: pictures of pixels, JSON and
 * plain text. All else, HTML and SVG too, is text or bytes.
 *
 * Pure; any thread. */
#ifndef SERVE_DOCUMENT_TYPE_H
#define SERVE_DOCUMENT_TYPE_H

#include "base/bytes.h"

#include <stdbool.h>

/* `cut`: there is more behind the head, which may end within a character. */
const char *document_type_of(struct bytes head, bool cut);

#endif
