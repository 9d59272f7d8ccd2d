/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store makes of documents, gaps and prunes, on both stores. */
#include "fixture.h"
#include "ingest/gap.h"
#include "store/commit.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct bench {
    struct fixture fixture;
    struct store *store;
    struct store_position position;
    struct commit *commit;
    struct batch batch;
    struct err err;
};

static enum fixture_kind kind;
static unsigned executed;

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), p->err.text);                                        \
    } while (0)

static int set_up(void **state)
{
    struct bench *p = calloc(1, sizeof *p);
    unsigned applied;
    fixture_open(&p->fixture, kind);
    assert_ok(store_open(p->fixture.url, STORE_WRITE, &p->store, &p->err));
    assert_ok(store_migrate(p->store, &applied, &p->err));
    assert_ok(store_claim(p->store, "test", NULL, 1, &p->position, &p->err));
    p->commit = commit_new();
    arena_init(&p->batch.arena, 1 << 16);
    *state = p;
    executed++;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *p = *state;
    arena_deinit(&p->batch.arena);
    commit_free(p->commit);
    store_close(p->store);
    fixture_close(&p->fixture);
    free(p);
    return 0;
}

static int64_t number(struct bench *p, const char *sql)
{
    int64_t value;
    assert_ok(store_query_int(p->store, sql, -1, &value, &p->err));
    return value;
}

static void write_batch(struct bench *p)
{
    assert_true(commit_add(p->commit, &p->batch));
    assert_ok(commit_write(p->commit, p->store, &p->position, 42, &p->err));
    commit_take_batches(p->commit);
    struct arena arena = p->batch.arena;
    arena_reset(&arena);
    p->batch = (struct batch){.arena = arena};
}

static void deliver(struct bench *p, const char *data, int whole)
{
    struct record *row = batch_add(&p->batch, RECORD_DOCUMENT);
    assert_true(batch_set_text(&p->batch, row, DOCUMENT_URI, bytes_of("ipfs://u0")) &&
                batch_set_text(&p->batch, row, DOCUMENT_DATA, bytes_of(data)));
    batch_set_int(row, DOCUMENT_BLOCK, 100);
    batch_set_int(row, DOCUMENT_WHOLE, whole);
}

/* R002-14: an upsert that changes nothing. */
static void a_document_replaces_an_error_and_nothing_replaces_a_document(void **state)
{
    struct bench *p = *state;
    deliver(p, NULL, 0);
    write_batch(p);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache WHERE is_errored"), 1);
    deliver(p, "whole", 1);
    deliver(p, NULL, 0); /* the later one of a commit says less */
    write_batch(p);
    int64_t seq = number(p, "SELECT seq FROM ipfs_cache WHERE NOT is_errored AND data IS NOT NULL");
    assert_int_equal(seq, p->position.commit_seq);
    deliver(p, "whole", 1);
    write_batch(p);
    deliver(p, NULL, 0);
    write_batch(p);
    assert_int_equal(number(p, "SELECT seq FROM ipfs_cache WHERE NOT is_errored"), seq);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache"), 1);
}

static void load_gaps(struct bench *p, struct gap_set *gaps)
{
    struct field params[GAP_LOAD_PARAMS];
    gap_load_begin(gaps, params);
    assert_ok(
        store_query(p->store, gap_load_sql, params, GAP_LOAD_PARAMS, gap_load_row, gaps, &p->err));
}

static void gaps_split_merge_and_close_in_the_table(void **state)
{
    struct bench *p = *state;
    struct gap_set gaps, again;
    gap_set_init(&gaps, "jetstream", "live", 0);
    gap_set_init(&again, "jetstream", "live", 0);
    assert_ok(gap_open(&gaps, &p->batch, 10, 50, "window", 1));
    write_batch(p);
    assert_ok(gap_close(&gaps, &p->batch, 20, 30, 7));
    write_batch(p);
    assert_int_equal(number(p, "SELECT closed_us FROM gaps WHERE from_us = 10 AND to_us = 50"), 7);
    assert_int_equal(number(p, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 2);
    load_gaps(p, &again);
    assert_int_equal(again.count, 2);
    assert_int_equal(gap_complete_since(&again), 50);
    /* Both changes in one commit, and rows nobody here has made. */
    assert_ok(p->store->ops->script(
        p->store,
        "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) VALUES "
        "(900, 'jetstream', 'live', 40, 60, 'x', 1, 1), (901, 'other', 'live', 40, 45, 'x', 1, 1)",
        &p->err));
    load_gaps(p, &again);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.open[1].to_us, 60);
    assert_ok(gap_open(&again, &p->batch, 20, 30, "window", 8));
    assert_ok(gap_close(&again, &p->batch, 0, 55, 9));
    write_batch(p);
    assert_int_equal(number(p, "SELECT count(*) FROM gaps WHERE closed_us IS NULL AND source = "
                               "'jetstream'"),
                     1);
    assert_int_equal(number(p, "SELECT from_us FROM gaps WHERE closed_us IS NULL AND source = "
                               "'jetstream' AND to_us = 60"),
                     55);
    assert_int_equal(number(p, "SELECT count(*) FROM gaps WHERE source = 'other' AND "
                               "closed_us IS NULL"),
                     1);
    gap_set_deinit(&gaps);
    gap_set_deinit(&again);
}

static int run_on(enum fixture_kind which)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_document_replaces_an_error_and_nothing_replaces_a_document),
        ON_STORE(gaps_split_merge_and_close_in_the_table),
    };
    kind = which;
    executed = 0;
    int failed = cmocka_run_group_tests_name(fixture_kind_name(which), tests, NULL, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(which), executed);
    return failed;
}

int main(void)
{
    return run_on(FIXTURE_SQLITE) + run_on(FIXTURE_POSTGRES);
}
