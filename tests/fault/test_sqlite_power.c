/* SPDX-License-Identifier: Apache-2.0
 *
 * The power goes at a random moment and takes along what was not synced. What was acknowledged is
 * there, commits are whole, and going on gives what a run without cuts gives. */
#include "fixture.h"
#include "sqlite_power.h"
#include "store/store_sqlite.h"
#include "test_seed.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COMMITS          8
#define CUTS_DEFAULT     250
#define CUTS_LONG        20000
#define CHECKPOINT_PAGES 12
#define EARLY_CUTS       60 /* while the names of a new store are not on the disk yet */
#define EARLY_STEPS      6

static struct fixture fixture;
static struct workload workload;
static struct seeded chance;
static long moved; /* times that the log was moved whole beside the writer */

static void remove_store(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[600];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", fixture.url + 7, endings[i]);
        unlink(path);
    }
}

/* What is done beside the writer; its failures are the writer's to meet. */
static void move_log(void)
{
    struct err err;
    struct store *mover = NULL;
    bool whole;
    if (store_open(fixture.url, STORE_MOVE, &mover, &err) == RC_OK &&
        mover->ops->move_log(mover, &whole, &err) == RC_OK)
        moved += whole;
    store_close(mover);
}

/* Sets up and writes until the power goes, closing and opening again in the middle. Returns the
 * last commit acknowledged, -1 when there is not even a schema. */
static int64_t write_until_cut(void)
{
    int64_t acknowledged = -1;
    enum rc rc = RC_OK;
    for (int64_t goal = COMMITS / 2; goal <= COMMITS && rc == RC_OK; goal += COMMITS / 2) {
        struct err err;
        struct store *store = NULL;
        struct store_position position;
        unsigned applied;
        rc = store_open(fixture.url, STORE_WRITE, &store, &err);
        if (rc == RC_OK)
            ((struct store_sqlite *)store)->checkpoint_pages = CHECKPOINT_PAGES;
        if (rc == RC_OK)
            rc = store_migrate(store, &applied, &err);
        if (rc == RC_OK)
            rc = store_claim(store, "power", NULL, 1, &position, &err);
        for (int64_t next = goal - COMMITS / 2 + 1; next <= goal && rc == RC_OK; next++) {
            rc = workload_write(store, &position, next, &err);
            acknowledged = position.commit_seq;
            if (next % 2 == 0)
                move_log();
        }
        assert_true(rc == RC_OK || (rc == RC_FATAL && sqlite_power_is_off()));
        store_close(store);
    }
    return acknowledged;
}

static void check_integrity(void)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(fixture.url + 7, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void recover(int64_t acknowledged, long cut)
{
    struct err err;
    struct store *store;
    unsigned applied;
    sqlite_power_on(0);
    assert_int_equal(store_open(fixture.url, STORE_WRITE, &store, &err), RC_OK);
    assert_int_equal(store_migrate(store, &applied, &err), RC_OK);
    store_close(store);
    check_integrity();
    int64_t held = workload_check(&workload, fixture.url);
    if (held < acknowledged || held > acknowledged + 1 + (acknowledged < 0))
        fail_msg("cut at step %ld: %lld acknowledged, %lld held", cut, (long long)acknowledged,
                 (long long)held);
    assert_true(workload_finish(&workload, fixture.url));
    assert_int_equal(workload_check(&workload, fixture.url), COMMITS);
}

static void a_power_cut_takes_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    struct power_toll toll = {0}, none = {0};
    long cuts = getenv("TIDEMARK_LONG") != NULL ? CUTS_LONG : CUTS_DEFAULT, fired = 0, after = 0;
    remove_store();
    sqlite_power_on(0);
    assert_int_equal(write_until_cut(), COMMITS);
    long steps = sqlite_power_steps();
    sqlite_power_settle(&chance, &none);
    assert_int_equal(workload_check(&workload, fixture.url), COMMITS);
    sqlite_power_settle(&chance, &none); /* the layer forgets these files before they go */
    for (long i = 0; i < cuts; i++) {
        long cut =
            i < EARLY_CUTS ? 1 + i % EARLY_STEPS : 1 + (long)seeded_below(&chance, (uint64_t)steps);
        remove_store();
        sqlite_power_on(cut);
        int64_t acknowledged = write_until_cut();
        fired += sqlite_power_is_off();
        after += acknowledged > 0;
        sqlite_power_settle(&chance, &toll);
        char shm[600];
        snprintf(shm, sizeof shm, "%s-shm", fixture.url + 7);
        unlink(shm);
        recover(acknowledged, cut);
        sqlite_power_settle(&chance, &none);
    }
    printf("power cuts=%ld fired=%ld after-a-commit=%ld steps=%ld writes lost=%ld kept=%ld "
           "torn=%ld names lost=%ld deletes undone=%ld logs moved=%ld\n",
           cuts, fired, after, steps, toll.writes_lost, toll.writes_kept, toll.writes_torn,
           toll.names_lost, toll.deletes_undone, moved);
    assert_true(fired == cuts && after > 0 && moved > 0 && toll.names_lost > 0);
    assert_true(toll.writes_lost > 0 && toll.writes_kept > 0 && toll.writes_torn > 0);
}

static int set_up(void **state)
{
    (void)state;
    struct power_toll toll = {0};
    char learned[600];
    chance = seeded_start("sqlite_power");
    fixture_open(&fixture, FIXTURE_SQLITE);
    snprintf(learned, sizeof learned, "sqlite:%s/learned.db", fixture.folder);
    workload_learn(&workload, learned, COMMITS);
    sqlite_power_install();
    sqlite_power_settle(&chance, &toll);
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
        cmocka_unit_test(a_power_cut_takes_nothing_that_was_acknowledged),
    };
    return cmocka_run_group_tests_name("sqlite_power", tests, set_up, tear_down);
}
