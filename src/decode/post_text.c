/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/post_text.h"

#include "decode/card_text.h"
#include "decode/url_host.h"
#include "decode/url_text.h"

#include <string.h>

#define ELLIPSIS 0x2026

/* Scripts that put no space between an address and the next word. */
static bool cjk_letter(uint32_t point)
{
    return (point >= 0x1100 && point < 0x1200) || (point >= 0x2e80 && point < 0x3000) ||
           (point >= 0x3040 && point < 0xd7b0) || (point >= 0xf900 && point < 0xfb00) ||
           (point >= 0x20000 && point < 0x40000);
}

/* May stand in an address that somebody typed into a text. */
static bool address_letter(uint32_t point)
{
    if (point < 0x80)
        return point > ' ' && point != 0x7f && strchr("<>\"`\\", (int)point) == NULL;
    return point >= 0xc0 && point < 0x2000 && !cjk_letter(point);
}

/* Where the host that begins at `at` ends. In it CJK letters count, until it could be complete:
 * what follows "example.com" is the next word. */
static size_t host_end(struct bytes text, size_t at)
{
    bool dot = false, ascii = false;
    uint32_t point;
    for (size_t len; at < text.len; at += len) {
        len = card_text_point(text, at, &point);
        bool letter = len > 0 && (address_letter(point) || (cjk_letter(point) && !(dot && ascii)));
        if (!letter || point == '/' || point == '?' || point == '#')
            break;
        dot = dot || point == '.';
        ascii = point < 0x80 && url_letter_or_digit((char)point);
    }
    return at;
}

static size_t address_end(struct bytes text, size_t at)
{
    uint32_t point;
    for (size_t len; at < text.len; at += len) {
        len = card_text_point(text, at, &point);
        if (len == 0 || !address_letter(point))
            break;
    }
    return at;
}

/* Which kind of bracket, from 0; -1 for none. */
static int bracket(char c, const char *kinds)
{
    const char *at = c == '\0' ? NULL : strchr(kinds, c);
    return at == NULL ? -1 : (int)(at - kinds);
}

/* Takes off the end what belongs to the sentence. */
static struct bytes trim(struct bytes url)
{
    size_t surplus[3] = {0}, open[3] = {0};
    for (size_t i = 0; i < url.len; i++) {
        int opens = bracket(url.data[i], "([{"), closes = bracket(url.data[i], ")]}");
        if (opens >= 0)
            open[opens]++;
        if (closes >= 0 && open[closes] > 0)
            open[closes]--;
        else if (closes >= 0)
            surplus[closes]++;
    }
    while (url.len > 0) {
        char last = url.data[url.len - 1];
        int closes = bracket(last, ")]}");
        if (closes >= 0 && surplus[closes] > 0)
            surplus[closes]--;
        else if (bracket(last, ".,;:!?'*([{") < 0)
            break;
        url.len--;
    }
    return url;
}

/* An ellipsis stands at `at`, or three dots were just taken off before it. */
static bool shortened(struct bytes text, struct bytes url, size_t at, bool bare)
{
    uint32_t point;
    if (at < text.len && card_text_point(text, at, &point) > 0 && point == ELLIPSIS)
        return true;
    const char *dots = url.data + url.len;
    return bare && text.data + at - dots >= 3 && memcmp(dots, "...", 3) == 0;
}

/* How many bytes "http://" or "https://" takes at `at`; 0: it is not there. */
static size_t match_scheme(struct bytes text, size_t at)
{
    struct bytes rest = url_cut(text, at, text.len);
    if (rest.len > 8 && url_equals_lower(url_cut(rest, 0, 8), bytes_of("https://")))
        return 8;
    return rest.len > 7 && url_equals_lower(url_cut(rest, 0, 7), bytes_of("http://")) ? 7 : 0;
}

/* The end of an ASCII host name at `at`; `at` itself when there is none. */
static size_t match_name(struct bytes text, size_t at)
{
    char lower[URL_HOST_MAX];
    size_t len = 0;
    while (at + len < text.len && len < sizeof lower &&
           (url_letter_or_digit(text.data[at + len]) || text.data[at + len] == '-' ||
            text.data[at + len] == '.')) {
        lower[len] = url_lower(text.data[at + len]);
        len++;
    }
    if (len == sizeof lower || len == 0 || !url_letter_or_digit(lower[len - 1]) ||
        memchr(lower, '.', len) == NULL)
        return at;
    return url_host_has_known_suffix(bytes_make(lower, len)) ? at + len : at;
}

/* A word begins at `at`; `before` is what stands there. */
static bool word_begins(uint32_t before)
{
    return before <= ' ' || (before < 0x80 && strchr("([{<\"'|", (int)before) != NULL) ||
           before >= 0x2000 || cjk_letter(before);
}

/* Without a scheme: a known kind of name, and www. before it or a path behind it. */
static size_t match_bare(struct bytes text, size_t at)
{
    size_t end = match_name(text, at);
    if (end == at)
        return at;
    if (text.len > end + URL_BYTES_MAX)
        text.len = end + URL_BYTES_MAX;
    size_t after = address_end(text, end);
    bool www = end - at > 4 && url_equals_lower(url_cut(text, at, at + 4), bytes_of("www."));
    bool path = after - end >= 2 && text.data[end] == '/';
    if (memchr(text.data + at, '@', after - at) != NULL)
        return at;
    return path || (www && (after == end || strchr("/?#.,;:!)]}'*", text.data[end]) != NULL))
               ? after
               : at;
}

static bool take(struct bytes text, size_t start, size_t end, bool bare,
                 struct post_text_url *found)
{
    found->url = trim(url_cut(text, start, end));
    found->start = start;
    found->bare = bare;
    return found->url.len > 0 && !shortened(text, found->url, end, bare);
}

/* Without a dot inside a word, or what stands behind a scheme, no address can begin. */
static bool is_promising(struct bytes text)
{
    const char *end = text.data + text.len;
    for (const char *dot = text.data; dot < end; dot++) {
        dot = memchr(dot, '.', (size_t)(end - dot));
        if (dot == NULL)
            break;
        if (dot + 1 < end && url_letter_or_digit(dot[1]))
            return true;
    }
    return text.len > 0 && memmem(text.data, text.len, "://", 3) != NULL;
}

bool post_text_next(struct post_text *walk, struct post_text_url *found)
{
    struct bytes text = walk->text;
    uint32_t before = ' ', point;
    if (!is_promising(url_cut(text, walk->at, text.len)))
        walk->at = text.len;
    for (size_t at = walk->at, len; at < text.len; at += len, before = point) {
        size_t end = at, scheme = 0;
        len = card_text_point(text, at, &point);
        if (len == 0) {
            len = 1;
            point = 0xfffd;
        }
        bool inside = before < 0x80 && url_letter_or_digit((char)before);
        if (!inside && (point | 0x20) == 'h')
            scheme = match_scheme(text, at);
        if (scheme > 0)
            end = address_end(text, host_end(text, at + scheme));
        else if (len == 1 && point < 0x80 && url_letter_or_digit((char)point) &&
                 word_begins(before))
            end = match_bare(text, at);
        if (end > at) {
            walk->at = end;
            if (take(text, at, end, scheme == 0, found))
                return true;
            len = end - at;
            point = ' ';
        }
    }
    walk->at = text.len;
    return false;
}
