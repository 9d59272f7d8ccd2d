/* SPDX-License-Identifier: Apache-2.0
 *
 * record_kinds.h - the kinds of record there are and what their fields are called in C.
 *
 * The same names, types and identities stand as data in the table of record kinds; the store's
 * statements name fields by those names. */
#ifndef RECORD_KINDS_H
#define RECORD_KINDS_H

#include "record_ledger.h"
#include "record_news.h"

/* The kinds, in the order a commit writes them: what others refer to comes first, cursors last. */
enum record_id {
    RECORD_POST,           /* one act of sharing: create, update or delete of a post or repost */
    RECORD_LINK,           /* an address that one post carries itself */
    RECORD_CARD,           /* what a page says of itself */
    RECORD_PICTURE,        /* a picture of a page, or why there is none */
    RECORD_ACCOUNT,        /* an account's standing: active or why not */
    RECORD_IDENTITY,       /* an account's handle */
    RECORD_PROFILE,        /* how an account presents itself */
    RECORD_FOLLOW,         /* one line of a list of follows that is being read */
    RECORD_LISTING,        /* such a list was read to its end: it stands from now on */
    RECORD_BACKFILL,       /* an account whose history is to be read, or was */
    RECORD_POLL,           /* how far the polling of one account is, as people look it up */
    RECORD_LEDGER_ACCOUNT, /* an account whose history is kept */
    RECORD_SESSION,        /* one import of an account: how far it is, how it ended */
    RECORD_TRANSACTION,    /* one event of an account's history */
    RECORD_UNDO,           /* the chain has left its blocks after one */
    RECORD_DOCUMENT,       /* what a content address stands for */
    RECORD_BLOCK,          /* a block of the chain that is followed */
    RECORD_SETTLED,        /* empty blocks that no reorganisation reaches: nobody asks for them */
    RECORD_REFERENCE,      /* that a block names a document */
    RECORD_ROW,            /* what a person wrote into a collection of their own, or took out */
    RECORD_QUARANTINE,     /* input nobody could use, with its bytes and the reason (I7) */
    RECORD_OWED,           /* work the cursor may pass because this row remembers it */
    RECORD_GAP,            /* an interval that was asked for and not delivered */
    RECORD_COVERAGE,       /* a half-open interval that is complete */
    RECORD_PROVIDER,       /* what is known of one upstream */
    RECORD_PRUNE,          /* forget what has served its time */
    RECORD_RESET,          /* forget where a stream stands */
    RECORD_CURSOR,         /* where a stream stands (I2) */
    RECORD_ID_COUNT,
};

/* Indexes of the fields of each kind, key fields first; those of the news and of account
 * histories have their own headers. */
enum { UNDO_AFTER, UNDO_FIELDS };
enum {
    DOCUMENT_URI,
    DOCUMENT_BLOCK,
    DOCUMENT_DATA,
    DOCUMENT_WHOLE, /* 1: `data` is the document; 0: it could not be had */
    DOCUMENT_SPACE,
    DOCUMENT_CANONICAL, /* the one spelling of `uri` */
    DOCUMENT_FIELDS
};
enum { BLOCK_NUMBER, BLOCK_HASH, BLOCK_PARENT, BLOCK_DOCUMENTS, BLOCK_FIELDS };
enum { SETTLED_FROM, SETTLED_BEFORE, SETTLED_FIELDS };
enum { REFERENCE_BLOCK, REFERENCE_ORDINAL, REFERENCE_URI, REFERENCE_SPACE, REFERENCE_FIELDS };
/* The columns follow the id, as many as the collection has and of its types. A collection's shape
 * is a number; the act is twice that, and one more for a delete. */
enum {
    ROW_ACT,
    ROW_COLLECTION,
    ROW_AT_US,
    ROW_KEY,    /* on the first row of a request that must not be done twice; null: on no other */
    ROW_DIGEST, /* and what that request asked for */
    ROW_EXTRA,  /* what has no column, a JSON object; null: nothing */
    ROW_WAS,    /* the columns that this replaces, a JSON object; null: none, or the same */
    ROW_ID,
    ROW_COLUMNS,
    ROW_FIELDS = ROW_COLUMNS + 47
};
enum {
    QUARANTINE_SOURCE,
    QUARANTINE_DIGEST,
    QUARANTINE_PROVIDER,
    QUARANTINE_RAW,
    QUARANTINE_SIZE,
    QUARANTINE_REASON,
    QUARANTINE_AT_US,
    QUARANTINE_FIELDS
};
enum {
    OWED_SOURCE,
    OWED_STREAM,
    OWED_ITEM,
    OWED_UNIT,
    OWED_STATE,
    OWED_REASON,
    OWED_ATTEMPTS,
    OWED_NEXT_US,
    OWED_AT_US,
    OWED_REFUSED_BY,
    OWED_FIELDS
};
enum {
    GAP_SOURCE,
    GAP_STREAM,
    GAP_FROM_US,
    GAP_TO_US,
    GAP_REASON,
    GAP_DETECTED_US,
    GAP_CLOSED_US,
    GAP_FIELDS
};
/* Where a gap ends that nobody knows the end of: with the year 9999. */
#define GAP_NO_END_US  INT64_C(253402300799000000)
#define GAP_NO_END_SQL "253402300799000000"
enum { COVERAGE_SOURCE, COVERAGE_STREAM, COVERAGE_LO, COVERAGE_HI, COVERAGE_FIELDS };
enum {
    PROVIDER_SOURCE,
    PROVIDER_NAME,
    PROVIDER_STATE,
    PROVIDER_REASON,
    PROVIDER_CHOSEN,
    PROVIDER_AT_US,
    PROVIDER_FIELDS
};
/* What is older than these times, in microseconds, a slice of it; null: nothing of the kind. */
enum {
    PRUNE_AT_US, /* now */
    PRUNE_TOMBSTONES_US,
    PRUNE_GAPS_US,
    PRUNE_POSTS_US,
    PRUNE_THRESHOLD, /* a link that so many people shared outlives its posts, ... */
    PRUNE_BELOW_US,  /* ... and falling below it, stays until it has been so since before then, */
    PRUNE_LINKS_US,  /* ... and at the longest until nobody has shared it since then */
    PRUNE_PAGES_US,  /* lists of follows whose reading began before then and never ended */
    PRUNE_POLLS,     /* 1: nobody polls, so what is known of polling goes */
    PRUNE_FIELDS
};
enum { RESET_SOURCE, RESET_STREAM, RESET_FIELDS };
enum {
    CURSOR_ROW_SOURCE,
    CURSOR_ROW_STREAM,
    CURSOR_ROW_STATE,
    CURSOR_ROW_POSITION,
    CURSOR_ROW_AT_US,
    CURSOR_ROW_OPAQUE, /* what the upstream calls the position; null: it has no word of its own */
    CURSOR_ROW_FIELDS
};

#endif
