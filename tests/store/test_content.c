/* SPDX-License-Identifier: Apache-2.0
 *
 * The content source on both stores: what the seed's timeline promises, with a crash after every
 * step; every order in which blocks can finish; fetches that fail; a chain that changes its mind.
 * What must be stored is computed here from the orders alone. */
#include "content_bench.h"

#include <stdio.h>
#include <string.h>

#define FIRST 100

static const char *const timeline[] = {"ABC", "DE", "F"};

/* Blocks the process wants, from where its store stands. */
static void deliver_timeline(struct content_bench *b)
{
    uint64_t from = b->place.known ? b->place.number + 1 : FIRST;
    for (uint64_t number = from; number < FIRST + 3; number++)
        assert_ok(content_bench_block(b, number, timeline[number - FIRST], 'a'));
}

/* One step of the seed's nine: three arrivals, then A D F E B C complete. */
static void take_step(struct content_bench *b, int step)
{
    static const char order[] = "ADFEBC";
    if (step < 3)
        assert_ok(content_bench_block(b, FIRST + (uint64_t)step, timeline[step], 'a'));
    else
        content_bench_give(b, order[step - 3]);
    content_bench_flush(b);
}

static void expect_all_stored(struct content_bench *b, const char *letters)
{
    for (const char *at = letters; *at != '\0'; at++)
        if (!content_bench_stored(b, *at))
            fail_msg("%c is not stored", *at);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache"),
                     (int64_t)strlen(letters));
}

/* R002-15, R002-09, R002-04, R002-07: the walkthrough; the position stands still until C, the last
 * of block 100, is there, and then is 102. All six fetches run at once. */
static void the_timeline_of_the_seed_ends_at_102(void **state)
{
    struct content_bench *b = *state;
    static const size_t pending[] = {3, 5, 6, 5, 4, 3, 2, 1, 0};
    for (int step = 0; step < 9; step++) {
        struct content_view view;
        assert_int_equal(content_bench_position(b), -1);
        take_step(b, step);
        content_look(b->content, &view);
        assert_int_equal(view.fetching + view.waiting, pending[step]);
        assert_int_equal(view.received, FIRST + (uint64_t)(step < 3 ? step : 2));
    }
    assert_int_equal(content_bench_position(b), 102);
    expect_all_stored(b, "ABCDEF");
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs"), 6);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM chain_blocks"), 3);
}

/* R002-01, R002-02, R002-11, R002-16, R002-14: a crash after any step loses nothing, and what was
 * stored before it is not fetched again. */
static void a_crash_after_any_step_of_the_timeline_loses_nothing(void **state)
{
    struct content_bench *b = *state;
    static const char order[] = "ADFEBC";
    for (int stop = 0; stop <= 9; stop++) {
        content_bench_wipe(b);
        for (int step = 0; step < stop; step++)
            take_step(b, step);
        content_bench_crash(b);
        assert_int_equal(b->place.known, stop == 9);
        deliver_timeline(b);
        for (int i = 0; i < 6; i++) {
            bool before = stop > i + 3; /* it was complete and committed before the crash */
            assert_int_equal(content_bench_asking(b, order[i]), !before);
            if (!before)
                content_bench_give(b, order[i]);
        }
        content_bench_flush(b);
        assert_int_equal(content_bench_position(b), 102);
        expect_all_stored(b, "ABCDEF");
        assert_int_equal(content_bench_holes(b), 0);
    }
}

/* R002-11, R002-12: a reference below the position that nothing stands for is found. */
static void verification_finds_a_document_that_is_missing(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, FIRST, "AB", 'a'));
    content_bench_give(b, 'A');
    content_bench_refuse(b, 'B', 404);
    content_bench_flush(b);
    assert_int_equal(content_bench_holes(b), 0);
    assert_ok(b->store->ops->script(b->store, "DELETE FROM owed", &b->err));
    assert_int_equal(content_bench_holes(b), 1);
    assert_ok(b->store->ops->script(b->store, "DELETE FROM ipfs_cache", &b->err));
    assert_int_equal(content_bench_holes(b), 2);
}

/* The next permutation in order; false after the last. */
static bool permute(char *items, size_t count)
{
    size_t i = count - 1, j = count - 1;
    while (i > 0 && items[i - 1] >= items[i])
        i--;
    if (i == 0)
        return false;
    while (items[j] <= items[i - 1])
        j--;
    char held = items[i - 1];
    items[i - 1] = items[j];
    items[j] = held;
    for (j = count - 1; i < j; i++, j--) {
        held = items[i];
        items[i] = items[j];
        items[j] = held;
    }
    return true;
}

/* The highest block below which every letter but those still to come is there; every third block is
 * empty. */
static int64_t expected_position(const char *order, size_t done, size_t count)
{
    size_t reach = count;
    for (size_t i = done; i < strlen(order); i++)
        if ((size_t)(order[i] - 'A') < reach)
            reach = (size_t)(order[i] - 'A');
    return reach == 0 ? -1 : FIRST + (int64_t)reach - 1;
}

/* R002-09, R002-05, R002-06: five blocks with a document each, one without, in every order. */
static void whatever_the_order_the_position_is_the_highest_contiguous_block(void **state)
{
    struct content_bench *b = *state;
    char order[] = "ABDEF"; /* C's block is empty */
    do {
        content_bench_wipe(b);
        for (unsigned i = 0; i < 6; i++)
            assert_ok(
                content_bench_block(b, FIRST + i, i == 2 ? "" : (char[]){(char)('A' + i), 0}, 'a'));
        for (size_t done = 1; done <= 5; done++) {
            content_bench_give(b, order[done - 1]);
            content_bench_flush(b);
            assert_int_equal(content_bench_position(b), expected_position(order, done, 6));
        }
        assert_int_equal(content_bench_position(b), FIRST + 5);
    } while (permute(order, 5));
}

static void shuffle(char *items, size_t count, uint64_t *seed)
{
    for (size_t i = count - 1; i > 0; i--) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t j = (size_t)(*seed >> 33) % (i + 1);
        char held = items[i];
        items[i] = items[j];
        items[j] = held;
    }
}

/* R002-09, R002-01, R002-11: twelve blocks, four of them empty, in random orders; a crash somewhere
 * leaves the highest contiguous block, too. */
static void random_orders_of_many_blocks_end_the_same(void **state)
{
    struct content_bench *b = *state;
    uint64_t seed = 2002;
    for (unsigned round = 0; round < 25; round++) {
        char order[] = "ABDEGHJK"; /* the blocks of C, F, I and L are empty */
        shuffle(order, sizeof order - 1, &seed);
        content_bench_wipe(b);
        for (unsigned i = 0; i < 12; i++)
            assert_ok(content_bench_block(b, FIRST + i,
                                          i % 3 == 2 ? "" : (char[]){(char)('A' + i), 0}, 'a'));
        for (size_t done = 1; done < sizeof order; done++) {
            content_bench_give(b, order[done - 1]);
            content_bench_flush(b);
            assert_int_equal(content_bench_position(b), expected_position(order, done, 12));
            if (done == round % 8)
                break;
        }
        int64_t before = content_bench_position(b);
        content_bench_crash(b);
        assert_int_equal(b->place.known ? (int64_t)b->place.number : -1, before);
        assert_int_equal(content_bench_holes(b), 0);
    }
}

/* R002-06, R002-13: ten thousand empty blocks move the position and are not read again; the span
 * bounds what is under way. */
static void empty_blocks_move_the_position(void **state)
{
    struct content_bench *b = *state;
    for (uint64_t number = FIRST; number < FIRST + 10000;) {
        enum rc rc = content_bench_block(b, number, "", 'a');
        struct content_view view;
        content_look(b->content, &view);
        assert_true(view.units <= b->span);
        if (rc == RC_OK) {
            number++;
            continue;
        }
        assert_int_equal(rc, RC_AGAIN);
        unsigned rooms = b->rooms;
        assert_true(content_bench_commit(b));
        assert_int_equal(b->rooms, rooms + 1);
    }
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 9999);
    content_bench_crash(b);
    assert_int_equal(b->place.number, FIRST + 9999);
    assert_string_equal(b->place.hash, "h10099a");
}

/* R002-06, R002-13: blocks that name nothing leave the store in the commits that move the position
 * on; those that name documents stay. After a crash it goes on. */
static void blocks_that_nobody_asks_for_leave_the_store(void **state)
{
    struct content_bench *b = *state;
    b->keep = 8;
    content_bench_wipe(b);
    for (uint64_t number = FIRST; number < FIRST + 100; number++) {
        assert_ok(content_bench_block(b, number, number == FIRST + 3 ? "A" : "", 'a'));
        if (number == FIRST + 3)
            content_bench_give(b, 'A');
        content_bench_flush(b);
        int64_t rows = content_bench_number(b, "SELECT count(*) FROM chain_blocks");
        assert_true(rows <= 8 + 2);
        if (number == FIRST + 50)
            content_bench_crash(b);
    }
    assert_int_equal(content_bench_position(b), FIRST + 99);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM chain_blocks "
                                             "WHERE number >= 100 + 99 - 8"),
                     9);
    assert_int_equal(content_bench_number(b, "SELECT max(number) FROM chain_blocks "
                                             "WHERE number < 100 + 99 - 8"),
                     FIRST + 3);
}

/* R002-03, R002-13: a block that hangs holds nobody up but the position. */
static void a_slow_document_blocks_neither_its_neighbours_nor_later_blocks(void **state)
{
    struct content_bench *b = *state;
    struct content_view view;
    assert_ok(content_bench_block(b, FIRST, "AB", 'a'));
    for (unsigned i = 1; i <= 10; i++)
        assert_ok(content_bench_block(b, FIRST + i, (char[]){(char)('B' + i), 0}, 'a'));
    for (int letter = 'B'; letter <= 'L'; letter++)
        content_bench_give(b, (char)letter);
    content_bench_flush(b);
    content_look(b->content, &view);
    assert_int_equal(view.units, 11);
    assert_int_equal(content_bench_position(b), -1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache"), 11);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 10);
}

/* R002-08, R002-10: however many name a document it is fetched once, and each naming counts. */
static void a_document_that_many_name_is_fetched_once(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, FIRST, "AAB", 'a'));
    assert_ok(content_bench_block(b, FIRST + 1, "BA", 'a'));
    assert_int_equal(b->desk.sent_count, 2);
    content_bench_give(b, 'A'); /* in a batch now, not committed */
    assert_ok(content_bench_block(b, FIRST + 2, "A", 'a'));
    content_bench_give(b, 'B');
    content_bench_flush(b);
    assert_ok(content_bench_block(b, FIRST + 3, "AB", 'a'));
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 3);
    assert_int_equal(b->desk.sent_count, 2);
    expect_all_stored(b, "AB");
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs"), 8);
}

/* A block that names the document of a letter in hexadecimal, small or capital digits. */
static void deliver_respelled(struct content_bench *b, uint64_t number, char letter, bool capital)
{
    char name[CID_BYTES * 2 + 2] = {capital ? 'F' : 'f'};
    uint8_t binary[CID_BYTES] = {1, CID_RAW, 0x12, DIGEST_SIZE};
    struct cid cid;
    assert_ok(cid_parse(bytes_of(content_bench_cid(b, letter)), &cid, &b->err));
    memcpy(binary + 4, cid.digest, DIGEST_SIZE);
    for (size_t i = 0; i < sizeof binary; i++)
        snprintf(name + 1 + 2 * i, 3, capital ? "%02X" : "%02x", binary[i]);
    struct content_ref ref = {.name = bytes_of(name), .space = bytes_of("s")};
    struct content_block block = {number, bytes_of("h"), BYTES_ABSENT, BYTES_ABSENT, &ref, 1};
    assert_ok(content_take(b->content, &block));
    content_bench_settle(b);
}

/* R002-12, R002-14: one document in three spellings is fetched once, and each spelling has its row
 * with the bytes and with who named it. */
static void spellings_of_one_document_are_one_fetch_and_a_row_each(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, FIRST, "A", 'a'));
    deliver_respelled(b, FIRST + 1, 'A', false);
    assert_int_equal(b->desk.sent_count, 1);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 1);
    deliver_respelled(b, FIRST + 2, 'A', true);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 2);
    assert_int_equal(b->desk.sent_count, 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE NOT is_errored "
                                             "AND data IS NOT NULL"),
                     3);
    assert_int_equal(content_bench_number(b, "SELECT count(DISTINCT data) FROM ipfs_cache"), 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE space = 's' "
                                             "AND block IN (101, 102)"),
                     2);
    assert_int_equal(content_bench_holes(b), 0);
}

/* R002-17, R002-12: a debt is one debt however it is spelled, and paid for all. */
static void a_debt_is_paid_for_every_spelling(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, FIRST, "A", 'a'));
    deliver_respelled(b, FIRST + 1, 'A', false); /* while it is asked for */
    content_bench_refuse(b, 'A', 404);
    content_bench_flush(b);
    deliver_respelled(b, FIRST + 2, 'A', true); /* while it is owed */
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 2);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE is_errored"),
                     3);
    assert_int_equal(content_bench_holes(b), 0);
    content_bench_pass(b, 15 * 1000 * DESK_MS);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE NOT is_errored "
                                             "AND data IS NOT NULL"),
                     3);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
}

/* R002-17, R002-12: what no gateway has is owed and holds nothing up; later it is there. */
static void a_failing_document_is_owed_and_later_stored(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, FIRST, "AB", 'a'));
    content_bench_give(b, 'A');
    content_bench_refuse(b, 'B', 404);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE source = 'content' "
                                             "AND state = 'owed' AND unit = '100' AND attempts = 1 "
                                             "AND reason LIKE '%the gateway answers 404%'"),
                     1);
    assert_false(content_bench_stored(b, 'B'));
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE is_errored"),
                     1);
    content_bench_crash(b); /* the debt outlives the process */
    content_bench_pass(b, 15 * 1000 * DESK_MS);
    assert_true(content_bench_asking(b, 'B') > 0);
    content_bench_give(b, 'B');
    content_bench_flush(b);
    expect_all_stored(b, "AB");
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
    assert_int_equal(content_bench_position(b), FIRST);
}

/* Gone, forbidden or not understood at two gateways is gone; named again, it gets another
 * chance. */
static void a_document_that_two_gateways_refuse_is_dead_until_named_again(void **state)
{
    static const int statuses[] = {400, 410, 451};
    struct content_bench *b = *state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        content_bench_wipe(b);
        assert_ok(content_bench_block(b, FIRST, "A", 'a'));
        content_bench_refuse(b, 'A', statuses[i]);
        content_bench_flush(b);
        assert_int_equal(content_bench_position(b), FIRST);
        assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead'"),
                         1);
        content_bench_pass(b, 700 * 1000 * DESK_MS);
        assert_int_equal(content_bench_asking(b, 'A'), 0);
        assert_ok(content_bench_block(b, FIRST + 1, "A", 'a'));
        content_bench_give(b, 'A');
        content_bench_flush(b);
        expect_all_stored(b, "A");
        assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
    }
}

/* A name that is no address is dead at once, with its reason; nobody is asked. */
static void a_name_that_means_nothing_is_dead(void **state)
{
    struct content_bench *b = *state;
    struct content_ref ref = {.name = bytes_of("QmNotAnAddress"), .space = bytes_of("s")};
    struct content_block block = {FIRST, bytes_of("h"), BYTES_ABSENT, BYTES_ABSENT, &ref, 1};
    assert_ok(content_take(b->content, &block));
    content_bench_settle(b);
    content_bench_flush(b);
    assert_int_equal(b->desk.sent_count, 0);
    assert_int_equal(content_bench_position(b), FIRST);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead' AND "
                                             "item = 'ipfs://QmNotAnAddress' AND reason LIKE "
                                             "'the alphabet %'"),
                     1);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE is_errored "
                                             "AND space = 's'"),
                     1);
}

/* R002-18: the chain leaves blocks 101 and 102, stored and under way; what was fetched for them
 * stays, what they named is gone, and a late answer counts for nobody. */
static void an_undo_takes_back_the_position_and_keeps_the_documents(void **state)
{
    struct content_bench *b = *state;
    assert_ok(content_bench_block(b, 100, "A", 'a'));
    assert_ok(content_bench_block(b, 101, "B", 'a'));
    assert_ok(content_bench_block(b, 102, "C", 'a'));
    assert_ok(content_bench_block(b, 103, "D", 'a'));
    content_bench_give(b, 'A');
    content_bench_give(b, 'B');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 101);
    content_bench_give(b, 'D'); /* its batch is under way when the chain turns */
    content_bench_undo(b, 100, 'a');
    assert_int_equal(content_bench_block(b, 101, "E", 'b'), RC_AGAIN);
    content_bench_flush(b);
    assert_int_equal(b->undos, 1);
    assert_int_equal(content_bench_position(b), 100);
    assert_int_equal(content_bench_number(b, "SELECT max(block_number) FROM document_refs"), 100);
    assert_int_equal(content_bench_number(b, "SELECT max(number) FROM chain_blocks"), 100);
    assert_ok(content_bench_block(b, 101, "E", 'b'));
    content_bench_give(b, 'C'); /* late: of a block that is gone */
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 100);
    content_bench_crash(b);
    assert_int_equal(b->place.number, 100);
    assert_string_equal(b->place.hash, "h100a");
    assert_ok(content_bench_block(b, 101, "E", 'b'));
    content_bench_give(b, 'E');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 101);
    expect_all_stored(b, "ABCDE");
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM document_refs"), 2);
}

/* R002-18: below where this process began, too. */
static void an_undo_below_the_start_of_the_process_is_the_same(void **state)
{
    struct content_bench *b = *state;
    for (uint64_t number = 100; number < 104; number++)
        assert_ok(content_bench_block(b, number, "", 'a'));
    content_bench_flush(b);
    content_bench_crash(b);
    assert_ok(content_bench_block(b, 104, "A", 'a'));
    content_bench_undo(b, 101, 'a');
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 101);
    assert_ok(content_bench_block(b, 102, "", 'b'));
    assert_ok(content_bench_block(b, 103, "", 'b'));
    content_bench_give(b, 'A'); /* late */
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), 103);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM chain_blocks WHERE hash LIKE "
                                             "'%b'"),
                     2);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, content_bench_set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(the_timeline_of_the_seed_ends_at_102),
        ON_STORE(a_crash_after_any_step_of_the_timeline_loses_nothing),
        ON_STORE(verification_finds_a_document_that_is_missing),
        ON_STORE(whatever_the_order_the_position_is_the_highest_contiguous_block),
        ON_STORE(random_orders_of_many_blocks_end_the_same),
        ON_STORE(empty_blocks_move_the_position),
        ON_STORE(blocks_that_nobody_asks_for_leave_the_store),
        ON_STORE(a_slow_document_blocks_neither_its_neighbours_nor_later_blocks),
        ON_STORE(a_document_that_many_name_is_fetched_once),
        ON_STORE(spellings_of_one_document_are_one_fetch_and_a_row_each),
        ON_STORE(a_debt_is_paid_for_every_spelling),
        ON_STORE(a_failing_document_is_owed_and_later_stored),
        ON_STORE(a_document_that_two_gateways_refuse_is_dead_until_named_again),
        ON_STORE(a_name_that_means_nothing_is_dead),
        ON_STORE(an_undo_takes_back_the_position_and_keeps_the_documents),
        ON_STORE(an_undo_below_the_start_of_the_process_is_the_same),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
