/* SPDX-License-Identifier: Apache-2.0
 *
 * What a host keeps to itself, or sends in a way that nobody can take. */
#include "ingest/gap.h"
#include "stream_desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cursor of the last dial; 0: live. */
static int64_t cursor_asked(const struct stream_desk *desk)
{
    const char *at = strstr(desk->ws_url, "cursor=");
    return at == NULL ? 0 : strtoll(at + strlen("cursor="), NULL, 10);
}

/* An event a second, in time with the clock, for so long. */
static void flow(struct stream_desk *desk, int seconds)
{
    for (int i = 0; i < seconds && !desk->closed; i++) {
        stream_desk_pass(desk, 1000000);
        if (!desk->closed)
            stream_desk_message(desk, stream_desk_event(DESK_T0 + desk->clock.mono_us, 0));
    }
}

/* A replay that begins a hundred seconds back and is over at once. */
static void replay(struct stream_desk *desk)
{
    stream_desk_begin(desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                        .start_us = DESK_T0 - 100000000});
    stream_desk_start(desk);
    stream_desk_opened(desk);
    for (int64_t at_us = DESK_T0 - 100000000; at_us <= DESK_T0; at_us += 1000000)
        stream_desk_message(desk, stream_desk_event(at_us, 0));
    flow(desk, 1);
}

/* R001-42: what a host keeps to itself where its replay ends comes with a second one, once. */
static void where_a_replay_ended_the_host_is_asked_again_once(void **state)
{
    (void)state;
    struct stream_desk desk;
    replay(&desk);
    flow(&desk, 30);
    assert_true(desk.closed);
    assert_true(desk.clock.mono_us <= 15000000);
    stream_desk_ended(&desk, 1000, "");
    assert_int_equal(desk.dials, 2);
    assert_true(cursor_asked(&desk) > 0 && cursor_asked(&desk) < DESK_T0 - 1000000);
    stream_desk_opened(&desk);
    flow(&desk, 60);
    assert_int_equal(desk.dials, 2);
    assert_false(desk.closed);
    stream_desk_ended(&desk, 1001, ""); /* a new connection, a new replay */
    stream_desk_pass(&desk, 2000000);
    stream_desk_opened(&desk);
    flow(&desk, 60);
    assert_true(desk.closed);
    stream_desk_finish(&desk);
}

static void a_second_look_that_fails_is_taken_later(void **state)
{
    (void)state;
    struct stream_desk desk;
    replay(&desk);
    flow(&desk, 30);
    stream_desk_ended(&desk, 1000, "");
    stream_desk_ended(&desk, 503, "");
    stream_desk_pass(&desk, 2000000);
    assert_int_equal(desk.dials, 3);
    assert_true(cursor_asked(&desk) < DESK_T0 - 1000000);
    stream_desk_opened(&desk);
    flow(&desk, 60);
    assert_true(desk.closed);
    stream_desk_finish(&desk);
}

/* What the batches that were handed over say, as one text. */
static void take_rows(struct stream_desk *desk, enum record_id kind, struct text *out)
{
    for (size_t i = 0; i < desk->handed_count; i++)
        for (struct record *row = desk->handed[i]->first[kind]; row != NULL; row = row->next)
            record_print(row, out);
}

static void what_is_too_large_is_gone_past_and_leaves_a_note_and_a_gap(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct text notes = {0}, gaps = {0};
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(DESK_T0, 0));
    desk.events->too_large(desk.events_arg, 9000000);
    take_rows(&desk, RECORD_QUARANTINE, &notes);
    take_rows(&desk, RECORD_GAP, &gaps);
    assert_non_null(strstr(text_string(&notes),
                           "a message of 9000000 bytes after 1790000000000000 is over the"));
    assert_non_null(strstr(text_string(&notes), "\"size\":9000000"));
    assert_int_equal(gaps.len, 0); /* where it ends is not known yet: the cursor stays before it */
    stream_desk_commit_all(&desk);
    desk.clock.mono_us += 2000000;
    char next[256] = {0};
    snprintf(next, sizeof next, "%s", stream_desk_event(DESK_T0 + 500, 0));
    desk.events->message(desk.events_arg, false, bytes_make(next, strlen(next)));
    take_rows(&desk, RECORD_GAP, &gaps);
    assert_non_null(strstr(text_string(&gaps), "\"from_us\":1790000000000000"));
    assert_non_null(strstr(text_string(&gaps), "\"to_us\":1790000000000500"));
    assert_non_null(strstr(text_string(&gaps), "too large"));
    stream_desk_commit_all(&desk);
    assert_int_equal(desk.dials, 1);
    assert_false(desk.closed);
    stream_desk_finish(&desk);
    text_free(&notes);
    text_free(&gaps);
}

/* Backfill closes gaps without a word to the source, which runs for months. */
static void many_gaps_one_after_the_other_stay_exact(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct text gaps = {0};
    char last[64];
    stream_desk_begin(&desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"}});
    stream_desk_start(&desk);
    stream_desk_opened(&desk);
    stream_desk_message(&desk, stream_desk_event(DESK_T0, 0));
    for (int i = 0; i < 20 * GAP_NOTED_MAX; i++) {
        char next[256] = {0};
        stream_desk_message(&desk, stream_desk_event(DESK_T0 + desk.clock.mono_us + 1000, 0));
        desk.events->too_large(desk.events_arg, 9000000);
        stream_desk_commit_all(&desk);
        text_clear(&gaps);
        snprintf(last, sizeof last, "\"from_us\":%lld",
                 (long long)(DESK_T0 + desk.clock.mono_us + 1000));
        desk.clock.mono_us += 2000000;
        snprintf(next, sizeof next, "%s", stream_desk_event(DESK_T0 + desk.clock.mono_us, 0));
        desk.events->message(desk.events_arg, false, bytes_make(next, strlen(next)));
        take_rows(&desk, RECORD_GAP, &gaps);
        stream_desk_commit_all(&desk);
        assert_non_null(strstr(text_string(&gaps), last));
        assert_null(strstr(strstr(text_string(&gaps), last) + 1, "\"from_us\""));
    }
    stream_desk_finish(&desk);
    text_free(&gaps);
}

/* Two are followed; one of them had the last word on the connection before. */
static void begin_filtered(struct stream_desk *desk, struct bytes cursor_state)
{
    struct bytes followed[] = {bytes_of("did:web:a"), bytes_of("did:web:b")};
    stream_desk_begin(desk, &(struct jetstream_options){.endpoints = {"ws://h/subscribe"},
                                                        .only_followed = true,
                                                        .cursor_state = cursor_state});
    jetstream_change_follows(desk->source, followed, 2, NULL, 0);
    stream_desk_start(desk);
    stream_desk_opened(desk);
    stream_desk_pass(desk, 0);
}

/* What becomes of an event that comes now. */
static void take_event(struct stream_desk *desk, int64_t time_us, enum record_id kind,
                       struct text *out)
{
    char next[256] = {0};
    text_clear(out);
    desk->clock.mono_us += 2000000;
    snprintf(next, sizeof next, "%s", stream_desk_event(time_us, 0));
    desk->events->message(desk->events_arg, false, bytes_make(next, strlen(next)));
    take_rows(desk, kind, out);
    stream_desk_commit_all(desk);
}

/* A host may keep less than a day, or nothing: what it did not give again tells, not its age. */
static void a_host_that_forgot_the_last_event_leaves_a_gap(void **state)
{
    (void)state;
    const int64_t later_us = DESK_T0 + INT64_C(1800000000);
    struct bytes gone = bytes_of("did:web:a");
    for (int again = 0; again < 3; again++) {
        struct stream_desk desk;
        struct text rows = {0};
        begin_filtered(&desk, BYTES_ABSENT);
        take_event(&desk, DESK_T0, RECORD_CURSOR, &rows);
        assert_non_null(strstr(text_string(&rows), "did:web:a"));
        if (again == 2)
            jetstream_change_follows(desk.source, NULL, 0, &gone, 1);
        stream_desk_ended(&desk, 1001, "");
        stream_desk_pass(&desk, 2000000);
        assert_int_equal(desk.dials, 2);
        stream_desk_opened(&desk);
        desk.clock.mono_us += 1800000000;
        if (again == 1) /* it was only quiet */
            stream_desk_message(&desk, stream_desk_event(DESK_T0, 0));
        take_event(&desk, later_us, RECORD_GAP, &rows);
        assert_int_equal(rows.len > 0, again == 0);
        stream_desk_finish(&desk);
        text_free(&rows);
    }
}

static void whose_the_last_event_was_is_known_after_a_restart(void **state)
{
    (void)state;
    struct stream_desk desk;
    struct text rows = {0}, cursor = {0};
    begin_filtered(&desk, BYTES_ABSENT);
    stream_desk_message(&desk, stream_desk_event(DESK_T0 - 1000, 0));
    char next[256] = {0};
    desk.clock.mono_us += 2000000;
    snprintf(next, sizeof next, "%s", stream_desk_event(DESK_T0, 0));
    desk.events->message(desk.events_arg, false, bytes_make(next, strlen(next)));
    assert_int_equal(desk.handed_count, 1);
    struct bytes kept = desk.handed[0]->first[RECORD_CURSOR]->fields[CURSOR_ROW_STATE].b;
    text_append(&cursor, kept.data, kept.len);
    stream_desk_commit_all(&desk);
    stream_desk_finish(&desk);
    begin_filtered(&desk, text_bytes(&cursor));
    desk.clock.mono_us += 1800000000;
    take_event(&desk, DESK_T0 + INT64_C(1800000000), RECORD_GAP, &rows);
    assert_non_null(strstr(text_string(&rows), "\"to_us\":1790001800000000"));
    stream_desk_finish(&desk);
    text_free(&rows);
    text_free(&cursor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_a_replay_ended_the_host_is_asked_again_once),
        cmocka_unit_test(a_second_look_that_fails_is_taken_later),
        cmocka_unit_test(what_is_too_large_is_gone_past_and_leaves_a_note_and_a_gap),
        cmocka_unit_test(many_gaps_one_after_the_other_stay_exact),
        cmocka_unit_test(a_host_that_forgot_the_last_event_leaves_a_gap),
        cmocka_unit_test(whose_the_last_event_was_is_known_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
