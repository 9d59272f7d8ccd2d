/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes bytes_of(const char *string)
{
    return (struct bytes){string, string == NULL ? 0 : strlen(string)};
}

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool bytes_equal_string(struct bytes a, const char *string)
{
    return bytes_equal(a, bytes_of(string));
}

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool bytes_starts_with(struct bytes a, const char *prefix)
{
    size_t len = strlen(prefix);
    return a.len >= len && memcmp(a.data, prefix, len) == 0;
}

bool bytes_to_u64(struct bytes a, uint64_t *out)
{
    uint64_t value = 0;
    if (a.len == 0)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        unsigned digit = (unsigned)(unsigned char)a.data[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool bytes_to_i64(struct bytes a, int64_t *out)
{
    bool negative = a.len > 0 && a.data[0] == '-';
    uint64_t magnitude;
    if (negative)
        a = bytes_make(a.data + 1, a.len - 1);
    if (!bytes_to_u64(a, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static void *or_end(void *memory, size_t size)
{
    if (memory == NULL) {
        fprintf(stderr, "tidemark: no memory for %zu bytes\n", size);
        abort();
    }
    return memory;
}

void *memory_new(size_t size)
{
    return or_end(malloc(size == 0 ? 1 : size), size);
}

void *memory_new_zeroed(size_t count, size_t size)
{
    return or_end(calloc(count == 0 ? 1 : count, size == 0 ? 1 : size), count * size);
}

void *memory_resize(void *old, size_t size)
{
    return or_end(realloc(old, size == 0 ? 1 : size), size);
}

char *memory_copy_string(const char *string)
{
    size_t size = strlen(string) + 1;
    return memcpy(memory_new(size), string, size);
}

char *text_reserve(struct text *text, size_t more)
{
    assert(more < SIZE_MAX / 4 && text->len <= text->cap);
    if (text->cap - text->len < more + 1) {
        size_t cap = text->cap < 64 ? 64 : text->cap;
        while (cap - text->len < more + 1)
            cap *= 2;
        text->data = memory_resize(text->data, cap);
        text->cap = cap;
    }
    return text->data + text->len;
}

void text_append(struct text *text, const void *data, size_t len)
{
    char *end = text->cap - text->len > len ? text->data + text->len : text_reserve(text, len);
    if (len > 0)
        memcpy(end, data, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void text_append_string(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_append_char(struct text *text, char c)
{
    char *end = text->cap - text->len > 1 ? text->data + text->len : text_reserve(text, 1);
    end[0] = c;
    end[1] = '\0';
    text->len++;
}

static struct bytes print_u64(uint64_t value, char out[DECIMAL_MAX])
{
    size_t at = DECIMAL_MAX;
    do
        out[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    return bytes_make(out + at, DECIMAL_MAX - at);
}

struct bytes decimal_of(int64_t value, char out[DECIMAL_MAX])
{
    struct bytes digits = print_u64(value < 0 ? -(uint64_t)value : (uint64_t)value, out);
    if (value >= 0)
        return digits;
    size_t at = (size_t)(digits.data - out) - 1;
    out[at] = '-';
    return bytes_make(out + at, digits.len + 1);
}

void text_append_i64(struct text *text, int64_t value)
{
    char out[DECIMAL_MAX];
    struct bytes digits = decimal_of(value, out);
    text_append(text, digits.data, digits.len);
}

void text_append_u64(struct text *text, uint64_t value)
{
    char out[DECIMAL_MAX];
    struct bytes digits = print_u64(value, out);
    text_append(text, digits.data, digits.len);
}

void text_vappendf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = text->cap - text->len;
    int len = vsnprintf(room > 0 ? text->data + text->len : NULL, room, format, args);
    assert(len >= 0);
    if ((size_t)len >= room)
        vsnprintf(text_reserve(text, (size_t)len), (size_t)len + 1, format, again);
    va_end(again);
    text->len += (size_t)len;
}

void text_appendf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vappendf(text, format, args);
    va_end(args);
}

void text_clear(struct text *text)
{
    text->len = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

const char *text_string(const struct text *text)
{
    return text->data == NULL ? "" : text->data;
}
