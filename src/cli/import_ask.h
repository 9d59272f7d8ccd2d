/* SPDX-License-Identifier: Apache-2.0
 *
 * import_ask.h - has a running daemon import accounts, and follows what becomes of it.
 *
 * The daemon goes on when nobody follows any more.
 *
 * Owner: the command.  Thread: the main one. */
#ifndef CLI_IMPORT_ASK_H
#define CLI_IMPORT_ASK_H

#include "cli/target.h"

struct import_wish {
    const char *account, *provider, *since; /* provider, since: NULL is everything */
    bool json;
};

/* Prints the result; *status is the session's ("completed", "failed", "cancelled"), at most 15
 * bytes. RC_REJECT: the daemon refused. */
must_check enum rc import_ask(struct target *target, const struct import_wish *wish,
                              char status[16], struct err *err);

#endif
