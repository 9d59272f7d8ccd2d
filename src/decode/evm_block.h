/* SPDX-License-Identifier: Apache-2.0
 *
 * evm_block.h - blocks and logs as the nodes of an EVM chain answer them.
 *
 * Numbers are hexadecimal strings, hashes and addresses of fixed length; anything else refuses the
 * whole answer with the name of the field. A header carries a bloom of everything that its logs
 * name: what is not in it is in no log of that block, so a node that answers fewer logs than it
 * has can be found out.
 *
 * Bytes are borrowed from the parsed document. Pure; any thread. */
#ifndef DECODE_EVM_BLOCK_H
#define DECODE_EVM_BLOCK_H

#include "base/json.h"

#define EVM_HASH_SIZE    32
#define EVM_ADDRESS_SIZE 20
#define EVM_BLOOM_SIZE   256
#define EVM_TOPICS_MAX   4

struct evm_hash {
    uint8_t bytes[EVM_HASH_SIZE];
};

struct evm_block {
    uint64_t number;
    struct evm_hash hash, parent;
    uint64_t time_s;
    bool has_bloom;
    uint8_t bloom[EVM_BLOOM_SIZE];
};

struct evm_log {
    uint64_t block_number, index;
    struct evm_hash block_hash;
    uint8_t address[EVM_ADDRESS_SIZE];
    struct evm_hash topics[EVM_TOPICS_MAX];
    unsigned topic_count;
    struct bytes data_hex; /* digits only, an even number of them */
    bool removed;          /* the node took it back: its block is no longer the chain's */
};

/* RC_REJECT: not what a node may answer. */
must_check enum rc evm_block_read(struct json value, struct evm_block *block, struct err *err);
must_check enum rc evm_log_read(struct json value, struct evm_log *log, struct err *err);

/* "0x1b4", as nodes write numbers. */
must_check bool evm_quantity(struct bytes text, uint64_t *value);
/* "0x" and exactly `size` bytes. */
must_check bool evm_bytes(struct bytes text, uint8_t *out, size_t size);
/* The data of a log as bytes, at the end of `out`. */
void evm_log_data(const struct evm_log *log, struct text *out);

/* False: no log of the block names it. True: one may. */
bool evm_bloom_may_have(const uint8_t bloom[EVM_BLOOM_SIZE], struct bytes name);

bool evm_hash_equal(const struct evm_hash *a, const struct evm_hash *b);
#define EVM_HASH_TEXT_SIZE (2 + 2 * EVM_HASH_SIZE + 1)
void evm_hash_format(const struct evm_hash *hash, char out[EVM_HASH_TEXT_SIZE]);

#endif
