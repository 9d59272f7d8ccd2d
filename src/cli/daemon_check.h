/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_check.h - what a daemon would complain of when it starts with this configuration.
 *
 * Beside what concerns the settings alone, the accounts are held against the connectors: which
 * addresses there are depends on them.
 *
 * Owner: the command.  Thread: the main one. */
#ifndef CLI_DAEMON_CHECK_H
#define CLI_DAEMON_CHECK_H

#include "config_load.h"

void daemon_check(const struct config *config, struct config_problems *problems);

#endif
