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

/* Whether `later`, which came after `earlier`, stands for both. */
static bool supersedes(const struct record *later, const struct record *earlier)
{
    int version = record_kinds[later->kind].version_field;
    if (version < 0)
        return true;
    const struct field *new = &later->fields[version], *old = &earlier->fields[version];
    if (new->null || old->null)
        return old->null;
    if (new->type == FIELD_INT)
        return new->i >= old->i;
    return bytes_compare(new->b, old->b) >= 0;
}

/* An edit keeps the time of the first sighting; a delete has no past to keep. */
static void keep_earliest(struct record *winner, const struct record *loser)
{
    const struct record_kind *kind = &record_kinds[winner->kind];
    if (kind->earliest_field < 0)
        return;
    if (winner->fields[kind->op_field].i != loser->fields[kind->op_field].i)
        return;
    struct field *kept = &winner->fields[kind->earliest_field];
    const struct field *other = &loser->fields[kind->earliest_field];
    if (!other->null && !kept->null && other->i < kept->i)
        kept->i = other->i;
}

void fold_record(struct fold *fold, struct record *record)
{
    assert(!record->folded);
    if (record_kinds[record->kind].key_count == 0)
        return;
    size_t at = hash_key(record) & fold->mask;
    while (fold->slots[at] != NULL && !same_key(fold->slots[at], record))
        at = (at + 1) & fold->mask;
    struct record *known = fold->slots[at];
    if (known == NULL) {
        fold->slots[at] = record;
        return;
    }
    struct record *winner = supersedes(record, known) ? record : known;
    struct record *loser = winner == record ? known : record;
    keep_earliest(winner, loser);
    loser->folded = true;
    fold->slots[at] = winner;
}
