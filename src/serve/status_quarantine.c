/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"
#include "serve/page_frame.h"
#include "serve/status_page.h"
#include "serve/status_piece.h"

#include <inttypes.h>
#include <string.h>

/* A form of one button needs no script. */
static void put_button(struct markup *page, const char *act, const char *words, int64_t id)
{
    struct text address = {0};
    text_appendf(&address, "/status/quarantine/%s/%" PRId64, act, id);
    markup_begin(page, "form");
    markup_attr_string(page, "method", "post");
    markup_attr(page, "action", text_bytes(&address));
    markup_begin(page, "button");
    text_clear(&address);
    text_appendf(&address, "%s number %" PRId64, words, id);
    markup_attr(page, "aria-label", text_bytes(&address));
    markup_string(page, words);
    markup_end(page, "button");
    markup_end(page, "form");
    text_free(&address);
}

/* Where and when it came from, and how large it is. */
static void put_origin(struct markup *page, const struct status_refused *input, int64_t now_us)
{
    char at[TIMESTAMP_TEXT_MAX];
    markup_begin_class(page, "p", "origin");
    markup_textf(page, "#%" PRId64 " from ", input->id);
    markup_stranger(page, bytes_of(input->source), sizeof input->source);
    if (input->provider[0] != '\0') {
        markup_string(page, ", ");
        markup_stranger(page, bytes_of(input->provider), sizeof input->provider);
    }
    markup_textf(page, "; %" PRId64 " %s", input->size, page_plural(input->size, "byte", "bytes"));
    if (input->times > 1)
        markup_textf(page, "; came %" PRId64 " times, last ", input->times);
    else
        markup_string(page, "; ");
    if (timestamp_format(input->at_us, at))
        page_put_age(page, bytes_of(at), now_us);
    markup_end(page, "p");
}

static void put_excerpt(struct markup *page, const struct status_refused *input)
{
    if (input->excerpt[0] == '\0') {
        markup_begin_class(page, "p", "origin");
        markup_string(page, "Its bytes were not kept.");
        markup_end(page, "p");
        return;
    }
    markup_begin(page, "pre");
    markup_attr_string(page, "tabindex", "0");
    markup_attr_string(page, "aria-label", "What came, as text");
    markup_stranger(page, bytes_of(input->excerpt), sizeof input->excerpt);
    markup_end(page, "pre");
}

static void put_input(struct markup *page, const struct status_refused *input, int64_t now_us,
                      bool may_act)
{
    markup_begin_class(page, "li", "refused");
    markup_begin_class(page, "p", "why");
    markup_stranger(page, bytes_of(input->reason), sizeof input->reason);
    markup_end(page, "p");
    put_origin(page, input, now_us);
    put_excerpt(page, input);
    if (may_act) {
        markup_begin_class(page, "div", "acts");
        if (input->whole && strcmp(input->source, "jetstream") == 0)
            put_button(page, "retry", "Try again", input->id);
        put_button(page, "drop", "Drop", input->id);
        markup_end(page, "div");
    }
    markup_end(page, "li");
}

/* Who may not act here is told how an operator does. */
static void put_commands(struct markup *page)
{
    markup_begin_class(page, "p", "about");
    markup_string(page, "On the machine itself: ");
    markup_leaf(page, "code", "tidemark quarantine retry ID");
    markup_string(page, " hands a message in again, ");
    markup_leaf(page, "code", "tidemark quarantine drop ID");
    markup_string(page, " forgets it.");
    markup_end(page, "p");
}

void status_page_put_refused(struct markup *page, const struct status_page *status)
{
    piece_begin_section(page, "quarantine", "Quarantine");
    if (status->refused->count == 0) {
        markup_leaf(page, "p", "Nothing that came was refused.");
        markup_end(page, "section");
        return;
    }
    markup_begin_class(page, "ul", "refusals");
    for (size_t i = 0; i < status->refused->count; i++)
        put_input(page, &status->refused->inputs[i], status->now_us, status->may_act);
    markup_end(page, "ul");
    put_commands(page);
    markup_end(page, "section");
}
