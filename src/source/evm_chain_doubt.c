/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include <inttypes.h>
#include <stdio.h>

static uint32_t bit_of(int node)
{
    return UINT32_C(1) << node;
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
        chain->mute_left = EVM_CHAIN_MUTE_OPINIONS;
    } else if ((chain->mute & bit) != 0 && chain->mute_left-- == 0) {
        chain->mute = 0;
    }
    return (chain->mute & bit) != 0;
}

static void take_other_logs(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct err why;
    uint32_t bit = bit_of(rpc_told_by(chain->rpc));
    if (rc == RC_OK)
        chain->mute &= ~bit;
    if (rc == RC_REJECT && !is_mute(chain, bit)) {
        evm_chain_shrink(chain, err); /* too much for it is not nothing */
    } else if (rc != RC_OK) {
        if (rc == RC_REJECT)
            rpc_blame(chain->rpc, rpc_told_by(chain->rpc), err->text);
        ask_next_witness(chain);
    } else if (json_count(result) <= chain->log_count) {
        evm_chain_accept(chain);
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

/* Nobody else can be asked: the same node is, once more. */
static void ask_again_alone(struct evm_chain *chain)
{
    if (++chain->empty_answers >= EVM_CHAIN_EMPTY_ANSWERS)
        evm_chain_accept(chain);
    else if (evm_chain_promised(chain))
        evm_chain_poll_later(chain); /* its logs may come a little after its blocks */
    else
        evm_chain_step(chain);
}

static void ask_next_witness(struct evm_chain *chain)
{
    char params[EVM_CHAIN_NUMBER_PARAMS];
    evm_chain_number_params(chain->hi, params);
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", params, take_other_header,
                       chain))
        ask_again_alone(chain);
}

void evm_chain_doubt(struct evm_chain *chain)
{
    chain->heard = bit_of(chain->witness);
    ask_next_witness(chain);
}

/* ---- heads ---- */

static void take_other_head(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct evm_block head;
    char words[PROVIDER_REASON_MAX];
    struct err why;
    note_told(chain);
    bool known = rc == RC_OK && evm_block_read(result, &head, &why) == RC_OK;
    if (rc != RC_RETRY && !known)
        rpc_blame(chain->rpc, rpc_told_by(chain->rpc), rc == RC_OK ? why.text : err->text);
    if (known && head.number > chain->round_head + EVM_CHAIN_LAG_MAX) {
        snprintf(words, sizeof words, "it lags: its head is %" PRIu64 ", another's %" PRIu64,
                 chain->round_head, head.number);
        rpc_blame(chain->rpc, chain->witness, words);
    }
    if (known && head.number > chain->round_head)
        chain->round_head = head.number;
    /* What was said of a higher one is over: all who answer were heard. */
    if (!rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", EVM_CHAIN_LATEST,
                       take_other_head, chain))
        evm_chain_settle_head(chain);
}

void evm_chain_compare_heads(struct evm_chain *chain)
{
    bool lags = chain->round_head + EVM_CHAIN_LAG_MAX < chain->head;
    chain->witness = rpc_told_by(chain->rpc);
    chain->heard = bit_of(chain->witness);
    if ((!lags && chain->rounds++ % EVM_CHAIN_COMPARE_ROUNDS != 0) ||
        !rpc_ask_other(chain->rpc, chain->heard, "eth_getBlockByNumber", EVM_CHAIN_LATEST,
                       take_other_head, chain))
        evm_chain_settle_head(chain);
}
