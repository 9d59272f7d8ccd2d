/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_content.h - the part that follows a contract's events and keeps the documents they name.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_CONTENT_H
#define DAEMON_CONTENT_H

#include "daemon_part.h"

/* NULL: no contract is configured. */
struct part *content_part_new(const struct part_env *env);

#endif
