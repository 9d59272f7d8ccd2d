/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: a connection keeps what it was asked before, and answers as if it did not. */
#include "store_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUERIES 200 /* more than a connection keeps */

static bool take_sum(void *arg, const struct field *columns, size_t count)
{
    int64_t *sum = arg;
    assert_int_equal(count, 1);
    *sum += columns[0].null ? -1 : columns[0].i;
    return true;
}

static int64_t ask(struct bench *bench, struct store *store, const char *sql, struct field param)
{
    int64_t sum = 0;
    assert_ok(store_query(store, sql, &param, 1, take_sum, &sum, &bench->err));
    return sum;
}

static void many_queries_asked_over_and_over_answer_each_its_own(void **state)
{
    struct bench *bench = *state;
    for (int64_t round = 0; round < 4; round++) {
        for (int i = 0; i < QUERIES; i++) {
            /* Some often, so that they stay; some once a round, so that they make way. */
            int which = i % 2 == 0 ? i : i % 16;
            char sql[96];
            snprintf(sql, sizeof sql, "SELECT id + ?1 + %d FROM engine", which);
            assert_int_equal(ask(bench, bench->store, sql, field_int(round)), 1 + round + which);
        }
    }
}

static void one_text_may_have_parameters_of_other_types(void **state)
{
    struct bench *bench = *state;
    static const char sql[] = "SELECT count(*) FROM engine WHERE ?1 = ?1";
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ask(bench, bench->store, sql, field_int(7)), 1);
        assert_int_equal(ask(bench, bench->store, sql, field_text(bytes_of("seven"))), 1);
        assert_int_equal(ask(bench, bench->store, sql, field_real(0.5)), 1);
        assert_int_equal(ask(bench, bench->store, sql, field_null(FIELD_INT)), 0);
    }
}

static void a_query_that_is_wrong_is_wrong_each_time(void **state)
{
    struct bench *bench = *state;
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        struct field param = field_int(1);
        assert_int_not_equal(store_query(bench->store, "SELECT nothing FROM engine WHERE id = ?1",
                                         &param, 1, take_sum, &sum, &bench->err),
                             RC_OK);
        assert_int_equal(ask(bench, bench->store, "SELECT id FROM engine WHERE id = ?1", param), 1);
    }
}

/* A column that came later is there for a connection that asked before. */
static void what_was_asked_before_sees_a_table_that_grew(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    static const char sql[] = "SELECT a FROM grown WHERE a < ?1";
    run_script(bench, "CREATE TABLE grown (a BIGINT); INSERT INTO grown VALUES (3)");
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(bench, reader, sql, field_int(9)), 3);
    run_script(bench, "ALTER TABLE grown ADD COLUMN b BIGINT; INSERT INTO grown VALUES (4, 1);"
                      "CREATE INDEX grown_a ON grown (a)");
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(bench, reader, sql, field_int(9)), 7);
    store_close(reader);
}

/* Whoever ends its connection, a reader goes on with a new one. */
static void a_reader_that_lost_its_connection_asks_anew(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    struct field param = field_int(1);
    int64_t sum = 0;
    static const char sql[] = "SELECT id FROM engine WHERE id = ?1";
    assert_ok(store_open(bench->fixture.url, STORE_READ, &reader, &bench->err));
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(bench, reader, sql, param), 1);
    if (both_stores_kind == FIXTURE_POSTGRES) {
        run_script(bench, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE "
                          "datname = current_database() AND pid <> pg_backend_pid() AND "
                          "application_name = 'tidemark'");
        assert_int_equal(store_query(reader, sql, &param, 1, take_sum, &sum, &bench->err),
                         RC_RETRY);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(bench, reader, sql, param), 1);
    store_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(many_queries_asked_over_and_over_answer_each_its_own),
        ON_STORE(one_text_may_have_parameters_of_other_types),
        ON_STORE(a_query_that_is_wrong_is_wrong_each_time),
        ON_STORE(what_was_asked_before_sees_a_table_that_grew),
        ON_STORE(a_reader_that_lost_its_connection_asks_anew),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
