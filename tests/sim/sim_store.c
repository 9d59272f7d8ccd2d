/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_store.h"

#include "sim_world.h"
#include "store/commit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_hash(struct bytes bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037), word; /* as FNV-1a, by words */
    for (; bytes.len >= sizeof word;
         bytes = bytes_make(bytes.data + sizeof word, bytes.len - sizeof word)) {
        memcpy(&word, bytes.data, sizeof word);
        hash = (hash ^ word ^ word >> 32) * UINT64_C(1099511628211);
    }
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(1099511628211);
    return hash;
}

void sim_db_init(struct sim_db *db, size_t events)
{
    *db = (struct sim_db){.position = {.next_n = 1}, .cursor_host = -1};
    db->lost = memory_new_zeroed(events, sizeof *db->lost);
}

void sim_db_deinit(struct sim_db *db)
{
    free(db->quarantine);
    free(db->gaps);
    free(db->lost);
    text_free(&db->cursor);
}

/* ---- rows ---- */

static struct bytes bytes_at(const struct record *record, unsigned field)
{
    return record->fields[field].null ? BYTES_ABSENT : record->fields[field].b;
}

static void apply_post(struct sim_world *world, const struct record *record, int64_t seq)
{
    size_t rev;
    size_t key = sim_key(bytes_at(record, POST_DID), bytes_at(record, POST_COLLECTION),
                         bytes_at(record, POST_RKEY));
    if (key == SIM_KEYS || !sim_number_after(bytes_at(record, POST_REV), "3sim", &rev))
        sim_fail(world, "a post nobody sent is stored");
    struct sim_post *post = &world->db.posts[key];
    int64_t op = record->fields[POST_OP].i;
    if (post->seq[op] == seq || post->seq[POST_OP_PUT] == seq)
        sim_fail(world, "I3: one commit holds post %zu twice", key);
    post->seq[op] = seq;
    if (post->known && post->rev >= rev)
        return;
    bool gone = op == POST_OP_DELETE;
    bool repost = record->fields[POST_KIND].i == POST_KIND_REPOST;
    struct bytes body = bytes_at(record, repost ? POST_SUBJECT : POST_TEXT);
    *post = (struct sim_post){.known = true,
                              .gone = gone,
                              .rev = rev,
                              .body_hash = gone ? 0 : sim_hash(body),
                              .kind = record->fields[POST_KIND].i,
                              .shared_us = record->fields[POST_SHARED_US].i,
                              .changed = seq,
                              .seq = {post->seq[0], post->seq[1]}};
}

static struct sim_actor *actor_of(struct sim_world *world, struct bytes did)
{
    size_t number;
    if (!sim_number_after(did, "did:plc:sim", &number) || number >= SIM_DIDS)
        sim_fail(world, "an account nobody sent is stored");
    return &world->db.actors[number];
}

static void apply_account(struct sim_world *world, const struct record *record)
{
    struct sim_actor *actor = actor_of(world, bytes_at(record, ACCOUNT_DID));
    int64_t at_us = record->fields[ACCOUNT_AT_US].i;
    if (actor->has_status && actor->status_us > at_us)
        return;
    actor->has_status = true;
    actor->status_us = at_us;
    actor->active = record->fields[ACCOUNT_ACTIVE].i;
    if (!sim_number_after(bytes_at(record, ACCOUNT_STATUS), "s", &actor->status))
        sim_fail(world, "a status nobody sent is stored");
}

static void apply_identity(struct sim_world *world, const struct record *record)
{
    struct sim_actor *actor = actor_of(world, bytes_at(record, IDENTITY_DID));
    int64_t at_us = record->fields[IDENTITY_AT_US].i;
    if (actor->has_handle && actor->handle_us > at_us)
        return;
    actor->has_handle = true;
    actor->handle_us = at_us;
    if (!sim_number_after(bytes_at(record, IDENTITY_HANDLE), "h", &actor->handle))
        sim_fail(world, "a handle nobody sent is stored");
}

/* The revision in what the store's own quarantine row shows of a post. */
static size_t refused_rev(struct sim_world *world, struct bytes raw)
{
    char words[2048];
    size_t len = raw.len < sizeof words - 1 ? raw.len : sizeof words - 1;
    memcpy(words, raw.data, len);
    words[len] = '\0';
    const char *rev = strstr(words, "\"rev\":\"3sim");
    if (rev == NULL)
        sim_fail(world, "the store quarantined what nobody sent: %.80s", words);
    return (size_t)strtoull(rev + strlen("\"rev\":\"3sim"), NULL, 10);
}

static void apply_quarantine(struct sim_world *world, const struct record *record)
{
    struct sim_db *db = &world->db;
    struct bytes digest = bytes_at(record, QUARANTINE_DIGEST),
                 raw = bytes_at(record, QUARANTINE_RAW);
    struct sim_quarantined row = {
        .by_store = bytes_equal_string(bytes_at(record, QUARANTINE_SOURCE), "store"),
        .cut = raw.data == NULL,
        .size = record->fields[QUARANTINE_SIZE].i};
    assert(digest.len == EVENT_ID_SIZE);
    memcpy(row.digest, digest.data, EVENT_ID_SIZE);
    for (size_t i = 0; i < db->quarantine_count; i++)
        if (memcmp(db->quarantine[i].digest, row.digest, EVENT_ID_SIZE) == 0)
            return;
    if (row.by_store)
        row.rev = refused_rev(world, raw);
    if (!row.by_store && row.size > 110000)
        sim_saw(SIGHT_EVENT_OVER_BATCH);
    sim_saw(row.by_store ? SIGHT_QUARANTINED_BY_STORE
            : row.cut    ? SIGHT_QUARANTINED_CUT
                         : SIGHT_QUARANTINED);
    db->quarantine =
        memory_resize(db->quarantine, (db->quarantine_count + 1) * sizeof *db->quarantine);
    db->quarantine[db->quarantine_count++] = row;
}

/* A closing row closes what lies inside it; it is done before any row is put. */
static void close_gaps(struct sim_db *db, const struct commit *commit)
{
    for (size_t i = commit->begin[RECORD_GAP]; i < commit->begin[RECORD_GAP + 1]; i++) {
        const struct field *fields = commit->records[i]->fields;
        for (size_t g = 0; g < db->gap_count && !fields[GAP_CLOSED_US].null; g++)
            if (fields[GAP_FROM_US].i <= db->gaps[g].from_us &&
                fields[GAP_TO_US].i >= db->gaps[g].to_us)
                db->gaps[g].closed = true;
    }
}

static void apply_gap(struct sim_world *world, const struct record *record)
{
    struct sim_db *db = &world->db;
    struct sim_gap gap = {record->fields[GAP_FROM_US].i, record->fields[GAP_TO_US].i,
                          !record->fields[GAP_CLOSED_US].null};
    sim_trace(world, "gap %" PRId64 " %" PRId64 " %s", gap.from_us, gap.to_us,
              gap.closed ? "closed" : "open");
    sim_saw(SIGHT_GAP_STORED);
    for (size_t i = 0; i < db->gap_count; i++)
        if (db->gaps[i].from_us == gap.from_us && db->gaps[i].to_us == gap.to_us) {
            db->gaps[i] = gap;
            return;
        }
    db->gaps = memory_resize(db->gaps, (db->gap_count + 1) * sizeof *db->gaps);
    db->gaps[db->gap_count++] = gap;
}

static void apply_cursor(struct sim_world *world, const struct record *record)
{
    struct sim_db *db = &world->db;
    if (sim_ledger_apply(world, record, 0) || sim_content_apply(world, record, 0))
        return;
    int64_t position = record->fields[CURSOR_ROW_POSITION].i;
    struct bytes state = bytes_at(record, CURSOR_ROW_STATE);
    if (position < db->cursor_us)
        sim_fail(world, "I4: the cursor goes back from %" PRId64 " to %" PRId64, db->cursor_us,
                 position);
    text_clear(&db->cursor);
    text_append(&db->cursor, state.data, state.len);
    db->cursor_us = position;
    db->cursor_host = -1;
    for (int host = 0; host < SIM_HOSTS; host++)
        if (strstr(text_string(&db->cursor), sim_host_names[host]) != NULL)
            db->cursor_host = host;
    sim_trace(world, "cursor %" PRId64 " %d", position, db->cursor_host);
}

static void apply_cursors(struct sim_world *world, const struct commit *commit)
{
    for (size_t i = commit->begin[RECORD_CURSOR]; i < commit->begin[RECORD_CURSOR + 1]; i++)
        apply_cursor(world, commit->records[i]);
}

static void apply(struct sim_world *world, const struct commit *commit)
{
    struct sim_db *db = &world->db;
    int64_t n = db->position.next_n;
    close_gaps(db, commit);
    for (enum record_id kind = 0; kind < RECORD_ID_COUNT; kind++)
        for (size_t i = commit->begin[kind]; i < commit->begin[kind + 1]; i++) {
            const struct record *record = commit->records[i];
            if (record->kind != kind || record->n < n || record->n >= commit->next_n)
                sim_fail(world, "I3: row %zu of a commit has number %" PRId64, i, record->n);
            n = record->n + 1;
            if (kind == RECORD_POST)
                apply_post(world, record, commit->seq);
            else if (kind == RECORD_ACCOUNT)
                apply_account(world, record);
            else if (kind == RECORD_IDENTITY)
                apply_identity(world, record);
            else if (kind == RECORD_QUARANTINE)
                apply_quarantine(world, record);
            else if (kind == RECORD_GAP)
                apply_gap(world, record);
            else if (kind == RECORD_CURSOR)
                apply_cursor(world, record);
            else if (!sim_ledger_apply(world, record, commit->seq) &&
                     !sim_content_apply(world, record, commit->seq))
                sim_fail(world, "a row of kind %d nobody made is stored", (int)kind);
        }
    if (commit->begin[RECORD_ID_COUNT] < commit->gathered)
        sim_saw(SIGHT_FOLDED);
    db->position.commit_seq = commit->seq;
    db->position.next_n = commit->next_n;
}

/* Two commits with the same cursor rows are one commit sent twice. */
static void check_not_repeated(struct sim_world *world, const struct commit *commit, bool answered)
{
    uint64_t hash = (uint64_t)commit->epoch;
    if (commit->begin[RECORD_CURSOR] == commit->begin[RECORD_CURSOR + 1])
        return;
    for (size_t i = commit->begin[RECORD_CURSOR]; i < commit->begin[RECORD_CURSOR + 1]; i++)
        hash ^= sim_hash(bytes_at(commit->records[i], CURSOR_ROW_STATE));
    if (hash == world->db.unanswered)
        sim_fail(world, "I3: a commit whose answer was lost was written again");
    world->db.unanswered = answered ? 0 : hash;
}

static bool is_poisoned(const struct commit *commit)
{
    for (size_t i = commit->begin[RECORD_POST]; i < commit->begin[RECORD_POST + 1]; i++) {
        struct bytes body = bytes_at(commit->records[i], POST_TEXT);
        if (body.data != NULL &&
            memmem(body.data, body.len, SIM_POISON, strlen(SIM_POISON)) != NULL)
            return true;
    }
    return false;
}

/* ---- the table ---- */

static enum rc lose_process(struct sim_store_handle *handle, struct err *err)
{
    handle->life->dying = true;
    return err_set(err, RC_RETRY, "crashed");
}

static enum rc write_commit(struct store *base, const struct commit *commit, struct err *err)
{
    struct sim_store_handle *handle = (struct sim_store_handle *)base;
    struct sim_world *world = handle->world;
    struct sim_swarm *swarm = &world->swarm;
    const struct store_position *at = &world->db.position;
    if (handle->life->dying || handle->life->ended)
        return err_set(err, RC_RETRY, "nobody is there to write");
    if (sim_strikes(swarm, FAULT_CRASH_BEFORE_EFFECT)) {
        bool would = commit->epoch == at->epoch && !commit->dry;
        if (world->plan.plant == PLANT_CURSOR && would)
            apply_cursors(world, commit);
        if (world->plan.plant == PLANT_READER && would)
            sim_reader_plant(world, commit);
        return lose_process(handle, err);
    }
    if (sim_strikes(swarm, FAULT_STORE_BUSY))
        return err_set(err, RC_RETRY, "busy");
    if (is_poisoned(commit))
        return err_set(err, RC_REJECT, "poison");
    if (commit->epoch != at->epoch || commit->seq != at->commit_seq + 1)
        return err_set(err, RC_FATAL, "another process has taken this store over");
    if (commit->dry) {
        sim_saw(SIGHT_DRY_WRITE);
        return RC_OK;
    }
    if (handle->epoch != at->epoch)
        sim_fail(world, "I8: a process of epoch %" PRId64 " writes in epoch %" PRId64,
                 handle->epoch, at->epoch);
    apply(world, commit);
    sim_verdict_commit(world);
    if (sim_strikes(swarm, FAULT_CRASH_AFTER_EFFECT))
        return lose_process(handle, err);
    bool lost = sim_strikes(swarm, FAULT_STORE_AMBIGUOUS);
    check_not_repeated(world, commit, !lost);
    if (lost)
        return err_set(err, RC_RETRY, "the answer was lost");
    return RC_OK;
}

static enum rc read_position(struct store *base, struct store_position *position, struct err *err)
{
    struct sim_store_handle *handle = (struct sim_store_handle *)base;
    struct sim_world *world = handle->world;
    if (sim_strikes(&world->swarm, FAULT_POSITION_DOWN))
        world->db.position_down_until_us =
            world->now_us + sim_between(&world->swarm, 100000, 90000000);
    if (world->now_us < world->db.position_down_until_us && !world->swarm.healed)
        return err_set(err, RC_RETRY, "no connection");
    *position = world->db.position;
    return RC_OK;
}

static const struct store_ops sim_store_ops = {
    .name = "simulated", .write = write_commit, .position = read_position};

struct store_position sim_store_claim(struct sim_store_handle *handle, struct sim_life *life)
{
    struct sim_db *db = &life->world->db;
    db->position.epoch++;
    *handle = (struct sim_store_handle){.base = {.ops = &sim_store_ops},
                                        .world = life->world,
                                        .life = life,
                                        .epoch = db->position.epoch};
    return db->position;
}
