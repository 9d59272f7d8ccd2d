/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/query_string.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#define ACT_BLOCKS_MAX 100000000u
#define SPACE_SIZE     40

static struct content_world *world_of(void *arg)
{
    return &((struct sim *)arg)->content;
}

static void reply(struct http_exchange *exchange, const char *type, struct text *body)
{
    http_reply(exchange, 200, type, NULL, bytes_make(text_string(body), body->len));
    text_free(body);
}

static void reply_lines(struct http_exchange *exchange, struct text *body)
{
    reply(exchange, "application/x-ndjson", body);
}

/* ---- hosts ---- */

static void put_hosts(struct text *out, const char *key, const struct host *hosts, uint32_t count)
{
    text_appendf(out, "\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        const struct host_counts *counts = &hosts[i].counts;
        const struct {
            const char *name;
            uint64_t value;
        } numbers[] = {{"requests", counts->requests}, {"failed", counts->failed},
                       {"lacked", counts->lacked},     {"lied", counts->lied},
                       {"refused", counts->refused},   {"stirred", counts->stirred},
                       {"dropped", counts->dropped},   {"late_ms", counts->late_ms},
                       {"heads", counts->heads},       {"listening", counts->listening}};
        text_appendf(out, "%s{\"url\":\"http://127.0.0.1:%u\"", i == 0 ? "" : ",",
                     http_server_port(hosts[i].server));
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            text_appendf(out, ",\"%s\":%llu", numbers[k].name,
                         (unsigned long long)numbers[k].value);
        text_append_char(out, '}');
    }
    text_append_char(out, ']');
}

void control_content_hosts(struct http_exchange *exchange, void *arg)
{
    const struct content_world *world = world_of(arg);
    struct text body = {0};
    text_append_string(&body, "{\"contract\":\"0x" CONTENT_CONTRACT "\",");
    put_hosts(&body, "nodes", world->nodes, world->options.nodes);
    text_append_char(&body, ',');
    put_hosts(&body, "gateways", world->gateways, world->options.gateways);
    text_append_string(&body, "}\n");
    reply(exchange, "application/json", &body);
}

static struct host_manner read_manner(struct bytes query)
{
    struct host_manner manner = host_manner_default();
    const struct {
        const char *name;
        uint32_t *value;
    } numbers[] = {
        {"fail", &manner.fail},     {"status", &manner.status},  {"lack", &manner.lack},
        {"lie", &manner.lie},       {"lag", &manner.lag},        {"range_max", &manner.range_max},
        {"ms_min", &manner.ms_min}, {"ms_max", &manner.ms_max},  {"stir", &manner.stir},
        {"depth", &manner.depth},   {"hang_up", &manner.hang_up}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i].value = (uint32_t)query_get_u64(query, numbers[i].name, *numbers[i].value);
    manner.dies_after = query_get_u64(query, "dies_after", manner.dies_after);
    return manner;
}

void control_content_manner(struct http_exchange *exchange, void *arg)
{
    struct content_world *world = world_of(arg);
    struct bytes query = http_exchange_request(exchange)->query;
    char kind[16] = "";
    query_get(query, "host", kind, sizeof kind);
    bool node = strcmp(kind, "node") == 0;
    uint64_t count = node ? world->options.nodes : world->options.gateways;
    uint64_t n = query_get_u64(query, "n", UINT64_MAX);
    if ((!node && strcmp(kind, "gateway") != 0) || (n != UINT64_MAX && n >= count)) {
        http_reply_text(exchange, 400, "there is no such host\n");
        return;
    }
    struct host *hosts = node ? world->nodes : world->gateways;
    for (uint64_t i = 0; i < count; i++)
        if (n == UINT64_MAX || n == i)
            hosts[i].manner = read_manner(query);
    http_reply_text(exchange, 200, "ok\n");
}

/* ---- the chain ---- */

static void put_head(const struct doc_chain *chain, struct text *out)
{
    text_appendf(out, "{\"head\":%llu,\"forks\":%u}\n", (unsigned long long)chain->head,
                 chain->forks);
}

void control_content_act(struct http_exchange *exchange, void *arg)
{
    struct content_world *world = world_of(arg);
    struct doc_chain *chain = &world->chain;
    struct bytes query = http_exchange_request(exchange)->query;
    uint64_t count = query_get_u64(query, "count", 1);
    struct text body = {0};
    char what[16] = "";
    query_get(query, "do", what, sizeof what);
    bool mine = strcmp(what, "mine") == 0;
    if (count > ACT_BLOCKS_MAX || (!mine && strcmp(what, "reorg") != 0)) {
        http_reply_text(exchange, 400, "there is no such act\n");
        return;
    }
    if (mine)
        doc_chain_mine(chain, count, query_get_u64(query, "empty", 0) == 1);
    else
        doc_chain_reorganise(chain, count);
    evm_heads_tell(world);
    put_head(chain, &body);
    reply(exchange, "application/json", &body);
}

/* ---- what is true ---- */

struct question {
    const struct content_world *world;
    bool actions, published; /* which events are asked for */
    bool spaces;             /* the event says who spoke */
    uint64_t from, to;
};

static void put_references(const struct question *question, const struct doc_block *block,
                           struct text *out)
{
    struct doc_log logs[DOC_LOGS_MAX];
    char name[DOC_NAME_SIZE], space[SPACE_SIZE];
    unsigned count = doc_chain_logs(&question->world->chain, block, logs), ordinal = 0;
    for (unsigned i = 0; i < count; i++) {
        bool wanted = (logs[i].kind == DOC_LOG_ACTION && question->actions) ||
                      (logs[i].kind == DOC_LOG_PUBLISHED && question->published);
        for (unsigned k = 0; wanted && k < logs[i].name_count; k++) {
            doc_name(&question->world->stock, logs[i].names[k].doc, logs[i].names[k].spelling,
                     name);
            snprintf(space, sizeof space, "\"00000000-0000-0000-0000-%012x\"", logs[i].space + 1);
            text_appendf(out,
                         "{\"block\":%llu,\"ordinal\":%u,\"uri\":\"ipfs://%s\",\"space\":%s}\n",
                         (unsigned long long)block->number, ordinal++, name,
                         question->spaces ? space : "null");
        }
    }
}

static void put_canonical(const struct question *question, struct text *out)
{
    struct doc_block block;
    for (uint64_t at = question->from;
         at <= question->to && doc_chain_block(&question->world->chain, at, &block); at++)
        put_references(question, &block, out);
}

static void put_orphaned(const struct question *question, struct text *out)
{
    const struct doc_chain *chain = &question->world->chain;
    for (size_t i = 0; i < chain->orphan_count; i++) {
        const struct doc_orphans *orphans = &chain->orphans[i];
        for (uint64_t at = orphans->first; at <= orphans->last; at++)
            put_references(question, &(struct doc_block){at, orphans->fork, orphans->empty}, out);
    }
}

static void put_blocks(const struct question *question, struct text *out)
{
    const struct doc_chain *chain = &question->world->chain;
    struct doc_block block, parent;
    uint8_t hash[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    for (uint64_t at = question->from; at <= question->to && doc_chain_block(chain, at, &block);
         at++) {
        doc_chain_hash(chain, &block, hash);
        digest_hex(hash, hex);
        text_appendf(out, "{\"block\":%llu,\"hash\":\"0x%s\"", (unsigned long long)at, hex);
        memset(hash, 0, sizeof hash);
        if (doc_chain_parent(chain, &block, &parent))
            doc_chain_hash(chain, &parent, hash);
        digest_hex(hash, hex);
        text_appendf(out, ",\"parent\":\"0x%s\"}\n", hex);
    }
}

static void put_document(const struct content_world *world, uint32_t doc, struct text *out)
{
    const struct doc_stock *stock = &world->stock;
    char names[DOC_SPELLINGS][DOC_NAME_SIZE], hex[DIGEST_HEX_SIZE];
    uint8_t hash[DIGEST_SIZE];
    bool address = stock->docs[doc].fate != DOC_NONSENSE;
    digest_sha256(text_bytes(&stock->docs[doc].file), hash);
    digest_hex(hash, hex);
    for (uint32_t i = 0; i < DOC_SPELLINGS; i++) {
        bool again = false;
        doc_name(stock, doc, i, names[i]);
        for (uint32_t k = 0; k < i; k++)
            again |= strcmp(names[i], names[k]) == 0;
        if (again)
            continue;
        text_appendf(out,
                     "{\"uri\":\"ipfs://%s\",\"canonical\":\"ipfs://%s\",\"state\":\"%s\","
                     "\"sha256\":\"%s\",\"size\":%zu,\"served\":%u}\n",
                     names[i], names[0], doc_verdict(stock, doc, world->options.gateways), hex,
                     stock->docs[doc].file.len, address ? stock->served[stock->docs[doc].root] : 0);
    }
}

void control_content_truth(struct http_exchange *exchange, void *arg)
{
    const struct content_world *world = world_of(arg);
    struct bytes query = http_exchange_request(exchange)->query;
    struct question question = {.world = world};
    struct text body = {0};
    char what[16] = "references", event[16] = "any";
    query_get(query, "what", what, sizeof what);
    query_get(query, "event", event, sizeof event);
    question.actions = strcmp(event, "published") != 0;
    question.published = strcmp(event, "action") != 0;
    question.spaces = strcmp(event, "action") == 0;
    question.from = query_get_u64(query, "from", 0);
    question.to = query_get_u64(query, "to", UINT64_MAX);
    if (strcmp(what, "references") == 0) {
        put_canonical(&question, &body);
    } else if (strcmp(what, "orphaned") == 0) {
        put_orphaned(&question, &body);
    } else if (strcmp(what, "head") == 0) {
        put_head(&world->chain, &body);
    } else if (strcmp(what, "blocks") == 0) {
        put_blocks(&question, &body);
    } else if (strcmp(what, "documents") == 0) {
        for (uint32_t i = 0; i < world->stock.count; i++)
            put_document(world, i, &body);
    } else {
        http_reply_text(exchange, 400, "nothing is known of that\n");
        return;
    }
    reply_lines(exchange, &body);
}
