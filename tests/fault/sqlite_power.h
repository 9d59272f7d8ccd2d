/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_power.h - a file layer that forgets what was not synced.
 *
 * Writes reach the file at once, and are kept in memory beside what the file held at its last sync.
 * When the power goes, every call fails from then on; afterwards each file is put back to its last
 * sync plus whatever chance lets through of the rest: a prefix or any subset of the writes, the
 * last one torn at sectors or filled with noise. Names are the folder's: a file that was made may
 * be gone, whatever was synced of it, and a deleted one back, until the folder is synced.
 *
 * Thread: one. */
#ifndef TESTS_FAULT_SQLITE_POWER_H
#define TESTS_FAULT_SQLITE_POWER_H

#include <stdbool.h>
#include <stdint.h>

struct seeded;

struct power_toll {
    long writes_lost, writes_kept, writes_torn, names_lost, deletes_undone;
};

/* Becomes SQLite's default file layer. */
void sqlite_power_install(void);
/* Power is on; it goes at the `after`-th write, sync, truncate or delete (0: never). */
void sqlite_power_on(long after);
/* Whether it has gone. */
bool sqlite_power_is_off(void);
long sqlite_power_steps(void);
/* Everything is closed: leaves the files as the disk has them, adds to the toll, forgets them. */
void sqlite_power_settle(struct seeded *chance, struct power_toll *toll);

#endif
