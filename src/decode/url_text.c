/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/url_text.h"

#include <assert.h>
#include <string.h>

static const char hex_digits[] = "0123456789ABCDEF";

void url_text_put(struct url_text *text, char c)
{
    assert(text->len <= text->max);
    if (text->len == text->max)
        text->full = true;
    if (!text->full)
        text->data[text->len++] = c;
}

void url_text_put_bytes(struct url_text *text, struct bytes bytes)
{
    assert(text->len <= text->max);
    if (bytes.len > text->max - text->len)
        text->full = true;
    if (text->full || bytes.len == 0)
        return;
    memmove(text->data + text->len, bytes.data, bytes.len);
    text->len += bytes.len;
}

void url_text_put_string(struct url_text *text, const char *string)
{
    url_text_put_bytes(text, bytes_of(string));
}

static void put_escaped(struct url_text *text, unsigned char c)
{
    const char escape[3] = {'%', hex_digits[c >> 4], hex_digits[c & 15]};
    url_text_put_bytes(text, bytes_make(escape, sizeof escape));
}

static bool must_escape(unsigned char c, enum url_part part)
{
    if (c <= 0x20 || c >= 0x7f)
        return true;
    switch (c) {
    case '"':
    case '<':
    case '>':
        return true;
    case '#':
        return part != URL_PART_FRAGMENT;
    case '\'':
        return part == URL_PART_QUERY;
    case '`':
        return part != URL_PART_QUERY;
    case '?':
    case '^':
    case '{':
    case '}':
        return part == URL_PART_PATH;
    default:
        return false;
    }
}

void url_text_put_part(struct url_text *text, struct bytes bytes, enum url_part part)
{
    size_t plain = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (!must_escape(c, part))
            continue;
        url_text_put_bytes(text, url_cut(bytes, plain, i));
        put_escaped(text, c);
        plain = i + 1;
    }
    url_text_put_bytes(text, url_cut(bytes, plain, bytes.len));
}

int url_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = url_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool url_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (url_lower(c) >= 'a' && url_lower(c) <= 'z');
}

/* The byte that the escape at `at` stands for, or -1. */
static int escaped_byte(struct bytes bytes, size_t at)
{
    if (bytes.data[at] != '%' || bytes.len - at < 3)
        return -1;
    int high = url_hex_value(bytes.data[at + 1]), low = url_hex_value(bytes.data[at + 2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool unreserved(int c)
{
    return url_letter_or_digit((char)c) || c == '-' || c == '.' || c == '_' || c == '~';
}

void url_text_put_folded(struct url_text *text, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.data[i] != '%') {
            url_text_put(text, bytes.data[i]);
            continue;
        }
        int c = escaped_byte(bytes, i);
        if (c >= 0 && c < 0x80 && unreserved(c))
            url_text_put(text, (char)c);
        else
            put_escaped(text, c < 0 ? '%' : (unsigned char)c);
        i += c < 0 ? 0 : 2;
    }
}

void url_text_put_escaped(struct url_text *text, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (unreserved((unsigned char)bytes.data[i]))
            url_text_put(text, bytes.data[i]);
        else
            put_escaped(text, (unsigned char)bytes.data[i]);
}

void url_text_put_unescaped(struct url_text *text, struct bytes bytes, bool plus)
{
    for (size_t i = 0; i < bytes.len; i++) {
        int c = escaped_byte(bytes, i);
        if (c >= 0) {
            url_text_put(text, (char)(unsigned char)c);
            i += 2;
        } else {
            url_text_put(text, plus && bytes.data[i] == '+' ? ' ' : bytes.data[i]);
        }
    }
}

bool url_equals_lower(struct bytes a, struct bytes lower)
{
    if (a.len != lower.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (url_lower(a.data[i]) != lower.data[i])
            return false;
    return true;
}
