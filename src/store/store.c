/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* NULL: not a store's address. */
static const struct store_ops *find_ops(const char *url)
{
    if (strncmp(url, "sqlite:", 7) == 0)
        return &store_sqlite_ops;
    if (strncmp(url, "postgresql:", 11) == 0 || strncmp(url, "postgres:", 9) == 0)
        return &store_postgres_ops;
    return NULL;
}

const char *store_size_sql(const char *url)
{
    const struct store_ops *ops = find_ops(url);
    assert(ops != NULL);
    return ops->size_sql;
}

enum rc store_open(const char *url, enum store_mode mode, struct store **store, struct err *err)
{
    assert(url != NULL && store != NULL);
    const struct store_ops *ops = find_ops(url);
    *store = NULL;
    if (ops != NULL) {
        enum rc rc = ops->open(url, mode, store, err);
        if (rc == RC_OK)
            (*store)->url = memory_copy_string(url);
        return rc;
    }
    return err_set(err, RC_REJECT,
                   "store.url must begin with sqlite: or postgresql:// (got \"%.40s\")", url);
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    store_close_beside(store);
    free(store->url);
    store->ops->close(store);
}

enum rc store_beside(struct store *store, struct store **beside, struct err *err)
{
    assert(store->url != NULL);
    enum rc rc = RC_OK;
    if (store->beside == NULL)
        rc = store_open(store->url, STORE_BESIDE, &store->beside, err);
    *beside = store->beside;
    return rc;
}

enum rc store_mend_beside(const char *url, bool *anew, struct err *err)
{
    const struct store_ops *ops = find_ops(url);
    assert(ops != NULL);
    *anew = false;
    return ops->mend_beside == NULL ? RC_OK : ops->mend_beside(url, anew, err);
}

void store_close_beside(struct store *store)
{
    store_close(store->beside);
    store->beside = NULL;
}

enum rc store_query(struct store *store, const char *sql, const struct field *params,
                    size_t param_count, row_fn *fn, void *arg, struct err *err)
{
    assert(store != NULL && sql != NULL && fn != NULL);
    assert(param_count == 0 || params != NULL);
    return store->ops->query(store, sql, params, param_count, fn, arg, err);
}

void store_limit_queries(struct store *store, int64_t us)
{
    assert(store != NULL && us >= 0);
    store->query_us_max = us;
}

static bool take_int(void *arg, const struct field *columns, size_t count)
{
    assert(count >= 1);
    if (!columns[0].null && columns[0].type == FIELD_INT)
        *(int64_t *)arg = columns[0].i;
    return false;
}

enum rc store_query_int(struct store *store, const char *sql, int64_t fallback, int64_t *value,
                        struct err *err)
{
    assert(value != NULL);
    *value = fallback;
    return store_query(store, sql, NULL, 0, take_int, value, err);
}

static bool take_position(void *arg, const struct field *columns, size_t count)
{
    assert(count == 3);
    *(struct store_position *)arg =
        (struct store_position){columns[0].i, columns[1].i, columns[2].i};
    return true;
}

enum rc store_read_position(struct store *store, struct store_position *position, struct err *err)
{
    assert(position != NULL);
    *position = (struct store_position){0};
    enum rc rc = store_query(store, "SELECT epoch, commit_seq, next_n FROM engine WHERE id = 1",
                             NULL, 0, take_position, position, err);
    if (rc == RC_OK && position->next_n == 0)
        return err_set(err, RC_FATAL, "the store has lost its position: restore a backup");
    return rc;
}

/* Quotes `text` as an SQL literal; the words written here are ours, but a path may hold a quote. */
static void append_literal(struct text *sql, const char *text)
{
    if (text == NULL) {
        text_append_string(sql, "NULL");
        return;
    }
    text_append_char(sql, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            text_append_char(sql, '\'');
        text_append_char(sql, *text);
    }
    text_append_char(sql, '\'');
}

/* Whoever was written into `follows` by hand has a number that was not taken from here. */
#define PAST_FOLLOWS                                                                               \
    "(SELECT CASE WHEN max(f.n) >= engine.next_n THEN max(f.n) + 1 ELSE engine.next_n END "        \
    "FROM follows f)"

enum rc store_claim(struct store *store, const char *holder, const char *address, int64_t now_us,
                    struct store_position *position, struct err *err)
{
    assert(store != NULL && holder != NULL && position != NULL);
    struct text sql = {0};
    text_append_string(&sql, "UPDATE engine SET epoch = epoch + 1, next_n = " PAST_FOLLOWS " "
                             "WHERE id = 1;\n"
                             "INSERT INTO leases (name, holder, address, epoch, renewed_us) "
                             "SELECT 'writer', ");
    append_literal(&sql, holder);
    text_append_string(&sql, ", ");
    append_literal(&sql, address);
    text_appendf(&sql,
                 ", epoch, %" PRId64 " FROM engine WHERE id = 1 "
                 "ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, "
                 "address = excluded.address, epoch = excluded.epoch, "
                 "renewed_us = excluded.renewed_us;",
                 now_us);
    enum rc rc = store->ops->script(store, text_string(&sql), err);
    text_free(&sql);
    if (rc != RC_OK)
        return rc;
    return store->ops->position(store, position, err);
}
