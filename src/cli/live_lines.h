/* SPDX-License-Identifier: Apache-2.0
 *
 * live_lines.h - lines on stderr that change while a person looks at them.
 *
 * On a terminal the lines of one look are drawn over those of the look before, each cut to the
 * terminal's width as it is then: a line that wraps could not be drawn over. Between two looks the
 * cursor stands below the last line, so whatever ends the program leaves nothing to be tidied up.
 * Elsewhere lines are written one after the other. What strangers wrote cannot steer the terminal.
 *
 * Owner: the command.  Thread: one. */
#ifndef CLI_LIVE_LINES_H
#define CLI_LIVE_LINES_H

#include "base/bytes.h"

struct live_lines {
    bool terminal;  /* stderr is one */
    unsigned drawn; /* lines of this look, or of the last one */
    size_t columns;
    struct text out;
};

/* Whether stderr is a terminal that can be drawn on. */
bool live_lines_possible(void);
void live_lines_init(struct live_lines *lines, bool terminal);
void live_lines_deinit(struct live_lines *lines);
/* One look: begin, add each line, end. */
void live_lines_begin(struct live_lines *lines);
void live_lines_add(struct live_lines *lines, struct bytes words);
void live_lines_end(struct live_lines *lines);

#endif
