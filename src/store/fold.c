/* SPDX-License-Identifier: Apache-2.0 */
#include "store/fold.h"

#include "base/hash.h"
#include "store/commit.h"

#include <assert.h>
#include <stdlib.h>

#define FOLD_SLOTS 16384
_Static_assert(FOLD_SLOTS >= COMMIT_RECORDS_MAX * 4, "the table stays at most a quarter full");

void fold_init(struct fold *fold)
{
    fold->slots = memory_new_zeroed(FOLD_SLOTS, sizeof(struct record *));
    fold->mask = FOLD_SLOTS - 1;
}

void fold_deinit(struct fold *fold)
{
    free(fold->slots);
}

static uint64_t hash_key(const struct record *record)
{
    uint64_t hash = record->kind;
    for (unsigned i = 0; i < record_kinds[record->kind].key_count; i++) {
        const struct field *field = &record->fields[i];
        if (field->null)
            hash = hash * 31 + 7;
        else if (field->type == FIELD_INT)
            hash = hash_bytes(bytes_make(&field->i, sizeof field->i), hash);
        else
            hash = hash_bytes(field->b, hash);
    }
    return hash;
}

static bool same_field(const struct field *a, const struct field *b)
{
    if (a->null || b->null)
        return a->null && b->null;
    return a->type == FIELD_INT ? a->i == b->i : bytes_equal(a->b, b->b);
}

static bool same_key(const struct record *a, const struct record *b)
{
    if (a->kind != b->kind)
        return false;
    for (unsigned i = 0; i < record_kinds[a->kind].key_count; i++)
        if (!same_field(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

/* How the versions compare; one that is absent is lower than any. */
static int compare_versions(const struct record *a, const struct record *b)
{
    const struct field *x = &a->fields[record_kinds[a->kind].version_field];
    const struct field *y = &b->fields[record_kinds[b->kind].version_field];
    if (x->null || y->null)
        return (int)y->null - (int)x->null;
    if (x->type == FIELD_INT)
        return (x->i > y->i) - (x->i < y->i);
    return bytes_compare(x->b, y->b);
}

/* Whether `later`, which came after `earlier`, stands for both. */
static bool supersedes(const struct record *later, const struct record *earlier)
{
    const struct record_kind *kind = &record_kinds[later->kind];
    if (kind->version_field < 0)
        return true;
    if (earlier->fields[kind->version_field].null)
        return !later->fields[kind->version_field].null || kind->rank_field == 0 ||
               later->fields[kind->rank_field].i <= earlier->fields[kind->rank_field].i;
    int order = compare_versions(later, earlier);
    return order > 0 || (order == 0 && kind->latest_of_equals);
}

static bool is_fresh(const struct record *record)
{
    unsigned field = record_kinds[record->kind].fresh_field;
    return field > 0 && !record->fields[field].null && record->fields[field].i == 1;
}

/* An edit keeps the time of the first sighting, unless that has no version and the winner was seen
 * coming into being. */
static void keep_earliest(struct record *winner, const struct record *loser)
{
    const struct record_kind *kind = &record_kinds[winner->kind];
    if (kind->earliest_field < 0)
        return;
    if (is_fresh(winner) && loser->fields[kind->version_field].null)
        return;
    struct field *kept = &winner->fields[kind->earliest_field];
    const struct field *other = &loser->fields[kind->earliest_field];
    if (!other->null && !kept->null && other->i < kept->i)
        kept->i = other->i;
}

/* What comes late is not stored, but may have been witnessed first; what has no version tells
 * nothing of the order. */
static void keep_witness(struct record *winner, const struct record *late)
{
    if (!late->fields[record_kinds[late->kind].version_field].null)
        keep_earliest(winner, late);
}

static bool is_delete(const struct record *record)
{
    int op = record_kinds[record->kind].op_field;
    return op >= 0 && record->fields[op].i == RECORD_OP_DELETE;
}

/* The slot of what was met with this identity, of puts or of deletes; empty when none was. */
static struct record **find(const struct fold *fold, const struct record *record, bool deleted)
{
    size_t at = hash_key(record) & fold->mask;
    while (fold->slots[at] != NULL &&
           !(same_key(fold->slots[at], record) && is_delete(fold->slots[at]) == deleted))
        at = (at + 1) & fold->mask;
    return &fold->slots[at];
}

/* A put is for nothing after a delete that is not older, and a delete ends every put that is not
 * newer: true when `record` is of no effect. */
static bool cancels_out(const struct fold *fold, struct record *record)
{
    if (record_kinds[record->kind].op_field < 0)
        return false;
    struct record *other = *find(fold, record, !is_delete(record));
    if (other == NULL || other->folded)
        return false;
    if (!is_delete(record))
        return !record->fields[record_kinds[record->kind].version_field].null &&
               compare_versions(record, other) <= 0;
    if (compare_versions(other, record) > 0)
        return true;
    other->folded = true;
    return false;
}

void fold_record(struct fold *fold, struct record *record)
{
    assert(!record->folded);
    if (record_kinds[record->kind].key_count == 0)
        return;
    if (cancels_out(fold, record)) {
        record->folded = true;
        return;
    }
    struct record **slot = find(fold, record, is_delete(record)), *known = *slot;
    if (known != NULL && !known->folded && !supersedes(record, known)) {
        if (!is_delete(record))
            keep_witness(known, record);
        record->folded = true;
        return;
    }
    if (known != NULL && !known->folded && !is_delete(record)) {
        keep_earliest(record, known);
        if (is_fresh(known))
            record->fields[record_kinds[record->kind].fresh_field] = field_int(1);
    }
    if (known != NULL)
        known->folded = true;
    *slot = record;
}
