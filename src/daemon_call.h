/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_call.h - an operator's request that the daemon does itself, from its body to its answer.
 *
 * Such requests are done one at a time, so that readers are left for everybody else; a second one
 * is CONFLICT. What is read from the body and what is answered is the route's; its struct begins
 * with this one and is the request's data.
 *
 * Owner: the request.  Thread: the serving loop; the outcome is set on a reader's thread. */
#ifndef DAEMON_CALL_H
#define DAEMON_CALL_H

#include "base/json.h"
#include "serve/request.h"

struct admin;

struct daemon_call {
    struct admin *admin; /* NULL: it has not had its turn */
    /* What came of it; a failure of the store itself is the job's. */
    enum rc outcome;
    bool keyless; /* whoever could be asked needs a key that is not there */
    struct err why;
};

/* Parses the body; false: that, or somebody else's turn, is answered. */
must_check bool daemon_call_begin(struct request *request, struct json *root);
/* It can be done: this is its turn now, until daemon_call_end(). */
void daemon_call_take_turn(struct request *request);
/* True when it went well and the route answers. */
must_check bool daemon_call_end(struct request *request);
/* As what an outcome that is not good is refused. */
enum refusal_code daemon_call_refusal(enum rc outcome);

#endif
