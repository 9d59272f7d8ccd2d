/* SPDX-License-Identifier: Apache-2.0
 *
 * collection_declared.h - a collection made from its declaration.
 *
 * Its id is text, every other field may be NULL. An order has an index only when the index is
 * ready: until then the collection comes in the order of arrival where nobody asks for another.
 *
 * Owner: the arena's.  Thread: any. */
#ifndef QUERY_COLLECTION_DECLARED_H
#define QUERY_COLLECTION_DECLARED_H

#include "base/arena.h"
#include "config_lists.h"
#include "query/collection.h"

/* What it takes of the arena at most. */
size_t collection_declared_size(const struct config_collection *from);
/* Everything it points at lies in the arena, but for names, which stay the declaration's. `ready`
 * are the names of the indexes that can be used. */
void collection_declare(const struct config_collection *from, unsigned shape, struct bytes ready,
                        struct arena *arena, struct collection *out);

#endif
