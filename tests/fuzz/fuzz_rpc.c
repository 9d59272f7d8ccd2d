/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a node's answer in JSON-RPC, with any status: it is told as a result, told as a
 * refusal with a sentence, or the question is asked again; which of them it is, is what the words
 * of the answer say when they are looked at one by one. The first two bytes choose the status, how
 * the exchange itself went, whether the question is for a second opinion, and what is said of the
 * answer. */
#include "base/arena.h"
#include "source/rpc.h"

#include <assert.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 16)
#define WAIT_US   INT64_C(2592000000000) /* longer than any node is left alone */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a machine on which nothing happens by itself ---- */

static int64_t now_us = WAIT_US;
static struct timer *armed;
static http_done_fn *sent_to;
static void *sent_arg;
static bool sent;

static int64_t read_clock(struct runtime *runtime)
{
    (void)runtime;
    return now_us;
}

static uint64_t read_chance(struct runtime *runtime)
{
    (void)runtime;
    return 7;
}

static void arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    (void)runtime;
    assert(delay_us >= 0);
    armed = timer;
}

static void disarm(struct runtime *runtime, struct timer *timer)
{
    (void)runtime;
    if (armed == timer)
        armed = NULL;
}

static struct http_call *take_request(struct runtime *runtime, const struct http_request *request,
                                      http_done_fn *done, void *arg)
{
    (void)runtime;
    assert(!sent && request->body.len > 0);
    sent = true;
    sent_to = done;
    sent_arg = arg;
    return (struct http_call *)&sent;
}

static const struct runtime_ops ops = {
    .wall_us = read_clock,
    .mono_us = read_clock,
    .random = read_chance,
    .timer_arm = arm,
    .timer_disarm = disarm,
    .http_send = take_request,
};
static struct runtime machine = {&ops};

/* ---- what is told ---- */

static struct json_doc *own; /* the product's own is in use while it tells */
static enum rc told;
static unsigned times;
static bool doubting, reproaching;

static struct rpc *rpc;

static void take_result(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct text printed = {0};
    (void)arg;
    told = rc;
    times++;
    if (rc == RC_OK) {
        struct json again;
        json_print(result, &printed);
        enum rc parsed = json_parse_copy(own, text_bytes(&printed), &again, NULL);
        assert(parsed == RC_OK && json_type(again) == json_type(result));
    } else {
        assert(err->text[0] != '\0' && json_type(result) == JSON_ABSENT);
    }
    text_free(&printed);
    if (doubting)
        rpc_disbelieve(rpc, "not believed");
    if (reproaching)
        rpc_reproach(rpc, "reproached");
}

/* What the answer is by its words; RC_RETRY: none. */
static enum rc expected(int status, struct bytes body)
{
    struct json root, key_value;
    struct bytes key;
    bool result = false, error = false, seen_error = false, seen_result = false;
    if (json_parse_copy(own, body, &root, NULL) != RC_OK)
        return RC_RETRY;
    for (struct json_walk walk = json_walk(root); json_walk_next(&walk, &key, &key_value);) {
        if (bytes_equal_string(key, "error") && !seen_error) {
            seen_error = true;
            error = json_type(key_value) == JSON_OBJECT;
        }
        seen_result = seen_result || bytes_equal_string(key, "result");
        result = seen_result;
    }
    if (json_type(root) != JSON_OBJECT)
        return RC_RETRY;
    if (error && status != 429)
        return RC_REJECT;
    return status == 200 && result ? RC_OK : RC_RETRY;
}

static void start(void)
{
    static const char *const urls[] = {"http://a.example", "http://b.example"};
    struct err err;
    if (rpc != NULL)
        rpc_free(rpc);
    now_us = WAIT_US;
    enum rc rc = rpc_new(&machine, urls, 2, &rpc, &err);
    assert(rc == RC_OK);
    if (own == NULL)
        own = json_doc_new(8 * BYTES_MAX, JSON_DEPTH_MAX);
}

/* Waits out whatever was waited for, until the question is on its way. */
static void let_ask(void)
{
    for (int i = 0; i < 4 && !sent; i++) {
        struct timer *timer = armed;
        assert(timer != NULL);
        now_us += WAIT_US;
        armed = NULL;
        timer->fn(timer->arg);
    }
    assert(sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 429, 401, 404, 500, 503};
    static char body[BYTES_MAX + ARENA_PAD];
    if (rpc == NULL || now_us > INT64_MAX / 2) /* after a million inputs time begins anew */
        start();
    if (size < 2 || size - 2 > BYTES_MAX)
        return -1;
    memcpy(body, data + 2, size - 2);
    memset(body + size - 2, 0, ARENA_PAD);
    struct http_response response = {.rc = data[1] % 16 == 0 ? RC_RETRY : RC_OK,
                                     .status = statuses[data[0] % 8],
                                     .body = bytes_make(body, size - 2),
                                     .retry_after_ms = data[0] / 64 - 1};
    bool aside = data[1] % 16 == 1;
    doubting = data[1] % 16 == 2;
    reproaching = data[1] % 16 == 3;
    times = 0;
    sent = false;
    now_us += WAIT_US;
    if (aside)
        aside = rpc_ask_other(rpc, 1, "m", "[]", take_result, NULL);
    if (!aside)
        rpc_ask(rpc, "m", "[]", take_result, NULL);
    let_ask();
    enum rc awaited = response.rc != RC_OK ? RC_RETRY : expected(response.status, response.body);
    if (response.rc != RC_OK)
        err_set(&response.err, RC_RETRY, "no answer");
    sent = false;
    sent_to(sent_arg, &response);
    assert(times == (aside || awaited != RC_RETRY ? 1u : 0u));
    assert(times == 0 || told == awaited);
    /* Whoever was told nothing, or does not believe it, is asked for again. */
    assert((armed != NULL) == (!aside && (times == 0 || doubting)));
    rpc_stop(rpc);
    return 0;
}
