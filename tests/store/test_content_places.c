/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may fetch when: the places of the content source, with gateways and commits in the test's
 * hand. */
#include "content_bench.h"
#include "ingest/owed.h"
#include "source/content_parts.h"

#include <stdio.h>
#include <string.h>

static int set_up_with_one_place(void **state)
{
    int rc = content_bench_set_up(state);
    struct content_bench *b = *state;
    b->concurrency = 1;
    content_bench_crash(b); /* the next process has one place */
    return rc;
}

/* R002-03: a document that waits for the store leaves its place to the next; so many may wait, and
 * no more. */
static void results_that_wait_for_the_store_keep_no_place(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'x'));
    assert_ok(content_bench_block(b, 2, "B", 'x'));
    assert_ok(content_bench_block(b, 3, "C", 'x'));
    assert_ok(content_bench_block(b, 4, "D", 'x'));
    content_bench_settle(b);
    content_bench_give(b, 'A'); /* on its way into the store, which takes its time */
    assert_int_equal(content_bench_asking(b, 'B'), 1);
    content_bench_give(b, 'B');
    assert_int_equal(content_bench_asking(b, 'C'), 1);
    assert_int_equal(content_bench_asking(b, 'D'), 0);
    content_bench_give(b, 'C');
    assert_int_equal(content_bench_asking(b, 'D'), 0); /* two wait: that is all there may be */
    content_bench_commit(b);
    assert_int_equal(content_bench_asking(b, 'D'), 1);
    content_bench_give(b, 'D');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 4);
    assert_int_equal(content_bench_holes(b), 0);
}

/* The position is behind by the slowest fetch and a commit: nobody waits for a fuller one. */
static void a_commit_waits_for_nothing_more(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "AB", 'a'));
    content_bench_settle(b);
    content_bench_give(b, 'A');
    content_bench_settle(b);
    assert_true(b->batch != NULL && b->batch->urgent);
    content_bench_flush(b);
    content_undo(b->content, 0, bytes_of("h0a"), BYTES_ABSENT);
    assert_true(b->batch != NULL && b->batch->urgent);
}

/* R002-17: one that nobody gives and nobody refuses is owed after its time; the position goes on.
 * Tried again, it may take longer. */
static void a_slow_document_holds_the_position_for_a_minute_only(void **state)
{
    struct content_bench *b = *state;
    const char *owed = "SELECT count(*) FROM owed WHERE reason LIKE '%not whole within 60 s%'";
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    assert_ok(content_bench_block(b, 2, "B", 'a'));
    content_bench_settle(b);
    content_bench_give(b, 'B');
    content_bench_pass(b, 50 * 1000 * DESK_MS);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), -1);
    content_bench_pass(b, 10 * 1000 * DESK_MS);
    content_bench_flush(b);
    assert_int_equal(content_bench_asking(b, 'A'), 0);
    assert_int_equal(content_bench_position(b), 2);
    assert_int_equal(content_bench_number(b, owed), 1);
    content_bench_pass(b, 15 * 1000 * DESK_MS);
    content_bench_pass(b, 120 * 1000 * DESK_MS);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, owed), 0);
    assert_true(content_bench_stored(b, 'A'));
}

/* A clock that is set back by hours makes no debt wait for them: nothing is put off for longer than
 * an hour. */
static void a_clock_that_is_set_back_delays_no_debt_for_long(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    content_bench_settle(b);
    content_bench_refuse(b, 'A', 404);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 1);
    assert_int_equal(content_bench_asking(b, 'A'), 0);
    b->desk.clock.back_us = 5 * 3600 * 1000 * DESK_MS;
    content_bench_pass(b, 15 * 1000 * DESK_MS);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_true(content_bench_stored(b, 'A'));
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
}

/* More debts are due than may be tried at a time: the others wait for a place to come free, and
 * nothing turns meanwhile (an alarm that rings at once, again and again, never lets time pass). */
static void debts_that_are_due_wait_for_a_place_in_silence(void **state)
{
    static const char letters[] = "ABCDEFGHIJKL";
    struct content_bench *b = *state;
    unsigned asked = 0, tried = 0;
    assert_ok(content_bench_block(b, 100, letters, 'a'));
    for (const char *letter = letters; *letter != '\0'; letter++)
        content_bench_refuse(b, *letter, 404);
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 12);
    content_bench_crash(b);
    content_bench_pass(b, 30 * 1000 * DESK_MS); /* all are due */
    for (const char *letter = letters; *letter != '\0'; letter++)
        asked += content_bench_asking(b, *letter) > 0;
    assert_int_equal(asked, b->concurrency * OWED_SHARE_PERCENT / 100);
    for (int round = 0; round < 12 && tried < 12; round++) {
        for (const char *letter = letters; *letter != '\0'; letter++) {
            if (content_bench_asking(b, *letter) == 0)
                continue;
            content_bench_give(b, *letter);
            tried++;
        }
        content_bench_flush(b);
    }
    assert_int_equal(tried, 12);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
}

/* R002-17: those that hang are owed together, each a minute after it was begun, wherever they lie;
 * the position passes all of them at once. */
static void documents_that_hang_in_many_blocks_cost_one_minute(void **state)
{
    struct content_bench *b = *state;
    for (unsigned i = 0; i < 6; i++)
        assert_ok(content_bench_block(b, 1 + i, (char[]){(char)('A' + i), 0}, 'a'));
    content_bench_give(b, 'C');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), -1);
    content_bench_pass(b, 60 * 1000 * DESK_MS);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 6);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'owed'"), 5);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-17, R002-03: when blocks that wait behind it fill three quarters of the span, the oldest
 * document is owed sooner; the next one, that nobody crowds, keeps its minute. */
static void a_crowd_behind_a_document_makes_it_owed_sooner(void **state)
{
    struct content_bench *b = *state;
    const char *owed = "SELECT count(*) FROM owed WHERE reason LIKE '%not whole within 15 s%'";
    uint64_t crowd = b->span * 3 / 4;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    assert_ok(content_bench_block(b, 2, "B", 'a'));
    for (uint64_t number = 3; number <= crowd; number++)
        assert_ok(content_bench_block(b, number, "", 'a'));
    content_bench_pass(b, 15 * 1000 * DESK_MS);
    assert_null(b->batch); /* just not a crowd: nothing is owed */
    assert_ok(content_bench_block(b, crowd + 1, "", 'a'));
    content_bench_flush(b);
    assert_int_equal(content_bench_asking(b, 'A'), 0);
    assert_int_equal(content_bench_number(b, owed), 1);
    assert_int_equal(content_bench_position(b), 1);
    assert_true(content_bench_asking(b, 'B') > 0);
    content_bench_give(b, 'B');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), (int64_t)crowd + 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 1);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-18: an undo is alone in its batch, also when the batch before it waits for the writer. */
static void an_undo_does_not_travel_with_what_it_undoes(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "", 'a'));
    content_bench_flush(b);
    b->full = true;
    assert_ok(content_bench_block(b, 2, "A", 'a'));
    content_bench_settle(b);
    content_bench_give(b, 'A'); /* it and the position wait for the writer */
    content_bench_settle(b);
    content_bench_undo(b, 1, 'a');
    b->full = false;
    content_bench_pass(b, 1000 * DESK_MS);
    content_bench_flush(b);
    assert_int_equal(b->undos, 1);
    assert_int_equal(content_bench_position(b), 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs"), 0);
    assert_int_equal(content_bench_number(b, "SELECT max(number) FROM chain_blocks"), 1);
    assert_ok(content_bench_block(b, 2, "", 'b'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 2);
}

/* R002-18: all that this process has taken is undone, and then more. */
static void two_undos_may_reach_below_the_start_of_the_process(void **state)
{
    struct content_bench *b = *state;
    for (uint64_t number = 1; number < 4; number++)
        assert_ok(content_bench_block(b, number, "", 'a'));
    content_bench_flush(b);
    content_bench_crash(b);
    assert_ok(content_bench_block(b, 4, "", 'a'));
    content_bench_flush(b);
    content_bench_undo(b, 3, 'a');
    content_bench_flush(b);
    content_bench_undo(b, 2, 'a');
    content_bench_flush(b);
    assert_ok(content_bench_block(b, 3, "", 'b'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 3);
}

#define CROWD  4097 /* more than a batch takes */
#define WORDS  24   /* that the crowd is made of */
#define PLACES 16   /* for documents of blocks under way */

static int set_up_with_few_needs(void **state)
{
    int rc = content_bench_set_up(state);
    struct content_bench *b = *state;
    b->needs_max = PLACES;
    content_bench_crash(b);
    return rc;
}

/* A block that names the letter once, and before it so many words that are no addresses. */
static enum rc give_words(struct content_bench *b, uint64_t number, char letter, size_t count)
{
    static struct content_ref refs[CROWD + 1];
    char words[WORDS][16], hash[32];
    for (size_t i = 0; i < WORDS; i++)
        snprintf(words[i], sizeof words[i], "x%zu", i);
    assert_true(count <= CROWD);
    for (size_t i = 0; i < count; i++)
        refs[i] = (struct content_ref){.name = bytes_of(words[i % WORDS])};
    refs[count] = (struct content_ref){.name = bytes_of(content_bench_cid(b, letter))};
    snprintf(hash, sizeof hash, "h%llua", (unsigned long long)number);
    struct content_block block = {number,       bytes_of(hash), BYTES_ABSENT,
                                  BYTES_ABSENT, refs,           count + 1};
    enum rc rc = content_take(b->content, &block);
    content_bench_settle(b);
    return rc;
}

static enum rc give_crowd(struct content_bench *b, uint64_t number, char letter)
{
    return give_words(b, number, letter, CROWD);
}

/* Some hundred names are looked for as room comes, too: to know how many documents they are, each
 * would be compared with all before it, and that again whenever there may be room. */
static void hundreds_of_names_wait_for_no_room_for_all(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_ok(give_words(b, 2, 'A', 300));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 2);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead'"),
                     WORDS);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-12, I7: whoever writes to the chain decides how much one block names. However much that is,
 * every name has its row before the position passes, and the blocks behind it are read. */
static void a_block_may_name_more_than_there_is_room_for(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_ok(give_crowd(b, 2, 'A'));
    assert_int_equal(content_bench_block(b, 3, "A", 'a'), RC_AGAIN);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 2);
    assert_true(b->rooms > 0);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs "
                                             "WHERE block_number = 2"),
                     CROWD + 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead'"),
                     WORDS);
    assert_ok(content_bench_block(b, 3, "A", 'a'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 3);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-18: the chain leaves such a block before all of it was looked for. */
static void a_crowded_block_may_be_undone(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_ok(give_crowd(b, 2, 'A'));
    assert_int_equal(content_bench_block(b, 3, "A", 'a'), RC_AGAIN);
    content_bench_undo(b, 1, 'a');
    content_bench_flush(b);
    assert_int_equal(b->undos, 1);
    assert_int_equal(content_bench_position(b), 1);
    assert_ok(content_bench_block(b, 2, "A", 'b'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 2);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs "
                                             "WHERE block_number > 1"),
                     1);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-18: killed when some of a block's references are stored, and the block is another's when the
 * next process reads it: nothing of the first is left. */
static void references_that_a_crash_left_above_the_position_are_gone(void **state)
{
    static const char above[] = "SELECT count(*) FROM document_refs WHERE block_number > 1";
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_ok(give_crowd(b, 2, 'A'));
    for (int i = 0; content_bench_number(b, above) == 0 && i < CROWD; i++)
        if (!content_bench_commit(b))
            content_bench_pass(b, 1000 * DESK_MS);
    assert_true(content_bench_number(b, above) > 0);
    assert_int_equal(content_bench_position(b), 1);
    content_bench_crash(b);
    assert_ok(content_bench_block(b, 2, "", 'b'));
    assert_ok(content_bench_block(b, 3, "A", 'b'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 3);
    assert_int_equal(content_bench_number(b, above), 1);
    assert_int_equal(content_bench_holes(b), 0);
}

/* The gateways have more bytes of it than were asked for, unless all were that may be. */
static void call_large(struct content_bench *b, char letter)
{
    const char *cid = content_bench_cid(b, letter);
    for (size_t i = 0; i < b->desk.sent_count; i++) {
        const struct desk_request *sent = &b->desk.sent[i];
        if (sent->done == NULL || strstr(sent->url, cid) == NULL ||
            sent->body_bytes_max > CONTENT_LARGE)
            continue;
        http_desk_answer_with(&b->desk, i,
                              (struct http_response){.rc = RC_REJECT, .retry_after_ms = -1}, "");
        content_bench_settle(b);
    }
}

/* I6: so many large documents are in memory, however many may be fetched at a time; a small one
 * does not wait for them. */
static void few_large_documents_are_in_memory(void **state)
{
    static const char letters[] = "ABCDEF";
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, letters, 'a'));
    assert_ok(content_bench_block(b, 2, "G", 'a'));
    unsigned asked = 0;
    for (const char *at = letters; *at != '\0'; at++) {
        call_large(b, *at); /* one gateway, then the other */
        asked += content_bench_asking(b, *at);
    }
    assert_int_equal(asked, CONTENT_LARGE_MAX);
    content_bench_give(b, 'G');
    assert_int_equal(content_bench_asking(b, 'E'), 0);
    content_bench_commit(b);
    assert_true(content_bench_stored(b, 'G'));
    content_bench_give(b, 'A');
    assert_int_equal(content_bench_asking(b, 'E'), 1); /* what a batch holds has left its place */
    for (const char *at = letters + 1; *at != '\0'; at++) {
        content_bench_commit(b);
        content_bench_give(b, *at);
    }
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 2);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
    assert_int_equal(content_bench_holes(b), 0);
}

/* The gateway that asks for A says 429, and for how long; false: none asks. */
static bool limit(struct content_bench *b, const char *gateway, int64_t seconds)
{
    for (size_t i = 0; i < b->desk.sent_count; i++) {
        const struct desk_request *sent = &b->desk.sent[i];
        if (sent->done == NULL || strstr(sent->url, gateway) == NULL)
            continue;
        http_desk_answer_with(
            &b->desk, i, (struct http_response){.status = 429, .retry_after_ms = seconds * 1000},
            "");
        content_bench_settle(b);
        return true;
    }
    return false;
}

static int64_t seconds_owed(struct content_bench *b)
{
    return content_bench_number(b, "SELECT (next_us - since_us) / 1000000 FROM owed");
}

/* R002-17: a gateway that asks for an hour of rest has it; a document that others may have is asked
 * for there as soon as if that one had said nothing. */
static void one_gateway_that_asks_for_an_hour_holds_no_document_back(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    assert_true(limit(b, "gate-a", 3600));
    content_bench_refuse(b, 'A', 404);
    content_bench_flush(b);
    assert_in_range(seconds_owed(b), 5, 7);
    assert_int_equal(content_bench_number(b, "SELECT attempts FROM owed"), 1);
    content_bench_pass(b, 8 * 1000 * DESK_MS);
    assert_false(limit(b, "gate-a", 3600)); /* it is left alone */
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
}

/* R002-17: when all of them ask for it the document waits, at the first fetch and at later ones,
 * but never beyond ten minutes. */
static void gateways_that_all_ask_for_rest_are_given_it(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 1, "A", 'a'));
    assert_true(limit(b, "gate-a", 3600));
    assert_true(limit(b, "gate-b", 60));
    content_bench_flush(b);
    assert_int_equal(seconds_owed(b), 60);
    content_bench_pass(b, 61 * 1000 * DESK_MS);
    assert_int_equal(content_bench_asking(b, 'A'), 1); /* the one whose time has come */
    assert_true(limit(b, "gate-b", 3600));
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, "SELECT attempts FROM owed"), 2);
    for (int i = 0; i < 70 && content_bench_asking(b, 'A') == 0; i++) {
        content_bench_pass(b, 60 * 1000 * DESK_MS);
        content_bench_flush(b);
    }
    assert_in_range(content_bench_number(b, "SELECT attempts FROM owed"), 7, 10);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_that_wait_for_the_store_keep_no_place,
                                        set_up_with_one_place, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_commit_waits_for_nothing_more, content_bench_set_up,
                                        content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_slow_document_holds_the_position_for_a_minute_only,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_delays_no_debt_for_long,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(debts_that_are_due_wait_for_a_place_in_silence,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(documents_that_hang_in_many_blocks_cost_one_minute,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_crowd_behind_a_document_makes_it_owed_sooner,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(an_undo_does_not_travel_with_what_it_undoes,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(references_that_a_crash_left_above_the_position_are_gone,
                                        set_up_with_few_needs, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(few_large_documents_are_in_memory, content_bench_set_up,
                                        content_bench_tear_down),
        cmocka_unit_test_setup_teardown(hundreds_of_names_wait_for_no_room_for_all,
                                        set_up_with_few_needs, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_block_may_name_more_than_there_is_room_for,
                                        set_up_with_few_needs, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(a_crowded_block_may_be_undone, set_up_with_few_needs,
                                        content_bench_tear_down),
        cmocka_unit_test_setup_teardown(one_gateway_that_asks_for_an_hour_holds_no_document_back,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(gateways_that_all_ask_for_rest_are_given_it,
                                        content_bench_set_up, content_bench_tear_down),
        cmocka_unit_test_setup_teardown(two_undos_may_reach_below_the_start_of_the_process,
                                        content_bench_set_up, content_bench_tear_down),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
