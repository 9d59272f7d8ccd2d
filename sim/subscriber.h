/* SPDX-License-Identifier: Apache-2.0
 *
 * subscriber.h - one client of an event stream: where it stands and what it asked for.
 *
 * `next` is the first event it has not been offered. An event held back by a fault stands in
 * `held` and follows later. `ended` is set as soon as nothing more may be sent, before the
 * connection is gone.
 *
 * Owner: its websocket, whose closing frees it.  Thread: loop. */
#ifndef SIM_SUBSCRIBER_H
#define SIM_SUBSCRIBER_H

#include "sim/sim.h"
#include "sim/stream_filter.h"
#include "sim/ws_server.h"

struct subscriber {
    struct sim *sim;
    struct ws *ws;
    struct subscriber *list_next, **list_back; /* back: NULL before it joined */
    struct stream_filter filter;
    uint32_t next, held, held_left, cut_left;
    enum event_wire wire;
    bool hello_due, compress, replaying, cut_over, ended;
    struct text line, packed; /* the event at hand, plain and compressed */
};

/* Stands at the live end. */
struct subscriber *subscriber_new(struct sim *sim, enum event_wire wire);
void subscriber_free(struct subscriber *subscriber);
/* Adds it to those who are told about new events. */
void subscriber_join(struct subscriber *subscriber);
/* Makes event k the one at hand; false when it is bigger than the subscriber wants. */
bool subscriber_render(struct subscriber *subscriber, uint32_t k);
/* Appends the event at hand as one frame. */
void subscriber_send(struct subscriber *subscriber, bool wrong_dictionary);
/* Appends bytes as one frame of the kind the subscriber gets. */
void subscriber_send_raw(struct subscriber *subscriber, struct bytes payload);
/* Appends this JSON as one frame, compressed when the subscriber asked for that. */
void subscriber_send_json(struct subscriber *subscriber, const char *json);
/* Sends what it has not got yet, as far as it reads. */
void subscriber_wake(struct subscriber *subscriber);
/* Says goodbye with a close frame. */
void subscriber_end(struct subscriber *subscriber, unsigned code, const char *reason);
/* Answers in place of the handshake when a fault says so; false when none does. */
bool subscriber_refuse(struct sim *sim, struct http_exchange *exchange, enum event_wire wire);

#endif
