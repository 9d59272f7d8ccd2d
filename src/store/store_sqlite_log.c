/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include "sys/clock.h"

#include <assert.h>

#define MOVE_PAGES        2000
#define CHECKPOINT_PAGES  10000
#define CHECKPOINT_US_MAX INT64_C(750000) /* a reader of an older state, then one of this state */
#define CHECKPOINT_TRY_MS 10

/* Waits for the readers of the log, so that the next commit can begin it anew. In many short tries:
 * one long try waits for the place of a reader that others take in turns, and never gets it. */
static int empty_log(sqlite3 *db, const char *name)
{
    int64_t end_us = clock_mono_us() + CHECKPOINT_US_MAX;
    int code;
    sqlite3_busy_timeout(db, CHECKPOINT_TRY_MS);
    do {
        code = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    } while (code == SQLITE_BUSY && clock_mono_us() < end_us);
    sqlite3_busy_timeout(db, SQLITE_BUSY_MS_MAX);
    return code;
}

/* Moves a long log into the database after a commit. While readers overlap without a pause the log
 * does not begin anew by itself: once it is half as long again we wait for them, which their own
 * time limits bound. Tries come further apart as the log grows, so that a reader who stays (a
 * backup) does not stop us at every commit. The commit stands whatever comes of this, so a failure
 * that cannot be waited out is told at the next one. */
static int checkpoint(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct store_sqlite *store = arg;
    if (pages < store->log_pages) { /* the log began anew */
        store->due_pages = store->checkpoint_pages;
        store->move_due_pages = store->move_pages;
    }
    store->log_pages = pages;
    if (pages < store->due_pages || pages < store->checkpoint_pages)
        return SQLITE_OK;
    store->due_pages = pages + pages / 2;
    int code = pages < store->checkpoint_pages + store->checkpoint_pages / 2
                   ? sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL)
                   : empty_log(db, name);
    if (code != SQLITE_OK && !store->broken)
        store->broken =
            sqlite_fail(store, code, "cannot checkpoint", &store->broken_err) == RC_FATAL;
    return SQLITE_OK;
}

void sqlite_watch_log(struct store_sqlite *store)
{
    assert(store->db != NULL && store->checkpoint_pages == 0);
    store->move_pages = MOVE_PAGES;
    store->checkpoint_pages = CHECKPOINT_PAGES;
    sqlite3_wal_hook(store->db, checkpoint, store);
}

/* Once for each stretch of so many pages: a reader who stays must not make every commit ask. */
bool sqlite_log_is_due(struct store *base)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    assert(base->ops == &store_sqlite_ops && store->move_pages > 0);
    if (store->log_pages < store->move_due_pages || store->log_pages < store->move_pages)
        return false;
    store->move_due_pages = store->log_pages + store->move_pages;
    return true;
}

/* It syncs the log before it writes, as the writer would: what is in the database must not be ahead
 * of the log when the power goes. */
enum rc sqlite_set_up_mover(struct store_sqlite *store, struct err *err)
{
    static const char set_up[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                 "PRAGMA cache_size = -64; PRAGMA wal_autocheckpoint = 0;";
    int code = sqlite3_exec(store->db, set_up, NULL, NULL, NULL);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot open the store", err);
}

enum rc sqlite_move_log(struct store *base, bool *whole, struct err *err)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    int pages = 0, moved = 0, before = store->log_pages;
    assert(base->ops == &store_sqlite_ops && store->lock_fd < 0);
    int code =
        sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);
    *whole = code == SQLITE_OK && moved == pages;
    store->log_pages = moved;
    if (code == SQLITE_BUSY || (code == SQLITE_OK && !*whole && moved == before))
        return err_set(err, RC_AGAIN, "the log is in use (%s)", store->path);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot checkpoint", err);
}
