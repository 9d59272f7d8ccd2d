/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/card_charset.h"

#include "decode/card_text.h"
#include "decode/url_text.h"

#include <assert.h>
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX   32
#define PENDING_MAX 16 /* of a character whose end has not arrived */
#define UTF8        "UTF-8"
#define LATIN       "CP1252"
#define NO_ICONV    ((iconv_t)-1)

struct card_charset {
    iconv_t iconv; /* NO_ICONV: the page is UTF-8 already */
    char pending[PENDING_MAX];
    size_t pending_len;
};

static const char replacement[] = "\xef\xbf\xbd";

/* Labels of the web in lower case, sorted, and what iconv calls them. */
static const char *const labels[][2] = {
    {"ascii", LATIN},
    {"big5", "BIG5-HKSCS"},
    {"big5-hkscs", "BIG5-HKSCS"},
    {"cp1251", "CP1251"},
    {"cp1252", LATIN},
    {"euc-jp", "EUC-JP"},
    {"euc-kr", "CP949"},
    {"gb18030", "GB18030"},
    {"gb2312", "GB18030"},
    {"gbk", "GB18030"},
    {"iso-2022-jp", "ISO-2022-JP"},
    {"iso-8859-1", LATIN},
    {"iso-8859-10", "ISO-8859-10"},
    {"iso-8859-13", "ISO-8859-13"},
    {"iso-8859-14", "ISO-8859-14"},
    {"iso-8859-15", "ISO-8859-15"},
    {"iso-8859-16", "ISO-8859-16"},
    {"iso-8859-2", "ISO-8859-2"},
    {"iso-8859-3", "ISO-8859-3"},
    {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"},
    {"iso-8859-6", "ISO-8859-6"},
    {"iso-8859-7", "ISO-8859-7"},
    {"iso-8859-8", "ISO-8859-8"},
    {"iso-8859-9", "CP1254"},
    {"koi8-r", "KOI8-R"},
    {"koi8-u", "KOI8-U"},
    {"ks_c_5601-1987", "CP949"},
    {"latin1", LATIN},
    {"macintosh", "MACINTOSH"},
    {"shift-jis", "CP932"},
    {"shift_jis", "CP932"},
    {"sjis", "CP932"},
    {"tis-620", "CP874"},
    {"us-ascii", LATIN},
    {"utf-16", "UTF-16LE"},
    {"utf-16be", "UTF-16BE"},
    {"utf-16le", "UTF-16LE"},
    {"utf-8", UTF8},
    {"utf8", UTF8},
    {"windows-1250", "CP1250"},
    {"windows-1251", "CP1251"},
    {"windows-1252", LATIN},
    {"windows-1253", "CP1253"},
    {"windows-1254", "CP1254"},
    {"windows-1255", "CP1255"},
    {"windows-1256", "CP1256"},
    {"windows-1257", "CP1257"},
    {"windows-1258", "CP1258"},
    {"windows-874", "CP874"},
    {"x-sjis", "CP932"},
};

const char *card_charset_find(struct bytes label)
{
    char lower[LABEL_MAX];
    size_t low = 0, high = sizeof labels / sizeof labels[0];
    if (label.len == 0 || label.len > sizeof lower)
        return NULL;
    for (size_t i = 0; i < label.len; i++)
        lower[i] = url_lower(label.data[i]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = bytes_compare(bytes_make(lower, label.len), bytes_of(labels[middle][0]));
        if (order == 0)
            return labels[middle][1];
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool label_ends(char c)
{
    return (unsigned char)c <= ' ' || strchr(";,\"'>/", c) != NULL;
}

/* What follows the next "charset=" from `*at` on; absent: there is none. */
static struct bytes next_label(struct bytes text, size_t *at)
{
    static const char word[] = "charset";
    const size_t len = sizeof word - 1;
    for (; *at + len < text.len; (*at)++) {
        if (!url_equals_lower(url_cut(text, *at, *at + len), bytes_make(word, len)))
            continue;
        size_t start = *at += len;
        while (start < text.len && (unsigned char)text.data[start] <= ' ')
            start++;
        if (start == text.len || text.data[start] != '=')
            continue;
        start++;
        while (start < text.len && strchr(" \t\r\n\f\"'", text.data[start]) != NULL &&
               text.data[start] != '\0')
            start++;
        size_t end = start;
        while (end < text.len && !label_ends(text.data[end]))
            end++;
        *at = end;
        return url_cut(text, start, end);
    }
    return BYTES_ABSENT;
}

/* A character set named in the head of the page. It was read as ASCII, so it is not UTF-16. */
static const char *declared(struct bytes head)
{
    size_t at = 0;
    struct bytes label;
    while ((label = next_label(head, &at)).data != NULL) {
        const char *name = card_charset_find(label);
        if (name != NULL)
            return bytes_starts_with(bytes_of(name), "UTF-16") ? UTF8 : name;
    }
    return NULL;
}

static bool is_utf8(struct bytes head)
{
    uint32_t point;
    for (size_t at = 0, len; at < head.len; at += len) {
        len = card_text_point(head, at, &point);
        if (len == 0)
            return head.len - at < 4; /* perhaps cut by the end of what there is */
    }
    return true;
}

static const char *choose(struct bytes content_type, struct bytes head)
{
    size_t at = 0;
    if (bytes_starts_with(head, "\xef\xbb\xbf"))
        return UTF8;
    if (bytes_starts_with(head, "\xff\xfe"))
        return "UTF-16LE";
    if (bytes_starts_with(head, "\xfe\xff"))
        return "UTF-16BE";
    const char *name = card_charset_find(next_label(content_type, &at));
    if (name == NULL)
        name = declared(head);
    if (name == NULL)
        name = is_utf8(head) ? UTF8 : LATIN;
    return name;
}

struct card_charset *card_charset_new(struct bytes content_type, struct bytes head)
{
    struct card_charset *charset = memory_new_zeroed(1, sizeof *charset);
    const char *name = choose(content_type, head);
    charset->iconv = NO_ICONV;
    if (strcmp(name, UTF8) != 0)
        charset->iconv = iconv_open(UTF8, name); /* not installed: read as UTF-8 */
    return charset;
}

void card_charset_free(struct card_charset *charset)
{
    if (charset == NULL)
        return;
    if (charset->iconv != NO_ICONV)
        iconv_close(charset->iconv);
    free(charset);
}

/* How many bytes of UTF-8 at the end may be the beginning of a character. */
static size_t unfinished(struct bytes bytes)
{
    for (size_t back = 1; back <= 3 && back <= bytes.len; back++) {
        unsigned char c = (unsigned char)bytes.data[bytes.len - back];
        if (c >= 0xc0)
            return back < (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

/* Passes UTF-8 on; answers how many bytes at the end wait. */
static size_t pass_utf8(struct bytes bytes, struct text *out)
{
    size_t wait = unfinished(bytes), plain = 0;
    uint32_t point;
    bytes.len -= wait;
    for (size_t at = 0, len; at < bytes.len; at += len) {
        len = card_text_point(bytes, at, &point);
        if (len > 0 && point != 0)
            continue;
        text_append(out, bytes.data + plain, at - plain);
        text_append_string(out, replacement);
        len = 1;
        plain = at + 1;
    }
    text_append(out, bytes.data + plain, bytes.len - plain);
    return wait;
}

/* The same through iconv. */
static size_t pass_other(iconv_t iconv_handle, struct bytes bytes, struct text *out)
{
    char room[4096], *in = memory_new(bytes.len + 1), *at = in;
    size_t left = bytes.len;
    if (bytes.len > 0)
        memcpy(in, bytes.data, bytes.len);
    while (left > 0) {
        char *to = room;
        size_t free_room = sizeof room;
        size_t done = iconv(iconv_handle, &at, &left, &to, &free_room);
        int problem = done == (size_t)-1 ? errno : 0;
        pass_utf8(bytes_make(room, sizeof room - free_room), out);
        if (problem == EINVAL && left < PENDING_MAX)
            break;
        if (problem == EILSEQ || problem == EINVAL) {
            text_append_string(out, replacement);
            at++;
            left--;
        }
    }
    free(in);
    return left;
}

void card_charset_convert(struct card_charset *charset, struct bytes bytes, struct text *out)
{
    struct text whole = {0};
    if (charset->pending_len > 0) {
        text_append(&whole, charset->pending, charset->pending_len);
        text_append(&whole, bytes.data, bytes.len);
        bytes = text_bytes(&whole);
    }
    size_t wait =
        charset->iconv == NO_ICONV ? pass_utf8(bytes, out) : pass_other(charset->iconv, bytes, out);
    assert(wait < PENDING_MAX);
    if (wait > 0)
        memcpy(charset->pending, bytes.data + bytes.len - wait, wait);
    charset->pending_len = wait;
    text_free(&whole);
}
