/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include <inttypes.h>
#include <stdio.h>

#define HELD_ANSWERS  16 /* after a range without an answer, before a larger one */
#define DENIED_US_MAX INT64_C(600000000)

void evm_chain_note_trouble(struct evm_chain *chain, const char *why)
{
    int current, node = rpc_told_by(chain->rpc);
    err_set(&chain->trouble, RC_RETRY, "%s: %s",
            rpc_group(chain->rpc, &current)->providers[node].name, why);
}

/* Nodes say in many words that a range is too large, and proxies before them in none; whatever they
 * mean, less is asked next: at once, unless that was refused, too, and it may be the asking that is
 * too much. What is not even refused may have cost a long wait: it is not tried again so soon. */
void evm_chain_shrink(struct evm_chain *chain, enum rc rc, const struct err *err)
{
    evm_chain_note_trouble(chain, err->text);
    chain->range = chain->range > 1 ? chain->range / 2 : 1;
    if (rc == RC_RETRY)
        chain->held = HELD_ANSWERS;
    if (chain->refusals++ == 0)
        evm_chain_step(chain);
    else
        evm_chain_poll_later(chain);
}

void evm_chain_grow(struct evm_chain *chain)
{
    bool whole = chain->hi - chain->lo + 1 == chain->range;
    chain->refusals = chain->denials = 0;
    if (whole && chain->held > 0)
        chain->held--;
    else if (whole && chain->range < EVM_CHAIN_RANGE_MAX)
        chain->range *= 2;
}

/* The question itself is not asked again: the block may have become another since, whose logs
 * nobody has under the old hash. */
void evm_chain_leave(struct evm_chain *chain, const char *why)
{
    struct runtime *runtime = chain->env.runtime;
    int current, nodes = rpc_group(chain->rpc, &current)->count;
    unsigned rounds = chain->denials++ / (unsigned)nodes;
    int64_t wait_us = 0;
    if (chain->denials % (unsigned)nodes == 0)
        wait_us = rounds < 10 ? EVM_CHAIN_POLL_US << rounds : DENIED_US_MAX;
    if (wait_us > DENIED_US_MAX)
        wait_us = DENIED_US_MAX;
    char words[ERR_TEXT_MAX];
    snprintf(words, sizeof words,
             "no logs of block %" PRIu64 ": %s (all nodes are asked again, at most every %d s)",
             chain->hi, why, (int)(DENIED_US_MAX / 1000000));
    evm_chain_note_trouble(chain, words);
    rpc_reproach(chain->rpc, why);
    runtime->ops->timer_arm(runtime, &chain->poll, wait_us);
}
