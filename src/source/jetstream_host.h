/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_host.h - one Jetstream host: its addresses, and what is known of it.
 *
 * A host speaks the v1 wire, or both. An address that ends in /subscribe, or in anything that is no
 * known path, fixes the v1 wire; one that ends in subscribeEvents fixes v2; a bare host is found
 * out: v2 is tried, and an answer that no v2 server gives means v1. What was found out is
 * remembered while the program runs and given up when the host contradicts it.
 *
 * Owner: the source.  Pure: no I/O, no clock, no log. */
#ifndef SOURCE_JETSTREAM_HOST_H
#define SOURCE_JETSTREAM_HOST_H

#include "base/bytes.h"
#include "base/err.h"

#define JETSTREAM_HOST_NAME_MAX 65 /* with its NUL */

enum jetstream_wire { JETSTREAM_WIRE_UNKNOWN, JETSTREAM_WIRE_V1, JETSTREAM_WIRE_V2 };

struct jetstream_host {
    char name[JETSTREAM_HOST_NAME_MAX]; /* "host:port" as it was written */
    struct text root;                   /* "wss://host:port", and what stands before /xrpc */
    struct text path;                   /* of a fixed wire; empty: the usual one */
    struct text query;                  /* as configured, without '?'; mostly empty */
    enum jetstream_wire fixed, known;
    bool plain;            /* its compression brought trouble: not asked for again */
    bool warned;           /* and people were told */
    bool asked_dictionary; /* since the last one was refused */
};

/* What a connection asks for. */
struct jetstream_ask {
    const char *const *collections;
    size_t collection_count;
    int64_t cursor;      /* 0: live */
    bool hello;          /* v1: nothing is sent before the first options_update */
    bool compress;       /* v1 */
    uint32_t dictionary; /* v2: 0 asks for plain messages */
};

/* RC_REJECT: no ws:// or wss:// address with a host. */
must_check enum rc jetstream_host_init(struct jetstream_host *host, const char *endpoint,
                                       struct err *err);
void jetstream_host_deinit(struct jetstream_host *host);
/* The wire to use, or to try, next. */
enum jetstream_wire jetstream_host_wire(const struct jetstream_host *host);
/* The host took the connection on this wire. */
void jetstream_host_agreed(struct jetstream_host *host, enum jetstream_wire wire);
/* The host refused the wire it was asked on with this HTTP status; `named` says whether the body
 * was an XRPC error. True when it is worth trying again at once on another wire. */
bool jetstream_host_refused(struct jetstream_host *host, int status, bool named);
/* Appends the address of the stream. */
void jetstream_host_stream(const struct jetstream_host *host, const struct jetstream_ask *ask,
                           struct text *out);
/* Appends the address that hands out the current dictionary of the v2 wire. */
void jetstream_host_dictionary(const struct jetstream_host *host, struct text *out);

#endif
