/* SPDX-License-Identifier: Apache-2.0
 *
 * What blocks name compared with what there is, on demand: whatever lacks is fetched again, on both
 * stores, and a crash on the way costs nothing but another try. */
#include "content_bench.h"
#include "ingest/owed.h"

#include <stdio.h>
#include <string.h>

#define FIRST 100

struct told {
    unsigned times;
    enum rc rc;
    struct content_reconciled what;
};

static void take(void *arg, enum rc rc, const struct content_reconciled *what)
{
    struct told *told = arg;
    told->times++;
    told->rc = rc;
    told->what = *what;
}

/* Begins one and lets it go on as far as it can. */
static void begin(struct content_bench *b, bool dry, struct told *told)
{
    *told = (struct told){.rc = RC_FATAL};
    content_reconcile(b->content, dry, take, told);
    content_bench_settle(b);
}

static void run(struct content_bench *b, bool dry, struct told *told)
{
    begin(b, dry, told);
    while (told->times == 0 && content_bench_commit(b))
        ;
    assert_int_equal(told->times, 1);
    assert_int_equal(told->rc, RC_OK);
}

static void sql(struct content_bench *b, const char *script)
{
    assert_ok(b->store->ops->script(b->store, script, &b->err));
}

static void expect(const struct told *told, uint64_t references, uint64_t missing, uint64_t owed,
                   uint64_t dead, uint64_t queued)
{
    assert_int_equal(told->what.references, references);
    assert_int_equal(told->what.missing, missing);
    assert_int_equal(told->what.owed, owed);
    assert_int_equal(told->what.dead, dead);
    assert_int_equal(told->what.queued, queued);
    assert_false(told->what.more);
}

/* A and B are stored, C is owed, D dead. */
static void fill_store(struct content_bench *b)
{
    assert_ok(content_bench_block(b, FIRST, "AB", 'a'));
    assert_ok(content_bench_block(b, FIRST + 1, "CDA", 'a'));
    content_bench_give(b, 'A');
    content_bench_give(b, 'B');
    content_bench_refuse(b, 'C', 404);
    content_bench_refuse(b, 'D', 410);
    content_bench_flush(b);
    assert_int_equal(content_bench_position(b), FIRST + 1);
}

/* R002-12, R002-17: what is whole is left alone; what is owed or dead is asked for at once. */
static void debts_are_tried_at_once_whatever_became_of_them(void **state)
{
    struct content_bench *b = *state;
    struct told told;
    fill_store(b);
    size_t sent = b->desk.sent_count;
    run(b, true, &told);
    expect(&told, 5, 0, 1, 1, 0);
    assert_int_equal(b->desk.sent_count, sent);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead'"), 1);
    run(b, false, &told);
    expect(&told, 5, 0, 1, 1, 2);
    assert_true(content_bench_asking(b, 'C') > 0 && content_bench_asking(b, 'D') > 0);
    assert_int_equal(content_bench_asking(b, 'A') + content_bench_asking(b, 'B'), 0);
    content_bench_give(b, 'C');
    content_bench_give(b, 'D');
    content_bench_flush(b);
    assert_true(content_bench_stored(b, 'C') && content_bench_stored(b, 'D'));
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
    run(b, false, &told);
    expect(&told, 5, 0, 0, 0, 0);
}

/* R002-12: a cache that somebody damaged: rows that are gone, debts that are gone. */
static void what_is_neither_stored_nor_owed_is_found_and_fetched(void **state)
{
    struct content_bench *b = *state;
    struct told told;
    char script[256];
    fill_store(b);
    snprintf(script, sizeof script, "DELETE FROM ipfs_cache WHERE uri = 'ipfs://%s'",
             content_bench_cid(b, 'A'));
    sql(b, script);
    sql(b, "DELETE FROM owed WHERE state = 'dead'");
    assert_int_equal(content_bench_holes(b), 3); /* A is named twice */
    run(b, true, &told);
    expect(&told, 5, 3, 1, 0, 0);
    run(b, false, &told);
    assert_int_equal(told.what.missing, 3);
    assert_int_equal(content_bench_holes(b), 0); /* owed, as of now */
    content_bench_give(b, 'A');
    content_bench_give(b, 'D');
    content_bench_flush(b);
    assert_true(content_bench_stored(b, 'A') && content_bench_stored(b, 'D'));
    assert_int_equal(
        content_bench_number(b, "SELECT block FROM ipfs_cache ORDER BY n DESC LIMIT 1"), FIRST);
    assert_int_equal(content_bench_position(b), FIRST + 1);
}

/* A crash at any commit of it: what was queued stays queued, the rest is found the next time. */
static void a_crash_on_the_way_loses_nothing(void **state)
{
    struct content_bench *b = *state;
    for (unsigned commits = 0; commits < 3; commits++) {
        struct told told;
        content_bench_wipe(b);
        fill_store(b);
        sql(b, "DELETE FROM ipfs_cache");
        sql(b, "DELETE FROM owed");
        begin(b, false, &told);
        for (unsigned i = 0; i < commits; i++)
            content_bench_commit(b);
        content_bench_crash(b);
        assert_int_equal(told.times, 1);
        assert_true(told.rc == RC_OK || told.rc == RC_RETRY || told.rc == RC_FATAL);
        run(b, false, &told);
        assert_int_equal(content_bench_holes(b), 0);
        for (const char *letter = "ABCD"; *letter != '\0'; letter++)
            content_bench_give(b, *letter);
        content_bench_flush(b);
        for (const char *letter = "ABCD"; *letter != '\0'; letter++)
            assert_true(content_bench_stored(b, *letter));
        assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed"), 0);
    }
}

/* As many slices as it takes, while blocks go on and one of them is undone. */
static void it_goes_on_beside_new_blocks_and_an_undo(void **state)
{
    struct content_bench *b = *state;
    struct told told;
    for (unsigned i = 0; i < 400; i++) {
        assert_ok(content_bench_block(b, FIRST + i, i == 0 ? "A" : "AA", 'a'));
        if (i == 0)
            content_bench_give(b, 'A');
        content_bench_flush(b);
    }
    sql(b, "DELETE FROM ipfs_cache");
    begin(b, false, &told);
    assert_ok(content_bench_block(b, FIRST + 400, "B", 'a'));
    content_bench_undo(b, FIRST + 398, 'a');
    while (told.times == 0 && content_bench_commit(b))
        ;
    assert_int_equal(told.rc, RC_OK);
    assert_true(told.what.references >= 1 + 2 * 398 && told.what.references <= 1 + 2 * 399);
    assert_true(told.what.missing > 0);
    content_bench_give(b, 'A');
    content_bench_flush(b);
    assert_true(content_bench_stored(b, 'A'));
    assert_int_equal(content_bench_holes(b), 0);
    assert_int_equal(b->undos, 1);
    if (content_bench_asking(b, 'B') > 0)
        content_bench_give(b, 'B');
    content_bench_flush(b);
}

/* More debts than memory holds: all are queued, and the table is read as their turn comes. */
static void more_debts_than_memory_holds_are_queued(void **state)
{
    struct content_bench *b = *state;
    struct told told;
    fill_store(b);
    for (int i = 0; i < OWED_ITEMS_MAX + 10; i += 500) {
        struct text script = {0};
        text_append_string(&script, "INSERT INTO owed (id, source, stream, item, state, reason, "
                                    "attempts, since_us, seq) VALUES ");
        for (int k = 0; k < 500; k++)
            text_appendf(&script,
                         "%s(%d, 'content', 'content', 'ipfs://f01551220%064x', 'dead', 'x', 1, "
                         "1, 0)",
                         k == 0 ? "" : ", ", 1000000 + i + k, (unsigned)(i + k));
        sql(b, text_string(&script));
        text_free(&script);
    }
    begin(b, false, &told);
    while (told.times == 0 && content_bench_commit(b))
        ;
    assert_int_equal(told.rc, RC_OK);
    assert_false(told.what.more);
    assert_int_equal(told.what.queued, told.what.dead + told.what.owed);
    assert_true(told.what.queued > OWED_ITEMS_MAX);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM owed WHERE state = 'dead'"), 0);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, content_bench_set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(debts_are_tried_at_once_whatever_became_of_them),
        ON_STORE(what_is_neither_stored_nor_owed_is_found_and_fetched),
        ON_STORE(a_crash_on_the_way_loses_nothing),
        ON_STORE(it_goes_on_beside_new_blocks_and_an_undo),
        ON_STORE(more_debts_than_memory_holds_are_queued),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
