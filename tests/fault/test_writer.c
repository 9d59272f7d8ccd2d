/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer in front of a store that answers what it is told to. */
#include "answers.h"
#include "fake_store.h"
#include "store/commit.h"
#include "store/outbox.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_US    INT64_C(60000000)
#define RETRY_US   4000
#define GIVE_UP_US 40000

struct bench {
    struct fake_store *fake;
    struct answers *answers;
    struct writer *writer;
    struct writer_options options;
    unsigned submitted;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->fake = calloc(1, sizeof *bench->fake);
    fake_store_init(bench->fake);
    bench->answers = answers_new(400u << 10);
    bench->options = (struct writer_options){.batches_max = 64,
                                             .gather_us = 1,
                                             .give_up_us = GIVE_UP_US,
                                             .retry_us_min = RETRY_US,
                                             .fatal = answers_fatal,
                                             .arg = bench->answers};
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    answers_free(bench->answers);
    fake_store_deinit(bench->fake);
    free(bench->fake);
    free(bench);
    return 0;
}

static void start(struct bench *bench)
{
    bench->writer = writer_start(&bench->fake->store, bench->fake->position, &bench->options);
}

static struct batch *fill(struct bench *bench, unsigned which, unsigned records)
{
    struct batch *batch = answers_batch(bench->answers, which);
    for (unsigned i = 0; i < records; i++) {
        struct record *record = batch_add(batch, RECORD_COVERAGE);
        assert_non_null(record);
        batch_set_int(record, COVERAGE_LO, (int64_t)which * 1000 + i);
    }
    return batch;
}

static void submit(struct bench *bench, unsigned records)
{
    struct batch *batch = fill(bench, bench->submitted, records);
    assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
    bench->submitted++;
}

static void stop_with(struct bench *bench, enum rc rc)
{
    struct err err = {0};
    assert_int_equal(writer_stop(bench->writer, &err), rc);
    assert_int_equal(err.text[0] != '\0', rc != RC_OK);
    assert_int_equal(bench->fake->closes, 1);
}

static void stop(struct bench *bench)
{
    stop_with(bench, RC_OK);
}

/* Waits until the writer has met trouble so many times. */
static struct writer_state await_retries(struct bench *bench, uint64_t count)
{
    struct writer_state shown;
    int64_t until = clock_mono_us() + LONG_US;
    do
        writer_state(bench->writer, &shown);
    while (shown.retries < count && clock_mono_us() < until);
    assert_true(shown.retries >= count);
    return shown;
}

static void a_commit_is_sent_once_it_has_a_thousand_records(void **state)
{
    struct bench *bench = *state;
    bench->options.gather_us = LONG_US;
    start(bench);
    for (int i = 0; i < 16; i++)
        submit(bench, 300);
    assert_true(answers_wait(bench->answers, 16));
    stop(bench);
    assert_true(answers_are(bench->answers, 16, RC_OK));
    assert_int_equal(bench->fake->kept, 4);
    for (size_t i = 0; i < bench->fake->kept; i++)
        assert_int_equal(bench->fake->kept_sizes[i], 1200);
}

static void a_batch_that_somebody_waits_for_is_committed_at_once(void **state)
{
    struct bench *bench = *state;
    bench->options.gather_us = 10 * LONG_US; /* longer than anybody waits for answers here */
    start(bench);
    submit(bench, 3);
    struct batch *urgent = fill(bench, bench->submitted++, 2);
    urgent->urgent = true;
    assert_int_equal(writer_submit(bench->writer, urgent), RC_OK);
    assert_true(answers_wait(bench->answers, 2));
    stop(bench);
    assert_true(answers_are(bench->answers, 2, RC_OK));
    assert_int_equal(bench->fake->kept, 1); /* with what was gathered before it */
    assert_int_equal(bench->fake->kept_sizes[0], 5);
}

static void the_fullest_commit_still_fits(void **state)
{
    struct bench *bench = *state;
    bench->options.gather_us = LONG_US;
    start(bench);
    submit(bench, COMMIT_RECORDS_GOAL - 1);
    submit(bench, BATCH_RECORDS_MAX);
    submit(bench, BATCH_RECORDS_MAX);
    assert_true(answers_wait(bench->answers, 3));
    stop(bench);
    assert_true(answers_are(bench->answers, 3, RC_OK));
    assert_int_equal(bench->fake->kept_sizes[0], COMMIT_RECORDS_GOAL - 1 + BATCH_RECORDS_MAX);
    assert_int_equal(bench->fake->kept_sizes[1], BATCH_RECORDS_MAX);
}

/* A fast disk makes nobody wait for a clock, a slow one makes commits grow; never over 20 ms. */
static void a_commit_is_kept_open_as_long_as_a_few_commits_take(void **state)
{
    (void)state;
    assert_int_equal(writer_gather_us(0), 0);
    assert_int_equal(writer_gather_us(1000), 4000);
    assert_int_equal(writer_gather_us(4999), 19996);
    assert_int_equal(writer_gather_us(5000), 20000);
    assert_int_equal(writer_gather_us(LONG_US), 20000);
}

static void one_slow_commit_holds_up_no_later_ones(void **state)
{
    (void)state;
    int64_t usual_us = 800, pace_us = 0;
    for (unsigned i = 0; i < 64; i++)
        pace_us = writer_pace_us(pace_us, usual_us);
    assert_in_range(pace_us, usual_us - 8, usual_us);
    assert_true(writer_pace_us(pace_us, LONG_US) < usual_us + usual_us / 8 + 1);
    for (unsigned i = 0; i < 64; i++) /* a disk that is slow from now on */
        pace_us = writer_pace_us(pace_us, LONG_US);
    assert_int_equal(writer_gather_us(pace_us), 20000);
}

static void a_commit_whose_answer_was_lost_is_not_sent_again(void **state)
{
    struct bench *bench = *state;
    bench->fake->fates[0] = FAKE_KEPT_MUTE;
    bench->fake->fate_count = 1;
    start(bench);
    submit(bench, 3);
    assert_true(answers_wait(bench->answers, 1));
    submit(bench, 3);
    stop(bench);
    assert_true(answers_are(bench->answers, 2, RC_OK));
    assert_int_equal(bench->fake->writes, 2);
    assert_int_equal(bench->fake->kept, 2);
    assert_int_equal(bench->fake->position.commit_seq, 2);
}

static void a_commit_that_did_not_arrive_is_sent_again(void **state)
{
    struct bench *bench = *state;
    struct writer_state shown;
    for (int i = 0; i < 3; i++)
        bench->fake->fates[i] = FAKE_LOST;
    bench->fake->fate_count = 3;
    start(bench);
    submit(bench, 3);
    assert_true(answers_wait(bench->answers, 1));
    submit(bench, 3);
    assert_true(answers_wait(bench->answers, 2));
    writer_state(bench->writer, &shown);
    assert_false(shown.dead);
    assert_int_equal(shown.retries, 3);
    stop(bench);
    assert_true(answers_are(bench->answers, 2, RC_OK));
    assert_int_equal(bench->fake->writes, 5);
    assert_int_equal(bench->fake->kept, 2);
    assert_int_equal(bench->answers->fatals, 0);
}

static unsigned count_of(const char *words, const char *what)
{
    unsigned count = 0;
    for (; (words = strstr(words, what)) != NULL; words++)
        count++;
    return count;
}

static void add_cursor(struct batch *batch, const char *stream, int64_t position)
{
    struct record *row = batch_add(batch, RECORD_CURSOR);
    assert_non_null(row);
    assert_true(batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of("jetstream")));
    assert_true(batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of(stream)));
    batch_set_int(row, CURSOR_ROW_POSITION, position);
}

/* R003-63: a position that cannot be written fails with all it covers, and people are told once. */
static void trouble_is_logged_once_with_the_stream_and_its_cursor(void **state)
{
    struct bench *bench = *state;
    struct err err;
    char path[] = "/tmp/tidemark-writer-XXXXXX", words[4096] = "";
    close(mkstemp(path));
    assert_int_equal(log_open(&(struct log_options){.level = LOG_INFO, .file = path}, &err), RC_OK);
    for (int i = 0; i < 5; i++)
        bench->fake->fates[i] = FAKE_LOST;
    bench->fake->fate_count = 5;
    start(bench);
    struct batch *batch = fill(bench, 0, 3);
    add_cursor(batch, "live", 1234567);
    add_cursor(batch, "other", 8);
    assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
    await_retries(bench, 5);
    assert_true(answers_wait(bench->answers, 1));
    stop(bench);
    log_close();
    FILE *file = fopen(path, "r");
    assert_true(fread(words, 1, sizeof words - 1, file) > 0);
    fclose(file);
    unlink(path);
    assert_true(answers_are(bench->answers, 1, RC_OK));
    assert_int_equal(count_of(words, "level=error"), 1);
    assert_non_null(strstr(words, "component=store source=jetstream stream=live cursor=1234567 "
                                  "cursors=2 reason=\"told to fail\" msg=not_written"));
    assert_int_equal(count_of(words, "msg=written_again"), 1);
}

static void nothing_is_sent_before_the_outcome_is_known(void **state)
{
    struct bench *bench = *state;
    bench->fake->fates[0] = FAKE_KEPT_MUTE;
    bench->fake->fate_count = 1;
    bench->fake->deaf = true;
    start(bench);
    submit(bench, 3);
    struct writer_state shown = await_retries(bench, 4);
    assert_true(shown.in_trouble && shown.trouble_since_us > 0 && shown.trouble[0] != '\0');
    assert_int_equal(fake_store_writes(bench->fake), 1);
    fake_store_heal(bench->fake);
    assert_true(answers_wait(bench->answers, 1));
    stop(bench);
    assert_true(answers_are(bench->answers, 1, RC_OK));
    assert_int_equal(bench->fake->writes, 1);
}

static void a_writer_that_was_replaced_says_so_once_and_takes_nothing_more(void **state)
{
    struct bench *bench = *state;
    bench->fake->fates[0] = FAKE_LOST;
    bench->fake->fate_count = 1;
    bench->fake->deaf = true;
    start(bench);
    submit(bench, 3);
    await_retries(bench, 2);
    fake_store_take_over(bench->fake);
    fake_store_heal(bench->fake);
    assert_true(answers_wait(bench->answers, 1));
    for (int i = 0; i < 5; i++)
        submit(bench, 3);
    stop_with(bench, RC_FATAL);
    assert_true(answers_are(bench->answers, 6, RC_FATAL));
    assert_int_equal(bench->answers->fatals, 1);
    assert_int_equal(bench->fake->writes, 1);
    assert_int_equal(bench->fake->kept, 0);
}

static void a_store_that_jumped_back_or_ahead_is_fatal(void **state)
{
    struct bench *bench = *state;
    const int64_t jumps[] = {-1, 2};
    for (int i = 0; i < 2; i++) {
        struct answers *answers = answers_new(4096);
        struct fake_store *fake = bench->fake;
        fake_store_init(fake);
        fake->position.commit_seq = 10;
        fake->fates[0] = FAKE_LOST;
        fake->fate_count = 1;
        bench->options.arg = answers;
        struct store_position mine = fake->position;
        fake->position.commit_seq += jumps[i];
        bench->writer = writer_start(&fake->store, mine, &bench->options);
        struct batch *batch = answers_batch(answers, 0);
        assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
        stop_with(bench, RC_FATAL);
        assert_true(answers_are(answers, 1, RC_FATAL));
        assert_int_equal(answers->fatals, 1);
        answers_free(answers);
    }
}

static void a_broken_store_is_told_once_and_every_batch_is_answered(void **state)
{
    struct bench *bench = *state;
    bench->fake->fates[0] = FAKE_KEPT;
    bench->fake->fate_count = 1;
    bench->fake->then = FAKE_BROKEN;
    start(bench);
    submit(bench, 3);
    assert_true(answers_wait(bench->answers, 1));
    for (int i = 0; i < 8; i++)
        submit(bench, 900);
    stop_with(bench, RC_FATAL);
    assert_int_equal(bench->answers->count, 9);
    assert_int_equal(bench->answers->codes[0], RC_OK);
    for (int i = 1; i < 9; i++) {
        assert_int_equal(bench->answers->times[i], 1);
        assert_int_equal(bench->answers->codes[i], RC_FATAL);
    }
    assert_int_equal(bench->answers->fatals, 1);
    assert_int_equal(bench->fake->writes, 2);
}

static void stopping_commits_what_is_queued(void **state)
{
    struct bench *bench = *state;
    bench->options.gather_us = LONG_US;
    start(bench);
    for (int i = 0; i < 40; i++)
        submit(bench, 100);
    stop(bench);
    assert_true(answers_are(bench->answers, 40, RC_OK));
}

static void a_full_queue_leaves_the_batch_with_its_owner(void **state)
{
    struct bench *bench = *state;
    bench->options.batches_max = 2;
    bench->fake->then = FAKE_LOST;
    start(bench);
    unsigned taken = 0;
    /* One may be in the writer's hands; two wait. */
    while (taken < 10 && writer_submit(bench->writer, fill(bench, taken, 900)) == RC_OK)
        taken++;
    assert_in_range(taken, 2, 5);
    fake_store_heal(bench->fake);
    stop(bench);
    assert_true(answers_are(bench->answers, taken, RC_OK));
}

/* The time to give up is the stop's, not each commit's: queued batches do not add to it. */
static void stopping_before_a_dead_store_gives_up_once_for_all(void **state)
{
    struct bench *bench = *state;
    bench->fake->then = FAKE_LOST;
    start(bench);
    for (int i = 0; i < 12; i++)
        submit(bench, BATCH_RECORDS_MAX);
    stop_with(bench, RC_RETRY);
    assert_true(answers_are(bench->answers, 12, RC_RETRY));
    assert_int_equal(bench->answers->fatals, 0);
    assert_int_equal(bench->fake->kept, 0);
    size_t later = 0;
    for (size_t i = 0; i < bench->fake->writes; i++)
        later += bench->fake->tried_first[i] != bench->fake->tried_first[0];
    assert_true(later <= 11);
}

static struct bench *at_hand; /* for a courier that knows no test */
static batch_fn *courier_before;

static void heal_and_note(void *arg, struct batch *batch, enum rc rc)
{
    fake_store_heal(at_hand->fake);
    courier_before(arg, batch, rc);
}

/* The cursor of a later commit covers what an earlier one should have stored (I2). */
static void nothing_is_committed_after_what_was_given_up(void **state)
{
    struct bench *bench = at_hand = *state;
    bench->fake->then = FAKE_LOST;
    start(bench);
    struct batch *first = fill(bench, 0, BATCH_RECORDS_MAX);
    courier_before = first->committed;
    first->committed = heal_and_note;
    assert_int_equal(writer_submit(bench->writer, first), RC_OK);
    bench->submitted = 1;
    for (int i = 0; i < 3; i++)
        submit(bench, BATCH_RECORDS_MAX);
    stop_with(bench, RC_RETRY);
    assert_true(answers_are(bench->answers, 4, RC_RETRY));
    assert_int_equal(bench->fake->kept, 0);
}

static enum rc count_errand(void *arg, struct store *store, struct err *err)
{
    (void)store, (void)err, ++*(unsigned *)arg;
    return RC_OK;
}

/* What it does is in no commit, which would be refused there (I8). */
static void an_errand_is_not_done_in_a_store_that_was_taken_over(void **state)
{
    struct bench *bench = *state;
    unsigned runs = 0;
    start(bench);
    for (unsigned i = 0; i < 3; i++) {
        struct batch *batch = fill(bench, i, 0);
        batch->errand = count_errand;
        batch->owner = &runs;
        assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
        assert_true(answers_wait(bench->answers, i + 1));
        assert_int_equal(bench->answers->codes[i], i == 0 ? RC_OK : RC_FATAL);
        fake_store_take_over(bench->fake);
    }
    stop_with(bench, RC_FATAL);
    assert_int_equal(runs, 1);
    assert_int_equal(bench->answers->fatals, 1);
}

struct eager_owner {
    struct outbox *outbox;
    enum rc answer, again;
};

static void submit_once_more(void *arg, struct batch *batch, enum rc rc)
{
    struct eager_owner *owner = arg;
    owner->answer = rc;
    owner->again = outbox_submit(owner->outbox, batch);
}

/* A source with frames in hand fills the next batch as soon as one comes back. */
static void an_answer_that_comes_after_the_stop_hands_nothing_over(void **state)
{
    struct bench *bench = *state;
    struct loop *loop = loop_new();
    start(bench);
    struct eager_owner owner = {.outbox = outbox_new(loop, bench->writer, 4), .answer = RC_FATAL};
    struct batch *batch = fill(bench, 0, 3);
    batch->answered = submit_once_more;
    batch->owner = &owner;
    assert_int_equal(outbox_submit(owner.outbox, batch), RC_OK);
    stop(bench);
    outbox_free(owner.outbox);
    loop_free(loop);
    assert_int_equal(owner.answer, RC_OK);
    assert_int_equal(owner.again, RC_REJECT);
}

int main(void)
{
#define WITH_WRITER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_WRITER(a_commit_is_sent_once_it_has_a_thousand_records),
        WITH_WRITER(a_batch_that_somebody_waits_for_is_committed_at_once),
        WITH_WRITER(the_fullest_commit_still_fits),
        cmocka_unit_test(a_commit_is_kept_open_as_long_as_a_few_commits_take),
        cmocka_unit_test(one_slow_commit_holds_up_no_later_ones),
        WITH_WRITER(a_commit_whose_answer_was_lost_is_not_sent_again),
        WITH_WRITER(a_commit_that_did_not_arrive_is_sent_again),
        WITH_WRITER(trouble_is_logged_once_with_the_stream_and_its_cursor),
        WITH_WRITER(nothing_is_sent_before_the_outcome_is_known),
        WITH_WRITER(a_writer_that_was_replaced_says_so_once_and_takes_nothing_more),
        WITH_WRITER(a_store_that_jumped_back_or_ahead_is_fatal),
        WITH_WRITER(a_broken_store_is_told_once_and_every_batch_is_answered),
        WITH_WRITER(stopping_commits_what_is_queued),
        WITH_WRITER(a_full_queue_leaves_the_batch_with_its_owner),
        WITH_WRITER(stopping_before_a_dead_store_gives_up_once_for_all),
        WITH_WRITER(nothing_is_committed_after_what_was_given_up),
        WITH_WRITER(an_errand_is_not_done_in_a_store_that_was_taken_over),
        WITH_WRITER(an_answer_that_comes_after_the_stop_hands_nothing_over),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
