/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports without a daemon: how they end. */
#include "cli/import_engine.h"
#include "config_load.h"
#include "fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define READER_OPENS 16 /* files, at most */

static void set(struct config *config, const char *path, const char *value)
{
    struct config_problems problems = {0};
    config_set(config, "test", path, value, &problems);
    assert_int_equal(problems.count, 0);
    config_problems_free(&problems);
}

/* ---- a disk on which readers wait for the test ---- */

static sqlite3_vfs *disk, late_disk;
static sem_t may_read;

static int open_late(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *flags_out)
{
    char thread[16] = "";
    (void)vfs;
    pthread_getname_np(pthread_self(), thread, sizeof thread);
    if (strcmp(thread, "reader") == 0)
        sem_wait(&may_read);
    return disk->xOpen(disk, name, file, flags, flags_out);
}

static void use_late_disk(void)
{
    sem_init(&may_read, 0, 0);
    disk = sqlite3_vfs_find(NULL);
    late_disk = *disk;
    late_disk.zName = "late";
    late_disk.xOpen = open_late;
    sqlite3_vfs_register(&late_disk, 1);
}

/* ---- */

/* Twice, before the loop begins: it hears both and ends while the store is being asked. */
static void interrupt_twice(void *arg, struct import_engine *engine)
{
    int *looks = arg;
    if ((*looks)++ == 0) {
        assert_false(import_engine_interrupted(engine));
        kill(getpid(), SIGINT);
        kill(getpid(), SIGTERM);
        return;
    }
    for (int i = 0; i < READER_OPENS; i++)
        sem_post(&may_read);
}

static void who_cannot_wait_for_the_store_ends_at_once(void **state)
{
    (void)state;
    struct fixture fixture;
    struct config config;
    struct import_engine *engine;
    struct err err = {""};
    int looks = 0;
    const struct import_watch watch = {interrupt_twice, &looks};
    const struct ledger_account_options options = {.since_us = -1};
    use_late_disk();
    fixture_open(&fixture, FIXTURE_SQLITE);
    config_init(&config);
    set(&config, "store.url", fixture.url);
    set(&config, "ledger.connectors", "connectors/exchange");
    set(&config, "providers.kraken.base_url", "http://127.0.0.1:1");
    set(&config, "providers.kraken.api_key", "key");
    set(&config, "providers.kraken.api_secret", "c2VjcmV0");
    if (import_engine_open(&config, &engine, &err) != RC_OK ||
        import_engine_add(engine, "kraken", &options, &err) != RC_OK ||
        import_engine_start(engine, &config, &err) != RC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(import_engine_run(engine, &watch, &err), RC_OK);
    assert_true(import_engine_interrupted(engine));
    import_engine_close(engine);
    config_deinit(&config);
    fixture_close(&fixture);
    sqlite3_vfs_unregister(&late_disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_cannot_wait_for_the_store_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
