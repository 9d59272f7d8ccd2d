/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks whose children are fetched out of order, on both stores: watermark, owed work and commit
 * together, with failing gateways, a reorganised chain and a crash after every step. The truth is
 * computed from the chain and the gateways' fates alone. */
#include "both_stores.h"
#include "ingest/owed.h"
#include "ingest/watermark.h"
#include "store/commit.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST = 100, BLOCKS = 8, URIS = 24, CHILDREN = 3, FETCHES = 64, FORK_AT = 103 };
enum { STEPS = 64, REORG_STEP = 48 };
enum fate { FINE, SLOW, GONE_AT_A, GONE }; /* SLOW: no answer before the gateways are repaired */

struct block {
    int count, uris[CHILDREN];
};

/* Everything outside of the process. */
struct world {
    struct block chain[2][BLOCKS];
    enum fate fate[URIS];
    int fork; /* blocks from FORK_AT on are chain[fork]'s */
    bool repaired;
    int64_t now;
    unsigned asked[URIS], ignored, rewound;
};

struct fetch {
    struct watermark_ticket ticket;
    int number, uri;
};

/* One process on one store. */
struct process {
    struct fixture fixture;
    struct world world;
    struct store *store;
    struct store_position position;
    struct commit *commit;
    struct batch batch;
    struct watermark wm;
    struct owed owed;
    int first, next; /* the blocks of ordinal 0, and to be read next */
    int fork;        /* the chain it follows */
    struct fetch fetches[FETCHES];
    int fetch_count;
    uint64_t random;
    struct err err;
};

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), p->err.text);                                        \
    } while (0)

static uint64_t chance(struct process *p)
{
    uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 31;
}

static const struct block *block_at(const struct world *world, int number, int fork)
{
    return &world->chain[number < FORK_AT ? 0 : fork][number - FIRST];
}

static struct bytes uri_name(int uri)
{
    static char name[32];
    snprintf(name, sizeof name, "ipfs://u%d", uri);
    return bytes_of(name);
}

static int uri_of(struct bytes name)
{
    char text[32] = "";
    assert_true(name.len > 8 && name.len < sizeof text);
    memcpy(text, name.data, name.len);
    return (int)strtoull(text + 8, NULL, 10);
}

/* ---- what the store says ---- */

struct seen {
    bool stored[URIS], owed[URIS], dead[URIS];
    int cursor, fork; /* cursor: FIRST - 1 when there is none */
};

static bool take_stored(void *arg, const struct field *columns, size_t count)
{
    assert_int_equal(count, 1);
    ((struct seen *)arg)->stored[uri_of(columns[0].b)] = true;
    return true;
}

static bool take_owed(void *arg, const struct field *columns, size_t count)
{
    struct seen *seen = arg;
    assert_int_equal(count, 2);
    bool dead = bytes_equal_string(columns[1].b, "dead");
    *(dead ? &seen->dead[uri_of(columns[0].b)] : &seen->owed[uri_of(columns[0].b)]) = true;
    return true;
}

static bool take_cursor(void *arg, const struct field *columns, size_t count)
{
    struct seen *seen = arg;
    assert_int_equal(count, 2);
    seen->cursor = (int)columns[0].i;
    seen->fork = columns[1].b.data[columns[1].b.len - 2] - '0';
    return true;
}

static void look(struct process *p, struct seen *seen)
{
    *seen = (struct seen){.cursor = FIRST - 1};
    assert_ok(store_query(p->store, "SELECT uri FROM ipfs_cache WHERE NOT is_errored", NULL, 0,
                          take_stored, seen, &p->err));
    assert_ok(store_query(p->store, "SELECT item, state FROM owed WHERE source = 'content'", NULL,
                          0, take_owed, seen, &p->err));
    assert_ok(store_query(p->store, "SELECT block_number, cursor FROM meta WHERE id = 'ipfs'", NULL,
                          0, take_cursor, seen, &p->err));
}

/* R002-12: below the position each document is exactly one of stored, owed and dead. */
static void check_promise(struct process *p)
{
    struct seen seen;
    look(p, &seen);
    for (int uri = 0; uri < URIS; uri++)
        assert_true(seen.stored[uri] + seen.owed[uri] + seen.dead[uri] <= 1);
    for (int number = FIRST; number <= seen.cursor; number++) {
        const struct block *block = block_at(&p->world, number, seen.fork);
        for (int i = 0; i < block->count; i++) {
            int uri = block->uris[i];
            assert_int_equal(seen.stored[uri] + seen.owed[uri] + seen.dead[uri], 1);
        }
    }
}

/* ---- the process ---- */

static void start(struct process *p)
{
    struct seen seen;
    struct field params[OWED_LOAD_PARAMS];
    assert_ok(store_open(p->fixture.url, STORE_WRITE, &p->store, &p->err));
    assert_ok(store_claim(p->store, "test", NULL, 1, &p->position, &p->err));
    arena_init(&p->batch.arena, 1 << 18);
    watermark_init(&p->wm, 4);
    owed_init(&p->owed, &(struct owed_settings){"content", "ipfs", 4, 8, 25, 1});
    owed_load_begin(&p->owed, params);
    assert_ok(store_query(p->store, owed_load_sql, params, OWED_LOAD_PARAMS, owed_load_row,
                          &p->owed, &p->err));
    owed_load_end(&p->owed, true);
    look(p, &seen);
    p->first = p->next = seen.cursor + 1;
    p->fork = seen.fork;
    p->fetch_count = 0;
}

/* Without ceremony: what was not committed is gone. */
static void crash(struct process *p)
{
    store_close(p->store);
    arena_deinit(&p->batch.arena);
    watermark_deinit(&p->wm);
    owed_deinit(&p->owed);
    p->batch = (struct batch){0};
    start(p);
    check_promise(p);
}

static void add_cursor(struct process *p, int number)
{
    char state[64];
    struct record *row = batch_add(&p->batch, RECORD_CURSOR);
    snprintf(state, sizeof state, "{\"block\":%d,\"fork\":%d}", number, p->fork);
    assert_true(batch_set_text(&p->batch, row, CURSOR_ROW_SOURCE, bytes_of("content")) &&
                batch_set_text(&p->batch, row, CURSOR_ROW_STREAM, bytes_of("ipfs")) &&
                batch_set_text(&p->batch, row, CURSOR_ROW_STATE, bytes_of(state)));
    batch_set_int(row, CURSOR_ROW_POSITION, number);
    batch_set_int(row, CURSOR_ROW_AT_US, p->world.now);
}

static void write_batch(struct process *p)
{
    assert_true(commit_add(p->commit, &p->batch));
    assert_ok(commit_write(p->commit, p->store, &p->position, p->world.now, &p->err));
    assert_int_equal(p->commit->refused_count, 0);
    commit_take_batches(p->commit);
    struct arena arena = p->batch.arena;
    arena_reset(&arena);
    p->batch = (struct batch){.arena = arena};
    owed_answered(&p->owed, &p->batch, RC_OK);
    check_promise(p);
}

static void commit(struct process *p)
{
    if (watermark_stage(&p->wm))
        add_cursor(p, (int)watermark_payload(&p->wm, p->wm.staged - 1));
    if (p->batch.record_count == 0)
        return;
    uint64_t upto = p->wm.staged;
    write_batch(p);
    assert_true(watermark_commit(&p->wm, upto, p->wm.epoch));
}

/* The chain was reorganised: back to the last block both have, in the store too (R002-18). */
static void undo(struct process *p)
{
    struct seen seen;
    look(p, &seen);
    p->fork = p->world.fork;
    if (p->next <= FORK_AT)
        return;
    p->next = FORK_AT;
    if (p->first <= FORK_AT) {
        watermark_undo(&p->wm, (uint64_t)(FORK_AT - p->first));
    } else { /* it began above: no ticket of this process is worth anything */
        watermark_deinit(&p->wm);
        watermark_init(&p->wm, 4);
        p->first = FORK_AT;
        p->fetch_count = 0;
    }
    if (seen.cursor >= FORK_AT) {
        add_cursor(p, FORK_AT - 1);
        write_batch(p);
        look(p, &seen);
        assert_int_equal(seen.cursor, FORK_AT - 1); /* the one way back there is (I4) */
        p->world.rewound++;
    }
}

static bool is_stored(struct process *p, int uri)
{
    struct seen seen;
    look(p, &seen);
    return seen.stored[uri];
}

static void read_block(struct process *p)
{
    struct watermark_ticket ticket;
    if (p->fork != p->world.fork)
        undo(p);
    if (p->next >= FIRST + BLOCKS)
        return;
    const struct block *block = block_at(&p->world, p->next, p->fork);
    if (watermark_admit(&p->wm, (uint32_t)block->count, (uint64_t)p->next, 0, &ticket) != RC_OK)
        return;
    for (int i = 0; i < block->count; i++) {
        assert_true(p->fetch_count < FETCHES);
        p->fetches[p->fetch_count++] = (struct fetch){ticket, p->next, block->uris[i]};
    }
    p->next++;
}

/* A gateway's answer: true, or how it failed. */
static bool ask(struct process *p, const char *gateway, int uri, struct owed_failure *failure)
{
    struct world *world = &p->world;
    bool at_a = strcmp(gateway, "gate-a") == 0;
    world->asked[uri]++;
    *failure = (struct owed_failure){gateway, RETRY_TRANSIENT, "no answer", -1};
    if (world->fate[uri] == GONE || (world->fate[uri] == GONE_AT_A && at_a)) {
        failure->class = RETRY_PERMANENT;
        failure->reason = "404";
        return false;
    }
    return world->fate[uri] != SLOW || world->repaired;
}

static enum rc store_document(struct process *p, int uri, int number)
{
    struct record *row = batch_add(&p->batch, RECORD_DOCUMENT);
    assert_true(batch_set_text(&p->batch, row, DOCUMENT_URI, uri_name(uri)) &&
                batch_set_text(&p->batch, row, DOCUMENT_DATA, bytes_of("data")));
    batch_set_int(row, DOCUMENT_BLOCK, number);
    batch_set_int(row, DOCUMENT_WHOLE, 1);
    enum rc rc = owed_done(&p->owed, &p->batch, uri_name(uri));
    if (rc != RC_OK)
        batch_drop_last(&p->batch, row);
    return rc;
}

/* The row that settles a child, in the batch before the child counts as finished. */
static enum rc settle(struct process *p, const struct fetch *fetch)
{
    struct owed_failure failure;
    char unit[32];
    if (is_stored(p, fetch->uri))
        return RC_OK; /* R002-14: no gateway is asked for what is there */
    snprintf(unit, sizeof unit, "%d/%d", fetch->number, p->fork);
    if (ask(p, "gate-a", fetch->uri, &failure))
        return store_document(p, fetch->uri, fetch->number);
    return owed_put(&p->owed, &p->batch, uri_name(fetch->uri), bytes_of(unit), &failure, 1,
                    p->world.now, chance(p));
}

static void end_fetch(struct process *p, int which)
{
    struct fetch fetch = p->fetches[which];
    p->fetches[which] = p->fetches[--p->fetch_count];
    bool live = fetch.ticket.ord >= p->wm.base && fetch.ticket.ord < p->wm.next &&
                watermark_unit_epoch(&p->wm, fetch.ticket.ord) == fetch.ticket.epoch;
    for (int tries = 0; live && settle(p, &fetch) == RC_AGAIN; tries++) {
        assert_true(tries < 2);
        commit(p); /* its fate lay in a batch that is answered now */
    }
    enum watermark_answer answer = watermark_finish_once(&p->wm, &fetch.ticket);
    assert_int_equal(answer == WATERMARK_COUNTED || answer == WATERMARK_FINISHED, live);
    p->world.ignored += !live;
}

static void retry(struct process *p)
{
    struct owed_ticket ticket;
    struct owed_failure failure;
    struct field params[OWED_LOAD_PARAMS];
    p->world.now += 60 * INT64_C(1000000);
    if (owed_wants_load(&p->owed)) {
        owed_load_begin(&p->owed, params);
        assert_ok(store_query(p->store, owed_load_sql, params, OWED_LOAD_PARAMS, owed_load_row,
                              &p->owed, &p->err));
        owed_load_end(&p->owed, true);
    }
    const struct owed_item *item =
        owed_take(&p->owed, 8, (uint32_t)p->fetch_count, p->world.now, &ticket);
    if (item == NULL)
        return;
    int uri = uri_of(bytes_of(item->item));
    const char *gateway = owed_refused_by(item, "gate-a") ? "gate-b" : "gate-a";
    enum rc rc = ask(p, gateway, uri, &failure)
                     ? store_document(p, uri, FIRST)
                     : owed_failed(&p->owed, &p->batch, ticket, &failure, p->world.now, chance(p));
    if (rc == RC_AGAIN) {
        owed_release(&p->owed, ticket, p->world.now);
        commit(p);
    }
}

/* ---- the tests ---- */

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
    start(p);
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
            end_fetch(p, i);
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
        read_block(p);
    const int order[] = {5, 4, 3, 0, 1, 2};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(number(p, "SELECT block_number FROM meta"), -1);
        end_fetch_of(p, order[i]);
        commit(p);
    }
    assert_int_equal(number(p, "SELECT block_number FROM meta WHERE id = 'ipfs'"), 102);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache"), 5);
    assert_int_equal(number(p,
                            "SELECT count(*) FROM owed WHERE item = 'ipfs://u2' AND attempts = 1 "
                            "AND reason = 'gate-a: no answer' AND unit = '100/0'"),
                     1);
    retry(p);
    commit(p);
    assert_int_equal(number(p, "SELECT attempts FROM owed"), 2);
    p->world.repaired = true;
    crash(p);
    retry(p);
    commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed"), 0);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache WHERE uri = 'ipfs://u2'"), 1);
}

static void two_gateways_make_a_document_dead_and_people_revive_it(void **state)
{
    struct process *p = *state;
    p->world.chain[0][0] = (struct block){2, {0, 1}};
    p->world.fate[0] = SLOW;
    p->world.fate[1] = GONE_AT_A;
    read_block(p);
    end_fetch_of(p, 0);
    commit(p);
    p->world.fate[0] = GONE;
    retry(p);
    end_fetch_of(p, 1);
    commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE refused_by = 'gate-a'"), 2);
    crash(p); /* who refused is remembered */
    assert_true(owed_refused_by(owed_find(&p->owed, uri_name(0)), "gate-a"));
    for (int i = 0; i < 4; i++) {
        retry(p);
        commit(p);
    }
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE state = 'dead' AND item = "
                               "'ipfs://u0' AND next_us IS NULL AND reason = "
                               "'permanent at gate-a and at gate-b: 404'"),
                     1);
    assert_int_equal(number(p, "SELECT count(*) FROM owed"), 1);
    assert_int_equal(number(p, "SELECT count(*) FROM ipfs_cache WHERE uri = 'ipfs://u1'"), 1);
    crash(p); /* a dead row is not tried again by itself */
    retry(p);
    assert_int_equal(p->owed.running, 0);
    p->world.fate[0] = FINE;
    assert_ok(owed_retry(&p->owed, &p->batch, uri_name(0), BYTES_ABSENT, p->world.now));
    commit(p);
    assert_int_equal(number(p, "SELECT count(*) FROM owed WHERE state = 'owed' AND attempts = 0"),
                     1);
    retry(p);
    commit(p);
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
    uint64_t op = chance(p) % 10;
    if (step == REORG_STEP)
        p->world.fork = 1;
    else if (op < 3)
        read_block(p);
    else if (op < 7 && p->fetch_count > 0)
        end_fetch(p, (int)(chance(p) % (uint64_t)p->fetch_count));
    else if (op < 8)
        retry(p);
    else
        commit(p);
}

/* The gateways answer, the chain is read to its head, the debt is paid. */
static void finish(struct process *p)
{
    p->world.repaired = true;
    for (int round = 0; round < 60; round++) {
        read_block(p);
        if (p->fetch_count > 0)
            end_fetch(p, 0);
        if (p->fetch_count > 0)
            end_fetch(p, 0);
        retry(p);
        commit(p);
    }
}

static void check_end(struct process *p)
{
    struct seen seen;
    look(p, &seen);
    check_promise(p);
    assert_int_equal(seen.cursor, FIRST + BLOCKS - 1);
    assert_int_equal(seen.fork, 1);
    for (int n = FIRST; n < FIRST + BLOCKS; n++) {
        const struct block *block = block_at(&p->world, n, 1);
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
        crash(p);
        for (int step = 0; step < STEPS; step++) {
            if (step == stop)
                crash(p);
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
    write_batch(p);
    assert_ok(p->store->ops->script(p->store, "DELETE FROM meta", &p->err));
    memset(p->world.asked, 0, sizeof p->world.asked);
    crash(p);
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
