/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks whose children are fetched out of order, on both stores: watermark, owed work and commit
 * together, with failing gateways, a reorganised chain and a crash after every step. The truth is
 * computed from the chain and the gateways' fates alone. */
#include "chain_process.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 64, REORG_STEP = 48 };

static int set_up(void **state)
{
    struct process *p = calloc(1, sizeof *p);
    unsigned applied;
    fixture_open(&p->fixture, both_stores_kind);
    assert_ok(store_open(p->fixture.url, STORE_WRITE, &p->store, &p->err));
    assert_ok(store_migrate(p->store, &applied, &p->err));
    store_close(p->store);
    p->commit = commit_new();
    p->random = 20251115;
    process_start(p);
    *state = p;
    both_stores_executed++;
    return 0;
}

static int tear_down(void **state)
{
    struct process *p = *state;
    arena_deinit(&p->batch.arena);
    watermark_deinit(&p->wm);
    owed_deinit(&p->owed);
    commit_free(p->commit);
    store_close(p->store);
    fixture_close(&p->fixture);
    free(p);
    return 0;
}

static int64_t number(struct process *p, const char *sql)
{
    int64_t value;
    assert_ok(store_query_int(p->store, sql, -1, &value, &p->err));
    return value;
}

static void end_fetch_of(struct process *p, int uri)
{
    for (int i = 0; i < p->fetch_count; i++)
        if (p->fetches[i].uri == uri) {
            process_end_fetch(p, i);
            return;
        }
    fail_msg("nobody fetches %d", uri);
}

/* R002-17, R002-10: blocks 100 (A B C), 101 (D E), 102 (F); C has no answer. The position passes it
 * because a row remembers it; when the gateway is repaired the row makes way for the document. */
static void a_failing_fetch_is_owed_and_later_stored(void **state)
{
    struct process *p = *state;
    static const struct block blocks[] = {{3, {0, 1, 2}}, {2, {3, 4}}, {1, {5}}};
    memcpy(p->world.chain[0], blocks, sizeof blocks);
    p->world.fate[2] = SLOW;
    for (int i = 0; i < 3; i++)
        process_read_block(p);
    const int order[] = {5, 4, 3, 0, 1, 2};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(number(p, "SELECT block_number FROM meta"), -1);
        end_fetch_of(p, order[i]);
        process_commit(p);
    }
    assert_int_equal(number(p, "SELECT block_number FROM meta WHERE id = 'ipfs'"), 102);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache"), 5);
    assert_int_equal(number(p,
                            "SELECT count(*) FROM owed WHERE item = 'ipfs://u2' AND attempts = 1 "
                            "AND reason = 'gate-a: no answer' AND unit = '100/0'"),
                     1);
    process_retry(p);
    process_commit(p);
    assert_int_equal(number(p, "SELECT attempts FROM owed"), 2);
    p->world.repaired = true;
    process_crash(p);
    process_retry(p);
    process_commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed"), 0);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache WHERE uri = 'ipfs://u2'"), 1);
}

static void two_gateways_make_a_document_dead_and_people_revive_it(void **state)
{
    struct process *p = *state;
    p->world.chain[0][0] = (struct block){2, {0, 1}};
    p->world.fate[0] = SLOW;
    p->world.fate[1] = GONE_AT_A;
    process_read_block(p);
    end_fetch_of(p, 0);
    process_commit(p);
    p->world.fate[0] = GONE;
    process_retry(p);
    end_fetch_of(p, 1);
    process_commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE refused_by = 'gate-a'"), 2);
    process_crash(p); /* who refused is remembered */
    assert_true(owed_refused_by(owed_find(&p->owed, process_uri_name(0)), "gate-a"));
    for (int i = 0; i < 4; i++) {
        process_retry(p);
        process_commit(p);
    }
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE state = 'dead' AND item = "
                               "'ipfs://u0' AND next_us IS NULL AND reason = "
                               "'permanent at gate-a and at gate-b: 404'"),
                     1);
    assert_int_equal(number(p, "SELECT count(*) FROM owed"), 1);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache WHERE uri = 'ipfs://u1'"), 1);
    process_crash(p); /* a dead row is not tried again by itself */
    process_retry(p);
    assert_int_equal(p->owed.running, 0);
    p->world.fate[0] = FINE;
    assert_ok(owed_retry(&p->owed, &p->batch, process_uri_name(0), BYTES_ABSENT, p->world.now));
    process_commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE state = 'owed' AND attempts = 0"),
                     1);
    process_retry(p);
    process_commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed"), 0);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache"), 2);
}

static void make_world(struct world *world)
{
    *world = (struct world){.now = 1};
    for (int fork = 0; fork < 2; fork++)
        for (int i = 0; i < BLOCKS; i++) {
            struct block *block = &world->chain[fork][i];
            block->count = (i * 7 + fork * 3 + 2) % (CHILDREN + 1);
            for (int k = 0; k < block->count; k++)
                block->uris[k] = (i * 5 + fork * 11 + k * 3) % URIS; /* some in several blocks */
        }
    for (int uri = 0; uri < URIS; uri++)
        world->fate[uri] = uri % 5 == 0   ? SLOW
                           : uri % 7 == 3 ? GONE
                           : uri % 6 == 1 ? GONE_AT_A
                                          : FINE;
}

static void one_step(struct process *p, int step)
{
    uint64_t op = process_chance(p) % 10;
    if (step == REORG_STEP)
        p->world.fork = 1;
    else if (op < 3)
        process_read_block(p);
    else if (op < 7 && p->fetch_count > 0)
        process_end_fetch(p, (int)(process_chance(p) % (uint64_t)p->fetch_count));
    else if (op < 8)
        process_retry(p);
    else
        process_commit(p);
}

/* The gateways answer, the chain is read to its head, the debt is paid. */
static void finish(struct process *p)
{
    p->world.repaired = true;
    for (int round = 0; round < 60; round++) {
        process_read_block(p);
        if (p->fetch_count > 0)
            process_end_fetch(p, 0);
        if (p->fetch_count > 0)
            process_end_fetch(p, 0);
        process_retry(p);
        process_commit(p);
    }
}

static void check_end(struct process *p)
{
    struct seen seen;
    process_look(p, &seen);
    process_check_promise(p);
    assert_int_equal(seen.cursor, FIRST + BLOCKS - 1);
    assert_int_equal(seen.fork, 1);
    for (int n = FIRST; n < FIRST + BLOCKS; n++) {
        const struct block *block = world_block_at(&p->world, n, 1);
        for (int i = 0; i < block->count; i++) {
            bool gone = p->world.fate[block->uris[i]] == GONE;
            assert_int_equal(seen.dead[block->uris[i]], gone);
            assert_int_equal(seen.stored[block->uris[i]], !gone);
        }
    }
}

static void wipe(struct process *p)
{
    assert_ok(p->store->ops->script(p->store,
                                    "DELETE FROM ipfs_cache; DELETE FROM owed; DELETE FROM meta; "
                                    "DELETE FROM cursors",
                                    &p->err));
}

/* R002-11, R002-12, R002-18: one story of reads, fetches, retries, commits and a reorganisation
 * below the position, told once for every step with a crash after that step. */
static void a_crash_after_any_step_loses_nothing(void **state)
{
    struct process *p = *state;
    unsigned ignored = 0, rewound = 0;
    for (int stop = 0; stop <= STEPS; stop++) {
        wipe(p);
        make_world(&p->world);
        p->random = 4711;
        process_crash(p);
        for (int step = 0; step < STEPS; step++) {
            if (step == stop)
                process_crash(p);
            one_step(p, step);
        }
        finish(p);
        check_end(p);
        ignored += p->world.ignored;
        rewound += p->world.rewound;
    }
    assert_true(ignored > 0); /* fetches of undone blocks did come late */
    assert_true(rewound > 0); /* and the stored position did lie above the fork */
}

/* R002-14: everything delivered again changes no document and asks no gateway for one. */
static void a_second_delivery_of_stored_blocks_is_free(void **state)
{
    struct process *p = *state;
    make_world(&p->world);
    finish(p);
    int64_t seq = number(p, "SELECT max(seq) FROM ipfs_cache");
    int64_t documents = number(p, "SELECT count(*) FROM ipfs_cache");
    struct record *reset = batch_add(&p->batch, RECORD_RESET);
    assert_true(batch_set_text(&p->batch, reset, RESET_SOURCE, bytes_of("content")));
    process_write_batch(p);
    assert_ok(p->store->ops->script(p->store, "DELETE FROM meta", &p->err));
    memset(p->world.asked, 0, sizeof p->world.asked);
    process_crash(p);
    assert_int_equal(p->next, FIRST);
    finish(p);
    assert_int_equal(number(p, "SELECT block_number FROM meta"), FIRST + BLOCKS - 1);
    assert_int_equal(number(p, "SELECT max(seq) FROM ipfs_cache"), seq);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache"), documents);
    for (int uri = 0; uri < URIS; uri++)
        assert_true(p->world.asked[uri] == 0 || p->world.fate[uri] == GONE);
}

int main(void)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_failing_fetch_is_owed_and_later_stored),
        ON_STORE(two_gateways_make_a_document_dead_and_people_revive_it),
        ON_STORE(a_crash_after_any_step_loses_nothing),
        ON_STORE(a_second_delivery_of_stored_blocks_is_free),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
