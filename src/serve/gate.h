/* SPDX-License-Identifier: Apache-2.0
 *
 * gate.h - who may ask, how often, and for what.
 *
 * A request passes twice. When its headers are there the gate settles who asks: where it was meant
 * to go, which page sent it, whose token it carries, how often that one asked lately. When its
 * route is known the gate compares the scope that the route names with those of the visitor.
 * Whoever does not pass is answered, with what to do.
 *
 *   the unix socket           has every scope: its file is the key
 *   the health address        may read what is there
 *   a token                   has the scopes of its line, wherever it is presented
 *   loopback, no tokens file  may read and write
 *   loopback, without token   may read, unless reading needs a token too
 *   any other address         nothing without a token
 *
 * Always holds: where there are tokens, one that is not known is refused, never taken for none. The
 * table of who asked has a fixed size (I6).
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H

#include "config_tokens.h"
#include "serve/request.h"

struct gate;

/* `tokens` NULL: nobody is asked for one; the gate takes them over. */
struct gate *gate_new(const struct gate_options *options, struct tokens *tokens,
                      struct runtime *runtime);
void gate_free(struct gate *gate);
/* Other tokens from now on; not NULL. */
void gate_set_tokens(struct gate *gate, struct tokens *tokens);

/* Sets the request's scopes and session, or answers. `local`: it came to a loopback address. */
void gate_enter(struct gate *gate, struct request *request, const char *method, bool local);
/* One who was let in asks again on a connection that is no longer HTTP: counts as any request does,
 * and answers when the token is not known any more. The request has the scopes and the visitor of
 * the first one; they may change. */
void gate_again(struct gate *gate, struct request *request);
/* Whether the token of a visitor who was let in still may read; true of who came without. */
bool gate_knows(const struct gate *gate, const struct visitor_id *visitor);
/* Answers unless the visitor has the scope that the request's route asks for. */
void gate_pass(struct request *request);

#endif
