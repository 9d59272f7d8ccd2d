/* SPDX-License-Identifier: Apache-2.0
 *
 * import_view.h - what a person sees while accounts are imported.
 *
 * On a terminal one line per stream is drawn anew in its place; elsewhere a line is written when a
 * stream has moved on for some seconds, was switched to another provider, or is over.
 *
 * Owner: the command.  Thread: the main one. */
#ifndef CLI_IMPORT_VIEW_H
#define CLI_IMPORT_VIEW_H

#include "cli/import_progress.h"

#define IMPORT_ACCOUNTS_MAX 64

struct import_view;

/* `terminal`: stderr is one. `quiet`: nothing but what went wrong. */
struct import_view *import_view_new(bool terminal, bool quiet);
void import_view_free(struct import_view *view);
/* One look at all accounts: begin, show each under a number of its own, below IMPORT_ACCOUNTS_MAX,
 * end. `now_us` is monotonic. */
void import_view_begin(struct import_view *view);
void import_view_show(struct import_view *view, size_t number,
                      const struct import_progress *progress, int64_t now_us);
void import_view_end(struct import_view *view);

#endif
