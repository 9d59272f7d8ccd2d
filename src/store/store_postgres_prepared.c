/* SPDX-License-Identifier: Apache-2.0
 *
 * A query that is asked again is prepared: the server then has it parsed, and after some runs
 * planned. What was asked once may never be asked again: the first time it is only remembered. */
#include "store/store_postgres.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_slot(const struct store_postgres *store, const struct postgres_slot *slot,
                      char name[16])
{
    snprintf(name, 16, "query_%d", (int)(slot - store->slots));
}

static uint64_t hash_of(const char *sql, const struct postgres_values *values)
{
    struct bytes types = bytes_make(values->types, values->count * sizeof values->types[0]);
    return hash_bytes(bytes_of(sql), hash_bytes(types, 0));
}

static bool is_same(const struct postgres_slot *slot, uint64_t hash, const char *sql,
                    const struct postgres_values *values)
{
    return slot->sql != NULL && slot->hash == hash && slot->type_count == values->count &&
           memcmp(slot->types, values->types, values->count * sizeof values->types[0]) == 0 &&
           strcmp(slot->sql, sql) == 0;
}

static void empty_slot(struct postgres_slot *slot)
{
    free(slot->sql);
    free(slot->types);
    *slot = (struct postgres_slot){0};
}

void postgres_forget_queries(struct store_postgres *store)
{
    for (size_t i = 0; i < POSTGRES_SLOTS; i++)
        empty_slot(&store->slots[i]);
}

static struct postgres_slot *find_slot(struct store_postgres *store, uint64_t hash, const char *sql,
                                       const struct postgres_values *values)
{
    for (size_t i = 0; i < POSTGRES_SLOTS; i++)
        if (is_same(&store->slots[i], hash, sql, values))
            return &store->slots[i];
    return NULL;
}

/* Takes the place of the query that was not asked for longest. */
static void remember(struct store_postgres *store, uint64_t hash, const char *sql,
                     const struct postgres_values *values)
{
    struct postgres_slot *slot = &store->slots[0];
    char text[32], name[16];
    for (size_t i = 1; i < POSTGRES_SLOTS; i++)
        if (store->slots[i].used < slot->used)
            slot = &store->slots[i];
    if (slot->prepared) {
        name_slot(store, slot, name);
        snprintf(text, sizeof text, "DEALLOCATE %s", name);
        PQclear(postgres_run(store, text));
    }
    empty_slot(slot);
    size_t size = values->count * sizeof values->types[0];
    *slot = (struct postgres_slot){.hash = hash,
                                   .sql = memory_copy_string(sql),
                                   .types = memory_new(size + 1),
                                   .type_count = values->count,
                                   .used = ++store->slot_uses};
    memcpy(slot->types, values->types, size);
}

/* A query that cannot be prepared is asked as it is, and says itself what is wrong with it. */
static void prepare(struct store_postgres *store, struct postgres_slot *slot, const char *name)
{
    if (!PQsendPrepare(store->connection, name, slot->sql, (int)slot->type_count, slot->types))
        return;
    PGresult *result = postgres_last(store);
    slot->prepared = postgres_succeeded(result);
    PQclear(result);
}

bool postgres_send(struct store_postgres *store, const char *sql,
                   const struct postgres_values *values)
{
    uint64_t hash = hash_of(sql, values);
    struct postgres_slot *slot = find_slot(store, hash, sql, values);
    char name[16];
    if (slot == NULL) {
        remember(store, hash, sql, values);
    } else {
        slot->used = ++store->slot_uses;
        name_slot(store, slot, name);
        if (!slot->prepared)
            prepare(store, slot, name);
        if (slot->prepared)
            return PQsendQueryPrepared(store->connection, name, (int)values->count, values->values,
                                       values->lengths, values->formats, 1) == 1;
    }
    return PQsendQueryParams(store->connection, sql, (int)values->count, values->types,
                             values->values, values->lengths, values->formats, 1) == 1;
}
