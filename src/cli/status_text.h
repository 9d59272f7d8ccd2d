/* SPDX-License-Identifier: Apache-2.0
 *
 * status_text.h - the status object as people read it: the daemon, the store, what is under way,
 * and a table of the sources.
 *
 * Owner: the command. */
#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include "base/json.h"

/* `health` is absent when no daemon runs. */
void status_text(struct json status, struct json health, bool color, struct text *out);

#endif
