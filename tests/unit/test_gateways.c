/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a gateway's answer: whom it costs what, and whether it is asked again. */
#include "fetch_bench.h"

#include <stdio.h>
#include <string.h>

/* The answer was over what was allowed, so it was not read. */
static void overflow(struct bench *b, const char *gateway, size_t block)
{
    int at = fetch_bench_find(b, gateway, block);
    assert_true(at >= 0);
    struct http_response response = {.rc = RC_REJECT, .retry_after_ms = -1};
    err_set(&response.err, RC_REJECT, "the answer is over %zu bytes",
            b->desk.sent[at].body_bytes_max);
    http_desk_answer_with(&b->desk, (size_t)at, response, "");
}

/* R002-03: more bytes than a document may have, for one that is small: the gateway that has it
 * shows who lied, and the liar is asked last from then on. */
static void a_gateway_that_sends_too_much_of_a_small_block_falls_behind(void **state)
{
    struct bench *b = *state;
    size_t small = ipfs_blocks_add(&b->blocks, true, bytes_of("small"));
    size_t other = ipfs_blocks_add(&b->blocks, true, bytes_of("another"));
    fetch_bench_begin(b, small, 0);
    overflow(b, "a.example", small);
    assert_int_equal(b->ended, 0);
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 0);
    fetch_bench_give(b, "b.example", small);
    assert_int_equal(b->rc, RC_OK);
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 1);
    assert_string_equal(fetch_bench_provider(b, "a.example")->last_error,
                        "more bytes than the block has");
    fetch_bench_begin(b, other, 0);
    assert_int_equal(fetch_bench_find(b, "a.example", other), -1);
    fetch_bench_give(b, "example", other);
    assert_int_equal(b->ended, 2);
}

/* As often as it lies: in the end it is left alone for a while, like one that fails. */
static void a_gateway_that_keeps_sending_too_much_is_left_alone(void **state)
{
    struct bench *b = *state;
    for (int round = 0; round < PROVIDER_OPEN_FAILURES; round++) {
        char word[16];
        snprintf(word, sizeof word, "round %d", round);
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(word));
        fetch_bench_begin(b, block, 1U << 2);            /* a and b */
        if (fetch_bench_find(b, "a.example", block) < 0) /* b comes first by now: it is slow */
            http_desk_pass(&b->desk, 5000 * DESK_MS);
        overflow(b, "a.example", block);
        http_desk_pass(&b->desk, 0);
        fetch_bench_give(b, "b.example", block);
    }
    assert_int_equal(provider_circuit(fetch_bench_provider(b, "a.example"), b->desk.clock.mono_us),
                     CIRCUIT_OPEN);
}

/* A block that is too large wherever it is asked for is nobody's fault, and refused for good. */
static void a_block_that_is_too_large_costs_nobody_anything(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("large"));
    fetch_bench_begin(b, block, 0);
    assert_int_equal(b->desk.sent[0].body_bytes_max, BENCH_DOCUMENT_MAX);
    overflow(b, "a.example", block);
    overflow(b, "b.example", block);
    overflow(b, "c.example", block);
    assert_int_equal(b->rc, RC_RETRY);
    assert_string_equal(b->said, "a.example: permanent: the answer is over 5000 bytes; "
                                 "b.example:8080: permanent: the answer is over 5000 bytes; "
                                 "c.example: permanent: the answer is over 5000 bytes; ");
    for (int i = 0; i < 3; i++)
        assert_int_equal(gateways_group(b->gateways)->providers[i].failures, 0);
    fetch_bench_begin(b, block, 0);
    overflow(b, "a.example", block);
    content_fetch_cancel(&b->fetch); /* nobody learns who was right */
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 0);
    assert_int_equal(fetch_bench_open_requests(b), 0);
}

/* What each status means: whether it is for good, and whether it speaks against the gateway. */
static void a_status_says_whether_to_ask_again_and_whom_it_costs(void **state)
{
    static const struct {
        int status;
        const char *class;
        bool costs;
    } statuses[] = {
        {400, "permanent", false}, {410, "permanent", false}, {451, "permanent", false},
        {404, "transient", false}, {408, "transient", false}, {504, "transient", false},
        {522, "transient", false}, {524, "transient", false}, {500, "transient", true},
        {502, "transient", true},  {503, "transient", true},  {301, "transient", true},
    };
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("statuses"));
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char said[128];
        const struct provider *provider = fetch_bench_provider(b, "c.example");
        uint64_t before = provider->failures;
        http_desk_pass(&b->desk, PROVIDER_OPEN_US_MAX); /* whatever was open is over */
        fetch_bench_begin(b, block, 1U << 0 | 1U << 1);
        fetch_bench_refuse(b, "c.example", block, statuses[i].status);
        snprintf(said, sizeof said, "c.example: %s: the gateway answers %d; ", statuses[i].class,
                 statuses[i].status);
        assert_string_equal(b->said, said);
        assert_int_equal(provider->failures - before, statuses[i].costs);
    }
}

/* A gateway that gives each document a host of its own is not followed there, and says so. */
static void a_gateway_that_redirects_says_where(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("elsewhere"));
    fetch_bench_begin(b, block, 1U << 0 | 1U << 1);
    int at = fetch_bench_find(b, "c.example", block);
    struct http_response response = {
        .rc = RC_OK,
        .status = 301,
        .retry_after_ms = -1,
        .headers = bytes_of("location: http://bafk.ipfs.c.example:8080/?format=raw\r\n")};
    http_desk_answer_with(&b->desk, (size_t)at, response, "");
    assert_string_equal(b->said, "c.example: transient: the gateway answers 301, to "
                                 "http://bafk.ipfs.c.example:8080: not followed; ");
}

/* R002-03: no gateway is waited for without end, neither for a connection nor for an answer; the
 * next one is asked, and the time it took is its fault. */
static void a_gateway_that_never_answers_has_its_time(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("late"));
    fetch_bench_begin(b, block, 0);
    assert_int_equal(b->desk.sent[0].connect_ms_max, 5000);
    assert_int_equal(b->desk.sent[0].total_ms_max, 30000);
    int at = fetch_bench_find(b, "a.example", block);
    struct http_response response = {.rc = RC_RETRY, .retry_after_ms = -1};
    err_set(&response.err, RC_RETRY, "no answer within 30000 ms");
    http_desk_answer_with(&b->desk, (size_t)at, response, "");
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 1);
    fetch_bench_refuse(b, "b.example", block, 404);
    fetch_bench_refuse(b, "c.example", block, 404);
    assert_int_equal(b->rc, RC_RETRY);
    assert_ptr_equal(strstr(b->said, "a.example: transient: no answer within 30000 ms; "), b->said);
}

/* One document after the other, wherever it is asked for first; at `hanging` nothing is answered,
 * the others give it when they are asked. Returns how often the hanging one came first. */
static unsigned fetch_past(struct bench *b, const char *hanging, int documents)
{
    static const char *const names[] = {"a.example", "b.example", "c.example"};
    unsigned firsts = 0;
    for (int i = 0; i < documents; i++) {
        char word[32];
        unsigned before = b->ended;
        snprintf(word, sizeof word, "%s %d of %d", hanging, i, documents);
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(word));
        fetch_bench_begin(b, block, 0);
        bool first = fetch_bench_find(b, hanging, block) >= 0;
        firsts += first;
        while (first && fetch_bench_open_requests(b) == 1) /* the next is asked */
            http_desk_pass(&b->desk, 50 * DESK_MS);
        http_desk_pass(&b->desk, 20 * DESK_MS);
        for (size_t n = 0; n < 3 && b->ended == before; n++)
            if (strcmp(names[n], hanging) != 0 && fetch_bench_find(b, names[n], block) >= 0)
                fetch_bench_give(b, names[n], block);
        assert_int_equal(b->ended, before + 1);
    }
    assert_int_equal(fetch_bench_open_requests(b), 0);
    return firsts;
}

/* R002-03: whoever never answers is called off when another one gives the document; were that no
 * verdict, it would come first for ever, and each document would wait for it. */
static void a_gateway_that_loses_its_races_is_not_asked_first_again(void **state)
{
    struct bench *b = *state;
    assert_int_equal(fetch_past(b, "a.example", 40), 1);
    const struct provider *a = fetch_bench_provider(b, "a.example");
    assert_int_equal(a->failures, 0);
    assert_non_null(strstr(a->last_error, "another gateway gave it"));
    assert_int_equal(provider_circuit(a, b->desk.clock.mono_us), CIRCUIT_CLOSED);
}

/* The same of one that was the quickest of all before it began to hang. */
static void a_gateway_that_begins_to_hang_falls_behind(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 20; i++) {
        char word[16];
        snprintf(word, sizeof word, "warm %d", i);
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(word));
        fetch_bench_begin(b, block, i < 10 ? 1U << 0 | 1U << 1 : 1U << 1 | 1U << 2);
        http_desk_pass(&b->desk, i < 10 ? 9 * DESK_MS : 2 * DESK_MS);
        fetch_bench_give(b, i < 10 ? "c.example" : "a.example", block);
    }
    assert_int_equal(fetch_bench_provider(b, "a.example")->latency_us, 2 * DESK_MS);
    assert_int_equal(fetch_past(b, "b.example", 1), 1); /* its speed is not known: it has its try */
    assert_int_equal(fetch_past(b, "a.example", 40), 1);
}

/* Who was asked second, because the first was slow, and is called off when that one answers after
 * all, had no time to show anything. */
static void a_gateway_that_had_less_than_its_time_loses_nothing(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("slow"));
    fetch_bench_begin(b, block, 0);
    http_desk_pass(&b->desk, 1000 * DESK_MS);
    assert_true(fetch_bench_find(b, "b.example", block) >= 0);
    http_desk_pass(&b->desk, 10 * DESK_MS);
    fetch_bench_give(b, "a.example", block);
    assert_int_equal(fetch_bench_provider(b, "a.example")->successes, 1);
    assert_int_equal(fetch_bench_provider(b, "b.example:8080")->failures, 0);
    assert_int_equal(fetch_bench_provider(b, "b.example:8080")->health, PROVIDER_HEALTH_FULL);
}

/* A call that is called off by its owner was no race: nobody had the block. */
static void a_fetch_that_is_given_up_costs_nobody_anything(void **state)
{
    struct bench *b = *state;
    size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of("nowhere"));
    fetch_bench_begin(b, block, 0);
    http_desk_pass(&b->desk, 5000 * DESK_MS);
    content_fetch_cancel(&b->fetch);
    assert_int_equal(fetch_bench_open_requests(b), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gateways_group(b->gateways)->providers[i].failures, 0);
}

/* One that is well and has nothing of what is asked for: a few tries, then the others come first,
 * of which something is known. */
static void a_gateway_that_has_nothing_comes_first_a_few_times_only(void **state)
{
    struct bench *b = *state;
    unsigned asked = 0;
    for (int i = 0; i < 20; i++) {
        char word[16];
        snprintf(word, sizeof word, "doc %d", i);
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(word));
        fetch_bench_begin(b, block, 1U << 2);
        if (fetch_bench_find(b, "a.example", block) >= 0) {
            asked++;
            fetch_bench_refuse(b, "a.example", block, 404);
            http_desk_pass(&b->desk, 0);
        }
        fetch_bench_give(b, "b.example", block);
    }
    assert_in_range(asked, 1, PROVIDER_UNKNOWN_TRIES);
    assert_int_equal(fetch_bench_provider(b, "a.example")->failures, 0);
}

int main(void)
{
#define ON_BENCH(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, fetch_bench_set_up, fetch_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_BENCH(a_gateway_that_sends_too_much_of_a_small_block_falls_behind),
        ON_BENCH(a_gateway_that_keeps_sending_too_much_is_left_alone),
        ON_BENCH(a_block_that_is_too_large_costs_nobody_anything),
        ON_BENCH(a_status_says_whether_to_ask_again_and_whom_it_costs),
        ON_BENCH(a_gateway_that_redirects_says_where),
        ON_BENCH(a_gateway_that_never_answers_has_its_time),
        ON_BENCH(a_gateway_that_loses_its_races_is_not_asked_first_again),
        ON_BENCH(a_gateway_that_begins_to_hang_falls_behind),
        ON_BENCH(a_gateway_that_had_less_than_its_time_loses_nothing),
        ON_BENCH(a_fetch_that_is_given_up_costs_nobody_anything),
        ON_BENCH(a_gateway_that_has_nothing_comes_first_a_few_times_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
