/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_packing.h - compressed messages and the dictionaries it takes to read them.
 *
 * The v1 wire has one dictionary, which is configured; hosts of the v2 wire hand theirs out and
 * name it by a number. One v2 dictionary is held: the last one fetched, or the one kept from an
 * earlier run. Whatever goes wrong with a dictionary, the stream goes on without compression, and
 * people are told once for each host.
 *
 * Owner: the source.  Thread: the ingest loop. */
#ifndef SOURCE_JETSTREAM_PACKING_H
#define SOURCE_JETSTREAM_PACKING_H

#include "decode/zstd_frame.h"
#include "source/jetstream_host.h"
#include "sys/runtime.h"

/* Keeps a fetched dictionary for the next run; borrowed for the call. Empty: keep none. */
typedef void jetstream_keep_fn(void *arg, struct bytes dictionary);

struct jetstream_packing {
    struct runtime *runtime;
    bool wanted;
    struct zstd_decoder *v1, *v2; /* NULL: not there */
    struct zstd_decoder *current; /* of the connection; NULL: its messages are plain */
    jetstream_keep_fn *keep;      /* may be NULL */
    void *keep_arg;
    struct jetstream_host *host; /* being asked for its dictionary */
    struct http_call *call;
    void (*fetched)(void *arg);
    void *fetched_arg;
};

/* Dictionaries may be absent. One that is no good is left out, with a word in the log. */
void jetstream_packing_init(struct jetstream_packing *packing, struct runtime *runtime, bool wanted,
                            struct bytes v1, struct bytes v2);
/* Nothing is being fetched any more: it was cancelled, or the network is gone. */
void jetstream_packing_deinit(struct jetstream_packing *packing);
/* True when it asks the host for its dictionary first; `fetched` is called when that is over. */
bool jetstream_packing_fetch(struct jetstream_packing *packing, struct jetstream_host *host,
                             void (*fetched)(void *arg), void *arg);
void jetstream_packing_cancel(struct jetstream_packing *packing);
/* Decides about the next connection to the host, and what it has to ask for. */
void jetstream_packing_choose(struct jetstream_packing *packing, struct jetstream_host *host,
                              struct jetstream_ask *ask);
/* The host does not know the dictionary it was asked to use: another one is fetched, once. */
void jetstream_packing_unknown(struct jetstream_packing *packing, struct jetstream_host *host);
/* No more compression at this host. */
void jetstream_packing_give_up(struct jetstream_packing *packing, struct jetstream_host *host,
                               const char *reason);
/* RC_RETRY: the dictionary does not open it; give up and have the message sent again. */
must_check enum rc jetstream_packing_decode(struct jetstream_packing *packing, struct bytes frame,
                                            struct bytes *out, struct err *err);

#endif
