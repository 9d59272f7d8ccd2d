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
    bool hello_due, compress, replaying, cut_over, ended;
    struct text line, packed; /* the event at hand, plain and compressed */
};

/* Stands at the live end. */
struct subscriber *subscriber_new(struct sim *sim);
void subscriber_free(struct subscriber *subscriber);
/* Adds it to those who are told about new events. */
void subscriber_join(struct subscriber *subscriber);
/* Makes event k the one at hand; false when it is bigger than the subscriber wants. */
bool subscriber_render(struct subscriber *subscriber, uint32_t k);
/* Appends the event at hand as one frame. */
void subscriber_send(struct subscriber *subscriber, bool wrong_dictionary);
/* Appends bytes as one frame of the kind the subscriber gets. */
void subscriber_send_raw(struct subscriber *subscriber, struct bytes payload);

#endif
