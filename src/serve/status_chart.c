/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page_frame.h"
#include "serve/status_page.h"

#include "base/timestamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR_US    INT64_C(3600000000)
#define RATE_WIDTH 120
#define RATE_TALL  24
#define LINE_WIDTH 720
#define ROW_TALL   22
#define LABEL_TALL 18
#define ROWS_MAX   8
#define MARK_MIN   3 /* so that a short gap can be seen */

static void begin_picture(struct markup *page, const char *class_name, int width, int height)
{
    char box[48];
    snprintf(box, sizeof box, "0 0 %d %d", width, height);
    markup_begin_class(page, "svg", class_name);
    markup_attr_string(page, "viewBox", box);
    markup_attr_string(page, "role", "img");
}

static void put_box(struct markup *page, const char *class_name, int x, int y, int width, int tall)
{
    markup_begin_class(page, "rect", class_name);
    markup_attr_i64(page, "x", x);
    markup_attr_i64(page, "y", y);
    markup_attr_i64(page, "width", width);
    markup_attr_i64(page, "height", tall);
}

/* ---- rates ---- */

void status_chart_rates(struct markup *page, const struct rate_line *line)
{
    struct text points = {0}, words = {0};
    double top = 1, now = 0;
    for (size_t i = 0; i < line->count; i++)
        top = line->rates[i] > top ? line->rates[i] : top;
    for (size_t i = 0; i < line->count; i++) {
        now = line->rates[i] < 0 ? 0 : line->rates[i];
        text_appendf(&points, "%s%zu,%.1f", i > 0 ? " " : "", i + RATE_LOG_SAMPLES - line->count,
                     (RATE_TALL - 1) * (1 - now / top) + 0.5);
    }
    text_appendf(&words,
                 "Events a second over the last %" PRId64 " minutes: now %.1f, at most %.1f",
                 RATE_LOG_SAMPLES * RATE_LOG_US / INT64_C(60000000), now, top);
    begin_picture(page, "spark", RATE_WIDTH, RATE_TALL);
    markup_attr(page, "aria-label", text_bytes(&words));
    put_box(page, "hour", 0, RATE_TALL - 1, RATE_WIDTH, 1);
    markup_end(page, "rect");
    markup_begin(page, "polyline");
    markup_attr(page, "points", text_bytes(&points));
    markup_end(page, "polyline");
    markup_end(page, "svg");
    text_free(&points);
    text_free(&words);
}

/* ---- gaps ---- */

/* The sources that have gaps, each on a row of its own; the last row takes what is left. */
static size_t row_of(const char *rows[ROWS_MAX], size_t *count, const char *source)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(rows[i], source) == 0)
            return i;
    if (*count < ROWS_MAX)
        rows[(*count)++] = source;
    return *count - 1;
}

static int place_of(int64_t us, int64_t now_us)
{
    int64_t since_us = now_us - STATUS_PAGE_HOURS * HOUR_US;
    us = us < since_us ? since_us : us > now_us ? now_us : us;
    return (int)((us - since_us) * LINE_WIDTH / (STATUS_PAGE_HOURS * HOUR_US));
}

static void put_gap(struct markup *page, const struct status_gap *gap, size_t row, int64_t now_us)
{
    int from = place_of(gap->from_us, now_us), to = place_of(gap->to_us, now_us);
    int width = to - from < MARK_MIN ? MARK_MIN : to - from;
    char at[TIMESTAMP_TEXT_MAX] = "";
    if (!timestamp_format(gap->from_us, at))
        at[0] = '\0';
    put_box(page, gap->closed_us == 0 ? "gap open" : "gap closed",
            from + width > LINE_WIDTH ? LINE_WIDTH - width : from, (int)row * ROW_TALL + 3, width,
            ROW_TALL - 6);
    markup_begin(page, "title");
    markup_textf(page, "%s, %s: %s", at, gap->closed_us == 0 ? "open" : "filled", gap->reason);
    markup_end(page, "title");
    markup_end(page, "rect");
}

static void put_hours(struct markup *page, int64_t now_us, int bottom)
{
    for (int back = STATUS_PAGE_HOURS - STATUS_PAGE_HOURS / 4; back > 0;
         back -= STATUS_PAGE_HOURS / 4) {
        char at[TIMESTAMP_TEXT_MAX];
        int64_t us = now_us - back * HOUR_US;
        if (!timestamp_format(us, at))
            continue;
        put_box(page, "hour", place_of(us, now_us), 0, 1, bottom);
        markup_end(page, "rect");
        markup_begin(page, "text");
        markup_attr_i64(page, "x", place_of(us, now_us) + 4);
        markup_attr_i64(page, "y", bottom + LABEL_TALL - 4);
        markup_textf(page, "%.5s UTC", at + 11);
        markup_end(page, "text");
    }
}

void status_chart_gaps(struct markup *page, const struct status_gaps *gaps, int64_t now_us)
{
    const char *rows[ROWS_MAX];
    size_t row_count = 0, open = 0;
    for (size_t i = 0; i < gaps->count; i++) {
        (void)row_of(rows, &row_count, gaps->gaps[i].source);
        open += gaps->gaps[i].closed_us == 0;
    }
    int bottom = (int)(row_count == 0 ? 1 : row_count) * ROW_TALL;
    char words[128];
    snprintf(words, sizeof words, "Gaps of the last %d hours: %zu open, %zu filled",
             STATUS_PAGE_HOURS, open, gaps->count - open);
    begin_picture(page, "gap-line", LINE_WIDTH, bottom + LABEL_TALL);
    markup_attr_string(page, "aria-label", words);
    for (size_t i = 0; i < (row_count == 0 ? 1 : row_count); i++) {
        put_box(page, "lane", 0, (int)i * ROW_TALL + 2, LINE_WIDTH, ROW_TALL - 4);
        markup_end(page, "rect");
    }
    put_hours(page, now_us, bottom);
    for (size_t i = 0; i < gaps->count; i++)
        put_gap(page, &gaps->gaps[i], row_of(rows, &row_count, gaps->gaps[i].source), now_us);
    markup_end(page, "svg");
}
