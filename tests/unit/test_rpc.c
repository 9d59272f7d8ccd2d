/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a node's answer: for how long the node is left alone, and what is said of it. */
#include "http_desk.h"
#include "source/rpc.h"

#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

struct bench {
    struct http_desk desk;
    struct rpc *rpc;
    unsigned told;
    enum rc rc;
    char words[ERR_TEXT_MAX];
};

static int set_up(void **state)
{
    static struct bench bench;
    memset(&bench, 0, sizeof bench);
    http_desk_init(&bench.desk);
    *state = &bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    rpc_stop(b->rpc);
    rpc_free(b->rpc);
    http_desk_deinit(&b->desk);
    return 0;
}

static void open_nodes(struct bench *b, size_t count, const char *const *urls)
{
    struct err err;
    if (b->rpc != NULL) {
        rpc_stop(b->rpc);
        rpc_free(b->rpc);
    }
    b->desk.sent_count = 0;
    assert_int_equal(rpc_new(&b->desk.clock.runtime, urls, count, &b->rpc, &err), RC_OK);
}

static void open_two(struct bench *b)
{
    open_nodes(b, 2, (const char *const[]){"http://a.example", "http://b.example"});
}

static void take(void *arg, enum rc rc, struct json result, const struct err *err)
{
    struct bench *b = arg;
    (void)result;
    b->told++;
    b->rc = rc;
    snprintf(b->words, sizeof b->words, "%s", rc == RC_OK ? "" : err->text);
}

static void ask(struct bench *b)
{
    b->told = 0;
    rpc_ask(b->rpc, "m", "[]", take, b);
    http_desk_pass(&b->desk, 0);
}

/* The question under way; -1: none is. */
static int asked(const struct bench *b, const char *host)
{
    for (size_t i = 0; i < b->desk.sent_count; i++)
        if (b->desk.sent[i].done != NULL && strstr(b->desk.sent[i].url, host) != NULL)
            return (int)i;
    return -1;
}

static void answer(struct bench *b, const char *host, int status, const char *body)
{
    int at = asked(b, host);
    assert_true(at >= 0);
    http_desk_answer(&b->desk, (size_t)at, status, body);
    http_desk_pass(&b->desk, 0);
}

static const struct provider *node(const struct bench *b, int number)
{
    int current;
    return &rpc_group(b->rpc, &current)->providers[number];
}

/* ---- how long it is left alone ---- */

/* Whatever status stands in place of an answer, the only node is asked again: soon, or within
 * minutes when it does not know who asks. */
static void no_status_leaves_a_node_alone_for_long(void **state)
{
    struct bench *b = *state;
    static const struct {
        int status;
        int64_t most_us;
    } cases[] = {{400, 2 * SECOND_US}, {401, 60 * SECOND_US}, {403, 2 * SECOND_US},
                 {404, 2 * SECOND_US}, {405, 2 * SECOND_US},  {407, 60 * SECOND_US},
                 {410, 2 * SECOND_US}, {429, 2 * SECOND_US},  {451, 2 * SECOND_US},
                 {500, 2 * SECOND_US}, {503, 2 * SECOND_US},  {301, 2 * SECOND_US}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_nodes(b, 1, (const char *const[]){"http://a.example"});
        ask(b);
        answer(b, "a.example", cases[i].status, "<html>no healthy upstream</html>");
        assert_int_equal(b->told, 0);
        http_desk_pass(&b->desk, cases[i].most_us);
        answer(b, "a.example", 200, "{\"result\":1}");
        assert_int_equal(b->told, 1);
        assert_int_equal(b->rc, RC_OK);
        assert_string_equal(rpc_trouble(b->rpc), "");
    }
}

/* One that refuses whoever asks for good is asked less and less often, but at least every ten
 * minutes; people read what to look at. */
static void refused_credentials_are_tried_again_within_minutes(void **state)
{
    struct bench *b = *state;
    static const int statuses[] = {401, 403, 407};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        open_nodes(b, 1, (const char *const[]){"http://a.example"});
        ask(b);
        for (int round = 0; round < 12; round++) {
            answer(b, "a.example", statuses[i], "");
            assert_non_null(strstr(rpc_trouble(b->rpc), "content.rpc"));
            http_desk_pass(&b->desk, 720 * SECOND_US);
        }
        answer(b, "a.example", 200, "{\"result\":1}");
        assert_int_equal(b->told, 1);
    }
}

/* A node that was left alone is asked for a second opinion when its time is over, and a good answer
 * is the end of it: it is as well as any. */
static void a_second_opinion_brings_a_node_back(void **state)
{
    struct bench *b = *state;
    open_two(b);
    for (int round = 0; round < PROVIDER_OPEN_FAILURES; round++) {
        assert_true(rpc_ask_other(b->rpc, 2, "m", "[]", take, b));
        http_desk_pass(&b->desk, 0);
        answer(b, "a.example", 503, "");
        assert_int_equal(b->rc, RC_RETRY);
    }
    assert_int_equal(provider_circuit(node(b, 0), b->desk.clock.mono_us), CIRCUIT_OPEN);
    assert_false(rpc_ask_other(b->rpc, 2, "m", "[]", take, b));
    http_desk_pass(&b->desk, 31 * SECOND_US);
    assert_true(rpc_ask_other(b->rpc, 2, "m", "[]", take, b));
    http_desk_pass(&b->desk, 0);
    answer(b, "a.example", 200, "{\"error\":{\"message\":\"not now\"}}"); /* no verdict */
    assert_int_equal(b->rc, RC_REJECT);
    assert_true(rpc_ask_other(b->rpc, 2, "m", "[]", take, b));
    http_desk_pass(&b->desk, 0);
    answer(b, "a.example", 200, "{\"result\":1}");
    assert_int_equal(b->rc, RC_OK);
    assert_int_equal(provider_circuit(node(b, 0), b->desk.clock.mono_us), CIRCUIT_CLOSED);
}

/* What it failed the stream of questions with is over, too. */
static void a_second_opinion_ends_what_a_node_waits_out(void **state)
{
    struct bench *b = *state;
    open_two(b);
    ask(b);
    answer(b, "a.example", 503, "");
    answer(b, "b.example", 200, "{\"result\":1}");
    assert_true(rpc_ask_other(b->rpc, 2, "m", "[]", take, b));
    http_desk_pass(&b->desk, 0);
    answer(b, "a.example", 200, "{\"result\":1}");
    ask(b);
    answer(b, "b.example", 503, "");
    assert_true(asked(b, "a.example") >= 0);
}

/* ---- what is said of it ---- */

#define UNSAID    "the node refuses, in words that may hold a secret"
#define SECRETIVE "http://ursula:p%40ssw0rdXYZ!@a.example/v3/Key%2DSegment12345?also=Fragile99"

static const char *refused_with(struct bench *b, const char *url, const char *words)
{
    char body[512];
    open_nodes(b, 1, &url);
    ask(b);
    snprintf(body, sizeof body, "{\"error\":{\"code\":-32000,\"message\":\"%s\"}}", words);
    answer(b, "a.example", 200, body);
    assert_int_equal(b->rc, RC_REJECT);
    return b->words;
}

/* A node may say back what it was told in confidence, as it stands in the address or as it came to
 * it: decoded, in the header, cut, in other letters. None of that is shown. */
static void no_form_of_a_secret_is_told(void **state)
{
    struct bench *b = *state;
    static const char *const words[] = {
        "bad auth p%40ssw0rdXYZ!",
        "bad auth Basic dXJzdWxhOnBAc3N3MHJkWFlaIQ==", /* ursula:p@ssw0rdXYZ! */
        "bad auth dXJzdWxhOnBAc3N3MHJkWFlaIQ",
        "bad auth dXJzdWxhOnAlNDBzc3cwcmRYWVoh", /* as it stands in the address */
        "bad auth ursula:p@ssw0rdXYZ!",
        "bad password p@ssw0rdXYZ!",
        "bad password P@SSW0RDXYZ!",
        "bad password p@ssw0rd...",
        "bad password p&#64;ssw0rdXYZ!",
        "path /V3/KEY%2DSEGMENT12345",
        "path /v3/Key-Segment12345",
        "path %2fv3%2fkey%2dsegment12345",
        "key Key-Segm... is over its limit",
        "key fragile99 is over its limit",
        "token 70407373773072645859 is bad, or 7040737377307264585a21",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(refused_with(b, SECRETIVE, words[i]), UNSAID);
}

/* A short password is one, too. */
static void a_short_password_is_not_told(void **state)
{
    struct bench *b = *state;
    assert_string_equal(refused_with(b, "http://u:pa55@a.example", "bad password Pa55"), UNSAID);
    assert_string_equal(refused_with(b, "http://:pa55@a.example", "bad password Pa55"), UNSAID);
    assert_string_equal(refused_with(b, "http://@a.example", "who?"), "the node refuses: who?");
}

/* What else a node says is shown: people need it. */
static void other_words_of_a_node_are_told(void **state)
{
    struct bench *b = *state;
    static const char *const words[] = {
        "query returned more than 10000 results. Try with this block range [0x1dc1300, 0x1dc1358].",
        "daily request count exceeded, request rate limited",
        "no header for hash 0x9b83c12c69edb74f6c8dd5d052765c1adf940e320bd1291696e6fa07829eee71",
        "the method eth_getLogs does not exist/is not available at a.example",
        "%zz is 100% wrong",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_non_null(strstr(refused_with(b, SECRETIVE, words[i]), words[i]));
        assert_non_null(strstr(refused_with(b, "http://a.example", words[i]), words[i]));
    }
    assert_non_null(
        strstr(refused_with(b, "http://a.example:8545/v3", "id 7c9e6679f7425aa1 failed"),
               "7c9e6679f7425aa1"));
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(no_status_leaves_a_node_alone_for_long),
        AT_DESK(refused_credentials_are_tried_again_within_minutes),
        AT_DESK(a_second_opinion_brings_a_node_back),
        AT_DESK(a_second_opinion_ends_what_a_node_waits_out),
        AT_DESK(no_form_of_a_secret_is_told),
        AT_DESK(a_short_password_is_not_told),
        AT_DESK(other_words_of_a_node_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
