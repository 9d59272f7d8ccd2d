/* SPDX-License-Identifier: Apache-2.0
 *
 * import_ask.h - has a running daemon import accounts, and follows what becomes of them.
 *
 * Shown and told is what an import without a daemon shows and tells. The daemon goes on when nobody
 * follows any more.
 *
 * Owner: the command.  Thread: the main one. */
#ifndef CLI_IMPORT_ASK_H
#define CLI_IMPORT_ASK_H

#include "cli/import_result.h"
#include "cli/target.h"

struct import_wish {
    const char *provider; /* NULL: anybody */
    int64_t since_us;     /* -1: everything */
    bool json, quiet;
};

/* Prints the results, and fills in one of each account: what was said already has no trouble.
 * *interrupted: a signal came before all were over. */
void import_ask(struct target *target, const struct import_wish *wish, char **accounts, int count,
                struct import_result *results, bool *interrupted);

#endif
