/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/watermark.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct watermark_ticket admit(struct watermark *wm, uint32_t children, uint64_t payload)
{
    struct watermark_ticket ticket;
    assert_int_equal(watermark_admit(wm, children, payload, 0, &ticket), RC_OK);
    return ticket;
}

static void a_full_ring_pushes_back_until_a_commit(void **state)
{
    (void)state;
    struct watermark wm;
    struct watermark_ticket ticket;
    watermark_init(&wm, 4);
    for (uint64_t i = 0; i < 4; i++)
        admit(&wm, 1, i);
    assert_int_equal(watermark_admit(&wm, 1, 4, 0, &ticket), RC_AGAIN);
    assert_int_equal(watermark_finish(&wm, 0, 0), WATERMARK_FINISHED);
    assert_true(watermark_stage(&wm));
    assert_int_equal(watermark_admit(&wm, 1, 4, 0, &ticket), RC_AGAIN); /* staged is not durable */
    assert_true(watermark_commit(&wm, wm.staged, wm.epoch));
    assert_int_equal(watermark_admit(&wm, 1, 4, 0, &ticket), RC_OK);
    assert_int_equal(ticket.ord, 4);
    watermark_deinit(&wm);
}

/* R002-04: dispatching alone never moves a position. R002-13: the lag is visible. */
static void dispatch_alone_moves_nothing(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 64);
    for (uint64_t i = 0; i < 50; i++)
        admit(&wm, 3, i);
    assert_false(watermark_stage(&wm));
    assert_int_equal(wm.base, 0);
    assert_int_equal(wm.staged, 0);
    assert_int_equal(watermark_lag(&wm), 50);
    watermark_deinit(&wm);
}

/* R002-03: a head that hangs keeps no later unit from finishing, up to the span. */
static void a_slow_head_holds_up_the_position_only(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 128);
    for (uint64_t i = 0; i < 128; i++)
        admit(&wm, 1, i);
    for (uint64_t i = 1; i < 128; i++)
        assert_int_equal(watermark_finish(&wm, i, 0), WATERMARK_FINISHED);
    assert_false(watermark_stage(&wm));
    assert_int_equal(watermark_lag(&wm), 128);
    assert_int_equal(watermark_finish(&wm, 0, 0), WATERMARK_FINISHED);
    assert_true(watermark_stage(&wm));
    assert_int_equal(wm.staged, 128);
    watermark_deinit(&wm);
}

/* R002-06: empty units advance the watermark like any other. */
static void empty_units_are_finished_at_once(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 256);
    for (uint64_t i = 0; i < 10000; i++) {
        struct watermark_ticket ticket = admit(&wm, 0, i);
        assert_int_equal(watermark_finish_once(&wm, &ticket), WATERMARK_ALREADY);
        if (i % 100 == 99) {
            assert_true(watermark_stage(&wm));
            assert_int_equal(watermark_payload(&wm, wm.staged - 1), i);
            assert_true(watermark_commit(&wm, wm.staged, wm.epoch));
        }
    }
    assert_int_equal(wm.base, 10000);
    watermark_deinit(&wm);
}

/* R002-08: each child counts once; what is unknown, late or repeated changes nothing. */
static void a_report_counts_exactly_once(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 8);
    struct watermark_ticket child[3];
    child[0] = child[1] = child[2] = admit(&wm, 3, 0);
    assert_int_equal(watermark_finish_once(&wm, &child[0]), WATERMARK_COUNTED);
    assert_int_equal(watermark_finish_once(&wm, &child[0]), WATERMARK_ALREADY);
    assert_int_equal(watermark_finish_once(&wm, &child[0]), WATERMARK_ALREADY);
    assert_int_equal(watermark_pending(&wm, 0), 2);
    assert_int_equal(watermark_finish(&wm, 1, 0), WATERMARK_UNKNOWN);
    assert_int_equal(watermark_finish(&wm, UINT64_MAX, 0), WATERMARK_UNKNOWN);
    assert_int_equal(watermark_pending(&wm, 0), 2);
    assert_int_equal(watermark_finish_once(&wm, &child[1]), WATERMARK_COUNTED);
    assert_int_equal(watermark_finish_once(&wm, &child[2]), WATERMARK_FINISHED);
    assert_int_equal(watermark_finish(&wm, 0, 0), WATERMARK_ALREADY);
    assert_true(watermark_stage(&wm));
    assert_true(watermark_commit(&wm, 1, 0));
    assert_int_equal(watermark_finish(&wm, 0, 0), WATERMARK_UNKNOWN);
    watermark_deinit(&wm);
}

/* R002-10: many children, one cursor. R002-09: the order 102, 101, 100 ends at 102. */
static void the_position_moves_once_to_the_end_of_the_run(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 4);
    admit(&wm, 50, 100);
    admit(&wm, 1, 101);
    admit(&wm, 1, 102);
    int cursor_writes = 0;
    assert_int_equal(watermark_finish(&wm, 2, 0), WATERMARK_FINISHED);
    cursor_writes += watermark_stage(&wm);
    assert_int_equal(watermark_finish(&wm, 1, 0), WATERMARK_FINISHED);
    cursor_writes += watermark_stage(&wm);
    for (int i = 0; i < 50; i++) {
        watermark_finish(&wm, 0, 0);
        cursor_writes += watermark_stage(&wm);
    }
    assert_int_equal(cursor_writes, 1);
    assert_int_equal(watermark_payload(&wm, wm.staged - 1), 102);
    watermark_deinit(&wm);
}

static void a_transaction_given_up_is_staged_again(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 4);
    admit(&wm, 1, 7);
    watermark_finish(&wm, 0, 0);
    assert_true(watermark_stage(&wm));
    assert_false(watermark_stage(&wm));
    watermark_unstage(&wm);
    assert_int_equal(wm.base, 0);
    assert_true(watermark_stage(&wm));
    assert_true(watermark_commit(&wm, 1, 0));
    assert_int_equal(wm.base, 1);
    watermark_deinit(&wm);
}

/* R002-17: a fetch that fails is not done; owed, it lets the head pass. R002-12. */
static void an_owed_child_lets_the_head_pass(void **state)
{
    (void)state;
    struct watermark wm;
    uint64_t ord = 99;
    uint32_t owed;
    struct watermark_ticket ticket;
    watermark_init(&wm, 8);
    assert_false(watermark_is_stuck(&wm, 1000, 0, &ord));
    assert_int_equal(watermark_admit(&wm, 3, 0, 1000, &ticket), RC_OK);
    assert_false(watermark_is_stuck(&wm, 1500, 500, &ord));
    assert_true(watermark_is_stuck(&wm, 1501, 500, &ord));
    assert_int_equal(ord, 0);
    watermark_finish(&wm, 0, 0);
    for (uint64_t i = 1; i < 7; i++) {
        assert_false(watermark_is_stuck(&wm, 1000, 500, &ord)); /* 6 of 8 is not above 75 % */
        admit(&wm, 0, i);
    }
    assert_true(watermark_is_stuck(&wm, 1000, 500, &ord));
    assert_int_equal(watermark_owe(&wm, 0, 0, &owed), WATERMARK_FINISHED);
    assert_int_equal(owed, 2);
    assert_int_equal(watermark_owe(&wm, 0, 0, &owed), WATERMARK_ALREADY);
    assert_int_equal(owed, 0);
    assert_true(watermark_stage(&wm));
    assert_int_equal(wm.staged, 7);
    assert_false(watermark_is_stuck(&wm, 9999, 500, &ord));
    /* The transaction with the owed rows was given up. */
    assert_true(watermark_unowe(&wm, 0, 0));
    assert_false(watermark_unowe(&wm, 0, 0));
    assert_int_equal(wm.staged, 0);
    assert_int_equal(watermark_pending(&wm, 0), 2);
    assert_false(watermark_stage(&wm));
    watermark_deinit(&wm);
}

/* R002-18: the same ordinals again with another hash; late reports of the first are refused. */
static void an_undo_refuses_late_reports_and_keeps_what_lies_below(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 4);
    struct watermark_ticket below = admit(&wm, 1, 100);
    struct watermark_ticket gone = admit(&wm, 1, 101);
    struct watermark_ticket far = admit(&wm, 1, 102);
    watermark_undo(&wm, 1);
    assert_int_equal(watermark_finish_once(&wm, &far), WATERMARK_STALE);
    struct watermark_ticket again = admit(&wm, 1, 201);
    assert_int_equal(again.ord, gone.ord);
    assert_int_not_equal(again.epoch, gone.epoch);
    assert_int_equal(watermark_finish_once(&wm, &gone), WATERMARK_STALE);
    assert_int_equal(watermark_pending(&wm, 1), 1);
    assert_int_equal(watermark_finish_once(&wm, &below), WATERMARK_FINISHED);
    assert_int_equal(watermark_finish_once(&wm, &again), WATERMARK_FINISHED);
    assert_true(watermark_stage(&wm));
    assert_int_equal(watermark_payload(&wm, wm.staged - 1), 201);
    watermark_deinit(&wm);
}

/* R002-18: below the watermark, with a transaction on its way. */
static void an_undo_below_base_refuses_the_commit_on_its_way(void **state)
{
    (void)state;
    struct watermark wm;
    watermark_init(&wm, 8);
    for (uint64_t i = 0; i < 5; i++)
        admit(&wm, 0, i);
    assert_true(watermark_stage(&wm));
    assert_true(watermark_commit(&wm, 4, 0));
    watermark_undo(&wm, 2);
    assert_int_equal(wm.base, 2);
    assert_int_equal(wm.next, 2);
    assert_false(watermark_commit(&wm, 5, 0)); /* staged before the undo */
    assert_int_equal(wm.base, 2);
    admit(&wm, 0, 22);
    assert_true(watermark_stage(&wm));
    assert_true(watermark_commit(&wm, 3, 1));
    assert_int_equal(wm.base, 3);
    watermark_undo(&wm, wm.base); /* a reconnect */
    assert_int_equal(watermark_lag(&wm), 0);
    watermark_deinit(&wm);
}

/* A plain model: arrays by ordinal, every question answered by a walk. */
enum { ORDINALS = 4096, REPORTS = 256 };
struct plain_unit {
    uint64_t payload;
    uint32_t pending, owed, epoch;
};
struct plain {
    struct plain_unit unit[ORDINALS];
    uint64_t base, staged, next, capacity;
    uint32_t epoch;
};

static uint64_t plain_first_open(const struct plain *m, uint64_t from)
{
    while (from < m->next && m->unit[from].pending == 0)
        from++;
    return from;
}

static enum watermark_answer plain_judge(const struct plain *m, uint64_t ord, uint32_t epoch)
{
    if (ord < m->base)
        return WATERMARK_UNKNOWN;
    if (ord >= m->next)
        return epoch == m->epoch ? WATERMARK_UNKNOWN : WATERMARK_STALE;
    if (m->unit[ord].epoch != epoch)
        return WATERMARK_STALE;
    return m->unit[ord].pending == 0 ? WATERMARK_ALREADY : WATERMARK_COUNTED;
}

static void compare(const struct watermark *wm, const struct plain *m)
{
    uint64_t open = 0, oldest = plain_first_open(m, m->base);
    assert_true(wm->base == m->base && wm->staged == m->staged && wm->next == m->next);
    assert_true(wm->base <= wm->staged && wm->staged <= wm->next); /* (I1) */
    assert_true(wm->epoch == m->epoch && watermark_lag(wm) == m->next - m->base);
    assert_true(watermark_oldest_unfinished(wm, &open) == (oldest < m->next));
    assert_true(oldest == m->next || open == oldest);
    if (m->next == m->base)
        return;
    uint64_t ord = m->base + (m->next * 7919) % (m->next - m->base);
    assert_true(watermark_pending(wm, ord) == m->unit[ord].pending);
    assert_true(watermark_payload(wm, ord) == m->unit[ord].payload);
    assert_true(watermark_unit_epoch(wm, ord) == m->unit[ord].epoch);
}

static void random_report(struct watermark *wm, struct plain *m, struct seeded *random)
{
    uint64_t span = m->next - m->base + 4, low = m->base < 2 ? 0 : m->base - 2;
    uint64_t ord = low + seeded_below(random, span);
    uint32_t epoch = ord < ORDINALS && seeded_below(random, 4) != 0 ? m->unit[ord].epoch : m->epoch;
    if (seeded_below(random, 16) == 0)
        epoch = (uint32_t)seeded_below(random, m->epoch + 1);
    enum watermark_answer expected = plain_judge(m, ord, epoch);
    struct plain_unit *unit = &m->unit[ord];
    if (seeded_below(random, 8) == 0) {
        uint32_t owed;
        enum watermark_answer answer = watermark_owe(wm, ord, epoch, &owed);
        if (expected == WATERMARK_COUNTED) {
            expected = WATERMARK_FINISHED;
            assert_int_equal(owed, unit->pending);
            unit->owed = unit->pending;
            unit->pending = 0;
        }
        assert_int_equal(answer, expected);
        return;
    }
    if (expected == WATERMARK_COUNTED && --unit->pending == 0)
        expected = WATERMARK_FINISHED;
    assert_int_equal(watermark_finish(wm, ord, epoch), expected);
}

static void random_transaction_step(struct watermark *wm, struct plain *m, struct seeded *random)
{
    switch (seeded_below(random, 6)) {
    case 0:
    case 1: {
        uint64_t upto = plain_first_open(m, m->staged);
        assert_true(watermark_stage(wm) == (upto > m->staged));
        m->staged = upto;
        break;
    }
    case 2:
    case 3: {
        uint64_t upto = m->base + seeded_below(random, m->staged - m->base + 1);
        bool late = m->epoch > 0 && seeded_below(random, 8) == 0;
        assert_true(watermark_commit(wm, upto, m->epoch - late) == !late);
        m->base = late ? m->base : upto;
        break;
    }
    case 4:
        if (seeded_below(random, 8) != 0)
            break;
        watermark_unstage(wm);
        m->staged = m->base;
        break;
    default: {
        uint64_t ord = m->base + seeded_below(random, m->capacity + 1);
        bool owes = ord < m->next && m->unit[ord].owed > 0;
        if (owes && seeded_below(random, 4) != 0)
            break;
        assert_true(watermark_unowe(wm, ord, ord < m->next ? m->unit[ord].epoch : 0) == owes);
        if (owes) {
            m->unit[ord].pending = m->unit[ord].owed;
            m->unit[ord].owed = 0;
            m->staged = m->staged > ord ? ord : m->staged;
        }
    }
    }
}

static void random_undo(struct watermark *wm, struct plain *m, struct seeded *random)
{
    uint64_t low = m->base < 3 ? 0 : m->base - 3;
    uint64_t ord = low + seeded_below(random, m->next - low + 1);
    watermark_undo(wm, ord);
    m->epoch++;
    m->next = ord;
    m->base = m->base > ord ? ord : m->base;
    m->staged = m->base;
}

static void random_admit(struct watermark *wm, struct plain *m, struct seeded *random)
{
    struct watermark_ticket ticket;
    uint32_t children = (uint32_t)seeded_below(random, 4);
    uint64_t payload = seeded_next(random);
    bool full = m->next - m->base == m->capacity;
    assert_int_equal(watermark_admit(wm, children, payload, 1, &ticket), full ? RC_AGAIN : RC_OK);
    if (full)
        return;
    assert_true(ticket.ord == m->next && ticket.epoch == m->epoch);
    m->unit[m->next++] = (struct plain_unit){payload, children, 0, m->epoch};
}

static void it_agrees_with_a_plain_model_over_random_operations(void **state)
{
    (void)state;
    enum { OPERATIONS = 1500000 };
    static const uint64_t capacities[] = {1, 2, 4, 16, 64, 128, 512};
    static struct plain m;
    struct seeded random = seeded_start("watermark");
    struct watermark wm;
    for (int done = 0, round = 0; done < OPERATIONS; round++) {
        uint64_t capacity = capacities[(size_t)round % (sizeof capacities / sizeof *capacities)];
        memset(&m, 0, sizeof m);
        m.capacity = capacity;
        watermark_init(&wm, capacity);
        for (int i = 0; i < 20000 && m.next < ORDINALS - 8; i++, done++) {
            uint64_t dice = seeded_below(&random, 1000);
            if (dice < 250)
                random_admit(&wm, &m, &random);
            else if (dice < 850)
                random_report(&wm, &m, &random);
            else if (dice < 995)
                random_transaction_step(&wm, &m, &random);
            else
                random_undo(&wm, &m, &random);
            compare(&wm, &m);
        }
        watermark_deinit(&wm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_pushes_back_until_a_commit),
        cmocka_unit_test(dispatch_alone_moves_nothing),
        cmocka_unit_test(a_slow_head_holds_up_the_position_only),
        cmocka_unit_test(empty_units_are_finished_at_once),
        cmocka_unit_test(a_report_counts_exactly_once),
        cmocka_unit_test(the_position_moves_once_to_the_end_of_the_run),
        cmocka_unit_test(a_transaction_given_up_is_staged_again),
        cmocka_unit_test(an_owed_child_lets_the_head_pass),
        cmocka_unit_test(an_undo_refuses_late_reports_and_keeps_what_lies_below),
        cmocka_unit_test(an_undo_below_base_refuses_the_commit_on_its_way),
        cmocka_unit_test(it_agrees_with_a_plain_model_over_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
