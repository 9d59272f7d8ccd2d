/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_view.h - what the running program shows of itself.
 *
 * The ingest loop puts a fresh copy together a few times a second; the serving half reads the last
 * one. Neither waits for the other, nor for the store.
 *
 * Thread: put on the ingest loop, everything else anywhere. */
#ifndef DAEMON_VIEW_H
#define DAEMON_VIEW_H

#include "query/status.h"
#include "serve/health.h"
#include "source/source.h"
#include "store/writer.h"
#include "sys/metrics.h"

struct daemon_view {
    int64_t at_us, started_us; /* wall time */
    bool has_source;
    const char *source_name; /* a constant */
    struct source_view source;
    double rate; /* its events per second; below 0: not known yet */
    struct writer_state writer;
    unsigned queued;
};

void daemon_view_health(const struct daemon_view *view, int64_t now_us, struct health_view *out);
void daemon_view_status(const struct daemon_view *view, int64_t now_us, struct status_live *out);
/* Brings the registry up to what the view says. */
void daemon_view_metrics(const struct daemon_view *view, int64_t now_us, struct metrics *metrics);

#endif
