/* SPDX-License-Identifier: Apache-2.0 */
#include "chain_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chain_model model;

/* ---- nodes ---- */

void chain_bench_hash(uint64_t number, char *out, size_t size)
{
    snprintf(out, size, "0x%062llx%02x", (unsigned long long)number,
             number >= CHAIN_BLOCKS ? 0U : (unsigned)(unsigned char)model.fork[number]);
}

static void print_block(uint64_t number, bool strays, struct text *out)
{
    char hash[80], parent[80];
    uint64_t time_s = 1 + number * model.block_s;
    chain_bench_hash(number, hash, sizeof hash);
    chain_bench_hash(number - 1, parent, sizeof parent);
    if (strays)
        hash[2] = parent[2] = 'f';
    text_appendf(out,
                 "{\"number\":\"0x%llx\",\"hash\":\"%s\",\"parentHash\":\"%s\",\"timestamp\":"
                 "\"0x%llx\",\"transactions\":[%s],\"logsBloom\":\"0x",
                 (unsigned long long)number, hash, parent, (unsigned long long)time_s,
                 model.letters[number][0] == '\0' ? "" : "\"0x1\"");
    bool blank =
        strays || model.blank_blooms || (model.letters[number][0] == '\0' && !model.full_blooms);
    for (int i = 0; i < 256; i++)
        text_append_string(out, blank ? "00" : "ff");
    text_append_string(out, "\"}");
}

static void print_logs(struct content_bench *b, uint64_t number, struct text *out, bool *first)
{
    char hash[80];
    chain_bench_hash(number, hash, sizeof hash);
    for (const char *at = model.letters[number]; *at != '\0'; at++) {
        char text[] = "document ?", uri[128];
        text[sizeof text - 2] = *at;
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(text));
        snprintf(uri, sizeof uri, "ipfs://%s", b->blocks.blocks[block].cid);
        text_appendf(out,
                     "%s{\"address\":\"" CHAIN_CONTRACT
                     "\",\"blockNumber\":\"0x%llx\",\"blockHash\":"
                     "\"%s\",\"logIndex\":\"0x%zx\",\"topics\":[],\"data\":\"0x",
                     *first ? "" : ",", (unsigned long long)number, hash,
                     (size_t)(at - model.letters[number]));
        for (const char *c = uri; *c != '\0'; c++)
            text_appendf(out, "%02x", (unsigned)(unsigned char)*c);
        text_append_string(out, "\"}");
        *first = false;
    }
}

static uint64_t number_after(const char *body, const char *key)
{
    const char *at = strstr(body, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 16);
}

static void refuse(struct text *out, const char *words)
{
    text_appendf(out,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"%s\"}}",
                 words);
}

/* Whether the block that is asked for by its hash is the chain's. */
static bool knows_hash(const char *body, uint64_t number)
{
    char hash[80];
    if (number == model.changes) {
        memset(model.fork + number, 'b', sizeof model.fork - number);
        model.changes = 0;
    }
    chain_bench_hash(number, hash, sizeof hash);
    return strstr(body, hash) != NULL;
}

static uint64_t block_of_hash(const char *body)
{
    char digits[63] = {0};
    memcpy(digits, strstr(body, "blockHash\":\"0x") + 14, 62);
    return strtoull(digits, NULL, 16);
}

static bool hides_now(const struct content_bench *b, struct chain_node *node)
{
    bool now = node->hides || node->hides_next > 0 || node->strays ||
               chain_bench_now(b) < node->hides_until;
    node->hides_next -= node->hides_next > 0;
    return now;
}

static void answer_logs(struct content_bench *b, struct chain_node *node, const char *body,
                        struct text *out)
{
    bool by_hash = strstr(body, "blockHash") != NULL, first = true;
    uint64_t lo = by_hash ? block_of_hash(body) : number_after(body, "fromBlock\":\"0x");
    uint64_t hi = by_hash ? lo : number_after(body, "toBlock\":\"0x");
    node->log_questions++;
    if (!by_hash && hi > model.by_number)
        model.by_number = hi;
    uint64_t most = node->range_max > 0 ? node->range_max : model.range_max;
    if (most > 0 && hi - lo + 1 > most) {
        refuse(out, "query returned more than 10000 results");
        return;
    }
    if (by_hash && !knows_hash(body, lo)) {
        refuse(out, "unknown block");
        return;
    }
    bool hides = hides_now(b, node);
    text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[");
    for (uint64_t i = 0; i <= hi - lo && !hides; i++) {
        uint64_t number = node->reverses ? hi - i : lo + i;
        if (node->head == 0 || number <= node->head)
            print_logs(b, number, out, &first);
    }
    text_append_string(out, "]}");
}

static void answer_block(const struct chain_node *node, const char *body, struct text *out)
{
    uint64_t head = node->head > 0 && node->head < model.head ? node->head : model.head;
    uint64_t claims = node->claims > 0 ? node->claims : head;
    bool latest = strstr(body, "latest") != NULL;
    uint64_t number = latest ? claims : number_after(body, "params\":[\"0x");
    text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
    if (number > head && !latest)
        text_append_string(out, "null");
    else
        print_block(number, node->strays, out);
    text_append_string(out, "}");
}

/* Whether the question for logs is not answered: the end of the exchange takes its place. */
static bool chokes(struct content_bench *b, const struct chain_node *node, size_t at)
{
    const char *body = b->desk.sent[at].body;
    bool by_hash = strstr(body, "blockHash") != NULL;
    uint64_t lo = by_hash ? block_of_hash(body) : number_after(body, "fromBlock\":\"0x");
    uint64_t hi = by_hash ? lo : number_after(body, "toBlock\":\"0x");
    struct http_response response = {.retry_after_ms = -1};
    if (node->heavy >= lo && node->heavy <= hi && node->heavy > 0)
        response.rc = err_set(&response.err, RC_REJECT, "the answer is over %zu bytes",
                              b->desk.sent[at].body_bytes_max);
    else if (node->chokes_above == 0 || hi - lo + 1 <= node->chokes_above)
        return false;
    else if (node->chokes_with < 0)
        response.rc = err_set(&response.err, (enum rc) - node->chokes_with, "no whole answer");
    else
        response.status = node->chokes_with;
    http_desk_answer_with(&b->desk, at, response, "<html>not today</html>");
    return true;
}

static void answer_node(struct content_bench *b, size_t at)
{
    const char *body = b->desk.sent[at].body;
    struct chain_node *node = &model.nodes[strstr(b->desk.sent[at].url, "node-")[5] - 'a'];
    bool logs = strstr(body, "eth_getLogs") != NULL;
    node->questions++;
    struct text out = {0};
    if (logs && chokes(b, node, at)) {
        node->log_questions++;
        return;
    }
    if (node->dead || (logs && node->breaks_next > 0)) {
        node->breaks_next -= logs && node->breaks_next > 0;
        http_desk_answer(&b->desk, at, 503, "");
        return;
    }
    if (node->refuses || (logs && (node->refuses_logs || node->refuses_next > 0))) {
        node->log_questions += logs;
        node->refuses_next -= logs && node->refuses_next > 0;
        refuse(&out, node->echoes ? "nothing left for " CHAIN_KEY
                                  : "daily request count exceeded, request rate limited");
    } else if (node->has_nothing || (logs && node->nulls))
        text_append_string(&out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");
    else if (logs)
        answer_logs(b, node, body, &out);
    else
        answer_block(node, body, &out);
    http_desk_answer(&b->desk, at, 200, text_string(&out));
    text_free(&out);
}

bool chain_bench_answer(struct content_bench *b)
{
    bool moved = false, open = false;
    for (size_t i = 0; i < b->desk.sent_count; i++) {
        const struct desk_request *sent = &b->desk.sent[i];
        if (sent->done == NULL || strstr(sent->url, "node-") == NULL)
            continue;
        moved |= strstr(sent->body, "latest") == NULL;
        answer_node(b, i);
        content_bench_settle(b);
    }
    for (int letter = 'A'; letter <= 'Z'; letter++)
        if (content_bench_asking(b, (char)letter) > 0) {
            content_bench_give(b, (char)letter);
            moved = true;
        }
    for (size_t i = 0; i < b->desk.sent_count; i++)
        open |= b->desk.sent[i].done != NULL;
    if (!open)
        b->desk.sent_count = 0;
    return moved;
}

void chain_bench_run(struct content_bench *b)
{
    for (int idle = 0; idle < 4;) {
        bool moved = content_bench_commit(b);
        moved |= chain_bench_answer(b);
        if (!moved)
            content_bench_pass(b, 1000 * DESK_MS);
        idle = moved ? 0 : idle + 1;
    }
}

void chain_bench_run_for(struct content_bench *b, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        for (int turn = 0, idle = 0; turn < 100 && idle < 2; turn++) {
            bool moved = content_bench_commit(b);
            moved |= chain_bench_answer(b);
            content_bench_pass(b, 0);
            idle = moved ? 0 : idle + 1;
        }
        content_bench_pass(b, 1000 * DESK_MS);
    }
}

int64_t chain_bench_now(const struct content_bench *b)
{
    return b->env.runtime->ops->mono_us(b->env.runtime);
}

/* ---- the reader ---- */

static void *open_reader(struct content_bench *b)
{
    static const char *const urls[] = {("http://node-a/v3/" CHAIN_KEY), "http://node-b",
                                       "http://node-c"};
    struct evm_chain_settings settings = {.start_block = model.start,
                                          .confirmations = model.confirmations,
                                          .reorg_depth = CHAIN_DEPTH};
    assert_ok(
        evm_event_parse(bytes_of(model.event), bytes_of(model.contract), &settings.event, &b->err));
    assert_ok(rpc_new(b->env.runtime, urls, model.node_count, &model.rpc, &b->err));
    return evm_chain_new(&b->env, model.rpc, &settings);
}

static void feed_reader(struct content_bench *b)
{
    evm_chain_feed(b->reader_arg, b->content);
}

static void stop_reader(struct content_bench *b)
{
    evm_chain_stop(b->reader_arg);
}

static void close_reader(struct content_bench *b)
{
    assert_true(evm_chain_stopped(b->reader_arg));
    evm_chain_free(b->reader_arg);
    rpc_free(model.rpc);
}

const struct bench_reader chain_reader = {&evm_chain_events, open_reader, feed_reader, stop_reader,
                                          close_reader};

int chain_bench_set_up(void **state)
{
    memset(&model, 0, sizeof model);
    memset(model.fork, 'a', sizeof model.fork);
    model.start = 100;
    model.event = "any";
    model.contract = CHAIN_CONTRACT;
    model.node_count = 2;
    return content_bench_set_up(state);
}

void chain_bench_name(uint64_t number, const char *letters)
{
    snprintf(model.letters[number], sizeof model.letters[number], "%s", letters);
}

void chain_bench_forget(struct content_bench *b)
{
    memset(model.fork, 'a', sizeof model.fork);
    memset(model.letters, 0, sizeof model.letters);
    content_bench_wipe(b);
}

void chain_bench_read(struct content_bench *b)
{
    content_bench_read_by(b, &chain_reader);
    chain_bench_run(b);
}

int64_t chain_bench_references(struct content_bench *b)
{
    return content_bench_number(b, "SELECT count(*) FROM document_refs");
}

unsigned chain_bench_log_questions(void)
{
    unsigned sum = 0;
    for (size_t i = 0; i < model.node_count; i++)
        sum += model.nodes[i].log_questions;
    return sum;
}
