/* SPDX-License-Identifier: Apache-2.0
 *
 * child_daemon.h - the daemon of a benchmark: on the store of a fixture, fed by a firehose of this
 * machine, with nothing that anybody else could meet. */
#ifndef BENCH_CHILD_DAEMON_H
#define BENCH_CHILD_DAEMON_H

#include "fixture.h"

#include <sys/types.h>

#define CHILD_DAEMON_MORE_MAX 8

/* `more` are further settings, up to a NULL. -1: it cannot be started. */
pid_t child_daemon_start(const char *program, const struct fixture *fixture, unsigned firehose_port,
                         const char *const *more);

#endif
