/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_nonces.h"

const char ledger_nonces_sql[] = "SELECT max(nonce) FROM import_sessions WHERE nonce IS NOT NULL";

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void ledger_nonces_begin(struct ledger_nonces *nonces, int64_t stored)
{
    if (nonces->known)
        return; /* two imports began at once: some of it may be in use */
    *nonces =
        (struct ledger_nonces){.known = true, .last = stored, .announced = stored, .reserved = 0};
}

int64_t ledger_nonces_announce(struct ledger_nonces *nonces, int64_t now_ms, struct record *row)
{
    if (nonces == NULL || !nonces->known)
        return 0;
    nonces->announced =
        higher(nonces->announced, higher(now_ms, nonces->last) + LEDGER_NONCES_AHEAD);
    batch_set_int(row, SESSION_NONCE, nonces->announced);
    return nonces->announced;
}

void ledger_nonces_reserve(struct ledger_nonces *nonces, int64_t announced)
{
    if (announced > 0)
        nonces->reserved = higher(nonces->reserved, announced);
}

bool ledger_nonces_take(struct ledger_nonces *nonces, int64_t now_ms, int64_t *nonce)
{
    int64_t next = higher(now_ms, nonces->last + 1);
    if (next > nonces->reserved)
        next = nonces->last + 1; /* the clock has run ahead of the commits */
    if (next > nonces->reserved)
        return false;
    *nonce = nonces->last = next;
    return true;
}
