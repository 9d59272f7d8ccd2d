/* SPDX-License-Identifier: Apache-2.0 */
#include "source/evm_chain_parts.h"

#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSED_MAX 16 /* blocks passed over before a range is tried again */

static const char links_sql[] =
    "SELECT number, hash FROM chain_blocks WHERE hash IS NOT NULL AND number <= ?1 "
    "ORDER BY number DESC LIMIT ?2";

void evm_chain_number_params(uint64_t number, char out[EVM_CHAIN_NUMBER_PARAMS])
{
    snprintf(out, EVM_CHAIN_NUMBER_PARAMS, "[\"0x%" PRIx64 "\",false]", number);
}

void evm_chain_poll_later(struct evm_chain *chain)
{
    struct runtime *runtime = chain->env.runtime;
    chain->polling = true;
    runtime->ops->timer_arm(runtime, &chain->poll, chain->woken ? 0 : EVM_CHAIN_POLL_US);
    chain->woken = false;
}

void evm_chain_wake(struct evm_chain *chain, uint64_t head)
{
    struct runtime *runtime = chain->env.runtime;
    if (chain->stopping || chain->stuck || head < chain->next)
        return;
    if (chain->polling)
        runtime->ops->timer_arm(runtime, &chain->poll, 0);
    else
        chain->woken = true;
}

/* ---- what is remembered ---- */

const struct evm_chain_link *evm_chain_last_link(const struct evm_chain *chain)
{
    return chain->link_count == 0 ? NULL : &chain->links[chain->link_count - 1];
}

/* All that may be undone, and the block that stays then. */
static size_t links_max(const struct evm_chain *chain)
{
    return (size_t)chain->settings.reorg_depth + 1;
}

void evm_chain_remember(struct evm_chain *chain, uint64_t number, const struct evm_hash *hash)
{
    if (chain->link_count == links_max(chain)) {
        memmove(chain->links, chain->links + 1, (chain->link_count - 1) * sizeof *chain->links);
        chain->link_count--;
    }
    struct evm_chain_link *link = &chain->links[chain->link_count++];
    chain->linked_by = chain->witness;
    link->number = number;
    link->deep = chain->target > number && chain->target - number > chain->settings.reorg_depth;
    evm_hash_format(hash, link->hash);
}

/* ---- giving ---- */

/* The references of the block, which follow those of the blocks given before. */
static size_t gather_refs(struct evm_chain *chain, uint64_t number)
{
    const char *words = text_string(&chain->words);
    size_t count = 0;
    while (chain->ref_at < chain->ref_count && chain->refs[chain->ref_at].block < number)
        chain->ref_at++;
    for (size_t i = chain->ref_at; i < chain->ref_count && chain->refs[i].block == number; i++) {
        const struct evm_chain_ref *ref = &chain->refs[i];
        chain->given[count++] = (struct content_ref){
            .name = bytes_make(words + ref->name, ref->name_len),
            .space = ref->space == SIZE_MAX ? BYTES_ABSENT : bytes_of(words + ref->space)};
    }
    return count;
}

static enum rc give_block(struct evm_chain *chain, uint64_t number)
{
    char hash[EVM_HASH_TEXT_SIZE], parent[EVM_HASH_TEXT_SIZE];
    struct content_block block = {.number = number, .ref_count = gather_refs(chain, number)};
    block.refs = chain->given;
    if (number == chain->hi) {
        evm_hash_format(&chain->block.hash, hash);
        evm_hash_format(&chain->block.parent, parent);
        block.hash = bytes_of(hash);
        block.parent = bytes_of(parent);
    }
    return content_take(chain->content, &block);
}

void evm_chain_give(struct evm_chain *chain)
{
    enum rc rc = RC_OK;
    chain->giving = true;
    chain->trouble.text[0] = '\0'; /* there was an answer */
    while (chain->next <= chain->hi && rc == RC_OK) {
        rc = give_block(chain, chain->next);
        if (rc == RC_OK && chain->next == chain->hi)
            evm_chain_remember(chain, chain->hi, &chain->block.hash);
        if (rc == RC_OK)
            chain->next++;
    }
    chain->waiting = rc == RC_AGAIN;
    if (chain->waiting)
        return; /* there will be room */
    assert(rc == RC_OK);
    chain->giving = false;
    evm_chain_step(chain);
}

/* ---- reading ---- */

static void take_logs(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct err why;
    if (rc != RC_OK && chain->lo < chain->hi) {
        evm_chain_shrink(chain, rc, err);
        return;
    }
    if (rc == RC_OK)
        rc = evm_chain_logs_read(chain, result, &why);
    else
        why = *err;
    if (rc != RC_OK) {
        evm_chain_leave(chain, why.text);
        return;
    }
    chain->log_count = json_count(result);
    if (rpc_told_by(chain->rpc) != chain->witness)
        evm_chain_read_on(chain); /* the range's end was another's: does this one have it? */
    else if (evm_chain_is_doubtful(chain))
        evm_chain_doubt(chain);
    else
        evm_chain_accept(chain);
}

void evm_chain_accept(struct evm_chain *chain)
{
    evm_chain_grow(chain);
    chain->doubt.answers = 0;
    evm_chain_give(chain);
}

static bool follows_last(const struct evm_chain *chain)
{
    const struct evm_chain_link *last = evm_chain_last_link(chain);
    char parent[EVM_HASH_TEXT_SIZE];
    evm_hash_format(&chain->block.parent, parent);
    return last == NULL || last->number + 1 != chain->block.number ||
           strcmp(last->hash, parent) == 0;
}

/* A node that lacks a block below the head lags; if all do, the head was no head. One that has
 * `words` in place of the block refuses it. */
static void take_nothing(struct evm_chain *chain, const char *words)
{
    if (++chain->lacks < EVM_CHAIN_LACKS_MAX) {
        rpc_disbelieve(chain->rpc, words != NULL
                                       ? words
                                       : "the node lags behind: it lacks a block below the head");
        return;
    }
    if (words != NULL) {
        evm_chain_note_trouble(chain, words);
        rpc_reproach(chain->rpc, words);
    }
    chain->lacks = 0;
    chain->target = chain->head = 0;
    evm_chain_poll_later(chain);
}

/* A block whose header says that there is nothing in it needs no logs, so nothing is learned about
 * ranges; now and then a larger one is tried. */
static void pass_over(struct evm_chain *chain)
{
    if (chain->range == 1 && ++chain->passed % PASSED_MAX == 0)
        chain->range = 2;
    evm_chain_give(chain);
}

/* Whether the header says that there is no such log in the block. Some chains leave the bloom
 * blank, others leave out what transactions of their own log: beside transactions, a blank one says
 * nothing. */
static bool is_ruled_out(const struct evm_chain *chain, struct json header)
{
    static const uint8_t blank[EVM_BLOOM_SIZE];
    bool is_blank = memcmp(chain->block.bloom, blank, sizeof blank) == 0;
    return chain->block.has_bloom && !evm_chain_promised(chain) &&
           !(is_blank && json_count(json_get(header, "transactions")) > 0);
}

void evm_chain_ask_logs(struct evm_chain *chain)
{
    if (chain->lo == chain->hi)
        rpc_ask(chain->rpc, "eth_getLogs", evm_chain_logs_params(chain, true), take_logs, chain);
    else
        rpc_ask_once(chain->rpc, "eth_getLogs", evm_chain_logs_params(chain, false), take_logs,
                     chain);
}

/* Whether who shows the end of a range has shown what came before it, too. */
static bool is_of_our_chain(const struct evm_chain *chain)
{
    return chain->link_count == 0 || chain->witness == chain->linked_by;
}

/* The header of the last block that is wanted now. */
static void take_block(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    if (rc != RC_OK || json_type(result) == JSON_NULL) {
        take_nothing(chain, rc != RC_OK ? err->text : NULL);
        return;
    }
    if (evm_block_read(result, &chain->block, &chain->trouble) != RC_OK ||
        chain->block.number != chain->hi) {
        rpc_disbelieve(chain->rpc, "the node's block is not the one asked for");
        return;
    }
    bool alone = chain->lo == chain->hi;
    chain->witness = rpc_told_by(chain->rpc);
    chain->lacks = 0;
    evm_chain_logs_clear(chain);
    if (alone && !follows_last(chain))
        evm_chain_fork(chain, chain->link_count - 1);
    else if (alone && is_ruled_out(chain, result))
        pass_over(chain);
    else if (!alone && !is_of_our_chain(chain))
        evm_chain_prove(chain);
    else
        evm_chain_ask_logs(chain);
}

/* The last block may have been replaced since, however far away the head is by now: the next one is
 * read alone then, because it says who its parent is. */
static bool last_may_change(const struct evm_chain *chain)
{
    const struct evm_chain_link *last = evm_chain_last_link(chain);
    return last != NULL && last->number + 1 == chain->next && !last->deep;
}

void evm_chain_read_on(struct evm_chain *chain)
{
    uint64_t left = chain->target - chain->next, depth = chain->settings.reorg_depth;
    char params[EVM_CHAIN_NUMBER_PARAMS];
    chain->lo = chain->hi = chain->next;
    if (left > depth && !last_may_change(chain)) {
        uint64_t most = left - depth < chain->range ? left - depth : chain->range;
        chain->hi = chain->lo + most - 1;
    }
    /* What is in doubt stays what it is while the head moves on. */
    if (chain->doubt.answers > 0 && chain->doubt.lo == chain->lo && chain->doubt.hi < chain->hi)
        chain->hi = chain->doubt.hi;
    evm_chain_number_params(chain->hi, params);
    rpc_ask(chain->rpc, "eth_getBlockByNumber", params, take_block, chain);
}

/* The block of that number among those that are remembered; SIZE_MAX: it is none of them. */
static size_t find_link(const struct evm_chain *chain, uint64_t number)
{
    size_t i = chain->link_count;
    while (i > 0 && chain->links[i - 1].number > number)
        i--;
    return i > 0 && chain->links[i - 1].number == number ? i - 1 : SIZE_MAX;
}

/* Whether another block stands where one that was given did: the last one, if none has followed it
 * yet, or one below. The same block below the last is the head of a node that lags. */
static bool contradicts(const struct evm_chain *chain, const struct evm_block *head, size_t link)
{
    char hash[EVM_HASH_TEXT_SIZE];
    if (link == SIZE_MAX || (link + 1 == chain->link_count && chain->next != head->number + 1))
        return false;
    evm_hash_format(&head->hash, hash);
    return strcmp(chain->links[link].hash, hash) != 0;
}

static void take_head(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct evm_chain *chain = arg;
    struct evm_block head;
    struct err why;
    if (rc == RC_OK)
        rc = evm_block_read(result, &head, &why);
    else
        why = *err;
    if (rc != RC_OK) {
        evm_chain_note_trouble(chain, why.text);
        rpc_disbelieve(chain->rpc, why.text);
        return;
    }
    evm_chain_take_head(chain, &head);
    size_t link = find_link(chain, head.number);
    if (contradicts(chain, &head, link))
        evm_chain_fork(chain, link);
    else
        evm_chain_compare_heads(chain);
}

/* A chain that has not come to the start block yet looks like one where all is read. */
static void tell_early(struct evm_chain *chain, uint64_t head)
{
    err_set(&chain->trouble, RC_RETRY,
            "content.start_block is %" PRIu64 ", and the head is block %" PRIu64
            ": nothing is read before the chain comes there",
            chain->settings.start_block, head);
    if (!chain->told_early)
        log_event(LOG_WARN, CONTENT_SOURCE, "not_begun",
                  (struct log_field[]){log_string("reason", chain->trouble.text), LOG_END});
    chain->told_early = true;
}

void evm_chain_settle_head(struct evm_chain *chain)
{
    uint64_t head = chain->round_head, behind = chain->settings.confirmations;
    bool compared = (chain->heard & (chain->heard - 1)) != 0;
    if (compared || head > chain->head)
        chain->head = head;
    chain->target = head > behind ? head - behind : 0;
    if (head >= behind && chain->next <= chain->target) {
        evm_chain_read_on(chain);
        return;
    }
    chain->trouble.text[0] = '\0'; /* all there is was read */
    const struct evm_chain_link *last = evm_chain_last_link(chain);
    if (last != NULL && last->number > head + EVM_CHAIN_LAG_MAX)
        err_set(&chain->trouble, RC_RETRY,
                "the head is block %" PRIu64 ", and block %" PRIu64 " was read before: whoever "
                "answers lags, or follows another chain; nothing is read until there are more",
                head, last->number);
    else if (last == NULL && chain->next == chain->settings.start_block && chain->next > head)
        tell_early(chain, head);
    evm_chain_poll_later(chain);
}

static void load_links(struct evm_chain *chain);

void evm_chain_step(struct evm_chain *chain)
{
    chain->polling = false;
    if (chain->stopping || chain->stuck)
        return;
    if (!chain->linked) {
        load_links(chain);
        return;
    }
    /* While far below the head as it was last seen, it need not be asked for again. */
    if (chain->next + chain->settings.reorg_depth < chain->target)
        evm_chain_read_on(chain);
    else
        rpc_ask(chain->rpc, "eth_getBlockByNumber", EVM_CHAIN_LATEST, take_head, chain);
}

static void on_poll(void *arg)
{
    struct evm_chain *chain = arg;
    if (chain->lost && !chain->stopping)
        evm_chain_find(chain);
    else
        evm_chain_step(chain);
}

/* ---- what the content source tells ---- */

static void take_links(void *arg, const struct lookup_answer *answer)
{
    struct evm_chain *chain = arg;
    chain->loading = false;
    chain->linked = answer->rc == RC_OK;
    if (!chain->linked) {
        if (!chain->stopping)
            evm_chain_poll_later(chain);
        return;
    }
    for (size_t i = answer->rows; i-- > 0;) {
        struct evm_chain_link *link = &chain->links[chain->link_count++];
        const struct field *row = answer->fields + i * 2;
        link->deep = false; /* nobody knows how long ago it was read */
        link->number = (uint64_t)row[0].i;
        snprintf(link->hash, sizeof link->hash, "%.*s", (int)row[1].b.len, row[1].b.data);
    }
    evm_chain_step(chain);
}

/* Without them nobody would notice that what is stored is not the chain's any more. */
static void load_links(struct evm_chain *chain)
{
    struct field params[] = {field_int((int64_t)chain->next - 1),
                             field_int((int64_t)links_max(chain))};
    chain->loading =
        chain->env.ask(chain->env.ask_arg, links_sql, params, 2, take_links, chain) == RC_OK;
    if (!chain->loading)
        evm_chain_poll_later(chain);
}

static void on_started(void *arg, const struct content_place *place)
{
    struct evm_chain *chain = arg;
    chain->next = place->known ? place->number + 1 : chain->settings.start_block;
    chain->linked = !place->known;
    chain->stuck = !evm_chain_may_go_on(chain, place);
    evm_chain_step(chain);
}

static void on_room(void *arg)
{
    struct evm_chain *chain = arg;
    if (chain->waiting && !chain->stopping)
        evm_chain_give(chain);
}

static void on_undone(void *arg)
{
    struct evm_chain *chain = arg;
    if (!chain->stopping)
        evm_chain_step(chain);
}

const struct content_events evm_chain_events = {on_started, on_room, on_undone};

/* ---- its life ---- */

struct evm_chain *evm_chain_new(const struct source_env *env, struct rpc *rpc,
                                const struct evm_chain_settings *settings)
{
    struct evm_chain *chain = memory_new_zeroed(1, sizeof *chain);
    assert(settings->reorg_depth > 0);
    chain->env = *env;
    chain->rpc = rpc;
    chain->settings = *settings;
    chain->range = EVM_CHAIN_RANGE_FIRST;
    chain->linked_by = PROVIDER_NONE;
    chain->links = memory_new(links_max(chain) * sizeof *chain->links);
    chain->poll = (struct timer){.fn = on_poll, .arg = chain};
    return chain;
}

void evm_chain_feed(struct evm_chain *chain, struct content *content)
{
    struct content_search search;
    chain->content = content;
    evm_chain_search(chain, &search);
    content_search_for(content, &search);
}

void evm_chain_free(struct evm_chain *chain)
{
    if (chain == NULL)
        return;
    assert(!chain->loading);
    free(chain->links);
    free(chain->refs);
    free(chain->given);
    text_free(&chain->words);
    text_free(&chain->scratch);
    text_free(&chain->params);
    free(chain);
}

void evm_chain_stop(struct evm_chain *chain)
{
    chain->stopping = true;
    rpc_stop(chain->rpc);
    chain->env.runtime->ops->timer_disarm(chain->env.runtime, &chain->poll);
}

bool evm_chain_stopped(const struct evm_chain *chain)
{
    return chain->stopping && !chain->loading;
}

void evm_chain_look(const struct evm_chain *chain, struct evm_chain_view *view)
{
    *view = (struct evm_chain_view){
        .head = chain->head, .given = chain->next > 0 ? chain->next - 1 : 0, .stuck = chain->stuck};
    snprintf(view->trouble, sizeof view->trouble, "%s",
             chain->trouble.text[0] != '\0' ? chain->trouble.text : rpc_trouble(chain->rpc));
}
