/* SPDX-License-Identifier: Apache-2.0 */
#include "floor_writer.h"
#include "stopwatch.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN, ACTOR, POST, CURSOR, SHOWN, ENGINE, COMMIT, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [ACTOR] = "INSERT INTO actors (id, did) VALUES (?1, ?2)",
    [POST] = "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, "
             "body) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9)",
    [CURSOR] = "INSERT OR REPLACE INTO cursors (source, stream, state, position, updated_us, seq) "
               "VALUES ('" STOCK_SOURCE "', '" STOCK_STREAM "', ?1, ?2, ?2, ?3)",
    [SHOWN] = "INSERT OR REPLACE INTO jetstream_state (id, cursor_time_us) VALUES (1, ?1)",
    [ENGINE] = "UPDATE engine SET commit_seq = ?1, next_n = ?2 WHERE id = 1",
    [COMMIT] = "COMMIT",
};

static sqlite3 *db;
static sqlite3_stmt *prepared[STATEMENTS];

static void check(int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE)
        return;
    fprintf(stderr, "floor: %s\n", sqlite3_errmsg(db));
    abort();
}

static void step(int which)
{
    check(sqlite3_step(prepared[which]));
    sqlite3_reset(prepared[which]);
}

static void bind_text(int which, int at, const char *text, size_t len)
{
    sqlite3_bind_text(prepared[which], at, text, (int)len, SQLITE_STATIC);
}

static void write_post(const struct post_stock *stock, const struct stock_post *post, int64_t seq)
{
    if (post->actor_is_new) {
        sqlite3_bind_int64(prepared[ACTOR], 1, post->n);
        bind_text(ACTOR, 2, stock->dids[post->actor], strlen(stock->dids[post->actor]));
        step(ACTOR);
    }
    struct bytes text = post_stock_text(stock, post);
    sqlite3_bind_int64(prepared[POST], 1, post->n);
    sqlite3_bind_int64(prepared[POST], 2, seq);
    sqlite3_bind_int64(prepared[POST], 3, post->actor_id);
    bind_text(POST, 4, STOCK_COLLECTION, sizeof STOCK_COLLECTION - 1);
    bind_text(POST, 5, post->rkey, 13);
    bind_text(POST, 6, post->rev, 13);
    sqlite3_bind_int64(prepared[POST], 7, post->shared_us);
    sqlite3_bind_int64(prepared[POST], 8, post->created_us);
    bind_text(POST, 9, text.data, text.len);
    step(POST);
}

static void write_commit(const struct post_stock *stock, size_t which)
{
    const struct stock_post *posts = &stock->posts[which * STOCK_COMMIT_POSTS];
    const struct stock_post *last = &posts[STOCK_COMMIT_POSTS - 1];
    int64_t seq = (int64_t)which + 1;
    char out[STOCK_STATE_MAX];
    struct bytes state = post_stock_state(stock, (which + 1) * STOCK_COMMIT_POSTS, out);
    step(BEGIN);
    for (size_t i = 0; i < STOCK_COMMIT_POSTS; i++)
        write_post(stock, &posts[i], seq);
    bind_text(CURSOR, 1, state.data, state.len);
    sqlite3_bind_int64(prepared[CURSOR], 2, last->shared_us);
    sqlite3_bind_int64(prepared[CURSOR], 3, seq);
    step(CURSOR);
    sqlite3_bind_int64(prepared[SHOWN], 1, last->shared_us);
    step(SHOWN);
    sqlite3_bind_int64(prepared[ENGINE], 1, seq);
    sqlite3_bind_int64(prepared[ENGINE], 2, last->n + 2);
    step(ENGINE);
    step(COMMIT);
}

void floor_sqlite(const char *path, const struct post_stock *stock, double *took)
{
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    check(sqlite3_exec(db,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                       "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 10000;"
                       "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192;"
                       "PRAGMA temp_store = MEMORY;",
                       NULL, NULL, NULL));
    double start = seconds_now();
    for (int i = 0; i < STATEMENTS; i++)
        check(sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &prepared[i], NULL));
    for (size_t i = 0; i < stock->commits; i++) {
        write_commit(stock, i);
        double now = seconds_now();
        took[i] = now - start;
        start = now;
    }
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(prepared[i]);
    check(sqlite3_close(db));
}
