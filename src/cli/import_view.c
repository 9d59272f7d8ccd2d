/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_view.h"

#include "base/timestamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINES_MAX       (IMPORT_ACCOUNTS_MAX * LEDGER_STREAMS_MAX)
#define SECOND_US       INT64_C(1000000)
#define PLAIN_US        (5 * SECOND_US) /* between two lines of one stream */
#define MOVED_US        (3 * SECOND_US) /* a switch is shown for so long */
#define NAME_MAX_SHOWN  24
#define COLUMNS_UNKNOWN 100

/* What was shown of one stream. */
struct line {
    uint64_t rows, requests, switches;
    int64_t since_us, told_us, moved_us;
    double rows_rate, request_rate;
    bool begun, ended;
};

struct import_view {
    bool terminal, quiet;
    unsigned drawn; /* lines to go back over */
    struct line lines[LINES_MAX];
};

struct import_view *import_view_new(bool terminal, bool quiet)
{
    struct import_view *view = memory_new_zeroed(1, sizeof *view);
    view->terminal = terminal;
    view->quiet = quiet;
    return view;
}

void import_view_free(struct import_view *view)
{
    free(view);
}

void import_view_position(enum cursor_kind kind, int64_t position, char *out, size_t size)
{
    char date[TIMESTAMP_TEXT_MAX];
    if (position < 0)
        snprintf(out, size, "-");
    else if (kind == CURSOR_TIMESTAMP && timestamp_format(position, date))
        snprintf(out, size, "%.10s", date);
    else
        snprintf(out, size, "%s %" PRId64, kind == CURSOR_SLOT ? "slot" : "block", position);
}

/* Rates of the last seconds, smoothed. */
static void measure(struct line *line, const struct ledger_stream_view *stream, int64_t now_us)
{
    if (!line->begun) {
        *line = (struct line){.begun = true, .since_us = now_us, .told_us = now_us};
        return;
    }
    double seconds = (double)(now_us - line->since_us) / 1e6;
    if (seconds < 0.5)
        return;
    line->rows_rate =
        0.7 * line->rows_rate + 0.3 * (double)(stream->rows + stream->known - line->rows) / seconds;
    line->request_rate =
        0.7 * line->request_rate + 0.3 * (double)(stream->requests - line->requests) / seconds;
    line->rows = stream->rows + stream->known;
    line->requests = stream->requests;
    line->since_us = now_us;
}

static void append_state(struct text *out, struct line *line,
                         const struct ledger_stream_view *stream, int64_t now_us)
{
    static const char *const ends[] = {[LEDGER_UNDECIDED] = "",
                                       [LEDGER_COMPLETE] = "complete",
                                       [LEDGER_INCOMPLETE] = "to be continued",
                                       [LEDGER_UNAUTHORIZED] = "the key is refused",
                                       [LEDGER_FAILED] = "failed",
                                       [LEDGER_STOPPED] = "stopped"};
    if (stream->switches != line->switches) {
        line->switches = stream->switches;
        line->moved_us = now_us;
    }
    if (stream->state == LEDGER_ENDED)
        text_appendf(out, " · %s%s%s", ends[stream->outcome],
                     stream->trouble[0] != '\0' ? ": " : "", stream->trouble);
    else if (line->moved_us > 0 && now_us - line->moved_us < MOVED_US)
        text_appendf(out, " · %s", stream->moved);
    else if (stream->until_us > now_us + SECOND_US / 20)
        text_appendf(out, " · waiting %.1f s%s", (double)(stream->until_us - now_us) / 1e6,
                     stream->limited ? " (rate limit)" : "");
}

static void append_eta(struct text *out, const struct line *line,
                       const struct ledger_stream_view *stream)
{
    int64_t left = stream->total - (int64_t)(stream->rows + stream->known);
    if (stream->total <= 0 || stream->state == LEDGER_ENDED || left <= 0)
        return;
    text_appendf(out, " · %" PRId64 " %%", 100 - left * 100 / stream->total);
    if (line->rows_rate > 0.1)
        text_appendf(out, ", %.0f s left", (double)left / line->rows_rate);
}

/* "ethereum:0xa93f1a…c2ad": where it is looked at, the middle of a long name tells nothing. */
static void append_account(struct text *out, const char *name)
{
    size_t len = strlen(name);
    if (len <= NAME_MAX_SHOWN)
        text_append_string(out, name);
    else
        text_appendf(out, "%.*s…%s", NAME_MAX_SHOWN - 6, name, name + len - 4);
}

static void append_line(struct text *out, struct line *line, const char *account,
                        const struct ledger_stream_view *stream, int64_t now_us)
{
    char position[64];
    import_view_position(stream->kind, stream->position, position, sizeof position);
    append_account(out, account);
    text_appendf(out, " %s: batch %" PRIu64 " · %" PRIu64 " new, %" PRIu64 " known · %.0f rows/s",
                 stream->name, stream->batches, stream->rows, stream->known, line->rows_rate);
    text_appendf(out, " · %s · %s %.1f req/s", position,
                 stream->provider[0] != '\0' ? stream->provider : "-", line->request_rate);
    if (stream->older > 0)
        text_appendf(out, " · %" PRIu64 " older left out", stream->older);
    append_eta(out, line, stream);
    append_state(out, line, stream, now_us);
}

/* Whether a line is due where nothing can be drawn over. */
static bool is_due(struct line *line, const struct ledger_stream_view *stream, int64_t now_us)
{
    bool ended = stream->state == LEDGER_ENDED && !line->ended;
    bool moved = stream->switches != line->switches;
    if (line->ended || (!ended && !moved && now_us - line->told_us < PLAIN_US))
        return false;
    line->ended = ended;
    line->told_us = now_us;
    return true;
}

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U
                                                                           : COLUMNS_UNKNOWN;
}

/* The bytes that fit into so many columns: a line that wraps could not be drawn over. */
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

static void show(struct import_view *view, struct line *line, const char *account,
                 const struct ledger_stream_view *stream, int64_t now_us, struct text *out)
{
    struct text words = {0};
    measure(line, stream, now_us);
    if (!view->terminal && (view->quiet || !is_due(line, stream, now_us)))
        return;
    append_line(&words, line, account, stream, now_us);
    if (view->terminal)
        text_append_string(out, "\x1b[2K");
    text_append(out, words.data, view->terminal ? cut(&words, terminal_columns()) : words.len);
    text_append_char(out, '\n');
    text_free(&words);
    view->drawn++;
}

void import_view_look(void *arg, struct import_engine *engine)
{
    struct import_view *view = arg;
    int64_t now_us = import_engine_mono(engine);
    struct text out = {0};
    if (view->terminal && view->quiet)
        return;
    if (view->terminal && view->drawn > 0)
        text_appendf(&out, "\x1b[%uA", view->drawn);
    view->drawn = 0;
    for (size_t i = 0; i < import_engine_count(engine); i++) {
        struct ledger_account_view account;
        ledger_account_look(import_engine_account(engine, i), &account);
        for (size_t k = 0; k < account.stream_count; k++) {
            struct ledger_stream_view stream;
            ledger_account_look_stream(import_engine_account(engine, i), k, &stream);
            show(view, &view->lines[i * LEDGER_STREAMS_MAX + k], account.name, &stream, now_us,
                 &out);
        }
    }
    if (out.len > 0)
        fwrite(out.data, 1, out.len, stderr);
    fflush(stderr);
    text_free(&out);
}
