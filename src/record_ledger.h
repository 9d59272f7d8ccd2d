/* SPDX-License-Identifier: Apache-2.0
 *
 * record_ledger.h - the fields of the records that account histories are made of, key fields first.
 *
 * An account is meant by its name ("ethereum:0x..."), an import session by its account and the time
 * it began. What is counted in a session is counted by the store: new is what it did not have. */
#ifndef RECORD_LEDGER_H
#define RECORD_LEDGER_H

enum {
    LEDGER_ACCOUNT_NAME,
    LEDGER_ACCOUNT_TYPE, /* "blockchain", "exchange", "csv" or "derived" */
    LEDGER_ACCOUNT_PLATFORM,
    LEDGER_ACCOUNT_IDENTIFIER,
    LEDGER_ACCOUNT_PARENT, /* the name of the account it was derived from; null: none */
    LEDGER_ACCOUNT_AT_US,
    LEDGER_ACCOUNT_FIELDS
};
/* What one batch says of its session. Two of one session in one commit both count. */
enum {
    SESSION_ACCOUNT,
    SESSION_STARTED_US,
    SESSION_STATUS, /* "started", "completed", "failed" or "cancelled" */
    SESSION_STREAM, /* the stream the rest is about; null: it is about the session alone */
    SESSION_PROVIDER,
    SESSION_COMPLETE, /* 1: the stream is read to its end */
    SESSION_SKIPPED,  /* rows of this batch that were seen to be known before they got here */
    SESSION_AT_US,
    SESSION_ERROR,  /* null: none */
    SESSION_FAMILY, /* 1: it sums up what the sessions of derived accounts have brought since */
    SESSION_NONCE,  /* numbers of requests are reserved up to this one; null: none are */
    SESSION_FIELDS
};
enum {
    TRANSACTION_ACCOUNT,
    TRANSACTION_EVENT_ID,
    TRANSACTION_STREAM,
    TRANSACTION_PROVIDER,
    TRANSACTION_SESSION_US, /* when the session it belongs to began */
    TRANSACTION_HASH,
    TRANSACTION_BLOCK, /* null: in no block yet */
    TRANSACTION_AT_US,
    TRANSACTION_STATUS, /* "pending", "confirmed", "failed"; "orphaned": a mark on a stored row */
    TRANSACTION_PROVIDER_DATA,
    TRANSACTION_NORMALIZED_DATA,
    TRANSACTION_REPLACES, /* not null: what was stored of it is less */
    TRANSACTION_UNTOLD,   /* not null: who shows it does not say what failed */
    TRANSACTION_CLAIMED,  /* not null: who shows it counts it as its stream's */
    TRANSACTION_FIELDS
};

#endif
