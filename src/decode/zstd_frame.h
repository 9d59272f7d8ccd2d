/* SPDX-License-Identifier: Apache-2.0
 *
 * zstd_frame.h - messages that are one zstd frame each, made with a shared dictionary.
 *
 * The dictionary is digested once and one context serves every frame. Always holds: what comes out
 * is the whole content of exactly one frame whose checksum was right, never more than the bound
 * given, and followed by ARENA_PAD readable bytes. The buffer grows by what frames turn out to
 * hold: a frame's own word about its size is not believed, and small frames do not give it.
 *
 * Owner: one thread. */
#ifndef DECODE_ZSTD_FRAME_H
#define DECODE_ZSTD_FRAME_H

#include "base/bytes.h"
#include "base/err.h"

struct zstd_decoder;

/* Copies the dictionary. RC_REJECT: these bytes are none that frames could name. */
must_check enum rc zstd_decoder_new(struct bytes dictionary, size_t decoded_bytes_max,
                                    struct zstd_decoder **decoder, struct err *err);
void zstd_decoder_free(struct zstd_decoder *decoder); /* NULL is allowed */
/* The number frames name this dictionary by; never 0. */
uint32_t zstd_decoder_id(const struct zstd_decoder *decoder);
/* `out` is borrowed until the next call. RC_REJECT: no whole zstd frame, more than one, or one that
 * holds too much. RC_RETRY: this dictionary does not open it: it was made with another one or with
 * none, or one of the two is damaged, and which one cannot be told. */
must_check enum rc zstd_decoder_decode(struct zstd_decoder *decoder, struct bytes frame,
                                       struct bytes *out, struct err *err);

#endif
