/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address_words.h"

#include "base/utf8.h"

#include <string.h>

static struct bytes until(struct bytes text, const char *stops)
{
    size_t len = 0;
    while (len < text.len && strchr(stops, text.data[len]) == NULL)
        len++;
    return bytes_make(text.data, len);
}

static struct bytes after(struct bytes text, size_t len)
{
    return bytes_make(text.data + len, text.len - len);
}

/* ---- the site ---- */

static struct bytes site_of(struct bytes authority)
{
    for (size_t i = authority.len; i > 0; i--)
        if (authority.data[i - 1] == '@') {
            authority = after(authority, i);
            break;
        }
    struct bytes host = until(authority, ":");
    return bytes_starts_with(host, "www.") ? after(host, strlen("www.")) : host;
}

/* ---- what the path says ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80 || c == '%';
}

static bool has_word(struct bytes part)
{
    for (size_t i = 0; i < part.len; i++)
        if (is_word(part.data[i]))
            return true;
    return false;
}

/* The last part of the path that has a letter; else the last one. */
static struct bytes telling_part(struct bytes path)
{
    struct bytes told = BYTES_ABSENT;
    while (path.len > 0) {
        struct bytes part = until(path, "/");
        if (part.len > 0 && (has_word(part) || !has_word(told)))
            told = part;
        path = after(path, part.len < path.len ? part.len + 1 : part.len);
    }
    return told;
}

static struct bytes without_ending(struct bytes part)
{
    static const char *const endings[] = {".html", ".htm", ".shtml", ".php", ".aspx", ".asp"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t len = strlen(endings[i]);
        if (part.len > len && memcmp(part.data + part.len - len, endings[i], len) == 0)
            return bytes_make(part.data, part.len - len);
    }
    return part;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at `*at`, which moves past it. */
static char next_char(struct bytes part, size_t *at)
{
    char c = part.data[(*at)++];
    if (c != '%' || part.len - *at < 2)
        return c;
    int high = hex_digit(part.data[*at]), low = hex_digit(part.data[*at + 1]);
    if (high < 0 || low < 0)
        return c;
    *at += 2;
    return (char)(high * 16 + low);
}

static void append_words(struct bytes part, struct text *out)
{
    struct text words = {0};
    bool space = false;
    for (size_t at = 0; at < part.len;) {
        char c = next_char(part, &at);
        if ((unsigned char)c <= ' ' || c == 0x7f || strchr("-_+", c) != NULL) {
            space = words.len > 0;
            continue;
        }
        if (space)
            text_append_char(&words, ' ');
        space = false;
        text_append_char(&words, c);
    }
    if (words.len > 0) {
        text_append_string(out, ": ");
        utf8_append(out, text_bytes(&words));
    }
    text_free(&words);
}

void address_words_append(struct bytes url, struct text *out)
{
    if (url.len == 0)
        return;
    struct bytes scheme = until(url, ":/?#");
    struct bytes rest = after(url, scheme.len);
    struct bytes site = BYTES_ABSENT;
    if (bytes_starts_with(rest, "://")) {
        rest = after(rest, strlen("://"));
        struct bytes authority = until(rest, "/?#");
        rest = until(after(rest, authority.len), "?#");
        site = site_of(authority);
    }
    utf8_append(out, site.len > 0 ? site : url);
    if (site.len > 0)
        append_words(without_ending(telling_part(rest)), out);
}
