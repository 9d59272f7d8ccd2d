/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/owed_table.h"

#include <assert.h>
#include <string.h>

enum {
    COLUMN_ITEM,
    COLUMN_UNIT,
    COLUMN_REASON,
    COLUMN_REFUSED_BY,
    COLUMN_ATTEMPTS,
    COLUMN_NEXT_US,
    COLUMN_SINCE_US,
    COLUMNS
};

const char owed_load_sql[] =
    "SELECT item, unit, reason, refused_by, attempts, next_us, since_us FROM owed "
    "WHERE source = ?1 AND stream = ?2 AND state = 'owed' ORDER BY next_us, item LIMIT ?3";

static void copy_text(char *out, size_t size, struct bytes from)
{
    size_t len = from.len < size ? from.len : size - 1;
    assert(size > 0);
    assert(from.data != NULL || len == 0);
    if (len > 0)
        memcpy(out, from.data, len);
    out[len] = '\0';
}

bool owed_wants_load(const struct owed *owed)
{
    assert(owed->items != NULL);
    assert(owed->settings.items_max > 0);
    return owed->more && !owed->loading && owed->count <= owed->settings.items_max / 4;
}

void owed_load_begin(struct owed *owed, struct field params[OWED_LOAD_PARAMS])
{
    assert(owed->items != NULL);
    assert(!owed->loading);
    owed->loading = true;
    owed->spilled = false;
    owed->load_rows = 0;
    params[0] = field_text(bytes_of(owed->settings.source));
    params[1] = field_text(bytes_of(owed->settings.stream));
    params[2] = field_int((int64_t)owed->settings.items_max + 1);
}

static struct bytes column_text(const struct field *column)
{
    return column->null ? BYTES_ABSENT : column->b;
}

static int64_t column_int(const struct field *column)
{
    return column->null ? 0 : column->i;
}

static void read_refusals(struct owed_item *item, struct bytes names)
{
    assert(item->refusal_count == 0);
    while (names.len > 0 && item->refusal_count + 1 < OWED_REFUSALS_DEAD) {
        const char *end = memchr(names.data, '\n', names.len);
        size_t len = end == NULL ? names.len : (size_t)(end - names.data);
        copy_text(item->refused_by[item->refusal_count++], sizeof item->refused_by[0],
                  bytes_make(names.data, len));
        len += end == NULL ? 0 : 1;
        names = bytes_make(names.data + len, names.len - len);
    }
    assert(item->refusal_count < OWED_REFUSALS_DEAD);
}

bool owed_load_row(void *arg, const struct field *columns, size_t count)
{
    struct owed *owed = arg;
    assert(owed->loading);
    assert(count == COLUMNS);
    struct bytes name = column_text(&columns[COLUMN_ITEM]);
    owed->load_rows++;
    if (!owed_table_accepts(name) || owed_table_find(owed, name) != NULL)
        return true; /* what memory knows of it is newer */
    struct owed_item *item = owed_table_add_if_free(owed, name);
    if (item == NULL) {
        owed->spilled = true;
        return false;
    }
    int64_t attempts = column_int(&columns[COLUMN_ATTEMPTS]);
    copy_text(item->unit, sizeof item->unit, column_text(&columns[COLUMN_UNIT]));
    copy_text(item->reason, sizeof item->reason, column_text(&columns[COLUMN_REASON]));
    read_refusals(item, column_text(&columns[COLUMN_REFUSED_BY]));
    item->attempts = attempts < 0 ? 0 : attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)attempts;
    item->next_us = column_int(&columns[COLUMN_NEXT_US]);
    item->since_us = column_int(&columns[COLUMN_SINCE_US]);
    item->durable = true;
    owed_table_wait(owed, item, item->next_us);
    return true;
}

void owed_load_end(struct owed *owed, bool succeeded)
{
    assert(owed->loading);
    assert(owed->load_rows <= owed->settings.items_max + 1);
    owed->more = !succeeded || owed->spilled || owed->load_rows > owed->settings.items_max;
    owed->loading = owed->spilled = false;
    owed->swept_us = INT64_MAX; /* what came may have been put under another clock */
    owed_table_sweep(owed);
}
