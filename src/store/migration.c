/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "base/digest.h"
#include "sys/clock.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* What the store says was applied, compared step by step with what the program knows. */
struct applied {
    const struct migration *known;
    int highest;
    enum rc rc;
    struct err *err;
};

static void checksum(const char *sql, char out[DIGEST_HEX_SIZE])
{
    uint8_t digest[DIGEST_SIZE];
    digest_sha256(bytes_of(sql), digest);
    digest_hex(digest, out);
}

static bool compare_step(void *arg, const struct field *columns, size_t count)
{
    struct applied *applied = arg;
    assert(count == 2);
    int version = (int)columns[0].i;
    const struct migration *step = &applied->known[applied->highest];
    char expected[DIGEST_HEX_SIZE];
    if (step->version == 0) {
        applied->rc = err_set(applied->err, RC_REJECT,
                              "the store's schema has version %d, this program knows only %d: "
                              "install a newer tidemark",
                              version, applied->highest);
        return false;
    }
    checksum(step->sql, expected);
    if (version != step->version || !bytes_equal_string(columns[1].b, expected)) {
        applied->rc = err_set(applied->err, RC_REJECT,
                              "the store's schema step %d is not this program's step %d (%s): it "
                              "was made by another build or changed by hand; restore a backup or "
                              "use the program that made it",
                              version, step->version, step->name);
        return false;
    }
    applied->highest = version;
    return true;
}

static enum rc read_applied(struct store *store, struct applied *applied)
{
    struct err *err = applied->err;
    enum rc rc = store->ops->script(
        store,
        "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, "
        "name TEXT NOT NULL, checksum TEXT NOT NULL, applied_us BIGINT NOT NULL)",
        err);
    if (rc != RC_OK)
        return rc;
    rc = store_query(store, "SELECT version, checksum FROM schema_migrations ORDER BY version",
                     NULL, 0, compare_step, applied, err);
    return rc != RC_OK ? rc : applied->rc;
}

static enum rc apply_step(struct store *store, const struct migration *step, struct err *err)
{
    char sum[DIGEST_HEX_SIZE];
    struct text sql = {0};
    checksum(step->sql, sum);
    text_append_string(&sql, step->sql);
    text_appendf(&sql,
                 "\nINSERT INTO schema_migrations (version, name, checksum, applied_us) "
                 "VALUES (%d, '%s', '%s', %" PRId64 ");",
                 step->version, step->name, sum, clock_wall_us());
    crashpoint(CRASH_DURING_MIGRATE);
    enum rc rc = store->ops->script(store, text_string(&sql), err);
    text_free(&sql);
    if (rc != RC_OK)
        return err_wrap(err, rc, "schema step %d (%s)", step->version, step->name);
    crashpoint(CRASH_AFTER_MIGRATE);
    return RC_OK;
}

enum rc store_migrate(struct store *store, unsigned *done, struct err *err)
{
    return store_migrate_watched(store, NULL, done, err);
}

enum rc store_migrate_watched(struct store *store, const struct migration_watch *watch,
                              unsigned *done, struct err *err)
{
    assert(store != NULL && done != NULL);
    struct applied applied = {.known = store->ops->migrations, .rc = RC_OK, .err = err};
    *done = 0;
    enum rc rc = read_applied(store, &applied);
    if (rc != RC_OK)
        return rc;
    unsigned due = (unsigned)(store_schema_newest(store->ops) - applied.highest);
    for (const struct migration *step = &applied.known[applied.highest]; step->version != 0;
         step++) {
        if (watch != NULL)
            watch->step(watch->arg, step, *done, due);
        rc = apply_step(store, step, err);
        if (rc != RC_OK)
            return rc;
        (*done)++;
    }
    return RC_OK;
}

int store_schema_newest(const struct store_ops *ops)
{
    int newest = 0;
    for (const struct migration *step = ops->migrations; step->version != 0; step++)
        newest = step->version;
    return newest;
}

enum rc store_check_schema(struct store *store, struct err *err)
{
    assert(store != NULL && err != NULL);
    struct applied applied = {.known = store->ops->migrations, .rc = RC_OK, .err = err};
    enum rc rc =
        store_query(store, "SELECT version, checksum FROM schema_migrations ORDER BY version", NULL,
                    0, compare_step, &applied, err);
    /* The sentence names the table only when it is the table that is missing. */
    if (rc == RC_FATAL && strstr(err->text, "schema_migrations") != NULL)
        return err_set(err, RC_REJECT, "this store was never set up: run `tidemark migrate`");
    if (rc != RC_OK)
        return rc;
    if (applied.rc != RC_OK)
        return applied.rc;
    const struct migration *next = &applied.known[applied.highest];
    if (next->version != 0)
        return err_set(err, RC_REJECT,
                       "the store's schema is at step %d, this program needs more: "
                       "run `tidemark migrate`",
                       applied.highest);
    return RC_OK;
}
