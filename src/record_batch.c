/* SPDX-License-Identifier: Apache-2.0 */
#include "record_batch.h"

#include <assert.h>

static struct record *add(struct batch *batch, enum record_id id, unsigned field_count)
{
    assert(id < RECORD_ID_COUNT && field_count <= record_kinds[id].field_count);
    if (batch->record_count + batch->kept_free >= BATCH_RECORDS_MAX)
        return NULL;
    struct record *record =
        arena_take(&batch->arena, sizeof *record + field_count * sizeof(struct field));
    if (record == NULL)
        return NULL;
    *record = (struct record){.kind = (uint16_t)id, .field_count = (uint16_t)field_count};
    for (unsigned i = 0; i < field_count; i++)
        record->fields[i] = field_null(record_kinds[id].field_types[i]);
    if (batch->last[id] == NULL)
        batch->first[id] = record;
    else
        batch->last[id]->next = record;
    record->previous = batch->last[id];
    batch->last[id] = record;
    batch->record_count++;
    return record;
}

struct record *batch_add(struct batch *batch, enum record_id id)
{
    return add(batch, id, record_kinds[id].field_count);
}

struct record *batch_add_row(struct batch *batch, const enum field_type *columns,
                             unsigned column_count)
{
    struct record *record = add(batch, RECORD_ROW, ROW_COLUMNS + column_count);
    for (unsigned i = 0; record != NULL && i < column_count; i++)
        record->fields[ROW_COLUMNS + i] = field_null(columns[i]);
    return record;
}

bool batch_set_text(struct batch *batch, struct record *record, unsigned field, struct bytes value)
{
    assert(field < record->field_count);
    enum field_type type = record->fields[field].type;
    assert(type == FIELD_TEXT || type == FIELD_BLOB);
    struct bytes copy = arena_copy(&batch->arena, value);
    if (copy.data == NULL && value.data != NULL)
        return false;
    record->fields[field] = type == FIELD_TEXT ? field_text(copy) : field_blob(copy);
    return true;
}

void batch_set_int(struct record *record, unsigned field, int64_t value)
{
    assert(field < record->field_count);
    assert(record->fields[field].type == FIELD_INT);
    record->fields[field] = field_int(value);
}

void batch_drop_last(struct batch *batch, struct record *record)
{
    assert(batch->last[record->kind] == record && batch->record_count > 0);
    batch->last[record->kind] = record->previous;
    if (record->previous == NULL)
        batch->first[record->kind] = NULL;
    else
        record->previous->next = NULL;
    batch->record_count--;
}

void batch_undo(struct batch *batch, struct batch_mark mark)
{
    assert(mark.used <= batch->arena.used);
    const char *end = batch->arena.block + mark.used;
    for (unsigned id = 0; id < RECORD_ID_COUNT; id++)
        while (batch->last[id] != NULL && (const char *)batch->last[id] >= end)
            batch_drop_last(batch, batch->last[id]);
    batch->arena.used = mark.used;
}
