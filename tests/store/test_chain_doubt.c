/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that lag, hold back, break off or boast: what is there is found, as long as one node that
 * can be asked has it. */
#include "chain_bench.h"

#include <string.h>

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

/* R002-12: one that answers null where a list should be has not said that there is nothing: it has
 * failed, and the next one is heard; far from the head and near it. */
static void null_is_no_opinion(void **state)
{
    struct content_bench *b = *state;
    int current;
    model.head = 1000;
    model.node_count = 3;
    model.nodes[0].hides = model.nodes[1].nulls = true;
    chain_bench_name(150, "A");
    chain_bench_name(500, "BC");
    chain_bench_name(999, "D");
    chain_bench_read(b);
    expect(b, 1000, 4);
    assert_true(model.nodes[1].questions > 0);
    assert_true(rpc_group(model.rpc, &current)->providers[1].failures > 0);
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

/* R002-12: far below the head blocks are read in ranges, and nothing of a range says what came
 * before it: a node that takes over must have the last block that was read, or what it says is of
 * another chain. */
static void a_node_on_another_chain_does_not_take_over(void **state)
{
    struct content_bench *b = *state;
    model.head = 3000;
    chain_bench_name(150, "A");
    chain_bench_name(2500, "B");
    content_bench_read_by(b, &chain_reader);
    while (chain_bench_references(b) == 0 || content_bench_position(b) < 199) {
        content_bench_commit(b);
        chain_bench_answer(b);
        content_bench_pass(b, 0);
    }
    assert_true(content_bench_position(b) < 2500);
    model.nodes[0].dead = true;
    model.nodes[1].strays = true;
    chain_bench_run_for(b, 60);
    assert_true(content_bench_position(b) < 2500);
    model.nodes[0].dead = false;
    chain_bench_run_for(b, 1800);
    expect(b, 3000, 2);
}

/* R002-12: nor does one that is further than ours: its blocks do not follow the last that was read,
 * however many they are. Ours is read as it grows. */
static void a_longer_chain_that_is_another_is_not_followed(void **state)
{
    struct content_bench *b = *state;
    int current;
    model.head = 3000;
    model.nodes[0].head = 200;
    chain_bench_name(150, "A");
    chain_bench_name(350, "B");
    model.nodes[1].dead = true;
    chain_bench_read(b);
    expect(b, 200, 1);
    model.nodes[1].dead = false;
    model.nodes[1].strays = true;
    chain_bench_run_for(b, 120);
    expect(b, 200, 1);
    model.nodes[0].head = 400;
    chain_bench_run_for(b, 1800);
    expect(b, 400, 2);
    assert_true(rpc_group(model.rpc, &current)->providers[1].failures > 0);
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

/* A node that begins anew, or another chain in its place, has nothing to say about what follows:
 * that nothing can be read is told, not that all was. */
static void a_head_far_below_what_was_read_is_told(void **state)
{
    struct content_bench *b = *state;
    struct evm_chain_view view;
    model.head = 300;
    model.node_count = 1;
    chain_bench_read(b);
    model.head = 150;
    chain_bench_run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_non_null(strstr(view.trouble, "the head is block 150, and block 300 was read"));
    expect(b, 300, 0);
    model.head = 299; /* as any node may be for a moment */
    chain_bench_run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_string_equal(view.trouble, "");
    model.head = 301;
    chain_bench_name(301, "A");
    chain_bench_run(b);
    expect(b, 301, 1);
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

/* R002-12: logs that come some seconds after their block, which promises them, are waited for: from
 * the only node there is, and from two that are late alike. */
static void logs_that_come_late_are_waited_for(void **state)
{
    struct content_bench *b = *state;
    static const int late_s[] = {0, 40, 12}; /* by how many nodes there are */
    for (size_t count = 1; count <= 2; count++) {
        chain_bench_forget(b);
        model.node_count = count;
        model.head = 300;
        chain_bench_read(b);
        expect(b, 300, 0);
        model.head = 303;
        chain_bench_name(301, "A");
        chain_bench_name(303, "BC");
        for (size_t i = 0; i < count; i++)
            model.nodes[i].hides_until = chain_bench_now(b) + late_s[count] * 1000 * DESK_MS;
        chain_bench_run_for(b, late_s[count] - 2);
        assert_int_equal(content_bench_position(b), 300);
        chain_bench_run_for(b, 80);
        expect(b, 303, 3);
    }
}

/* With a third node that has them, nobody waits. */
static void all_nodes_are_asked_for_what_is_promised(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    model.node_count = 3;
    chain_bench_read(b);
    model.head = 301;
    chain_bench_name(301, "A");
    model.nodes[0].hides = model.nodes[1].hides = true;
    chain_bench_run_for(b, 3);
    expect(b, 301, 1);
}

/* A bloom may promise what is not there: it is believed when its logs have had their time, sooner
 * if another node has none either. Questions become rarer meanwhile. */
static void a_false_promise_is_waited_for_and_gone_past(void **state)
{
    struct content_bench *b = *state;
    static const int most_s[] = {0, 60, 15};
    for (size_t count = 1; count <= 2; count++) {
        chain_bench_forget(b);
        model.node_count = count;
        model.full_blooms = false;
        model.head = 300;
        chain_bench_read(b);
        model.head = 301;
        model.full_blooms = true;
        unsigned before = chain_bench_log_questions();
        chain_bench_run_for(b, most_s[count] - 3);
        assert_int_equal(content_bench_position(b), 300);
        chain_bench_run_for(b, 6);
        expect(b, 301, 0);
        assert_true(chain_bench_log_questions() - before <= 12);
    }
}

/* The time counts from the block's own: where every bloom promises, the reader stays behind the
 * head by about that time, and no further. */
static void false_promises_do_not_add_up(void **state)
{
    struct content_bench *b = *state;
    static const int behind_s[] = {0, 60 + 36, 15 + 8}; /* and what is read with it */
    for (size_t count = 1; count <= 2; count++) {
        chain_bench_forget(b);
        model.node_count = count;
        model.full_blooms = false;
        model.block_s = 4;
        model.head = 300;
        chain_bench_read(b);
        model.full_blooms = true;
        for (int i = 0; i < 50; i++) {
            model.head++;
            chain_bench_run_for(b, 4);
        }
        assert_true(content_bench_position(b) + behind_s[count] / 4 >= (int64_t)model.head);
        chain_bench_run_for(b, 80);
        expect(b, model.head, 0);
    }
}

/* A promise is kept by the block that made it: one that takes its place has its own time. */
static void a_block_that_changes_meanwhile_has_its_own_time(void **state)
{
    struct content_bench *b = *state;
    model.node_count = 1;
    model.head = 300;
    chain_bench_read(b);
    model.head = 301;
    chain_bench_name(301, "A");
    model.nodes[0].hides = true;
    chain_bench_run_for(b, 40);
    assert_int_equal(content_bench_position(b), 300);
    memset(model.fork + 301, 'b', 10);
    chain_bench_run_for(b, 50);
    assert_int_equal(content_bench_position(b), 300);
    model.nodes[0].hides = false;
    chain_bench_run_for(b, 40);
    expect(b, 301, 1);
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
        ON_STORE(null_is_no_opinion),
        ON_STORE(a_node_without_the_end_of_a_range_has_no_opinion),
        ON_STORE(a_node_on_another_chain_has_no_opinion),
        ON_STORE(a_node_on_another_chain_does_not_take_over),
        ON_STORE(a_longer_chain_that_is_another_is_not_followed),
        ON_STORE(a_node_that_takes_over_in_mid_range_must_have_its_end),
        ON_STORE(a_head_far_below_what_was_read_is_told),
        ON_STORE(a_head_that_stands_still_is_noticed),
        ON_STORE(a_head_that_is_not_there_is_given_up),
        ON_STORE(the_only_node_is_asked_twice),
        ON_STORE(logs_that_come_late_are_waited_for),
        ON_STORE(all_nodes_are_asked_for_what_is_promised),
        ON_STORE(a_false_promise_is_waited_for_and_gone_past),
        ON_STORE(false_promises_do_not_add_up),
        ON_STORE(a_block_that_changes_meanwhile_has_its_own_time),
        ON_STORE(a_second_node_that_is_gone_holds_nothing_up),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
