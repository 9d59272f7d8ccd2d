/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain read from nodes that answer as the bench's model of it says, into the content source and
 * a real store: far from the head, near it, across reorganisations, with nodes that refuse large
 * ranges. */
#include "chain_bench.h"

#include <stdio.h>
#include <string.h>

/* R002-01: from the start block to the head; every document, once, and the position is the head. */
static void a_chain_is_read_from_its_start_to_its_head(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    chain_bench_name(99, "X"); /* before the start: nobody asked for it */
    chain_bench_name(100, "A");
    chain_bench_name(500, "BCB");
    chain_bench_name(997, "D");
    chain_bench_name(1000, "A");
    chain_bench_read(b);
    assert_int_equal(content_bench_position(b), 1000);
    assert_int_equal(chain_bench_references(b), 6);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE NOT "
                                             "is_errored"),
                     4);
    assert_true(chain_bench_log_questions() <
                20); /* ranges far away; near the head the bloom decides */
    model.head = 1003;
    chain_bench_name(1002, "E");
    chain_bench_run(b);
    assert_int_equal(content_bench_position(b), 1003);
    assert_true(content_bench_stored(b, 'E'));
}

/* What may still change is asked for by its hash: by number, logs of another block might come. */
static void near_the_head_logs_are_asked_for_by_hash(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    for (uint64_t number = 280; number <= 300; number++)
        chain_bench_name(number, "A");
    chain_bench_read(b);
    assert_int_equal(chain_bench_references(b), 21);
    assert_true(model.by_number > 0 && model.by_number <= 300 - CHAIN_DEPTH);
}

/* Blocks that lack confirmations are left alone; they are read when they have them. */
static void blocks_wait_for_their_confirmations(void **state)
{
    struct content_bench *b = *state;
    model.head = 120;
    model.confirmations = 3;
    chain_bench_name(117, "A");
    chain_bench_name(118, "B");
    chain_bench_read(b);
    assert_int_equal(content_bench_position(b), 117);
    assert_int_equal(chain_bench_references(b), 1);
    model.head = 121;
    chain_bench_run(b);
    assert_int_equal(content_bench_position(b), 118);
    assert_true(content_bench_stored(b, 'B'));
}

/* A node that takes only small ranges is asked for small ones; nothing is left out. */
static void ranges_that_are_too_large_are_split(void **state)
{
    struct content_bench *b = *state;
    model.head = 400;
    model.range_max = 7;
    for (uint64_t number = 100; number <= 400; number += 13)
        chain_bench_name(number, (char[]){(char)('A' + number % 26), 0});
    chain_bench_read(b);
    assert_int_equal(content_bench_position(b), 400);
    assert_int_equal(chain_bench_references(b), 24);
}

/* Nobody promises the order of logs; they are taken in the chain's. */
static void logs_that_come_out_of_order_are_read(void **state)
{
    struct content_bench *b = *state;
    model.head = 400;
    model.node_count = 1;
    model.nodes[0].reverses = true;
    for (uint64_t number = 100; number <= 400; number += 13)
        chain_bench_name(number, (char[]){(char)('A' + number % 26), 0});
    content_bench_read_by(b, &chain_reader);
    chain_bench_run_for(b, 60);
    assert_int_equal(content_bench_position(b), 400);
    assert_int_equal(chain_bench_references(b), 24);
    assert_int_equal(content_bench_holes(b), 0);
}

/* Nothing to read looks like everything read: it is said which of the two it is. */
static void a_start_beyond_the_head_is_said(void **state)
{
    struct content_bench *b = *state;
    struct evm_chain_view view;
    model.head = 120;
    model.start = 200;
    chain_bench_name(200, "A");
    chain_bench_read(b);
    evm_chain_look(b->reader_arg, &view);
    assert_non_null(strstr(view.trouble, "content.start_block is 200, and the head is block 120"));
    assert_false(view.stuck);
    model.head = 201;
    chain_bench_run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_string_equal(view.trouble, "");
    assert_int_equal(content_bench_position(b), 201);
    assert_int_equal(chain_bench_references(b), 1);
}

/* R002-18: blocks 118 to 120 become others; what only they named is gone, what was fetched stays,
 * and a restart in between changes nothing. */
static void a_reorganisation_is_undone_and_read_anew(void **state)
{
    struct content_bench *b = *state;
    for (int crash = 0; crash < 2; crash++) {
        chain_bench_forget(b);
        model.head = 120;
        chain_bench_name(117, "A");
        chain_bench_name(119, "B");
        chain_bench_read(b);
        assert_int_equal(content_bench_position(b), 120);
        memset(model.fork + 118, 'b', 10);
        chain_bench_name(119, "C");
        model.head = 121;
        if (crash == 1)
            content_bench_crash(b);
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 121);
        assert_int_equal(chain_bench_references(b), 2);
        assert_true(content_bench_stored(b, 'B') && content_bench_stored(b, 'C'));
        char hash[80], sql[256];
        chain_bench_hash(119, hash, sizeof hash);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM chain_blocks WHERE number = 119 AND hash = '%s'", hash);
        assert_int_equal(content_bench_number(b, sql), 1);
    }
}

/* R002-18: as deep as is allowed, seen at once or when the head is far away again, by the process
 * that read the blocks or by the next one. */
static void the_deepest_reorganisation_is_found_however_late(void **state)
{
    struct content_bench *b = *state;
    for (int way = 0; way < 4; way++) {
        chain_bench_forget(b);
        model.head = 120;
        chain_bench_name(113, "A");
        chain_bench_read(b);
        assert_int_equal(chain_bench_references(b), 1);
        memset(model.fork + 113, 'b', sizeof model.fork - 113);
        chain_bench_name(113, "");
        chain_bench_name(120, "B");
        model.head = way % 2 == 0 ? 121 : 400;
        if (way >= 2)
            content_bench_crash(b);
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), model.head);
        assert_int_equal(content_bench_number(b, "SELECT min(block_number) FROM document_refs"),
                         120);
        assert_true(content_bench_stored(b, 'B'));
    }
}

/* R002-18: the stored blocks could not be read when the process began: it tries again, since
 * without them nothing would contradict the new chain. */
static void a_reorganisation_is_found_though_the_store_did_not_answer(void **state)
{
    struct content_bench *b = *state;
    model.head = 120;
    chain_bench_name(119, "B");
    content_bench_read_by(b, &chain_reader);
    chain_bench_run(b);
    assert_int_equal(content_bench_position(b), 120);
    memset(model.fork + 118, 'b', 10);
    chain_bench_name(119, "C");
    model.head = 121;
    b->fails = "SELECT number, hash FROM chain_blocks";
    content_bench_crash(b);
    chain_bench_run(b);
    assert_null(b->fails);
    assert_int_equal(content_bench_position(b), 121);
    assert_int_equal(chain_bench_references(b), 1);
    assert_true(content_bench_stored(b, 'C'));
}

/* R002-18: the head becomes another block of the same number, and no newer one tells it. */
static void a_reorganisation_without_a_new_block_is_seen(void **state)
{
    struct content_bench *b = *state;
    model.head = 120;
    chain_bench_name(118, "A");
    chain_bench_name(120, "B");
    chain_bench_read(b);
    assert_int_equal(chain_bench_references(b), 2);
    memset(model.fork + 119, 'b', 10);
    chain_bench_name(119, "C");
    chain_bench_name(120, "DE");
    chain_bench_run(b);
    assert_int_equal(content_bench_position(b), 120);
    assert_int_equal(chain_bench_references(b), 4);
    assert_true(content_bench_stored(b, 'C') && content_bench_stored(b, 'E'));
}

/* R002-18: the new chain is shorter than the old one: it is followed at once, not when it has
 * overtaken; by the process that read the blocks or by the next one. */
static void a_reorganisation_to_a_lower_head_is_seen(void **state)
{
    struct content_bench *b = *state;
    struct evm_chain_view view;
    for (int crash = 0; crash < 2; crash++) {
        chain_bench_forget(b);
        memset(model.nodes, 0, sizeof model.nodes);
        model.head = 120;
        chain_bench_name(115, "A");
        chain_bench_name(117, "B");
        chain_bench_name(120, "C");
        chain_bench_read(b);
        assert_int_equal(chain_bench_references(b), 3);
        memset(model.fork + 116, 'b', 20);
        chain_bench_name(117, "DE");
        model.head = 117;
        if (crash == 1)
            content_bench_crash(b);
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 117);
        assert_int_equal(chain_bench_references(b), 3);
        assert_true(content_bench_stored(b, 'E'));
        evm_chain_look(b->reader_arg, &view);
        assert_int_equal(view.head, 117);
        model.head = 121;
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 121);
        assert_int_equal(chain_bench_references(b), 4);
    }
}

/* A lower head of the same chain is that of a node that lags: nothing is undone. Nor is it when the
 * node is on another chain, and another node has ours. */
static void a_lower_head_alone_undoes_nothing(void **state)
{
    struct content_bench *b = *state;
    for (int strays = 0; strays < 2; strays++) {
        chain_bench_forget(b);
        memset(model.nodes, 0, sizeof model.nodes);
        model.head = 120;
        chain_bench_name(119, "A");
        chain_bench_read(b);
        unsigned before = chain_bench_log_questions();
        model.nodes[0].head = 117;
        model.nodes[0].strays = strays == 1;
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 120);
        assert_int_equal(chain_bench_log_questions(), before); /* nothing is read again */
        model.head = 121;
        chain_bench_name(121, "B");
        for (int i = 0; i < 8; i++)
            chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 121);
        assert_int_equal(chain_bench_references(b), 2);
    }
}

/* R002-18: every block that was read since the start became another: it begins anew. */
static void a_reorganisation_around_the_start_is_undone(void **state)
{
    struct content_bench *b = *state;
    for (int crash = 0; crash < 2; crash++) {
        chain_bench_forget(b);
        model.head = model.start + 2;
        chain_bench_name(model.start, "A");
        chain_bench_name(model.start + 1, "B");
        chain_bench_read(b);
        assert_int_equal(chain_bench_references(b), 2);
        memset(model.fork + model.start - 1, 'b', 100);
        chain_bench_name(model.start, "C");
        chain_bench_name(model.start + 1, "");
        model.head++;
        if (crash == 1)
            content_bench_crash(b);
        chain_bench_run(b);
        assert_int_equal(content_bench_position(b), model.head);
        assert_int_equal(chain_bench_references(b), 1);
        assert_true(content_bench_stored(b, 'C'));
    }
}

/* Deeper than is allowed: nothing is touched, and it says what to do. */
static void a_reorganisation_that_is_too_deep_stops_the_reader(void **state)
{
    struct content_bench *b = *state;
    struct evm_chain_view view;
    model.head = 140;
    chain_bench_name(125, "A");
    chain_bench_read(b);
    memset(model.fork + 120, 'b', 100);
    chain_bench_name(125, "B");
    model.head = 141;
    chain_bench_run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_true(view.stuck);
    assert_non_null(strstr(view.trouble, "content.reorg_depth = 8"));
    assert_non_null(strstr(view.trouble, "tidemark reset content"));
    assert_int_equal(content_bench_position(b), 140);
    assert_int_equal(chain_bench_references(b), 1);
    assert_true(content_bench_stored(b, 'A'));
    for (int i = 0; i < 400; i++) /* however often it is looked at again */
        chain_bench_run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_true(view.stuck);
    assert_non_null(strstr(view.trouble, "tidemark reset content"));
    assert_int_equal(content_bench_position(b), 140);
}

static bool is_stuck(struct content_bench *b)
{
    struct evm_chain_view view;
    evm_chain_look(b->reader_arg, &view);
    return view.stuck;
}

/* R002-18: it is one node that shows another chain, and another node still has ours: that one is
 * followed. */
static void a_node_that_strays_is_left_for_one_that_does_not(void **state)
{
    struct content_bench *b = *state;
    int current;
    for (uint64_t more = 0; more < 2; more++) {
        chain_bench_forget(b);
        memset(model.nodes, 0, sizeof model.nodes);
        model.head = 140;
        chain_bench_read(b);
        model.nodes[0].strays = true;
        chain_bench_run(b); /* seen in the head itself, or in the next block */
        model.head += more;
        chain_bench_run(b);
        assert_false(is_stuck(b));
        model.head = 150;
        chain_bench_name(145, "A");
        for (int i = 0; i < 8; i++)
            chain_bench_run(b);
        assert_false(is_stuck(b));
        assert_int_equal(content_bench_position(b), 150);
        assert_int_equal(chain_bench_references(b), 1);
        assert_true(rpc_group(model.rpc, &current)->providers[0].failures > 0);
        assert_int_equal(current, 1);
    }
}

/* R002-18: a reader that stopped goes on by itself when a node has its blocks: the one that had
 * strayed is right again, or another can be asked again. */
static void a_reader_goes_on_when_its_blocks_are_there_again(void **state)
{
    struct content_bench *b = *state;
    for (size_t count = 1; count <= 2; count++) {
        chain_bench_forget(b);
        memset(model.nodes, 0, sizeof model.nodes);
        model.node_count = count;
        model.head = 140;
        chain_bench_read(b);
        model.nodes[0].strays = true;
        model.nodes[1].dead = true;
        model.head = 141;
        chain_bench_name(141, "A");
        chain_bench_run(b);
        assert_true(is_stuck(b));
        assert_int_equal(content_bench_position(b), 140);
        model.nodes[0].strays = count == 2;
        model.nodes[1].dead = false;
        for (int i = 0; i < 1800 && is_stuck(b); i++)
            chain_bench_run(b);
        assert_false(is_stuck(b));
        for (int i = 0; i < 8; i++)
            chain_bench_run(b);
        assert_int_equal(content_bench_position(b), 141);
        assert_int_equal(chain_bench_references(b), 1);
    }
}

/* What another contract, another event or an earlier start would have found in the blocks that were
 * read is not there: the position would say that it is. Nothing is read until it is as it was, or
 * reset. */
static void a_position_is_of_what_was_looked_for(void **state)
{
    static const char *const others[][2] = {{"any", "0x00000000000000000000000000000000000000aa"},
                                            {"action", CHAIN_CONTRACT},
                                            {"Named(string)", CHAIN_CONTRACT},
                                            {"any", CHAIN_CONTRACT}};
    struct content_bench *b = *state;
    struct evm_chain_view view;
    model.head = 300;
    chain_bench_name(150, "A");
    chain_bench_read(b);
    model.head = 310;
    chain_bench_name(305, "B");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        model.event = others[i][0];
        model.contract = others[i][1];
        model.start = i == 3 ? 99 : 100;
        content_bench_crash(b);
        chain_bench_run(b);
        evm_chain_look(b->reader_arg, &view);
        assert_true(view.stuck);
        assert_non_null(strstr(view.trouble, i == 3 ? "content.start_block" : "content.contract"));
        assert_non_null(strstr(view.trouble, "tidemark reset content"));
        assert_int_equal(content_bench_position(b), 300);
    }
    model.start = 200; /* less than was read is no loss, nor are the letters of an address */
    model.contract = "0xB01683B2F0D38D43FCD4D9AAB980166988924132";
    content_bench_crash(b);
    chain_bench_run(b);
    assert_false(is_stuck(b));
    assert_int_equal(content_bench_position(b), 310);
    assert_int_equal(chain_bench_references(b), 2);
    model.start = 99; /* who began at 100 has not begun at 200 since */
    content_bench_crash(b);
    assert_true(is_stuck(b));
    model.start = 100;
    content_bench_crash(b);
    assert_false(is_stuck(b));
}

/* Whether a node is asked where the head is. */
static bool asks_for_head(const struct content_bench *b)
{
    for (size_t i = 0; i < b->desk.sent_count; i++)
        if (b->desk.sent[i].done != NULL && strstr(b->desk.sent[i].body, "latest") != NULL)
            return true;
    return false;
}

/* A hint that there is a new block has the nodes asked without delay; one about an old block, and
 * one while the chain is being read anyway, cost nothing. */
static void a_hint_wakes_the_reader_at_once(void **state)
{
    struct content_bench *b = *state;
    model.head = 120;
    chain_bench_read(b);
    while (asks_for_head(b)) {
        chain_bench_answer(b);
        content_bench_pass(b, 0);
    }
    evm_chain_wake(b->reader_arg, 120);
    content_bench_pass(b, 0);
    assert_false(asks_for_head(b));
    model.head = 122;
    chain_bench_name(122, "A");
    evm_chain_wake(b->reader_arg, 122);
    content_bench_pass(b, 0);
    assert_true(asks_for_head(b));
    evm_chain_wake(b->reader_arg, 123);
    chain_bench_run(b);
    assert_int_equal(content_bench_position(b), 122);
    assert_int_equal(chain_bench_references(b), 1);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, chain_bench_set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_chain_is_read_from_its_start_to_its_head),
        ON_STORE(near_the_head_logs_are_asked_for_by_hash),
        ON_STORE(blocks_wait_for_their_confirmations),
        ON_STORE(ranges_that_are_too_large_are_split),
        ON_STORE(logs_that_come_out_of_order_are_read),
        ON_STORE(a_start_beyond_the_head_is_said),
        ON_STORE(a_reorganisation_is_undone_and_read_anew),
        ON_STORE(a_hint_wakes_the_reader_at_once),
        ON_STORE(the_deepest_reorganisation_is_found_however_late),
        ON_STORE(a_reorganisation_is_found_though_the_store_did_not_answer),
        ON_STORE(a_reorganisation_without_a_new_block_is_seen),
        ON_STORE(a_reorganisation_to_a_lower_head_is_seen),
        ON_STORE(a_lower_head_alone_undoes_nothing),
        ON_STORE(a_reorganisation_around_the_start_is_undone),
        ON_STORE(a_reorganisation_that_is_too_deep_stops_the_reader),
        ON_STORE(a_node_that_strays_is_left_for_one_that_does_not),
        ON_STORE(a_reader_goes_on_when_its_blocks_are_there_again),
        ON_STORE(a_position_is_of_what_was_looked_for),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
