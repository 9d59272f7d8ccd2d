/* SPDX-License-Identifier: Apache-2.0
 *
 * collections.h - the collections that can be asked for: the built-in ones and the declared ones.
 *
 * A declaration takes effect in three steps. A draft copies it, on the registry's thread. The store
 * is grown to it by the thread that writes the store, which learns then how its rows are written.
 * Once that is durable the draft is installed and can be found.
 *
 * Always holds: what was found stays as it is and in place until the registry is freed, also when
 * the same name is declared anew. Rows are written as the newest declaration says: whoever reads
 * them later on finds it again by its name. A collection whose fields stay the same keeps the shape
 * of its rows; fields that come again have theirs again, unless others were declared meanwhile.
 *
 * Owner: the daemon.  Thread: any may look; drafts are made and installed by one. */
#ifndef QUERY_COLLECTIONS_H
#define QUERY_COLLECTIONS_H

#include "base/err.h"
#include "config_lists.h"
#include "query/collection.h"

struct collections;
struct collections_draft;
struct row_tables;
struct store;

struct collections *collections_new(void);
/* NULL is allowed. The store's writer is gone. */
void collections_free(struct collections *collections);
/* NULL when there is none of that name. Without a registry there are the built-in ones only. */
const struct collection *collections_find(struct collections *collections, struct bytes name);
/* UNKNOWN_COLLECTION, with the nearest name and all there are. Never RC_OK. */
enum rc collections_refuse(struct collections *collections, struct bytes name,
                           struct refusal *refusal);

/* RC_REJECT: the fields were changed too often since the start. */
must_check enum rc collections_draft_new(struct collections *collections,
                                         const struct config_collection *declared, size_t count,
                                         struct collections_draft **draft, struct err *err);
/* The copy of what was declared. */
const struct config_collection *collections_draft_list(const struct collections_draft *draft,
                                                       size_t *count);
/* Adds what the writer does not know yet. The writer's thread, when the store has been grown. */
must_check enum rc collections_draft_teach(const struct collections_draft *draft,
                                           struct store *store, struct row_tables *tables,
                                           struct err *err);
/* It is not to be. */
void collections_draft_free(struct collections_draft *draft);
/* From now on it is what is found, in place of what was installed before. `ready` are the names of
 * the indexes that can be used. A draft that says the same as the one before leaves everything in
 * place: declaring it any number of times takes no memory. */
void collections_install(struct collections *collections, struct collections_draft *draft,
                         struct bytes ready);
/* The same declaration with more indexes. */
void collections_set_ready(struct collections *collections, struct bytes ready);

#endif
