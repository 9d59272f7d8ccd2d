/* SPDX-License-Identifier: Apache-2.0
 *
 * The line to PostgreSQL breaks at every message of a commit, in both directions, and while the
 * writer comes back. Right after the break the commit is there whole or not at all; every batch is
 * answered once with RC_OK, and after each of them the store holds what an unbroken run holds:
 * nothing lost, nothing twice, also when COMMIT arrived and its answer did not. */
#include "answers.h"
#include "breaking_proxy.h"
#include "fixture.h"
#include "store/store_postgres.h"
#include "sys/clock.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMITS     WORKLOAD_COMMITS_MAX
#define RETRY_US    2000
#define GIVE_UP_US  20000000
#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

struct bench {
    struct fixture fixture;
    struct proxy *proxy;
    struct answers *answers;
    struct writer *writer;
    struct store *reader; /* past the proxy */
    int64_t done;
    unsigned slot;
};

static struct workload workload;

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct store *store;
    struct store_position position;
    struct err err;
    unsigned applied;
    fixture_open(&bench->fixture, FIXTURE_POSTGRES);
    bench->proxy = proxy_start(bench->fixture.url);
    bench->answers = answers_new(256u << 10);
    assert_int_equal(store_open(proxy_url(bench->proxy), STORE_WRITE, &store, &err), RC_OK);
    assert_int_equal(store_migrate(store, &applied, &err), RC_OK);
    assert_int_equal(store_claim(store, "cut", NULL, 1, &position, &err), RC_OK);
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &bench->reader, &err), RC_OK);
    struct writer_options options = {.gather_us = 1,
                                     .retry_us_min = RETRY_US,
                                     .give_up_us = GIVE_UP_US,
                                     .fatal = answers_fatal,
                                     .arg = bench->answers};
    bench->writer = writer_start(store, position, &options);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    writer_stop(bench->writer, NULL);
    store_close(bench->reader);
    proxy_stop(bench->proxy);
    answers_free(bench->answers);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static void submit_next(struct bench *bench)
{
    struct batch *batch = answers_batch(bench->answers, bench->slot);
    struct batch plain = *batch;
    workload_fill(batch, bench->done + 1);
    batch->committed = plain.committed;
    batch->courier = plain.courier;
    assert_int_equal(writer_submit(bench->writer, batch), RC_OK);
}

/* The cursor, the rows and the number of a commit bear the mark of one transaction. */
static void check_one_transaction(struct bench *bench)
{
    static const char sql[] =
        "SELECT count(DISTINCT x) FROM (SELECT xmin::text AS x FROM engine UNION ALL "
        "SELECT xmin::text FROM cursors UNION ALL SELECT xmin::text FROM post WHERE seq = "
        "(SELECT commit_seq FROM engine) UNION ALL SELECT xmin::text FROM quarantine WHERE seq = "
        "(SELECT commit_seq FROM engine)) t";
    int64_t count;
    struct err err;
    if (store_query_int(bench->reader, sql, -1, &count, &err) != RC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(count, 1);
}

static void await_commit(struct bench *bench)
{
    struct err err;
    char digest[DIGEST_HEX_SIZE];
    assert_true(answers_wait(bench->answers, bench->slot + 1));
    assert_true(answers_are(bench->answers, bench->slot + 1, RC_OK));
    bench->done++;
    bench->slot++;
    assert_int_equal(workload_digest(bench->reader, digest, &err), RC_OK);
    if (strcmp(digest, workload.expected[bench->done]) != 0)
        fail_msg("commit %lld left something else", (long long)bench->done);
    check_one_transaction(bench);
}

/* Whether the writer's connection, and with it all it had sent, is done with. */
static bool server_is_quiet(struct bench *bench)
{
    int64_t others = 1;
    struct err err;
    assert_int_equal(store_query_int(bench->reader,
                                     "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                                     "current_database() AND pid <> pg_backend_pid()",
                                     1, &others, &err),
                     RC_OK);
    return others == 0;
}

/* While nobody can come back: the commit is there, whole, or it is not. */
static bool commit_arrived(struct bench *bench)
{
    struct err err;
    char digest[DIGEST_HEX_SIZE];
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (!server_is_quiet(bench))
        assert_true(clock_mono_us() < until);
    assert_int_equal(workload_digest(bench->reader, digest, &err), RC_OK);
    bool arrived = strcmp(digest, workload.expected[bench->done + 1]) == 0;
    if (!arrived && strcmp(digest, workload.expected[bench->done]) != 0)
        fail_msg("commit %lld was torn", (long long)bench->done + 1);
    return arrived;
}

/* Waits until the plan has struck or the batch was answered; whether it struck. */
static bool await_break(struct bench *bench)
{
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (!proxy_has_struck(bench->proxy) &&
           !answers_wait_us(bench->answers, bench->slot + 1, 1000))
        assert_true(clock_mono_us() < until);
    return proxy_has_struck(bench->proxy);
}

struct toll {
    long fired, arrived; /* breaks, and those whose commit was there all the same */
};

/* Breaks the line after 0, 1, 2, ... messages of one commit. */
static struct toll sweep(struct bench *bench, enum proxy_side side)
{
    struct toll toll = {0};
    for (long after = 0;; after++) {
        assert_true(bench->done + 2 < COMMITS);
        proxy_break(bench->proxy, side, after, PROXY_WALL);
        submit_next(bench);
        bool broken = await_break(bench);
        toll.arrived += broken && commit_arrived(bench);
        proxy_mend(bench->proxy);
        proxy_refuse(bench->proxy, false);
        await_commit(bench);
        if (!broken)
            return toll;
        toll.fired++;
        submit_next(bench); /* the statements are prepared again, out of the count */
        await_commit(bench);
    }
}

static long retries(struct bench *bench)
{
    struct writer_state shown;
    writer_state(bench->writer, &shown);
    return (long)shown.retries;
}

static void a_commit_survives_a_break_at_every_message_it_sends(void **state)
{
    struct toll toll = sweep(*state, PROXY_CLIENT);
    printf("fault=client-message-cut fired=%ld arrived=%ld retries=%ld\n", toll.fired, toll.arrived,
           retries(*state));
    assert_true(toll.fired > 40 && toll.arrived < toll.fired);
}

static void a_commit_survives_a_break_at_every_answer_it_gets(void **state)
{
    struct toll toll = sweep(*state, PROXY_SERVER);
    printf("fault=server-message-cut fired=%ld arrived=%ld retries=%ld\n", toll.fired, toll.arrived,
           retries(*state));
    assert_true(toll.fired > 20 && toll.arrived > 0); /* committed, and nobody was told */
}

/* The first break makes the writer come back; the second meets it on its way. */
static void coming_back_survives_a_break_at_every_message(void **state)
{
    struct bench *bench = *state;
    long fired = 0, stride = getenv("TIDEMARK_LONG") != NULL ? 1 : 3;
    for (int side = 0; side < 2; side++) {
        for (long after = 0;; after += stride) {
            assert_true(bench->done < COMMITS);
            proxy_cut_all(bench->proxy);
            proxy_break(bench->proxy, (enum proxy_side)side, after, PROXY_CUT);
            submit_next(bench);
            await_commit(bench);
            if (!proxy_mend(bench->proxy))
                break;
            fired++;
        }
    }
    printf("fault=reconnect-cut fired=%ld retries=%ld\n", fired, retries(bench));
    assert_true(fired > 20);
}

static void await_strike(struct bench *bench)
{
    struct writer_state shown;
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (!proxy_has_struck(bench->proxy) && clock_mono_us() < until)
        writer_state(bench->writer, &shown);
    assert_true(proxy_has_struck(bench->proxy));
}

static void a_stalled_line_acknowledges_nothing_and_recovers_when_it_breaks(void **state)
{
    struct bench *bench = *state;
    long fired = 0;
    for (int side = 0; side < 2; side++) {
        for (long after = 0; after < 40; after += 13) {
            proxy_break(bench->proxy, (enum proxy_side)side, after, PROXY_STALL);
            submit_next(bench);
            await_strike(bench);
            assert_true(answers_are(bench->answers, bench->slot, RC_OK));
            proxy_mend(bench->proxy);
            proxy_cut_all(bench->proxy);
            await_commit(bench);
            fired++;
        }
    }
    printf("fault=stall fired=%ld retries=%ld\n", fired, retries(bench));
}

static void a_server_that_refuses_for_a_while_loses_nothing(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 5; i++) {
        struct writer_state shown;
        proxy_refuse(bench->proxy, true);
        proxy_cut_all(bench->proxy);
        submit_next(bench);
        writer_state(bench->writer, &shown);
        uint64_t before = shown.retries;
        int64_t until = clock_mono_us() + WAIT_US_MAX;
        while (shown.retries < before + 3 && clock_mono_us() < until)
            writer_state(bench->writer, &shown);
        assert_true(shown.in_trouble);
        proxy_refuse(bench->proxy, false);
        await_commit(bench);
        writer_state(bench->writer, &shown);
        assert_false(shown.dead);
    }
    printf("fault=refused fired=5 retries=%ld\n", retries(bench));
}

static bool stop_at(void *arg, const struct field *columns, size_t count)
{
    int *left = arg;
    assert_true(count == 1 && !columns[0].null);
    return --*left > 0;
}

/* To cancel is a connection of its own: only what would go on costs it. */
static void a_query_that_is_left_at_its_last_row_is_not_cancelled(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    struct err err;
    int64_t value;
    assert_int_equal(store_open(proxy_url(bench->proxy), STORE_READ, &reader, &err), RC_OK);
    ((struct store_postgres *)reader)->soon_us = WAIT_US_MAX; /* on a busy machine, too */
    unsigned before = proxy_dialled(bench->proxy);
    for (int i = 0; i < 50; i++)
        assert_int_equal(store_query_int(reader, "SELECT 7", -1, &value, &err), RC_OK);
    assert_int_equal(proxy_dialled(bench->proxy), before);
    for (int rows = 1; rows <= 2; rows++) {
        int left = rows;
        assert_int_equal(store_query(reader, "SELECT generate_series(1, 100000000)", NULL, 0,
                                     stop_at, &left, &err),
                         RC_OK);
    }
    assert_int_equal(proxy_dialled(bench->proxy), before + 2);
    assert_int_equal(store_query_int(reader, "SELECT 7", -1, &value, &err), RC_OK);
    assert_true(value == 7);
    store_close(reader);
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
#define ON_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SERVER(a_commit_survives_a_break_at_every_message_it_sends),
        ON_SERVER(a_commit_survives_a_break_at_every_answer_it_gets),
        ON_SERVER(coming_back_survives_a_break_at_every_message),
        ON_SERVER(a_stalled_line_acknowledges_nothing_and_recovers_when_it_breaks),
        ON_SERVER(a_server_that_refuses_for_a_while_loses_nothing),
        ON_SERVER(a_query_that_is_left_at_its_last_row_is_not_cancelled),
    };
    int failed = cmocka_run_group_tests_name("postgres_cut", tests, learn, NULL);
    printf("only=postgres tests=%zu\n", sizeof tests / sizeof tests[0]);
    return failed;
}
