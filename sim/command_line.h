/* SPDX-License-Identifier: Apache-2.0
 *
 * command_line.h - what tidemark-sim is told when it is started.
 *
 * Every option is a line of one table: its name, what it takes, where that goes, and what is said
 * of it. */
#ifndef SIM_COMMAND_LINE_H
#define SIM_COMMAND_LINE_H

#include "sim/sim.h"

struct command_line {
    struct sim_options options;
    struct fault_plan faults;
    const char *tls_save; /* NULL: nowhere */
    int64_t gap_us;       /* 0: follows from the rate */
    bool start_now;
};

/* Ends the program after --help, and with a sentence when something is wrong. */
void command_line_read(struct command_line *line, int argc, char **argv);
/* Says it and ends the program. */
_Noreturn void command_line_fail(const char *sentence);

#endif
