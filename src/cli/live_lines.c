/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/live_lines.h"

#include "cli/screen.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 100

bool live_lines_possible(void)
{
    return screen_obeys(STDERR_FILENO);
}

void live_lines_init(struct live_lines *lines, bool terminal)
{
    *lines = (struct live_lines){.terminal = terminal};
}

void live_lines_deinit(struct live_lines *lines)
{
    text_free(&lines->out);
}

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U
                                                                           : COLUMNS_UNKNOWN;
}

/* The bytes that fit into so many columns. */
static size_t cut(const struct text *words, size_t columns)
{
    size_t at = 0;
    while (at < words->len && columns > 0) {
        at++;
        while (at < words->len && ((unsigned char)words->data[at] & 0xC0) == 0x80)
            at++;
        columns--;
    }
    return at;
}

void live_lines_begin(struct live_lines *lines)
{
    text_clear(&lines->out);
    if (lines->terminal && lines->drawn > 0)
        text_appendf(&lines->out, "\x1b[%uA", lines->drawn);
    lines->drawn = 0;
    lines->columns = lines->terminal ? terminal_columns() : 0;
}

void live_lines_add(struct live_lines *lines, struct bytes words)
{
    struct text tame = {0};
    table_tame(&tame, words, 0);
    if (lines->terminal)
        text_append_string(&lines->out, "\x1b[2K");
    text_append(&lines->out, tame.data, lines->terminal ? cut(&tame, lines->columns) : tame.len);
    text_append_char(&lines->out, '\n');
    text_free(&tame);
    lines->drawn++;
}

void live_lines_end(struct live_lines *lines)
{
    if (lines->out.len > 0)
        fwrite(lines->out.data, 1, lines->out.len, stderr);
    fflush(stderr);
}
