/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store makes of accounts whose history is to be read, of gaps that close by it, and of
 * what polling remembers, on both stores. */
#include "store_bench.h"

#define MINUTE INT64_C(60000000)
#define HOUR   (60 * MINUTE)
#define NOW    (1000 * HOUR)

/* One word about an account: what is asked of, or known about, its reading. */
struct word_of {
    int op, priority;
    int64_t since_us, next_us, at_us;
    const char *sweep;
};

static void say(struct bench *bench, const char *did, struct word_of what)
{
    struct record *row = batch_add(&bench->batch, RECORD_BACKFILL);
    assert_true(batch_set_text(&bench->batch, row, BACKFILL_DID, bytes_of(did)));
    assert_true(batch_set_text(&bench->batch, row, BACKFILL_SWEEP, bytes_of(what.sweep)));
    batch_set_int(row, BACKFILL_OP, what.op);
    batch_set_int(row, BACKFILL_PRIORITY, what.priority);
    batch_set_int(row, BACKFILL_SINCE_US, what.since_us);
    batch_set_int(row, BACKFILL_ATTEMPTS, 0);
    if (what.next_us != 0)
        batch_set_int(row, BACKFILL_NEXT_US, what.next_us);
    batch_set_int(row, BACKFILL_AT_US, what.at_us);
}

static void ask(struct bench *bench, const char *did, int priority, int64_t since_us)
{
    say(bench, did, (struct word_of){BACKFILL_OP_ASK, priority, since_us, 0, NOW, NULL});
}

static void finish(struct bench *bench, const char *did, int64_t since_us, int64_t began_us)
{
    say(bench, did,
        (struct word_of){BACKFILL_OP_DONE, BACKFILL_FOR_START, since_us, began_us, NOW + HOUR,
                         NULL});
}

static void add_gap_at(struct bench *bench, int64_t from_us, int64_t to_us, int64_t closed_us,
                       int64_t detected_us)
{
    struct record *row = batch_add(&bench->batch, RECORD_GAP);
    assert_true(batch_set_text(&bench->batch, row, GAP_SOURCE, bytes_of("jetstream")));
    assert_true(batch_set_text(&bench->batch, row, GAP_STREAM, bytes_of("live")));
    assert_true(batch_set_text(&bench->batch, row, GAP_REASON, bytes_of("clamped")));
    batch_set_int(row, GAP_FROM_US, from_us);
    batch_set_int(row, GAP_TO_US, to_us);
    batch_set_int(row, GAP_DETECTED_US, detected_us);
    if (closed_us != 0)
        batch_set_int(row, GAP_CLOSED_US, closed_us);
}

static void add_gap(struct bench *bench, int64_t from_us, int64_t to_us, int64_t closed_us)
{
    add_gap_at(bench, from_us, to_us, closed_us, NOW);
}

#define ROWS "SELECT count(*) FROM backfill_queue"

/* R001-66 */
static void an_account_is_queued_once_at_its_most_urgent(void **state)
{
    struct bench *bench = *state;
    ask(bench, "did:plc:a", BACKFILL_FOR_START, NOW - 24 * HOUR);
    ask(bench, "did:plc:a", BACKFILL_FOR_FOLLOW, NOW - HOUR);
    assert_ok(write_batch(bench));
    ask(bench, "did:plc:a", BACKFILL_FOR_PERSON, NOW - 48 * HOUR);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 1);
    assert_int_equal(number(bench, "SELECT priority FROM backfill_queue"), BACKFILL_FOR_FOLLOW);
    assert_true(number(bench, "SELECT since_us FROM backfill_queue") == NOW - 48 * HOUR);
}

/* R001-54: completed when it is, not before. */
static void progress_is_kept_and_the_end_removes_the_row(void **state)
{
    struct bench *bench = *state;
    run_script(bench, "INSERT INTO follows (did, handle) VALUES ('did:plc:a', 'a.test'), "
                      "('did:plc:b', 'b.test');");
    ask(bench, "did:plc:a", BACKFILL_FOR_START, NOW - 24 * HOUR);
    assert_ok(write_batch(bench));
    say(bench, "did:plc:a",
        (struct word_of){BACKFILL_OP_MOVE, 0, 0, NOW + 1, NOW, "{\"token\":\"t\"}"});
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT sweep FROM backfill_queue"), "{\"token\":\"t\"}");
    assert_int_equal(number(bench, "SELECT count(*) FROM follows WHERE backfill_completed"), 0);
    finish(bench, "did:plc:a", NOW - 24 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 0);
    assert_string_equal(word(bench, "SELECT did FROM follows WHERE backfill_completed"),
                        "did:plc:a");
}

static void what_was_asked_for_meanwhile_is_read_again(void **state)
{
    struct bench *bench = *state;
    ask(bench, "did:plc:a", BACKFILL_FOR_START, NOW - 24 * HOUR);
    assert_ok(write_batch(bench));
    ask(bench, "did:plc:a", BACKFILL_FOR_PERSON, NOW - 48 * HOUR); /* further back */
    finish(bench, "did:plc:a", NOW - 24 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 1);
    finish(bench, "did:plc:a", NOW - 48 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 0);
}

static void fill_circle(struct bench *bench)
{
    run_script(bench, "INSERT INTO circle (did, degree, sources) VALUES ('did:plc:a', 1, 1), "
                      "('did:plc:b', 1, 1);");
}

/* R001-58 R001-63: a gap is stored with what will close it. */
static void a_gap_queues_everybody_whose_sharing_counts(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    ask(bench, "did:plc:b", BACKFILL_FOR_PERSON, NOW - HOUR);
    say(bench, "did:plc:b", (struct word_of){BACKFILL_OP_MOVE, 0, 0, NOW, NOW, "{}"});
    assert_ok(write_batch(bench));
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    add_gap(bench, NOW - 6 * HOUR, NOW - 5 * HOUR, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 4);
    assert_int_equal(number(bench, ROWS " WHERE priority = 0 AND sweep IS NULL"), 2);
    assert_true(number(bench, "SELECT min(since_us) FROM backfill_queue") ==
                NOW - 6 * HOUR - MINUTE);
}

static void the_last_reading_closes_the_gap(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + 1); /* not far enough */
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW - 1); /* begun before it was known */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 2);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 1);
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 0);
    assert_int_equal(number(bench, ROWS), 0);
}

/* The clock was ahead when the gap was found and is right now: no reading begins that late. */
static void a_gap_found_in_the_future_is_closed_by_the_second_reading(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap_at(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0, NOW + 80 * HOUR);
    assert_ok(write_batch(bench));
    /* It may have begun before the gap was known, by a clock that was right. */
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 2);
    assert_int_equal(number(bench, ROWS), 2);
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 2); /* begun before that was written, too */
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + HOUR);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 1);
    assert_string_equal(word(bench, "SELECT actor_did FROM backfill_queue"), "did:plc:a");
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 1);
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + HOUR); /* not far enough */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 1);
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + HOUR);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 0);
    assert_int_equal(number(bench, ROWS), 0);
}

static void the_last_readings_may_be_committed_together(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    add_gap(bench, NOW - 9 * HOUR, NOW - 8 * HOUR, 0);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 1);
    finish(bench, "did:plc:a", NOW - 10 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 10 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
}

static void an_account_that_is_gone_keeps_no_gap_open(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    say(bench, "did:plc:b", (struct word_of){.op = BACKFILL_OP_DROP, .at_us = NOW});
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
    assert_int_equal(number(bench, ROWS), 0);
}

static void a_gap_that_replay_filled_waits_for_nobody(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    assert_ok(write_batch(bench));
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, NOW);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 0);
}

/* A feed shows what happened a moment late: what it shows at once is news, but not yet all. */
static void a_gap_up_to_now_is_read_at_once_and_closed_when_feeds_have_settled(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - HOUR, NOW - MINUTE, 0);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS " WHERE next_us <= queued_us"), 2);
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 2 * HOUR, NOW + MINUTE - 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM gap_sweep"), 2);
    assert_int_equal(number(bench, ROWS), 2);
    assert_true(number(bench, "SELECT min(next_us) FROM backfill_queue") == NOW + MINUTE);
    assert_true(number(bench, "SELECT max(next_us) FROM backfill_queue") == NOW + MINUTE);
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + MINUTE);
    finish(bench, "did:plc:b", NOW - 2 * HOUR, NOW + MINUTE);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
    assert_int_equal(number(bench, ROWS), 0);
}

/* What another gap asks for meanwhile is news, too: that is read at once. */
static void a_second_gap_does_not_wait_until_the_first_has_settled(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - HOUR, NOW, 0);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 2 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS " WHERE next_us = (SELECT max(to_us) + 120000000 "
                                        "FROM gaps)"),
                     2);
    add_gap_at(bench, NOW - 1, NOW + 9 * HOUR, 0, NOW + MINUTE); /* its host is ahead of us */
    assert_ok(write_batch(bench));
    assert_true(number(bench, "SELECT max(next_us) FROM backfill_queue") == NOW + MINUTE);
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + 2 * MINUTE);
    finish(bench, "did:plc:b", NOW - 2 * HOUR, NOW + 2 * MINUTE);
    assert_ok(write_batch(bench)); /* enough for the first, not for the second */
    assert_true(number(bench, "SELECT from_us FROM gaps WHERE closed_us IS NULL") == NOW - 1);
    assert_true(number(bench, "SELECT min(next_us) FROM backfill_queue") == NOW + 3 * MINUTE);
    finish(bench, "did:plc:a", NOW - 2 * HOUR, NOW + 3 * MINUTE);
    finish(bench, "did:plc:b", NOW - 2 * HOUR, NOW + 3 * MINUTE);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
    assert_int_equal(number(bench, ROWS), 0);
}

/* The same interval may be asked for, and not delivered, once more. */
static void a_gap_found_again_waits_for_a_reading_begun_since(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_true(number(bench, "SELECT closed_us FROM gaps") == NOW + HOUR);
    add_gap(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, NOW + 9 * HOUR);
    assert_ok(write_batch(bench)); /* what was closed is not closed again */
    assert_true(number(bench, "SELECT closed_us FROM gaps") == NOW + HOUR);
    add_gap_at(bench, NOW - 3 * HOUR, NOW - 2 * HOUR, 0, NOW + MINUTE);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + 1);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 1);
    finish(bench, "did:plc:a", NOW - 4 * HOUR, NOW + MINUTE);
    finish(bench, "did:plc:b", NOW - 4 * HOUR, NOW + MINUTE);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"), 0);
}

static void add_account(struct bench *bench, const char *did, int is_active)
{
    struct record *row = batch_add(&bench->batch, RECORD_ACCOUNT);
    assert_true(batch_set_text(&bench->batch, row, ACCOUNT_DID, bytes_of(did)));
    batch_set_int(row, ACCOUNT_ACTIVE, is_active);
    batch_set_int(row, ACCOUNT_AT_US, NOW);
}

/* R001-28 */
static void an_account_that_comes_back_is_read_if_it_counts(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    add_account(bench, "did:plc:a", 1);
    add_account(bench, "did:plc:b", 0);
    add_account(bench, "did:plc:stranger", 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 1);
    assert_string_equal(word(bench, "SELECT actor_did FROM backfill_queue"), "did:plc:a");
    run_script(bench, "DELETE FROM backfill_queue"); /* read; then a replay tells it again */
    add_account(bench, "did:plc:a", 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 0);
}

/* A short reading that waits, or is under way, is none of the day that is to be read. */
static void an_account_that_comes_back_is_read_for_a_day_whatever_was_asked(void **state)
{
    struct bench *bench = *state;
    fill_circle(bench);
    ask(bench, "did:plc:a", BACKFILL_FOR_START, NOW - HOUR);
    assert_ok(write_batch(bench));
    add_account(bench, "did:plc:a", 1);
    assert_ok(write_batch(bench));
    finish(bench, "did:plc:a", NOW - HOUR, NOW + 1);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 1);
    assert_true(number(bench, "SELECT since_us FROM backfill_queue") == NOW - 24 * HOUR);
    finish(bench, "did:plc:a", NOW - 24 * HOUR, NOW - 1); /* begun while it was away */
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 1);
    finish(bench, "did:plc:a", NOW - 24 * HOUR, NOW);
    assert_ok(write_batch(bench));
    assert_int_equal(number(bench, ROWS), 0);
}

static void poll(struct bench *bench, const char *handle, const char *cursor, int fetched,
                 const char *former)
{
    struct record *row = batch_add(&bench->batch, RECORD_POLL);
    assert_true(batch_set_text(&bench->batch, row, POLL_HANDLE, bytes_of(handle)));
    assert_true(batch_set_text(&bench->batch, row, POLL_CURSOR, bytes_of(cursor)));
    assert_true(batch_set_text(&bench->batch, row, POLL_FORMER, bytes_of(former)));
    batch_set_int(row, POLL_AT_US, NOW);
    batch_set_int(row, POLL_FETCHED, fetched);
}

/* R000-17 R000-33 R000-35: an upsert that adds up and forgets nothing. */
static void polling_adds_up_and_keeps_its_position(void **state)
{
    struct bench *bench = *state;
    poll(bench, "a.test", "2026-11-15T02:37:46.668Z", 5, NULL);
    assert_ok(write_batch(bench));
    poll(bench, "a.test", NULL, 0, NULL);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT last_cursor FROM poll_state"),
                        "2026-11-15T02:37:46.668Z");
    poll(bench, "a.test", "2026-11-15T03:00:00.000Z", 2, NULL);
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT last_cursor FROM poll_state"),
                        "2026-11-15T03:00:00.000Z");
    assert_int_equal(number(bench, "SELECT posts_fetched_count FROM poll_state"), 7);
    poll(bench, "renamed.test", "2026-11-15T03:00:00.000Z", 0, "a.test");
    assert_ok(write_batch(bench));
    assert_string_equal(word(bench, "SELECT user_handle FROM poll_state"), "renamed.test");
    assert_int_equal(number(bench, "SELECT count(*) FROM poll_state"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(an_account_is_queued_once_at_its_most_urgent),
        ON_STORE(progress_is_kept_and_the_end_removes_the_row),
        ON_STORE(what_was_asked_for_meanwhile_is_read_again),
        ON_STORE(a_gap_queues_everybody_whose_sharing_counts),
        ON_STORE(the_last_reading_closes_the_gap),
        ON_STORE(a_gap_found_in_the_future_is_closed_by_the_second_reading),
        ON_STORE(the_last_readings_may_be_committed_together),
        ON_STORE(an_account_that_is_gone_keeps_no_gap_open),
        ON_STORE(a_gap_that_replay_filled_waits_for_nobody),
        ON_STORE(a_gap_up_to_now_is_read_at_once_and_closed_when_feeds_have_settled),
        ON_STORE(a_second_gap_does_not_wait_until_the_first_has_settled),
        ON_STORE(a_gap_found_again_waits_for_a_reading_begun_since),
        ON_STORE(an_account_that_comes_back_is_read_if_it_counts),
        ON_STORE(an_account_that_comes_back_is_read_for_a_day_whatever_was_asked),
        ON_STORE(polling_adds_up_and_keeps_its_position),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
