/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.h - how far a long piece of work is: a bar, a rate, and when it will be done.
 *
 * The rate is the mean of the first seconds, then follows what happens now. On a terminal there is
 * one line, drawn anew in its place; elsewhere a line when the work begins and then every few
 * seconds; a quiet one says nothing.
 *
 * Owner: the command.  Thread: one. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/live_lines.h"

#include <stdint.h>

/* ---- the parts of it ---- */

struct rate {
    bool begun;
    int64_t since_us, at_us;
    int64_t count; /* at `at_us` */
    double per_second;
};

/* So much is done by now; `now_us` never goes back. */
void rate_take(struct rate *rate, int64_t count, int64_t now_us);

/* "45 %", and ", 12 s left" when that can be told. */
void progress_append_share(struct text *out, int64_t done, int64_t total, double per_second);
/* "[####......]" in letters that draw it, so many of them. */
void progress_append_bar(struct text *out, int64_t done, int64_t total, unsigned width);
/* "45 s", "12 min", "3 h 5 min". */
void progress_append_span(struct text *out, int64_t seconds);

/* ---- one line of it ---- */

struct progress_unit {
    const char *name; /* what is counted */
    double size;      /* how much of the count is one */
};

struct progress {
    const char *what; /* the work's name */
    struct progress_unit unit;
    bool quiet, told;
    int64_t told_us;
    struct rate rate;
    struct live_lines lines;
};

/* What is named must outlive it. */
void progress_init(struct progress *progress, const char *what, struct progress_unit unit,
                   bool terminal, bool quiet);
void progress_deinit(struct progress *progress);
/* `total` 0: not known yet. `note`, which may be NULL, says what it is at. */
void progress_show(struct progress *progress, int64_t done, int64_t total, const char *note,
                   int64_t now_us);
/* The line as it is shown. */
void progress_print(const struct progress *progress, int64_t done, int64_t total, const char *note,
                    struct text *out);

#endif
