/* SPDX-License-Identifier: Apache-2.0 */
#include "chain_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t process_chance(struct process *p)
{
    uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 31;
}

const struct block *world_block_at(const struct world *world, int number, int fork)
{
    return &world->chain[number < FORK_AT ? 0 : fork][number - FIRST];
}

struct bytes process_uri_name(int uri)
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

void process_look(struct process *p, struct seen *seen)
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
void process_check_promise(struct process *p)
{
    struct seen seen;
    process_look(p, &seen);
    for (int uri = 0; uri < URIS; uri++)
        assert_true(seen.stored[uri] + seen.owed[uri] + seen.dead[uri] <= 1);
    for (int number = FIRST; number <= seen.cursor; number++) {
        const struct block *block = world_block_at(&p->world, number, seen.fork);
        for (int i = 0; i < block->count; i++) {
            int uri = block->uris[i];
            assert_int_equal(seen.stored[uri] + seen.owed[uri] + seen.dead[uri], 1);
        }
    }
}

/* ---- the process ---- */

void process_start(struct process *p)
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
    process_look(p, &seen);
    p->first = p->next = seen.cursor + 1;
    p->fork = seen.fork;
    p->fetch_count = 0;
}

/* Without ceremony: what was not committed is gone. */
void process_crash(struct process *p)
{
    store_close(p->store);
    arena_deinit(&p->batch.arena);
    watermark_deinit(&p->wm);
    owed_deinit(&p->owed);
    p->batch = (struct batch){0};
    process_start(p);
    process_check_promise(p);
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

void process_write_batch(struct process *p)
{
    assert_true(commit_add(p->commit, &p->batch));
    assert_ok(commit_write(p->commit, p->store, &p->position, p->world.now, &p->err));
    assert_int_equal(p->commit->refused_count, 0);
    commit_take_batches(p->commit);
    struct arena arena = p->batch.arena;
    arena_reset(&arena);
    p->batch = (struct batch){.arena = arena};
    owed_answered(&p->owed, &p->batch, RC_OK);
    process_check_promise(p);
}

void process_commit(struct process *p)
{
    if (watermark_stage(&p->wm))
        add_cursor(p, (int)watermark_payload(&p->wm, p->wm.staged - 1));
    if (p->batch.record_count == 0)
        return;
    uint64_t upto = p->wm.staged;
    process_write_batch(p);
    assert_true(watermark_commit(&p->wm, upto, p->wm.epoch));
}

/* The chain was reorganised: back to the last block both have, in the store too (R002-18). */
static void undo(struct process *p)
{
    struct seen seen;
    process_look(p, &seen);
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
        process_write_batch(p);
        process_look(p, &seen);
        assert_int_equal(seen.cursor, FORK_AT - 1); /* the one way back there is (I4) */
        p->world.rewound++;
    }
}

static bool is_stored(struct process *p, int uri)
{
    struct seen seen;
    process_look(p, &seen);
    return seen.stored[uri];
}

void process_read_block(struct process *p)
{
    struct watermark_ticket ticket;
    if (p->fork != p->world.fork)
        undo(p);
    if (p->next >= FIRST + BLOCKS)
        return;
    const struct block *block = world_block_at(&p->world, p->next, p->fork);
    if (watermark_admit(&p->wm, (uint32_t)block->count, (uint64_t)p->next, &ticket) != RC_OK)
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
    assert_true(batch_set_text(&p->batch, row, DOCUMENT_URI, process_uri_name(uri)) &&
                batch_set_text(&p->batch, row, DOCUMENT_DATA, bytes_of("data")));
    batch_set_int(row, DOCUMENT_BLOCK, number);
    batch_set_int(row, DOCUMENT_WHOLE, 1);
    enum rc rc = owed_done(&p->owed, &p->batch, process_uri_name(uri));
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
    return owed_put(&p->owed, &p->batch, process_uri_name(fetch->uri), bytes_of(unit), &failure, 1,
                    p->world.now, process_chance(p));
}

void process_end_fetch(struct process *p, int which)
{
    struct fetch fetch = p->fetches[which];
    p->fetches[which] = p->fetches[--p->fetch_count];
    bool live = fetch.ticket.ord >= p->wm.base && fetch.ticket.ord < p->wm.next &&
                watermark_unit_epoch(&p->wm, fetch.ticket.ord) == fetch.ticket.epoch;
    for (int tries = 0; live && settle(p, &fetch) == RC_AGAIN; tries++) {
        assert_true(tries < 2);
        process_commit(p); /* its fate lay in a batch that is answered now */
    }
    enum watermark_answer answer = watermark_finish_once(&p->wm, &fetch.ticket);
    assert_int_equal(answer == WATERMARK_COUNTED || answer == WATERMARK_FINISHED, live);
    p->world.ignored += !live;
}

void process_retry(struct process *p)
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
    enum rc rc = ask(p, gateway, uri, &failure) ? store_document(p, uri, FIRST)
                                                : owed_failed(&p->owed, &p->batch, ticket, &failure,
                                                              p->world.now, process_chance(p));
    if (rc == RC_AGAIN) {
        owed_release(&p->owed, ticket, p->world.now);
        process_commit(p);
    }
}
