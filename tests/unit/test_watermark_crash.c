/* SPDX-License-Identifier: Apache-2.0
 *
 * The watermark with a model store: rows and cursor change in one transaction, everything else is
 * lost in a crash. Whatever the order of events and wherever the crash falls, a restart from the
 * stored cursor ends with the same rows. */
#include "ingest/watermark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { UNITS_MAX = 4, STEPS_MAX = 40 };

/* The chain: how many children each unit has. */
struct world {
    unsigned count, span; /* span: how many the ring holds */
    unsigned children[UNITS_MAX];
};

struct store {
    unsigned rows[UNITS_MAX]; /* bit per child */
    unsigned cursor;          /* units below it are promised */
    unsigned cursor_writes;
};

/* The part of a process that a crash takes away. */
struct process {
    const struct world *world;
    struct watermark wm;
    unsigned first; /* the unit that ordinal 0 is */
    unsigned fetched[UNITS_MAX], handed[UNITS_MAX];
    bool open; /* a transaction is on its way */
    unsigned transaction_rows[UNITS_MAX];
    uint64_t transaction_upto;
    bool transaction_moves;
};

static void start(struct process *p, const struct world *world, const struct store *store)
{
    *p = (struct process){.world = world, .first = store->cursor};
    watermark_init(&p->wm, world->span);
}

static bool can_admit(const struct process *p)
{
    return p->first + p->wm.next < p->world->count && watermark_lag(&p->wm) < p->wm.capacity;
}

static void admit(struct process *p)
{
    struct watermark_ticket ticket;
    unsigned unit = p->first + (unsigned)p->wm.next;
    assert_int_equal(watermark_admit(&p->wm, p->world->children[unit], unit, &ticket), RC_OK);
}

static bool can_finish(const struct process *p, unsigned unit)
{
    return unit >= p->first && unit < p->first + p->wm.next &&
           p->fetched[unit] != (1U << p->world->children[unit]) - 1;
}

static void finish(struct process *p, unsigned unit, unsigned child)
{
    p->fetched[unit] |= 1U << child;
    enum watermark_answer answer = watermark_finish(&p->wm, unit - p->first, 0);
    bool last = p->fetched[unit] == (1U << p->world->children[unit]) - 1;
    assert_int_equal(answer, last ? WATERMARK_FINISHED : WATERMARK_COUNTED);
}

static bool can_begin(const struct process *p)
{
    uint64_t open;
    bool more = p->wm.staged < p->wm.next &&
                (!watermark_oldest_unfinished(&p->wm, &open) || open > p->wm.staged);
    return !p->open && (more || memcmp(p->fetched, p->handed, sizeof p->fetched) != 0);
}

static void begin(struct process *p)
{
    p->open = true;
    for (unsigned i = 0; i < UNITS_MAX; i++)
        p->transaction_rows[i] = p->fetched[i] & ~p->handed[i];
    memcpy(p->handed, p->fetched, sizeof p->handed);
    p->transaction_moves = watermark_stage(&p->wm);
    p->transaction_upto = p->wm.staged;
}

/* Durable, and the promise of R002-12: below the cursor no row is missing. */
static void commit(struct process *p, struct store *store)
{
    for (unsigned i = 0; i < UNITS_MAX; i++)
        store->rows[i] |= p->transaction_rows[i];
    if (p->transaction_moves) {
        unsigned cursor = (unsigned)watermark_payload(&p->wm, p->transaction_upto - 1) + 1;
        assert_true(cursor > store->cursor); /* (I4) */
        store->cursor = cursor;
        store->cursor_writes++;
    }
    for (unsigned i = 0; i < store->cursor; i++)
        assert_int_equal(store->rows[i], (1U << p->world->children[i]) - 1); /* (I2) */
}

static void acknowledge(struct process *p)
{
    p->open = false;
    assert_true(watermark_commit(&p->wm, p->transaction_upto, 0));
}

/* Restart from what is durable and run to the end; the rows must be all there. */
static void recover(const struct world *world, struct store store)
{
    struct process p;
    start(&p, world, &store);
    while (can_admit(&p)) {
        while (can_admit(&p))
            admit(&p);
        for (unsigned i = world->count; i-- > p.first;)
            for (unsigned child = 0; child < world->children[i]; child++)
                if (can_finish(&p, i) && !(p.fetched[i] >> child & 1))
                    finish(&p, i, child);
        assert_true(can_begin(&p));
        begin(&p);
        commit(&p, &store);
        acknowledge(&p);
    }
    assert_int_equal(store.cursor, world->count);
    watermark_deinit(&p.wm);
}

static void crash(struct process *p, const struct store *store)
{
    recover(p->world, *store);
    if (p->open) { /* it committed and the answer was lost */
        struct store landed = *store;
        commit(p, &landed);
        recover(p->world, landed);
    }
}

enum { ADMIT, BEGIN, COMMIT, FINISH };

struct search {
    const struct world *world;
    unsigned char step[STEPS_MAX];
    unsigned long states;
};

static bool enabled(const struct process *p, unsigned op)
{
    switch (op) {
    case ADMIT:
        return can_admit(p);
    case BEGIN:
        return can_begin(p);
    case COMMIT:
        return p->open;
    default:
        return can_finish(p, op - FINISH);
    }
}

static void apply(struct process *p, struct store *store, unsigned op)
{
    switch (op) {
    case ADMIT:
        admit(p);
        break;
    case BEGIN:
        begin(p);
        break;
    case COMMIT:
        commit(p, store);
        acknowledge(p);
        break;
    default: {
        unsigned unit = op - FINISH, child = 0;
        while (p->fetched[unit] >> child & 1)
            child++;
        finish(p, unit, child);
    }
    }
}

/* Every order of events, by replaying the path from the start: the watermark is not copied. */
static void explore(struct search *search, unsigned depth)
{
    struct store store = {0};
    struct process p;
    assert_true(depth < STEPS_MAX);
    start(&p, search->world, &store);
    for (unsigned i = 0; i < depth; i++)
        apply(&p, &store, search->step[i]);
    search->states++;
    crash(&p, &store);
    bool more[FINISH + UNITS_MAX], any = false;
    for (unsigned op = 0; op < FINISH + UNITS_MAX; op++)
        any |= more[op] = enabled(&p, op);
    if (!any)
        assert_int_equal(store.cursor, search->world->count);
    watermark_deinit(&p.wm);
    for (unsigned op = 0; op < FINISH + UNITS_MAX; op++) {
        search->step[depth] = (unsigned char)op;
        if (more[op])
            explore(search, depth + 1);
    }
}

/* R002-01, R002-05, R002-11: kill at every point of every order. */
static void every_small_interleaving_survives_a_crash_anywhere(void **state)
{
    (void)state;
    unsigned long states = 0;
    static const struct world worlds[] = {
        {1, 1, {0}},          {1, 1, {2}},          {2, 2, {1, 1}},       {2, 2, {2, 1}},
        {2, 1, {0, 2}},       {2, 2, {1, 0}},       {2, 2, {2, 2}},       {3, 4, {1, 1, 1}},
        {3, 2, {0, 1, 0}},    {3, 2, {1, 0, 1}},    {3, 4, {2, 1, 0}},    {3, 2, {2, 2, 1}},
        {4, 2, {1, 0, 2, 1}}, {4, 4, {1, 0, 0, 1}}, {4, 4, {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct search search = {.world = &worlds[i]};
        explore(&search, 0);
        states += search.states;
    }
    printf("# interleavings: %lu states, a crash in each\n", states);
}

/* The walkthrough of blocks 100 (A B C), 101 (D E), 102 (F). */
static const struct world walkthrough = {3, 4, {3, 2, 1}};
struct event {
    bool arrives;
    unsigned unit, child;
    const char *pending;
};
static const struct event events[] = {
    {true, 0, 0, "100: (c100, 3)"},
    {true, 1, 0, "100: (c100, 3), 101: (c101, 2)"},
    {true, 2, 0, "100: (c100, 3), 101: (c101, 2), 102: (c102, 1)"},
    {false, 0, 0, "100: (c100, 2), 101: (c101, 2), 102: (c102, 1)"}, /* A */
    {false, 1, 0, "100: (c100, 2), 101: (c101, 1), 102: (c102, 1)"}, /* D */
    {false, 2, 0, "100: (c100, 2), 101: (c101, 1)"},                 /* F */
    {false, 1, 1, "100: (c100, 2)"},                                 /* E */
    {false, 0, 1, "100: (c100, 1)"},                                 /* B */
    {false, 0, 2, ""},                                               /* C */
};

static void print_pending(const struct process *p, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (uint64_t ord = p->wm.base; ord < p->wm.next; ord++) {
        uint64_t block = 100 + watermark_payload(&p->wm, ord);
        unsigned count = watermark_pending(&p->wm, ord);
        if (count > 0)
            len += (size_t)snprintf(out + len, size - len, "%s%u: (c%u, %u)", len > 0 ? ", " : "",
                                    (unsigned)block, (unsigned)block, count);
    }
}

static void play(struct process *p, struct store *store, const struct event *event)
{
    char pending[128];
    if (event->arrives)
        admit(p);
    else
        finish(p, event->unit, event->child);
    print_pending(p, pending, sizeof pending);
    assert_string_equal(pending, event->pending);
    if (can_begin(p)) {
        begin(p);
        commit(p, store);
        acknowledge(p);
    }
}

/* R002-15: the nine events; at the end the position is 102, not 100. R002-10: written once. */
static void the_walkthrough_ends_at_block_102(void **state)
{
    (void)state;
    struct store store = {0};
    struct process p;
    start(&p, &walkthrough, &store);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        assert_int_equal(store.cursor, 0);
        play(&p, &store, &events[i]);
    }
    assert_int_equal(p.wm.staged, 3);
    assert_int_equal(100 + store.cursor - 1, 102);
    assert_int_equal(store.cursor_writes, 1);
    watermark_deinit(&p.wm);
}

/* R002-02, R002-16: after each event a crash; a restart begins before block 100 and ends whole. */
static void the_walkthrough_survives_a_crash_after_each_event(void **state)
{
    (void)state;
    for (size_t stop = 0; stop <= sizeof events / sizeof *events; stop++) {
        struct store store = {0};
        struct process p;
        start(&p, &walkthrough, &store);
        for (size_t i = 0; i < stop; i++)
            play(&p, &store, &events[i]);
        assert_int_equal(store.cursor, stop < 9 ? 0 : 3);
        assert_int_equal(store.rows[0] >> 2 & 1, stop < 9 ? 0 : 1); /* C */
        crash(&p, &store);
        watermark_deinit(&p.wm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_walkthrough_ends_at_block_102),
        cmocka_unit_test(the_walkthrough_survives_a_crash_after_each_event),
        cmocka_unit_test(every_small_interleaving_survives_a_crash_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
