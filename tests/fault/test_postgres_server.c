/* SPDX-License-Identifier: Apache-2.0
 *
 * The server goes away while batches wait: it restarts, crashes, becomes read-only, or a standby
 * takes its place. The writer finds its way back, and nothing is lost or there twice. */
#include "postgres_server.h"
#include "writer_bench.h"

#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define COMMITS 24

static struct workload workload;
static unsigned executed;

static void submit(struct writer_bench *bench, int count)
{
    for (int i = 0; i < count; i++)
        writer_bench_submit(bench);
}

/* Several batches may go into one commit here, so what is compared is what does not tell. */
static void check_rows(struct writer_bench *bench, const struct server *server)
{
    char sql[256], expected[32];
    assert_true(answers_wait(bench->answers, bench->handed));
    assert_true(answers_are(bench->answers, bench->handed, RC_OK));
    snprintf(expected, sizeof expected, "%d", (int)(3 * bench->done));
    server_await(server, "SELECT count(*) FROM post WHERE rkey LIKE 'tag-%'", expected);
    snprintf(expected, sizeof expected, "%d", (int)bench->done);
    snprintf(sql, sizeof sql, "SELECT position FROM cursors WHERE source = 'ledger'");
    server_await(server, sql, expected);
    server_await(server, "SELECT count(*) FROM post WHERE rkey LIKE 'short-%'", "3");
    server_await(server,
                 "SELECT count(*) = (SELECT commit_seq FROM engine) FROM "
                 "(SELECT DISTINCT seq FROM post WHERE rkey LIKE 'tag-%') t",
                 "t");
}

static void a_restart_while_batches_wait_loses_nothing(void **state)
{
    (void)state;
    struct server server;
    struct writer_bench bench;
    server_make(&server);
    server_start(&server);
    assert_true(writer_bench_start(&bench, &workload, server.url));
    for (int at_once = 0; at_once < 2; at_once++) {
        submit(&bench, 4);
        server_stop(&server, at_once);
        submit(&bench, 4);
        assert_true(writer_bench_await_retries(&bench, writer_bench_retries(&bench) + 2));
        server_start(&server);
        check_rows(&bench, &server);
    }
    assert_int_equal(bench.answers->fatals, 0);
    writer_bench_stop(&bench);
    server_free(&server);
    printf("fault=server-restart fired=2\n");
    executed++;
}

static void make_pair(struct server *primary, struct server *standby, char *url, size_t size)
{
    server_make(primary);
    server_start(primary);
    server_follow(standby, primary);
    snprintf(url, size, "postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres", primary->port,
             standby->port);
}

/* The primary dies, the writer tries in vain, the standby takes over: all rows are there, once. */
static void fail_over(struct writer_bench *bench, struct server *primary, struct server *standby)
{
    server_stop(primary, true);
    submit(bench, 4);
    assert_true(writer_bench_await_retries(bench, 2));
    server_promote(standby);
    check_rows(bench, standby);
    assert_int_equal(bench->answers->fatals, 0);
    writer_bench_stop(bench);
    server_free(primary);
    server_free(standby);
}

static void a_promoted_standby_takes_over(void **state)
{
    (void)state;
    struct server primary, standby;
    struct writer_bench bench;
    char url[256];
    make_pair(&primary, &standby, url, sizeof url);
    assert_true(writer_bench_start(&bench, &workload, url));
    submit(&bench, 6);
    check_rows(&bench, &primary);
    submit(&bench, 4);
    fail_over(&bench, &primary, &standby);
    printf("fault=failover fired=1\n");
    executed++;
}

/* The standby has the commit and does not say so, and then the primary is gone: whoever committed
 * cannot know. What the standby has is not made twice, what it never got is made again. */
static void a_commit_nobody_answers_for_is_there_once_after_the_promotion(void **state)
{
    (void)state;
    struct server primary, standby;
    struct writer_bench bench;
    char url[256];
    make_pair(&primary, &standby, url, sizeof url);
    server_run(&primary, "ALTER SYSTEM SET synchronous_commit = remote_apply");
    server_run(&primary, "SELECT pg_reload_conf()");
    server_await(&primary, "SHOW synchronous_commit", "remote_apply");
    assert_true(writer_bench_start(&bench, &workload, url));
    submit(&bench, 6);
    check_rows(&bench, &primary);
    server_run(&standby, "SELECT pg_wal_replay_pause()");
    server_await(&standby, "SELECT pg_get_wal_replay_pause_state()", "paused");
    submit(&bench, 4);
    server_await(&primary, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
                 "t");
    server_await(&primary,
                 "SELECT flush_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication", "t");
    server_await(&standby, "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()", "t");
    fail_over(&bench, &primary, &standby);
    printf("fault=ambiguous-failover fired=1\n");
    executed++;
}

/* A primary that was demoted but still answers must not hold the writer. */
static void a_server_that_turned_read_only_is_left_for_the_next(void **state)
{
    (void)state;
    struct server primary, standby;
    struct writer_bench bench;
    char url[256];
    make_pair(&primary, &standby, url, sizeof url);
    assert_true(writer_bench_start(&bench, &workload, url));
    submit(&bench, 4);
    check_rows(&bench, &primary);
    server_run(&primary, "ALTER SYSTEM SET default_transaction_read_only = on");
    server_run(&primary, "SELECT pg_reload_conf()");
    server_await(&primary, "SHOW default_transaction_read_only", "on");
    server_promote(&standby);
    submit(&bench, 4);
    check_rows(&bench, &standby);
    assert_int_equal(bench.answers->fatals, 0);
    writer_bench_stop(&bench);
    server_free(&primary);
    server_free(&standby);
    printf("fault=read-only fired=1\n");
    executed++;
}

static enum rc count_standbys(struct store *reader, int64_t *standbys)
{
    struct err err;
    return store_query_int(reader,
                           "SELECT count(*) FROM (SELECT pg_is_in_recovery() AS s) t WHERE s", -1,
                           standbys, &err);
}

/* A new reader is led to a server that is no standby, or to none. */
static void check_new_reader(const char *url, enum rc expected)
{
    struct store *reader;
    struct err err;
    int64_t standbys = -1;
    assert_int_equal(store_open(url, STORE_READ, &reader, &err), expected);
    if (expected != RC_OK)
        return;
    assert_int_equal(count_standbys(reader, &standbys), RC_OK);
    assert_int_equal(standbys, 0);
    store_close(reader);
}

/* A standby is behind: who reads there misses what was acknowledged, and writes it over. Who began
 * there would stay when the primary is back. */
static void nobody_reads_from_a_standby(void **state)
{
    (void)state;
    struct server primary, standby;
    struct store *reader;
    struct err err;
    int64_t standbys = -1;
    char url[256], turned[256];
    make_pair(&primary, &standby, url, sizeof url);
    snprintf(turned, sizeof turned, "postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres",
             standby.port, primary.port);
    check_new_reader(url, RC_OK);
    check_new_reader(turned, RC_OK);
    check_new_reader(standby.url, RC_RETRY);
    assert_int_equal(store_open(turned, STORE_READ, &reader, &err), RC_OK);
    server_stop(&primary, false);
    check_new_reader(url, RC_RETRY);
    for (int i = 0; i < 2; i++) /* the first learns that its line is dead */
        assert_int_equal(count_standbys(reader, &standbys), RC_RETRY);
    server_start(&primary);
    assert_int_equal(count_standbys(reader, &standbys), RC_OK);
    assert_int_equal(standbys, 0);
    store_close(reader);
    server_free(&primary);
    server_free(&standby);
    executed++;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_reads_from_a_standby),
        cmocka_unit_test(a_restart_while_batches_wait_loses_nothing),
        cmocka_unit_test(a_promoted_standby_takes_over),
        cmocka_unit_test(a_commit_nobody_answers_for_is_there_once_after_the_promotion),
        cmocka_unit_test(a_server_that_turned_read_only_is_left_for_the_next),
    };
    int failed = cmocka_run_group_tests_name("postgres_server", tests, learn, NULL);
    printf("only=postgres tests=%u\n", executed);
    return failed;
}
