/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_row.h - one movement of a ledger, whoever told of it, and the name it has for ever.
 *
 * A row's identity is made of what the chain itself fixes; status, height, confirmations and a
 * provider's own ids are no part of it, so every provider's copy of a movement has the same one.
 * Movements that are equal in all of that are told apart by their ordinal among equals, in the
 * order of the chain.
 *
 * Owner: the caller; the bytes are borrowed. */
#ifndef DECODE_LEDGER_ROW_H
#define DECODE_LEDGER_ROW_H

#include "base/bytes.h"
#include "base/digest.h"

#define LEDGER_FIELD_BYTES_MAX 1024

struct ledger_row {
    struct bytes hash, from, to, asset, token_id, id; /* absent: the source has none */
    struct bytes amount, fee;                         /* decimal text in canonical form, exact */
    struct bytes raw;                                 /* the record as it came, compact JSON */
    int64_t block;                                    /* or slot; -1: in none yet */
    int64_t time_us;                                  /* -1: unknown */
    const char *status;                               /* "confirmed", "failed" or "pending" */
    const char *kind;
    uint8_t key[EVENT_ID_SIZE]; /* equal for equals */
};

/* The event's id: the `ordinal`-th (from 0) among those with the row's key. */
void ledger_row_identity(const struct ledger_row *row, uint32_t ordinal, uint8_t id[EVENT_ID_SIZE]);

#endif
