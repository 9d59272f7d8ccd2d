/* SPDX-License-Identifier: Apache-2.0
 *
 * chain_heads.h - a node that says by itself when there is a new block, over a websocket.
 *
 * What it says is a hint and nothing more: it wakes whoever reads the chain, who asks the nodes as
 * ever. A head that is missed, told twice, or taken back later costs nothing but a moment. One
 * connection stands at a time; when it ends, or brings what is no head, the next address is dialled
 * after a while that grows.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_CHAIN_HEADS_H
#define SOURCE_CHAIN_HEADS_H

#include "base/err.h"
#include "sys/runtime.h"

struct chain_heads_settings {
    const char *const *urls; /* ws:// or wss://, best first; must outlive it */
    size_t url_count;        /* at least 1 */
    void (*told)(void *arg, uint64_t number);
    void *arg;
};

struct chain_heads_view {
    bool live;      /* a node has agreed to tell */
    uint64_t heads; /* told since the start */
    char trouble[ERR_TEXT_MAX];
};

struct chain_heads;

struct chain_heads *chain_heads_new(struct runtime *runtime,
                                    const struct chain_heads_settings *settings);
void chain_heads_start(struct chain_heads *heads);
/* Tells nothing more; the connection closes by and by. */
void chain_heads_stop(struct chain_heads *heads);
bool chain_heads_stopped(const struct chain_heads *heads);
/* It has stopped, or was never started. */
void chain_heads_free(struct chain_heads *heads);
void chain_heads_look(const struct chain_heads *heads, struct chain_heads_view *view);

#endif
