/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address_words.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* ---- where a redirect leads ---- */

#define HOST_SHOWN_MAX 40
#define NOWHERE        ", to a place without a name"

static bool begins_with(struct bytes text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && strncasecmp(text.data, word, len) == 0;
}

/* Nothing of a stranger's but letters that a host and a port have. */
static bool is_host(struct bytes host)
{
    for (size_t i = 0; i < host.len; i++)
        if (host.data[i] == '\0' ||
            (!isalnum((unsigned char)host.data[i]) && strchr(".-_:[]", host.data[i]) == NULL))
            return false;
    return host.len > 0;
}

static void tell_host(const char *scheme, struct bytes host, char out[ADDRESS_REDIRECT_MAX])
{
    size_t cut = host.len > HOST_SHOWN_MAX ? host.len - HOST_SHOWN_MAX : 0;
    if (is_host(host))
        snprintf(out, ADDRESS_REDIRECT_MAX, ", to %s%s%.*s", scheme, cut > 0 ? "..." : "",
                 (int)(host.len - cut), host.data + cut);
    else
        snprintf(out, ADDRESS_REDIRECT_MAX, NOWHERE);
}

void address_redirect_words(struct bytes location, char out[ADDRESS_REDIRECT_MAX])
{
    static const char *const schemes[] = {"https://", "http://", "//"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (begins_with(location, schemes[i])) {
            struct bytes host = until(after(location, strlen(schemes[i])), "/?#\\");
            for (size_t at = host.len; at > 0; at--)
                if (host.data[at - 1] == '@') {
                    host = after(host, at);
                    break;
                }
            tell_host(i < 2 ? schemes[i] : "", host, out);
            return;
        }
    bool elsewhere = location.len > 0 && memmem(location.data, location.len, "://", 3) != NULL;
    snprintf(out, ADDRESS_REDIRECT_MAX, "%s",
             location.len == 0 ? ""
             : elsewhere       ? NOWHERE
                               : ", to another path");
}
