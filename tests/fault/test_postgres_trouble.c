/* SPDX-License-Identifier: Apache-2.0
 *
 * What PostgreSQL may answer to a commit, and who else may hold the store meanwhile. */
#include "breaking_proxy.h"
#include "fixture.h"
#include "store/store_postgres.h"
#include "sys/clock.h"
#include "writer_bench.h"

#include <libpq-fe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMITS     10
#define TIMES       3         /* an answer is given before it stops */
#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

struct bench {
    struct fixture fixture;
    struct writer_bench writer;
    PGconn *side; /* the test's own connection */
};

static struct workload workload;
static unsigned executed;

static void run_sql(PGconn *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void run_sql(PGconn *connection, const char *format, ...)
{
    struct text sql = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&sql, format, args);
    va_end(args);
    PGresult *result = PQexec(connection, text_string(&sql));
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text_string(&sql), PQerrorMessage(connection));
    PQclear(result);
    text_free(&sql);
}

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    fixture_open(&bench->fixture, FIXTURE_POSTGRES);
    assert_true(writer_bench_start(&bench->writer, &workload, bench->fixture.url));
    bench->side = PQconnectdb(bench->fixture.url);
    assert_int_equal(PQstatus(bench->side), CONNECTION_OK);
    executed++;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    writer_bench_stop(&bench->writer);
    PQfinish(bench->side);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

/* The next `TIMES` commits fail with `state`; a sequence counts them, since it is not rolled
 * back. */
static void fail_with(struct bench *bench, const char *state)
{
    run_sql(bench->side,
            "CREATE SEQUENCE hits; CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN IF nextval('hits') <= %d THEN RAISE EXCEPTION 'told to' USING ERRCODE = "
            "'%s'; END IF; RETURN NEW; END $$;"
            "CREATE TRIGGER strike BEFORE UPDATE ON engine FOR EACH ROW EXECUTE FUNCTION strike()",
            TIMES, state);
}

static void stop_failing(struct bench *bench)
{
    run_sql(bench->side, "DROP TRIGGER strike ON engine; DROP FUNCTION strike(); "
                         "DROP SEQUENCE hits");
}

static void states_that_pass_are_waited_out(void **state)
{
    struct bench *bench = *state;
    static const char *const passing[] = {"53100", "53200", "40001", "40P01", "57P01",
                                          "57014", "25006", "55P03", "58030"};
    unsigned fired = 0;
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        uint64_t before = writer_bench_retries(&bench->writer);
        if (bench->writer.done == COMMITS)
            break;
        fail_with(bench, passing[i]);
        writer_bench_submit(&bench->writer);
        assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
        /* The refused rows of one commit are looked for in tries of their own. */
        if (writer_bench_retries(&bench->writer) < before + TIMES)
            fail_msg("%s: %d retries", passing[i],
                     (int)(writer_bench_retries(&bench->writer) - before));
        stop_failing(bench);
        fired += TIMES;
    }
    assert_int_equal(bench->writer.answers->fatals, 0);
    printf("fault=sqlstate-passing fired=%u\n", fired);
}

static void a_corrupt_server_is_fatal_once(void **state)
{
    struct bench *bench = *state;
    fail_with(bench, "XX001");
    writer_bench_submit(&bench->writer);
    assert_true(answers_wait(bench->writer.answers, 1));
    writer_bench_submit(&bench->writer);
    assert_true(answers_wait(bench->writer.answers, 2));
    assert_true(answers_are(bench->writer.answers, 2, RC_FATAL));
    assert_int_equal(bench->writer.answers->fatals, 1);
    assert_int_equal(workload_check(&workload, bench->fixture.url), 0);
}

static void a_terminated_connection_is_made_again(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 5; i++) {
        run_sql(bench->side, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                             "WHERE datname = current_database() AND pid <> pg_backend_pid()");
        writer_bench_submit(&bench->writer);
        assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    }
    assert_true(writer_bench_retries(&bench->writer) >= 5);
    printf("fault=terminated fired=5\n");
}

static enum rc make_table(void *arg, struct store *store, struct err *err)
{
    (void)arg;
    return store->ops->script(store, "CREATE TABLE IF NOT EXISTS errand (id INT)", err);
}

/* No commit comes that would find out that the line is dead. */
static void a_terminated_connection_is_made_again_for_an_errand(void **state)
{
    struct bench *bench = *state;
    struct answers *answers = bench->writer.answers;
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    unsigned tries = 0;
    run_sql(bench->side, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                         "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    do { /* the server may need a moment to end it */
        struct batch *batch = answers_batch(answers, tries % ANSWERS_MAX);
        batch->errand = make_table;
        assert_int_equal(writer_submit(bench->writer.writer, batch), RC_OK);
        assert_true(answers_wait(answers, ++tries));
    } while (answers->codes[(tries - 1) % ANSWERS_MAX] == RC_RETRY && clock_mono_us() < until);
    assert_int_equal(answers->codes[(tries - 1) % ANSWERS_MAX], RC_OK);
    run_sql(bench->side, "SELECT id FROM errand");
    assert_int_equal(answers->fatals, 0);
    printf("fault=terminated-idle fired=1\n");
}

/* The first commit prepares its statements; that may fail half way on a line that stays up. */
static void preparing_can_be_taken_up_again(void **state)
{
    struct bench *bench = *state;
    run_sql(bench->side, "ALTER DATABASE \"%s\" SET lock_timeout = '20ms'", PQdb(bench->side));
    run_sql(bench->side, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                         "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    run_sql(bench->side, "BEGIN; LOCK TABLE cursors IN ACCESS EXCLUSIVE MODE");
    writer_bench_submit(&bench->writer);
    assert_true(writer_bench_await_retries(&bench->writer, 4));
    run_sql(bench->side, "COMMIT");
    assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    assert_int_equal(bench->writer.answers->fatals, 0);
}

/* An index takes no key beyond a third of a page: the row's fault, not the store's. */
static void a_key_too_long_for_its_index_is_quarantined(void **state)
{
    struct bench *bench = *state;
    char key[6000];
    uint32_t noise = 1;
    for (size_t i = 0; i < sizeof key; i++) {
        noise = noise * 1664525u + 1013904223u;
        key[i] = (char)('!' + (noise >> 24) % 90);
    }
    struct batch *batch = answers_batch(bench->writer.answers, 0);
    for (int i = 0; i < 2; i++) {
        struct record *record = batch_add(batch, RECORD_POST);
        assert_true(batch_set_text(batch, record, POST_DID, bytes_of("did:plc:a")));
        assert_true(batch_set_text(batch, record, POST_COLLECTION, bytes_of("c")));
        assert_true(batch_set_text(batch, record, POST_REV, bytes_of("r")));
        assert_true(batch_set_text(batch, record, POST_RKEY,
                                   i == 0 ? bytes_of("good") : bytes_make(key, sizeof key)));
        batch_set_int(record, POST_OP, POST_OP_PUT);
        batch_set_int(record, POST_KIND, POST_KIND_POST);
        batch_set_int(record, POST_SHARED_US, 1);
    }
    assert_int_equal(writer_submit(bench->writer.writer, batch), RC_OK);
    assert_true(answers_wait(bench->writer.answers, 1));
    assert_true(answers_are(bench->writer.answers, 1, RC_OK));
    PGresult *result = PQexec(bench->side, "SELECT (SELECT count(*) FROM post), "
                                           "(SELECT count(*) FROM quarantine)");
    assert_string_equal(PQgetvalue(result, 0, 0), "1");
    assert_string_equal(PQgetvalue(result, 0, 1), "1");
    PQclear(result);
}

/* Opens for writing as soon as the server has seen the other line end. */
static struct store *open_when_free(const char *url, struct store_position *position)
{
    struct store *store = NULL;
    struct err err;
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (store_open(url, STORE_WRITE, &store, &err) != RC_OK)
        if (clock_mono_us() > until)
            fail_msg("%s", err.text);
    assert_int_equal(store_claim(store, "second", NULL, 2, position, &err), RC_OK);
    return store;
}

static void a_writer_cut_off_is_fenced_by_the_next(void **state)
{
    struct bench *bench = *state;
    for (int still_there = 0; still_there < 2; still_there++) {
        struct proxy *proxy = proxy_start(bench->fixture.url);
        struct writer_bench first;
        struct store_position position;
        struct err err;
        writer_bench_stop(&bench->writer);
        assert_true(writer_bench_start(&first, &workload, proxy_url(proxy)));
        writer_bench_submit(&first);
        assert_true(writer_bench_settle(&first, bench->fixture.url));
        struct store *refused;
        assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &refused, &err), RC_REJECT);
        proxy_refuse(proxy, true);
        proxy_cut_all(proxy);
        writer_bench_submit(&first);
        assert_true(writer_bench_await_retries(&first, 1));
        struct store *second = open_when_free(bench->fixture.url, &position);
        assert_int_equal(workload_write(second, &position, position.commit_seq + 1, &err), RC_OK);
        if (!still_there)
            store_close(second);
        proxy_refuse(proxy, false);
        assert_true(answers_wait(first.answers, 2));
        assert_int_equal(first.answers->codes[1], RC_FATAL);
        assert_int_equal(first.answers->fatals, 1);
        assert_non_null(strstr(first.answers->fatal_text, "taken this store over"));
        if (still_there)
            store_close(second);
        writer_bench_stop(&first);
        proxy_stop(proxy);
        assert_int_equal(workload_check(&workload, bench->fixture.url), position.commit_seq);
        assert_true(writer_bench_start(&bench->writer, &workload, bench->fixture.url));
    }
}

/* A program that stops has other things to wait for. */
static void closing_before_a_silent_server_is_brief(void **state)
{
    struct bench *bench = *state;
    struct proxy *proxy = proxy_start(bench->fixture.url);
    struct store *store = NULL;
    struct err err;
    writer_bench_stop(&bench->writer);
    assert_int_equal(store_open(proxy_url(proxy), STORE_WRITE, &store, &err), RC_OK);
    proxy_break(proxy, PROXY_SERVER, 0, PROXY_STALL);
    int64_t began_us = clock_mono_us();
    store_close(store);
    assert_in_range(clock_mono_us() - began_us, 0, 30000000);
    assert_true(proxy_has_struck(proxy));
    proxy_stop(proxy);
    assert_true(writer_bench_start(&bench->writer, &workload, bench->fixture.url));
}

static int learn(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, FIXTURE_POSTGRES);
    workload_learn(&workload, fixture.url, COMMITS);
    fixture_close(&fixture);
    return 0;
}

static void a_server_that_thinks_for_long_is_lost_unless_the_whole_store_is_read(void **state)
{
    struct bench *bench = *state;
    struct store *reader = NULL;
    struct err err;
    int64_t count;
    const char *slow = "SELECT count(*) FROM (SELECT pg_sleep(1)) s";
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &reader, &err), RC_OK);
    ((struct store_postgres *)reader)->answer_us_max = 100000;
    assert_int_equal(store_query_int(reader, slow, -1, &count, &err), RC_RETRY);
    reader->patient = true;
    assert_int_equal(store_query_int(reader, slow, -1, &count, &err), RC_OK);
    assert_int_equal(count, 1);
    store_close(reader);
}

/* Or most of what people write would be refused, row by row. */
static void a_database_that_cannot_hold_every_text_is_refused(void **state)
{
    struct bench *bench = *state;
    struct store *store = NULL;
    struct text url = {0};
    struct err err;
    size_t server = (size_t)(strrchr(bench->fixture.url, '/') - bench->fixture.url);
    text_append(&url, bench->fixture.url, server);
    text_append_string(&url, "/latin");
    run_sql(bench->side, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' "
                         "LC_COLLATE 'C' LC_CTYPE 'C'");
    assert_int_equal(store_open(text_string(&url), STORE_WRITE, &store, &err), RC_REJECT);
    assert_null(store);
    assert_non_null(strstr(err.text, "LATIN1"));
    run_sql(bench->side, "DROP DATABASE latin WITH (FORCE)");
    text_free(&url);
}

int main(void)
{
#define ON_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SERVER(states_that_pass_are_waited_out),
        ON_SERVER(a_corrupt_server_is_fatal_once),
        ON_SERVER(a_terminated_connection_is_made_again),
        ON_SERVER(a_terminated_connection_is_made_again_for_an_errand),
        ON_SERVER(preparing_can_be_taken_up_again),
        ON_SERVER(a_key_too_long_for_its_index_is_quarantined),
        ON_SERVER(a_writer_cut_off_is_fenced_by_the_next),
        ON_SERVER(closing_before_a_silent_server_is_brief),
        ON_SERVER(a_server_that_thinks_for_long_is_lost_unless_the_whole_store_is_read),
        ON_SERVER(a_database_that_cannot_hold_every_text_is_refused),
    };
    int failed = cmocka_run_group_tests_name("postgres_trouble", tests, learn, NULL);
    printf("only=postgres tests=%u\n", executed);
    return failed;
}
