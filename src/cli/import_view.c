/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_view.h"

#include "base/timestamp.h"

#include <assert.h>
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
#define NAME_WIDTH      10 /* of a stream */
#define COLUMNS_UNKNOWN 100

/* What was shown of one stream. */
struct line {
    int64_t session_us; /* of the import it was of */
    uint64_t rows, requests, switches;
    int64_t since_us, told_us, moved_us;
    double rows_rate, request_rate;
    bool begun, ended;
};

struct import_view {
    bool terminal, quiet;
    unsigned drawn; /* lines to go back over */
    size_t columns;
    struct text out;
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
    text_free(&view->out);
    free(view);
}

static void write_position(enum cursor_kind kind, int64_t position, char *out, size_t size)
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
        line->begun = true;
        line->since_us = line->told_us = now_us;
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

static void append_state(struct text *out, struct line *line, const struct import_stream *shown,
                         int64_t now_us)
{
    const struct ledger_stream_view *stream = &shown->view;
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
        text_appendf(out, " · %s%s%s%s%s", ends[stream->outcome],
                     stream->trouble[0] != '\0' ? ": " : "", stream->trouble,
                     stream->moved[0] != '\0' ? " · " : "", stream->moved);
    else if (line->moved_us > 0 && now_us - line->moved_us < MOVED_US)
        text_appendf(out, " · %s", stream->moved);
    else if (shown->wait_us > SECOND_US / 20)
        text_appendf(out, " · waiting %.1f s%s", (double)shown->wait_us / 1e6,
                     stream->limited ? " (rate limit)" : "");
}

/* Of everything there is: what earlier imports have stored need not come again. */
static void append_eta(struct text *out, const struct line *line,
                       const struct ledger_stream_view *stream)
{
    uint64_t come = stream->rows + stream->known;
    int64_t left = stream->total - (int64_t)(come > stream->stored ? come : stream->stored);
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
                        const struct import_stream *shown, int64_t now_us)
{
    const struct ledger_stream_view *stream = &shown->view;
    char position[64];
    write_position(stream->kind, stream->position, position, sizeof position);
    append_account(out, account);
    text_appendf(out, " %s:%*s%" PRIu64 " new, %" PRIu64 " known · %.0f rows/s", shown->name,
                 strlen(shown->name) < NAME_WIDTH ? (int)(NAME_WIDTH - strlen(shown->name)) : 1, "",
                 stream->rows, stream->known, line->rows_rate);
    text_appendf(out, " · %s · %s %.1f req/s", position,
                 shown->provider[0] != '\0' ? shown->provider : "-", line->request_rate);
    if (stream->older > 0)
        text_appendf(out, " · %" PRIu64 " older left out", stream->older);
    append_eta(out, line, stream);
    append_state(out, line, shown, now_us);
    text_appendf(out, " · %" PRIu64 " batch%s", stream->batches, stream->batches == 1 ? "" : "es");
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
                 const struct import_stream *stream, int64_t now_us)
{
    struct text words = {0};
    measure(line, &stream->view, now_us);
    if (!view->terminal && (view->quiet || !is_due(line, &stream->view, now_us)))
        return;
    append_line(&words, line, account, stream, now_us);
    if (view->terminal)
        text_append_string(&view->out, "\x1b[2K");
    text_append(&view->out, words.data, view->terminal ? cut(&words, view->columns) : words.len);
    text_append_char(&view->out, '\n');
    text_free(&words);
    view->drawn++;
}

void import_view_begin(struct import_view *view)
{
    text_clear(&view->out);
    if (view->terminal && view->drawn > 0)
        text_appendf(&view->out, "\x1b[%uA", view->drawn);
    view->drawn = 0;
    view->columns = view->terminal ? terminal_columns() : 0;
}

void import_view_show(struct import_view *view, size_t number,
                      const struct import_progress *progress, int64_t now_us)
{
    assert(number < IMPORT_ACCOUNTS_MAX);
    if (view->terminal && view->quiet)
        return;
    for (size_t i = 0; i < progress->stream_count; i++) {
        struct line *line = &view->lines[number * LEDGER_STREAMS_MAX + i];
        if (line->session_us != progress->started_us)
            *line = (struct line){.session_us = progress->started_us};
        show(view, line, progress->account, &progress->streams[i], now_us);
    }
}

void import_view_end(struct import_view *view)
{
    if (view->out.len > 0)
        fwrite(view->out.data, 1, view->out.len, stderr);
    fflush(stderr);
}
