/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call that SQLite makes to the machine fails in turn, once and for ever after. Whatever
 * happens, the store holds a whole number of commits, at least those that were acknowledged; a full
 * disk is waited out, an I/O error ends the process; and going on gives what a run without faults
 * gives. TIDEMARK_LONG=1 takes every point where a sweep is sampled. */
#include "fixture.h"
#include "sqlite_fault.h"
#include "store/store_sqlite.h"
#include "test_seed.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COMMITS          6
#define POINTS_MAX       20000 /* no sweep of this workload is longer */
#define SAMPLE_POINTS    80    /* tried by default where a sweep is long */
#define CHECKPOINT_PAGES 12
#define TRIES_MAX        4

enum sweep_flag {
    ONCE = 0,
    FOREVER = 1,
    HALF = 2,      /* half of the write arrives */
    MAIN_ONLY = 4, /* the database itself, not its log */
    SAMPLED = 8,
    MAY_HIDE = 16, /* all of its failures may be harmless and stay unseen */
};

struct sweep {
    const char *name;
    enum fault_call call;
    int error;
    unsigned flags;
    enum rc expected; /* of a call that fails */
};

static struct fixture fixture;
static struct workload workload;
static char template_path[512];
static struct seeded chance;

/* clang-format off */
static const struct sweep sweeps[] = {
    {"write-eio", FAULT_PWRITE, EIO, ONCE, RC_FATAL},
    {"write-eio-forever", FAULT_PWRITE, EIO, FOREVER | SAMPLED, RC_FATAL},
    {"write-full", FAULT_PWRITE, ENOSPC, SAMPLED, RC_RETRY},
    {"write-full-forever", FAULT_PWRITE, ENOSPC, FOREVER | SAMPLED, RC_RETRY},
    {"write-full-half", FAULT_PWRITE, ENOSPC, HALF | SAMPLED, RC_RETRY},
    {"read-eio", FAULT_PREAD, EIO, SAMPLED, RC_FATAL},
    {"read-eio-forever", FAULT_PREAD, EIO, FOREVER | SAMPLED, RC_FATAL},
    {"open-emfile", FAULT_OPEN, EMFILE, ONCE, RC_FATAL},
    {"open-emfile-forever", FAULT_OPEN, EMFILE, FOREVER, RC_FATAL},
    {"open-full", FAULT_OPEN, ENOSPC, FOREVER, RC_RETRY},
    {"ftruncate-eio", FAULT_FTRUNCATE, EIO, ONCE, RC_FATAL},
    {"ftruncate-eio-forever", FAULT_FTRUNCATE, EIO, FOREVER, RC_FATAL},
    {"fstat-eio", FAULT_FSTAT, EIO, ONCE, RC_FATAL},
    {"mmap-enomem", FAULT_MMAP, ENOMEM, ONCE, RC_FATAL},
    {"mmap-enomem-forever", FAULT_MMAP, ENOMEM, FOREVER, RC_FATAL},
    {"unlink-eio", FAULT_UNLINK, EIO, MAY_HIDE, RC_FATAL},
    {"vfs-write-eio", FAULT_VFS_WRITE, SQLITE_IOERR_WRITE, SAMPLED, RC_FATAL},
    {"vfs-write-full-half", FAULT_VFS_WRITE, SQLITE_FULL, HALF | SAMPLED, RC_RETRY},
    {"sync-eio", FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC, ONCE, RC_FATAL},
    {"sync-eio-forever", FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC, FOREVER, RC_FATAL},
    {"vfs-truncate-eio", FAULT_VFS_TRUNCATE, SQLITE_IOERR_TRUNCATE, MAY_HIDE, RC_FATAL},
    {"vfs-delete-eio", FAULT_VFS_DELETE, SQLITE_IOERR_DELETE, MAY_HIDE, RC_FATAL},
    {"shm-map-eio", FAULT_VFS_SHM_MAP, SQLITE_IOERR_SHMMAP, ONCE, RC_FATAL},
    {"shm-map-eio-forever", FAULT_VFS_SHM_MAP, SQLITE_IOERR_SHMMAP, FOREVER, RC_FATAL},
    {"shm-lock-busy", FAULT_VFS_SHM_LOCK, SQLITE_BUSY, MAY_HIDE, RC_RETRY},
    {"shm-lock-eio", FAULT_VFS_SHM_LOCK, SQLITE_IOERR_SHMLOCK, ONCE, RC_FATAL},
    {"lock-eio", FAULT_VFS_LOCK, SQLITE_IOERR_LOCK, ONCE, RC_FATAL},
    {"checkpoint-write-eio", FAULT_VFS_WRITE, SQLITE_IOERR_WRITE, MAIN_ONLY | SAMPLED, RC_FATAL},
    {"checkpoint-sync-eio", FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC, MAIN_ONLY, RC_FATAL},
    {"malloc", FAULT_MALLOC, 0, SAMPLED, RC_FATAL},
    {"malloc-forever", FAULT_MALLOC, 0, SAMPLED | FOREVER, RC_FATAL},
};
/* clang-format on */

static struct fault_plan plan_of(const struct sweep *sweep, long at)
{
    return (struct fault_plan){
        .call = sweep->call,
        .error = sweep->error,
        .half = (sweep->flags & HALF) != 0,
        .forever = (sweep->flags & FOREVER) != 0,
        .main_only = (sweep->flags & MAIN_ONLY) != 0,
        .at = at,
    };
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, block, sizeof block)) > 0;)
        assert_int_equal(write(out, block, (size_t)got), got);
    close(in);
    close(out);
}

static void remove_store(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[600];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", fixture.url + 7, endings[i]);
        unlink(path);
    }
}

static void start_afresh(void)
{
    remove_store();
    copy_file(template_path, fixture.url + 7);
}

static enum rc open_claimed(struct store **store, struct store_position *position, struct err *err)
{
    enum rc rc = store_open(fixture.url, STORE_WRITE, store, err);
    if (rc == RC_OK) {
        ((struct store_sqlite *)*store)->checkpoint_pages = CHECKPOINT_PAGES;
        rc = store_claim(*store, "sweep", NULL, 1, position, err);
    }
    return rc;
}

/* What the daemon and its writer do: go on after RC_RETRY, stop at RC_FATAL. Returns the last
 * commit acknowledged; `seen` is the code of the first failure. */
static int64_t run_under_fault(const struct sweep *sweep, enum rc *seen)
{
    struct err err = {0};
    struct store *store = NULL;
    struct store_position position = {0};
    bool claimed = false;
    int64_t acknowledged = 0;
    *seen = RC_OK;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        enum rc rc = RC_OK;
        if (!claimed) {
            store_close(store);
            store = NULL;
            rc = open_claimed(&store, &position, &err);
            claimed = rc == RC_OK;
        } else {
            int64_t before = position.commit_seq;
            rc = store->ops->position(store, &position, &err);
            assert_true(rc != RC_OK || position.commit_seq - before <= 1);
        }
        if (rc == RC_OK)
            rc = workload_write(store, &position, COMMITS, &err);
        acknowledged = claimed ? position.commit_seq : acknowledged;
        if (rc == RC_OK)
            break;
        if (*seen == RC_OK)
            *seen = rc;
        if (rc != sweep->expected)
            fail_msg("%s: %s instead of %s: %s", sweep->name, rc_name(rc), rc_name(sweep->expected),
                     err.text);
        if (rc != RC_RETRY)
            break;
        assert_true(tries + 1 < TRIES_MAX); /* healed, it must go on */
        sqlite_fault_disarm();
    }
    store_close(store);
    return acknowledged;
}

static void check_integrity(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void check_after(const struct sweep *sweep, long at, int64_t acknowledged)
{
    int64_t held = workload_check(&workload, fixture.url);
    if (held < acknowledged || held > acknowledged + 1)
        fail_msg("%s at %ld: %lld acknowledged, %lld held", sweep->name, at,
                 (long long)acknowledged, (long long)held);
    check_integrity(fixture.url + 7);
    if (!workload_finish(&workload, fixture.url) ||
        workload_check(&workload, fixture.url) != COMMITS)
        fail_msg("%s at %ld: does not converge", sweep->name, at);
}

/* How far apart the points of a sampled sweep lie. */
static long stride_of(const struct sweep *sweep)
{
    if ((sweep->flags & SAMPLED) == 0 || getenv("TIDEMARK_LONG") != NULL)
        return 1;
    struct fault_plan never = plan_of(sweep, LONG_MAX);
    enum rc seen;
    start_afresh();
    sqlite_fault_arm(&never);
    run_under_fault(sweep, &seen);
    long points = sqlite_fault_asked();
    sqlite_fault_disarm();
    return points / SAMPLE_POINTS + 1;
}

static void sweep_one(const struct sweep *sweep)
{
    long fired = 0, surfaced = 0, stride = stride_of(sweep);
    for (long at = 1 + (long)(seeded_below(&chance, (uint64_t)stride));; at += stride) {
        struct fault_plan plan = plan_of(sweep, at);
        enum rc seen;
        assert_true(at < POINTS_MAX * stride);
        start_afresh();
        sqlite_fault_arm(&plan);
        int64_t acknowledged = run_under_fault(sweep, &seen);
        if (sqlite_fault_disarm() == 0)
            break;
        fired++;
        surfaced += seen != RC_OK;
        check_after(sweep, at, acknowledged);
    }
    printf("fault=%s fired=%ld surfaced=%ld code=%s\n", sweep->name, fired, surfaced,
           rc_name(sweep->expected));
    fflush(stdout);
    assert_true(fired > 0);
    assert_true(surfaced > 0 || (sweep->flags & MAY_HIDE) != 0);
}

static void every_fault_leaves_whole_commits_and_converges(void **state)
{
    (void)state;
    const char *only = getenv("TIDEMARK_SWEEP");
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
        if (only == NULL || strcmp(only, sweeps[i].name) == 0)
            sweep_one(&sweeps[i]);
}

/* A store of which nothing exists yet: the schema is made under the fault, too. */
static void every_fault_while_the_schema_is_made_is_recovered(void **state)
{
    (void)state;
    static const struct sweep making[] = {
        {"schema-write-eio", FAULT_PWRITE, EIO, SAMPLED, RC_FATAL},
        {"schema-write-full", FAULT_PWRITE, ENOSPC, SAMPLED, RC_RETRY},
        {"schema-sync-eio", FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC, ONCE, RC_FATAL},
        {"schema-malloc", FAULT_MALLOC, 0, SAMPLED, RC_FATAL},
    };
    for (size_t i = 0; i < sizeof making / sizeof making[0]; i++) {
        long fired = 0, surfaced = 0, stride = (making[i].flags & SAMPLED) != 0 ? 7 : 1;
        stride = making[i].call == FAULT_MALLOC ? 97 : stride;
        for (long at = 1;; at += stride) {
            struct fault_plan plan = plan_of(&making[i], at);
            struct store *store = NULL;
            struct err err;
            unsigned applied;
            assert_true(at < POINTS_MAX * stride);
            remove_store();
            sqlite_fault_arm(&plan);
            enum rc rc = store_open(fixture.url, STORE_WRITE, &store, &err);
            if (rc == RC_OK)
                rc = store_migrate(store, &applied, &err);
            if (rc != RC_OK)
                assert_int_equal(rc, making[i].expected);
            store_close(store);
            if (sqlite_fault_disarm() == 0)
                break;
            fired++;
            surfaced += rc != RC_OK;
            assert_int_equal(store_open(fixture.url, STORE_WRITE, &store, &err), RC_OK);
            assert_int_equal(store_migrate(store, &applied, &err), RC_OK);
            store_close(store);
            assert_int_equal(workload_check(&workload, fixture.url), 0);
            check_integrity(fixture.url + 7);
        }
        printf("fault=%s fired=%ld surfaced=%ld\n", making[i].name, fired, surfaced);
        assert_true(surfaced > 0);
    }
}

/* A value that could not be fetched must not look like NULL: a cursor would start anew. */
static void a_read_without_memory_fails_and_never_shows_less(void **state)
{
    (void)state;
    struct err err;
    struct store *store;
    long fired = 0, surfaced = 0;
    remove_store();
    copy_file(template_path, fixture.url + 7);
    assert_true(workload_finish(&workload, fixture.url));
    for (long at = 1;; at += 3) {
        struct fault_plan plan = {.call = FAULT_MALLOC, .at = at};
        char digest[DIGEST_HEX_SIZE];
        assert_int_equal(store_open(fixture.url, STORE_READ, &store, &err), RC_OK);
        sqlite_fault_arm(&plan);
        enum rc rc = workload_digest(store, digest, &err);
        long struck = sqlite_fault_disarm();
        store_close(store);
        if (rc == RC_OK && strcmp(digest, workload.expected[COMMITS]) != 0)
            fail_msg("allocation %ld: read without error, but not what is there", at);
        if (struck == 0)
            break;
        fired++;
        surfaced += rc != RC_OK;
    }
    printf("fault=read-malloc fired=%ld surfaced=%ld\n", fired, surfaced);
    assert_true(surfaced > 0);
}

/* A backup is called done only when the copy is whole; the store does not suffer either way. */
static void a_backup_under_faults_is_whole_or_fails(void **state)
{
    (void)state;
    static const struct sweep copying[] = {
        {"backup-write-eio", FAULT_PWRITE, EIO, ONCE, RC_RETRY},
        {"backup-write-full", FAULT_PWRITE, ENOSPC, FOREVER, RC_RETRY},
        {"backup-read-eio", FAULT_PREAD, EIO, ONCE, RC_RETRY},
        {"backup-sync-eio", FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC, ONCE, RC_RETRY},
        {"backup-malloc", FAULT_MALLOC, 0, ONCE, RC_RETRY},
    };
    char copy[600], url[620];
    struct err err;
    struct store *store;
    snprintf(copy, sizeof copy, "%s/copy.db", fixture.folder);
    snprintf(url, sizeof url, "sqlite:%s", copy);
    start_afresh();
    assert_true(workload_finish(&workload, fixture.url));
    for (size_t i = 0; i < sizeof copying / sizeof copying[0]; i++) {
        long fired = 0, failed = 0;
        for (long at = 1;; at += 3) {
            struct fault_plan plan = plan_of(&copying[i], at);
            assert_true(at < POINTS_MAX);
            unlink(copy);
            assert_int_equal(store_open(fixture.url, STORE_READ, &store, &err), RC_OK);
            sqlite_fault_arm(&plan);
            enum rc rc = store->ops->backup(store, copy, &err);
            long struck = sqlite_fault_disarm();
            store_close(store);
            if (rc == RC_OK && workload_check(&workload, url) != COMMITS)
                fail_msg("%s at %ld: done, but not whole", copying[i].name, at);
            if (struck == 0)
                break;
            fired++;
            failed += rc != RC_OK;
        }
        printf("fault=%s fired=%ld surfaced=%ld\n", copying[i].name, fired, failed);
        assert_true(failed > 0);
        assert_int_equal(workload_check(&workload, fixture.url), COMMITS);
    }
}

static int set_up(void **state)
{
    (void)state;
    struct err err;
    struct store *store;
    unsigned applied;
    char learned[600];
    chance = seeded_start("sqlite_sweep");
    fixture_open(&fixture, FIXTURE_SQLITE);
    snprintf(learned, sizeof learned, "sqlite:%s/learned.db", fixture.folder);
    workload_learn(&workload, learned, COMMITS);
    snprintf(template_path, sizeof template_path, "%s/template.db", fixture.folder);
    char url[600];
    snprintf(url, sizeof url, "sqlite:%s", template_path);
    assert_int_equal(store_open(url, STORE_WRITE, &store, &err), RC_OK);
    assert_int_equal(store_migrate(store, &applied, &err), RC_OK);
    store_close(store);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_leaves_whole_commits_and_converges),
        cmocka_unit_test(every_fault_while_the_schema_is_made_is_recovered),
        cmocka_unit_test(a_read_without_memory_fails_and_never_shows_less),
        cmocka_unit_test(a_backup_under_faults_is_whole_or_fails),
    };
    sqlite_fault_install();
    if (getenv("TIDEMARK_TEST") != NULL)
        cmocka_set_test_filter(getenv("TIDEMARK_TEST"));
    return cmocka_run_group_tests_name("sqlite_sweep", tests, set_up, tear_down);
}
