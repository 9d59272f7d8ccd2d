/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_lines.h - the lines in which people follow the reading of feeds: [INITIAL] [POLL] [SKIP]
 * [ERROR], the account's handle, and what came of it.
 *
 * Thread: any. */
#ifndef SOURCE_FEED_LINES_H
#define SOURCE_FEED_LINES_H

#include "source/feed_sweep.h"

/* `tag` is INITIAL or POLL: how many posts with how many links, on how many pages. */
void feed_line_read(const char *tag, struct bytes handle, const struct sweep_report *report);
void feed_line_many(struct bytes handle);
void feed_line_skip(struct bytes handle, const struct sweep_report *report);
void feed_line_error(struct bytes handle, const struct sweep_report *report);

#endif
