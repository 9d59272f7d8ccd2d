/* SPDX-License-Identifier: Apache-2.0
 *
 * handle_session.h - the sessions that have a handle in memory, a connection, or a time of grace.
 *
 * A session is here while it has one of the three and forgotten with the last of them. Its handles
 * are listed by their use. Those in grace wait in the order in which they end; there is a bound to
 * how many do, and over it the first one ends early.
 *
 * Owner: the table of handles.  Thread: its own. */
#ifndef QUERY_HANDLE_SESSION_H
#define QUERY_HANDLE_SESSION_H

#include "query/handle_state.h"

#define SESSIONS_GONE_MAX 65536

/* A place in a list; the list's owner knows what it is embedded in. */
struct handle_link {
    struct handle_link *older, *newer;
};

struct handle_list {
    struct handle_link *oldest, *newest;
};

void handle_list_put(struct handle_list *list, struct handle_link *link);
void handle_list_take(struct handle_list *list, struct handle_link *link);

struct sessions;
struct session;

/* `seed` is secret: clients choose their ids. */
struct sessions *sessions_new(uint64_t seed);
/* Their handles are gone. */
void sessions_free(struct sessions *sessions);

/* Finds or makes it. One that is made and given nothing must not be left behind. */
struct session *session_add(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE]);
/* NULL: it is not here. */
struct session *session_find(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE]);
void session_put(struct session *session, struct handle_link *link);
void session_renew(struct session *session, struct handle_link *link);
void session_drop(struct sessions *sessions, struct session *session, struct handle_link *link);
const struct handle_list *session_handles(const struct session *session);
size_t session_handle_count(const struct session *session);

void sessions_join(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE]);
/* Its last connection's end begins the grace, which lasts until `end_us`. */
void sessions_leave(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE],
                    int64_t end_us);
void sessions_see(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE]);
/* One whose grace is over; false: there is none. It is here as long as it has handles. */
bool sessions_take_ended(struct sessions *sessions, int64_t now_us,
                         uint8_t id[HANDLE_SESSION_SIZE]);

#endif
