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
    assert_int_equal(watermark_admit(wm, children, payload, &ticket), RC_OK);
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
    assert_int_equal(watermark_admit(&wm, 1, 4, &ticket), RC_AGAIN);
    assert_int_equal(watermark_finish(&wm, 0, 0), WATERMARK_FINISHED);
    assert_true(watermark_stage(&wm));
    assert_int_equal(watermark_admit(&wm, 1, 4, &ticket), RC_AGAIN); /* staged is not durable */
    assert_true(watermark_commit(&wm, wm.staged, wm.epoch));
    assert_int_equal(watermark_admit(&wm, 1, 4, &ticket), RC_OK);
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

/* R002-17: by age or by fill: whoever holds everything up is to be owed, and nobody else. */
static void a_child_is_to_be_owed_when_its_unit_holds_all_up(void **state)
{
    (void)state;
    const struct watermark_patience patience = {.open_us = 500, .crowded_us = 50};
    struct watermark wm;
    int64_t at_us = 0;
    watermark_init(&wm, 8);
    struct watermark_ticket head = admit(&wm, 2, 0), second = admit(&wm, 1, 1);
    assert_true(watermark_owe_at(&wm, &head, 1000, &patience, &at_us));
    assert_int_equal(at_us, 1500);
    assert_false(watermark_owe_at(&wm, &second, 1000, &patience, &at_us));
    for (uint64_t i = 2; i < 6; i++)
        admit(&wm, 0, i);
    assert_true(watermark_owe_at(&wm, &head, 1000, &patience, &at_us));
    assert_int_equal(at_us, 1500); /* 6 of 8 is not above 75 % */
    admit(&wm, 0, 6);
    assert_true(watermark_owe_at(&wm, &head, 1000, &patience, &at_us));
    assert_int_equal(at_us, 1050);
    watermark_finish(&wm, head.ord, head.epoch);
    assert_true(watermark_owe_at(&wm, &head, 1000, &patience, &at_us)); /* the other child */
    watermark_finish(&wm, head.ord, head.epoch);
    assert_false(watermark_owe_at(&wm, &head, 1000, &patience, &at_us));
    assert_true(watermark_stage(&wm));
    assert_true(watermark_owe_at(&wm, &second, 1000, &patience, &at_us));
    assert_int_equal(at_us, 1500); /* 6 wait behind it; what waits for a commit is not its fault */
    watermark_deinit(&wm);
}

/* R002-17, R002-18: nothing is owed for a unit that was dropped, whoever has its ordinal now. */
static void nothing_is_owed_for_a_unit_that_was_undone(void **state)
{
    (void)state;
    const struct watermark_patience patience = {.open_us = 500, .crowded_us = 50};
    struct watermark wm;
    int64_t at_us;
    watermark_init(&wm, 8);
    struct watermark_ticket gone = admit(&wm, 1, 0);
    watermark_undo(&wm, 0);
    assert_false(watermark_owe_at(&wm, &gone, 0, &patience, &at_us));
    struct watermark_ticket again = admit(&wm, 1, 1);
    assert_int_equal(again.ord, gone.ord);
    assert_false(watermark_owe_at(&wm, &gone, 0, &patience, &at_us));
    assert_true(watermark_owe_at(&wm, &again, 0, &patience, &at_us));
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
    uint32_t pending, epoch;
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
    if (expected == WATERMARK_COUNTED && --unit->pending == 0)
        expected = WATERMARK_FINISHED;
    assert_int_equal(watermark_finish(wm, ord, epoch), expected);
}

static void random_transaction_step(struct watermark *wm, struct plain *m, struct seeded *random)
{
    switch (seeded_below(random, 5)) {
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
    default:
        if (seeded_below(random, 8) != 0)
            break;
        watermark_unstage(wm);
        m->staged = m->base;
    }
}

/* Who is to be owed, and when, of a ticket that may be anybody's. */
static void compare_escape(const struct watermark *wm, const struct plain *m, struct seeded *random)
{
    const struct watermark_patience patience = {.open_us = 60, .crowded_us = 15};
    uint64_t low = m->base < 2 ? 0 : m->base - 2, oldest = plain_first_open(m, m->base);
    struct watermark_ticket ticket = {.ord = low + seeded_below(random, m->next - low + 2),
                                      .epoch = (uint32_t)seeded_below(random, m->epoch + 1)};
    if (seeded_below(random, 2) == 0 && oldest < m->next)
        ticket = (struct watermark_ticket){.ord = oldest, .epoch = m->unit[oldest].epoch};
    bool expected =
        oldest < m->next && ticket.ord == oldest && ticket.epoch == m->unit[oldest].epoch;
    int64_t at_us;
    assert_true(watermark_owe_at(wm, &ticket, 1000, &patience, &at_us) == expected);
    double fill = (double)(m->next - oldest) / (double)m->capacity;
    if (expected)
        assert_int_equal(at_us, fill > 0.75 ? 1015 : 1060);
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
    assert_int_equal(watermark_admit(wm, children, payload, &ticket), full ? RC_AGAIN : RC_OK);
    if (full)
        return;
    assert_true(ticket.ord == m->next && ticket.epoch == m->epoch);
    m->unit[m->next++] = (struct plain_unit){payload, children, m->epoch};
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
            compare_escape(&wm, &m, &random);
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
        cmocka_unit_test(a_child_is_to_be_owed_when_its_unit_holds_all_up),
        cmocka_unit_test(nothing_is_owed_for_a_unit_that_was_undone),
        cmocka_unit_test(an_undo_refuses_late_reports_and_keeps_what_lies_below),
        cmocka_unit_test(an_undo_below_base_refuses_the_commit_on_its_way),
        cmocka_unit_test(it_agrees_with_a_plain_model_over_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
