/* SPDX-License-Identifier: Apache-2.0
 *
 * cursor.h - where one stream of one source stands.
 *
 * A cursor is a typed position. A pageToken or a seq means something to the provider that gave it
 * and to no other, so it carries that provider's name; every other kind is portable and carries
 * none. A cursor state is what is stored for a stream: `primary` is where it goes on, best for the
 * provider that made it; `alternatives` are the other positions of the last row, for the others.
 *
 * Always holds for a state that was accepted: it passes cursor_state_validate; what is written as
 * JSON and read again is equal, down to the bytes of metadata nobody here knows. An empty page
 * never overwrites a richer cursor and never swallows a completion (I9). Positions are changed in
 * memory only: they become true in the transaction that stores their rows (I2).
 *
 * Times are microseconds; JSON shows a `timestamp` in milliseconds as `value`, and what is left of
 * it, if anything, as `us`. `totalFetched` counts records.
 *
 * Owner: its source.  Thread: the owner's.  Fixed size; only writing JSON allocates, in the
 * caller's text. It never builds or guesses a position: it passes on what providers gave. */
#ifndef INGEST_CURSOR_H
#define INGEST_CURSOR_H

#include "base/bytes.h"
#include "base/err.h"

#define CURSOR_VALUE_MAX        1024
#define CURSOR_PROVIDER_MAX     64
#define CURSOR_ID_MAX           128
#define CURSOR_ALTERNATIVES_MAX 8
#define CURSOR_EXTRA_MAX        4096

enum cursor_kind {
    CURSOR_NONE, /* no position: from the beginning */
    CURSOR_BLOCK_NUMBER,
    CURSOR_TIMESTAMP,
    CURSOR_TX_HASH,
    CURSOR_SLOT,
    CURSOR_SIGNATURE,
    CURSOR_PAGE_TOKEN,
    CURSOR_SEQ,
    CURSOR_TIME_US,
    CURSOR_KINDS,
};

struct cursor {
    enum cursor_kind kind;
    bool inclusive;                  /* what lies exactly there is asked for again */
    int64_t number;                  /* of a numeric kind, >= 0; a timestamp in microseconds */
    char text[CURSOR_VALUE_MAX + 1]; /* of a text kind, not empty */
    char provider[CURSOR_PROVIDER_MAX + 1]; /* of pageToken and seq, not empty */
};

enum cursor_completion { CURSOR_UNSAID, CURSOR_INCOMPLETE, CURSOR_COMPLETE };

struct cursor_state {
    struct cursor primary;
    struct cursor alternatives[CURSOR_ALTERNATIVES_MAX];
    unsigned alternative_count;
    char last_transaction_id[CURSOR_ID_MAX + 1]; /* may be empty: nothing was ever returned */
    int64_t total_fetched;
    char provider_name[CURSOR_PROVIDER_MAX + 1]; /* empty: no metadata */
    int64_t updated_ms;
    enum cursor_completion completion;
    struct cursor high_water, backfill; /* CURSOR_NONE: unknown */
    char custom[CURSOR_EXTRA_MAX + 1];  /* metadata.custom as JSON, or empty */
    char extra[CURSOR_EXTRA_MAX + 1];   /* other members of metadata, just as they came */
};

/* What one page brings; everything is borrowed. */
struct cursor_page {
    const char *provider_name;
    struct bytes next_token;        /* absent: none */
    const struct cursor *extracted; /* all positions of the page's last record */
    unsigned extracted_count;
    struct bytes last_transaction_id;
    int64_t records; /* new ones: duplicates are not counted */
    enum cursor_completion completion;
    const struct cursor *high_water, *backfill; /* NULL: unchanged */
    int64_t now_ms;
};

/* Who asks where to go on, and what it understands. */
struct cursor_ask {
    const char *provider_name;
    unsigned supported;           /* cursor_bit of each kind */
    enum cursor_kind preferred;   /* CURSOR_NONE: no preference */
    int64_t now_ms, token_ms_max; /* 0: tokens do not expire */
    int64_t replay_blocks, replay_us;
    int64_t proved_block, proved_us; /* the old provider was last proved good there; < 0: unknown */
};

struct cursor_choice {
    struct cursor cursor;
    bool same_provider;
    int64_t rewound_by; /* blocks or microseconds; 0: not rewound */
};

static inline unsigned cursor_bit(enum cursor_kind kind)
{
    return 1U << kind;
}

const char *cursor_kind_name(enum cursor_kind kind);
/* CURSOR_NONE for a name that is none of ours. */
enum cursor_kind cursor_kind_parse(struct bytes name);
bool cursor_kind_is_number(enum cursor_kind kind);
/* Belongs to one provider. */
bool cursor_kind_is_scoped(enum cursor_kind kind);

/* The makers take anything; validation is what refuses. A text that is too long or holds a NUL
 * makes an invalid cursor. `provider` is NULL for portable kinds. */
struct cursor cursor_make_number(enum cursor_kind kind, int64_t number, const char *provider);
struct cursor cursor_make_text(enum cursor_kind kind, struct bytes text, const char *provider);
bool cursor_equal(const struct cursor *a, const struct cursor *b);

/* RC_REJECT with a sentence that begins with the field's JSON path. */
must_check enum rc cursor_state_validate(const struct cursor_state *state, struct err *err);

/* Brings a state forward by a page. RC_REJECT when the outcome would be invalid: the state is then
 * unchanged. Primary is the page's token, else its blockNumber, else its first position, else what
 * was there, and blockNumber 0 when nothing was ever known. */
must_check enum rc cursor_state_advance(struct cursor_state *state, const struct cursor_page *page,
                                        struct err *err);

/* Where this provider goes on. RC_OK with CURSOR_NONE: from the beginning, nothing is known yet.
 * RC_REJECT: it understands none of the positions there are. */
must_check enum rc cursor_resolve(const struct cursor_state *state, const struct cursor_ask *ask,
                                  struct cursor_choice *choice, struct err *err);

struct json_doc; /* lent for the call; what it held is gone afterwards */
/* Appends the state as JSON; RC_REJECT, and nothing is appended, when it is not valid or its
 * `custom` or `extra` is no JSON. */
must_check enum rc cursor_state_to_json(const struct cursor_state *state, struct json_doc *doc,
                                        struct text *out, struct err *err);
/* Strict: unknown fields outside of metadata are refused. RC_REJECT leaves the state as it was. */
must_check enum rc cursor_state_from_json(struct cursor_state *state, struct json_doc *doc,
                                          struct bytes json, struct err *err);
/* Only looks: RC_OK when `json` is a valid state. `doc` is a json_doc. */
must_check enum rc cursor_state_check(void *doc, struct bytes json, struct err *err);

#endif
