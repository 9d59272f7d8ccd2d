/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_pictures.h - the part that fetches pictures for those who look at a page.
 *
 * The serving half says what is wanted, this half fetches it, and the store has it: nobody waits
 * for anybody. Wishes pass over a bounded queue; one too many is forgotten, for whoever looks again
 * wishes again.
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_PICTURES_H
#define DAEMON_PICTURES_H

#include "daemon_part.h"
#include "serve/server.h"

struct part *pictures_part_new(const struct part_env *env);
bool pictures_part_is(const struct part *part);
/* How the serving half reaches a part made above; while that is there. */
struct server_pictures pictures_part_desk(struct part *part);

#endif
