/* SPDX-License-Identifier: Apache-2.0
 *
 * rate_log.h - how many events a second each source brought lately.
 *
 * Every few seconds the daemon's own number is noted; the oldest gives way (I6). It is what a chart
 * shows, and lost with the process.
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_RATE_LOG_H
#define SERVE_RATE_LOG_H

#include "query/status.h"
#include "serve/server.h"
#include "sys/runtime.h"

#define RATE_LOG_SAMPLES 120
#define RATE_LOG_US      INT64_C(5000000) /* between two */

struct rate_line {
    char source[65];
    double rates[RATE_LOG_SAMPLES]; /* oldest first; below 0: was not known */
    size_t count;
};

struct rate_log;

/* Notes at once, and from then on. Without a status to ask there is nothing to note. */
struct rate_log *rate_log_start(struct runtime *runtime, const struct server_options *options);
void rate_log_stop(struct rate_log *log);
void rate_log_free(struct rate_log *log);
/* Copies what is known of a source; false: nothing. */
bool rate_log_find(const struct rate_log *log, struct bytes source, struct rate_line *out);

#endif
