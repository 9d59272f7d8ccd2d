/* SPDX-License-Identifier: Apache-2.0
 *
 * doc_chain.h - a chain on which a contract names documents, drawn block by block.
 *
 * What a block holds follows from the seed, its number and its fork, so a block costs no memory and
 * a hundred thousand empty ones cost nothing. Only where forks and empty stretches begin is kept.
 * Block 0 has no parent. The chain grows by mining and changes its mind by reorganising; a block
 * that was thrown out stays known by its hash, as nodes remember it.
 *
 * Owner: the content world.  Thread: loop. */
#ifndef SIM_DOC_CHAIN_H
#define SIM_DOC_CHAIN_H

#include "base/bytes.h"
#include "base/digest.h"

#define DOC_LOGS_MAX      24
#define DOC_LOG_NAMES_MAX 3

struct doc_chain_options {
    uint64_t seed;
    uint32_t empty;     /* blocks without a log, from the first one on */
    uint32_t blocks;    /* that follow them */
    uint32_t density;   /* logs of a usual block, on average */
    uint32_t crowded;   /* percent of blocks with as many logs as fit */
    uint32_t documents; /* that can be named */
};

/* Blocks from `first` on up to the next stretch. */
struct doc_stretch {
    uint64_t first;
    uint32_t fork; /* 0, or the number of the reorganisation that made it */
    bool empty;
};

struct doc_orphans {
    uint64_t first, last;
    uint32_t fork;
    bool empty;
};

struct doc_chain {
    struct doc_chain_options options;
    struct doc_stretch *stretches;
    size_t stretch_count, stretch_cap;
    struct doc_orphans *orphans;
    size_t orphan_count, orphan_cap;
    uint64_t head;
    uint32_t forks;
};

struct doc_block {
    uint64_t number;
    uint32_t fork;
    bool empty;
};

enum doc_log_kind {
    DOC_LOG_ACTION,    /* four topics, no signature; the first one has the space */
    DOC_LOG_PUBLISHED, /* Published(address,string) */
    DOC_LOG_NOISE,     /* of the contract, names nothing */
    DOC_LOG_STRANGER,  /* of another contract, names documents all the same */
};

struct doc_log {
    enum doc_log_kind kind;
    uint32_t space;
    unsigned name_count;
    struct {
        uint32_t doc, spelling;
    } names[DOC_LOG_NAMES_MAX];
};

void doc_chain_init(struct doc_chain *chain, const struct doc_chain_options *options);
void doc_chain_deinit(struct doc_chain *chain);
void doc_chain_mine(struct doc_chain *chain, uint64_t blocks, bool empty);
/* Throws the newest `depth` blocks away, at most all but the first, and mines one more. */
void doc_chain_reorganise(struct doc_chain *chain, uint64_t depth);

/* The chain's block of that number; false: there is none. */
bool doc_chain_block(const struct doc_chain *chain, uint64_t number, struct doc_block *out);
void doc_chain_hash(const struct doc_chain *chain, const struct doc_block *block,
                    uint8_t out[DIGEST_SIZE]);
/* Also one that was thrown out. */
bool doc_chain_find(const struct doc_chain *chain, const uint8_t hash[DIGEST_SIZE],
                    struct doc_block *out);
/* The block before; false: it is the first. */
bool doc_chain_parent(const struct doc_chain *chain, const struct doc_block *block,
                      struct doc_block *out);
unsigned doc_chain_logs(const struct doc_chain *chain, const struct doc_block *block,
                        struct doc_log out[DOC_LOGS_MAX]);

#endif
