/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that answer in words that they do not answer: the next node is asked, people are told in
 * the node's own words, less is asked for where that may be what is meant, and nothing of it
 * lasts. */
#include "chain_bench.h"

#include <stdio.h>
#include <string.h>

static void expect(struct content_bench *b, uint64_t position, int64_t references)
{
    assert_int_equal(content_bench_position(b), position);
    assert_int_equal(chain_bench_references(b), references);
    assert_int_equal(content_bench_holes(b), 0);
}

static const struct provider *node(int number)
{
    int current;
    return &rpc_group(model.rpc, &current)->providers[number];
}

static int current_node(void)
{
    int current;
    (void)rpc_group(model.rpc, &current);
    return current;
}

static const char *trouble(struct content_bench *b)
{
    static struct evm_chain_view view;
    evm_chain_look(b->reader_arg, &view);
    assert_false(view.stuck);
    return view.trouble;
}

/* R002-12: a node that refuses every question has failed; the next one answers in its place. */
static void a_node_that_refuses_everything_is_left(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.nodes[0].refuses = true;
    chain_bench_name(150, "A");
    chain_bench_name(298, "B");
    content_bench_read_by(b, &chain_reader);
    chain_bench_run_for(b, 60);
    expect(b, 300, 2);
    assert_int_equal(current_node(), 1);
    assert_true(node(0)->failures > 0);
    assert_non_null(strstr(node(0)->last_error, "daily request count exceeded"));
    assert_string_equal(trouble(b), "");
}

/* So has one that has blocks and refuses every question for logs, far from the head and near it. */
static void a_node_that_refuses_all_logs_is_left(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.nodes[0].refuses_logs = true;
    chain_bench_name(150, "A");
    chain_bench_name(298, "B");
    content_bench_read_by(b, &chain_reader);
    chain_bench_run_for(b, 60);
    expect(b, 300, 2);
    assert_int_equal(current_node(), 1);
    assert_true(node(0)->failures > 0);
    assert_non_null(strstr(node(0)->last_error, "daily request count exceeded"));
    assert_string_equal(trouble(b), "");
}

/* And one that answers that there is nothing, not even a head. */
static void a_node_that_has_no_head_is_left(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.nodes[0].has_nothing = true;
    chain_bench_name(298, "B");
    content_bench_read_by(b, &chain_reader);
    chain_bench_run_for(b, 60);
    expect(b, 300, 1);
    assert_int_equal(current_node(), 1);
    assert_true(node(0)->failures > 0);
}

/* While all refuse, people read why; when one answers, the chain is followed from where it was. */
static void nodes_that_answer_again_are_followed_again(void **state)
{
    struct content_bench *b = *state;
    for (int way = 0; way < 3; way++) {
        chain_bench_forget(b);
        model.head = 300;
        chain_bench_name(298, "A");
        chain_bench_read(b);
        expect(b, 300, 1);
        for (int i = 0; i < 2; i++) {
            model.nodes[i].refuses = way == 0;
            model.nodes[i].refuses_logs = way == 1;
            model.nodes[i].has_nothing = way == 2;
        }
        model.head = 303;
        chain_bench_name(302, "B");
        chain_bench_run_for(b, 10);
        assert_int_equal(content_bench_position(b), way == 1 ? 301 : 300);
        if (way < 2)
            assert_non_null(strstr(trouble(b), "daily request count exceeded"));
        else
            assert_string_not_equal(trouble(b), "");
        for (int i = 0; i < 2; i++)
            model.nodes[i].refuses = model.nodes[i].refuses_logs = model.nodes[i].has_nothing =
                false;
        chain_bench_run_for(b, 120);
        expect(b, 303, 2);
        assert_string_equal(trouble(b), "");
    }
}

/* R002-18: between its header and its logs a block became another; no node knows its hash any more,
 * and none is asked for it for ever. */
static void a_block_that_nobody_knows_any_more_is_not_asked_for_again(void **state)
{
    struct content_bench *b = *state;
    for (size_t count = 1; count <= 2; count++) {
        chain_bench_forget(b);
        model.node_count = count;
        model.head = 300;
        chain_bench_read(b);
        model.head = 302;
        model.changes = 302;
        chain_bench_name(302, "A");
        chain_bench_run_for(b, 120);
        expect(b, 302, 1);
        assert_int_equal(model.changes, 0);
    }
}

/* What a node says is shown to people; not what it was told in confidence. */
static void the_key_in_an_address_is_not_told(void **state)
{
    struct content_bench *b = *state;
    model.node_count = 1;
    model.nodes[0].refuses = model.nodes[0].echoes = true;
    model.head = 300;
    content_bench_read_by(b, &chain_reader);
    chain_bench_run_for(b, 10);
    assert_non_null(strstr(trouble(b), "the node refuses"));
    assert_null(strstr(trouble(b), CHAIN_KEY));
    assert_null(strstr(node(0)->last_error, CHAIN_KEY));
}

/* Refused ranges are made smaller; once there are answers again, they grow again: where blocks name
 * documents and where they do not. */
static void a_range_grows_again_after_refusals(void **state)
{
    struct content_bench *b = *state;
    static const uint64_t firsts[] = {100, 3400}; /* that name something, up to the head */
    for (int i = 0; i < 2; i++) {
        chain_bench_forget(b);
        model.node_count = 1;
        model.nodes[0] = (struct chain_node){.refuses_next = 7}; /* down to one block, and on */
        model.head = 3500;
        for (uint64_t number = firsts[i]; number <= 3500; number++)
            chain_bench_name(number, "A");
        content_bench_read_by(b, &chain_reader);
        chain_bench_run_for(b, 120);
        expect(b, 3500, (int64_t)(3501 - firsts[i]));
        assert_int_equal(model.nodes[0].refuses_next, 0);
        assert_true(model.nodes[0].questions < 600);
    }
}

/* R002-12: a node, or a proxy before it, that has no answer for a large range: it does not matter
 * how it says so, less is asked for, and what it failed with is not tried again at once. */
static void a_range_without_an_answer_is_made_smaller(void **state)
{
    struct content_bench *b = *state;
    static const int ways[] = {500, 502, 503, 504, 524, 413, -RC_RETRY, -RC_REJECT};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        chain_bench_forget(b);
        model.node_count = 1;
        model.nodes[0] = (struct chain_node){.chokes_above = 30, .chokes_with = ways[way]};
        model.head = 3500;
        chain_bench_name(150, "A");
        chain_bench_name(3400, "B");
        content_bench_read_by(b, &chain_reader);
        chain_bench_run_for(b, 120);
        expect(b, 3500, 2);
        bool told = ways[way] == 413 || ways[way] == -RC_REJECT; /* that it is too much */
        assert_true(model.nodes[0].log_questions < (told ? 450 : 320));
        assert_string_equal(trouble(b), "");
    }
}

/* The logs of one block are more than is read. Nothing smaller can be asked for: people read which
 * block it is, the nodes are asked again ever less often, and one that has less to say ends it. */
static void a_block_whose_logs_are_too_large_is_named(void **state)
{
    struct content_bench *b = *state;
    static const uint64_t blocks[] = {230, 299}; /* in a range, and near the head */
    for (size_t i = 0; i < 2; i++) {
        chain_bench_forget(b);
        model.nodes[0] = model.nodes[1] = (struct chain_node){.heavy = blocks[i]};
        model.head = 300;
        chain_bench_name(150, "A");
        chain_bench_name(blocks[i], "B");
        content_bench_read_by(b, &chain_reader);
        chain_bench_run_for(b, 60);
        assert_int_equal(content_bench_position(b), blocks[i] - 1);
        char name[32];
        snprintf(name, sizeof name, "block %d", (int)blocks[i]);
        assert_non_null(strstr(trouble(b), name));
        assert_non_null(strstr(trouble(b), "over 16777216 bytes"));
        assert_non_null(strstr(trouble(b), "again"));
        assert_true(node(0)->failures > 0 && node(1)->failures > 0);
        unsigned before = chain_bench_log_questions();
        chain_bench_run_for(b, 1200);
        assert_in_range(chain_bench_log_questions() - before, 1, 24);
        model.nodes[1].heavy = 0;
        chain_bench_run_for(b, 1300);
        expect(b, 300, 2);
        assert_string_equal(trouble(b), "");
    }
}

/* Who refuses once may mean the range, and is asked for less at once; who goes on refusing is given
 * time. */
static void a_node_that_refuses_again_is_given_time(void **state)
{
    struct content_bench *b = *state;
    model.node_count = 1;
    model.nodes[0].refuses_logs = true;
    model.head = 1000;
    content_bench_read_by(b, &chain_reader);
    for (int i = 0; i < 40; i++) {
        chain_bench_answer(b);
        content_bench_pass(b, 0);
    }
    assert_int_equal(chain_bench_log_questions(), 2);
}

/* A second node that refuses all logs has no opinion: ranges do not stay small because of it. */
static void a_witness_that_refuses_everything_is_not_heeded(void **state)
{
    struct content_bench *b = *state;
    for (int way = 0; way < 2; way++) {
        chain_bench_forget(b);
        model.nodes[0].log_questions = 0;
        model.nodes[1].refuses = way == 0;
        model.nodes[1].refuses_logs = way == 1;
        model.head = 3000;
        chain_bench_name(2000, "A");
        content_bench_read_by(b, &chain_reader);
        chain_bench_run_for(b, 120);
        expect(b, 3000, 1);
        assert_true(model.nodes[0].log_questions < 100);
        assert_true(node(1)->failures > 0);
    }
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, chain_bench_set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_node_that_refuses_everything_is_left),
        ON_STORE(a_node_that_refuses_all_logs_is_left),
        ON_STORE(a_node_that_has_no_head_is_left),
        ON_STORE(nodes_that_answer_again_are_followed_again),
        ON_STORE(a_block_that_nobody_knows_any_more_is_not_asked_for_again),
        ON_STORE(the_key_in_an_address_is_not_told),
        ON_STORE(a_range_grows_again_after_refusals),
        ON_STORE(a_range_without_an_answer_is_made_smaller),
        ON_STORE(a_block_whose_logs_are_too_large_is_named),
        ON_STORE(a_node_that_refuses_again_is_given_time),
        ON_STORE(a_witness_that_refuses_everything_is_not_heeded),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
