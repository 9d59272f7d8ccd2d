/* SPDX-License-Identifier: Apache-2.0
 *
 * markup.h - writing HTML and XML in which everything from outside is text.
 *
 * Always holds: elements nest and every one that was begun is ended under its own name; names and
 * attribute names are the program's own words; what is given as text or as the value of an
 * attribute can end neither. Bytes that are no valid UTF-8, and control characters but tab and line
 * feed, come out as U+FFFD. An address that does not begin with http:// or https:// is not written
 * as one: the attribute is left out.
 *
 * Owner: the caller, who owns the text as well. */
#ifndef BASE_MARKUP_H
#define BASE_MARKUP_H

#include "base/bytes.h"

#define MARKUP_DEPTH_MAX 32

enum markup_kind { MARKUP_HTML, MARKUP_XML };

struct markup {
    struct text *out;
    enum markup_kind kind;
    const char *names[MARKUP_DEPTH_MAX];
    unsigned depth;
    bool tag_open; /* the innermost element may still be given attributes */
};

/* Writes what a document of that kind begins with. */
void markup_init(struct markup *markup, struct text *out, enum markup_kind kind);
/* Writes a part of a document that somebody else begins and ends. */
void markup_init_part(struct markup *markup, struct text *out, enum markup_kind kind);
void markup_begin(struct markup *markup, const char *name);
/* With a class. */
void markup_begin_class(struct markup *markup, const char *name, const char *class_name);
void markup_end(struct markup *markup, const char *name);

void markup_attr(struct markup *markup, const char *name, struct bytes value);
void markup_attr_string(struct markup *markup, const char *name, const char *value);
void markup_attr_i64(struct markup *markup, const char *name, int64_t value);
/* An attribute that is there or not. */
void markup_attr_flag(struct markup *markup, const char *name, bool is_there);
/* The address of something outside; false: it is not one that may be followed. */
bool markup_attr_url(struct markup *markup, const char *name, struct bytes url);

void markup_text(struct markup *markup, struct bytes text);
void markup_string(struct markup *markup, const char *text);
void markup_textf(struct markup *markup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text of a stranger: whichever way it runs, it turns nothing around it; cut to `max` bytes. */
void markup_stranger(struct markup *markup, struct bytes text, size_t max);
/* An element that holds nothing but a text. */
void markup_leaf(struct markup *markup, const char *name, const char *text);
/* Appends a text as markup_text() would write it. */
void markup_escape(struct text *out, struct bytes text);

#endif
