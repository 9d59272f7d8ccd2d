/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/content_world.h"
#include "sim/keccak_bloom.h"

#include <stdio.h>
#include <string.h>

#define WORD    32
#define ADDRESS 20
/* keccak-256 of Published(address,string) and of GOVERNANCE.EDITS_PUBLISHED */
#define TOPIC_PUBLISHED "aff28e6a8ee2c33dbe0b399f58eea0ec9f932b8aabc63bcccbb4776cb658c992"
#define TOPIC_ACTION    "4fa19215d8045febfe0318814bb31d47009389b078ae12e4230ecef644adc65e"
#define STRANGER        "00000000000000000000000000000000deadbeef"
#define TOPICS_MAX      4

struct answer {
    struct host *host;
    const struct doc_chain *chain;
    uint64_t head; /* that this node has seen */
    struct json question, params;
    struct text out;
    struct draw *draw;
};

/* Topics of a log, and its contract, in hexadecimal. */
struct log_face {
    const char *contract;
    char topics[TOPICS_MAX][2 * WORD + 1];
    unsigned topic_count;
};

/* ---- logs as they look ---- */

static void show_face(const struct doc_log *log, struct log_face *face)
{
    *face = (struct log_face){.contract = CONTENT_CONTRACT};
    switch (log->kind) {
    case DOC_LOG_ACTION:
    case DOC_LOG_STRANGER:
        face->contract = log->kind == DOC_LOG_ACTION ? CONTENT_CONTRACT : STRANGER;
        face->topic_count = TOPICS_MAX;
        snprintf(face->topics[0], sizeof face->topics[0], "%032x%032x", log->space + 1, 0);
        snprintf(face->topics[1], sizeof face->topics[1], "%032x%032x", log->space + 2, 0);
        snprintf(face->topics[2], sizeof face->topics[2], "%s", TOPIC_ACTION);
        snprintf(face->topics[3], sizeof face->topics[3], "%064x", log->name_count);
        return;
    case DOC_LOG_PUBLISHED:
        face->topic_count = 1;
        snprintf(face->topics[0], sizeof face->topics[0], "%s", TOPIC_PUBLISHED);
        return;
    case DOC_LOG_NOISE:
    default:
        face->topic_count = 2;
        snprintf(face->topics[0], sizeof face->topics[0], "%064x", 7);
        snprintf(face->topics[1], sizeof face->topics[1], "%064x", log->space);
    }
}

static void put_word(struct text *out, uint64_t value)
{
    text_appendf(out, "%064llx", (unsigned long long)value);
}

/* One string, filled up to whole words. */
static void put_string(struct text *out, const char *string)
{
    size_t len = strlen(string);
    put_word(out, len);
    for (size_t i = 0; i < (len + WORD - 1) / WORD * WORD; i++)
        text_appendf(out, "%02x", i < len ? (unsigned)(unsigned char)string[i] : 0u);
}

static void put_data(const struct answer *answer, const struct doc_log *log, struct text *out)
{
    char words[DOC_LOG_NAMES_MAX * (DOC_NAME_SIZE + 8) + 1] = "", name[DOC_NAME_SIZE];
    size_t used = 0;
    for (unsigned i = 0; i < log->name_count; i++) {
        doc_name(&answer->host->world->stock, log->names[i].doc, log->names[i].spelling, name);
        used += (size_t)snprintf(words + used, sizeof words - used, "%sipfs://%s",
                                 i == 0 ? "" : " ", name);
    }
    if (log->kind == DOC_LOG_PUBLISHED) {
        put_word(out, log->space);
        put_word(out, 2 * WORD);
    } else {
        put_word(out, WORD);
    }
    put_string(out, words);
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10) & 15;
}

static void add_hex(uint8_t bloom[BLOOM_BYTES], const char *hex, size_t size)
{
    uint8_t bytes[WORD];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    bloom_add(bloom, bytes_make(bytes, size));
}

/* ---- blocks ---- */

static void put_hash(struct answer *answer, const struct doc_block *block)
{
    uint8_t hash[DIGEST_SIZE] = {0};
    char hex[DIGEST_HEX_SIZE];
    if (block != NULL)
        doc_chain_hash(answer->chain, block, hash);
    digest_hex(hash, hex);
    text_appendf(&answer->out, "\"0x%s\"", hex);
}

static void put_block(struct answer *answer, const struct doc_block *block)
{
    struct doc_block parent;
    struct doc_log logs[DOC_LOGS_MAX];
    struct log_face face;
    uint8_t bloom[BLOOM_BYTES] = {0};
    unsigned count = doc_chain_logs(answer->chain, block, logs);
    for (unsigned i = 0; i < count; i++) {
        show_face(&logs[i], &face);
        add_hex(bloom, face.contract, ADDRESS);
        for (unsigned k = 0; k < face.topic_count; k++)
            add_hex(bloom, face.topics[k], WORD);
    }
    text_appendf(&answer->out, "{\"number\":\"0x%llx\",\"timestamp\":\"0x%llx\",\"hash\":",
                 (unsigned long long)block->number,
                 1767225600ULL + 12ULL * (unsigned long long)block->number);
    put_hash(answer, block);
    text_append_string(&answer->out, ",\"parentHash\":");
    put_hash(answer, doc_chain_parent(answer->chain, block, &parent) ? &parent : NULL);
    text_append_string(&answer->out, ",\"transactions\":[],\"logsBloom\":\"0x");
    for (unsigned i = 0; i < BLOOM_BYTES; i++)
        text_appendf(&answer->out, "%02x", bloom[i]);
    text_append_string(&answer->out, "\"}");
}

static bool read_quantity(struct json value, uint64_t *out)
{
    struct bytes text = json_string_or_absent(value);
    if (text.len < 3 || text.len > 18 || text.data[0] != '0' || text.data[1] != 'x')
        return false;
    *out = 0;
    for (size_t i = 2; i < text.len; i++)
        *out = *out << 4 | hex_digit(text.data[i]);
    return true;
}

/* A number, or one of the names that stand for one. */
static bool read_number(const struct answer *answer, struct json value, uint64_t *out)
{
    struct bytes text = json_string_or_absent(value);
    if (bytes_equal_string(text, "latest") || bytes_equal_string(text, "safe") ||
        bytes_equal_string(text, "finalized")) {
        *out = answer->head;
        return true;
    }
    *out = 0;
    return bytes_equal_string(text, "earliest") || read_quantity(value, out);
}

static bool find_by_hash(const struct answer *answer, struct json value, struct doc_block *block)
{
    struct bytes text = json_string_or_absent(value);
    uint8_t hash[DIGEST_SIZE];
    return text.len == 2 + 2 * DIGEST_SIZE &&
           digest_parse_hex(bytes_make(text.data + 2, text.len - 2), hash) &&
           doc_chain_find(answer->chain, hash, block) && block->number <= answer->head;
}

static void answer_block(struct answer *answer, bool by_hash)
{
    struct json which = json_at(answer->params, 0);
    struct doc_block block;
    uint64_t number = 0;
    bool known = by_hash ? find_by_hash(answer, which, &block)
                         : read_number(answer, which, &number) && number <= answer->head &&
                               doc_chain_block(answer->chain, number, &block);
    text_append_string(&answer->out, "\"result\":");
    if (known)
        put_block(answer, &block);
    else
        text_append_string(&answer->out, "null");
}

/* ---- logs ---- */

static bool is_asked_for(const struct answer *answer, const struct log_face *face)
{
    struct json filter = json_at(answer->params, 0);
    struct bytes address = json_string_or_absent(json_get(filter, "address"));
    struct bytes topic = json_string_or_absent(json_at(json_get(filter, "topics"), 0));
    if (address.len > 2 &&
        !bytes_equal_string(bytes_make(address.data + 2, address.len - 2), face->contract))
        return false;
    return topic.len <= 2 ||
           (face->topic_count > 0 &&
            bytes_equal_string(bytes_make(topic.data + 2, topic.len - 2), face->topics[0]));
}

static void put_log(struct answer *answer, const struct doc_block *block, const struct doc_log *log,
                    const struct log_face *face, unsigned index)
{
    struct text *out = &answer->out;
    text_appendf(out, "%s{\"address\":\"0x%s\",\"topics\":[",
                 out->data[out->len - 1] == '[' ? "" : ",", face->contract);
    for (unsigned i = 0; i < face->topic_count; i++)
        text_appendf(out, "%s\"0x%s\"", i == 0 ? "" : ",", face->topics[i]);
    text_append_string(out, "],\"data\":\"0x");
    put_data(answer, log, out);
    text_appendf(out, "\",\"blockNumber\":\"0x%llx\",\"logIndex\":\"0x%x\",\"blockHash\":",
                 (unsigned long long)block->number, index);
    put_hash(answer, block);
    text_append_string(out, ",\"removed\":false}");
}

static void put_logs(struct answer *answer, const struct doc_block *block)
{
    struct doc_log logs[DOC_LOGS_MAX];
    struct log_face face;
    unsigned count = doc_chain_logs(answer->chain, block, logs);
    for (unsigned i = 0; i < count; i++) {
        show_face(&logs[i], &face);
        if (is_asked_for(answer, &face))
            put_log(answer, block, &logs[i], &face, i);
    }
}

static void refuse(struct answer *answer, const char *words)
{
    answer->host->counts.refused++;
    text_appendf(&answer->out, "\"error\":{\"code\":-32000,\"message\":\"%s\"}", words);
}

/* Whoever lags answers what it has, and says nothing of the rest. */
static void answer_range(struct answer *answer, struct json filter)
{
    uint64_t from, to;
    struct doc_block block;
    uint32_t most = answer->host->manner.range_max;
    if (!read_number(answer, json_get(filter, "fromBlock"), &from) ||
        !read_number(answer, json_get(filter, "toBlock"), &to) || to < from) {
        refuse(answer, "invalid block range");
        return;
    }
    if (most > 0 && to - from >= most) {
        refuse(answer, "query exceeds max block range");
        return;
    }
    text_append_string(&answer->out, "\"result\":[");
    for (uint64_t at = from; at <= to && at <= answer->head; at++)
        if (doc_chain_block(answer->chain, at, &block) && !block.empty)
            put_logs(answer, &block);
    text_append_string(&answer->out, "]");
}

static void answer_logs(struct answer *answer)
{
    struct json filter = json_at(answer->params, 0), hash = json_get(filter, "blockHash");
    struct doc_block block;
    if (draw_below(answer->draw, 100) < answer->host->manner.lack) {
        answer->host->counts.lacked++;
        text_append_string(&answer->out, "\"result\":[]");
    } else if (json_type(hash) != JSON_STRING) {
        answer_range(answer, filter);
    } else if (!find_by_hash(answer, hash, &block)) {
        refuse(answer, "unknown block");
    } else {
        text_append_string(&answer->out, "\"result\":[");
        put_logs(answer, &block);
        text_append_string(&answer->out, "]");
    }
}

/* ---- questions ---- */

static void answer_question(struct answer *answer)
{
    struct bytes method = json_string_or_absent(json_get(answer->question, "method"));
    if (bytes_equal_string(method, "eth_getBlockByNumber"))
        answer_block(answer, false);
    else if (bytes_equal_string(method, "eth_getBlockByHash"))
        answer_block(answer, true);
    else if (bytes_equal_string(method, "eth_getLogs"))
        answer_logs(answer);
    else if (bytes_equal_string(method, "eth_blockNumber"))
        text_appendf(&answer->out, "\"result\":\"0x%llx\"", (unsigned long long)answer->head);
    else if (bytes_equal_string(method, "eth_chainId"))
        text_append_string(&answer->out, "\"result\":\"0x7a69\"");
    else
        refuse(answer, "the method does not exist");
}

static uint64_t head_of(const struct host *host)
{
    uint64_t head = host->world->chain.head;
    return head > host->manner.lag ? head - host->manner.lag : 0;
}

void evm_node_print_head(struct host *host, struct text *out)
{
    struct answer answer = {.host = host, .chain = &host->world->chain, .head = head_of(host)};
    struct doc_block block;
    if (doc_chain_block(answer.chain, answer.head, &block))
        put_block(&answer, &block);
    else
        text_append_string(&answer.out, "null");
    text_append(out, answer.out.data, answer.out.len);
    text_free(&answer.out);
}

void evm_node_answer(struct http_exchange *exchange, void *arg)
{
    struct host *host = arg;
    const struct http_request *request = http_exchange_request(exchange);
    struct draw draw = host_draw(host);
    struct answer answer = {.host = host, .chain = &host->world->chain, .draw = &draw};
    struct err err;
    if (host_admit(host, exchange, &draw))
        return;
    if (json_parse_copy(host->world->doc, request->body, &answer.question, &err) != RC_OK) {
        http_reply_text(exchange, 400, "the question is no JSON\n");
        return;
    }
    answer.head = head_of(host);
    answer.params = json_get(answer.question, "params");
    text_append_string(&answer.out, "{\"jsonrpc\":\"2.0\",\"id\":");
    json_print(json_get(answer.question, "id"), &answer.out);
    text_append_char(&answer.out, ',');
    answer_question(&answer);
    text_append_char(&answer.out, '}');
    host_reply(host, exchange, &draw, 200, "application/json", text_bytes(&answer.out));
    text_free(&answer.out);
}
