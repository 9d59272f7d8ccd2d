/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include "source/ledger_known.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_COLUMNS 4

static const char *const provider_names[SIM_LEDGER_PROVIDERS] = {"alpha", "beta"};

unsigned sim_ledger_stream(struct bytes name)
{
    return bytes_equal_string(name, "moves")  ? 0
           : bytes_equal_string(name, "fees") ? 1
                                              : SIM_LEDGER_STREAMS;
}

static unsigned stream_of(const struct sim_world *world, const struct field *field)
{
    unsigned stream = field->null ? SIM_LEDGER_STREAMS : sim_ledger_stream(field->b);
    if (stream == SIM_LEDGER_STREAMS)
        sim_fail(world, "a stream of an account that nobody has");
    return stream;
}

/* ---- cursors ---- */

static const char *find_words(const char *in, const char *words)
{
    const char *at = in == NULL ? NULL : strstr(in, words);
    return at == NULL ? NULL : at + strlen(words);
}

void sim_ledger_read_place(struct bytes state, struct sim_place *place)
{
    struct text words = {0};
    text_append(&words, state.data, state.len);
    const char *all = text_string(&words);
    const char *high = find_words(all, "\"highWater\":{\"type\":\"blockNumber\",\"value\":");
    const char *total = find_words(all, "\"totalFetched\":");
    const char *name = find_words(find_words(all, "\"metadata\":{"), "\"providerName\":\"");
    *place = (struct sim_place){.high_water = high == NULL ? -1 : strtoll(high, NULL, 10),
                                .total = total == NULL ? -1 : strtoll(total, NULL, 10),
                                .provider = -1,
                                .complete = strstr(all, "\"isComplete\":true") != NULL,
                                .sweeping = strstr(all, "\"backfill\":{") != NULL};
    for (int i = 0; i < SIM_LEDGER_PROVIDERS && name != NULL; i++)
        if (strncmp(name, provider_names[i], strlen(provider_names[i])) == 0)
            place->provider = i;
    text_free(&words);
}

static void apply_cursor(struct sim_world *world, const struct record *record)
{
    unsigned number = stream_of(world, &record->fields[CURSOR_ROW_STREAM]);
    struct sim_ledger_stream *stream = &world->ledger->streams[number];
    struct bytes state = record->fields[CURSOR_ROW_STATE].b;
    struct sim_place place;
    sim_ledger_read_place(state, &place);
    sim_trace(world, "cursor %u %" PRId64 " %" PRId64 " %d", number, place.high_water, place.total,
              place.complete);
    if (place.provider < 0)
        sim_fail(world, "the cursor of stream %u does not say whose it is", number);
    if (place.high_water < stream->place.high_water || place.total < stream->place.total)
        sim_fail(world,
                 "I9: stream %u was at %" PRId64 " with %" PRId64 " rows, now at %" PRId64
                 " with %" PRId64,
                 number, stream->place.high_water, stream->place.total, place.high_water,
                 place.total);
    stream->place = place;
    text_clear(&stream->cursor);
    text_append(&stream->cursor, state.data, state.len);
}

/* ---- sessions ---- */

static void close_older(struct sim_ledger *ledger, int64_t started_us)
{
    for (size_t i = 0; i < ledger->session_count; i++)
        if (strcmp(ledger->sessions[i].status, "started") == 0 &&
            ledger->sessions[i].started_us < started_us) {
            snprintf(ledger->sessions[i].status, sizeof ledger->sessions[i].status, "cut off");
            sim_saw(SIGHT_IMPORT_CUT_OFF);
        }
}

static struct sim_session *session_of(struct sim_world *world, int64_t started_us)
{
    struct sim_ledger *ledger = world->ledger;
    for (size_t i = ledger->session_count; i > 0; i--)
        if (ledger->sessions[i - 1].started_us == started_us)
            return &ledger->sessions[i - 1];
    ledger->sessions =
        memory_resize(ledger->sessions, (ledger->session_count + 1) * sizeof *ledger->sessions);
    struct sim_session *session = &ledger->sessions[ledger->session_count++];
    *session = (struct sim_session){.started_us = started_us, .began_us = world->now_us};
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++)
        for (int p = 0; p < SIM_LEDGER_PROVIDERS; p++)
            text_clear(&ledger->streams[i].page[p]);
    return session;
}

static void apply_session(struct sim_world *world, const struct record *record)
{
    const struct field *fields = record->fields;
    struct bytes status = fields[SESSION_STATUS].b;
    struct sim_session *session = session_of(world, fields[SESSION_STARTED_US].i);
    close_older(world->ledger, session->started_us);
    if (!fields[SESSION_STREAM].null) {
        unsigned stream = stream_of(world, &fields[SESSION_STREAM]);
        bool complete = fields[SESSION_COMPLETE].i != 0;
        if (session->complete[stream] && !complete)
            sim_fail(world, "I9: stream %u was complete, and is not any more", stream);
        session->complete[stream] = complete;
        world->ledger->streams[stream].told_complete = complete;
    }
    snprintf(session->status, sizeof session->status, "%.*s", (int)status.len, status.data);
    sim_trace(world, "session %s", session->status);
}

/* ---- rows ---- */

static struct sim_stored_row *find_row(struct sim_ledger *ledger, const void *id, size_t *at)
{
    size_t lo = 0, hi = ledger->row_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (memcmp(ledger->rows[middle].id, id, EVENT_ID_SIZE) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    *at = lo;
    bool found = lo < ledger->row_count && memcmp(ledger->rows[lo].id, id, EVENT_ID_SIZE) == 0;
    return found ? &ledger->rows[lo] : NULL;
}

static void add_row(struct sim_ledger *ledger, const struct sim_stored_row *row, size_t at)
{
    ledger->rows = memory_resize(ledger->rows, (ledger->row_count + 1) * sizeof *ledger->rows);
    memmove(ledger->rows + at + 1, ledger->rows + at,
            (ledger->row_count - at) * sizeof *ledger->rows);
    ledger->rows[at] = *row;
    ledger->row_count++;
}

bool sim_ledger_has(const struct sim_world *world, struct bytes event_id)
{
    size_t at;
    return find_row(world->ledger, event_id.data, &at) != NULL;
}

/* The row it claims to be must be one of the chain's, as it stands there. */
static struct sim_stored_row read_row(struct sim_world *world, const struct field *fields)
{
    struct bytes hash = fields[TRANSACTION_HASH].b;
    struct sim_stored_row row = {.stream = stream_of(world, &fields[TRANSACTION_STREAM])};
    char prefix[2] = {(char)('a' + row.stream), '\0'};
    const struct sim_ledger_stream *stream = &world->ledger->streams[row.stream];
    if (!sim_number_after(hash, prefix, &row.number) ||
        row.number >= sim_ledger_visible(world, row.stream, world->now_us, 0))
        sim_fail(world, "a row nobody showed is stored: %.*s", (int)hash.len, hash.data);
    row.block = fields[TRANSACTION_BLOCK].null ? -1 : fields[TRANSACTION_BLOCK].i;
    if (row.block != stream->blocks[row.number])
        sim_fail(world, "row %.*s is stored in block %" PRId64 " and was in %" PRId64,
                 (int)hash.len, hash.data, row.block, stream->blocks[row.number]);
    return row;
}

static void apply_row(struct sim_world *world, const struct record *record, int64_t seq)
{
    struct sim_ledger *ledger = world->ledger;
    const struct field *fields = record->fields;
    size_t at;
    if (!ledger->known)
        sim_fail(world, "a row of an account that has none itself");
    if (bytes_equal_string(fields[TRANSACTION_STATUS].b, "orphaned"))
        sim_fail(world, "I9: a row is given up because one provider did not show it");
    struct sim_stored_row row = read_row(world, fields);
    if (find_row(ledger, fields[TRANSACTION_EVENT_ID].b.data, &at) != NULL) {
        sim_saw(SIGHT_ROW_REPEATED);
        return;
    }
    if (ledger->streams[row.stream].stored[row.number])
        sim_fail(world, "I3: row %zu of stream %u is stored under a second id", row.number,
                 row.stream);
    memcpy(row.id, fields[TRANSACTION_EVENT_ID].b.data, EVENT_ID_SIZE);
    row.seq = seq;
    ledger->streams[row.stream].stored[row.number] = true;
    add_row(ledger, &row, at);
}

static void check_coverage(struct sim_world *world, const struct record *record)
{
    unsigned number = stream_of(world, &record->fields[COVERAGE_STREAM]);
    const struct sim_ledger_stream *stream = &world->ledger->streams[number];
    for (size_t i = 0; i < stream->count; i++)
        if (stream->blocks[i] >= record->fields[COVERAGE_LO].i &&
            stream->blocks[i] < record->fields[COVERAGE_HI].i && !stream->stored[i])
            sim_fail(world, "I2: row %zu of stream %u is called covered and is not stored", i,
                     number);
}

bool sim_ledger_apply(struct sim_world *world, const struct record *record, int64_t seq)
{
    if (world->ledger == NULL)
        return false;
    switch ((enum record_id)record->kind) {
    case RECORD_LEDGER_ACCOUNT:
        world->ledger->known = true;
        return true;
    case RECORD_SESSION:
        apply_session(world, record);
        return true;
    case RECORD_TRANSACTION:
        apply_row(world, record, seq);
        return true;
    case RECORD_COVERAGE:
        check_coverage(world, record);
        return true;
    case RECORD_PROVIDER:
        return true;
    case RECORD_CURSOR:
        if (!bytes_equal_string(record->fields[CURSOR_ROW_SOURCE].b, SIM_LEDGER_ACCOUNT))
            return false;
        apply_cursor(world, record);
        return true;
    default:
        return false;
    }
}

/* ---- questions ---- */

static struct field *fields_for(size_t rows)
{
    static struct field *fields;
    static size_t room;
    if (rows * KNOWN_COLUMNS > room) {
        room = rows * KNOWN_COLUMNS;
        fields = memory_resize(fields, room * sizeof *fields);
    }
    return fields;
}

static void look_up_rows(struct sim_ledger *ledger, unsigned stream, int64_t from,
                         struct lookup_answer *answer)
{
    struct field *fields = fields_for(ledger->row_count + 1);
    answer->columns = KNOWN_COLUMNS;
    answer->fields = fields;
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct sim_stored_row *row = &ledger->rows[i];
        if (row->stream != stream || row->block < from)
            continue;
        struct field *at = &fields[KNOWN_COLUMNS * answer->rows++];
        at[0] = field_blob(bytes_make(row->id, EVENT_ID_SIZE));
        at[1] = at[2] = field_int(row->block);
        at[3] = field_text(bytes_of("confirmed"));
    }
}

static void count_rows(const struct sim_ledger *ledger, unsigned stream,
                       struct lookup_answer *answer)
{
    struct field *fields = fields_for(1);
    int64_t count = 0;
    for (size_t i = 0; i < ledger->streams[stream].count; i++)
        count += ledger->streams[stream].stored[i];
    fields[0] = field_int(count);
    answer->fields = fields;
    answer->columns = answer->rows = 1;
}

bool sim_ledger_look_up(struct sim_world *world, const char *sql, const struct field *params,
                        struct lookup_answer *answer)
{
    struct sim_ledger *ledger = world->ledger;
    bool state = strncmp(sql, "SELECT state FROM cursors WHERE source = ?1", 43) == 0;
    bool known = sql == ledger_known_by_block_sql, count = sql == ledger_known_count_sql;
    if (ledger == NULL || (!state && !known && !count))
        return false;
    unsigned stream = stream_of(world, &params[1]);
    if (known)
        look_up_rows(ledger, stream, params[2].i, answer);
    if (count)
        count_rows(ledger, stream, answer);
    if (state && ledger->streams[stream].cursor.len > 0) {
        struct field *fields = fields_for(1);
        fields[0] = field_text(text_bytes(&ledger->streams[stream].cursor));
        answer->fields = fields;
        answer->columns = answer->rows = 1;
    }
    return true;
}
