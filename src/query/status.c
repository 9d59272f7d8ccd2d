/* SPDX-License-Identifier: Apache-2.0 */
#include "query/status.h"

#include "base/json.h"
#include "base/timestamp.h"
#include "query/column_member.h"
#include "query/covered.h"

#include <assert.h>
#include <stdlib.h>

#define ROWS_MAX              "10000"
#define STREAMS_OF_SOURCE_MAX "100"
#define CURSOR_MAX            65536

/* Every source anybody wrote about. */
static const char sources_sql[] =
    "SELECT s.source, "
    "(SELECT count(*) FROM cursors c WHERE c.source = s.source), "
    "(SELECT count(*) FROM gaps g WHERE g.source = s.source AND g.closed_us IS NULL), "
    "(SELECT count(*) FROM owed o WHERE o.source = s.source AND o.state = 'owed'), "
    "(SELECT count(*) FROM owed o WHERE o.source = s.source AND o.state = 'dead'), "
    "(SELECT count(*) FROM quarantine q WHERE q.source = s.source) "
    "FROM (SELECT source FROM cursors UNION SELECT source FROM gaps UNION "
    "SELECT source FROM owed UNION SELECT source FROM quarantine) s "
    "ORDER BY s.source LIMIT " ROWS_MAX;

/* Of each the streams that moved last: those of people who are read are as many as they. */
static const char streams_sql[] =
    "SELECT c.source, c.stream, c.position, c.updated_us, c.state FROM (SELECT source, stream, "
    "position, updated_us, state, row_number() OVER (PARTITION BY source ORDER BY updated_us DESC, "
    "stream) AS place FROM cursors) c WHERE c.place <= " STREAMS_OF_SOURCE_MAX " "
    "ORDER BY c.source, c.stream LIMIT " ROWS_MAX;

static const char providers_sql[] = "SELECT source, name, state, reason, chosen FROM providers "
                                    "ORDER BY source, name LIMIT " ROWS_MAX;

static const char engine_sql[] =
    "SELECT e.commit_seq, e.epoch, (SELECT max(version) FROM schema_migrations), "
    "l.holder, l.address FROM engine e LEFT JOIN leases l ON l.name = 'writer' WHERE e.id = 1";

enum { AT_SOURCE, AT_STREAM, AT_POSITION, AT_UPDATED, AT_STATE, AT_COUNT };
enum { FIGURE_STREAMS, FIGURE_GAPS, FIGURE_OWED, FIGURE_DEAD, FIGURE_QUARANTINE, FIGURES };

/* What is known of a source before its streams are. */
struct figures {
    size_t name_at, name_len; /* in `names` */
    int64_t values[FIGURES];
};

struct status_call {
    struct json_writer writer;
    const struct status_live *live;
    struct json_doc *doc;
    struct covered *covered;
    struct text names;
    struct figures *sources; /* by their names */
    size_t source_count, source_room;
    size_t begun;                  /* so many of them are written, the last one */
    bool open;                     /* to its streams, ... */
    int64_t more;                  /* ... of which so many are not */
    bool told[STATUS_SOURCES_MAX]; /* which of the live ones were written */
};

static void put_words(struct json_writer *writer, const char *key, const char *words)
{
    json_member_cstring(writer, key, words == NULL || *words == '\0' ? NULL : words);
}

static void put_time(struct json_writer *writer, const char *key, bool known, int64_t us)
{
    char time[TIMESTAMP_TEXT_MAX];
    known = known && timestamp_format(us, time);
    json_member_cstring(writer, key, known ? time : NULL);
}

/* ---- what runs ---- */

static const struct status_source *find_live(struct status_call *call, struct bytes name)
{
    for (size_t i = 0; call->live != NULL && i < call->live->source_count; i++) {
        if (bytes_equal_string(name, call->live->sources[i].name)) {
            call->told[i] = true;
            return &call->live->sources[i];
        }
    }
    return NULL;
}

static void put_live(struct json_writer *writer, const struct status_source *live)
{
    put_words(writer, "state", live == NULL ? NULL : live->state);
    put_words(writer, "provider", live == NULL ? NULL : live->provider);
    put_words(writer, "trouble", live == NULL ? NULL : live->trouble);
    json_key(writer, "rate");
    if (live == NULL || live->rate < 0)
        json_put_null(writer);
    else
        json_put_real(writer, live->rate);
    json_key(writer, "lag_seconds");
    if (live == NULL || live->lag_us < 0)
        json_put_null(writer);
    else
        json_put_real(writer, (double)live->lag_us / 1e6);
    json_key(writer, "events");
    if (live == NULL)
        json_put_null(writer);
    else
        json_put_i64(writer, live->events);
    put_time(writer, "last_event_at", live != NULL && live->last_event_us > 0,
             live == NULL ? 0 : live->last_event_us);
}

static void put_daemon(struct json_writer *writer, const struct status_live *live)
{
    json_key(writer, "daemon");
    if (live == NULL) {
        json_put_null(writer);
        return;
    }
    json_begin_object(writer);
    json_member_i64(writer, "pid", live->pid);
    json_member_i64(writer, "uptime_seconds", live->uptime_us / 1000000);
    json_member_i64(writer, "queued", live->queued);
    json_member_bool(writer, "writing", live->writing);
    json_end_object(writer);
}

/* ---- what else is under way ---- */

struct named_number {
    const char *name;
    int64_t value;
};

static void put_numbers(struct json_writer *writer, const char *key,
                        const struct named_number *numbers, size_t count)
{
    json_key(writer, key);
    json_begin_object(writer);
    for (size_t i = 0; i < count; i++) {
        json_key(writer, numbers[i].name);
        if (numbers[i].value < 0)
            json_put_null(writer);
        else
            json_put_i64(writer, numbers[i].value);
    }
    json_end_object(writer);
}

static void put_latency(struct json_writer *writer, const struct status_progress *progress)
{
    const struct {
        const char *name;
        double value;
    } shares[] = {{"p50", progress->commit_p50},
                  {"p95", progress->commit_p95},
                  {"p99", progress->commit_p99}};
    json_key(writer, "commit_seconds");
    json_begin_object(writer);
    for (size_t i = 0; i < 3; i++) {
        json_key(writer, shares[i].name);
        if (shares[i].value > 0)
            json_put_real(writer, shares[i].value);
        else
            json_put_null(writer);
    }
    json_end_object(writer);
}

static void put_documents(struct json_writer *writer, const struct status_progress *progress)
{
    const struct named_number numbers[] = {
        {"head", progress->documents.head},       {"block", progress->documents.block},
        {"waiting", progress->documents.waiting}, {"fetching", progress->documents.fetching},
        {"stored", progress->documents.stored},   {"owed", progress->documents.owed},
    };
    if (progress->documents.followed)
        put_numbers(writer, "documents", numbers, sizeof numbers / sizeof numbers[0]);
    else
        put_words(writer, "documents", NULL);
}

static void put_progress(struct json_writer *writer, const struct status_live *live)
{
    if (live == NULL) {
        put_words(writer, "progress", NULL);
        return;
    }
    const struct status_progress *progress = &live->progress;
    const struct named_number backfill[] = {
        {"queued", progress->backfill.queued},         {"running", progress->backfill.running},
        {"completed", progress->backfill.completed},   {"failed", progress->backfill.failed},
        {"per_minute", progress->backfill.per_minute},
    };
    int64_t oldest_us = progress->imports.oldest_success_us;
    const struct named_number imports[] = {
        {"accounts", progress->imports.accounts},
        {"complete", progress->imports.complete},
        {"failing", progress->imports.failing},
        {"running", progress->imports.running},
        {"completed", progress->imports.completed},
        {"failed", progress->imports.failed},
        {"oldest_success_us", oldest_us == 0 ? -1 : oldest_us},
    };
    json_key(writer, "progress");
    json_begin_object(writer);
    put_latency(writer, progress);
    put_numbers(writer, "backfill", backfill, sizeof backfill / sizeof backfill[0]);
    put_numbers(writer, "imports", imports, sizeof imports / sizeof imports[0]);
    put_documents(writer, progress);
    json_member_i64(writer, "handles_open", progress->handles_open);
    json_end_object(writer);
}

/* ---- sources and their streams ---- */

static void end_source(struct status_call *call)
{
    if (!call->open)
        return;
    json_end_array(&call->writer);
    json_member_i64(&call->writer, "more_streams", call->more);
    json_end_object(&call->writer);
    call->open = false;
}

static void begin_source(struct status_call *call, struct bytes name, const int64_t *figures)
{
    static const char *const names[] = {[FIGURE_GAPS] = "gaps",
                                        [FIGURE_OWED] = "owed",
                                        [FIGURE_DEAD] = "dead",
                                        [FIGURE_QUARANTINE] = "quarantine"};
    struct json_writer *writer = &call->writer;
    end_source(call);
    call->open = true;
    call->more = figures[FIGURE_STREAMS];
    json_begin_object(writer);
    json_member_string(writer, "source", name);
    put_live(writer, find_live(call, name));
    for (size_t i = FIGURE_GAPS; i < FIGURES; i++)
        json_member_i64(writer, names[i], figures[i]);
    json_key(writer, "streams");
    json_begin_array(writer);
}

static struct bytes name_of(const struct status_call *call, const struct figures *figures)
{
    return bytes_make(call->names.data + figures->name_at, figures->name_len);
}

static bool take_source(void *arg, const struct field *columns, size_t count)
{
    struct status_call *call = arg;
    assert(count == 1 + FIGURES);
    if (call->source_count == call->source_room) {
        call->source_room = call->source_room == 0 ? 16 : call->source_room * 2;
        call->sources = memory_resize(call->sources, call->source_room * sizeof *call->sources);
    }
    struct figures *figures = &call->sources[call->source_count++];
    *figures = (struct figures){call->names.len, columns[0].b.len, {0}};
    text_append(&call->names, columns[0].b.data, columns[0].b.len);
    for (size_t i = 0; i < FIGURES; i++)
        figures->values[i] = columns[1 + i].i;
    return true;
}

/* Writes what is known of the sources up to this one, whose streams may follow; absent: all. */
static void begin_up_to(struct status_call *call, struct bytes name)
{
    for (; call->begun < call->source_count; call->begun++) {
        const struct figures *next = &call->sources[call->begun];
        if (name.data != NULL && bytes_compare(name_of(call, next), name) > 0)
            return;
        begin_source(call, name_of(call, next), next->values);
    }
}

/* A cursor that is no JSON is shown as a text: the object around it must stay whole. */
static void put_cursor(struct status_call *call, struct bytes state)
{
    struct json root;
    struct err err;
    json_key(&call->writer, "cursor");
    if (json_parse_copy(call->doc, state, &root, &err) == RC_OK)
        json_put_raw(&call->writer, state);
    else
        json_put_string(&call->writer, state);
}

static void put_stream(struct status_call *call, const struct field *columns)
{
    struct json_writer *writer = &call->writer;
    json_begin_object(writer);
    json_member_string(writer, "stream", columns[AT_STREAM].b);
    json_key(writer, "position");
    if (columns[AT_POSITION].null)
        json_put_null(writer);
    else
        json_put_i64(writer, columns[AT_POSITION].i);
    put_time(writer, "updated_at", true, columns[AT_UPDATED].i);
    put_cursor(call, columns[AT_STATE].b);
    struct covered_stream covered =
        covered_find(call->covered, columns[AT_SOURCE].b, columns[AT_STREAM].b);
    covered_put(writer, &covered);
    json_end_object(writer);
}

static bool take_stream(void *arg, const struct field *columns, size_t count)
{
    struct status_call *call = arg;
    assert(count == AT_COUNT);
    begin_up_to(call, columns[AT_SOURCE].b);
    /* One that came between the two queries is told of the next time. */
    if (call->begun == 0 || call->more == 0 ||
        !bytes_equal(name_of(call, &call->sources[call->begun - 1]), columns[AT_SOURCE].b))
        return true;
    put_stream(call, columns);
    call->more--;
    return true;
}

static enum rc put_sources(struct status_call *call, struct store *store, struct err *err)
{
    static const int64_t none[FIGURES];
    json_key(&call->writer, "sources");
    json_begin_array(&call->writer);
    enum rc rc = covered_read(store, NULL, &call->covered, err);
    if (rc == RC_OK)
        rc = store_query(store, sources_sql, NULL, 0, take_source, call, err);
    if (rc == RC_OK)
        rc = store_query(store, streams_sql, NULL, 0, take_stream, call, err);
    begin_up_to(call, BYTES_ABSENT);
    for (size_t i = 0; call->live != NULL && i < call->live->source_count; i++)
        if (!call->told[i])
            begin_source(call, bytes_of(call->live->sources[i].name), none);
    end_source(call);
    json_end_array(&call->writer);
    return rc;
}

/* ---- providers ---- */

/* Of its last answers; null: there was none. */
static void put_fare(struct json_writer *writer, const struct status_provider *provider)
{
    int64_t asked = provider->successes + provider->failures;
    int64_t per_mille = asked == 0 ? 0 : provider->failures * 1000 / asked;
    json_key(writer, "latency_ms");
    if (provider->latency_us < 0)
        json_put_null(writer);
    else
        json_put_i64(writer, provider->latency_us / 1000);
    json_key(writer, "error_percent");
    if (asked == 0)
        json_put_null(writer);
    else
        json_put_real(writer, (double)per_mille / 10);
}

static void put_live_provider(struct json_writer *writer, const char *source,
                              const struct status_provider *provider)
{
    json_begin_object(writer);
    put_words(writer, "source", source);
    put_words(writer, "name", provider->name);
    put_words(writer, "state", provider->state);
    json_member_bool(writer, "current", provider->current);
    json_member_i64(writer, "successes", provider->successes);
    json_member_i64(writer, "failures", provider->failures);
    put_fare(writer, provider);
    put_words(writer, "reason", provider->reason);
    put_words(writer, "chosen", provider->chosen);
    json_end_object(writer);
}

static void put_live_providers(struct status_call *call)
{
    const struct status_live *live = call->live;
    for (size_t i = 0; live != NULL && i < live->source_count; i++)
        for (size_t k = 0; k < live->sources[i].provider_count; k++)
            put_live_provider(&call->writer, live->sources[i].name, &live->sources[i].providers[k]);
    for (size_t i = 0; live != NULL && i < live->ledger_count; i++)
        put_live_provider(&call->writer, live->ledger[i].platform, &live->ledger[i].provider);
}

static bool is_live(const struct status_call *call, struct bytes source, struct bytes name)
{
    const struct status_live *live = call->live;
    for (size_t i = 0; live != NULL && i < live->source_count; i++)
        if (bytes_equal_string(source, live->sources[i].name))
            return true;
    for (size_t i = 0; live != NULL && i < live->ledger_count; i++)
        if (bytes_equal_string(source, live->ledger[i].platform) &&
            bytes_equal_string(name, live->ledger[i].provider.name))
            return true;
    return false;
}

static bool take_provider(void *arg, const struct field *columns, size_t count)
{
    static const char *const unknown[] = {"current", "successes", "failures", "latency_ms",
                                          "error_percent"};
    struct status_call *call = arg;
    struct json_writer *writer = &call->writer;
    assert(count == 5);
    if (is_live(call, columns[0].b, columns[1].b)) /* who runs it knows better */
        return true;
    json_begin_object(writer);
    column_member_text(writer, "source", &columns[0]);
    column_member_text(writer, "name", &columns[1]);
    column_member_text(writer, "state", &columns[2]);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        put_words(writer, unknown[i], NULL);
    column_member_text(writer, "reason", &columns[3]);
    column_member_text(writer, "chosen", &columns[4]);
    json_end_object(writer);
    return true;
}

static enum rc put_providers(struct status_call *call, struct store *store, struct err *err)
{
    json_key(&call->writer, "providers");
    json_begin_array(&call->writer);
    put_live_providers(call);
    enum rc rc = store_query(store, providers_sql, NULL, 0, take_provider, call, err);
    json_end_array(&call->writer);
    return rc;
}

/* ---- the whole ---- */

static bool take_engine(void *arg, const struct field *columns, size_t count)
{
    struct json_writer *writer = arg;
    assert(count == 5);
    json_member_i64(writer, "schema", columns[2].i);
    json_member_i64(writer, "epoch", columns[1].i);
    column_member_text(writer, "last_writer", &columns[3]);
    column_member_text(writer, "address", &columns[4]);
    json_end_object(writer);
    json_member_i64(writer, "commit_seq", columns[0].i);
    return true;
}

enum rc status_print(struct store *store, const struct status_live *live, struct text *out,
                     struct err *err)
{
    struct status_call call = {.live = live, .doc = json_doc_new(CURSOR_MAX, JSON_DEPTH_MAX)};
    struct json_writer *writer = &call.writer;
    size_t before = out->len;
    int64_t bytes = 0;
    json_writer_init(writer, out);
    json_begin_object(writer);
    json_member_bool(writer, "success", true);
    put_words(writer, "version", TIDEMARK_VERSION);
    put_daemon(writer, live);
    put_progress(writer, live);
    json_key(writer, "store");
    json_begin_object(writer);
    put_words(writer, "kind", store->ops->name);
    enum rc rc = store_query_int(store, store->ops->size_sql, 0, &bytes, err);
    json_member_i64(writer, "bytes", bytes);
    if (rc == RC_OK)
        rc = store_query(store, engine_sql, NULL, 0, take_engine, writer, err);
    if (rc == RC_OK && writer->depth != 1)
        rc = err_set(err, RC_FATAL, "the store's engine row is missing");
    if (rc == RC_OK)
        rc = put_sources(&call, store, err);
    if (rc == RC_OK)
        rc = put_providers(&call, store, err);
    if (rc == RC_OK) {
        json_end_object(writer);
        text_append_char(out, '\n');
    } else {
        out->len = before;
        if (out->data != NULL)
            out->data[before] = '\0';
    }
    covered_free(call.covered);
    text_free(&call.names);
    free(call.sources);
    json_doc_free(call.doc);
    return rc;
}
