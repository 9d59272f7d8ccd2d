/* SPDX-License-Identifier: Apache-2.0
 *
 * log_line.h - one event as one line.
 *
 * Pure: no clock, no file, no lock. The line ends with a newline, holds no other one, and is at
 * most LOG_LINE_MAX bytes.
 *
 * Owner: the caller, who owns `out`.  Thread: any. */
#ifndef SYS_LOG_LINE_H
#define SYS_LOG_LINE_H

#include "sys/log.h"

struct log_line {
    enum log_level level;
    int64_t wall_us;
    const char *component, *event_type;
    const char *tag; /* NULL: none */
    struct bytes words;
    const struct log_field *fields; /* may be NULL */
    uint64_t suppressed;            /* 0: not said */
};

void log_line_format(const struct log_line *line, enum log_format format, struct text *out);

#endif
