/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor.h - the checks of `tidemark doctor`, each over one part of the installation.
 *
 * Nothing is changed: no row, no cursor, no file but one without a name that shows whether a folder
 * takes files. The store of a running daemon is not opened; the daemon is asked. Each check ends
 * within DOCTOR_SECONDS, also without a network.
 *
 * Owner: the command. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/doctor_report.h"
#include "cli/target.h"

#define DOCTOR_SECONDS 5

/* What one check learns and another needs. */
struct doctor_clues {
    bool skew_known;
    int64_t skew_us;         /* how far the told time is ahead of this machine's */
    char teller[80];         /* who told it */
    int64_t newest_event_us; /* 0: none is known */
};

/* The data folder, the disk it lies on, the box, files with secrets, dictionaries. */
void doctor_check_files(const struct config *config, struct doctor_report *report);
/* The daemon, where one runs, and the store. */
void doctor_check_store(struct target *target, struct doctor_clues *clues,
                        struct doctor_report *report);
/* Every provider that is configured; all are asked at the same time. */
void doctor_check_providers(const struct config *config, struct doctor_clues *clues,
                            struct doctor_report *report);
/* After the others. */
void doctor_check_clock(const struct doctor_clues *clues, struct doctor_report *report);

#endif
