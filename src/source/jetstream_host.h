/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_host.h - a Jetstream endpoint as one of several providers.
 *
 * "wss://host:port/path" is known as "host:port". Owner: a source.  Thread: the owner's. */
#ifndef SOURCE_JETSTREAM_HOST_H
#define SOURCE_JETSTREAM_HOST_H

#include "ingest/failover.h"

/* How far another host's position is rewound: further than two hosts' clocks are apart. */
#define JETSTREAM_CROSS_REPLAY_US INT64_C(10000000)

/* RC_REJECT: not a websocket address, without a host, or named twice. */
must_check enum rc jetstream_host_add(struct failover *hosts, const char *endpoint,
                                      int32_t priority, int64_t now_us, int *number,
                                      struct err *err);

/* The address to dial: one without a path gets the wire's own. The caller frees it. */
char *jetstream_host_address(const char *endpoint);

#endif
