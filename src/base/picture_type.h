/* SPDX-License-Identifier: Apache-2.0
 *
 * picture_type.h - whether bytes are a picture made of pixels, as far as their beginning proves.
 *
 * What a server says of its bytes proves nothing. Only formats are known that a browser shows
 * without running anything: PNG, JPEG, GIF, WebP and AVIF; SVG, which may carry scripts, is none.
 *
 * Pure; any thread. */
#ifndef BASE_PICTURE_TYPE_H
#define BASE_PICTURE_TYPE_H

#include "base/bytes.h"

/* "image/png" and the like; NULL: it is no such picture. */
const char *picture_type_of(struct bytes head);

#endif
