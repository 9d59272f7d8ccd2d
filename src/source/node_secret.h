/* SPDX-License-Identifier: Apache-2.0
 *
 * node_secret.h - whether a node says back what its address holds in confidence.
 *
 * What stands before or behind the host may be a key. A node has it as it stands there, decoded, or
 * as a header in base64, and may say it back in any of these forms, cut, or in other letters. An
 * address that may hold a secret makes every long word of letters and digits in an answer one, but
 * for those that begin with 0x: where in doubt, it is.
 *
 * Pure; any thread. */
#ifndef SOURCE_NODE_SECRET_H
#define SOURCE_NODE_SECRET_H

#include "base/bytes.h"

#include <stdbool.h>

bool node_secret_said(const char *url, struct bytes words);

#endif
