/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_script.h - the server's side of a websocket for scripted connections, frame by frame.
 *
 * Written apart from the code under test: it shares nothing with it but the standard. */
#ifndef TEST_WS_SCRIPT_H
#define TEST_WS_SCRIPT_H

#include "script_server.h"

/* Appends an unmasked frame. */
void ws_script_put(struct text *out, bool fin, int opcode, struct bytes payload);
void ws_script_send(struct script_conn *conn, int opcode, struct bytes payload);
/* Takes one masked frame off what came; false when it is not all there. */
bool ws_script_take(struct script_conn *conn, int *opcode, struct text *payload);
/* Appends the Sec-WebSocket-Accept that belongs to the request that came. */
void ws_script_put_accept(struct text *out, const struct script_conn *conn);

#endif
