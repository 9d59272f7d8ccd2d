/* SPDX-License-Identifier: Apache-2.0
 *
 * known_keys.h - keys whose rows are known to be in the database for good.
 *
 * Whoever stores the same keys again and again need not ask for these. A key that is held was
 * added, byte by byte; one that was added may be gone again, because there is a fixed number of
 * places and one of a long key is none. Who may no longer rely on what was added clears it.
 *
 * Owner: one connection that writes.  Thread: its own.  Never does I/O. */
#ifndef STORE_KNOWN_KEYS_H
#define STORE_KNOWN_KEYS_H

#include "base/bytes.h"

struct known_keys {
    struct known_key *places; /* NULL: none yet */
};

void known_keys_deinit(struct known_keys *keys);
void known_keys_add(struct known_keys *keys, struct bytes key);
bool known_keys_hold(const struct known_keys *keys, struct bytes key);
void known_keys_clear(struct known_keys *keys);

#endif
