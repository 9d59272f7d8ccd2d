/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"
#include "serve/status_page.h"
#include "serve/status_piece.h"

void status_page_put_refused(struct markup *page, const struct status_page *status)
{
    static const char *const heads[] = {"#Id",    "Source", "Provider", "When",
                                        "#Bytes", "#Times", "Reason"};
    piece_begin_section(page, "quarantine", "Quarantine");
    if (status->refused->count == 0) {
        markup_leaf(page, "p", "Nothing that came was refused.");
        markup_end(page, "section");
        return;
    }
    piece_begin_table(page, "Quarantine", heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < status->refused->count; i++) {
        const struct status_refused *input = &status->refused->inputs[i];
        char at[TIMESTAMP_TEXT_MAX];
        markup_begin(page, "tr");
        piece_number(page, input->id, false);
        piece_words(page, bytes_of(input->source));
        piece_words(page, bytes_of(input->provider));
        piece_words(page, timestamp_format(input->at_us, at) ? bytes_of(at) : BYTES_ABSENT);
        piece_number(page, input->size, false);
        piece_number(page, input->times, false);
        piece_words(page, bytes_of(input->reason));
        markup_end(page, "tr");
    }
    piece_end_table(page);
    markup_begin_class(page, "p", "about");
    markup_string(page, "Handed in again with ");
    markup_leaf(page, "code", "tidemark quarantine retry ID");
    markup_string(page, ", dropped with ");
    markup_leaf(page, "code", "tidemark quarantine drop ID");
    markup_string(page, ".");
    markup_end(page, "p");
    markup_end(page, "section");
}
