/* SPDX-License-Identifier: Apache-2.0
 *
 * write_desk.h - where requests that write wait for their turn, for a look at the store, and for
 * the commit.
 *
 * A write holds the names of what it is about (documents, request keys) from before it reads the
 * store until its batch is committed. So what it has read is still so when it is written, and a
 * request sent twice finds what the first one did. Who needs a name that is held waits, in the
 * order of arrival.
 *
 *   waiting    for names that others hold
 *   entered    it holds them; its request may read the store
 *   submitted  its batch is with the writer; only the writer ends this
 * Every process that writes a store has one desk, and a store has one such process (I8).
 *
 * Always holds: a write is answered once, when its fate is known or the desk closes; its memory
 * stays until the writer has given its batch back. An answered request holds no names.
 *
 * Owner: the server.  Thread: the serving loop; freed when the writer has stopped. */
#ifndef SERVE_WRITE_DESK_H
#define SERVE_WRITE_DESK_H

#include "base/id_set.h"
#include "record_batch.h"
#include "serve/request.h"

struct desk;
struct loop;
struct write;

/* Embedded in what a route keeps of its request. */
struct write {
    struct request *request; /* NULL: it is gone */
    struct id_set names;     /* of what it is about */
    struct batch batch;
    /* Answers the request: its batch was committed as `batch.seq`, or `rc` says what happened. */
    void (*committed)(struct write *write, enum rc rc);
    void (*free)(struct write *write);

    struct desk *desk;
    struct write *next, *previous;
    enum { WRITE_NEW, WRITE_WAITING, WRITE_ENTERED, WRITE_SUBMITTED } state;
    bool read; /* its request is to read the store once it has entered */
};

struct desk *desk_new(struct loop *loop, struct writer *writer);
/* Answers everything that is still here. */
void desk_close(struct desk *desk);
void desk_free(struct desk *desk);

/* Adds a name; false when the write has it already. */
bool write_name(struct write *write, const char *collection, char kind, struct bytes name);
/* Comes in with a request; true: it has entered. Else it is parked: once it may, it reads the store
 * (`read`), or its route's `finish` is called. A closed desk answers it. */
bool desk_enter(struct desk *desk, struct write *write, bool read);
/* It is answered and writes nothing: others may have its names. */
void desk_release(struct write *write);
/* Hands the batch to the writer and parks the request; the request is answered when this fails. */
void desk_submit(struct write *write);
/* The request is done with; what the writer still has is kept until it gives it back. */
void desk_leave(void *write);

#endif
