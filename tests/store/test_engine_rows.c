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

static void add_gap(struct bench *bench, int64_t from_us, int64_t to_us, int64_t closed_us)
{
    struct batch *batch = &bench->batch;
    struct record *row = batch_add(batch, RECORD_GAP);
    assert_true(batch_set_text(batch, row, GAP_SOURCE, bytes_of("jetstream")) &&
                batch_set_text(batch, row, GAP_STREAM, bytes_of("live")) &&
                batch_set_text(batch, row, GAP_REASON, bytes_of("window")));
    batch_set_int(row, GAP_FROM_US, from_us);
    batch_set_int(row, GAP_TO_US, to_us);
    batch_set_int(row, GAP_DETECTED_US, 1);
    if (closed_us > 0)
        batch_set_int(row, GAP_CLOSED_US, closed_us);
}

static void closing_a_gap_closes_what_lies_inside_it_and_nothing_else(void **state)
{
    struct bench *bench = *state;
    add_gap(bench, 10, 50, 0);
    add_gap(bench, 50, 70, 0);
    add_gap(bench, 5, 20, 0);
    assert_ok(write_batch(bench));
    assert_ok(bench->store->ops->script(
        bench->store,
        "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) VALUES "
        "(901, 'other', 'live', 20, 30, 'x', 1, 1), (902, 'jetstream', 'else', 20, 30, 'x', 1, 1)",
        &bench->err));
    add_gap(bench, 10, 55, 9);
    add_gap(bench, 20, 30, 0); /* what the same commit opens stays open */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT closed_us FROM gaps WHERE from_us = 10 AND to_us = 50"),
                     9);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 5);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL AND "
                                   "(from_us = 50 OR from_us = 5 OR id > 900)"),
                     4);
}

static void a_gap_without_an_end_ends_where_it_is_said_to(void **state)
{
    struct bench *bench = *state;
    struct gap_notes notes;
    gap_notes_init(&notes, "jetstream", "live");
    add_gap(bench, 10, GAP_NO_END_US, 0);
    assert_ok(write_batch(bench));
    assert_ok(gap_end(&notes, &bench->batch, 10, 80, "window", 7));
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT to_us FROM gaps WHERE closed_us IS NULL"), 80);
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us = 7"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_document_replaces_an_error_and_nothing_replaces_a_document),
        ON_STORE(an_undo_leaves_nothing_above_it_and_everything_below),
        ON_STORE(closing_a_gap_closes_what_lies_inside_it_and_nothing_else),
        ON_STORE(a_gap_without_an_end_ends_where_it_is_said_to),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
