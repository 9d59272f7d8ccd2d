/* SPDX-License-Identifier: Apache-2.0 */
#include "record_batch.h"

#include <assert.h>

struct record *batch_add(struct batch *batch, enum record_id id)
{
    assert(id < RECORD_ID_COUNT);
    const struct record_kind *kind = &record_kinds[id];
    if (batch->record_count == BATCH_RECORDS_MAX)
        return NULL;
    struct record *record =
        arena_take(&batch->arena, sizeof *record + kind->field_count * sizeof(struct field));
    if (record == NULL)
        return NULL;
    *record = (struct record){.kind = (uint16_t)id, .field_count = kind->field_count};
    for (unsigned i = 0; i < kind->field_count; i++)
        record->fields[i] = field_null(kind->field_types[i]);
    if (batch->last[id] == NULL)
        batch->first[id] = record;
    else
        batch->last[id]->next = record;
    record->previous = batch->last[id];
    batch->last[id] = record;
    batch->record_count++;
    return record;
}

bool batch_set_text(struct batch *batch, struct record *record, unsigned field, struct bytes value)
{
    assert(field < record->field_count);
    enum field_type type = record_kinds[record->kind].field_types[field];
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
    assert(record_kinds[record->kind].field_types[field] == FIELD_INT);
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
