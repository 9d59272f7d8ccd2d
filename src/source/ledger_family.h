/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_family.h - the addresses of a wallet, derived from its public key and read one by one.
 *
 * Each address is an account of its own, a child of the wallet's, and is imported like any other:
 * with its own session, streams and cursors. A few are read at a time, until on each chain enough
 * in a row were never used. The next import begins at the first address again, so it finds what
 * was used since, also beyond the last one that was known.
 *
 * Always holds: an address that could not be read is not taken for unused. The first one ends the
 * import with its trouble once those under way are over, and a later import goes on. Addresses are
 * read from their beginning, whatever `since` says: one that was used long ago is used.
 *
 * Owner: the wallet's account.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_FAMILY_H
#define SOURCE_LEDGER_FAMILY_H

#include "decode/extended_key.h"
#include "source/ledger_stream.h"

struct ledger_family;

struct ledger_family_view {
    enum ledger_outcome outcome;
    uint64_t read, used; /* addresses */
    size_t stream_count;
    char trouble[ERR_TEXT_MAX];
};

/* `run` is the wallet's and outlives it. `ended` is called once, from a later turn of the loop. */
struct ledger_family *ledger_family_new(const struct ledger_run *run,
                                        struct ledger_providers *providers,
                                        const struct extended_key *key, uint32_t gap,
                                        void (*ended)(void *arg), void *arg);
void ledger_family_start(struct ledger_family *family);
void ledger_family_stop(struct ledger_family *family);
void ledger_family_look(const struct ledger_family *family, struct ledger_family_view *view);
/* The sum over all addresses. */
void ledger_family_look_stream(const struct ledger_family *family, size_t number,
                               struct ledger_stream_view *view);
void ledger_family_free(struct ledger_family *family);

#endif
