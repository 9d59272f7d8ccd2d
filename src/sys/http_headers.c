/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/http_headers.h"

#include "sys/runtime.h"

#include <curl/curl.h>
#include <string.h>

#define RETRY_AFTER_S_MAX 31536000

static struct bytes trim(struct bytes text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = bytes_make(text.data + 1, text.len - 1);
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
        text.len--;
    return text;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool http_headers_add(struct text *headers, struct bytes line)
{
    if (bytes_starts_with(line, "HTTP/")) {
        text_clear(headers);
        return true;
    }
    const char *colon = line.len == 0 ? NULL : memchr(line.data, ':', line.len);
    if (colon == NULL || colon == line.data || line.data[0] == ' ' || line.data[0] == '\t')
        return true;
    if (headers->len + line.len > HTTP_HEADERS_BYTES_MAX)
        return false;
    for (const char *c = line.data; c < colon; c++)
        text_append_char(headers, lower(*c));
    text_append_string(headers, ": ");
    struct bytes value = trim(bytes_make(colon + 1, line.len - (size_t)(colon + 1 - line.data)));
    text_append(headers, value.data, value.len);
    text_append_string(headers, "\r\n");
    return true;
}

struct bytes http_headers_find(struct bytes headers, const char *name)
{
    size_t name_len = strlen(name);
    while (headers.len > 0) {
        const char *end = memmem(headers.data, headers.len, "\r\n", 2);
        size_t len = end == NULL ? headers.len : (size_t)(end - headers.data);
        if (len >= name_len + 2 && memcmp(headers.data, name, name_len) == 0 &&
            headers.data[name_len] == ':' && headers.data[name_len + 1] == ' ')
            return bytes_make(headers.data + name_len + 2, len - name_len - 2);
        size_t used = end == NULL ? len : len + 2;
        headers = bytes_make(headers.data + used, headers.len - used);
    }
    return BYTES_ABSENT;
}

/* Seconds since 1970, or -1. */
static int64_t read_date(struct bytes value)
{
    char text[64];
    if (value.len == 0 || value.len >= sizeof text)
        return -1;
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    return (int64_t)curl_getdate(text, NULL);
}

int64_t http_headers_date(struct bytes headers)
{
    return read_date(http_headers_find(headers, "date"));
}

int64_t http_headers_retry_after(struct bytes headers, int64_t wall_us)
{
    uint64_t seconds;
    struct bytes value = http_headers_find(headers, "retry-after");
    if (value.len == 0)
        return -1;
    if (!bytes_to_u64(value, &seconds)) {
        int64_t then = read_date(value), now = http_headers_date(headers);
        if (then < 0)
            return -1;
        if (now < 0)
            now = wall_us / 1000000;
        seconds = then > now ? (uint64_t)(then - now) : 0;
    }
    return (int64_t)(seconds < RETRY_AFTER_S_MAX ? seconds : RETRY_AFTER_S_MAX) * 1000;
}

struct bytes http_header_value(const struct http_response *response, const char *name)
{
    return http_headers_find(response->headers, name);
}
