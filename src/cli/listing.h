/* SPDX-License-Identifier: Apache-2.0
 *
 * listing.h - every row of a collection, page by page, from the daemon or from the store.
 *
 * A listing shows what was there when it began. Pages are printed as they come, so its memory is
 * that of one page.
 *
 * Owner: the command. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/table.h"
#include "cli/target.h"

/* A whole command: lists `collection` as a table, or with --json as one array of its items. */
int listing_command(int argc, char **argv, const char *usage, const char *collection,
                    const struct table_column *columns, size_t column_count);
/* The same for an array that is a member of an object: `path` is asked of a daemon; without one the
 * member of the status object is shown, or nothing when it has none of that name. */
int listing_member_command(int argc, char **argv, const char *usage, const char *path,
                           const char *member, const struct table_column *columns,
                           size_t column_count);

/* The same for what is read by other means: puts an array into `items`, which may borrow from
 * `page`, and says whether more follow. */
typedef enum rc listing_read_fn(void *arg, struct target *target, struct text *page,
                                struct json *items, bool *more, struct err *err);
int listing_read_command(int argc, char **argv, const char *usage, listing_read_fn *read, void *arg,
                         const struct table_column *columns, size_t column_count);

#endif
