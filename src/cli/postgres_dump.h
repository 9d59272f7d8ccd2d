/* SPDX-License-Identifier: Apache-2.0
 *
 * postgres_dump.h - a PostgreSQL store into a file, by the server's own pg_dump: one moment of all
 * rows and cursors, whoever writes meanwhile. `pg_restore` reads it.
 *
 * Thread: the main one of a command; the call blocks. */
#ifndef CLI_POSTGRES_DUMP_H
#define CLI_POSTGRES_DUMP_H

#include "base/err.h"

/* `file` is on the disk then. RC_REJECT: pg_dump is missing, or has said why on standard error. */
must_check enum rc postgres_dump(const char *url, const char *file, struct err *err);

#endif
