/* SPDX-License-Identifier: Apache-2.0
 *
 * write_call.h - what the routes that write have in common.
 *
 * Each finds its collection, names what it is about and comes to the desk; looks at the store; and
 * either refuses or submits its rows. The reply was written before, all but the commit's number.
 *
 * Owner: the request.  Thread: the serving loop, but for `work`. */
#ifndef SERVE_WRITE_CALL_H
#define SERVE_WRITE_CALL_H

#include "base/digest.h"
#include "serve/write_desk.h"

#define WRITE_NAME_DOCUMENT '/'
#define WRITE_NAME_KEY      '#'
#define WRITE_ROOM          ((size_t)4096) /* of a batch, besides what its rows need */

/* Some routes need only a part of it. */
struct write_call {
    struct write write; /* first: the desk gives it back */
    const struct collection *collection;
    int64_t at_us;
    uint8_t chance[DIGEST_SIZE]; /* what ids are made of */
    bool prepared, look;         /* the rows are there; what the store has is to be read first */
    struct text id, key;
    uint8_t digest[DIGEST_SIZE];
    struct text reply; /* members, as JSON */
    bool found;        /* the document, or the request's key */
    bool replayed;
    int64_t seq; /* of what the request did before */
};

struct write_call *write_call_begin(struct request *request);
/* One that can be written; false: see the request's refusal. */
bool write_call_find(struct request *request, struct json root, struct write_call *call);
/* Takes the request's idempotencyKey, if it has one, and names it; false: see the refusal. */
bool write_call_take_key(struct request *request, struct json root, struct write_call *call);
/* Notes what is asked for: a key stands for these words and no others. */
void write_call_note(struct write_call *call, struct bytes words);
/* Whether this was done before (`replayed`). RC_REJECT: the key was sent with something else. Does
 * nothing without a key. */
must_check enum rc write_call_find_key(struct request *request, struct store *store,
                                       struct err *err);
/* Puts the key on a row: it is stored with it, or not at all. False: the batch is full. */
bool write_call_keep_key(struct write_call *call, struct record *row);
/* Answers for a batch that was committed, or was not. */
void write_call_answer(struct write *write, enum rc rc);
/* The request ends here, or with its commit. */
void write_call_end(struct request *request, struct write_call *call);

#endif
