/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOST_US INT64_C(60000000) /* between looks for the chain that was lost */

static void compare(struct evm_chain *chain);
static void ask_for_last(struct evm_chain *chain);

/* The chain may be shorter than what was seen of the one it was. */
static void forget_head(struct evm_chain *chain)
{
    chain->head = chain->round_head;
    chain->target = 0;
}

static void undo_to(struct evm_chain *chain, size_t link)
{
    forget_head(chain);
    chain->linked_by = rpc_told_by(chain->rpc);
    chain->link_count = link + 1;
    chain->next = chain->links[link].number + 1;
    content_undo(chain->content, chain->links[link].number, bytes_of(chain->links[link].hash),
                 BYTES_ABSENT);
}

/* Whether all that was read since the start lies within the depth: nothing before it was believed,
 * so there is nothing that would have to be the same. */
static bool may_begin_anew(const struct evm_chain *chain)
{
    uint64_t start = chain->settings.start_block;
    return start > 0 && chain->links[0].number == start &&
           chain->next - start <= chain->settings.reorg_depth;
}

static void undo_all(struct evm_chain *chain)
{
    forget_head(chain);
    chain->link_count = 0;
    chain->next = chain->settings.start_block;
    content_undo(chain->content, chain->next - 1, BYTES_ABSENT, BYTES_ABSENT);
}

/* ---- deeper than is allowed ---- */

/* The oldest block that was compared: whoever has the same is on our chain as far back as anything
 * is undone. */
static const struct evm_chain_link *deepest(const struct evm_chain *chain)
{
    assert(chain->link_count > 0);
    return &chain->links[chain->fork < chain->link_count ? chain->fork : chain->link_count - 1];
}

bool evm_chain_is_link(const struct evm_chain_link *link, enum rc rc, struct json result)
{
    struct evm_block block;
    char hash[EVM_HASH_TEXT_SIZE];
    if (rc != RC_OK || evm_block_read(result, &block, NULL) != RC_OK ||
        block.number != link->number)
        return false;
    evm_hash_format(&block.hash, hash);
    return strcmp(hash, link->hash) == 0;
}

static void look_later(struct evm_chain *chain)
{
    struct runtime *runtime = chain->env.runtime;
    runtime->ops->timer_arm(runtime, &chain->poll, LOST_US);
}

/* All who answer show another chain. */
static void give_up(struct evm_chain *chain)
{
    snprintf(chain->trouble.text, sizeof chain->trouble.text,
             "the chain has changed more than content.reorg_depth = %" PRIu32
             " blocks below block %" PRIu64 ": nothing is undone; raise content.reorg_depth, "
             "or run `tidemark reset content` to read it anew",
             chain->settings.reorg_depth, chain->next - 1);
    chain->stuck = chain->lost = true;
    look_later(chain);
}

static void take_found(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    if (!evm_chain_is_link(deepest(chain), rc, result)) {
        rpc_reproach(chain->rpc,
                     rc == RC_OK ? EVM_CHAIN_STRAYS : err->text); /* the next look is another's */
        look_later(chain);
        return;
    }
    chain->stuck = chain->lost = false;
    chain->trouble.text[0] = '\0';
    evm_chain_step(chain);
}

void evm_chain_find(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    assert(chain->lost);
    evm_chain_number_params(deepest(chain)->number, params);
    rpc_ask(chain->rpc, "eth_getBlockByNumber", params, take_found, chain);
}

static void ask_opinion(struct evm_chain *chain);

/* Another node has the chain that was read. */
static void leave_strays(struct evm_chain *chain)
{
    for (int node = 0; node < FAILOVER_PROVIDERS_MAX; node++)
        if ((chain->strays >> node & 1) != 0)
            rpc_blame(chain->rpc, node, EVM_CHAIN_STRAYS);
    evm_chain_poll_later(chain);
}

/* One that is on our chain is enough to go on with; those who showed the other have strayed. */
static void take_opinion(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    (void)err;
    chain->heard |= UINT32_C(1) << rpc_told_by(chain->rpc);
    if (!evm_chain_is_link(deepest(chain), rc, result)) {
        ask_opinion(chain);
        return;
    }
    leave_strays(chain);
}

static void ask_opinion(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    evm_chain_number_params(deepest(chain)->number, params);
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", params, take_opinion,
                       chain))
        give_up(chain);
}

/* ---- as deep as is allowed ---- */

static void take_block(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct evm_block block;
    char hash[EVM_HASH_TEXT_SIZE];
    if (rc != RC_OK) {
        rpc_disbelieve(chain->rpc, err->text);
        return;
    }
    if (evm_block_read(result, &block, &chain->trouble) != RC_OK ||
        block.number != chain->links[chain->fork].number) {
        rpc_disbelieve(chain->rpc, "the node lacks a block below its own head");
        return;
    }
    evm_hash_format(&block.hash, hash);
    bool same = strcmp(hash, chain->links[chain->fork].hash) == 0;
    chain->strays |= same ? 0 : UINT32_C(1) << rpc_told_by(chain->rpc);
    if (same && chain->fork == chain->fork_top)
        evm_chain_poll_later(chain); /* it is as it was: nodes differ about it, or change back */
    else if (same)
        undo_to(chain, chain->fork);
    else
        compare(chain);
}

/* The next older block that is remembered, if it lies within the depth. */
static void compare(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    uint64_t last = chain->next - 1, depth = chain->settings.reorg_depth;
    if (chain->fork == 0 && may_begin_anew(chain)) {
        undo_all(chain);
        return;
    }
    if (chain->fork == 0 || last - chain->links[chain->fork - 1].number > depth) {
        chain->heard = chain->strays;
        ask_opinion(chain);
        return;
    }
    chain->fork--;
    evm_chain_number_params(chain->links[chain->fork].number, params);
    rpc_ask(chain->rpc, "eth_getBlockByNumber", params, take_block, chain);
}

/* A chain that is shorter than ours is one that a node has not left yet, unless all have it. */
static void take_last(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    (void)err;
    chain->heard |= UINT32_C(1) << rpc_told_by(chain->rpc);
    if (evm_chain_is_link(evm_chain_last_link(chain), rc, result))
        leave_strays(chain);
    else
        ask_for_last(chain);
}

static void ask_for_last(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    evm_chain_number_params(evm_chain_last_link(chain)->number, params);
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", params, take_last, chain))
        compare(chain);
}

void evm_chain_fork(struct evm_chain *chain, size_t link)
{
    assert(link < chain->link_count);
    chain->fork_top = link;
    chain->fork = link + 1;
    chain->heard = chain->strays = UINT32_C(1) << rpc_told_by(chain->rpc);
    if (link + 1 < chain->link_count)
        ask_for_last(chain);
    else
        compare(chain);
}

/* ---- whether a node may go on in another's place ---- */

static void take_proof(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    if (rc != RC_OK || json_type(result) == JSON_NULL) {
        rpc_disbelieve(chain->rpc,
                       rc != RC_OK ? err->text : "the node lacks a block below its own head");
        return;
    }
    if (!evm_chain_is_link(evm_chain_last_link(chain), rc, result)) {
        evm_chain_fork(chain, chain->link_count - 1);
        return;
    }
    chain->linked_by = rpc_told_by(chain->rpc);
    if (chain->linked_by == chain->witness)
        evm_chain_ask_logs(chain);
    else
        evm_chain_read_on(chain);
}

void evm_chain_prove(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    evm_chain_number_params(evm_chain_last_link(chain)->number, params);
    rpc_ask(chain->rpc, "eth_getBlockByNumber", params, take_proof, chain);
}
