/* SPDX-License-Identifier: Apache-2.0
 *
 * event_json.h - events as the JSON that goes over the wire.
 *
 * Field order, HTML escapes (< > & U+2028 U+2029 as \uXXXX) and the absence of whitespace are
 * those of the real server; no trailing newline. */
#ifndef SIM_EVENT_JSON_H
#define SIM_EVENT_JSON_H

#include "sim/world.h"

enum event_wire { WIRE_V1, WIRE_V2 };

/* Appends event k in the v1 form; a seq other than 0 becomes the `cursor` key that newer servers
 * send. */
void event_json_v1(const struct world *world, uint32_t k, int64_t seq, struct text *out);
/* Appends event k as a v2 message. */
void event_json_v2(const struct world *world, uint32_t k, int64_t seq, struct text *out);
/* Appends the record that event k wrote. */
void event_json_record(const struct world *world, uint32_t k, struct text *out);
/* Appends the string with quotes and escapes. */
void event_json_string(struct text *out, struct bytes string);
/* "at://did/collection/rkey" of the record that event k wrote or deleted. */
void event_uri(const struct world *world, uint32_t k, struct text *out);

#endif
