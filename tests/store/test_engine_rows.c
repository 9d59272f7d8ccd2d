/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store makes of documents and gaps, on both stores. */
#include "ingest/gap.h"
#include "store_bench.h"

#include <stdio.h>
#include <stdlib.h>

static void deliver(struct bench *bench, const char *data, int whole)
{
    struct record *row = batch_add(&bench->batch, RECORD_DOCUMENT);
    assert_true(batch_set_text(&bench->batch, row, DOCUMENT_URI, bytes_of("ipfs://u0")) &&
                batch_set_text(&bench->batch, row, DOCUMENT_DATA, bytes_of(data)));
    batch_set_int(row, DOCUMENT_BLOCK, 100);
    batch_set_int(row, DOCUMENT_WHOLE, whole);
}

/* R002-14: an upsert that changes nothing. */
static void a_document_replaces_an_error_and_nothing_replaces_a_document(void **state)
{
    struct bench *bench = *state;
    deliver(bench, NULL, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM ipfs_cache WHERE is_errored"), 1);
    deliver(bench, "whole", 1);
    deliver(bench, NULL, 0); /* the later one of a commit says less */
    assert_ok(write_batch(bench));
    int64_t seq =
        number(bench, "SELECT seq FROM ipfs_cache WHERE NOT is_errored AND data IS NOT NULL");
    assert_int_equal(seq, bench->position.commit_seq);
    deliver(bench, "whole", 1);
    assert_ok(write_batch(bench));
    deliver(bench, NULL, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT seq FROM ipfs_cache WHERE NOT is_errored"), seq);
    assert_int_equal(number(bench, "SELECT count(*) FROM ipfs_cache"), 1);
}

static void add_block(struct bench *bench, int64_t number)
{
    struct batch *batch = &bench->batch;
    struct record *block = batch_add(batch, RECORD_BLOCK);
    struct record *named = batch_add(batch, RECORD_REFERENCE);
    assert_true(batch_set_text(batch, block, BLOCK_HASH, bytes_of("0xa")) &&
                batch_set_text(batch, block, BLOCK_PARENT, bytes_of("0xb")) &&
                batch_set_text(batch, named, REFERENCE_URI, bytes_of("ipfs://u0")));
    batch_set_int(block, BLOCK_NUMBER, number);
    batch_set_int(block, BLOCK_DOCUMENTS, 1);
    batch_set_int(named, REFERENCE_BLOCK, number);
    batch_set_int(named, REFERENCE_ORDINAL, 0);
}

/* The chain that takes its place may be the shorter one: then nothing else would replace them. */
static void an_undo_leaves_nothing_above_it_and_everything_below(void **state)
{
    struct bench *bench = *state;
    for (int64_t block = 100; block < 104; block++)
        add_block(bench, block);
    assert_ok(write_batch(bench));
    batch_set_int(batch_add(&bench->batch, RECORD_UNDO), UNDO_AFTER, 101);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT max(number) FROM chain_blocks"), 101);
    assert_int_equal(number(bench, "SELECT count(*) FROM chain_blocks"), 2);
    assert_int_equal(number(bench, "SELECT max(block_number) FROM document_refs"), 101);
    assert_int_equal(number(bench, "SELECT count(*) FROM document_refs"), 2);
}

static void load_gaps(struct bench *bench, struct gap_set *gaps)
{
    struct field params[GAP_LOAD_PARAMS];
    gap_load_begin(gaps, params);
    assert_ok(store_query(bench->store, gap_load_sql, params, GAP_LOAD_PARAMS, gap_load_row, gaps,
                          &bench->err));
}

static void gaps_split_merge_and_close_in_the_table(void **state)
{
    struct bench *bench = *state;
    struct gap_set gaps, again;
    gap_set_init(&gaps, "jetstream", "live", 0);
    gap_set_init(&again, "jetstream", "live", 0);
    assert_ok(gap_open(&gaps, &bench->batch, 10, 50, "window", 1));
    assert_ok(write_batch(bench));
    assert_ok(gap_close(&gaps, &bench->batch, 20, 30, 7));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT closed_us FROM gaps WHERE from_us = 10 AND to_us = 50"),
                     7);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 2);
    load_gaps(bench, &again);
    assert_int_equal(again.count, 2);
    assert_int_equal(gap_complete_since(&again), 50);
    /* Both changes in one commit, and rows nobody here has made. */
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) VALUES "
        "(900, 'jetstream', 'live', 40, 60, 'x', 1, 1), (901, 'other', 'live', 40, 45, 'x', 1, 1)",
        &bench->err));
    load_gaps(bench, &again);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.open[1].to_us, 60);
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) VALUES "
        "(902, 'jetstream', 'live', 50, 70, 'only its beginning is read', 1, 1)",
        &bench->err));
    assert_ok(gap_open(&again, &bench->batch, 20, 30, "window", 8));
    assert_ok(gap_close(&again, &bench->batch, 0, 55, 9));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL AND source = "
                                   "'jetstream'"),
                     2);
    assert_int_equal(
        number(bench, "SELECT count(*) FROM gaps WHERE id = 902 AND closed_us IS NULL"), 1);
    assert_int_equal(number(bench, "SELECT from_us FROM gaps WHERE closed_us IS NULL AND source = "
                                   "'jetstream' AND to_us = 60"),
                     55);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE source = 'other' AND "
                                   "closed_us IS NULL"),
                     1);
    gap_set_deinit(&gaps);
    gap_set_deinit(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_document_replaces_an_error_and_nothing_replaces_a_document),
        ON_STORE(an_undo_leaves_nothing_above_it_and_everything_below),
        ON_STORE(gaps_split_merge_and_close_in_the_table),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
