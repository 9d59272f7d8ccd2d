/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf.h - the fields of one protobuf message, in the order they stand.
 *
 * It knows the wire, not the message: a field is a number with either a whole number or a run of
 * bytes. Strict: a varint takes as few bytes as it can, nothing runs over the end, and wire types
 * that content-addressed data never uses (groups) are refused. Pure; any thread. */
#ifndef DECODE_PROTOBUF_H
#define DECODE_PROTOBUF_H

#include "base/bytes.h"
#include "base/rc.h"

struct protobuf_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;     /* varint and fixed fields */
    struct bytes bytes; /* borrowed from the message */
};

/* Cuts a minimal varint off the front of `rest`; false, and `rest` is as it was, when there is
 * none. */
must_check bool protobuf_varint(struct bytes *rest, uint64_t *value);

/* Cuts the next field off. RC_AGAIN: there is none left. RC_REJECT: what follows is no field. */
must_check enum rc protobuf_next(struct bytes *rest, struct protobuf_field *field);

#endif
