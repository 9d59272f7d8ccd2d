/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.h - which queries are open in memory, who is asking them now, and whose they are.
 *
 * Every handle stands on the shelf; here are copies of those used last. A copy is in one of three
 * states:
 *   idle      as it stands on the shelf
 *   busy      one request holds it (handle_hold, handle_add): any other one is CONFLICT
 *   closing   closed while busy; gone when it is released
 * Over a session's quota, or over that of all, the copy used least recently is parked: it is
 * forgotten here and costs no memory, and the next request for it reads it from the shelf. Only
 * what the shelf may hold in all is a limit that refuses.
 *
 * A session is whoever names its 128 bits; the one without a name (zero) is the machine itself and
 * never ends. One that had a connection and lost the last of them has a time of grace to be seen
 * again; then it has ended, and its handles are to be closed.
 *
 * Time is given by the caller and never read here.
 *
 * Owner: the serving loop.  Thread: its own; the state of a busy handle is its holder's, on
 * whichever thread that works. */
#ifndef QUERY_HANDLE_H
#define QUERY_HANDLE_H

#include "base/uuid.h"
#include "query/handle_state.h"

#define HANDLES_OPEN_MAX        16384
#define HANDLES_OF_SESSION_MAX  256
#define HANDLES_KEPT_MAX        2000000
#define HANDLE_IDLE_US          INT64_C(300000000)
#define HANDLE_SESSION_GRACE_US INT64_C(60000000)

struct config;
struct handles;
struct handle;

/* 0: as above. */
struct handle_limits {
    size_t open_max, of_session_max; /* in memory */
    int64_t kept_max;                /* on the shelf */
    int64_t idle_us, grace_us;
};

/* As they are configured. */
struct handle_limits handle_limits_of(const struct config *config);

struct handle_counts {
    size_t open;                      /* in memory */
    int64_t kept;                     /* on the shelf, these among them */
    uint64_t opened, parked, expired; /* since the start */
};

/* `seed` is secret: clients choose the ids of their sessions. */
struct handles *handles_new(const struct handle_limits *limits, uint64_t seed);
/* None may be busy. */
void handles_free(struct handles *handles);
const struct handle_limits *handles_limits(const struct handles *handles);
struct handle_counts handles_counts(const struct handles *handles);
/* The shelf was counted; some were taken from it because their time was over, or for their
 * owners. */
void handles_set_kept(struct handles *handles, int64_t kept);
void handles_note_expired(struct handles *handles, size_t count);
void handles_note_closed(struct handles *handles, size_t count);
/* Forgets the copies that nobody used for the idle time. */
void handles_drop_idle(struct handles *handles, int64_t now_us);

/* A busy handle of a new query; `random` becomes its name and `state`, whose memory is taken over,
 * what it asks. QUOTA_EXCEEDED: the shelf is full, and the state is untouched. */
must_check enum rc handle_add(struct handles *handles, struct handle_state *state,
                              const uint8_t random[HANDLE_NAME_SIZE], int64_t now_us,
                              struct handle **handle, struct refusal *refusal);
/* Holds the handle of this name for one request; its state need not be known. HANDLE_NOT_FOUND: it
 * is no name. FORBIDDEN: another session's. CONFLICT: somebody else holds it. */
must_check enum rc handle_hold(struct handles *handles, struct bytes name,
                               const uint8_t session[HANDLE_SESSION_SIZE], struct handle **handle,
                               struct refusal *refusal);
/* The holder is done; one whose state is not known is forgotten. RC_REJECT: it was closed
 * meanwhile. */
must_check enum rc handle_release(struct handles *handles, struct handle *handle,
                                  struct refusal *refusal);
/* Forgets the copy: at once, or when its holder is done. FORBIDDEN: another session's. `wanted` is
 * its name; the shelf is the caller's business. */
must_check enum rc handle_close(struct handles *handles, struct bytes name,
                                const uint8_t session[HANDLE_SESSION_SIZE],
                                uint8_t wanted[HANDLE_NAME_SIZE], struct refusal *refusal);
struct handle_state *handle_state(struct handle *handle);
/* "busy", "open" or "parked". */
const char *handle_standing(const struct handles *handles, const uint8_t name[HANDLE_NAME_SIZE]);

/* ---- sessions ---- */

/* A connection of the session began; ended. */
void session_joined(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE]);
void session_gone(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE],
                  int64_t now_us);
/* It asked something: its grace, if it is in one, is over, and it stays. */
void session_seen(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE]);
/* One whose grace is over; its copies are forgotten. False: there is none. */
bool session_take_ended(struct handles *handles, int64_t now_us,
                        uint8_t session[HANDLE_SESSION_SIZE]);

#endif
