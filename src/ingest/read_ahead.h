/* SPDX-License-Identifier: Apache-2.0
 *
 * read_ahead.h - how far the wire is read before what came can be worked on.
 *
 * While the writer keeps up, little need wait: beyond 1 MiB the wire is left alone until half of
 * that is gone, which the peer feels and waits for. But a peer that hears no pong goes, so it is
 * never left alone for long: after a second all that comes is taken, as far as there is room; and
 * where three quarters are full there are three more seconds before the rest is. Once what waited
 * is worked off all this begins anew.
 *
 * Owner: an intake.  Thread: the ingest loop. */
#ifndef INGEST_READ_AHEAD_H
#define INGEST_READ_AHEAD_H

#include "sys/runtime.h"

struct read_ahead {
    struct runtime *runtime;
    void (*hold)(void *arg, bool on); /* whether the wire is to be left alone */
    void *arg;
    size_t size;    /* of what there is room for */
    unsigned stage; /* how often patience ran out */
    bool held;
    struct timer patience;
};

void read_ahead_init(struct read_ahead *ahead, struct runtime *runtime, size_t size,
                     void (*hold)(void *arg, bool on), void *arg);
void read_ahead_deinit(struct read_ahead *ahead);
/* To be told whenever it changes how many bytes wait. */
void read_ahead_look(struct read_ahead *ahead, size_t waiting);

#endif
