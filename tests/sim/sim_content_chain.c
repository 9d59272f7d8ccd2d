/* SPDX-License-Identifier: Apache-2.0
 *
 * The chain, and the two nodes that show it. */
#include "sim_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HASH_BASE      0x5000000
#define BLOCKS_FIRST   60 /* at most, when the run begins */
#define BLOCKS_MORE    60 /* at most, while it lasts */
#define BLOCKS_PER_DAY 144
#define DEPTH_MAX      9
#define OK             200

/* ---- the truth ---- */

void sim_block_hash(size_t block, char out[EVM_HASH_TEXT_SIZE])
{
    snprintf(out, EVM_HASH_TEXT_SIZE, "0x%064zx", block + HASH_BASE);
}

size_t sim_block_find(const struct sim_content *content, struct bytes hash)
{
    char text[EVM_HASH_TEXT_SIZE];
    if (hash.len != EVM_HASH_TEXT_SIZE - 1)
        return SIM_NO_BLOCK;
    snprintf(text, sizeof text, "%.*s", 16, hash.data + hash.len - 16);
    size_t block = (size_t)strtoull(text, NULL, 16) - HASH_BASE;
    if (block >= content->block_count)
        return SIM_NO_BLOCK;
    sim_block_hash(block, text);
    return bytes_equal_string(hash, text) ? block : SIM_NO_BLOCK;
}

/* One more block on top of what the chain is up to `number` - 1. */
static void add_block(struct sim_world *world, uint64_t number)
{
    struct sim_content *content = world->content;
    struct sim_swarm *swarm = &world->swarm;
    bool busy = sim_between(swarm, 0, 2) == 0;
    content->blocks =
        memory_resize(content->blocks, (content->block_count + 1) * sizeof *content->blocks);
    struct sim_block *block = &content->blocks[content->block_count];
    *block = (struct sim_block){
        .number = number, .parent = number < SIM_START ? SIM_NO_BLOCK : content->chain[number - 1]};
    if (busy && number >= SIM_START)
        block->ref_count = (unsigned)sim_between(swarm, 1, SIM_REFS_MAX);
    for (unsigned i = 0; i < block->ref_count; i++)
        block->refs[i] = sim_document_choose(world);
    block->bloom = block->ref_count > 0 || sim_between(swarm, 0, 3) == 0;
    content->chain[number] = content->block_count++;
    content->head = number;
}

static void replace_last(struct sim_world *world)
{
    struct sim_content *content = world->content;
    uint64_t head = content->head, most = head + 1 - SIM_START;
    most = most < content->reorg_depth ? most : content->reorg_depth;
    if (most == 0 || !sim_strikes(&world->swarm, FAULT_REORG))
        return;
    uint64_t from = head + 1 - (uint64_t)sim_between(&world->swarm, 1, (int64_t)most);
    sim_trace(world, "the chain leaves its blocks from %" PRIu64 " on", from);
    for (uint64_t number = from; number <= head; number++)
        add_block(world, number);
}

static void mine(void *arg)
{
    struct sim_world *world = arg;
    struct sim_content *content = world->content;
    replace_last(world);
    add_block(world, content->head + 1);
    if (content->head < content->last)
        timer_heap_arm(&world->timers, &content->mine, world->now_us + content->block_us);
}

static void choose_nodes(struct sim_world *world)
{
    static const enum sim_fault silences[] = {FAULT_HTTP_LOST, FAULT_HTTP_500, FAULT_HTTP_429,
                                              FAULT_HTTP_GARBLED, FAULT_SERVER_DIES};
    struct sim_content *content = world->content;
    struct sim_swarm *swarm = &world->swarm;
    content->liar = (int)sim_between(swarm, 0, SIM_NODES - 1);
    content->range_max = (uint64_t)sim_between(swarm, 1, 30);
    content->lag = 0;
    if (sim_has(swarm, FAULT_NODE_LAGS)) {
        content->lag = (uint64_t)sim_between(swarm, 1, 15);
        sim_fault_count(FAULT_NODE_LAGS);
    }
    /* Who cannot be heard cannot contradict: then what the other one says twice is believed. */
    content->holds_back = true;
    for (size_t i = 0; i < sizeof silences / sizeof *silences; i++)
        content->holds_back = content->holds_back && !sim_has(swarm, silences[i]);
}

void sim_content_init(struct sim_world *world)
{
    struct sim_content *content = memory_new_zeroed(1, sizeof *content);
    struct sim_swarm *swarm = &world->swarm;
    const struct sim_plan *plan = &world->plan;
    int64_t more =
        plan->days > 0 ? (int64_t)plan->days * BLOCKS_PER_DAY : sim_between(swarm, 1, BLOCKS_MORE);
    world->content = content;
    if (plan->events_max > 0 && (int64_t)plan->events_max < more)
        more = (int64_t)plan->events_max;
    uint64_t first = SIM_START + (uint64_t)sim_between(swarm, 0, BLOCKS_FIRST);
    content->last = first + (uint64_t)more;
    content->reorg_depth = (uint32_t)sim_between(swarm, 2, DEPTH_MAX);
    content->confirmations = (uint64_t)sim_between(swarm, 0, 2);
    content->position_block = SIM_NO_BLOCK;
    content->chain = memory_new_zeroed(content->last + 1, sizeof *content->chain);
    content->stored = memory_new_zeroed(content->last + 1, sizeof *content->stored);
    choose_nodes(world);
    sim_documents_init(world);
    for (uint64_t number = SIM_START - 1; number <= first; number++)
        add_block(world, number);
    int64_t end_us = world->history.events[world->history.count - 1].at_us;
    content->block_us = (end_us - SIM_BEGIN_US) / (more + 1);
    content->mine = (struct timer){.fn = mine, .arg = world};
    timer_heap_arm(&world->timers, &content->mine, world->now_us + content->block_us);
}

void sim_content_deinit(struct sim_world *world)
{
    struct sim_content *content = world->content;
    timer_heap_disarm(&world->timers, &content->mine);
    sim_documents_deinit(content);
    free(content->blocks);
    free(content->chain);
    free(content->stored);
    text_free(&content->cursor);
    free(content);
    world->content = NULL;
}

/* ---- nodes ---- */

static void put_header(const struct sim_content *content, size_t index, struct text *out)
{
    const struct sim_block *block = &content->blocks[index];
    char hash[EVM_HASH_TEXT_SIZE], parent[EVM_HASH_TEXT_SIZE];
    sim_block_hash(index, hash);
    if (block->parent == SIM_NO_BLOCK)
        snprintf(parent, sizeof parent, "0x%064d", 0);
    else
        sim_block_hash(block->parent, parent);
    text_appendf(out,
                 "{\"number\":\"0x%" PRIx64 "\",\"hash\":\"%s\",\"parentHash\":\"%s\","
                 "\"timestamp\":\"0x%" PRIx64 "\",\"logsBloom\":\"0x",
                 block->number, hash, parent, block->number * 12);
    memset(text_reserve(out, 2 * EVM_BLOOM_SIZE + 1), block->bloom ? 'f' : '0', 2 * EVM_BLOOM_SIZE);
    out->len += 2 * EVM_BLOOM_SIZE;
    text_append_string(out, "\"}");
}

static void put_logs(const struct sim_content *content, size_t index, struct text *out)
{
    const struct sim_block *block = &content->blocks[index];
    char hash[EVM_HASH_TEXT_SIZE];
    sim_block_hash(index, hash);
    for (unsigned i = 0; i < block->ref_count; i++) {
        const struct sim_document *document = &content->documents[block->refs[i].document];
        text_appendf(out,
                     "%s{\"blockNumber\":\"0x%" PRIx64 "\",\"blockHash\":\"%s\","
                     "\"logIndex\":\"0x%x\",\"address\":\"" SIM_CONTRACT
                     "\",\"topics\":[],\"data\":\"0x%s\"}",
                     out->data[out->len - 1] == '}' ? "," : "", block->number, hash, i,
                     document->hex[block->refs[i].spelling]);
    }
}

static const char *find_words(const char *in, const char *words)
{
    const char *at = strstr(in, words);
    return at == NULL ? NULL : at + strlen(words);
}

/* A header by its number, or the newest one. */
static void say_header(const struct sim_content *content, const char *number, uint64_t head,
                       struct text *out)
{
    uint64_t wanted = number == NULL ? head : strtoull(number, NULL, 16);
    text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
    if (wanted > head || wanted < SIM_START - 1)
        text_append_string(out, "null");
    else
        put_header(content, content->chain[wanted], out);
    text_append_char(out, '}');
}

static void refuse(struct text *out, const char *why)
{
    text_clear(out);
    text_appendf(out,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":"
                 "\"%s\"}}",
                 why);
}

static void say_range(struct sim_world *world, const char *from, uint64_t head, struct text *out)
{
    const struct sim_content *content = world->content;
    const char *to = find_words(from, "\"toBlock\":\"");
    uint64_t lo = strtoull(from, NULL, 16), hi = strtoull(to, NULL, 16);
    if (lo < SIM_START || hi < lo || hi > content->head)
        sim_fail(world, "logs are wanted from %" PRIu64 " to %" PRIu64, lo, hi);
    for (uint64_t number = lo; number <= hi && number <= head; number++)
        put_logs(content, content->chain[number], out);
    text_append_string(out, "]}");
    if (hi - lo + 1 > content->range_max && sim_strikes(&world->swarm, FAULT_RANGE_TOO_LARGE))
        refuse(out, "query returned more than 10000 results");
}

static void say_logs(struct sim_world *world, const char *question, uint64_t head, struct text *out)
{
    const struct sim_content *content = world->content;
    const char *hash = find_words(question, "\"blockHash\":\"");
    text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[");
    if (hash == NULL) {
        say_range(world, find_words(question, "\"fromBlock\":\""), head, out);
        return;
    }
    size_t block = sim_block_find(content, bytes_make(hash, strcspn(hash, "\"")));
    if (block == SIM_NO_BLOCK)
        sim_fail(world, "logs are wanted of a block that never was");
    uint64_t number = content->blocks[block].number;
    if (number > head || content->chain[number] != block) {
        refuse(out, "unknown block");
        return;
    }
    put_logs(content, block, out);
    text_append_string(out, "]}");
}

int sim_node_say(struct sim_world *world, int node, const char *question, struct text *body)
{
    const struct sim_content *content = world->content;
    bool liar = node == content->liar && !world->swarm.healed;
    uint64_t lag = liar ? content->lag : 0;
    uint64_t head = content->head < SIM_START + lag ? SIM_START - 1 : content->head - lag;
    if (strstr(question, "\"latest\"") != NULL)
        say_header(content, NULL, head, body);
    else if (strstr(question, "eth_getBlockByNumber") != NULL)
        say_header(content, find_words(question, "\"params\":[\""), head, body);
    else if (liar && content->holds_back && sim_strikes(&world->swarm, FAULT_LOGS_HELD_BACK))
        text_append_string(body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}");
    else if (strstr(question, "eth_getLogs") != NULL)
        say_logs(world, question, head, body);
    else
        sim_fail(world, "no node answers %s", question);
    return OK;
}
