/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENTER      "\033[?1049h\033[?25l" /* the other screen, without a cursor */
#define LEAVE      "\033[?25h\033[?1049l"
#define HOME       "\033[H"
#define PLAIN      "\033[0m"
#define REST_LINE  "\033[K"
#define REST       "\033[J"
#define ROWS_USUAL 24
#define COLS_USUAL 80

struct screen {
    int fd;
};

bool screen_obeys(int fd)
{
    const char *kind = getenv("TERM");
    return isatty(fd) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

static void put(const struct screen *screen, const char *words)
{
    size_t len = strlen(words);
    while (len > 0) {
        ssize_t done = write(screen->fd, words, len);
        if (done <= 0)
            return; /* the terminal is gone */
        words += done;
        len -= (size_t)done;
    }
}

struct screen *screen_open(void)
{
    struct screen *screen = memory_new_zeroed(1, sizeof *screen);
    screen->fd = STDOUT_FILENO;
    put(screen, ENTER);
    return screen;
}

void screen_close(struct screen *screen)
{
    if (screen == NULL)
        return;
    put(screen, LEAVE);
    free(screen);
}

/* How many bytes of the line fit; colours take no room, nor do the later bytes of a character. */
static size_t fit_line(struct bytes line, unsigned columns)
{
    unsigned used = 0;
    size_t at = 0;
    while (at < line.len) {
        if (line.data[at] == '\033') {
            const char *end = memchr(line.data + at, 'm', line.len - at);
            at = end == NULL ? line.len : (size_t)(end - line.data) + 1;
            continue;
        }
        bool begins = ((unsigned char)line.data[at] & 0xc0) != 0x80;
        if (begins && used == columns)
            return at;
        used += begins;
        at++;
    }
    return at;
}

static unsigned count_lines(struct bytes frame)
{
    unsigned lines = 0;
    for (size_t i = 0; i < frame.len; i++)
        lines += frame.data[i] == '\n' || i + 1 == frame.len;
    return lines;
}

static void put_line(struct bytes line, unsigned columns, struct text *out)
{
    text_append(out, line.data, fit_line(line, columns));
    if (line.len > 0 && memchr(line.data, '\033', line.len) != NULL)
        text_append_string(out, PLAIN); /* the end of a colour may be cut off */
    text_append_string(out, REST_LINE);
}

void screen_fit(struct bytes frame, unsigned rows, unsigned columns, struct text *out)
{
    unsigned lines = count_lines(frame);
    char rest[48];
    text_append_string(out, HOME);
    for (unsigned row = 0; row < rows && frame.len > 0; row++) {
        const char *end = memchr(frame.data, '\n', frame.len);
        size_t len = end == NULL ? frame.len : (size_t)(end - frame.data);
        if (row > 0)
            text_append_string(out, "\r\n");
        if (row > 0 && row + 1 == rows && lines > rows) {
            snprintf(rest, sizeof rest, "... %u more lines", lines - row);
            put_line(bytes_of(rest), columns, out);
            break;
        }
        put_line(bytes_make(frame.data, len), columns, out);
        len += end != NULL;
        frame = bytes_make(frame.data + len, frame.len - len);
    }
    text_append_string(out, REST);
}

void screen_draw(const struct screen *screen, struct bytes frame, struct text *out)
{
    struct winsize size;
    bool known = ioctl(screen->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    screen_fit(frame, known ? size.ws_row : ROWS_USUAL, known ? size.ws_col : COLS_USUAL, out);
}
