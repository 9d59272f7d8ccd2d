/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor_report.h - what was looked at, what was found, and what to do about it.
 *
 * One line per check: `ok|warn|FAIL what: finding. what to do`. A warning is about something that
 * works and soon may not; a failure keeps a part of the program from its work. Words of strangers
 * cannot steer a terminal; no finding holds a secret.
 *
 * Owner: the command. */
#ifndef CLI_DOCTOR_REPORT_H
#define CLI_DOCTOR_REPORT_H

#include "base/bytes.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_level level;
    struct text what, words;
    const char *advice; /* a constant, or NULL */
};

struct doctor_report {
    struct doctor_finding *findings;
    size_t count, room;
};

void doctor_report_free(struct doctor_report *report);
/* `advice` says what to do, without a full stop; NULL: nothing, or the words say so already. */
void doctor_say(struct doctor_report *report, enum doctor_level level, const char *what,
                const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));
size_t doctor_count(const struct doctor_report *report, enum doctor_level level);
void doctor_print_lines(const struct doctor_report *report, bool color, struct text *out);
/* One object: ok, and checks with level, what, finding and advice. */
void doctor_print_json(const struct doctor_report *report, struct text *out);

#endif
