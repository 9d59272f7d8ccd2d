/* SPDX-License-Identifier: Apache-2.0
 *
 * What a query may say on both stores and SQLite has no word for: text compared by its bytes is
 * COLLATE "C", and "position"(whole, part) finds the first place of a part. */
#include "store/store_sqlite.h"

#include <assert.h>
#include <string.h>

static int compare_bytes(void *arg, int a_len, const void *a, int b_len, const void *b)
{
    (void)arg;
    return bytes_compare(bytes_make(a, (size_t)a_len), bytes_make(b, (size_t)b_len));
}

static struct bytes read_argument(sqlite3_value *value)
{
    const void *data = sqlite3_value_blob(value);
    return bytes_make(data == NULL ? "" : data, (size_t)sqlite3_value_bytes(value));
}

/* Counted in bytes: callers ask only whether it is 0. */
static void find_part(sqlite3_context *context, int count, sqlite3_value **values)
{
    assert(count == 2);
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
        sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    struct bytes whole = read_argument(values[0]), part = read_argument(values[1]);
    const char *at = memmem(whole.data, whole.len, part.data, part.len);
    sqlite3_result_int64(context, at == NULL ? 0 : at - whole.data + 1);
}

int sqlite_words_declare(struct store_sqlite *store)
{
    int code = sqlite3_create_collation(store->db, "C", SQLITE_UTF8, NULL, compare_bytes);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(store->db, "position", 2,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                       find_part, NULL, NULL);
    return code;
}
