/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/protobuf.h"

#define VARINT_BYTES_MAX 10
#define FIELD_NUMBER_MAX ((UINT64_C(1) << 29) - 1)

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static struct bytes skip(struct bytes from, size_t count)
{
    return bytes_make(from.data + count, from.len - count);
}

bool protobuf_varint(struct bytes *rest, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rest->len && i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = (uint8_t)rest->data[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            return false; /* more than 64 bits */
        sum |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte >= 0x80)
            continue;
        if (byte == 0 && i > 0)
            return false; /* a shorter one says the same */
        *value = sum;
        *rest = skip(*rest, i + 1);
        return true;
    }
    return false;
}

static bool cut_fixed(struct bytes *rest, size_t width, uint64_t *value)
{
    if (rest->len < width)
        return false;
    *value = 0;
    for (size_t i = 0; i < width; i++)
        *value |= (uint64_t)(uint8_t)rest->data[i] << (8 * i);
    *rest = skip(*rest, width);
    return true;
}

static bool cut_bytes(struct bytes *rest, struct bytes *out)
{
    uint64_t len;
    if (!protobuf_varint(rest, &len) || len > rest->len)
        return false;
    *out = bytes_make(rest->data, (size_t)len);
    *rest = skip(*rest, (size_t)len);
    return true;
}

static bool cut_value(struct bytes *rest, enum wire_type type, struct protobuf_field *field)
{
    switch (type) {
    case WIRE_VARINT:
        return protobuf_varint(rest, &field->value);
    case WIRE_FIXED64:
        return cut_fixed(rest, 8, &field->value);
    case WIRE_FIXED32:
        return cut_fixed(rest, 4, &field->value);
    case WIRE_BYTES:
        field->is_bytes = true;
        return cut_bytes(rest, &field->bytes);
    }
    return false;
}

enum rc protobuf_next(struct bytes *rest, struct protobuf_field *field)
{
    uint64_t tag;
    if (rest->len == 0)
        return RC_AGAIN;
    if (!protobuf_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
        return RC_REJECT;
    *field = (struct protobuf_field){.number = (uint32_t)(tag >> 3)};
    return cut_value(rest, (enum wire_type)(tag & 7), field) ? RC_OK : RC_REJECT;
}
