/* SPDX-License-Identifier: Apache-2.0
 *
 * floor_ledger.h - the least that storing an account's history costs.
 *
 * A bare loop over hand-written prepared statements that has all rows in memory: nothing is asked
 * for, parsed, judged or copied. It writes the rows that an import has left behind, in the same
 * transactions and under the same settings, each with the cursor, the coverage and the totals, into
 * a store that was migrated. */
#ifndef BENCH_FLOOR_LEDGER_H
#define BENCH_FLOOR_LEDGER_H

struct floor_ledger;

/* What the import stored at `path`; aborts on failure, as everything here does. */
struct floor_ledger *floor_ledger_load(const char *path);
/* Writes it to the store at `path`; the seconds that it took. */
double floor_ledger_write(const struct floor_ledger *floor, const char *path);
void floor_ledger_free(struct floor_ledger *floor);

#endif
