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

#include "cli/import_engine.h"

struct import_view;

/* `terminal`: stderr is one. `quiet`: nothing but what went wrong. */
struct import_view *import_view_new(bool terminal, bool quiet);
void import_view_look(void *view, struct import_engine *engine);
void import_view_free(struct import_view *view);
/* A position as people read it: a block's number or a date. */
void import_view_position(enum cursor_kind kind, int64_t position, char *out, size_t size);

#endif
