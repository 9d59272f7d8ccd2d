/* SPDX-License-Identifier: Apache-2.0 */
#include "store/commit.h"

#include "base/digest.h"
#include "store/fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED_ARENA_BYTES ((size_t)4 << 20)
#define REFUSED_RAW_MAX     1024

struct commit *commit_new(void)
{
    struct commit *commit = memory_new_zeroed(1, sizeof *commit);
    for (size_t i = 0; i < COMMIT_REFUSED_BATCHES; i++)
        arena_init(&commit->refused[i].arena, REFUSED_ARENA_BYTES);
    return commit;
}

void commit_free(struct commit *commit)
{
    assert(commit->first == NULL);
    for (size_t i = 0; i < COMMIT_REFUSED_BATCHES; i++)
        arena_deinit(&commit->refused[i].arena);
    free(commit);
}

bool commit_add(struct commit *commit, struct batch *batch)
{
    assert(batch->next == NULL && batch->record_count <= BATCH_RECORDS_MAX);
    if (commit->gathered + batch->record_count > COMMIT_RECORDS_MAX)
        return false;
    if (commit->last == NULL)
        commit->first = batch;
    else
        commit->last->next = batch;
    commit->last = batch;
    commit->gathered += batch->record_count;
    return true;
}

struct batch *commit_take_batches(struct commit *commit)
{
    struct batch *batches = commit->first;
    for (size_t i = 0; i < COMMIT_REFUSED_BATCHES; i++) {
        struct arena arena = commit->refused[i].arena;
        arena_reset(&arena);
        commit->refused[i] = (struct batch){.arena = arena};
    }
    commit->first = commit->last = NULL;
    commit->gathered = 0;
    commit->refused_count = commit->refused_batches = 0;
    return batches;
}

static void append_kind(struct commit *commit, struct fold *fold, const struct batch *batch,
                        enum record_id id, size_t *count)
{
    for (struct record *record = batch->first[id]; record != NULL; record = record->next) {
        if (record->refused)
            continue;
        record->folded = false; /* whoever stood for it before may have been refused since */
        fold_record(fold, record);
        commit->records[(*count)++] = record;
    }
}

/* How many ingest numbers belong to a record: one, and of a list one more for everybody on it, who
 * may be followed since this commit and was read in earlier ones. */
static int64_t count_numbers(const struct record *record)
{
    if (record->kind != RECORD_LISTING || record->fields[LISTING_ENTRIES].null)
        return 1;
    assert(record->fields[LISTING_ENTRIES].i >= 0);
    return 1 + record->fields[LISTING_ENTRIES].i;
}

/* Lays the records out by kind, folds equal identities and gives ingest numbers. */
static void lay_out(struct commit *commit, const struct store_position *position)
{
    struct fold fold;
    size_t count = 0;
    fold_init(&fold);
    for (enum record_id id = 0; id < RECORD_ID_COUNT; id++) {
        size_t start = count;
        commit->begin[id] = start;
        for (const struct batch *batch = commit->first; batch != NULL; batch = batch->next)
            append_kind(commit, &fold, batch, id, &count);
        for (size_t i = 0; i < COMMIT_REFUSED_BATCHES; i++)
            append_kind(commit, &fold, &commit->refused[i], id, &count);
        size_t kept = start;
        for (size_t i = start; i < count; i++)
            if (!commit->records[i]->folded)
                commit->records[kept++] = commit->records[i];
        count = kept;
        assert(count <= COMMIT_RECORDS_MAX * 2);
    }
    commit->begin[RECORD_ID_COUNT] = count;
    commit->next_n = position->next_n;
    for (size_t i = 0; i < count; i++) {
        commit->records[i]->n = commit->next_n;
        commit->next_n += count_numbers(commit->records[i]);
    }
    commit->epoch = position->epoch;
    commit->seq = position->commit_seq + 1;
    fold_deinit(&fold);
}

/* The part [lo, hi) of a commit, as a commit of its own that is only tried. */
static void take_part(const struct commit *whole, size_t lo, size_t hi, struct commit *part)
{
    assert(lo < hi && hi <= whole->begin[RECORD_ID_COUNT]);
    memcpy(part->records, whole->records + lo, (hi - lo) * sizeof(struct record *));
    for (enum record_id id = 0; id <= RECORD_ID_COUNT; id++) {
        size_t at = whole->begin[id] < lo ? lo : whole->begin[id] > hi ? hi : whole->begin[id];
        part->begin[id] = at - lo;
    }
    part->epoch = whole->epoch;
    part->seq = whole->seq;
    part->next_n = whole->next_n;
    part->dry = true;
}

static enum rc refuse(struct commit *commit, struct record *culprit, int64_t now_us,
                      const struct err *why)
{
    struct text raw = {0};
    uint8_t digest[DIGEST_SIZE];
    record_print(culprit, &raw);
    digest_sha256(text_bytes(&raw), digest);
    assert(commit->refused_count < COMMIT_REFUSED_BATCHES * BATCH_RECORDS_MAX);
    struct batch *batch = &commit->refused[commit->refused_count / BATCH_RECORDS_MAX];
    struct record *row = batch_add(batch, RECORD_QUARANTINE);
    bool fits = row != NULL;
    struct bytes kept = bytes_make(raw.data, raw.len < REFUSED_RAW_MAX ? raw.len : REFUSED_RAW_MAX);
    fits = fits && batch_set_text(batch, row, QUARANTINE_SOURCE, bytes_of("store")) &&
           batch_set_text(batch, row, QUARANTINE_DIGEST, bytes_make(digest, EVENT_ID_SIZE)) &&
           batch_set_text(batch, row, QUARANTINE_RAW, kept) &&
           batch_set_text(batch, row, QUARANTINE_REASON, bytes_of(why->text));
    if (fits) {
        batch_set_int(row, QUARANTINE_SIZE, (int64_t)raw.len);
        batch_set_int(row, QUARANTINE_AT_US, now_us);
        culprit->refused = true;
        commit->refused_count++;
    }
    text_free(&raw);
    return fits ? RC_OK : RC_FATAL;
}

/* The batch that stands or falls with this record; NULL: the record stands for itself. */
static struct batch *find_together(const struct commit *commit, const struct record *record)
{
    const char *at = (const char *)record;
    for (struct batch *batch = commit->first; batch != NULL; batch = batch->next)
        if (batch->together && at >= batch->arena.block &&
            at < batch->arena.block + batch->arena.used)
            return batch;
    return NULL;
}

static void refuse_together(struct commit *commit, struct batch *batch, const struct err *why)
{
    if (batch->refused)
        return;
    batch->refused = true;
    batch->why = *why;
    commit->refused_batches++;
    for (enum record_id id = 0; id < RECORD_ID_COUNT; id++)
        for (struct record *record = batch->first[id]; record != NULL; record = record->next)
            record->refused = true;
}

/* Finds, by halving, the records of [lo, hi) the database will not take. */
static enum rc find_refused(struct commit *commit, size_t lo, size_t hi, struct store *store,
                            int64_t now_us, struct err *err)
{
    struct commit *part = memory_new_zeroed(1, sizeof *part);
    take_part(commit, lo, hi, part);
    enum rc rc = store->ops->write(store, part, err);
    free(part);
    if (rc != RC_REJECT)
        return rc;
    if (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        rc = find_refused(commit, lo, middle, store, now_us, err);
        return rc != RC_OK ? rc : find_refused(commit, middle, hi, store, now_us, err);
    }
    struct record *culprit = commit->records[lo];
    struct batch *together = find_together(commit, culprit);
    if (together != NULL) {
        refuse_together(commit, together, err);
        return RC_OK;
    }
    if (culprit->kind == RECORD_CURSOR || culprit->kind == RECORD_RESET ||
        culprit->kind == RECORD_QUARANTINE)
        return err_wrap(err, RC_REJECT, "the store refuses a %s row",
                        record_kinds[culprit->kind].name);
    struct err why = *err;
    rc = refuse(commit, culprit, now_us, &why);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "no room to quarantine refused rows");
}

enum rc commit_write(struct commit *commit, struct store *store, struct store_position *position,
                     int64_t now_us, struct err *err)
{
    assert(commit != NULL && store != NULL && position != NULL);
    assert(position->next_n > 0 && !commit->dry);
    lay_out(commit, position);
    enum rc rc = store->ops->write(store, commit, err);
    /* An older version comes forward when the one that stood for it is refused, and may be refused
     * in its turn; every round puts at least one aside. */
    while (rc == RC_REJECT) {
        unsigned before = commit->refused_count + commit->refused_batches;
        rc = find_refused(commit, 0, commit->begin[RECORD_ID_COUNT], store, now_us, err);
        if (rc != RC_OK)
            return rc;
        if (commit->refused_count + commit->refused_batches == before)
            return err_wrap(err, RC_FATAL, "the rows are refused together but not one by one");
        lay_out(commit, position);
        rc = store->ops->write(store, commit, err);
    }
    if (rc == RC_OK) {
        position->commit_seq = commit->seq;
        position->next_n = commit->next_n;
    }
    return rc;
}
