/* SPDX-License-Identifier: Apache-2.0
 *
 * dictionary.h - a zstd dictionary trained on the world's own events, and frames made with it.
 *
 * The same options give the same dictionary. One frame is one whole event, shaped like those of the
 * real server: dictionary id and checksum always, content size only from 256 bytes on. */
#ifndef SIM_DICTIONARY_H
#define SIM_DICTIONARY_H

#include "sim/event_json.h"

struct dictionary;

struct dictionary *dictionary_train(const struct world_options *options, enum event_wire wire,
                                    unsigned id);
unsigned dictionary_id(const struct dictionary *dictionary);
void dictionary_free(struct dictionary *dictionary);
struct bytes dictionary_bytes(const struct dictionary *dictionary);
/* Replaces what `out` holds by the compressed frame. */
void dictionary_compress(struct dictionary *dictionary, struct bytes input, struct text *out);

#endif
