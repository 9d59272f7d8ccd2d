/* SPDX-License-Identifier: Apache-2.0
 *
 * bytes.h - a borrowed run of bytes, and a text buffer that grows.
 *
 * `struct bytes` never owns what it points at and need not be NUL-terminated. A NULL `data` with
 * length 0 is "absent"; a non-NULL `data` with length 0 is "empty". `struct text` owns its memory,
 * is always NUL-terminated after its first append, and aborts when memory runs out. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bytes {
    const char *data;
    size_t len;
};

#define BYTES_ABSENT ((struct bytes){NULL, 0})

static inline struct bytes bytes_make(const void *data, size_t len)
{
    struct bytes bytes = {(const char *)data, len};
    return bytes;
}

/* The bytes of a C string, or absent for NULL. */
struct bytes bytes_of(const char *string);
bool bytes_equal(struct bytes a, struct bytes b);
bool bytes_equal_string(struct bytes a, const char *string);
/* memcmp order, a shorter prefix first: the text order of both stores. */
int bytes_compare(struct bytes a, struct bytes b);
bool bytes_starts_with(struct bytes a, const char *prefix);
/* Strict decimal: digits only, an optional leading '-' for the signed one; no overflow. */
bool bytes_to_u64(struct bytes a, uint64_t *out);
bool bytes_to_i64(struct bytes a, int64_t *out);

#define DECIMAL_MAX 20 /* digits of any number of 64 bits, and a sign */

/* The number in decimal, somewhere in `out`. */
struct bytes decimal_of(int64_t value, char out[DECIMAL_MAX]);

struct text {
    char *data;
    size_t len, cap;
};

void text_append(struct text *text, const void *data, size_t len);
void text_append_string(struct text *text, const char *string);
void text_append_char(struct text *text, char c);
void text_append_i64(struct text *text, int64_t value);
void text_append_u64(struct text *text, uint64_t value);
void text_appendf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vappendf(struct text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Makes room for `more` bytes beyond the end and returns where they begin; the caller adds what it
 * used to `len`. */
char *text_reserve(struct text *text, size_t more);
/* Empties the text and keeps its memory. */
void text_clear(struct text *text);
void text_free(struct text *text);
/* What the text holds, as a C string ("" when nothing was ever appended). */
const char *text_string(const struct text *text);
static inline struct bytes text_bytes(const struct text *text)
{
    return bytes_make(text->data, text->len);
}

/* malloc, calloc and realloc that abort on failure: a crash is a supported operation here. */
void *memory_new(size_t size);
void *memory_new_zeroed(size_t count, size_t size);
void *memory_resize(void *old, size_t size);
char *memory_copy_string(const char *string);

#ifdef __cplusplus
}
#endif

#endif
