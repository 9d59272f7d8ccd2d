/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include "decode/ipfs_uri.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void evm_chain_logs_clear(struct evm_chain *chain)
{
    chain->ref_count = chain->ref_at = 0;
    text_clear(&chain->words);
}

static void put_hex(struct text *out, const uint8_t *bytes, size_t size)
{
    text_append_string(out, "0x");
    for (size_t i = 0; i < size; i++)
        text_appendf(out, "%02x", bytes[i]);
}

const char *evm_chain_logs_params(struct evm_chain *chain, bool by_hash)
{
    const struct evm_event *event = &chain->settings.event;
    struct text *out = &chain->params;
    text_clear(out);
    text_append_string(out, "[{\"address\":\"");
    put_hex(out, event->address, EVM_ADDRESS_SIZE);
    if (by_hash) {
        text_append_string(out, "\",\"blockHash\":\"");
        put_hex(out, chain->block.hash.bytes, EVM_HASH_SIZE);
        text_append_string(out, "\"");
    } else {
        text_appendf(out, "\",\"fromBlock\":\"0x%llx\",\"toBlock\":\"0x%llx\"",
                     (unsigned long long)chain->lo, (unsigned long long)chain->hi);
    }
    if (event->kind == EVM_EVENT_ABI) {
        text_append_string(out, ",\"topics\":[\"");
        put_hex(out, event->topic.bytes, EVM_HASH_SIZE);
        text_append_string(out, "\"]");
    }
    text_append_string(out, "}]");
    return text_string(out);
}

/* ---- what is searched for ---- */

void evm_chain_search(struct evm_chain *chain, struct content_search *search)
{
    const struct evm_event *event = &chain->settings.event;
    struct text *out = &chain->params;
    text_clear(out);
    put_hex(out, event->address, EVM_ADDRESS_SIZE);
    text_append_string(out, event->kind == EVM_EVENT_ANY      ? " any"
                            : event->kind == EVM_EVENT_ACTION ? " action"
                                                              : " ");
    if (event->kind == EVM_EVENT_ABI)
        put_hex(out, event->topic.bytes, EVM_HASH_SIZE);
    assert(out->len < sizeof search->words);
    *search = (struct content_search){.from = chain->settings.start_block};
    memcpy(search->words, text_string(out), out->len + 1);
}

bool evm_chain_may_go_on(struct evm_chain *chain, const struct content_place *place)
{
    const struct content_search *was = &place->search;
    struct content_search now;
    evm_chain_search(chain, &now);
    bool other = strcmp(was->words, now.words) != 0;
    if (!place->known || was->words[0] == '\0' || (!other && now.from >= was->from))
        return true;
    char before[ERR_TEXT_MAX / 2];
    if (other)
        snprintf(before, sizeof before, "content.contract and content.event say %s, it was %s",
                 now.words, was->words);
    else
        snprintf(before, sizeof before,
                 "content.start_block is %" PRIu64 ", and blocks were read from %" PRIu64 " on",
                 now.from, was->from);
    err_set(&chain->trouble, RC_REJECT,
            "the blocks up to %" PRIu64
            " were not read for this: %s; set it back, or run `tidemark "
            "reset content` to read all of it anew",
            place->number, before);
    return false;
}

/* ---- names ---- */

struct naming {
    struct evm_chain *chain;
    uint64_t block;
    size_t space;
};

static void take_name(void *arg, struct bytes name)
{
    struct naming *naming = arg;
    struct evm_chain *chain = naming->chain;
    if (chain->ref_count == chain->ref_cap) {
        chain->ref_cap = chain->ref_cap == 0 ? 64 : chain->ref_cap * 2;
        chain->refs = memory_resize(chain->refs, chain->ref_cap * sizeof *chain->refs);
        chain->given = memory_resize(chain->given, chain->ref_cap * sizeof *chain->given);
    }
    chain->refs[chain->ref_count++] =
        (struct evm_chain_ref){naming->block, chain->words.len, name.len, naming->space};
    text_append(&chain->words, name.data, name.len);
}

static enum rc check_log(const struct evm_chain *chain, const struct evm_log *log, struct err *err)
{
    if (log->block_number < chain->lo || log->block_number > chain->hi)
        return err_set(err, RC_REJECT, "a log of a block that was not asked for");
    if (log->block_number == chain->hi && !evm_hash_equal(&log->block_hash, &chain->block.hash))
        return err_set(err, RC_REJECT, "a log of another block of that number");
    return RC_OK;
}

static void take_log(struct evm_chain *chain, const struct evm_log *log)
{
    char space[EVM_SPACE_TEXT_SIZE];
    struct naming naming = {chain, log->block_number, SIZE_MAX};
    if (log->removed || !evm_event_matches(&chain->settings.event, log))
        return;
    if (evm_event_space(&chain->settings.event, log, space)) {
        naming.space = chain->words.len;
        text_append(&chain->words, space, sizeof space);
    }
    evm_event_names(&chain->settings.event, log, &chain->scratch, take_name, &naming);
}

/* By blocks, and within one as the node told them. */
static int compare_refs(const void *left, const void *right)
{
    const struct evm_chain_ref *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

enum rc evm_chain_logs_read(struct evm_chain *chain, struct json logs, struct err *err)
{
    struct json_walk walk = json_walk(logs);
    struct bytes key;
    struct json value;
    struct evm_log log;
    enum rc rc = RC_OK;
    evm_chain_logs_clear(chain);
    if (json_type(logs) != JSON_ARRAY)
        return err_set(err, RC_REJECT, "the node's logs are no list");
    while (rc == RC_OK && json_walk_next(&walk, &key, &value)) {
        rc = evm_log_read(value, &log, err);
        if (rc == RC_OK)
            rc = check_log(chain, &log, err);
        if (rc == RC_OK)
            take_log(chain, &log);
    }
    /* The order of logs is not promised by everybody who answers, and blocks are given in order. */
    if (rc == RC_OK && chain->ref_count > 1)
        qsort(chain->refs, chain->ref_count, sizeof *chain->refs, compare_refs);
    return rc;
}
