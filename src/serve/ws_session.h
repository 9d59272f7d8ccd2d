/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_session.h - a client on a websocket: commands, answers, pushes.
 *
 *   {"id": 7, "command": "query-next", "params": {...}}  ->  {"id": 7, "result": {...}}
 *
 * A command is a request like any other: it takes the route that a POST would take, with the scopes
 * the connection was opened with, and its result is the body that the POST would get. Answers come
 * when they are ready, in any order; `id` tells them apart. Two commands are the connection's own:
 * `hello` names the session, and `query-tail` with "push": true has the changes sent as they come
 * (`query-untail` ends that).
 *
 * Commands whose answers may be large are read a few at a time, and none while the client lags
 * behind: the others wait here, in their order.
 *
 * Always holds: commands under way and tails of one connection are bounded (I6). When a connection
 * ends its tails end, and commands under way are answered to nobody; those that wait end with it.
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_WS_SESSION_H
#define SERVE_WS_SESSION_H

#include "serve/tail_hub.h"
#include "serve/tail_question.h"
#include "serve/ws_wire.h"

#define WS_COMMANDS_MAX 32
#define WS_TAILS_MAX    64

struct ws_command;
struct ws_tail;

struct ws_session {
    struct ws_wire wire; /* first */
    struct ws_sessions *all;
    struct ws_session *before, *after;
    struct service *service;
    struct listener *listener;
    enum listener_kind from;
    unsigned scopes;
    struct visitor_id visitor;
    bool greeted, commanded;              /* it named its session; it wanted something else */
    uint8_t session[HANDLE_SESSION_SIZE]; /* joined, unless it is zero */
    struct ws_command *commands;          /* under way */
    unsigned command_count;
    bool releasing;
    struct ws_tail *tails;
    unsigned tail_count;
};

/* A request that came over a websocket. */
struct ws_command {
    struct request request;     /* first */
    struct ws_session *session; /* NULL: it is gone */
    struct ws_command *before, *after;
    struct text id; /* as JSON */
};

/* Every session of a server. */
struct ws_sessions *ws_sessions_new(struct loop *loop);
/* All have ended. */
void ws_sessions_free(struct ws_sessions *sessions);
/* Each is closed once its commands are answered; at once, without a word. */
void ws_sessions_drain(struct ws_sessions *sessions);
void ws_sessions_abort(struct ws_sessions *sessions);
/* There are other tokens: those whose token is no longer known are closed. */
void ws_sessions_check(struct ws_sessions *sessions, const struct gate *gate);

/* One that was read waits for something else now: another may be read. */
void ws_command_rests(struct request *request);
/* Whether it came over a websocket that has ended since. */
bool ws_command_is_left(const struct request *request);

/* The route that has the changes of a query pushed to the session of a command. */
extern const struct route ws_push_route;
/* False: it was not followed. */
bool ws_session_untail(struct ws_session *session, struct bytes handle);
void ws_session_end_tails(struct ws_session *session);
/* There is room again; time has passed. */
void ws_session_resume_tails(struct ws_session *session);
void ws_session_mark_tails(struct ws_session *session);

#endif
