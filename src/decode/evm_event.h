/* SPDX-License-Identifier: Apache-2.0
 *
 * evm_event.h - which logs of a contract name documents, and which documents.
 *
 *   NAME(types)  logs whose first topic is the hash of this signature. Its strings and `bytes` are
 *                read as the ABI lays them out and hold an ipfs:// address or a bare content
 *                address, with its path if it has one. Which parameters travel as topics is found
 *                out: with them, the rest fits the data. With arrays or tuples among the types, or
 *                when the data is laid out in another way, it is searched as for `any`.
 *   action       logs with four topics and no signature; the first topic begins with the id of the
 *                space that spoke; the data is searched.
 *   any          every log; the data is searched.
 *
 * Searching means: every ipfs:// address in the bytes. Pure; any thread. */
#ifndef DECODE_EVM_EVENT_H
#define DECODE_EVM_EVENT_H

#include "decode/evm_block.h"

#define EVM_EVENT_PARAMS_MAX 32
#define EVM_SPACE_TEXT_SIZE  37

enum evm_event_kind { EVM_EVENT_ABI, EVM_EVENT_ACTION, EVM_EVENT_ANY };
enum evm_param { EVM_PARAM_WORD, EVM_PARAM_BYTES, EVM_PARAM_STRING };

struct evm_event {
    enum evm_event_kind kind;
    uint8_t address[EVM_ADDRESS_SIZE];
    struct evm_hash topic; /* of a signature */
    bool searched;         /* the data is not laid out in a way that is read here */
    enum evm_param params[EVM_EVENT_PARAMS_MAX];
    unsigned param_count;
};

/* What stands behind ipfs://, borrowed for the call. */
typedef void evm_name_fn(void *arg, struct bytes name);

/* RC_REJECT: not an event, or not an address of a contract. */
must_check enum rc evm_event_parse(struct bytes event, struct bytes contract, struct evm_event *out,
                                   struct err *err);
bool evm_event_matches(const struct evm_event *event, const struct evm_log *log);
/* Whether a block with this bloom may hold such a log. */
bool evm_event_in_bloom(const struct evm_event *event, const uint8_t bloom[EVM_BLOOM_SIZE]);
/* Says every name in a log that matches; `scratch` holds its data meanwhile. */
void evm_event_names(const struct evm_event *event, const struct evm_log *log, struct text *scratch,
                     evm_name_fn *fn, void *arg);
/* The space that spoke, as a UUID; false: this kind of event does not say. */
bool evm_event_space(const struct evm_event *event, const struct evm_log *log,
                     char out[EVM_SPACE_TEXT_SIZE]);

#endif
