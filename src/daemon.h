/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon.h - the running program: its parts, wired from the store outwards.
 *
 * Started in the order store, writer, ingest loop, sources, server; stopped in the reverse order,
 * so that what was taken in is committed before the program ends. SIGTERM and SIGINT stop it, at
 * any moment: while it starts, after the step it is at. SIGHUP opens the log anew and takes over
 * the settings that may change while it runs. When the store can no longer be trusted it ends at
 * once with a failure: a restart recovers. */
#ifndef DAEMON_H
#define DAEMON_H

#include "config.h"

struct daemon_options {
    const struct config *config;
    const char *file; /* that it was read from; NULL: none */
    /* Reads the configuration again, for SIGHUP; false when it has problems (already reported). */
    bool (*reload)(void *arg, struct config *fresh);
    void *reload_arg;
};

/* Whether the log is a file, not a stream that somebody handed over. */
bool daemon_logs_to_file(const struct config *config);
/* Logs as the configuration says; on RC_REJECT the log stays as it was. */
must_check enum rc daemon_open_log(const struct config *config, struct err *err);
/* Runs until told to stop; the exit code. The caller holds signals back from its first line on. */
int daemon_run(const struct daemon_options *options);

#endif
