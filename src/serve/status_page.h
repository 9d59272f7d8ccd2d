/* SPDX-License-Identifier: Apache-2.0
 *
 * status_page.h - how the daemon stands, for who runs it.
 *
 * Made of the very object that /api/status answers, what /health says, and two things that only
 * make sense as pictures: the rates of the last minutes and the gaps of the last day. Each picture
 * says in words what it shows.
 *
 * Pure: no I/O, any thread. */
#ifndef SERVE_STATUS_PAGE_H
#define SERVE_STATUS_PAGE_H

#include "base/json.h"
#include "base/markup.h"
#include "query/status_gaps.h"
#include "query/status_refused.h"
#include "serve/health.h"
#include "serve/rate_log.h"

#define STATUS_PAGE_HOURS 24 /* on the line of gaps */

struct status_page {
    struct json status; /* as /api/status answers */
    const struct health_view *health;
    const struct rate_line *rates;
    size_t rate_count;
    const struct status_gaps *gaps;
    const struct status_refusals *refused;
    bool may_act; /* who looks may hand in again and drop what was refused */
    int64_t now_us;
};

void status_page_print(const struct status_page *page, struct text *out);
/* The section of what was refused. */
void status_page_put_refused(struct markup *page, const struct status_page *status);
/* A line of what came; the gaps of a day by source. */
void status_chart_rates(struct markup *page, const struct rate_line *line);
void status_chart_gaps(struct markup *page, const struct status_gaps *gaps, int64_t now_us);

#endif
