/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_subjects.h - the part that fetches posts of others which somebody followed reposted or
 * quoted.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_SUBJECTS_H
#define DAEMON_SUBJECTS_H

#include "daemon_part.h"

struct part *subjects_part_new(const struct part_env *env);

#endif
