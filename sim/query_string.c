/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/query_string.h"

#include <string.h>

struct query_walk query_walk(struct bytes query)
{
    return (struct query_walk){.rest = query};
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct bytes decode(struct bytes raw, struct text *out)
{
    text_clear(out);
    for (size_t i = 0; i < raw.len; i++) {
        int high = raw.data[i] == '%' && i + 2 < raw.len ? hex_value(raw.data[i + 1]) : -1;
        int low = high >= 0 ? hex_value(raw.data[i + 2]) : -1;
        if (low >= 0) {
            text_append_char(out, (char)(high * 16 + low));
            i += 2;
        } else {
            text_append_char(out, raw.data[i] == '+' ? ' ' : raw.data[i]);
        }
    }
    return bytes_make(text_string(out), out->len);
}

bool query_walk_next(struct query_walk *walk)
{
    while (walk->rest.len > 0) {
        const char *end = memchr(walk->rest.data, '&', walk->rest.len);
        size_t len = end == NULL ? walk->rest.len : (size_t)(end - walk->rest.data);
        struct bytes pair = bytes_make(walk->rest.data, len);
        size_t step = end == NULL ? len : len + 1;
        walk->rest = bytes_make(walk->rest.data + step, walk->rest.len - step);
        if (len == 0)
            continue;
        const char *equals = memchr(pair.data, '=', len);
        size_t name_len = equals == NULL ? len : (size_t)(equals - pair.data);
        size_t value_at = equals == NULL ? len : name_len + 1;
        walk->name = decode(bytes_make(pair.data, name_len), &walk->name_text);
        walk->value = decode(bytes_make(pair.data + value_at, len - value_at), &walk->value_text);
        return true;
    }
    return false;
}

void query_walk_deinit(struct query_walk *walk)
{
    text_free(&walk->name_text);
    text_free(&walk->value_text);
}

bool query_get(struct bytes query, const char *name, char *out, size_t size)
{
    struct query_walk walk = query_walk(query);
    bool found = false;
    while (!found && query_walk_next(&walk)) {
        if (!bytes_equal_string(walk.name, name) || walk.value.len >= size)
            continue;
        memcpy(out, walk.value.data, walk.value.len);
        out[walk.value.len] = '\0';
        found = true;
    }
    query_walk_deinit(&walk);
    return found;
}

uint64_t query_get_u64(struct bytes query, const char *name, uint64_t fallback)
{
    char value[32];
    uint64_t number;
    if (query_get(query, name, value, sizeof value) && bytes_to_u64(bytes_of(value), &number))
        return number;
    return fallback;
}
