/* SPDX-License-Identifier: Apache-2.0 */
#include "query/changes.h"

#include "query/document.h"
#include "query/row_print.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_SEQ, ROW_N, ROW_IS_MEMBER, ROW_COLUMNS_FROM };
enum { GONE_FLOOR, GONE_SEQ, GONE_KEY, GONE_ITEM, GONE_COLUMNS };

struct reading {
    const struct collection *collection;
    struct changes *changes;
    struct text item;
    struct json_doc *doc; /* for what rows were; made when there is something */
    int64_t floor;        /* deletes up to this commit may have left no trace */
    int64_t committed;    /* commits so far; -1: not known */
    bool too_much;
};

/* Where what left is found: with what it was, or without. */
static const char *gone_table(const struct collection *collection)
{
    return collection->pasts != NULL ? "past_rows x" : "tombstones x";
}

static const char *gone_name(const struct collection *collection)
{
    return collection->pasts != NULL ? collection->pasts : collection->tombstones;
}

void changes_free(struct changes *changes)
{
    if (changes->arena.block != NULL)
        arena_deinit(&changes->arena);
    free(changes->items);
    free(changes->pasts);
    *changes = (struct changes){0};
}

/* ---- how far ---- */

/* The commit in which the rows are enough; NULL when there are fewer. */
#define ENOUGH                                                                                     \
    "(SELECT CASE WHEN count(*) = %d THEN max(c.seq) END FROM (SELECT %s AS seq FROM %s "          \
    "WHERE %s > ?1%s ORDER BY %s LIMIT %d) c)"

static bool take_bounds(void *arg, const struct field *columns, size_t count)
{
    struct reading *reading = arg;
    struct changes *changes = reading->changes;
    assert(count == 4 && columns[0].type == FIELD_INT);
    reading->committed = changes->seq = columns[0].i;
    changes->next_n = columns[1].i;
    for (size_t i = 2; i < count; i++)
        if (!columns[i].null && columns[i].i < changes->seq)
            changes->seq = columns[i].i;
    changes->more = changes->seq < reading->committed;
    return true;
}

static enum rc read_bounds(struct reading *reading, struct store *store, struct err *err)
{
    const struct collection *collection = reading->collection;
    const struct field params[] = {field_int(reading->changes->since),
                                   field_text(bytes_of(gone_name(collection)))};
    struct text sql = {0};
    reading->committed = -1;
    text_append_string(&sql, "SELECT e.commit_seq, e.next_n, ");
    text_appendf(&sql, ENOUGH ", ", CHANGES_ROWS_GOAL, collection->seq, collection->table,
                 collection->seq, "", collection->seq, CHANGES_ROWS_GOAL);
    text_appendf(&sql, ENOUGH, CHANGES_ROWS_GOAL, "x.seq", gone_table(collection), "x.seq",
                 " AND x.collection = ?2", "x.seq", CHANGES_ROWS_GOAL);
    text_append_string(&sql, " FROM engine e WHERE e.id = 1");
    enum rc rc = store_query(store, text_string(&sql), params, 2, take_bounds, reading, err);
    text_free(&sql);
    if (rc == RC_OK && reading->committed < 0)
        rc = err_set(err, RC_FATAL, "the store has no engine row");
    return rc;
}

/* ---- what ---- */

static struct change *add_change(struct reading *reading)
{
    struct changes *changes = reading->changes;
    reading->too_much |= changes->count == CHANGES_ROWS_MAX;
    if (changes->count == changes->room) {
        changes->room = changes->room == 0 ? 64 : changes->room * 2;
        changes->items = memory_resize(changes->items, changes->room * sizeof *changes->items);
    }
    struct change *change = &changes->items[changes->count++];
    *change = (struct change){0};
    return change;
}

static bool copy_bytes(struct reading *reading, struct bytes from, struct bytes *to)
{
    *to = arena_copy(&reading->changes->arena, from.data == NULL ? bytes_of("") : from);
    reading->too_much |= to->data == NULL;
    return !reading->too_much;
}

static bool copy_id(struct reading *reading, const struct field *value, struct bytes *to)
{
    char text[24];
    if (value->type != FIELD_INT)
        return copy_bytes(reading, value->b, to);
    snprintf(text, sizeof text, "%" PRId64, value->i);
    return copy_bytes(reading, bytes_of(text), to);
}

static bool copy_columns(struct reading *reading, const struct field *columns,
                         const struct field **to)
{
    size_t count = reading->collection->column_count;
    struct field *copy = arena_take(&reading->changes->arena, count * sizeof *copy);
    reading->too_much |= copy == NULL;
    for (size_t i = 0; i < count && !reading->too_much; i++) {
        copy[i] = columns[i];
        if (!copy[i].null && (copy[i].type == FIELD_TEXT || copy[i].type == FIELD_BLOB))
            copy_bytes(reading, columns[i].b, &copy[i].b);
    }
    *to = copy;
    return !reading->too_much;
}

static bool copy_item(struct reading *reading, const struct field *columns, struct change *change)
{
    const struct collection *collection = reading->collection;
    struct json_writer writer;
    text_clear(&reading->item);
    json_writer_init(&writer, &reading->item);
    row_print(collection, columns,
              collection->extra == NULL ? NULL : columns + collection->column_count, &writer);
    return copy_bytes(reading, text_bytes(&reading->item), &change->item);
}

/* A commit begins, and those before it are enough. */
static bool ends_before(const struct changes *changes, int64_t seq)
{
    return changes->count > 0 && changes->items[changes->count - 1].seq < seq &&
           CHANGES_BYTES_MAX - arena_left(&changes->arena) >= CHANGES_BYTES_GOAL;
}

/* Rows come in the order of their commits. */
static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct reading *reading = arg;
    struct changes *changes = reading->changes;
    assert(count >= ROW_COLUMNS_FROM + reading->collection->column_count);
    if (ends_before(changes, columns[ROW_SEQ].i)) {
        changes->seq = changes->items[changes->count - 1].seq;
        changes->more = true;
        return false;
    }
    struct change *change = add_change(reading);
    change->seq = columns[ROW_SEQ].i;
    change->n = columns[ROW_N].i;
    change->gone = columns[ROW_IS_MEMBER].i == 0;
    change->known = reading->collection->fixed;
    columns += ROW_COLUMNS_FROM;
    return copy_id(reading, &columns[0], &change->id) &&
           copy_columns(reading, columns, &change->columns) &&
           (change->gone || copy_item(reading, columns, change));
}

static enum rc read_rows(struct reading *reading, struct store *store, struct err *err)
{
    const struct collection *collection = reading->collection;
    const struct field params[] = {field_int(reading->changes->since),
                                   field_int(reading->changes->seq)};
    struct text sql = {0};
    text_appendf(&sql, "SELECT %s, %s, CASE WHEN %s THEN 1 ELSE 0 END", collection->seq,
                 collection->n, collection->only == NULL ? "1 = 1" : collection->only);
    for (size_t i = 0; i < collection->column_count; i++)
        text_appendf(&sql, ", %s", collection->columns[i].sql);
    if (collection->extra != NULL)
        text_appendf(&sql, ", %s", collection->extra);
    text_appendf(&sql, " FROM %s %s WHERE %s > ?1 AND %s <= ?2 ORDER BY %s", collection->table,
                 collection->joins, collection->seq, collection->seq, collection->seq);
    enum rc rc = store_query(store, text_string(&sql), params, 2, take_row, reading, err);
    text_free(&sql);
    return rc;
}

/* ---- what left, and what rows were ---- */

/* The columns that are written down of a row, and which these are. What is stored was written here;
 * were it damaged, nothing would be known. */
static uint64_t read_item(struct reading *reading, struct bytes words,
                          struct field values[COLLECTION_COLUMNS_MAX])
{
    const struct collection *collection = reading->collection;
    struct json item = {0};
    struct err err;
    uint64_t known = 0;
    if (reading->doc == NULL)
        reading->doc = json_doc_new(CHANGES_BYTES_MAX, JSON_DEPTH_MAX);
    if (json_parse_copy(reading->doc, words, &item, &err) != RC_OK)
        item = (struct json){0};
    document_read_past(collection, item, values);
    for (size_t i = 0; i < collection->column_count; i++)
        if (json_type(json_get(item, collection->columns[i].name)) != JSON_ABSENT)
            known |= UINT64_C(1) << i;
    return known;
}

static bool take_past(struct reading *reading, const struct field *columns)
{
    struct changes *changes = reading->changes;
    struct field values[COLLECTION_COLUMNS_MAX];
    reading->too_much |= changes->past_count == CHANGES_ROWS_MAX;
    if (changes->past_count == changes->past_room) {
        changes->past_room = changes->past_room == 0 ? 64 : changes->past_room * 2;
        changes->pasts = memory_resize(changes->pasts, changes->past_room * sizeof *changes->pasts);
    }
    struct past *past = &changes->pasts[changes->past_count++];
    *past = (struct past){.seq = columns[GONE_SEQ].i};
    read_item(reading, columns[GONE_ITEM].b, values);
    return copy_id(reading, &columns[GONE_KEY], &past->id) &&
           copy_columns(reading, values, &past->columns);
}

static bool take_names(struct reading *reading, struct bytes item, struct change *change)
{
    struct field values[COLLECTION_COLUMNS_MAX];
    change->known = read_item(reading, item, values) & reading->collection->fixed;
    return copy_columns(reading, values, &change->columns);
}

static bool take_gone(void *arg, const struct field *columns, size_t count)
{
    struct reading *reading = arg;
    assert(count == GONE_COLUMNS);
    reading->floor = columns[GONE_FLOOR].i;
    if (columns[GONE_SEQ].null)
        return true;
    if (reading->collection->pasts != NULL)
        return take_past(reading, columns);
    struct change *change = add_change(reading);
    change->seq = columns[GONE_SEQ].i;
    change->gone = true;
    return copy_id(reading, &columns[GONE_KEY], &change->id) &&
           (columns[GONE_ITEM].null || take_names(reading, columns[GONE_ITEM].b, change));
}

/* The floor is read with the rest: what was forgotten meanwhile is noticed. */
static enum rc read_gone(struct reading *reading, struct store *store, struct err *err)
{
    const struct collection *collection = reading->collection;
    const struct field params[] = {field_int(reading->changes->since),
                                   field_int(reading->changes->seq),
                                   field_text(bytes_of(gone_name(collection)))};
    struct text sql = {0};
    text_appendf(&sql,
                 "SELECT f.seq, x.seq, x.key, %s FROM (SELECT coalesce((SELECT seq "
                 "FROM tail_floors WHERE collection = ?3), 0) AS seq) f "
                 "LEFT JOIN %s ON x.collection = ?3 AND x.seq > ?1 AND x.seq <= ?2%s",
                 collection->pasts != NULL ? "x.item" : "y.item", gone_table(collection),
                 collection->pasts != NULL
                     ? ""
                     : " LEFT JOIN past_rows y ON y.collection = x.collection AND y.seq = x.seq "
                       "AND y.key = x.key");
    enum rc rc = store_query(store, text_string(&sql), params, 3, take_gone, reading, err);
    text_free(&sql);
    return rc;
}

static int by_id(const void *left, const void *right)
{
    const struct past *a = left, *b = right;
    int order = bytes_compare(a->id, b->id);
    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* The first of those that do not sort below this id. */
static size_t find_past(const struct changes *changes, struct bytes id)
{
    size_t low = 0, high = changes->past_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(changes->pasts[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_alike(const struct changes *changes, size_t first)
{
    size_t count = 1;
    while (first + count < changes->past_count &&
           bytes_equal(changes->pasts[first].id, changes->pasts[first + count].id))
        count++;
    return count;
}

/* Every row's past goes with what became of it; where that is not read, it is a change itself. */
static void join_pasts(struct reading *reading)
{
    struct changes *changes = reading->changes;
    size_t rows = changes->count;
    if (changes->past_count == 0)
        return;
    qsort(changes->pasts, changes->past_count, sizeof *changes->pasts, by_id);
    for (size_t i = 0; i < rows; i++) {
        struct change *change = &changes->items[i];
        size_t first = find_past(changes, change->id);
        if (first == changes->past_count || !bytes_equal(changes->pasts[first].id, change->id))
            continue;
        changes->pasts[first].joined = true;
        change->pasts = &changes->pasts[first];
        change->past_count = count_alike(changes, first);
    }
    for (size_t at = 0, count; at < changes->past_count; at += count) {
        count = count_alike(changes, at);
        if (changes->pasts[at].joined)
            continue;
        struct change *change = add_change(reading);
        *change = (struct change){.seq = changes->pasts[at + count - 1].seq,
                                  .id = changes->pasts[at].id,
                                  .gone = true,
                                  .pasts = &changes->pasts[at],
                                  .past_count = count};
    }
}
/* ---- all of it ---- */

static int by_commit(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    if (a->gone != b->gone)
        return a->gone ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return bytes_compare(a->id, b->id);
}

static enum rc judge(const struct reading *reading, struct refusal *refusal)
{
    const struct changes *changes = reading->changes;
    const char *name = reading->collection->name;
    if (changes->since > reading->committed)
        return refusal_set(refusal, REFUSAL_GAP,
                           "%s was never at seq %" PRId64 ": open the query again", name,
                           changes->since);
    if (changes->since < reading->floor)
        return refusal_set(refusal, REFUSAL_GAP,
                           "what left %s after seq %" PRId64 " is not known any more: open the "
                           "query again",
                           name, changes->since);
    if (reading->too_much)
        return refusal_set(refusal, REFUSAL_GAP,
                           "too much changed in %s at once: open the query again", name);
    return RC_OK;
}

enum rc changes_read(struct store *store, const struct collection *collection, int64_t since,
                     struct changes *changes, struct refusal *refusal, struct err *err)
{
    struct reading reading = {.collection = collection, .changes = changes};
    assert(collection->seq != NULL && gone_name(collection) != NULL && since >= 0);
    if (changes->arena.block == NULL)
        arena_init(&changes->arena, CHANGES_BYTES_MAX);
    arena_reset(&changes->arena);
    changes->count = changes->past_count = 0;
    changes->since = since;
    enum rc rc = read_bounds(&reading, store, err);
    if (rc == RC_OK && since < reading.committed)
        rc = read_rows(&reading, store, err);
    if (rc == RC_OK && since < reading.committed)
        rc = read_gone(&reading, store, err);
    text_free(&reading.item);
    if (reading.doc != NULL)
        json_doc_free(reading.doc);
    if (rc != RC_OK)
        return rc;
    join_pasts(&reading);
    if (changes->count > 0)
        qsort(changes->items, changes->count, sizeof *changes->items, by_commit);
    return judge(&reading, refusal);
}
