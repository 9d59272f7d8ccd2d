/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_cards.h - the part that fetches the pages behind links, unless it is turned off.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_CARDS_H
#define DAEMON_CARDS_H

#include "daemon_part.h"

struct part *cards_part_new(const struct part_env *env);

#endif
