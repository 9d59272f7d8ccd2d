/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

static uint64_t hash_of(const char *sql)
{
    return hash_bytes(bytes_of(sql), 0);
}

enum rc sqlite_take_statement(struct store_sqlite *store, const char *sql, sqlite3_stmt **statement,
                              struct err *err)
{
    uint64_t hash = hash_of(sql);
    assert(*statement == NULL);
    for (size_t i = 0; i < SQLITE_CACHE_SIZE; i++) {
        struct sqlite_cached *cached = &store->cache[i];
        if (cached->statement == NULL || cached->hash != hash ||
            strcmp(sqlite3_sql(cached->statement), sql) != 0)
            continue;
        *statement = cached->statement;
        cached->statement = NULL;
        return RC_OK;
    }
    return sqlite_prepare(store, sql, statement, err);
}

void sqlite_give_statement(struct store_sqlite *store, sqlite3_stmt *statement)
{
    struct sqlite_cached *place = &store->cache[0];
    for (size_t i = 1; i < SQLITE_CACHE_SIZE && place->statement != NULL; i++)
        if (store->cache[i].statement == NULL || store->cache[i].used < place->used)
            place = &store->cache[i];
    sqlite3_finalize(place->statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    *place = (struct sqlite_cached){.statement = statement,
                                    .hash = hash_of(sqlite3_sql(statement)),
                                    .used = ++store->cache_uses};
}

void sqlite_empty_cache(struct store_sqlite *store)
{
    for (size_t i = 0; i < SQLITE_CACHE_SIZE; i++) {
        sqlite3_finalize(store->cache[i].statement);
        store->cache[i].statement = NULL;
    }
}
