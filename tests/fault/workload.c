/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES  (256u << 10)
#define FILLER_BYTES 700

static const char *const dump_sql[] = {
    "SELECT 'engine', commit_seq, next_n FROM engine",
    "SELECT 'step', version, name, checksum FROM schema_migrations ORDER BY version",
    "SELECT 'cursor', source, stream, state, position, updated_us, seq FROM cursors "
    "ORDER BY source, stream",
    "SELECT 'seen', cursor_time_us FROM jetstream_state",
    "SELECT 'coverage', source, stream, lo, hi FROM coverage ORDER BY source, stream, lo",
    "SELECT 'gap', id, source, stream, from_us, to_us, reason, detected_us, closed_us, seq "
    "FROM gaps ORDER BY id",
    "SELECT 'owed', id, source, stream, item, unit, state, reason, attempts, next_us, since_us, "
    "refused_by, seq FROM owed ORDER BY id",
    /* The store's own rows name the file and the time. */
    "SELECT 'quarantine', id, source, provider, digest, raw, size, "
    "CASE WHEN source = 'store' THEN '' ELSE reason END, "
    "CASE WHEN source = 'store' THEN 0 ELSE at_us END, times, seq "
    "FROM quarantine ORDER BY id",
    "SELECT 'provider', source, name, state, reason, chosen, updated_us FROM providers "
    "ORDER BY source, name",
    "SELECT 'tombstone', collection, key, rev, n, seq, at_us FROM tombstones "
    "ORDER BY collection, key",
    "SELECT 'actor', id, did, active, status, status_us, handle, handle_us FROM actors ORDER BY id",
    "SELECT 'post', n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, body, "
    "subject, langs, tags, facets FROM post ORDER BY n",
};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "workload: %s: %s\n", what, why);
    abort();
}

void workload_batch_init(struct batch *batch)
{
    *batch = (struct batch){0};
    arena_init(&batch->arena, BATCH_BYTES);
}

void workload_batch_deinit(struct batch *batch)
{
    arena_deinit(&batch->arena);
}

static struct record *add(struct batch *batch, enum record_id id)
{
    struct record *record = batch_add(batch, id);
    if (record == NULL)
        stop("batch", "full");
    return record;
}

static void set(struct batch *batch, struct record *record, unsigned field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void set(struct batch *batch, struct record *record, unsigned field, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&text, format, args);
    va_end(args);
    if (!batch_set_text(batch, record, field, text_bytes(&text)))
        stop("batch", "full");
    text_free(&text);
}

static void add_post(struct batch *batch, int64_t k, const char *rkey, int op, int kind)
{
    char filler[FILLER_BYTES];
    memset(filler, 'a' + (int)(k % 26), sizeof filler);
    struct record *record = add(batch, RECORD_POST);
    set(batch, record, POST_DID, "did:plc:%" PRId64, k % 3);
    set(batch, record, POST_COLLECTION, "app.bsky.feed.post");
    set(batch, record, POST_RKEY, "%s", rkey);
    set(batch, record, POST_REV, "r%06" PRId64, k);
    batch_set_int(record, POST_OP, op);
    batch_set_int(record, POST_KIND, kind);
    batch_set_int(record, POST_SHARED_US, 1000 + k);
    if (op != POST_OP_PUT)
        return;
    set(batch, record, POST_TEXT, "%" PRId64 " %.*s", k, (int)sizeof filler, filler);
    set(batch, record, POST_LANGS, "en,x%" PRId64, k % 7);
    set(batch, record, POST_FACETS, "[%" PRId64 "]", k);
}

/* Three posts stay, one is edited by every third commit, one lives for three commits only. */
static void add_posts(struct batch *batch, int64_t k)
{
    char rkey[64];
    for (int i = 0; i < 3; i++) {
        snprintf(rkey, sizeof rkey, "tag-%" PRId64 "-%d", k, i);
        add_post(batch, k, rkey, POST_OP_PUT, i % 2);
    }
    add_post(batch, k, "edited", POST_OP_PUT, POST_KIND_POST);
    snprintf(rkey, sizeof rkey, "short-%" PRId64, k);
    add_post(batch, k, rkey, POST_OP_PUT, POST_KIND_POST);
    if (k > 3) {
        snprintf(rkey, sizeof rkey, "short-%" PRId64, k - 3);
        add_post(batch, k, rkey, POST_OP_DELETE, POST_KIND_POST);
    }
    if (k == WORKLOAD_REFUSED_AT) {
        add_post(batch, k, "refused-1", POST_OP_PUT, 7);
        add_post(batch, k, "refused-2", POST_OP_PUT, 8);
    }
}

static void add_ledger(struct batch *batch, int64_t k)
{
    struct record *record = add(batch, RECORD_QUARANTINE);
    set(batch, record, QUARANTINE_SOURCE, "jetstream");
    set(batch, record, QUARANTINE_DIGEST, "%016" PRId64, k / 2);
    set(batch, record, QUARANTINE_RAW, "{\"broken\": %" PRId64, k);
    set(batch, record, QUARANTINE_REASON, "no end");
    batch_set_int(record, QUARANTINE_SIZE, 12);
    batch_set_int(record, QUARANTINE_AT_US, k);

    for (int64_t item = k; item == k || (item == k - 2 && item > 0); item -= 2) {
        record = add(batch, RECORD_OWED);
        set(batch, record, OWED_SOURCE, "content");
        set(batch, record, OWED_STREAM, "ipfs");
        set(batch, record, OWED_ITEM, "item-%" PRId64, item);
        set(batch, record, OWED_STATE, "%s", item == k ? "owed" : item % 4 == 0 ? "dead" : "done");
        batch_set_int(record, OWED_ATTEMPTS, k - item);
        batch_set_int(record, OWED_AT_US, k);
    }

    /* Even commits leave a hole below, which the next odd one fills. */
    int64_t at = k % 2 == 0 ? k + 1 : k - 1;
    record = add(batch, RECORD_COVERAGE);
    set(batch, record, COVERAGE_SOURCE, "ledger");
    set(batch, record, COVERAGE_STREAM, "normal");
    batch_set_int(record, COVERAGE_LO, at * 10);
    batch_set_int(record, COVERAGE_HI, at * 10 + 10);

    record = add(batch, RECORD_GAP);
    set(batch, record, GAP_SOURCE, "jetstream");
    set(batch, record, GAP_STREAM, "live");
    set(batch, record, GAP_REASON, "commit %" PRId64, k);
    batch_set_int(record, GAP_FROM_US, k / 2);
    batch_set_int(record, GAP_TO_US, k / 2 + 1);
    batch_set_int(record, GAP_DETECTED_US, k);
}

static void add_people(struct batch *batch, int64_t k)
{
    struct record *record = add(batch, RECORD_ACCOUNT);
    set(batch, record, ACCOUNT_DID, "did:plc:%" PRId64, k % 5);
    set(batch, record, ACCOUNT_STATUS, "status-%" PRId64, k);
    batch_set_int(record, ACCOUNT_ACTIVE, k % 2);
    batch_set_int(record, ACCOUNT_AT_US, k);

    record = add(batch, RECORD_IDENTITY);
    set(batch, record, IDENTITY_DID, "did:plc:%" PRId64, k % 4);
    set(batch, record, IDENTITY_HANDLE, "h%" PRId64 ".example", k);
    batch_set_int(record, IDENTITY_AT_US, k);

    record = add(batch, RECORD_PROVIDER);
    set(batch, record, PROVIDER_SOURCE, "jetstream");
    set(batch, record, PROVIDER_NAME, "host-%" PRId64, k % 2);
    set(batch, record, PROVIDER_STATE, "closed");
    batch_set_int(record, PROVIDER_AT_US, k);
}

static void add_cursor(struct batch *batch, const char *source, const char *stream, int64_t k)
{
    struct record *record = add(batch, RECORD_CURSOR);
    set(batch, record, CURSOR_ROW_SOURCE, "%s", source);
    set(batch, record, CURSOR_ROW_STREAM, "%s", stream);
    set(batch, record, CURSOR_ROW_STATE, "{\"at\":%" PRId64 "}", k);
    batch_set_int(record, CURSOR_ROW_POSITION, k);
    batch_set_int(record, CURSOR_ROW_AT_US, k);
}

void workload_fill(struct batch *batch, int64_t k)
{
    struct arena arena = batch->arena;
    arena_reset(&arena);
    *batch = (struct batch){.arena = arena};
    add_posts(batch, k);
    add_ledger(batch, k);
    add_people(batch, k);
    add_cursor(batch, "jetstream", "live", k);
    add_cursor(batch, "ledger", "normal", k);
}

enum rc workload_write(struct store *store, struct store_position *position, int64_t last,
                       struct err *err)
{
    enum rc rc = RC_OK;
    struct commit *commit = commit_new();
    struct batch batch;
    workload_batch_init(&batch);
    while (rc == RC_OK && position->commit_seq < last) {
        int64_t k = position->commit_seq + 1;
        workload_fill(&batch, k);
        if (!commit_add(commit, &batch))
            stop("commit", "no room for one batch");
        rc = commit_write(commit, store, position, k, err);
        commit_take_batches(commit);
    }
    workload_batch_deinit(&batch);
    commit_free(commit);
    return rc;
}

static bool append_row(void *arg, const struct field *columns, size_t count)
{
    struct text *out = arg;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text_append_char(out, '|');
        if (columns[i].null)
            text_append_string(out, "NULL");
        else if (columns[i].type == FIELD_INT)
            text_appendf(out, "%" PRId64, columns[i].i);
        else
            text_append(out, columns[i].b.data, columns[i].b.len);
    }
    text_append_char(out, '\n');
    return true;
}

enum rc workload_dump(struct store *store, struct text *out, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < sizeof dump_sql / sizeof dump_sql[0] && rc == RC_OK; i++)
        rc = store_query(store, dump_sql[i], NULL, 0, append_row, out, err);
    return rc;
}

enum rc workload_digest(struct store *store, char out[DIGEST_HEX_SIZE], struct err *err)
{
    struct text text = {0};
    uint8_t digest[DIGEST_SIZE];
    enum rc rc = workload_dump(store, &text, err);
    digest_sha256(text_bytes(&text), digest);
    digest_hex(digest, out);
    text_free(&text);
    return rc;
}

/* What the text must say, written down apart from the code under test. */
static void demand(struct store *store, const char *sql, int64_t expected)
{
    struct err err;
    int64_t value;
    if (store_query_int(store, sql, -1, &value, &err) != RC_OK)
        stop(sql, err.text);
    if (value != expected) {
        fprintf(stderr, "workload: %s: %" PRId64 ", must be %" PRId64 "\n", sql, value, expected);
        abort();
    }
}

static void demand_all(struct store *store, int64_t k)
{
    demand(store, "SELECT commit_seq FROM engine", k);
    demand(store, "SELECT count(*) FROM post WHERE rkey LIKE 'tag-%'", 3 * k);
    demand(store, "SELECT count(*) FROM post WHERE rkey LIKE 'short-%'", k < 3 ? k : 3);
    demand(store,
           "SELECT count(*) FROM post WHERE rkey LIKE 'tag-%' AND rkey NOT LIKE 'tag-' || "
           "cast(seq AS TEXT) || '-%'",
           0);
    demand(store, "SELECT count(*) FROM post WHERE rkey = 'edited'", k < 3 ? k : 3);
    demand(store, "SELECT max(seq) FROM post WHERE rkey = 'edited'", k > 0 ? k : -1);
    demand(store, "SELECT count(*) FROM tombstones WHERE collection = 'posts'", k > 3 ? k - 3 : 0);
    demand(store, "SELECT count(*) FROM cursors WHERE position = seq", k > 0 ? 2 : 0);
    demand(store, "SELECT min(position) FROM cursors", k > 0 ? k : -1);
    demand(store, "SELECT max(position) FROM cursors", k > 0 ? k : -1);
    demand(store, "SELECT count(*) FROM quarantine WHERE source = 'store'",
           k >= WORKLOAD_REFUSED_AT ? 2 : 0);
    demand(store, "SELECT cast(sum(hi - lo) AS BIGINT) FROM coverage", k > 0 ? 10 * k : -1);
    demand(store, "SELECT count(*) FROM coverage", k < 3 ? k : k % 2 == 0 ? 3 : 2);
}

void workload_learn(struct workload *workload, const char *url, int64_t commits)
{
    struct err err;
    struct store *store = NULL;
    struct store_position position;
    unsigned applied;
    workload->commits = commits;
    if (commits > WORKLOAD_COMMITS_MAX)
        stop("commits", "too many");
    if (store_open(url, STORE_WRITE, &store, &err) != RC_OK ||
        store_migrate(store, &applied, &err) != RC_OK ||
        store_claim(store, "learn", NULL, 1, &position, &err) != RC_OK)
        stop(url, err.text);
    for (int64_t k = 0; k <= commits; k++) {
        if (workload_write(store, &position, k, &err) != RC_OK ||
            workload_digest(store, workload->expected[k], &err) != RC_OK)
            stop(url, err.text);
        demand_all(store, k);
        if (k > 0 && strcmp(workload->expected[k], workload->expected[k - 1]) == 0)
            stop("learn", "a commit changed nothing");
    }
    store_close(store);
}

int64_t workload_check(const struct workload *workload, const char *url)
{
    struct err err;
    struct store *store = NULL;
    int64_t seq = -1;
    char digest[DIGEST_HEX_SIZE];
    if (store_open(url, STORE_READ, &store, &err) != RC_OK ||
        store_query_int(store, "SELECT commit_seq FROM engine", -1, &seq, &err) != RC_OK ||
        workload_digest(store, digest, &err) != RC_OK) {
        fprintf(stderr, "check: %s\n", err.text);
        seq = -1;
    } else if (seq < 0 || seq > workload->commits || strcmp(digest, workload->expected[seq]) != 0) {
        struct text text = {0};
        if (workload_dump(store, &text, &err) == RC_OK)
            fprintf(stderr, "check: not what %" PRId64 " commits leave:\n%s", seq,
                    text_string(&text));
        text_free(&text);
        seq = -1;
    }
    store_close(store);
    return seq;
}

bool workload_finish(const struct workload *workload, const char *url)
{
    struct err err;
    struct store *store = NULL;
    struct store_position position;
    bool done = store_open(url, STORE_WRITE, &store, &err) == RC_OK &&
                store_claim(store, "finish", NULL, 1, &position, &err) == RC_OK &&
                workload_write(store, &position, workload->commits, &err) == RC_OK;
    if (!done)
        fprintf(stderr, "finish: %s\n", err.text);
    store_close(store);
    return done;
}
