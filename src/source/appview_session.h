/* SPDX-License-Identifier: Apache-2.0
 *
 * appview_session.h - a login with an app password, kept alive.
 *
 *   none -> busy (creating, renewing) -> ready -> ... (its time is nearly over, or it was refused)
 *
 * A token is renewed before it ends, with the renewal token that came with it; when that is refused
 * too, the password is used again. A number stands for the token a request went out with, so that
 * an answer to an old one says nothing of the present one.
 *
 * Always holds: password and tokens are shown to the server they belong to and nobody else, in no
 * log and no sentence; what held them is wiped.
 *
 * Owner: the AppViews' client.  Thread: the ingest loop. */
#ifndef SOURCE_APPVIEW_SESSION_H
#define SOURCE_APPVIEW_SESSION_H

#include "base/json.h"
#include "base/secret.h"
#include "sys/runtime.h"

/* RC_OK: there is a token. RC_REJECT: the server does not take the password. RC_RETRY: it could not
 * be asked. */
typedef void session_fn(void *arg, enum rc rc, const struct err *err);

struct appview_session {
    struct runtime *runtime;
    char *root, *identifier;
    struct secret password, access, refresh;
    int64_t access_until_us; /* wall time; INT64_MAX: it does not say */
    uint64_t number;         /* of the token in use */
    bool renewing;           /* what is under way is a renewal */
    struct http_call *call;
    struct json_doc *doc;
    session_fn *ended;
    void *arg;
};

void appview_session_init(struct appview_session *session, struct runtime *runtime,
                          const char *root, const char *identifier, struct bytes password,
                          session_fn *ended, void *arg);
void appview_session_deinit(struct appview_session *session);
/* A token that is good for a while. */
bool appview_session_ready(const struct appview_session *session);
bool appview_session_busy(const struct appview_session *session);
/* Gets a token; `ended` is called later. Not while it is busy. */
void appview_session_begin(struct appview_session *session);
/* Appends "Bearer TOKEN"; whoever asked wipes it. */
void appview_session_bearer(const struct appview_session *session, struct text *out);
/* The server refused token `number`: it is renewed or, with `renewed`, begun anew. */
void appview_session_refused(struct appview_session *session, uint64_t number, bool renewed);

/* When a JWT ends, in microseconds; INT64_MAX when it does not say. */
int64_t appview_session_expiry(struct json_doc *doc, struct bytes jwt);

#endif
