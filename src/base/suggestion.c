/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggestion.h"

#define WORD_MAX  64
#define SHOWN_MAX 60

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
static size_t distance(struct bytes a, struct bytes b)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replace = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            row[j] = least(replace, 1 + least(above[j], row[j - 1]));
            bool swapped =
                i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1];
            if (swapped)
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

struct suggestion suggestion_begin(struct bytes word)
{
    return (struct suggestion){word, BYTES_ABSENT, 2 + word.len / 5};
}

void suggestion_try(struct suggestion *suggestion, struct bytes candidate)
{
    size_t a = suggestion->word.len, b = candidate.len;
    if (a > WORD_MAX || b > WORD_MAX)
        return;
    /* So many letters have to be added or to go in any case. */
    if ((a < b ? b - a : a - b) >= suggestion->distance)
        return;
    size_t edits = distance(suggestion->word, candidate);
    if (edits < suggestion->distance && edits < candidate.len) {
        suggestion->distance = edits;
        suggestion->best = candidate;
    }
}

void suggestion_end(const struct suggestion *suggestion, const char *before, struct text *out)
{
    if (suggestion->best.data != NULL)
        text_appendf(out, " (did you mean %s%.*s?)", before, (int)suggestion->best.len,
                     suggestion->best.data);
}

void suggestion_quote(struct bytes value, struct text *out)
{
    size_t len = value.len;
    if (len > SHOWN_MAX) {
        len = SHOWN_MAX;
        while (len > 0 && ((unsigned char)value.data[len] & 0xc0) == 0x80)
            len--;
    }
    text_append_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        bool control = (unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f;
        text_append_char(out, control ? '?' : value.data[i]);
    }
    text_append_string(out, len < value.len ? "...\"" : "\"");
}
