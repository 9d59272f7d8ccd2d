/* SPDX-License-Identifier: Apache-2.0 */
#include "query/walk.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define FORMAT     1
#define NULL_PART  0x80
#define TYPE_OF    0x7f
#define NUMBER_MAX 8

/* ---- out ---- */

static void put_number(struct text *out, uint64_t value, size_t size)
{
    uint64_t little = htole64(value);
    text_append(out, &little, size);
}

static void put_part(struct text *out, const struct field *part)
{
    put_number(out, (uint64_t)part->type | (part->null ? NULL_PART : 0), 1);
    if (part->null)
        return;
    if (row_key_has_bytes(part)) {
        put_number(out, part->b.len, 4);
        text_append(out, part->b.data, part->b.len);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &part->i, sizeof bits); /* a real's bits lie in the same place */
    put_number(out, bits, 8);
}

void walk_encode(const struct walk *walk, struct text *out)
{
    put_number(out, FORMAT, 1);
    put_number(out, (uint64_t)walk->count, 1);
    put_number(out, (uint64_t)walk->at + 1, 1);
    put_number(out, (uint64_t)walk->ended | ((uint64_t)walk->beyond + 1) << 1, 1);
    put_number(out, (uint64_t)walk->number, 8);
    for (int i = 0; i < walk->count; i++) {
        const struct walk_place *place = &walk->places[i];
        put_number(out, place->size, 2);
        put_number(out, place->empty, 1);
        put_number(out, place->key.count, 1);
        for (size_t k = 0; k < place->key.count; k++)
            put_part(out, &place->key.parts[k]);
    }
}

/* ---- in ---- */

struct input {
    struct bytes rest;
    bool bad;
};

static struct bytes take_bytes(struct input *input, size_t size)
{
    if (input->bad || input->rest.len < size) {
        input->bad = true;
        return bytes_make("", 0);
    }
    struct bytes taken = bytes_make(input->rest.data, size);
    input->rest = bytes_make(input->rest.data + size, input->rest.len - size);
    return taken;
}

static uint64_t take_number(struct input *input, size_t size)
{
    uint64_t little = 0;
    assert(size <= NUMBER_MAX);
    struct bytes bytes = take_bytes(input, size);
    memcpy(&little, bytes.data, bytes.len);
    return le64toh(little);
}

static struct field take_part(struct input *input)
{
    uint64_t head = take_number(input, 1), type = head & TYPE_OF;
    if (type > FIELD_REAL) {
        input->bad = true;
        return field_int(0);
    }
    struct field part = {.type = (enum field_type)type, .null = (head & NULL_PART) != 0};
    if (part.null)
        return part;
    if (row_key_has_bytes(&part)) {
        part.b = take_bytes(input, take_number(input, 4));
        return part;
    }
    uint64_t bits = take_number(input, 8);
    memcpy(&part.i, &bits, sizeof bits);
    return part;
}

static void take_place(struct input *input, struct walk_place *place, size_t terms)
{
    struct field parts[ORDER_TERMS_MAX];
    place->size = (uint16_t)take_number(input, 2);
    place->empty = take_number(input, 1) != 0;
    size_t count = take_number(input, 1);
    if (place->size > COLLECTION_PAGE_SIZE_MAX || (count != 0 && count != terms))
        input->bad = true;
    for (size_t i = 0; i < count && !input->bad; i++)
        parts[i] = take_part(input);
    if (!input->bad && count > 0 && !row_key_set(&place->key, parts, count))
        input->bad = true;
}

static bool is_whole(const struct walk *walk)
{
    for (int i = 1; i < walk->count; i++)
        if (walk->places[i].size == 0 || (walk->places[i].key.count == 0 && !walk->places[i].empty))
            return false;
    return (walk->at == -1 || walk->at + 1 < walk->count) && walk->beyond <= 1;
}

bool walk_decode(struct walk *walk, struct bytes bytes, size_t terms)
{
    struct input input = {.rest = bytes};
    assert(terms > 0 && terms <= ORDER_TERMS_MAX);
    *walk = (struct walk){0};
    uint64_t format = take_number(&input, 1), count = take_number(&input, 1);
    input.bad |= format != FORMAT || count == 0 || count > WALK_PLACES_MAX;
    walk->at = (int)take_number(&input, 1) - 1;
    uint64_t flags = take_number(&input, 1);
    walk->ended = (flags & 1) != 0;
    walk->beyond = (int)(flags >> 1) - 1;
    walk->number = (int64_t)take_number(&input, 8);
    while (!input.bad && walk->count < (int)count)
        take_place(&input, &walk->places[walk->count++], terms);
    if (!input.bad && input.rest.len == 0 && is_whole(walk))
        return true;
    walk_clear(walk);
    return false;
}
