/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that lag, hold back, break off or boast: what is there is found, as long as one node that
 * can be asked has it. */
#include "chain_bench.h"

static void expect(struct content_bench *b, uint64_t position, int64_t references)
{
    assert_int_equal(content_bench_position(b), position);
    assert_int_equal(chain_bench_references(b), references);
    assert_int_equal(content_bench_holes(b), 0);
}

/* The first node lags: it lacks blocks, and it has no logs where the bloom promises some. */
static void a_lagging_node_is_not_believed(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    chain_bench_name(150, "A");
    chain_bench_name(298, "B");
    chain_bench_read(b);
    model.head = 305;
    model.nodes[0].hides = true;
    chain_bench_name(303, "C");
    chain_bench_run(b);
    model.head = 310;
    model.nodes[0].head = 306;
    chain_bench_name(308, "D");
    chain_bench_run(b);
    assert_true(content_bench_stored(b, 'C') && content_bench_stored(b, 'D'));
    assert_int_equal(chain_bench_references(b), 4);
    assert_int_equal(content_bench_position(b), 310);
}

/* R002-12: a chain that leaves the blooms of its blocks blank (several do): what the blocks near
 * the head name is found as it is further back. A block without transactions is not asked about. */
static void a_blank_bloom_says_nothing_beside_transactions(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.blank_blooms = true;
    chain_bench_name(150, "A");
    chain_bench_name(299, "B");
    chain_bench_read(b);
    model.head = 304;
    chain_bench_name(302, "C");
    unsigned before = model.nodes[0].log_questions;
    chain_bench_run(b);
    expect(b, 304, 3);
    assert_int_equal(model.nodes[0].log_questions, before + 1);
}

/* R002-12: a range in which the first node hides what there is. */
static void an_empty_range_takes_two_nodes_to_be_believed(void **state)
{
    struct content_bench *b = *state;
    int current;
    model.head = 1000;
    model.nodes[0].hides = true;
    chain_bench_name(150, "A");
    chain_bench_name(500, "BC");
    chain_bench_read(b);
    expect(b, 1000, 3);
    assert_true(model.nodes[0].log_questions > 0); /* it was asked first */
    assert_true(rpc_group(model.rpc, &current)->providers[0].failures > 0);
    assert_int_equal(current, 1);
}

/* R002-12: a range that is too large for the second node is not an empty one. */
static void a_node_that_refuses_a_range_does_not_call_it_empty(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.nodes[0].hides = true;
    model.nodes[1].range_max = 7;
    chain_bench_name(150, "A");
    chain_bench_name(500, "BC");
    content_bench_read_by(b, &chain_reader);
    chain_bench_run(b);
    expect(b, 1000, 3);
}

/* A second opinion is worth something only from a node that has the range's end. */
static void a_node_without_the_end_of_a_range_has_no_opinion(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.node_count = 3;
    model.nodes[0].hides = true;
    model.nodes[1].head = 120;
    chain_bench_name(150, "A");
    chain_bench_name(500, "B");
    chain_bench_read(b);
    expect(b, 1000, 2);
}

/* R002-12: nor from one that follows another chain: what it does not have says nothing of ours. */
static void a_node_on_another_chain_has_no_opinion(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.nodes[0].hides_next = 1;
    model.nodes[1].strays = true;
    chain_bench_name(150, "A");
    chain_bench_read(b);
    expect(b, 1000, 1);
    assert_int_equal(model.nodes[0].hides_next, 0);
    assert_int_equal(model.nodes[1].log_questions, 0);
}

/* R002-12: the first node shows the end of the range and breaks off; the one that goes on in its
 * place has not come so far, and what it answers is not all. */
static void a_node_that_takes_over_in_mid_range_must_have_its_end(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.nodes[0].breaks_next = 1;
    model.nodes[1].head = 155;
    chain_bench_name(150, "A");
    chain_bench_name(180, "B");
    chain_bench_read(b);
    expect(b, 1000, 2);
}

/* A node whose head stands still is left for one that goes on. */
static void a_head_that_stands_still_is_noticed(void **state)
{
    struct content_bench *b = *state;
    model.head = 200;
    chain_bench_name(150, "A");
    chain_bench_read(b);
    expect(b, 200, 1);
    model.nodes[0].head = 200;
    model.head = 300;
    chain_bench_name(260, "B");
    for (int i = 0; i < 32; i++) /* heads are compared now and then */
        chain_bench_run(b);
    expect(b, 300, 2);
}

/* A head that nobody can show a block of holds nothing up. */
static void a_head_that_is_not_there_is_given_up(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.nodes[0].claims = 4000;
    chain_bench_name(290, "A");
    content_bench_read_by(b, &chain_reader);
    for (int i = 0; i < 32; i++)
        chain_bench_run(b);
    expect(b, 300, 1);
}

/* One node alone: what its header promises is asked for again a little later. */
static void the_only_node_is_asked_twice(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.node_count = 1;
    model.nodes[0].hides_next = 1; /* as behind a load balancer */
    chain_bench_name(150, "A");
    chain_bench_read(b);
    expect(b, 1000, 1);
    model.head = 1001;
    model.nodes[0].hides_next = 1;
    chain_bench_name(1001, "B");
    chain_bench_run(b);
    expect(b, 1001, 2);
}

/* With the second node gone, the first one's word has to do; nothing waits for ever. */
static void a_second_node_that_is_gone_holds_nothing_up(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    model.nodes[1].dead = true;
    chain_bench_name(990, "A");
    chain_bench_read(b);
    expect(b, 1000, 1);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, chain_bench_set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_lagging_node_is_not_believed),
        ON_STORE(a_blank_bloom_says_nothing_beside_transactions),
        ON_STORE(an_empty_range_takes_two_nodes_to_be_believed),
        ON_STORE(a_node_that_refuses_a_range_does_not_call_it_empty),
        ON_STORE(a_node_without_the_end_of_a_range_has_no_opinion),
        ON_STORE(a_node_on_another_chain_has_no_opinion),
        ON_STORE(a_node_that_takes_over_in_mid_range_must_have_its_end),
        ON_STORE(a_head_that_stands_still_is_noticed),
        ON_STORE(a_head_that_is_not_there_is_given_up),
        ON_STORE(the_only_node_is_asked_twice),
        ON_STORE(a_second_node_that_is_gone_holds_nothing_up),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
