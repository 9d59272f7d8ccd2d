/* SPDX-License-Identifier: Apache-2.0
 *
 * record_news.h - the fields of the records that the news is made of, key fields first.
 *
 * A post is named by its account, collection and record key wherever it is meant. A text that is
 * null was not said; it takes nothing away from what is stored. */
#ifndef RECORD_NEWS_H
#define RECORD_NEWS_H

enum {
    POST_DID,
    POST_COLLECTION,
    POST_RKEY,
    POST_OP,
    POST_KIND,
    POST_REV, /* null: read from a feed, which does not tell */
    POST_SHARED_US,
    POST_CREATED_US,
    POST_TEXT,
    POST_SUBJECT, /* the post that this one reposts or quotes, as at:// address ... */
    POST_SUBJECT_DID,
    POST_SUBJECT_COLLECTION,
    POST_SUBJECT_RKEY, /* ... and in its parts */
    POST_CID,
    POST_ASOF_SEQ,    /* read from a feed: commits known when the reading began; null: live. A
                       * delete has it when a feed did not show the post, which is no proof */
    POST_SUBJECT_CID, /* the version of the subject that is meant; null: not said */
    POST_FRESH,       /* 1: it came into being with this event; null: not known, or an edit */
    POST_LANGS,       /* BCP 47 tags, separated by commas */
    POST_TAGS,        /* hashtags, the same way */
    POST_FACETS,      /* the rich text of its own text, JSON */
    POST_FIELDS
};
enum {
    LINK_DID,
    LINK_COLLECTION,
    LINK_RKEY,
    LINK_URL, /* the identity */
    LINK_REV, /* of the post that carries it, and part of the identity; null as the post's */
    LINK_READER_URL,
    LINK_DOMAIN,
    LINK_FLAGS, /* those of the identity */
    LINK_TITLE,
    LINK_DESCRIPTION,
    LINK_IMAGE_URL,
    LINK_FIELDS
};
enum {
    CARD_URL, /* the identity it was fetched for */
    CARD_AT_US,
    CARD_TITLE,
    CARD_DESCRIPTION,
    CARD_IMAGE_URL,
    CARD_SAME_AS,         /* another identity that this page turned out to be; null: none ... */
    CARD_SAME_READER_URL, /* ... with where a reader is sent, its domain and flags */
    CARD_SAME_DOMAIN,
    CARD_SAME_FLAGS,
    CARD_FIELDS
};
enum {
    PICTURE_NAME, /* as the page asks for it */
    PICTURE_LINK, /* with which it goes; null: with none */
    PICTURE_AT_US,
    PICTURE_REASON,     /* why there is none; null: there is */
    PICTURE_KEEP_BYTES, /* all that are kept may be so many together: the oldest go */
    PICTURE_DATA,
    PICTURE_FIELDS
};
enum { ACCOUNT_DID, ACCOUNT_AT_US, ACCOUNT_ACTIVE, ACCOUNT_STATUS, ACCOUNT_FIELDS };
enum { IDENTITY_DID, IDENTITY_AT_US, IDENTITY_HANDLE, IDENTITY_FIELDS };
enum {
    PROFILE_DID,
    PROFILE_AT_US,
    PROFILE_HANDLE,
    PROFILE_DISPLAY_NAME,
    PROFILE_AVATAR,
    PROFILE_FIELDS
};
enum {
    FOLLOW_OWNER, /* whose list it is, a DID */
    FOLLOW_LISTING,
    FOLLOW_DID,
    FOLLOW_HANDLE,
    FOLLOW_DISPLAY_NAME,
    FOLLOW_AVATAR,
    FOLLOW_FIELDS
};
enum {
    LISTING_OWNER,
    LISTING_ID, /* when its reading began, in microseconds */
    LISTING_AT_US,
    LISTING_DEGREE,      /* 1: the owner is one of ours; 2: one whom ours follow; 0: the owner is
                          * no longer ours, the list goes */
    LISTING_SOURCES_MIN, /* of the second degree: followed by so many of ours; 0: nobody is; null:
                          * as before */
    LISTING_SECOND_MAX,  /* and at most so many accounts of it */
    LISTING_ENTRIES,     /* lines that were read: with fewer of them stored, nothing changes */
    LISTING_ACTOR,       /* the owner as configured; null: second degree */
    LISTING_ACTORS,      /* how many accounts are ours */
    LISTING_SINCE_US,    /* how far back to read those that are new; null: do not */
    LISTING_PRIORITY,    /* of that reading */
    LISTING_FIELDS
};
enum {
    BACKFILL_DID,
    BACKFILL_OP,
    BACKFILL_PRIORITY, /* lower goes first */
    BACKFILL_SINCE_US, /* read back to here */
    BACKFILL_SWEEP,    /* where an interrupted reading goes on, its own JSON */
    BACKFILL_ATTEMPTS,
    BACKFILL_NEXT_US, /* when to try next; of what is done: when the reading began */
    BACKFILL_AT_US,
    BACKFILL_REASON, /* of the last failure, or why it was asked for */
    BACKFILL_FIELDS
};
enum {
    POLL_HANDLE,
    POLL_CURSOR, /* the newest that was seen, ISO 8601; null: unchanged */
    POLL_AT_US,
    POLL_FETCHED, /* posts, to be added */
    POLL_FORMER,  /* the handle it had before; null: the same */
    POLL_FIELDS
};

#define RECORD_OP_PUT     0
#define RECORD_OP_DELETE  1
#define POST_OP_PUT       RECORD_OP_PUT
#define POST_OP_DELETE    RECORD_OP_DELETE
#define POST_KIND_POST    0
#define POST_KIND_REPOST  1
#define POST_KIND_SUBJECT 2 /* nobody's act of sharing: kept for the links others share with it */

/* Bits of LINK_FLAGS that the store and the ranking look at. */
#define LINK_IS_GIFT      1  /* the reader's address opens what is otherwise paid for */
#define LINK_IS_SHORTENER 4  /* its page has to be asked even if somebody named it */
#define LINK_IS_NO_NEWS   56 /* an animation, a picture, or the network itself */

#define BACKFILL_OP_ASK  0 /* joins a request that is there: further back, the higher priority */
#define BACKFILL_OP_MOVE 1 /* progress, or a failure to be tried again */
#define BACKFILL_OP_DONE 2 /* read back to `since_us`, to be rid of whatever asked no more */
#define BACKFILL_OP_DROP 3 /* the account is gone, or nobody follows it any more */

#define BACKFILL_FOR_GAP    0
#define BACKFILL_FOR_FOLLOW 1
#define BACKFILL_FOR_START  2
#define BACKFILL_FOR_PERSON 3

#endif
