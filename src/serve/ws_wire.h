/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_wire.h - the server's end of one websocket, as messages.
 *
 * A connection that was upgraded is ours until it is closed; its socket is watched by the serving
 * loop. It is alive as long as something comes: after a time of silence it is pinged, and closed
 * when that is not answered. As long as the client lags behind, a ping waits behind all that it has
 * not taken: then it is enough that it takes something. What it has not taken yet waits here; as
 * long as that is more than WS_WIRE_WAITING_MAX nothing more is read, so who asks without listening
 * stops itself, and whoever sends unasked looks at ws_wire_is_full() first. When too much waits for
 * all clients together, it is enough that anything waits here.
 *
 * Always holds: `closed` is called once, from the loop and never from inside a call; nothing is
 * called after it. A close that we begin is given a moment to be answered.
 *
 * Owner: the session.  Thread: the serving loop. */
#ifndef SERVE_WS_WIRE_H
#define SERVE_WS_WIRE_H

#include "serve/request.h"
#include "serve/unsent.h"
#include "sys/loop.h"

#define WS_WIRE_MESSAGE_MAX (1 << 20)
#define WS_WIRE_WAITING_MAX (1 << 20)
#define WS_WIRE_PING_US     INT64_C(20000000)

struct ws_wire;
struct MHD_UpgradeResponseHandle;

struct ws_wire_ops {
    void (*message)(struct ws_wire *wire, struct bytes text); /* borrowed for the call */
    void (*drained)(struct ws_wire *wire);                    /* it was full, and has room again */
    void (*tick)(struct ws_wire *wire);                       /* once per WS_WIRE_PING_US */
    void (*closed)(struct ws_wire *wire);                     /* everything of the wire is freed */
};

/* Embedded in its session. */
struct ws_wire {
    const struct ws_wire_ops *ops;
    struct unsent *unsent; /* of all wires and others; set before it is opened */
    struct runtime *runtime;
    struct listener *listener;
    struct MHD_UpgradeResponseHandle *upgraded;
    int fd;
    struct fd_watch *watch;
    struct ws_codec *codec;
    struct text out; /* from `out_at` on not sent yet */
    size_t out_at;
    size_t counted; /* in `unsent` */
    struct timer timer;
    int64_t heard_us; /* when it gave a sign of life last */
    int64_t sent;     /* bytes that the kernel has */
    int64_t taken;    /* and of these the client, when it was looked at last, */
    bool behind;      /* which was when it had not all */
    bool full;        /* nothing is read until it has drained */
    bool closing;     /* a close was sent, or is about to be */
    bool over;        /* it is closed at the next turn of the loop */
};

/* `early` came with the request and is taken at once. */
void ws_wire_open(struct ws_wire *wire, struct loop *loop, struct listener *listener, int fd,
                  struct MHD_UpgradeResponseHandle *upgraded, struct bytes early);
/* Nothing is sent any more after a close. */
void ws_wire_send(struct ws_wire *wire, struct bytes text);
bool ws_wire_is_full(const struct ws_wire *wire);
void ws_wire_close(struct ws_wire *wire, uint16_t code, const char *reason);
/* Now, without a word; `closed` is called before it returns. */
void ws_wire_abort(struct ws_wire *wire);

#endif
