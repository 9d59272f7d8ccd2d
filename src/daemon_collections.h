/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_collections.h - the part that keeps the store as the collections are declared.
 *
 * At the start the store is grown before anything writes; a declaration that the store cannot
 * follow ends the start. A reload grows it between two commits; what cannot be followed is said in
 * the log, and everything stays as it was. Indexes of tables that hold rows come later, one at a
 * time: PostgreSQL builds them beside the writer; SQLite has the writer do it, so that what comes
 * in meanwhile waits in its queues. Nothing is lost in either case, and an index can be used once
 * it is whole. One that cannot be built is said in the log and tried again at the next start.
 *
 * Owner: the daemon.  Thread: the ingest loop; growing on the writer's, building on a worker's. */
#ifndef DAEMON_COLLECTIONS_H
#define DAEMON_COLLECTIONS_H

#include "daemon_part.h"

struct part *collections_part_new(const struct part_env *env);

#endif
