/* SPDX-License-Identifier: Apache-2.0
 *
 * store_files.h - what a store is called, and which files of this machine it leads to.
 *
 * Thread: any. Opens nothing. */
#ifndef STORE_STORE_FILES_H
#define STORE_STORE_FILES_H

#include "base/bytes.h"

#include <stdbool.h>

/* `written`: it is made or changed, with others beside it; else it is only read. "~/" in front is
 * the user's home. */
typedef void store_file_fn(void *arg, const char *path, bool written);

/* Names each; it need not be there. */
void store_files(const char *url, store_file_fn *fn, void *arg);

/* Appends what tells one store from another, without any secret: a file by its whole path, a
 * server's database by where it is. */
void store_name(const char *url, struct text *out);

#endif
