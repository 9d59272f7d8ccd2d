/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/rate_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rate_log {
    struct runtime *runtime;
    const struct server_options *options;
    struct timer timer;
    struct status_live live; /* room for the question */
    struct rate_line lines[STATUS_SOURCES_MAX];
    size_t line_count;
};

static struct rate_line *line_of(struct rate_log *log, const char *source)
{
    for (size_t i = 0; i < log->line_count; i++)
        if (strcmp(log->lines[i].source, source) == 0)
            return &log->lines[i];
    if (log->line_count == STATUS_SOURCES_MAX)
        return NULL;
    struct rate_line *line = &log->lines[log->line_count++];
    snprintf(line->source, sizeof line->source, "%s", source);
    return line;
}

static void add(struct rate_line *line, double rate)
{
    if (line->count == RATE_LOG_SAMPLES) {
        memmove(line->rates, line->rates + 1, (RATE_LOG_SAMPLES - 1) * sizeof line->rates[0]);
        line->count--;
    }
    line->rates[line->count++] = rate;
}

static void note(void *arg)
{
    struct rate_log *log = arg;
    memset(&log->live, 0, sizeof log->live);
    log->options->status(log->options->arg, &log->live);
    for (size_t i = 0; i < log->live.source_count; i++) {
        if (log->live.sources[i].rate < 0)
            continue; /* it has none, or none yet */
        struct rate_line *line = line_of(log, log->live.sources[i].name);
        if (line != NULL)
            add(line, log->live.sources[i].rate);
    }
    log->runtime->ops->timer_arm(log->runtime, &log->timer, RATE_LOG_US);
}

struct rate_log *rate_log_start(struct runtime *runtime, const struct server_options *options)
{
    struct rate_log *log = memory_new_zeroed(1, sizeof *log);
    log->runtime = runtime;
    log->options = options;
    log->timer = (struct timer){.fn = note, .arg = log};
    if (options->status != NULL)
        note(log);
    return log;
}

void rate_log_stop(struct rate_log *log)
{
    log->runtime->ops->timer_disarm(log->runtime, &log->timer);
}

void rate_log_free(struct rate_log *log)
{
    free(log);
}

bool rate_log_find(const struct rate_log *log, struct bytes source, struct rate_line *out)
{
    for (size_t i = 0; i < log->line_count; i++)
        if (bytes_equal_string(source, log->lines[i].source)) {
            *out = log->lines[i];
            return true;
        }
    return false;
}
