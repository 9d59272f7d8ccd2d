/* SPDX-License-Identifier: Apache-2.0 */
#include "base/markup.h"

#include "base/utf8.h"

#include <assert.h>
#include <string.h>

/* ---- what is text ---- */

static bool is_plain(unsigned char c)
{
    return (c >= 0x20 || c == '\t' || c == '\n') && c < 0x7f && c != '&' && c != '<' && c != '>' &&
           c != '"' && c != '\'';
}

static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return UTF8_REPLACEMENT;
    }
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_character(const unsigned char *at, size_t len)
{
    return len != 3 || at[0] != 0xef || at[1] != 0xbf || at[2] < 0xbe;
}

void markup_escape(struct text *out, struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t left = text.len;
    while (left > 0) {
        size_t run = 0, bad = 1;
        while (run < left && is_plain(at[run]))
            run++;
        if (run > 0 || (at[0] >= 0x80 && (run = utf8_sequence(at, left, &bad)) > 0)) {
            if (is_character(at, run))
                text_append(out, at, run);
            else
                text_append_string(out, UTF8_REPLACEMENT);
        } else {
            text_append_string(out, entity_of(at[0]));
            run = bad;
        }
        at += run;
        left -= run;
    }
}

/* ---- elements ---- */

void markup_init_part(struct markup *markup, struct text *out, enum markup_kind kind)
{
    *markup = (struct markup){.out = out, .kind = kind};
}

void markup_init(struct markup *markup, struct text *out, enum markup_kind kind)
{
    markup_init_part(markup, out, kind);
    text_append_string(out, kind == MARKUP_HTML ? "<!doctype html>\n"
                                                : "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
}

static void close_tag(struct markup *markup)
{
    if (markup->tag_open)
        text_append_char(markup->out, '>');
    markup->tag_open = false;
}

void markup_begin(struct markup *markup, const char *name)
{
    assert(markup->depth < MARKUP_DEPTH_MAX);
    close_tag(markup);
    markup->names[markup->depth++] = name;
    text_append_char(markup->out, '<');
    text_append_string(markup->out, name);
    markup->tag_open = true;
}

void markup_begin_class(struct markup *markup, const char *name, const char *class_name)
{
    markup_begin(markup, name);
    markup_attr_string(markup, "class", class_name);
}

/* Elements of HTML that have no end. */
static bool is_void(const char *name)
{
    static const char *const names[] = {"br", "hr", "img", "input", "link", "meta"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void markup_end(struct markup *markup, const char *name)
{
    assert(markup->depth > 0 && strcmp(markup->names[markup->depth - 1], name) == 0);
    markup->depth--;
    if (markup->tag_open && markup->kind == MARKUP_XML) {
        text_append_string(markup->out, "/>");
        markup->tag_open = false;
        return;
    }
    close_tag(markup);
    if (markup->kind == MARKUP_HTML && is_void(name))
        return;
    text_append_string(markup->out, "</");
    text_append_string(markup->out, name);
    text_append_char(markup->out, '>');
}

/* ---- attributes ---- */

void markup_attr(struct markup *markup, const char *name, struct bytes value)
{
    assert(markup->tag_open);
    text_append_char(markup->out, ' ');
    text_append_string(markup->out, name);
    text_append_string(markup->out, "=\"");
    markup_escape(markup->out, value);
    text_append_char(markup->out, '"');
}

void markup_attr_string(struct markup *markup, const char *name, const char *value)
{
    markup_attr(markup, name, bytes_of(value));
}

void markup_attr_i64(struct markup *markup, const char *name, int64_t value)
{
    char digits[DECIMAL_MAX];
    markup_attr(markup, name, decimal_of(value, digits));
}

void markup_attr_flag(struct markup *markup, const char *name, bool is_there)
{
    if (is_there)
        markup_attr_string(markup, name, markup->kind == MARKUP_HTML ? "" : name);
}

bool markup_attr_url(struct markup *markup, const char *name, struct bytes url)
{
    if (!bytes_starts_with(url, "https://") && !bytes_starts_with(url, "http://"))
        return false;
    markup_attr(markup, name, url);
    return true;
}

/* ---- content ---- */

void markup_text(struct markup *markup, struct bytes text)
{
    assert(markup->depth == 0 || markup->kind == MARKUP_XML ||
           !is_void(markup->names[markup->depth - 1]));
    close_tag(markup);
    markup_escape(markup->out, text);
}

void markup_string(struct markup *markup, const char *text)
{
    markup_text(markup, bytes_of(text));
}

void markup_textf(struct markup *markup, const char *format, ...)
{
    struct text words = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&words, format, args);
    va_end(args);
    markup_text(markup, text_bytes(&words));
    text_free(&words);
}

void markup_stranger(struct markup *markup, struct bytes text, size_t max)
{
    struct bytes shown = utf8_cut(text, max);
    markup_begin(markup, "bdi");
    markup_text(markup, shown);
    if (shown.len < text.len)
        markup_string(markup, "\xe2\x80\xa6");
    markup_end(markup, "bdi");
}

void markup_leaf(struct markup *markup, const char *name, const char *text)
{
    markup_begin(markup, name);
    markup_string(markup, text);
    markup_end(markup, name);
}
