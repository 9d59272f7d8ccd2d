/* SPDX-License-Identifier: Apache-2.0
 *
 * owed_table.h - the places of owed items in memory.
 *
 * Always holds: an item is found by its name exactly while its place is not free; a waiting item is
 * armed and no other is; the table is at most half full.
 *
 * Owner: the owed work.  Thread: the owner's. */
#ifndef INGEST_OWED_TABLE_H
#define INGEST_OWED_TABLE_H

#include "ingest/owed.h"

void owed_table_init(struct owed *owed);
void owed_table_deinit(struct owed *owed);
/* Whether it can be the name of an item. */
bool owed_table_accepts(struct bytes name);
struct owed_item *owed_table_find(const struct owed *owed, struct bytes name);
/* A place for a name that has none yet; a waiting item leaves memory for it if need be. NULL when
 * every place is running or in an unanswered batch. */
struct owed_item *owed_table_add(struct owed *owed, struct bytes name);
/* The same without making room. */
struct owed_item *owed_table_add_if_free(struct owed *owed, struct bytes name);
/* Frees the place; while the table is being read it is kept as gone. */
void owed_table_remove(struct owed *owed, struct owed_item *item);
/* The item leaves memory and stays in the table of the store. */
void owed_table_leave(struct owed *owed, struct owed_item *item);
/* Frees what is kept as gone. */
void owed_table_sweep(struct owed *owed);
/* From where it is to waiting, due at `at_us`. */
void owed_table_wait(struct owed *owed, struct owed_item *item, int64_t at_us);
/* From where it is into a batch, as putting or ending. */
void owed_table_stage(struct owed *owed, struct owed_item *item, const struct batch *batch,
                      enum owed_place place);
/* From waiting to running. */
void owed_table_run(struct owed *owed, struct owed_item *item);
uint32_t owed_table_index(const struct owed *owed, const struct owed_item *item);

#endif
