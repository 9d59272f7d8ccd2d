/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include <inttypes.h>
#include <stdio.h>

#define EMPTY_ANSWERS 2 /* of the only node there is, and they are believed */
/* So old a block is before it is believed that it holds nothing of what its bloom promises: by the
 * word of one node, and when another has nothing either. */
#define PROMISE_US        INT64_C(60000000)
#define PROMISE_SHARED_US INT64_C(15000000)
#define MUTE_OPINIONS     64
/* Rounds after which heads are compared though nothing looks wrong. */
#define COMPARE_ROUNDS 16

static uint32_t bit_of(int node)
{
    return UINT32_C(1) << node;
}

static int64_t mono(const struct evm_chain *chain)
{
    return chain->env.runtime->ops->mono_us(chain->env.runtime);
}

static void note_told(struct evm_chain *chain)
{
    chain->heard |= bit_of(rpc_told_by(chain->rpc));
}

/* ---- logs that may be missing ---- */

static void ask_next_witness(struct evm_chain *chain);

bool evm_chain_promised(const struct evm_chain *chain)
{
    return chain->block.has_bloom && evm_event_in_bloom(&chain->settings.event, chain->block.bloom);
}

bool evm_chain_is_doubtful(const struct evm_chain *chain)
{
    bool has_last = chain->ref_count > 0 && chain->refs[chain->ref_count - 1].block == chain->hi;
    if (chain->log_count == 0 && (chain->lo < chain->hi || evm_chain_promised(chain)))
        return true;
    return chain->lo < chain->hi && !has_last && evm_chain_promised(chain);
}

/* Whether it is not the range that a node refuses: it refuses two blocks, or did not long ago. Then
 * it is as one that does not answer; if not, ranges would stay small because of it. */
static bool is_mute(struct evm_chain *chain, uint32_t bit)
{
    if (chain->hi - chain->lo <= 1) {
        chain->mute |= bit;
        chain->mute_left = MUTE_OPINIONS;
    } else if ((chain->mute & bit) != 0 && chain->mute_left-- == 0) {
        chain->mute = 0;
    }
    return (chain->mute & bit) != 0;
}

/* What is promised is asked of everybody. */
static void take_agreement(struct evm_chain *chain)
{
    chain->doubt.shared = true;
    if (evm_chain_promised(chain))
        ask_next_witness(chain);
    else
        evm_chain_accept(chain);
}

static void take_other_logs(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct err why;
    uint32_t bit = bit_of(rpc_told_by(chain->rpc));
    if (rc == RC_OK)
        chain->mute &= ~bit;
    if (rc == RC_REJECT && !is_mute(chain, bit)) {
        evm_chain_shrink(chain, rc, err); /* too much for it is not nothing */
    } else if (rc != RC_OK) {
        if (rc == RC_REJECT)
            rpc_blame(chain->rpc, rpc_told_by(chain->rpc), err->text);
        ask_next_witness(chain);
    } else if (json_type(result) != JSON_ARRAY) {
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), "the node's logs are no list");
        ask_next_witness(chain);
    } else if (json_count(result) <= chain->log_count) {
        take_agreement(chain);
    } else if (evm_chain_logs_read(chain, result, &why) == RC_OK) {
        rpc_blame(chain->rpc, chain->witness, "it holds logs back that another node has");
        evm_chain_accept(chain);
    } else {
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), why.text);
        evm_chain_step(chain);
    }
}

/* Only who has the last block itself can say what is in the range. */
static void take_other_header(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct evm_block block;
    note_told(chain);
    if (rc == RC_REJECT)
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), err->text);
    bool knows = rc == RC_OK && json_type(result) != JSON_NULL &&
                 evm_block_read(result, &block, NULL) == RC_OK &&
                 evm_hash_equal(&block.hash, &chain->block.hash);
    if (!knows || !rpc_ask_other(chain->rpc, ~bit_of(rpc_told_by(chain->rpc)), "eth_getLogs",
                                 evm_chain_logs_params(chain, chain->lo == chain->hi),
                                 take_other_logs, chain))
        ask_next_witness(chain);
}

/* How much longer a promise is held on to: 0 when the block is so old that its logs would be there.
 * It is as old as the doubt, or as its time says: however many blocks promise what is not there,
 * the reader does not fall ever further behind. */
static int64_t promise_left_us(const struct evm_chain *chain, int64_t now_us)
{
    int64_t most_us = chain->doubt.shared ? PROMISE_SHARED_US : PROMISE_US;
    uint64_t time_s = chain->block.time_s;
    uint64_t behind_s = chain->head_s > time_s ? chain->head_s - time_s : 0;
    if (behind_s >= (uint64_t)(most_us / 1000000))
        return 0;
    int64_t age_us = now_us - chain->head_at_us + (int64_t)behind_s * 1000000;
    int64_t waited_us = now_us - chain->doubt.since_us;
    int64_t left_us = most_us - (age_us > waited_us ? age_us : waited_us);
    return left_us > 0 ? left_us : 0;
}

/* The same questions are asked again, at ever longer intervals; nothing wakes the reader before,
 * since new blocks have nothing to say about this one. */
static void ask_again_later(struct evm_chain *chain, int64_t waited_us, int64_t left_us)
{
    struct runtime *runtime = chain->env.runtime;
    int64_t wait_us = waited_us > EVM_CHAIN_POLL_US ? waited_us : EVM_CHAIN_POLL_US;
    if (left_us > 0 && wait_us > left_us)
        wait_us = left_us;
    runtime->ops->timer_arm(runtime, &chain->poll, wait_us);
}

/* Whoever can be asked was asked. Logs may come a little after their blocks, and a bloom may
 * promise what is not there: only time tells which it is. */
static void weigh(struct evm_chain *chain)
{
    const struct evm_chain_doubt *doubt = &chain->doubt;
    bool promised = evm_chain_promised(chain);
    int64_t now_us = mono(chain);
    int64_t left_us = promised ? promise_left_us(chain, now_us) : 0;
    if (left_us == 0 && (doubt->shared || doubt->answers >= EMPTY_ANSWERS))
        evm_chain_accept(chain);
    else if (promised)
        ask_again_later(chain, now_us - doubt->since_us, left_us);
    else
        evm_chain_step(chain);
}

static void ask_next_witness(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    evm_chain_number_params(chain->hi, params);
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", params, take_other_header,
                       chain))
        weigh(chain);
}

void evm_chain_doubt(struct evm_chain *chain)
{
    struct evm_chain_doubt *doubt = &chain->doubt;
    if (doubt->answers == 0 || doubt->lo != chain->lo ||
        !evm_hash_equal(&doubt->hash, &chain->block.hash))
        *doubt = (struct evm_chain_doubt){
            .lo = chain->lo, .hi = chain->hi, .hash = chain->block.hash, .since_us = mono(chain)};
    doubt->answers++;
    doubt->shared = false;
    chain->heard = bit_of(chain->witness);
    ask_next_witness(chain);
}

/* ---- heads ---- */

void evm_chain_take_head(struct evm_chain *chain, const struct evm_block *head)
{
    if (!evm_hash_equal(&chain->head_hash, &head->hash))
        chain->head_at_us = mono(chain);
    chain->head_hash = head->hash;
    chain->head_s = head->time_s;
    chain->round_head = head->number;
}

static void ask_next_head(struct evm_chain *chain);

/* A head of another node. */
static void credit_head(struct evm_chain *chain, const struct evm_block *head)
{
    char words[PROVIDER_REASON_MAX];
    if (head->number > chain->round_head + EVM_CHAIN_LAG_MAX) {
        snprintf(words, sizeof words, "it lags: its head is %" PRIu64 ", another's %" PRIu64,
                 chain->round_head, head->number);
        rpc_blame(chain->rpc, chain->witness, words);
    }
    if (head->number > chain->round_head)
        evm_chain_take_head(chain, head);
}

static void take_other_link(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    (void)err;
    if (evm_chain_is_link(&chain->links[0], rc, result))
        credit_head(chain, &chain->other_head);
    else if (rc == RC_OK && json_type(result) != JSON_NULL)
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), EVM_CHAIN_STRAYS);
    ask_next_head(chain);
}

/* Whether all of our chain has the oldest link: it lies as deep as anything is undone. */
static bool has_root(const struct evm_chain *chain)
{
    const struct evm_chain_link *last = evm_chain_last_link(chain);
    return last != NULL && last->number - chain->links[0].number >= chain->settings.reorg_depth;
}

/* A node that is far ahead of the one that is asked may be on another chain, where there is nothing
 * to be read. False: there is no question to be asked of it. */
static bool ask_for_root(struct evm_chain *chain, const struct evm_block *head)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    if (head->number <= chain->round_head + EVM_CHAIN_LAG_MAX || !has_root(chain))
        return false;
    chain->other_head = *head;
    evm_chain_number_params(chain->links[0].number, params);
    return rpc_ask_other(chain->rpc, ~bit_of(rpc_told_by(chain->rpc)), "eth_getBlockByNumber",
                         params, take_other_link, chain);
}

static void take_other_head(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct evm_block head;
    struct err why;
    note_told(chain);
    bool known = rc == RC_OK && evm_block_read(result, &head, &why) == RC_OK;
    if (rc != RC_RETRY && !known)
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), rc == RC_OK ? why.text : err->text);
    if (known && ask_for_root(chain, &head))
        return;
    if (known)
        credit_head(chain, &head);
    ask_next_head(chain);
}

/* What was said of a higher one is over when all who answer were heard. */
static void ask_next_head(struct evm_chain *chain)
{
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", EVM_CHAIN_LATEST,
                       take_other_head, chain))
        evm_chain_settle_head(chain);
}

void evm_chain_compare_heads(struct evm_chain *chain)
{
    bool lags = chain->round_head + EVM_CHAIN_LAG_MAX < chain->head;
    chain->witness = rpc_told_by(chain->rpc);
    chain->heard = bit_of(chain->witness);
    if (!lags && chain->rounds++ % COMPARE_ROUNDS != 0)
        evm_chain_settle_head(chain);
    else
        ask_next_head(chain);
}
