/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jetstream_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)
#define WINDOW (24 * HOUR)
#define T0     INT64_C(1790000000000000)

struct desk {
    struct jetstream_host v1, v2, other;
    struct jetstream_place place;
    struct json_doc *doc;
    struct batch batch;
    int64_t behind_us;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    struct err err;
    assert_int_equal(jetstream_host_init(&desk->v1, "ws://one/subscribe", &err), RC_OK);
    assert_int_equal(jetstream_host_init(&desk->other, "ws://other/subscribe", &err), RC_OK);
    assert_int_equal(jetstream_host_init(&desk->v2, "ws://two/x/subscribeEvents", &err), RC_OK);
    jetstream_place_init(&desk->place, WINDOW);
    desk->doc = json_doc_new((size_t)1 << 20, JSON_DEPTH_MAX);
    arena_init(&desk->batch.arena, (size_t)1 << 16);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    jetstream_host_deinit(&desk->v1);
    jetstream_host_deinit(&desk->v2);
    jetstream_host_deinit(&desk->other);
    json_doc_free(desk->doc);
    arena_deinit(&desk->batch.arena);
    free(desk);
    return 0;
}

static int64_t ask(struct desk *desk, const struct jetstream_host *host, int64_t now_us)
{
    struct provider_proof unproved = PROVIDER_UNPROVED;
    jetstream_place_ask(&desk->place, host, &unproved, desk->behind_us, false, now_us);
    return desk->place.asked.number;
}

static int64_t ask_filtered(struct desk *desk, const struct jetstream_host *host, int64_t now_us)
{
    struct provider_proof unproved = PROVIDER_UNPROVED;
    jetstream_place_ask(&desk->place, host, &unproved, 0, true, now_us);
    return desk->place.asked.number;
}

static enum jetstream_verdict take(struct desk *desk, const struct jetstream_host *host,
                                   int64_t time_us, int64_t seq, int64_t received_us)
{
    return jetstream_place_event(&desk->place, host->name, time_us, seq, received_us,
                                 &desk->behind_us);
}

static void take_ahead(struct desk *desk, int count, int64_t lead_us)
{
    for (int i = 0; i < count; i++)
        take(desk, &desk->v1, T0 + lead_us + i * 1000, 0, T0 + i * 1000);
}

static void without_a_place_the_stream_begins_live(void **state)
{
    struct desk *desk = *state;
    assert_true(ask(desk, &desk->v1, T0) == 0);
    assert_int_equal(take(desk, &desk->v1, T0, 0, T0), JETSTREAM_PLACE_FINE);
    assert_true(desk->place.stand.time_us == T0);
    assert_string_equal(desk->place.stand.host, "one");
}

static void the_same_host_is_asked_a_little_earlier(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    assert_int_equal(take(desk, &desk->v1, T0, 0, T0), JETSTREAM_PLACE_FINE);
    assert_true(ask(desk, &desk->v1, T0 + SECOND) == T0 - JETSTREAM_V1_REPLAY_US);
    ask(desk, &desk->v2, T0);
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 5000, T0 + SECOND), JETSTREAM_PLACE_FINE);
    assert_true(ask(desk, &desk->v2, T0 + SECOND) == 4000);
    assert_true(desk->place.asked.by_seq);
}

static void a_number_is_never_sent_to_another_host(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    assert_int_equal(take(desk, &desk->v2, T0, 24000000000, T0), JETSTREAM_PLACE_FINE);
    assert_true(ask(desk, &desk->v1, T0) == T0 - 10 * SECOND);
    struct jetstream_host third;
    struct err err;
    assert_int_equal(jetstream_host_init(&third, "ws://three/x/subscribeEvents", &err), RC_OK);
    assert_true(ask(desk, &third, T0) == T0 - 10 * SECOND);
    assert_false(desk->place.asked.by_seq);
    jetstream_host_deinit(&third);
    assert_true(ask(desk, &desk->v2, T0) == 23999999000);
}

static void a_foreign_place_stays_until_the_new_host_has_passed_it(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 500, T0);
    ask(desk, &desk->v1, T0);
    assert_int_equal(take(desk, &desk->v1, T0 - 9 * SECOND, 0, T0), JETSTREAM_PLACE_FINE);
    assert_string_equal(desk->place.stand.host, "two");
    assert_true(desk->place.stand.time_us == T0 && desk->place.stand.seq == 500);
    take(desk, &desk->v1, T0 + 1, 0, T0);
    assert_string_equal(desk->place.stand.host, "one");
    assert_true(desk->place.stand.seq == 0);
}

static void what_is_written_is_read_again(void **state)
{
    struct desk *desk = *state;
    struct err err;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 500, T0);
    assert_int_equal(jetstream_place_write(&desk->place, desk->doc, T0, &desk->batch), RC_OK);
    const struct record *row = desk->batch.first[RECORD_CURSOR];
    assert_true(row->fields[CURSOR_ROW_POSITION].i == T0);
    struct jetstream_place later;
    jetstream_place_init(&later, WINDOW);
    assert_int_equal(
        jetstream_place_resume(&later, desk->doc, row->fields[CURSOR_ROW_STATE].b, &err), RC_OK);
    assert_true(later.stand.time_us == T0 && later.stand.seq == 500);
    assert_string_equal(later.stand.host, "two");
}

static void a_clamped_cursor_is_a_gap_from_what_was_asked_to_the_first_event(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    ask(desk, &desk->v1, T0 + 30 * HOUR);
    assert_int_equal(take(desk, &desk->v1, T0 + 6 * HOUR, 0, T0 + 30 * HOUR), JETSTREAM_PLACE_GAP);
    assert_true(desk->place.asked.from_us == T0 - JETSTREAM_V1_REPLAY_US);
    assert_int_equal(take(desk, &desk->v1, T0 + 7 * HOUR, 0, T0 + 30 * HOUR), JETSTREAM_PLACE_FINE);
}

/* R001-59 */
static void a_quiet_filter_makes_no_gap(void **state)
{
    struct desk *desk = *state;
    ask_filtered(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    ask_filtered(desk, &desk->v1, T0 + SECOND);
    assert_int_equal(take(desk, &desk->v1, T0 + 5 * HOUR, 0, T0 + 5 * HOUR), JETSTREAM_PLACE_FINE);
    /* Beyond the replay window nobody can tell: then it is one. */
    ask_filtered(desk, &desk->v1, T0 + 35 * HOUR);
    assert_int_equal(take(desk, &desk->v1, T0 + 36 * HOUR, 0, T0 + 36 * HOUR), JETSTREAM_PLACE_GAP);
}

static void a_quiet_half_hour_at_another_host_is_no_gap(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    ask(desk, &desk->other, T0 + HOUR / 2);
    assert_int_equal(take(desk, &desk->other, T0 + HOUR / 2, 0, T0 + HOUR / 2),
                     JETSTREAM_PLACE_FINE);
}

static void a_number_too_old_is_asked_exactly_then_by_time_and_the_host_tells_the_gap(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 5000, T0);
    assert_true(ask(desk, &desk->v2, T0) == 4000);
    assert_true(jetstream_place_too_old(&desk->place));
    assert_true(ask(desk, &desk->v2, T0) == 5000);
    assert_true(jetstream_place_too_old(&desk->place));
    assert_true(ask(desk, &desk->v2, T0) == T0 - 2 * SECOND);
    assert_false(jetstream_place_too_old(&desk->place));
    desk->place.asked.outdated = true;
    assert_int_equal(take(desk, &desk->v2, T0 + HOUR, 9000, T0 + 2 * HOUR), JETSTREAM_PLACE_GAP);
    assert_true(desk->place.asked.from_us == T0 - 2 * SECOND);
    assert_true(ask(desk, &desk->v2, T0) == 8000);
}

static void by_time_without_a_word_of_the_host_there_is_no_gap(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    assert_true(ask(desk, &desk->v2, T0 + 40 * HOUR) == T0 - 10 * SECOND);
    assert_int_equal(take(desk, &desk->v2, T0 + 40 * HOUR, 999999, T0 + 40 * HOUR),
                     JETSTREAM_PLACE_FINE);
}

/* Two instances may share a name, and each counts for itself. */
static void a_number_that_stands_for_a_later_time_is_not_gone_on_from(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 5000, T0);
    assert_true(ask(desk, &desk->v2, T0 + HOUR) == 4000);
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 4000, T0 + HOUR),
                     JETSTREAM_PLACE_RENUMBERED);
    assert_true(desk->place.stand.time_us == T0 && desk->place.stand.seq == 5000);
    assert_true(ask(desk, &desk->v2, T0 + HOUR) == T0 - 10 * SECOND);
    desk->place.asked.outdated = true;
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 4000, T0 + HOUR), JETSTREAM_PLACE_GAP);
    assert_true(desk->place.stand.seq == 4000);
    assert_true(ask(desk, &desk->v2, T0 + HOUR) == 3000);
    /* The event at the stand, or one before it, comes again: the numbers are its own. */
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 4000, T0 + HOUR), JETSTREAM_PLACE_FINE);
}

static void a_host_that_counts_anew_is_asked_by_time(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 500000, T0);
    assert_true(ask(desk, &desk->v2, T0) == 499000);
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 12, T0), JETSTREAM_PLACE_RENUMBERED);
    assert_true(desk->place.stand.seq == 500000);
    assert_true(ask(desk, &desk->v2, T0) == T0 - 10 * SECOND);
    assert_int_equal(take(desk, &desk->v2, T0 - 9 * SECOND, 11, T0), JETSTREAM_PLACE_FINE);
    assert_int_equal(take(desk, &desk->v2, T0 + SECOND, 12, T0), JETSTREAM_PLACE_FINE);
    assert_true(desk->place.stand.seq == 12);
}

static void a_host_whose_clock_is_behind_is_asked_from_further_back(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    /* Its clock is a minute behind: what was asked for lies in its future, so it goes on live. */
    assert_true(ask(desk, &desk->other, T0) == T0 - 10 * SECOND);
    assert_int_equal(take(desk, &desk->other, T0 - 60 * SECOND, 0, T0), JETSTREAM_PLACE_BEHIND);
    assert_string_equal(desk->place.stand.host, "one");
    assert_true(ask(desk, &desk->other, T0) <= T0 - 70 * SECOND);
    assert_int_equal(take(desk, &desk->other, T0 - 69 * SECOND, 0, T0), JETSTREAM_PLACE_FINE);
}

static void the_end_of_a_replay_shows_a_clock_that_is_behind(void **state)
{
    struct desk *desk = *state;
    int64_t now = T0 + 300 * SECOND, skew = 60 * SECOND;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    ask(desk, &desk->other, now);
    enum jetstream_verdict verdict = JETSTREAM_PLACE_FINE;
    for (int64_t at = T0 - 10 * SECOND; at < now - skew; at += SECOND / 2)
        assert_int_equal(take(desk, &desk->other, at, 0, now + (at - T0) / 1000),
                         JETSTREAM_PLACE_FINE);
    for (int i = 1; i < 20 && verdict == JETSTREAM_PLACE_FINE; i++)
        verdict = take(desk, &desk->other, now - skew + i * SECOND, 0, now + i * SECOND);
    assert_int_equal(verdict, JETSTREAM_PLACE_BEHIND);
    assert_true(desk->behind_us >= skew - SECOND);
    assert_true(ask(desk, &desk->v1, now) > 0);
}

static void a_clock_that_is_ahead_of_ours_is_rewound_by_as_much(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take_ahead(desk, JETSTREAM_AHEAD_RUN, 60 * SECOND);
    assert_true(desk->place.stand.time_us == T0 + 60 * SECOND);
    assert_true(ask(desk, &desk->other, T0) < T0 - 9 * SECOND);
    assert_true(ask(desk, &desk->v1, T0) == T0 + 60 * SECOND - JETSTREAM_V1_REPLAY_US);
}

static void an_event_alone_in_its_future_moves_nothing(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    assert_int_equal(take(desk, &desk->v1, T0 + 9000 * HOUR, 0, T0), JETSTREAM_PLACE_AHEAD);
    take_ahead(desk, JETSTREAM_AHEAD_RUN - 2, HOUR / 2);
    assert_true(desk->place.stand.time_us == T0);
    assert_int_equal(take(desk, &desk->v1, T0 + SECOND, 0, T0 + SECOND), JETSTREAM_PLACE_FINE);
    assert_true(desk->place.stand.time_us == T0 + SECOND);
    assert_true(ask(desk, &desk->v1, T0 + SECOND) == T0 + SECOND - JETSTREAM_V1_REPLAY_US);
    /* As the first of a connection it is no judge of what is missing. */
    assert_int_equal(take(desk, &desk->v1, T0 + HOUR, 0, T0 + SECOND), JETSTREAM_PLACE_AHEAD);
    assert_false(desk->place.asked.first_seen);
    assert_int_equal(take(desk, &desk->v1, T0 - SECOND, 0, T0 + SECOND), JETSTREAM_PLACE_FINE);
}

static void a_clock_hours_ahead_moves_nothing_however_often_it_says_so(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    take(desk, &desk->v1, T0, 0, T0);
    take_ahead(desk, 10 * JETSTREAM_AHEAD_RUN, 2 * HOUR);
    assert_true(desk->place.stand.time_us == T0);
}

static void a_number_goes_on_when_its_time_is_not_believed(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v2, T0);
    take(desk, &desk->v2, T0, 5000, T0);
    assert_int_equal(take(desk, &desk->v2, T0 + 9000 * HOUR, 5001, T0), JETSTREAM_PLACE_AHEAD);
    assert_true(desk->place.stand.time_us == T0 && desk->place.stand.seq == 5001);
    assert_true(ask(desk, &desk->v2, T0 + SECOND) == 4001);
    assert_int_equal(take(desk, &desk->v2, T0 + 9000 * HOUR, 5001, T0), JETSTREAM_PLACE_AHEAD);
    assert_true(desk->place.asked.first_seen);
    assert_true(ask(desk, &desk->other, T0 + SECOND) == T0 - 10 * SECOND);
}

static void a_time_not_believed_is_taken_for_that_of_the_stream(void **state)
{
    struct desk *desk = *state;
    int64_t until_us, instead_us;
    ask(desk, &desk->v1, T0);
    jetstream_place_trust(&desk->place, T0, &until_us, &instead_us);
    assert_true(until_us == T0 + 24 * HOUR && instead_us == T0);
    take(desk, &desk->v1, T0 - HOUR, 0, T0);
    jetstream_place_trust(&desk->place, T0, &until_us, &instead_us);
    assert_true(until_us == T0 + 24 * HOUR && instead_us == T0 - HOUR);
    take_ahead(desk, JETSTREAM_AHEAD_RUN - 1, 2 * HOUR);
    jetstream_place_trust(&desk->place, T0, &until_us, &instead_us);
    assert_true(until_us == T0 + 26 * HOUR); /* so many agree: it is a clock */
}

static void stand_at(struct desk *desk, int64_t time_us)
{
    desk->place.stand = (struct jetstream_stand){.time_us = time_us};
    snprintf(desk->place.stand.host, sizeof desk->place.stand.host, "%s", desk->v1.name);
}

/* A host asked for a time to come goes live without a word: what happened until now was lost at
 * every connection. */
static void a_stand_in_the_future_is_not_asked_for(void **state)
{
    struct desk *desk = *state;
    stand_at(desk, T0 + 48 * HOUR);
    assert_true(ask(desk, &desk->v1, T0) == T0 - WINDOW + 120 * SECOND);
    assert_true(desk->place.asked.astray);
    desk->place.state.updated_ms = (T0 - 600 * SECOND) / 1000;
    assert_true(ask(desk, &desk->v1, T0) == T0 - 600 * SECOND - HOUR);
    assert_int_equal(take(desk, &desk->v1, T0 - 600 * SECOND, 0, T0), JETSTREAM_PLACE_FINE);
    assert_int_equal(take(desk, &desk->v1, T0 - SECOND, 0, T0), JETSTREAM_PLACE_FINE);
    assert_true(desk->place.stand.time_us == T0 + 48 * HOUR);
    assert_true(ask(desk, &desk->v1, T0 + HOUR) == T0 - 26 * SECOND);
    assert_true(ask(desk, &desk->other, T0 + HOUR) == T0 - 26 * SECOND);
    /* The time has come. */
    assert_true(ask(desk, &desk->v1, T0 + 47 * HOUR) == T0 + 48 * HOUR - 15 * SECOND);
    assert_false(desk->place.asked.astray);
}

/* By our clock alone both look the same: here it is our clock that was set back. */
static void a_stand_that_events_reach_is_asked_for_whatever_our_clock_says(void **state)
{
    struct desk *desk = *state;
    stand_at(desk, T0 + 5 * HOUR);
    ask(desk, &desk->v1, T0);
    assert_true(desk->place.asked.astray);
    assert_int_equal(take(desk, &desk->v1, T0 + 2 * HOUR, 0, T0), JETSTREAM_PLACE_FINE);
    assert_int_equal(take(desk, &desk->v1, T0 + 5 * HOUR, 0, T0), JETSTREAM_PLACE_FINE);
    assert_true(ask(desk, &desk->v1, T0 + SECOND) == T0 + 5 * HOUR - 15 * SECOND);
    assert_false(desk->place.asked.astray);
    assert_int_equal(take(desk, &desk->v1, T0 + 5 * HOUR, 0, T0), JETSTREAM_PLACE_FINE);
}

static void nothing_understood_yet_is_no_place_to_write(void **state)
{
    struct desk *desk = *state;
    ask(desk, &desk->v1, T0);
    assert_int_equal(jetstream_place_write(&desk->place, desk->doc, T0, &desk->batch), RC_OK);
    assert_null(desk->batch.first[RECORD_CURSOR]);
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(without_a_place_the_stream_begins_live),
        AT_DESK(the_same_host_is_asked_a_little_earlier),
        AT_DESK(a_number_is_never_sent_to_another_host),
        AT_DESK(a_foreign_place_stays_until_the_new_host_has_passed_it),
        AT_DESK(what_is_written_is_read_again),
        AT_DESK(a_clamped_cursor_is_a_gap_from_what_was_asked_to_the_first_event),
        AT_DESK(a_quiet_filter_makes_no_gap),
        AT_DESK(a_quiet_half_hour_at_another_host_is_no_gap),
        AT_DESK(a_number_too_old_is_asked_exactly_then_by_time_and_the_host_tells_the_gap),
        AT_DESK(by_time_without_a_word_of_the_host_there_is_no_gap),
        AT_DESK(a_number_that_stands_for_a_later_time_is_not_gone_on_from),
        AT_DESK(a_host_that_counts_anew_is_asked_by_time),
        AT_DESK(a_host_whose_clock_is_behind_is_asked_from_further_back),
        AT_DESK(the_end_of_a_replay_shows_a_clock_that_is_behind),
        AT_DESK(a_clock_that_is_ahead_of_ours_is_rewound_by_as_much),
        AT_DESK(an_event_alone_in_its_future_moves_nothing),
        AT_DESK(a_clock_hours_ahead_moves_nothing_however_often_it_says_so),
        AT_DESK(a_number_goes_on_when_its_time_is_not_believed),
        AT_DESK(a_time_not_believed_is_taken_for_that_of_the_stream),
        AT_DESK(a_stand_in_the_future_is_not_asked_for),
        AT_DESK(a_stand_that_events_reach_is_asked_for_whatever_our_clock_says),
        AT_DESK(nothing_understood_yet_is_no_place_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
