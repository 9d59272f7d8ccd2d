/* SPDX-License-Identifier: Apache-2.0
 *
 * evm_chain.h - the blocks of an EVM chain, in order, each with the documents its logs name.
 *
 * Far below the head, where nothing changes any more, logs are asked for by ranges of numbers; a
 * range that a node refuses, does not answer or has too much to say about is halved, and grows
 * again; a node that refuses a single block has failed, and the next one is asked. Near the head,
 * within `reorg_depth` of it, every block is asked for by itself: it must name the one before as
 * its parent, and its logs are asked for by its hash.
 *
 * One node is not enough to believe that there is nothing. Logs count only from a node that has
 * shown the last block of the range itself; when none come where some may be (an empty range, or
 * the header's bloom says so), a second node with the same last block is heard, and the answer with
 * more logs is taken. A node's index of logs may come after its blocks: what a bloom promises is
 * asked of all, again and again, until the block is so old that a bloom with nothing behind it is
 * the likelier reason. Heads are compared, too, and a node that lags behind the others is left.
 * Nothing of a range says what came before it: whoever goes on in another's place shows the last
 * block that was read first, and who is far ahead of the others shows an older one; or it is of
 * another chain.
 *
 * A parent that is not the block before, or a head that is not the block read at its number, means
 * that the chain has changed its mind; a head below, of the same chain, is that of a node that
 * lags, as is another one while a second node has the last block that was read. The stored
 * blocks are compared, newest first, until one is still the chain's; what came after it is undone.
 * If none within `reorg_depth` is, another node is heard: one that still has the oldest of them is
 * followed. If there is none, reading stops and says so: nothing is guessed; it goes on when a node
 * shows that block again. If the start block itself lies within the depth, all is read anew.
 *
 *   HEAD -> RANGE or BLOCK -> (LOGS) -> giving -> HEAD ...     BLOCK -> FORK -> undo -> HEAD
 *
 * Owner: the daemon.  Thread: the ingest loop.  The content it feeds outlives it. */
#ifndef SOURCE_EVM_CHAIN_H
#define SOURCE_EVM_CHAIN_H

#include "decode/evm_event.h"
#include "source/content.h"
#include "source/rpc.h"

#define EVM_CHAIN_RANGE_MAX 2000
#define EVM_CHAIN_POLL_US   INT64_C(1000000)

struct evm_chain_settings {
    struct evm_event event;
    uint64_t start_block, confirmations;
    uint32_t reorg_depth; /* at least 1 */
};

struct evm_chain_view {
    uint64_t head;  /* 0: not known yet */
    uint64_t given; /* the last block handed on */
    bool stuck;     /* it does not go on: no node shows what was read, or a block cannot be taken */
    char trouble[ERR_TEXT_MAX];
};

struct evm_chain;

/* What the content source is given to tell the chain; its argument is the chain. */
extern const struct content_events evm_chain_events;

struct evm_chain *evm_chain_new(const struct source_env *env, struct rpc *rpc,
                                const struct evm_chain_settings *settings);
void evm_chain_free(struct evm_chain *chain);
/* Whom it feeds; before that is started. */
void evm_chain_feed(struct evm_chain *chain, struct content *content);
/* Somebody says that there is a new block: the nodes are asked at once. It is a hint only. */
void evm_chain_wake(struct evm_chain *chain, uint64_t head);
void evm_chain_stop(struct evm_chain *chain);
bool evm_chain_stopped(const struct evm_chain *chain);
void evm_chain_look(const struct evm_chain *chain, struct evm_chain_view *view);

#endif
