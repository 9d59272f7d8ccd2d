/* SPDX-License-Identifier: Apache-2.0
 *
 * evm_chain_parts.h - the reader of a chain and what its parts ask of each other; for them only. */
#ifndef SOURCE_EVM_CHAIN_PARTS_H
#define SOURCE_EVM_CHAIN_PARTS_H

#include "source/evm_chain.h"

#define EVM_CHAIN_RANGE_FIRST   100
#define EVM_CHAIN_LAG_MAX       8 /* blocks that a node's head may lie behind another's */
#define EVM_CHAIN_LACKS_MAX     4 /* answers that lack a block before the head is asked for anew */
#define EVM_CHAIN_STRAYS        "it shows another chain than the one that was read"
#define EVM_CHAIN_LATEST        "[\"latest\",false]"
#define EVM_CHAIN_NUMBER_PARAMS 48

/* A block whose hash is known: what the next one is compared with. */
struct evm_chain_link {
    uint64_t number;
    bool deep; /* when it was read, the head was too far away for it to change */
    char hash[EVM_HASH_TEXT_SIZE];
};

/* A reference found in the logs that were read; in order of blocks. */
struct evm_chain_ref {
    uint64_t block;
    size_t name, name_len; /* in `words` */
    size_t space;          /* in `words`, with its NUL; SIZE_MAX: none */
};

/* A range in which something may be missing. */
struct evm_chain_doubt {
    uint64_t lo, hi;
    struct evm_hash hash; /* of `hi` */
    int64_t since_us;
    unsigned answers; /* without what is missing; 0: there is no doubt */
    bool shared;      /* another node has no more, in this round */
};

struct evm_chain {
    struct source_env env;
    struct rpc *rpc;
    struct evm_chain_settings settings;
    struct content *content;
    struct timer poll;
    struct evm_chain_link *links; /* the last known ones, oldest first; one more than the depth */
    size_t link_count;
    uint64_t next; /* the block wanted now */
    uint64_t head, target;
    uint64_t range;         /* blocks asked for at a time */
    uint64_t lo, hi;        /* that are read or given */
    struct evm_block block; /* of `hi` */
    size_t log_count;       /* in the answer that was read */
    int witness;            /* the node that showed `block`, or answered where the head is */
    int linked_by;          /* the node that showed the last link; PROVIDER_NONE: not known */
    uint32_t heard;         /* a bit for each node that was asked for its opinion */
    struct evm_chain_doubt doubt;
    unsigned lacks;
    unsigned refusals;   /* of ranges, in a row */
    unsigned held;       /* answers before a range grows again */
    unsigned denials;    /* of one block's logs, in a row */
    unsigned passed;     /* blocks that were read alone, without a question for logs */
    uint32_t mute;       /* a bit for each node that refuses logs however few are asked for */
    unsigned mute_left;  /* opinions of theirs that are done without before it is looked at anew */
    uint64_t round_head; /* where the head is, as this round has it */
    struct evm_block other_head; /* of a node that must show our chain before it counts */
    struct evm_hash head_hash;
    uint64_t head_s;    /* its time, in the chain's own words */
    int64_t head_at_us; /* since when we know it */
    unsigned rounds;
    size_t fork;     /* the link that is compared */
    size_t fork_top; /* the first that was */
    uint32_t strays; /* a bit for each node that shows another chain than the links */
    struct evm_chain_ref *refs;
    struct content_ref *given; /* room for as many */
    size_t ref_count, ref_cap;
    size_t ref_at; /* references before it were given */
    struct text words, scratch, params;
    bool polling; /* nothing is done but to wait for the next look */
    bool woken;   /* there was a hint meanwhile */
    bool linked;  /* the blocks that are stored are among the links */
    bool lost;    /* it is stuck because no node shows the chain that was read */
    bool giving, waiting, loading, stuck, stopping, told_early;
    struct err trouble;
};

/* Begins the next round: where is the head? */
void evm_chain_step(struct evm_chain *chain);
/* Asks for the blocks from `next` on, as many as a question may be about. */
void evm_chain_read_on(struct evm_chain *chain);
/* Asks for the logs from `lo` to `hi`, whose header is there. */
void evm_chain_ask_logs(struct evm_chain *chain);
/* Hands the blocks from `next` to `hi` on, as far as they are taken. */
void evm_chain_give(struct evm_chain *chain);
/* The logs that were read are those of the range. */
void evm_chain_accept(struct evm_chain *chain);
void evm_chain_poll_later(struct evm_chain *chain);
void evm_chain_number_params(uint64_t number, char out[EVM_CHAIN_NUMBER_PARAMS]);
/* A header contradicts this block of those given, and all after it: looks for one that both have.
 * If it is not the last one, the other chain is the shorter one, and it is first asked whether a
 * node still has ours. */
void evm_chain_fork(struct evm_chain *chain, size_t link);
/* A range says nothing of what came before it: the node that shows its end is asked for the last
 * link, too, before its logs are asked for. */
void evm_chain_prove(struct evm_chain *chain);
/* Asks a node whether it shows the chain that was read; if so, reading goes on. */
void evm_chain_find(struct evm_chain *chain);
/* Whether that is the answer of a node that has the block. */
bool evm_chain_is_link(const struct evm_chain_link *link, enum rc rc, struct json result);
const struct evm_chain_link *evm_chain_last_link(const struct evm_chain *chain);
void evm_chain_remember(struct evm_chain *chain, uint64_t number, const struct evm_hash *hash);

/* ---- how much is asked for at a time ---- */
/* A node refuses the range that was asked for, or does not answer: less is asked for next. */
void evm_chain_shrink(struct evm_chain *chain, enum rc rc, const struct err *err);
/* There was an answer. */
void evm_chain_grow(struct evm_chain *chain);
/* From inside the function of rpc_ask(): the node has failed, since there is nothing less to ask
 * for than one block. The others are asked, and all of them again, at growing intervals. */
void evm_chain_leave(struct evm_chain *chain, const char *why);
void evm_chain_note_trouble(struct evm_chain *chain, const char *why);

/* ---- doubt: what one node says is held against what others say ---- */
/* Whether the header of `hi` says that the event may be in it. */
bool evm_chain_promised(const struct evm_chain *chain);
/* Whether the answer that was read may be that of a node that lags or holds logs back. */
bool evm_chain_is_doubtful(const struct evm_chain *chain);
/* Hears another node that has the same last block; the answer with more logs in it is taken. What
 * the last block's bloom promises is asked for until it is there, or the block is old enough for
 * its logs to be there if there were any. */
void evm_chain_doubt(struct evm_chain *chain);
/* Now and then, and when `round_head` lies behind what was seen before, the others' heads are asked
 * for; a node that lags is left. */
void evm_chain_compare_heads(struct evm_chain *chain);
/* A head was shown that lies as far as any of this round. */
void evm_chain_take_head(struct evm_chain *chain, const struct evm_block *head);
/* `round_head` is where the head is. */
void evm_chain_settle_head(struct evm_chain *chain);

/* ---- logs ---- */
void evm_chain_logs_clear(struct evm_chain *chain);
/* Takes an answer to eth_getLogs for the blocks from `lo` to `hi`. RC_REJECT: not believed. */
must_check enum rc evm_chain_logs_read(struct evm_chain *chain, struct json logs, struct err *err);
/* What logs are searched for, from where on. */
void evm_chain_search(struct evm_chain *chain, struct content_search *search);
/* Whether it is what led to the place; `trouble` says what is to be done if it is not. */
bool evm_chain_may_go_on(struct evm_chain *chain, const struct content_place *place);
/* The question for a range, or for the one block `hi` by its hash. */
const char *evm_chain_logs_params(struct evm_chain *chain, bool by_hash);

#endif
