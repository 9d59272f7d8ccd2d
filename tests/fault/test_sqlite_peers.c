/* SPDX-License-Identifier: Apache-2.0
 *
 * Who else has the SQLite file open: another program that writes, a second tidemark, readers that
 * take their time, and a backup while commits go on. */
#include "fixture.h"
#include "store/store_sqlite.h"
#include "writer_bench.h"

#include <sqlite3.h>

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COMMITS WORKLOAD_COMMITS_MAX

static struct workload workload;

struct bench {
    struct fixture fixture;
    struct writer_bench writer;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    fixture_open(&bench->fixture, FIXTURE_SQLITE);
    assert_true(writer_bench_start(&bench->writer, &workload, bench->fixture.url));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    writer_bench_stop(&bench->writer);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static sqlite3 *open_raw(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return db;
}

static void run_raw(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void check_integrity(const char *path)
{
    sqlite3 *db = open_raw(path);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void a_program_that_writes_makes_the_writer_wait(void **state)
{
    struct bench *bench = *state;
    sqlite3 *other = open_raw(bench->fixture.url + 7);
    for (int i = 0; i < 3; i++) {
        uint64_t before = writer_bench_retries(&bench->writer);
        run_raw(other, "BEGIN IMMEDIATE");
        writer_bench_submit(&bench->writer);
        assert_true(writer_bench_await_retries(&bench->writer, before + 1));
        assert_true(answers_are(bench->writer.answers, bench->writer.handed - 1, RC_OK));
        run_raw(other, "COMMIT");
        assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    }
    assert_int_equal(bench->writer.answers->fatals, 0);
    sqlite3_close(other);
    printf("fault=busy fired=3 retries=%d\n", (int)writer_bench_retries(&bench->writer));
}

/* In a process of its own: the lock is between processes. */
static int try_to_open(const char *url)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct store *store;
        struct err err;
        enum rc rc = store_open(url, STORE_WRITE, &store, &err);
        _exit(rc == RC_REJECT && strstr(err.text, "another tidemark") != NULL ? 10 : (int)rc);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_second_process_is_refused_while_the_first_lives(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(try_to_open(bench->fixture.url), 10);
    writer_bench_submit(&bench->writer);
    assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    writer_bench_stop(&bench->writer);
    assert_int_equal(try_to_open(bench->fixture.url), RC_OK);
    assert_true(writer_bench_start(&bench->writer, &workload, bench->fixture.url));
}

static void a_reader_that_takes_its_time_stops_no_commit(void **state)
{
    struct bench *bench = *state;
    sqlite3 *reader = open_raw(bench->fixture.url + 7);
    sqlite3_stmt *statement;
    writer_bench_submit(&bench->writer);
    assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    run_raw(reader, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(reader, "SELECT count(*) FROM post WHERE rkey LIKE 'tag-%'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(statement, 0), 3); /* its own time */
        sqlite3_reset(statement);
        writer_bench_submit(&bench->writer);
        assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    }
    assert_int_equal(writer_bench_retries(&bench->writer), 0);
    sqlite3_finalize(statement);
    run_raw(reader, "COMMIT");
    sqlite3_close(reader);
}

#define CROWD         3
#define LOG_PAGES     16 /* at which the log is moved into the database */
#define CROWD_COMMITS 4000
#define LOG_PAGE_MAX  (CROWD_COMMITS / 2) /* one that never begins anew has a page a commit */

struct crowd {
    const char *path;
    atomic_bool leave;
};

/* One read after the other, each a little longer than a commit. */
static void *read_on(void *arg)
{
    struct crowd *crowd = arg;
    sqlite3 *db = open_raw(crowd->path);
    while (!atomic_load(&crowd->leave)) {
        run_raw(db, "BEGIN; SELECT count(*) FROM post");
        run_raw(db, "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 10000) "
                    "SELECT count(*) FROM r; COMMIT");
    }
    sqlite3_close(db);
    return NULL;
}

/* Somebody reads at every moment: the log must not grow for as long as that lasts. */
static void readers_that_take_turns_do_not_keep_the_log_growing(void **state)
{
    (void)state;
    struct fixture fixture;
    struct store *store;
    struct err err;
    unsigned applied;
    pthread_t threads[CROWD];
    struct stat log;
    char path[300];
    fixture_open(&fixture, FIXTURE_SQLITE);
    struct crowd crowd = {.path = fixture.url + 7};
    assert_int_equal(store_open(fixture.url, STORE_WRITE, &store, &err), RC_OK);
    assert_int_equal(store_migrate(store, &applied, &err), RC_OK);
    ((struct store_sqlite *)store)->checkpoint_pages = LOG_PAGES;
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &crowd), 0);
    for (int i = 0; i < CROWD_COMMITS; i++)
        assert_int_equal(
            store->ops->script(store, "UPDATE engine SET next_n = next_n + 1 WHERE id = 1", &err),
            RC_OK);
    snprintf(path, sizeof path, "%s-wal", crowd.path);
    assert_int_equal(stat(path, &log), 0);
    atomic_store(&crowd.leave, true);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    store_close(store);
    fixture_close(&fixture);
    printf("log pages=%d\n", (int)(log.st_size / 4096));
    assert_in_range(log.st_size / 4096, 1, LOG_PAGE_MAX);
}

/* Counts how often the log of the store at `path` began anew; its first bytes say it. */
static unsigned log_beginnings(const char *path)
{
    unsigned char head[16] = {0};
    char name[300];
    snprintf(name, sizeof name, "%s-wal", path);
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    return (unsigned)head[12] << 24 | (unsigned)head[13] << 16 | (unsigned)head[14] << 8 | head[15];
}

/* The writer itself never stops to move the log here: somebody else must do it, while it goes on,
 * and do it whole, or the log would not begin anew. */
static void the_log_is_moved_beside_the_writer(void **state)
{
    (void)state;
    struct fixture fixture;
    struct writer_bench writer;
    struct store *store;
    struct err err;
    fixture_open(&fixture, FIXTURE_SQLITE);
    const char *path = fixture.url + 7;
    assert_int_equal(store_open(fixture.url, STORE_WRITE, &store, &err), RC_OK);
    ((struct store_sqlite *)store)->move_pages = LOG_PAGES;
    ((struct store_sqlite *)store)->checkpoint_pages = INT_MAX / 2;
    assert_true(writer_bench_take(&writer, &workload, store));
    writer_bench_submit(&writer);
    assert_true(writer_bench_settle(&writer, fixture.url));
    unsigned before = log_beginnings(path);
    while (log_beginnings(path) == before && writer.done < COMMITS) {
        writer_bench_submit(&writer);
        assert_true(writer_bench_settle(&writer, fixture.url));
    }
    printf("commits until the log began anew=%d\n", (int)writer.done);
    assert_int_not_equal(log_beginnings(path), before);
    assert_int_equal(writer_bench_retries(&writer), 0);
    writer_bench_stop(&writer);
    fixture_close(&fixture);
}

/* Where the ledger's cursor of a copy stands. */
static int64_t cursor_of(const char *url)
{
    struct store *store;
    struct err err;
    int64_t position;
    assert_int_equal(store_open(url, STORE_READ, &store, &err), RC_OK);
    assert_int_equal(store_query_int(store, "SELECT position FROM cursors WHERE source = 'ledger'",
                                     0, &position, &err),
                     RC_OK);
    store_close(store);
    return position;
}

/* Copies made between any two commits: each is whole, and going on from it converges. */
static void a_backup_during_commits_is_one_moment_and_can_go_on(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    struct err err;
    char path[320], url[340];
    int64_t behind = 0;
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &reader, &err), RC_OK);
    snprintf(path, sizeof path, "%s/copy.db", bench->fixture.folder);
    snprintf(url, sizeof url, "sqlite:%s", path);
    for (int copy = 0; copy < 12; copy++) {
        for (int i = 0; i < 15; i++)
            writer_bench_submit(&bench->writer);
        unlink(path);
        if (reader->ops->backup(reader, path, &err) != RC_OK)
            fail_msg("%s", err.text);
        check_integrity(path);
        assert_true(answers_wait(bench->writer.answers, bench->writer.handed));
        assert_true(answers_are(bench->writer.answers, bench->writer.handed, RC_OK));
        struct store *taken;
        int64_t held;
        assert_int_equal(store_open(url, STORE_READ, &taken, &err), RC_OK);
        assert_int_equal(store_query_int(taken,
                                         "SELECT count(*) FROM cursors c, engine e WHERE c.seq = "
                                         "e.commit_seq AND 3 * c.position = (SELECT count(*) FROM "
                                         "post WHERE rkey LIKE 'tag-%')",
                                         -1, &held, &err),
                         RC_OK);
        store_close(taken);
        assert_true(held == 2 || (held == 0 && copy == 0));
        behind += cursor_of(url) < bench->writer.done;
    }
    store_close(reader);
    printf("backups=12 taken before the last commit=%d\n", (int)behind);
}

/* One batch is one commit here, so that the copy's text can be compared, too. */
static void a_restored_backup_converges(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    struct err err;
    char path[320], url[340];
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &reader, &err), RC_OK);
    for (int i = 0; i < 7; i++) {
        writer_bench_submit(&bench->writer);
        assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    }
    snprintf(path, sizeof path, "%s/copy.db", bench->fixture.folder);
    snprintf(url, sizeof url, "sqlite:%s", path);
    assert_int_equal(reader->ops->backup(reader, path, &err), RC_OK);
    writer_bench_submit(&bench->writer);
    assert_true(writer_bench_settle(&bench->writer, bench->fixture.url));
    assert_int_equal(workload_check(&workload, url), 7);
    assert_true(workload_finish(&workload, url));
    assert_int_equal(workload_check(&workload, url), COMMITS);
    /* A copy never takes the place of another. */
    assert_int_equal(reader->ops->backup(reader, path, &err), RC_REJECT);
    assert_int_equal(workload_check(&workload, url), COMMITS);
    store_close(reader);
}

static void a_backup_that_cannot_be_written_says_so(void **state)
{
    struct bench *bench = *state;
    struct store *reader;
    struct err err;
    assert_int_equal(store_open(bench->fixture.url, STORE_READ, &reader, &err), RC_OK);
    assert_int_not_equal(reader->ops->backup(reader, "/no-such-folder/copy.db", &err), RC_OK);
    assert_non_null(strstr(err.text, "/no-such-folder/copy.db"));
    store_close(reader);
}

/* Without a log beside it readers would hold up the writer, and nobody would be told. */
static void a_database_that_can_have_no_log_is_refused(void **state)
{
    (void)state;
    struct store *store;
    struct err err;
    assert_int_equal(store_open("sqlite::memory:", STORE_WRITE, &store, &err), RC_REJECT);
    assert_non_null(strstr(err.text, "write-ahead log"));
    unlink(":memory:");
    unlink(":memory:.lock");
}

static int learn(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, FIXTURE_SQLITE);
    workload_learn(&workload, fixture.url, COMMITS);
    fixture_close(&fixture);
    return 0;
}

int main(void)
{
#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_FILE(a_program_that_writes_makes_the_writer_wait),
        ON_FILE(a_second_process_is_refused_while_the_first_lives),
        ON_FILE(a_reader_that_takes_its_time_stops_no_commit),
        cmocka_unit_test(readers_that_take_turns_do_not_keep_the_log_growing),
        cmocka_unit_test(the_log_is_moved_beside_the_writer),
        ON_FILE(a_backup_during_commits_is_one_moment_and_can_go_on),
        ON_FILE(a_restored_backup_converges),
        ON_FILE(a_backup_that_cannot_be_written_says_so),
        cmocka_unit_test(a_database_that_can_have_no_log_is_refused),
    };
    int failed = cmocka_run_group_tests_name("sqlite_peers", tests, learn, NULL);
    printf("only=sqlite tests=%zu\n", sizeof tests / sizeof tests[0]);
    return failed;
}
