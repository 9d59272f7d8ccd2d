/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip_stream.h - bytes in the gzip format, written by hand: stored as they are, or one byte
 * repeated so often that it grows a hundredfold when it is unpacked. */
#ifndef SIM_GZIP_STREAM_H
#define SIM_GZIP_STREAM_H

#include "base/bytes.h"

void gzip_stream_store(struct bytes input, struct text *out);
/* About `count` times the byte, which must be below 144. */
void gzip_stream_repeat(char byte, uint32_t count, struct text *out);

#endif
