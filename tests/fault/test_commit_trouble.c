/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that the database refuses, and a store whose own state is gone, on both stores. */
#include "answers.h"
#include "fixture.h"
#include "store/commit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LONG_US  INT64_C(60000000)
#define BAD_KIND 7

struct bench {
    struct fixture fixture;
    struct store *reader;
    struct answers *answers;
    struct writer *writer;
    unsigned handed;
    struct err err;
};

static enum fixture_kind kind;
static unsigned executed;

#define assert_ok(rc_)                                                                             \
    do {                                                                                           \
        enum rc got_ = (rc_);                                                                      \
        if (got_ != RC_OK)                                                                         \
            fail_msg("%s: %s", rc_name(got_), bench->err.text);                                    \
    } while (0)

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct store *store;
    struct store_position position;
    unsigned applied;
    fixture_open(&bench->fixture, kind);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err));
    assert_ok(store_migrate(store, &applied, &bench->err));
    assert_ok(store_claim(store, "test", NULL, 1, &position, &bench->err));
    assert_ok(store_open(bench->fixture.url, STORE_READ, &bench->reader, &bench->err));
    bench->answers = answers_new(1u << 20);
    struct writer_options options = {
        .gather_us = LONG_US, .retry_us_min = 2000, .fatal = answers_fatal, .arg = bench->answers};
    bench->writer = writer_start(store, position, &options);
    *state = bench;
    executed++;
    return 0;
}

/* The writer gathers until it is stopped: all batches of a test are one commit. */
static void stop(struct bench *bench)
{
    if (bench->writer != NULL)
        writer_stop(bench->writer, NULL);
    bench->writer = NULL;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    stop(bench);
    store_close(bench->reader);
    answers_free(bench->answers);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static struct record *add_post(struct batch *batch, unsigned rkey, const char *rev, int op,
                               int post_kind, int64_t shared_us)
{
    char text[32];
    snprintf(text, sizeof text, "%u", rkey);
    struct record *record = batch_add(batch, RECORD_POST);
    assert_non_null(record);
    assert_true(batch_set_text(batch, record, POST_DID, bytes_of("did:plc:a")));
    assert_true(batch_set_text(batch, record, POST_COLLECTION, bytes_of("c")));
    assert_true(batch_set_text(batch, record, POST_RKEY, bytes_of(text)));
    assert_true(batch_set_text(batch, record, POST_REV, bytes_of(rev)));
    assert_true(batch_set_text(batch, record, POST_TEXT, bytes_of(rev)));
    batch_set_int(record, POST_OP, op);
    batch_set_int(record, POST_KIND, post_kind);
    batch_set_int(record, POST_SHARED_US, shared_us);
    return record;
}

static struct batch *next_batch(struct bench *bench)
{
    return answers_batch(bench->answers, bench->handed);
}

static void submit(struct bench *bench, struct batch *batch)
{
    assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
    bench->handed++;
}

static int64_t number(struct bench *bench, const char *sql)
{
    int64_t value;
    assert_ok(store_query_int(bench->reader, sql, -1, &value, &bench->err));
    return value;
}

static void duplicates_over_several_batches_become_one_row(void **state)
{
    struct bench *bench = *state;
    static const char *const revs[] = {"r2", "r4", "r1", "r3"};
    for (int i = 0; i < 4; i++) {
        struct batch *batch = next_batch(bench);
        for (unsigned rkey = 0; rkey < 20; rkey++)
            add_post(batch, rkey, revs[i], POST_OP_PUT, POST_KIND_POST, 100 - i);
        submit(bench, batch);
    }
    stop(bench);
    assert_true(answers_are(bench->answers, 4, RC_OK));
    assert_int_equal(number(bench, "SELECT commit_seq FROM engine"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 20);
    assert_int_equal(number(bench, "SELECT count(*) FROM post WHERE rev = 'r4' AND body = 'r4' "
                                   "AND shared_us = 97"),
                     20);
}

/* As in commits of their own: the good version stays, the bad one is put aside. */
static void a_refused_version_does_not_take_the_good_one_along(void **state)
{
    struct bench *bench = *state;
    struct batch *batch = next_batch(bench);
    add_post(batch, 1, "r1", POST_OP_PUT, POST_KIND_POST, 100);
    add_post(batch, 1, "r2", POST_OP_PUT, BAD_KIND, 101);
    add_post(batch, 2, "r1", POST_OP_PUT, BAD_KIND, 100);
    add_post(batch, 2, "r2", POST_OP_PUT, BAD_KIND, 101);
    add_post(batch, 3, "r1", POST_OP_PUT, POST_KIND_POST, 100);
    submit(bench, batch);
    stop(bench);
    assert_true(answers_are(bench->answers, 1, RC_OK));
    assert_int_equal(number(bench, "SELECT count(*) FROM post WHERE rkey = '1' AND rev = 'r1'"), 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 2);
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), 3);
}

static void a_commit_full_of_refused_rows_is_put_aside_whole(void **state)
{
    struct bench *bench = *state;
    const unsigned sizes[] = {COMMIT_RECORDS_GOAL - 1, BATCH_RECORDS_MAX};
    unsigned rkey = 0;
    for (int i = 0; i < 2; i++) {
        struct batch *batch = next_batch(bench);
        for (unsigned k = 0; k < sizes[i]; k++)
            add_post(batch, rkey++, "r", POST_OP_PUT, BAD_KIND, 1);
        submit(bench, batch);
    }
    stop(bench);
    assert_true(answers_are(bench->answers, 2, RC_OK));
    assert_int_equal(number(bench, "SELECT count(*) FROM quarantine"), rkey);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
}

static void a_version_without_a_time_does_not_spoil_the_others(void **state)
{
    struct bench *bench = *state;
    struct batch *batch = next_batch(bench);
    struct record *timeless = add_post(batch, 1, "r1", POST_OP_PUT, POST_KIND_POST, 1);
    timeless->fields[POST_SHARED_US] = field_null(FIELD_INT);
    add_post(batch, 1, "r2", POST_OP_PUT, POST_KIND_POST, 100);
    submit(bench, batch);
    stop(bench);
    assert_int_equal(number(bench, "SELECT shared_us FROM post"), 100);
}

static void a_refused_cursor_is_fatal_once_and_keeps_nothing(void **state)
{
    struct bench *bench = *state;
    struct batch *batch = next_batch(bench);
    add_post(batch, 1, "r1", POST_OP_PUT, POST_KIND_POST, 1);
    struct record *cursor = batch_add(batch, RECORD_CURSOR);
    assert_true(batch_set_text(batch, cursor, CURSOR_ROW_SOURCE, bytes_of("s")));
    assert_true(batch_set_text(batch, cursor, CURSOR_ROW_STREAM, bytes_of("t")));
    submit(bench, batch);
    stop(bench);
    assert_int_equal(bench->answers->count, 1);
    assert_int_not_equal(bench->answers->codes[0], RC_OK);
    assert_int_equal(bench->answers->fatals, 1);
    assert_int_equal(number(bench, "SELECT count(*) FROM post"), 0);
    assert_int_equal(number(bench, "SELECT commit_seq FROM engine"), 0);
}

static void a_store_without_its_position_is_fatal(void **state)
{
    struct bench *bench = *state;
    struct store *store;
    struct store_position position = {77, 77, 77};
    stop(bench);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err));
    assert_ok(store->ops->script(store, "DELETE FROM engine", &bench->err));
    assert_int_equal(store->ops->position(store, &position, &bench->err), RC_FATAL);
    assert_int_equal(store_claim(store, "test", NULL, 1, &position, &bench->err), RC_FATAL);
    store_close(store);
}

static int run_on(enum fixture_kind which)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(duplicates_over_several_batches_become_one_row),
        ON_STORE(a_refused_version_does_not_take_the_good_one_along),
        ON_STORE(a_commit_full_of_refused_rows_is_put_aside_whole),
        ON_STORE(a_version_without_a_time_does_not_spoil_the_others),
        ON_STORE(a_refused_cursor_is_fatal_once_and_keeps_nothing),
        ON_STORE(a_store_without_its_position_is_fatal),
    };
    kind = which;
    executed = 0;
    int failed = cmocka_run_group_tests_name(fixture_kind_name(which), tests, NULL, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(which), executed);
    return failed;
}

int main(void)
{
    return run_on(FIXTURE_SQLITE) + run_on(FIXTURE_POSTGRES);
}
