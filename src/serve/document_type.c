/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/document_type.h"

#include "base/picture_type.h"
#include "base/utf8.h"

#include <string.h>

#define BYTES_TYPE    "application/octet-stream"
#define CHARACTER_MAX 4

static bool is_text_byte(unsigned char c)
{
    return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n' || c == '\r';
}

static bool is_text(struct bytes head, bool cut)
{
    const unsigned char *bytes = (const unsigned char *)head.data;
    size_t at = 0, bad;
    while (at < head.len) {
        size_t left = head.len - at;
        size_t len =
            bytes[at] < 0x80 ? is_text_byte(bytes[at]) : utf8_sequence(bytes + at, left, &bad);
        if (len == 0)
            return cut && bytes[at] >= 0xc2 && left < CHARACTER_MAX && bad == left;
        at += len;
    }
    return true;
}

static size_t skip_blanks(struct bytes head, size_t at)
{
    while (at < head.len && strchr(" \t\r\n", head.data[at]) != NULL)
        at++;
    return at;
}

/* An object, or a list of something that no prose in brackets begins with. */
static bool begins_as_json(struct bytes head)
{
    size_t at = skip_blanks(head, 0);
    if (at == head.len || (head.data[at] != '{' && head.data[at] != '['))
        return false;
    const char *next = head.data[at] == '{' ? "\"}" : "\"{[]";
    at = skip_blanks(head, at + 1);
    return at < head.len && strchr(next, head.data[at]) != NULL;
}

const char *document_type_of(struct bytes head, bool cut)
{
    const char *picture = picture_type_of(head);
    if (picture != NULL)
        return picture;
    if (head.len == 0 || !is_text(head, cut))
        return BYTES_TYPE;
    return begins_as_json(head) ? "application/json" : "text/plain; charset=utf-8";
}
