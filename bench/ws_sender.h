/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_sender.h - the server's side of a Jetstream wire, in a thread of its own: whoever connects is
 * sent events, as fast as it reads or at a rate.
 *
 * Events come from a stock, over and over; with `restamp` each gets a time of its own, so that the
 * stream goes on instead of back. What clients say is read and forgotten. */
#ifndef BENCH_WS_SENDER_H
#define BENCH_WS_SENDER_H

#include "base/bytes.h"

struct ws_sender;

struct ws_sender_stock {
    const char *bytes;
    const size_t *start; /* of each event, and the end of the last */
    size_t count;
    bool binary;
};

struct ws_sender_options {
    struct ws_sender_stock stock;
    uint64_t events;     /* per connection; then it is held open */
    uint32_t per_second; /* 0: as fast as it is read */
    bool restamp;        /* plain events: the sender's clock, or a microsecond later each */
    bool renumber;       /* plain events: a record key of its own for each */
};

struct ws_sender *ws_sender_start(const struct ws_sender_options *options);
unsigned ws_sender_port(const struct ws_sender *sender);
/* Events sent on the present connection. */
uint64_t ws_sender_sent(const struct ws_sender *sender);
void ws_sender_stop(struct ws_sender *sender);

#endif
