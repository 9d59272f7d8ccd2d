/* SPDX-License-Identifier: Apache-2.0
 *
 * screen.h - the whole of the terminal, for as long as a command wants it.
 *
 * What stood on the terminal comes back when the screen is closed: the other screen is used for
 * drawing. A frame is cut to the terminal's size as it is when the frame is drawn; its last line
 * tells then how many there are more; nothing wraps or scrolls, and nothing of the frame before
 * stays.
 *
 * Owner: the command.  Thread: one. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/bytes.h"

struct screen;

/* Whether a terminal is there that does what escape sequences say. */
bool screen_obeys(int fd);
/* Takes the terminal that stdout is. */
struct screen *screen_open(void);
void screen_close(struct screen *screen); /* NULL is allowed */
/* Appends what draws `frame`, whose only escape sequences are colours. */
void screen_draw(const struct screen *screen, struct bytes frame, struct text *out);
/* The same for a terminal of this size. */
void screen_fit(struct bytes frame, unsigned rows, unsigned columns, struct text *out);

#endif
