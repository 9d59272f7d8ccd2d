/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_view.h"

#include "base/timestamp.h"
#include "cli/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX      (IMPORT_ACCOUNTS_MAX * LEDGER_STREAMS_MAX)
#define SECOND_US      INT64_C(1000000)
#define PLAIN_US       (5 * SECOND_US) /* between two lines of one stream */
#define MOVED_US       (3 * SECOND_US) /* a switch is shown for so long */
#define NAME_MAX_SHOWN 24
#define NAME_WIDTH     10 /* of a stream */
#define BAR_WIDTH      10

/* What was shown of one stream. */
struct line {
    int64_t session_us; /* of the import it was of */
    uint64_t switches;
    int64_t told_us, moved_us;
    struct rate rows, requests;
    bool ended;
};

struct import_view {
    bool quiet;
    struct live_lines drawn;
    struct line lines[LINES_MAX];
};

struct import_view *import_view_new(bool terminal, bool quiet)
{
    struct import_view *view = memory_new_zeroed(1, sizeof *view);
    live_lines_init(&view->drawn, terminal);
    view->quiet = quiet;
    return view;
}

void import_view_free(struct import_view *view)
{
    live_lines_deinit(&view->drawn);
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

static void measure(struct line *line, const struct ledger_stream_view *stream, int64_t now_us)
{
    if (!line->rows.begun)
        line->told_us = now_us;
    rate_take(&line->rows, (int64_t)(stream->rows + stream->known), now_us);
    rate_take(&line->requests, (int64_t)stream->requests, now_us);
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
                       const struct ledger_stream_view *stream, bool bar)
{
    uint64_t come = stream->rows + stream->known;
    int64_t done = (int64_t)(come > stream->stored ? come : stream->stored);
    if (stream->total <= 0 || stream->state == LEDGER_ENDED || done >= stream->total)
        return;
    text_append_string(out, " · ");
    progress_append_share(out, done, stream->total, line->rows.per_second);
    if (bar) {
        text_append_char(out, ' ');
        progress_append_bar(out, done, stream->total, BAR_WIDTH);
    }
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
                        const struct import_stream *shown, bool bar, int64_t now_us)
{
    const struct ledger_stream_view *stream = &shown->view;
    char position[64];
    write_position(stream->kind, stream->position, position, sizeof position);
    append_account(out, account);
    text_appendf(out, " %s:%*s%" PRIu64 " new, %" PRIu64 " known · %.0f rows/s", shown->name,
                 strlen(shown->name) < NAME_WIDTH ? (int)(NAME_WIDTH - strlen(shown->name)) : 1, "",
                 stream->rows, stream->known, line->rows.per_second);
    text_appendf(out, " · %s · %s %.1f req/s", position,
                 shown->provider[0] != '\0' ? shown->provider : "-", line->requests.per_second);
    if (stream->older > 0)
        text_appendf(out, " · %" PRIu64 " older left out", stream->older);
    append_eta(out, line, stream, bar);
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

static void show(struct import_view *view, struct line *line, const char *account,
                 const struct import_stream *stream, int64_t now_us)
{
    struct text words = {0};
    bool terminal = view->drawn.terminal;
    measure(line, &stream->view, now_us);
    if (!terminal && (view->quiet || !is_due(line, &stream->view, now_us)))
        return;
    append_line(&words, line, account, stream, terminal, now_us);
    live_lines_add(&view->drawn, text_bytes(&words));
    text_free(&words);
}

void import_view_begin(struct import_view *view)
{
    live_lines_begin(&view->drawn);
}

void import_view_show(struct import_view *view, size_t number,
                      const struct import_progress *progress, int64_t now_us)
{
    assert(number < IMPORT_ACCOUNTS_MAX);
    if (view->drawn.terminal && view->quiet)
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
    live_lines_end(&view->drawn);
}
