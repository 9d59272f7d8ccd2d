/* SPDX-License-Identifier: Apache-2.0
 *
 * status_piece.h - what the sections of the operator's page are made of.
 *
 * Tables scroll by themselves where the screen is narrow. Whatever came from outside is shown as
 * text, cut where it is too long.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_STATUS_PIECE_H
#define SERVE_STATUS_PIECE_H

#include "base/json.h"
#include "base/markup.h"

#define PIECE_WORDS_MAX 200 /* of one cell */

/* 0 and absent where there is none. */
int64_t piece_number_in(struct json object, const char *key);
struct bytes piece_words_in(struct json object, const char *key);

/* The caller ends the <section>. */
void piece_begin_section(struct markup *page, const char *id, const char *title);
/* A head that begins with # is of numbers; piece_end_table() ends it. */
void piece_begin_table(struct markup *page, const char *caption, const char *const *heads,
                       size_t count);
void piece_end_table(struct markup *page);
/* Cells; without words a dash. `notable`: one above 0 asks to be looked at. */
void piece_words(struct markup *page, struct bytes words);
void piece_number(struct markup *page, int64_t number, bool notable);

/* A name and what is so called, in a <dl>. */
void piece_fact(struct markup *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "90 s", "12 min", "3 h 5 min". */
void piece_append_span(char *out, size_t size, int64_t seconds);

#endif
