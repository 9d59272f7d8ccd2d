/* SPDX-License-Identifier: Apache-2.0
 *
 * Owed work against a naive table, with batches that commit or are lost and readings of the table
 * that come late. */
#include "ingest/owed.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_US INT64_C(1000000)

static const struct owed_failure slow = {"gate-a", RETRY_TRANSIENT, "no answer", -1};

enum { NAMES = 40, FLIGHTS = 6, RUNS = 3 };
enum fate { NOTHING, STORED, OWED, DEAD };

struct row {
    enum fate fate;
    bool stored;
    int attempts;
    int64_t next_us;
    char refused_by[OWED_PROVIDER_MAX + 1];
};

/* One batch on its way: its rows in order, and the items whose data it holds. */
struct flight {
    struct batch batch;
    bool stores[NAMES];
    bool used;
};

struct model {
    struct owed owed;
    struct seeded random;
    struct row table[NAMES];
    struct flight flights[FLIGHTS];
    size_t first, count; /* a ring: the writer is first come, first served */
    struct owed_ticket tickets[RUNS];
    int running[RUNS]; /* item, -1: none */
    bool loading;
    struct row snapshot[NAMES];
    bool promised[NAMES]; /* some committed unit relies on its row */
    int64_t now;
    unsigned long stories;
};

static int index_of(struct bytes item)
{
    char digits[16] = "";
    memcpy(digits, item.data, item.len);
    return (int)strtoull(digits + 1, NULL, 10);
}

static struct bytes name_of(int item)
{
    static char name[16];
    snprintf(name, sizeof name, "u%d", item);
    return bytes_of(name);
}

static void apply_row(struct row *row, const struct record *record)
{
    struct bytes state = record->fields[OWED_STATE].b;
    if (bytes_equal_string(state, "done")) {
        row->fate = row->stored ? STORED : NOTHING;
        return;
    }
    if (bytes_equal_string(state, "new") && (row->fate == OWED || row->fate == DEAD))
        return;
    row->fate = bytes_equal_string(state, "dead") ? DEAD : OWED;
    row->attempts = (int)record->fields[OWED_ATTEMPTS].i;
    row->next_us = record->fields[OWED_NEXT_US].null ? 0 : record->fields[OWED_NEXT_US].i;
    struct bytes by = record->fields[OWED_REFUSED_BY].b;
    memset(row->refused_by, 0, sizeof row->refused_by);
    if (!record->fields[OWED_REFUSED_BY].null && memchr(by.data, '\n', by.len) == NULL)
        memcpy(row->refused_by, by.data, by.len);
}

/* Exactly one of the three for what is promised, never two for anything. */
static void check_promise(const struct model *m)
{
    for (int i = 0; i < NAMES; i++) {
        const struct row *row = &m->table[i];
        bool remembered = row->fate == OWED || row->fate == DEAD;
        assert_false(row->stored && remembered);
        if (m->promised[i])
            assert_true(row->stored || remembered);
        if (row->fate == OWED && !m->owed.more)
            assert_non_null(owed_find(&m->owed, name_of(i)));
    }
}

static void answer_first(struct model *m, bool commits)
{
    if (m->count == 0)
        return;
    struct flight *flight = &m->flights[m->first];
    if (commits) {
        for (int i = 0; i < NAMES; i++)
            m->table[i].stored |= flight->stores[i];
        for (struct record *r = flight->batch.first[RECORD_OWED]; r != NULL; r = r->next) {
            int item = index_of(r->fields[OWED_ITEM].b);
            apply_row(&m->table[item], r);
            m->promised[item] = true;
        }
    }
    owed_answered(&m->owed, &flight->batch, commits ? RC_OK : RC_REJECT);
    m->first = (m->first + 1) % FLIGHTS;
    m->count--;
}

/* The batch that is being filled. */
static struct flight *filling(struct model *m)
{
    return &m->flights[(m->first + m->count) % FLIGHTS];
}

static void hand_over(struct model *m)
{
    if (filling(m)->batch.record_count == 0 && !filling(m)->used)
        return;
    if (m->count == FLIGHTS - 1)
        answer_first(m, seeded_below(&m->random, 10) != 0);
    m->count++;
    struct flight *next = filling(m);
    struct arena arena = next->batch.arena;
    arena_reset(&arena);
    *next = (struct flight){.batch.arena = arena};
}

static struct owed_failure any_failure(struct model *m)
{
    static const char *const providers[] = {"gate-a", "gate-b", "gate-c"};
    return (struct owed_failure){
        providers[seeded_below(&m->random, 3)],
        seeded_below(&m->random, 3) == 0 ? RETRY_PERMANENT : RETRY_TRANSIENT, "why", -1};
}

/* A fetch, new or of a block met again, ends well or badly. */
static void fetch_ends(struct model *m, int item, bool well)
{
    struct flight *flight = filling(m);
    struct owed_failure failure = any_failure(m);
    if (m->table[item].stored && !well)
        return; /* what is stored is not fetched */
    enum rc rc = well ? owed_done(&m->owed, &flight->batch, name_of(item))
                      : owed_put(&m->owed, &flight->batch, name_of(item), BYTES_ABSENT, &failure, 1,
                                 m->now, seeded_next(&m->random));
    if (rc == RC_OK && well)
        flight->stores[item] = flight->used = true;
    if (rc == RC_AGAIN)
        hand_over(m);
}

static void retry_ends(struct model *m, size_t run, bool well)
{
    int item = m->running[run];
    struct flight *flight = filling(m);
    struct owed_failure failure = any_failure(m);
    if (item < 0)
        return;
    enum rc rc = well ? owed_done(&m->owed, &flight->batch, name_of(item))
                      : owed_failed(&m->owed, &flight->batch, m->tickets[run], &failure, m->now,
                                    seeded_next(&m->random));
    if (rc == RC_AGAIN) {
        hand_over(m);
        return;
    }
    assert_int_equal(rc, RC_OK);
    if (well)
        flight->stores[item] = flight->used = true;
    m->running[run] = -1;
}

static void take(struct model *m)
{
    for (size_t run = 0; run < RUNS; run++) {
        if (m->running[run] >= 0)
            continue;
        const struct owed_item *item = owed_take(&m->owed, 9, 0, m->now, &m->tickets[run]);
        if (item == NULL)
            return;
        m->running[run] = index_of(bytes_of(item->item));
    }
}

static void begin_load(struct model *m)
{
    struct field params[OWED_LOAD_PARAMS];
    if (m->loading || !owed_wants_load(&m->owed))
        return;
    owed_load_begin(&m->owed, params);
    memcpy(m->snapshot, m->table, sizeof m->snapshot);
    m->loading = true;
}

static void end_load(struct model *m)
{
    if (!m->loading)
        return;
    uint32_t rows = 0;
    for (int64_t last = -1;;) { /* in order of next_us, naively */
        int64_t least = INT64_MAX;
        for (int i = 0; i < NAMES; i++)
            if (m->snapshot[i].fate == OWED && m->snapshot[i].next_us > last &&
                m->snapshot[i].next_us < least)
                least = m->snapshot[i].next_us;
        if (least == INT64_MAX)
            break;
        for (int i = 0; i < NAMES; i++) {
            const struct row *row = &m->snapshot[i];
            if (row->fate != OWED || row->next_us != least || rows > m->owed.settings.items_max)
                continue;
            struct field columns[] = {field_text(name_of(i)),
                                      field_null(FIELD_TEXT),
                                      field_text(bytes_of("r")),
                                      row->refused_by[0] ? field_text(bytes_of(row->refused_by))
                                                         : field_null(FIELD_TEXT),
                                      field_int(row->attempts),
                                      field_int(row->next_us),
                                      field_int(0)};
            rows++;
            if (!owed_load_row(&m->owed, columns, 7))
                rows = m->owed.settings.items_max + 1;
        }
        last = least;
    }
    owed_load_end(&m->owed, true);
    m->loading = false;
}

static bool is_under_way(const struct model *m, int item)
{
    for (size_t run = 0; run < RUNS; run++)
        if (m->running[run] == item)
            return true;
    for (size_t i = 0; i <= m->count; i++) {
        const struct flight *flight = &m->flights[(m->first + i) % FLIGHTS];
        for (struct record *r = flight->batch.first[RECORD_OWED]; r != NULL; r = r->next)
            if (index_of(r->fields[OWED_ITEM].b) == item)
                return true;
    }
    return owed_find(&m->owed, name_of(item)) != NULL;
}

/* The names are few: one whose story is over begins a new one. */
static void begin_anew(struct model *m)
{
    for (int i = 0; i < NAMES && !m->loading; i++) {
        if (m->table[i].fate == OWED || is_under_way(m, i))
            continue;
        m->stories += m->promised[i];
        m->table[i] = (struct row){0};
        m->promised[i] = false;
    }
}

static void one_step(struct model *m, uint64_t failing_percent)
{
    bool well = seeded_below(&m->random, 100) >= failing_percent;
    uint64_t op = seeded_below(&m->random, 100);
    m->now += (int64_t)seeded_below(&m->random, 3 * 1000000);
    if (op < 2)
        begin_anew(m);
    else if (op < 20)
        fetch_ends(m, (int)seeded_below(&m->random, NAMES), well);
    else if (op < 50)
        retry_ends(m, seeded_below(&m->random, RUNS), well);
    else if (op < 65)
        take(m);
    else if (op < 80)
        hand_over(m);
    else if (op < 93)
        answer_first(m, seeded_below(&m->random, 10) != 0);
    else if (op < 97)
        begin_load(m);
    else
        end_load(m);
}

/* With everything going well the debt is paid: nothing owed was forgotten. */
static void pay_everything(struct model *m)
{
    for (int round = 0; round < 2000; round++) {
        m->now += 700 * SECOND_US;
        end_load(m);
        for (size_t run = 0; run < RUNS; run++)
            retry_ends(m, run, true);
        hand_over(m);
        while (m->count > 0)
            answer_first(m, true);
        begin_load(m);
        end_load(m);
        take(m);
    }
    for (int i = 0; i < NAMES; i++)
        assert_int_not_equal(m->table[i].fate, OWED);
    assert_int_equal(m->owed.count, 0);
}

static struct model *new_model(struct seeded random, uint32_t capacity)
{
    struct model *m = calloc(1, sizeof *m);
    m->random = random;
    for (size_t run = 0; run < RUNS; run++)
        m->running[run] = -1;
    for (size_t i = 0; i < FLIGHTS; i++)
        arena_init(&m->flights[i].batch.arena, 1 << 14);
    owed_init(&m->owed, &(struct owed_settings){"content", "blocks", capacity, 12, 25,
                                                seeded_next(&m->random)});
    return m;
}

static void free_model(struct model *m)
{
    owed_deinit(&m->owed);
    for (size_t i = 0; i < FLIGHTS; i++)
        arena_deinit(&m->flights[i].batch.arena);
    free(m);
}

static void items_beyond_memory_get_their_turn_though_nothing_succeeds(void **state)
{
    (void)state;
    struct owed_failure failure = slow;
    struct model *m = new_model(seeded_start("rotation"), 4);
    for (int i = 0; i < NAMES; i++) {
        assert_int_equal(owed_put(&m->owed, &filling(m)->batch, name_of(i), BYTES_ABSENT, &failure,
                                  1, m->now, 0),
                         RC_OK);
        hand_over(m);
        answer_first(m, true);
    }
    for (int round = 0; round < 40 * NAMES; round++) {
        m->now += 60 * SECOND_US;
        take(m);
        for (size_t run = 0; run < RUNS; run++) {
            if (m->running[run] >= 0)
                assert_int_equal(
                    owed_failed(&m->owed, &filling(m)->batch, m->tickets[run], &failure, m->now, 0),
                    RC_OK);
            m->running[run] = -1;
        }
        hand_over(m);
        answer_first(m, true);
        begin_load(m);
        end_load(m);
    }
    for (int i = 0; i < NAMES; i++)
        assert_true(m->table[i].attempts > 20);
    free_model(m);
}

/* R002-12: exactly one of stored, owed, dead, after each of a million steps. */
static void no_item_is_ever_forgotten_or_both_stored_and_owed(void **state)
{
    (void)state;
    struct seeded random = seeded_start("owed");
    unsigned long steps = 0, stories = 0;
    for (uint32_t capacity = 4; steps < 1000000; capacity = capacity == 4    ? 16
                                                            : capacity == 16 ? 64
                                                                             : 4) {
        struct model *m = new_model(random, capacity);
        for (int i = 0; i < 20000; i++, steps++) {
            one_step(m, (uint64_t)(i / 2000) * 10);
            check_promise(m);
        }
        pay_everything(m);
        check_promise(m);
        random = m->random;
        stories += m->stories;
        free_model(m);
    }
    assert_true(stories > 50000);
    printf("# owed: %lu steps, %lu items settled\n", steps, stories);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_beyond_memory_get_their_turn_though_nothing_succeeds),
        cmocka_unit_test(no_item_is_ever_forgotten_or_both_stored_and_owed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
