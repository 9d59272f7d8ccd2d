/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <assert.h>
#include <inttypes.h>

#define SECOND_US INT64_C(1000000)
#define STEP_US   (SECOND_US / 2)  /* what is counted over less tells little */
#define SPAN_US   (10 * SECOND_US) /* what is longer ago fades */
#define PLAIN_US  (5 * SECOND_US)  /* between two lines */
#define BAR_WIDTH 20
#define SLOWEST   0.001

void rate_take(struct rate *rate, int64_t count, int64_t now_us)
{
    if (!rate->begun) {
        *rate = (struct rate){.begun = true, .since_us = now_us, .at_us = now_us, .count = count};
        return;
    }
    int64_t passed = now_us - rate->at_us, span = now_us - rate->since_us;
    assert(passed >= 0);
    if (passed < STEP_US)
        return;
    if (span > SPAN_US)
        span = passed > SPAN_US ? passed : SPAN_US;
    double now = (double)(count - rate->count) * 1e6 / (double)passed;
    rate->per_second += (now - rate->per_second) * (double)passed / (double)span;
    rate->count = count;
    rate->at_us = now_us;
}

void progress_append_span(struct text *out, int64_t seconds)
{
    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        text_appendf(out, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        text_appendf(out, "%" PRId64 " min", seconds / 60);
    else if (seconds < 172800)
        text_appendf(out, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds / 60 % 60);
    else
        text_appendf(out, "%" PRId64 " d %" PRId64 " h", seconds / 86400, seconds / 3600 % 24);
}

/* 0 to `whole`, and `whole` only when nothing is left. */
static int64_t part_of(int64_t done, int64_t total, int64_t whole)
{
    assert(total > 0);
    if (done >= total)
        return whole;
    int64_t part = done <= 0 ? 0 : (int64_t)((double)done / (double)total * (double)whole);
    return part < whole ? part : whole - 1;
}

void progress_append_share(struct text *out, int64_t done, int64_t total, double per_second)
{
    text_appendf(out, "%" PRId64 " %%", part_of(done, total, 100));
    if (done >= total || per_second < SLOWEST)
        return;
    text_append_string(out, ", ");
    progress_append_span(out, (int64_t)((double)(total - done) / per_second + 0.5));
    text_append_string(out, " left");
}

void progress_append_bar(struct text *out, int64_t done, int64_t total, unsigned width)
{
    int64_t full = part_of(done, total, width);
    text_append_char(out, '[');
    for (int64_t i = 0; i < width; i++)
        text_append_string(out, i < full ? "█" : "░");
    text_append_char(out, ']');
}

void progress_init(struct progress *progress, const char *what, struct progress_unit unit,
                   bool terminal, bool quiet)
{
    assert(unit.size > 0);
    *progress = (struct progress){.what = what, .unit = unit, .quiet = quiet};
    live_lines_init(&progress->lines, terminal);
}

void progress_deinit(struct progress *progress)
{
    live_lines_deinit(&progress->lines);
}

void progress_print(const struct progress *progress, int64_t done, int64_t total, const char *note,
                    struct text *out)
{
    const struct progress_unit *unit = &progress->unit;
    text_append_string(out, progress->what);
    if (total > 0) {
        text_append_char(out, ' ');
        if (progress->lines.terminal) {
            progress_append_bar(out, done, total, BAR_WIDTH);
            text_append_char(out, ' ');
        }
        progress_append_share(out, done, total, progress->rate.per_second);
        text_appendf(out, " · %.0f of %.0f %s", (double)done / unit->size,
                     (double)total / unit->size, unit->name);
        if (progress->rate.per_second >= SLOWEST)
            text_appendf(out, ", %.1f/s", progress->rate.per_second / unit->size);
    }
    if (note != NULL)
        text_appendf(out, " · %s", note);
}

void progress_show(struct progress *progress, int64_t done, int64_t total, const char *note,
                   int64_t now_us)
{
    struct text words = {0};
    if (progress->quiet)
        return;
    if (total > 0)
        rate_take(&progress->rate, done, now_us);
    if (!progress->lines.terminal && progress->told && now_us - progress->told_us < PLAIN_US)
        return;
    progress->told = true;
    progress->told_us = now_us;
    progress_print(progress, done, total, note, &words);
    live_lines_begin(&progress->lines);
    live_lines_add(&progress->lines, text_bytes(&words));
    live_lines_end(&progress->lines);
    text_free(&words);
}
