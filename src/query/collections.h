/* SPDX-License-Identifier: Apache-2.0
 *
 * collections.h - the collections that can be asked for: the built-in ones and the declared ones.
 *
 * Always holds: what was found stays as it is and in place until the registry is freed, also when
 * the same name is declared anew: an open query keeps the definition it was opened with.
 *
 * Owner: the daemon.  Thread: any may look; one at a time declares. */
#ifndef QUERY_COLLECTIONS_H
#define QUERY_COLLECTIONS_H

#include "query/collection.h"

struct collections;

struct collections *collections_new(void);
void collections_free(struct collections *collections);
/* NULL when there is none of that name. Without a registry there are the built-in ones only. */
const struct collection *collections_find(struct collections *collections, struct bytes name);

#endif
