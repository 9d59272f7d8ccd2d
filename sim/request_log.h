/* SPDX-License-Identifier: Apache-2.0
 *
 * request_log.h - the newest requests that came in, and when.
 *
 * Bounded: an old entry makes room for a new one. What the control was asked is not kept. */
#ifndef SIM_REQUEST_LOG_H
#define SIM_REQUEST_LOG_H

#include "sim/http_server.h"

#define REQUEST_LOG_MAX 20000

struct logged_request {
    int64_t at_us; /* of a clock that never goes back */
    char *line;    /* path, query, method and a short body as JSON members */
    int status;
};

struct request_log {
    struct logged_request *entries;
    uint64_t total; /* ever added; the newest stands at (total - 1) % REQUEST_LOG_MAX */
};

void request_log_add(struct request_log *log, const struct http_request *request, int status);
/* Appends a line per request whose path begins with `prefix`, oldest first. */
void request_log_write(const struct request_log *log, const char *prefix, struct text *out);
void request_log_deinit(struct request_log *log);

#endif
