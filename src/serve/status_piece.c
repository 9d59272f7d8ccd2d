/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/status_piece.h"

#include <inttypes.h>
#include <stdio.h>

int64_t piece_number_in(struct json object, const char *key)
{
    int64_t number = 0;
    (void)json_i64(json_get(object, key), &number);
    return number;
}

struct bytes piece_words_in(struct json object, const char *key)
{
    return json_string_or_absent(json_get(object, key));
}

void piece_begin_section(struct markup *page, const char *id, const char *title)
{
    markup_begin_class(page, "section", "panel");
    markup_attr_string(page, "id", id);
    markup_leaf(page, "h2", title);
}

void piece_begin_table(struct markup *page, const char *caption, const char *const *heads,
                       size_t count)
{
    markup_begin_class(page, "div", "wide");
    markup_attr_string(page, "tabindex", "0");
    markup_attr_string(page, "role", "region");
    markup_attr_string(page, "aria-label", caption);
    markup_begin(page, "table");
    markup_begin(page, "thead");
    markup_begin(page, "tr");
    for (size_t i = 0; i < count; i++) {
        bool number = heads[i][0] == '#';
        markup_begin_class(page, "th", number ? "number" : "label");
        markup_attr_string(page, "scope", "col");
        markup_string(page, heads[i] + number);
        markup_end(page, "th");
    }
    markup_end(page, "tr");
    markup_end(page, "thead");
    markup_begin(page, "tbody");
}

void piece_end_table(struct markup *page)
{
    markup_end(page, "tbody");
    markup_end(page, "table");
    markup_end(page, "div");
}

void piece_words(struct markup *page, struct bytes words)
{
    markup_begin(page, "td");
    if (words.len > 0)
        markup_stranger(page, words, PIECE_WORDS_MAX);
    else
        markup_string(page, "\xe2\x80\x93");
    markup_end(page, "td");
}

void piece_number(struct markup *page, int64_t number, bool notable)
{
    markup_begin_class(page, "td", notable && number > 0 ? "number notable" : "number");
    markup_textf(page, "%" PRId64, number);
    markup_end(page, "td");
}

void piece_fact(struct markup *page, const char *name, const char *format, ...)
{
    struct text words = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&words, format, args);
    va_end(args);
    markup_begin(page, "div");
    markup_leaf(page, "dt", name);
    markup_begin(page, "dd");
    markup_text(page, text_bytes(&words));
    markup_end(page, "dd");
    markup_end(page, "div");
    text_free(&words);
}

void piece_append_span(char *out, size_t size, int64_t seconds)
{
    if (seconds < 120)
        snprintf(out, size, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%" PRId64 " min", seconds / 60);
    else
        snprintf(out, size, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds / 60 % 60);
}
