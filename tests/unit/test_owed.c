/* SPDX-License-Identifier: Apache-2.0
 *
 * Owed work: rows, waits, verdicts, places. */
#include "ingest/owed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)

static const struct owed_failure slow = {"gate-a", RETRY_TRANSIENT, "no answer", -1};
static const struct owed_failure gone_a = {"gate-a", RETRY_PERMANENT, "404", -1};
static const struct owed_failure gone_b = {"gate-b", RETRY_PERMANENT, "410", -1};

struct bench {
    struct owed owed;
    struct batch batch;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct field params[OWED_LOAD_PARAMS];
    owed_init(&bench->owed, &(struct owed_settings){"content", "blocks", 4, 8, 25, 7});
    arena_init(&bench->batch.arena, 1 << 16);
    assert_true(owed_wants_load(&bench->owed));
    owed_load_begin(&bench->owed, params);
    owed_load_end(&bench->owed, true);
    assert_false(owed_wants_load(&bench->owed));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    owed_deinit(&bench->owed);
    arena_deinit(&bench->batch.arena);
    free(bench);
    return 0;
}

/* The row the batch holds last, as "state item attempts". */
static const char *last_row(const struct bench *bench)
{
    static char text[64];
    const struct record *row = bench->batch.last[RECORD_OWED];
    assert_non_null(row);
    snprintf(text, sizeof text, "%.*s %.*s %d", (int)row->fields[OWED_STATE].b.len,
             row->fields[OWED_STATE].b.data, (int)row->fields[OWED_ITEM].b.len,
             row->fields[OWED_ITEM].b.data, (int)row->fields[OWED_ATTEMPTS].i);
    return text;
}

static void answer(struct bench *bench, enum rc rc)
{
    struct arena arena = bench->batch.arena;
    arena_reset(&arena);
    bench->batch = (struct batch){.arena = arena};
    owed_answered(&bench->owed, &bench->batch, rc);
}

static enum rc put(struct bench *bench, const char *item, const struct owed_failure *failure,
                   int64_t now_us)
{
    return owed_put(&bench->owed, &bench->batch, bytes_of(item), bytes_of("unit"), failure, 1,
                    now_us, RETRY_CENTRE);
}

static int64_t next_us(const struct bench *bench)
{
    int64_t at_us = -1;
    return owed_next_us(&bench->owed, &at_us) ? at_us : -1;
}

/* R002-17: a failing fetch becomes a row, is tried again, and is gone once it is stored. */
static void a_failed_fetch_waits_and_is_done_when_it_is_stored(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_string_equal(last_row(bench), "new x 1");
    assert_int_equal(next_us(bench), -1); /* its row is not durable yet */
    answer(bench, RC_OK);
    assert_int_equal(next_us(bench), 6250000);
    assert_null(owed_take(&bench->owed, 8, 0, 6249999, &ticket));
    const struct owed_item *item = owed_take(&bench->owed, 8, 0, 6250000, &ticket);
    assert_string_equal(item->item, "x");
    assert_string_equal(item->unit, "unit");
    assert_string_equal(item->reason, "gate-a: no answer");
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &slow, 7 * SECOND_US, 0),
                     RC_OK);
    assert_string_equal(last_row(bench), "owed x 2");
    answer(bench, RC_OK);
    assert_non_null(owed_take(&bench->owed, 8, 0, 20 * SECOND_US, &ticket));
    assert_int_equal(owed_done(&bench->owed, &bench->batch, bytes_of("x")), RC_OK);
    assert_string_equal(last_row(bench), "done x 2");
    answer(bench, RC_OK);
    assert_null(owed_find(&bench->owed, bytes_of("x")));
    assert_int_equal(bench->owed.count, 0);
}

/* R002-17: 5 to 600 s, whatever the chance, and whatever the server asks. */
static void waits_double_from_5_to_600_seconds(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    const uint64_t chances[] = {0, RETRY_CENTRE, UINT64_MAX};
    int64_t now = 0, before[3] = {0};
    for (int attempt = 1; attempt <= 12; attempt++) {
        int64_t waits[3];
        for (int i = 0; i < 3; i++) {
            if (attempt == 1)
                assert_int_equal(owed_put(&bench->owed, &bench->batch, bytes_of("x"), BYTES_ABSENT,
                                          &slow, 1, now, chances[i]),
                                 RC_OK);
            else
                assert_int_equal(
                    owed_failed(&bench->owed, &bench->batch, ticket, &slow, now, chances[i]),
                    RC_OK);
            waits[i] = bench->batch.last[RECORD_OWED]->fields[OWED_NEXT_US].i - now;
            assert_in_range(waits[i], OWED_DELAY_US_MIN, OWED_DELAY_US_MAX);
            assert_true(waits[i] >= before[i]);
            answer(bench, i < 2 ? RC_FATAL : RC_OK); /* the same attempt again */
            if (i < 2 && attempt > 1) {
                struct field row[] = {field_text(bytes_of("x")),
                                      field_null(FIELD_TEXT),
                                      field_text(bytes_of("r")),
                                      field_null(FIELD_TEXT),
                                      field_int(attempt - 1),
                                      field_int(now),
                                      field_int(0)};
                struct field params[OWED_LOAD_PARAMS];
                owed_load_begin(&bench->owed, params);
                assert_true(owed_load_row(&bench->owed, row, 7));
                owed_load_end(&bench->owed, true);
                assert_non_null(owed_take(&bench->owed, 8, 0, now, &ticket));
            }
        }
        bench->owed.more = false; /* as after a reading that found nothing else */
        if (owed_find(&bench->owed, bytes_of("x")) == NULL)
            fail_msg("left memory at attempt %d", attempt);
        now += waits[2];
        memcpy(before, waits, sizeof before);
        assert_non_null(owed_take(&bench->owed, 8, 0, now, &ticket));
    }
    assert_int_equal(before[0], 400 * SECOND_US);
    assert_int_equal(before[1], 500 * SECOND_US);
    struct owed_failure busy = {"gate-a", RETRY_RATE_LIMITED, "429", 1800 * SECOND_US};
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &busy, now, 0), RC_OK);
    assert_int_equal(bench->batch.last[RECORD_OWED]->fields[OWED_NEXT_US].i,
                     now + OWED_DELAY_US_MAX);
}

/* R002-17: gateways that are asked together are one attempt, however many there are: more of them
 * do not make the next one later. */
static void a_round_at_many_providers_is_one_attempt(void **state)
{
    struct bench *bench = *state;
    struct owed_failure round[8];
    for (size_t i = 0; i < 8; i++)
        round[i] = slow;
    assert_int_equal(owed_put(&bench->owed, &bench->batch, bytes_of("x"), BYTES_ABSENT, round, 8, 0,
                              RETRY_CENTRE),
                     RC_OK);
    assert_string_equal(last_row(bench), "new x 1");
    answer(bench, RC_OK);
    assert_int_equal(next_us(bench), 6250000);
}

/* What one provider asks for is its own business while there are others that ask for nothing; when
 * all ask, the first that may be asked again decides. */
static void a_wait_is_kept_when_every_provider_asks_for_it(void **state)
{
    struct bench *bench = *state;
    static const struct owed_failure hour = {"gate-b", RETRY_RATE_LIMITED, "429", 3600 * SECOND_US};
    static const struct owed_failure minute = {"gate-c", RETRY_RATE_LIMITED, "429", 60 * SECOND_US};
    const struct owed_failure one[] = {hour, slow}, all[] = {hour, minute}, long_one[] = {hour};
    static const int64_t waits[] = {6250000, 60 * SECOND_US, OWED_DELAY_US_MAX};
    const struct owed_failure *const rounds[] = {one, all, long_one};
    const size_t counts[] = {2, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        assert_int_equal(owed_put(&bench->owed, &bench->batch, bytes_of(name), BYTES_ABSENT,
                                  rounds[i], counts[i], 0, RETRY_CENTRE),
                         RC_OK);
        assert_int_equal(bench->batch.last[RECORD_OWED]->fields[OWED_NEXT_US].i, waits[i]);
    }
}

static void two_different_providers_make_it_dead(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    assert_int_equal(put(bench, "x", &gone_a, 0), RC_OK);
    answer(bench, RC_OK);
    const struct owed_item *item = owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &ticket);
    assert_true(owed_refused_by(item, "gate-a"));
    assert_false(owed_refused_by(item, "gate-b"));
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &gone_a, 0, 0), RC_OK);
    assert_string_equal(last_row(bench), "owed x 2"); /* the same one again proves nothing */
    answer(bench, RC_OK);
    assert_non_null(owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &ticket));
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &gone_b, 0, 0), RC_OK);
    assert_string_equal(last_row(bench), "dead x 3");
    const struct record *row = bench->batch.last[RECORD_OWED];
    assert_true(
        bytes_equal_string(row->fields[OWED_REASON].b, "permanent at gate-a and at gate-b: 410"));
    assert_true(bytes_equal_string(row->fields[OWED_REFUSED_BY].b, "gate-a\ngate-b"));
    assert_true(row->fields[OWED_NEXT_US].null);
    answer(bench, RC_OK);
    assert_int_equal(bench->owed.count, 0);
    /* Both at the first fetch: dead at once. And a person can have it tried again. */
    const struct owed_failure both[] = {gone_b, gone_a};
    assert_int_equal(
        owed_put(&bench->owed, &bench->batch, bytes_of("y"), BYTES_ABSENT, both, 2, 0, 0), RC_OK);
    assert_string_equal(last_row(bench), "dead y 1");
    answer(bench, RC_OK);
    assert_int_equal(owed_retry(&bench->owed, &bench->batch, bytes_of("y"), BYTES_ABSENT, 9),
                     RC_OK);
    assert_string_equal(last_row(bench), "owed y 0");
    answer(bench, RC_OK);
    item = owed_take(&bench->owed, 8, 0, 9, &ticket);
    assert_int_equal(item->refusal_count, 0);
}

/* The clock goes back by hours: what waits then is due, be it known before or read from the table,
 * and what is put afterwards waits as ever. */
static void nothing_waits_longer_than_any_wait_when_the_clock_goes_back(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    struct field params[OWED_LOAD_PARAMS];
    int64_t now = 10 * HOUR_US;
    assert_int_equal(put(bench, "x", &slow, now), RC_OK);
    answer(bench, RC_OK);
    assert_null(owed_take(&bench->owed, 8, 0, now, &ticket));
    now -= OWED_DELAY_US_MAX / 2; /* by less than a wait may be long: it may have been one */
    assert_null(owed_take(&bench->owed, 8, 0, now, &ticket));
    now -= HOUR_US;
    assert_int_equal(put(bench, "y", &slow, now), RC_OK);
    answer(bench, RC_OK);
    assert_string_equal(owed_take(&bench->owed, 8, 0, now, &ticket)->item, "x");
    owed_release(&bench->owed, ticket, now);
    assert_int_equal(owed_done(&bench->owed, &bench->batch, bytes_of("x")), RC_OK);
    answer(bench, RC_OK);
    assert_null(owed_take(&bench->owed, 8, 0, now, &ticket));
    const struct field row[] = {field_text(bytes_of("z")),
                                field_null(FIELD_TEXT),
                                field_null(FIELD_TEXT),
                                field_null(FIELD_TEXT),
                                field_int(3),
                                field_int(now + 2 * HOUR_US),
                                field_int(now)};
    owed_load_begin(&bench->owed, params);
    assert_true(owed_load_row(&bench->owed, row, sizeof row / sizeof row[0]));
    owed_load_end(&bench->owed, true);
    assert_string_equal(owed_take(&bench->owed, 8, 0, now, &ticket)->item, "z");
}

static void new_work_goes_first_and_retries_keep_their_share(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket tickets[3];
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_int_equal(put(bench, "y", &slow, 0), RC_OK);
    assert_int_equal(put(bench, "z", &slow, 0), RC_OK);
    answer(bench, RC_OK);
    int64_t now = 600 * SECOND_US;
    assert_null(owed_take(&bench->owed, 0, 0, now, &tickets[0]));
    assert_non_null(owed_take(&bench->owed, 1, 100, now, &tickets[0])); /* one is never starved */
    assert_null(owed_take(&bench->owed, 7, 7, now, &tickets[1]));
    assert_non_null(owed_take(&bench->owed, 7, 6, now, &tickets[1]));
    assert_null(owed_take(&bench->owed, 6, 0, now, &tickets[2])); /* a quarter of 8 */
    owed_release(&bench->owed, tickets[0], now);
    assert_non_null(owed_take(&bench->owed, 6, 0, now, &tickets[2]));
}

static void a_report_comes_too_late_when_others_stored_the_item(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    answer(bench, RC_OK);
    assert_non_null(owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &ticket));
    assert_int_equal(owed_done(&bench->owed, &bench->batch, bytes_of("x")), RC_OK);
    assert_int_equal(put(bench, "x", &slow, 0), RC_AGAIN); /* its fate is under way */
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &slow, 0, 0), RC_OK);
    assert_int_equal(bench->batch.record_count, 2 - 1);
    answer(bench, RC_OK);
    assert_int_equal(bench->owed.running, 0);
    assert_int_equal(bench->owed.count, 0);
}

static void a_ticket_is_good_for_one_attempt(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket first, second;
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    answer(bench, RC_OK);
    assert_non_null(owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &first));
    owed_release(&bench->owed, first, 600 * SECOND_US);
    assert_non_null(owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &second));
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, first, &slow, 0, 0), RC_OK);
    owed_release(&bench->owed, first, 0);
    assert_int_equal(bench->batch.record_count, 0);
    assert_int_equal(bench->owed.running, 1);
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, second, &slow, 0, 0), RC_OK);
    assert_string_equal(last_row(bench), "owed x 2");
}

static void a_put_that_others_rely_on_is_brought_along(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_int_equal(bench->batch.record_count, 2); /* the first batch may still fail */
    answer(bench, RC_OK);
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_int_equal(bench->batch.record_count, 0);
}

static void a_full_memory_leaves_rows_to_the_table(void **state)
{
    struct bench *bench = *state;
    char name[8];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(put(bench, name, &slow, i), RC_OK);
        answer(bench, RC_OK);
        assert_int_equal(bench->owed.count, i < 4 ? i + 1 : 4);
        assert_int_equal(bench->owed.more, i >= 4);
    }
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(put(bench, name, &slow, i), RC_OK);
    }
    assert_int_equal(put(bench, "more", &slow, 0), RC_AGAIN); /* all places lie in this batch */
    answer(bench, RC_OK);
    assert_int_equal(put(bench, "more", &slow, 0), RC_OK);
}

static void an_item_is_given_up_whatever_its_history(void **state)
{
    struct bench *bench = *state;
    struct owed_ticket ticket;
    assert_int_equal(
        owed_dead(&bench->owed, &bench->batch, bytes_of("x"), bytes_of("7"), "no CID", 5), RC_OK);
    assert_string_equal(last_row(bench), "dead x 0");
    assert_true(
        bytes_equal_string(bench->batch.last[RECORD_OWED]->fields[OWED_REASON].b, "no CID"));
    assert_int_equal(
        owed_dead(&bench->owed, &bench->batch, bytes_of("x"), BYTES_ABSENT, "again", 6), RC_AGAIN);
    assert_int_equal(put(bench, "x", &slow, 6), RC_AGAIN);
    answer(bench, RC_OK);
    assert_int_equal(put(bench, "y", &slow, 0), RC_OK);
    answer(bench, RC_OK);
    assert_non_null(owed_take(&bench->owed, 8, 0, 600 * SECOND_US, &ticket));
    assert_int_equal(
        owed_dead(&bench->owed, &bench->batch, bytes_of("y"), BYTES_ABSENT, "a person said so", 9),
        RC_OK);
    assert_string_equal(last_row(bench), "dead y 1");
    assert_int_equal(owed_failed(&bench->owed, &bench->batch, ticket, &slow, 9, 0), RC_OK);
    assert_string_equal(last_row(bench), "dead y 1"); /* the attempt's report came too late */
    assert_int_equal(bench->owed.running, 0);
    answer(bench, RC_OK);
    assert_int_equal(bench->owed.count, 0);
    assert_int_equal(bench->owed.deaths, 2);
}

static void what_cannot_be_remembered_is_refused(void **state)
{
    struct bench *bench = *state;
    char longest[OWED_ITEM_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[OWED_ITEM_MAX + 1] = '\0';
    assert_int_equal(put(bench, longest, &slow, 0), RC_REJECT);
    assert_int_equal(put(bench, "", &slow, 0), RC_REJECT);
    longest[OWED_ITEM_MAX] = '\0';
    assert_int_equal(put(bench, longest, &slow, 0), RC_OK);
}

/* The batch may be full by the very row of an item that nobody has met before. */
static void a_full_batch_is_handed_over_before_a_new_item(void **state)
{
    struct bench *bench = *state;
    bench->batch.record_count = BATCH_RECORDS_MAX;
    assert_int_equal(put(bench, "x", &slow, 0), RC_AGAIN);
    assert_int_equal(owed_done(&bench->owed, &bench->batch, bytes_of("y")), RC_AGAIN);
    assert_int_equal(bench->owed.count, 0);
    answer(bench, RC_OK);
    assert_int_equal(put(bench, "x", &slow, 0), RC_OK);
    assert_string_equal(last_row(bench), "new x 1");
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(a_failed_fetch_waits_and_is_done_when_it_is_stored),
        ALONE(waits_double_from_5_to_600_seconds),
        ALONE(a_round_at_many_providers_is_one_attempt),
        ALONE(a_wait_is_kept_when_every_provider_asks_for_it),
        ALONE(two_different_providers_make_it_dead),
        ALONE(nothing_waits_longer_than_any_wait_when_the_clock_goes_back),
        ALONE(new_work_goes_first_and_retries_keep_their_share),
        ALONE(a_report_comes_too_late_when_others_stored_the_item),
        ALONE(a_ticket_is_good_for_one_attempt),
        ALONE(a_put_that_others_rely_on_is_brought_along),
        ALONE(a_full_memory_leaves_rows_to_the_table),
        ALONE(an_item_is_given_up_whatever_its_history),
        ALONE(what_cannot_be_remembered_is_refused),
        ALONE(a_full_batch_is_handed_over_before_a_new_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
