/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_page.h"

#include <string.h>

#define EXACT_DIGITS_MAX 15 /* a double keeps so many, whatever they are */
#define WHOLE_DIGITS_MAX 19 /* more may not fit 64 bits */

struct number {
    size_t len;    /* of the text; 0: this is no number */
    size_t digits; /* without zeros in front */
    bool whole;
};

static size_t skip_digits(struct bytes text, size_t at)
{
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}

static size_t count_digits(struct bytes text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] >= '0' && text.data[i] <= '9' && (count > 0 || text.data[i] != '0'))
            count++;
    return count;
}

/* As JSON writes them; what is written otherwise is left for the parser to refuse. */
static struct number read_number(struct bytes text)
{
    size_t first = text.data[0] == '-' ? 1 : 0, at = skip_digits(text, first);
    struct number number = {0, 0, true};
    if (at == first || (text.data[first] == '0' && at > first + 1))
        return number;
    if (at < text.len && text.data[at] == '.') {
        number.whole = false;
        size_t end = skip_digits(text, at + 1);
        if (end == at + 1)
            return number;
        at = end;
    }
    number.digits = count_digits(bytes_make(text.data, at));
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        number.whole = false;
        at++;
        if (at < text.len && (text.data[at] == '+' || text.data[at] == '-'))
            at++;
        size_t end = skip_digits(text, at);
        if (end == at)
            return number;
        at = end;
    }
    number.len = at;
    return number;
}

/* Behind the string that begins at `at`. */
static size_t skip_string(struct bytes text, size_t at)
{
    for (size_t from = at + 1; from < text.len;) {
        const char *quote = memchr(text.data + from, '"', text.len - from);
        if (quote == NULL)
            break;
        size_t end = (size_t)(quote - text.data), escapes = 0;
        while (text.data[end - 1 - escapes] == '\\')
            escapes++;
        from = end + 1;
        if (escapes % 2 == 0)
            return from;
    }
    return text.len;
}

/* Copies `body` with every number that a reader would round put into quotes; false, and nothing
 * worth reading in `out`, when it has none. */
static bool quote_numbers(struct bytes body, struct text *out)
{
    size_t copied = 0;
    text_clear(out);
    for (size_t at = 0; at < body.len;) {
        char c = body.data[at];
        if (c == '"') {
            at = skip_string(body, at);
            continue;
        }
        if (c != '-' && (c < '0' || c > '9')) {
            at++;
            continue;
        }
        struct number number = read_number(bytes_make(body.data + at, body.len - at));
        if (number.len > 0 &&
            number.digits > (number.whole ? WHOLE_DIGITS_MAX : EXACT_DIGITS_MAX)) {
            text_append(out, body.data + copied, at - copied);
            text_append_char(out, '"');
            text_append(out, body.data + at, number.len);
            text_append_char(out, '"');
            copied = at + number.len;
        }
        at += number.len > 0 ? number.len : 1;
    }
    if (copied == 0)
        return false;
    text_append(out, body.data + copied, body.len - copied);
    return true;
}

enum rc connector_parse(struct json_doc *doc, struct bytes body, struct text *scratch,
                        struct json *root, struct err *err)
{
    if (!quote_numbers(body, scratch))
        return json_parse(doc, body, root, err);
    text_reserve(scratch, ARENA_PAD);
    return json_parse(doc, text_bytes(scratch), root, err);
}
