/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_page.h"

#include "base/json_write.h"
#include "decode/connector_condition.h"
#include "decode/connector_total.h"
#include "decode/connector_words.h"

#include <assert.h>
#include <string.h>

#define SCRATCH_BYTES ((size_t)32768)

void connector_page_init(struct connector_page *page)
{
    *page = (struct connector_page){0};
    arena_init(&page->scratch, SCRATCH_BYTES);
}

void connector_page_deinit(struct connector_page *page)
{
    text_free(&page->raw);
    text_free(&page->identity);
    arena_deinit(&page->scratch);
}

/* ---- records ---- */

static void begin(struct connector_page *page, const struct connector *connector,
                  const struct connector_stream *stream, const struct connector_vars *vars)
{
    page->connector = connector;
    page->stream = stream;
    page->vars = vars;
    page->platform = connector_platform(connector, vars->platform);
    page->records = page->parts = (struct json_walk){0};
    page->record = page->last = (struct json){0};
    page->key = BYTES_ABSENT;
    page->within = false;
    page->record_count = page->row_count = page->refused = page->passed = 0;
}

enum rc connector_page_open(struct connector_page *page, const struct connector *connector,
                            const struct connector_stream *stream,
                            const struct connector_vars *vars, struct json root, struct err *err)
{
    begin(page, connector, stream, vars);
    struct json list = json_pointer(root, stream->records.at);
    enum json_type type = json_type(list);
    bool none = type == JSON_ABSENT || type == JSON_NULL;
    enum json_type expected = stream->records.shape == SHAPE_ARRAY ? JSON_ARRAY : JSON_OBJECT;
    /* Some languages write an empty map as an empty list. */
    bool fits = type == expected || (type == JSON_ARRAY && json_count(list) == 0);
    if (!fits && !(none && stream->records.absent == ABSENT_EMPTY))
        return err_set(err, RC_REJECT, "the answer has no %s of records at \"%s\"",
                       expected == JSON_ARRAY ? "list" : "map", stream->records.at);
    page->records = json_walk(list);
    return RC_OK;
}

enum rc connector_page_open_list(struct connector_page *page, const struct connector *connector,
                                 const struct connector_stream *stream,
                                 const struct connector_vars *vars, struct json root,
                                 struct err *err)
{
    begin(page, connector, stream, vars);
    if (json_type(root) != JSON_ARRAY)
        return err_set(err, RC_REJECT, "the records are no list");
    page->records = json_walk(root);
    return RC_OK;
}

static void print_raw(struct connector_page *page, struct json record)
{
    struct json_writer writer;
    bool entry = page->stream->records.key_as != NULL && page->key.data != NULL;
    text_clear(&page->raw);
    if (!entry || page->within || json_type(record) != JSON_OBJECT) {
        json_print(record, &page->raw);
        return;
    }
    text_clear(&page->identity);
    json_print(record, &page->identity);
    json_writer_init(&writer, &page->raw);
    json_begin_object(&writer);
    json_key(&writer, page->stream->records.key_as);
    json_put_string(&writer, page->key);
    struct bytes members = bytes_make(page->identity.data + 1, page->identity.len - 2);
    if (members.len > 0)
        json_put_raw_members(&writer, members);
    json_end_object(&writer);
}

/* ---- fields ---- */

struct reading {
    struct connector_page *page;
    struct connector_ground ground;
    struct connector_scope scope;
    struct ledger_row *row;
    struct err *err;
};

static struct connector_scalar find_field(struct reading *reading,
                                          const struct connector_field *field)
{
    struct connector_scalar found = {0};
    for (unsigned i = 0; found.kind == SCALAR_ABSENT && i < field->pointer_count; i++)
        found = connector_find(&reading->ground, field->pointers[i], field->parent[i],
                               &reading->page->scratch);
    if (found.kind != SCALAR_ABSENT || field->fixed.count == 0)
        return found;
    struct text *text = &reading->page->identity;
    text_clear(text);
    if (!connector_expand(&reading->scope, &field->fixed, false, text))
        return found;
    return connector_scalar_text(arena_copy(&reading->page->scratch, text_bytes(text)));
}

static const char *place_of_sum(const struct connector_sum *sum)
{
    return sum->each != NULL ? sum->each : sum->at;
}

static enum rc refuse_field(struct reading *reading, enum ledger_field name, const char *wrong)
{
    const struct connector_field *field = &reading->page->stream->map[name];
    const char *place = field->pointer_count > 0    ? field->pointers[0]
                        : field->sum_count > 0      ? place_of_sum(&field->sums[0])
                        : field->factors[0] != NULL ? field->factors[0]
                                                    : "const";
    return err_set(reading->err, RC_REJECT, "%s (%s%s) %s", connector_field_names[name],
                   field->pointer_count > 0 && field->parent[0] ? "^" : "", place, wrong);
}

static enum rc read_total(struct reading *reading, enum ledger_field name, bool needed,
                          struct bytes *out)
{
    enum rc rc =
        connector_total(&reading->page->stream->map[name], &reading->ground, &reading->scope,
                        &reading->page->scratch, &reading->page->identity, out);
    if (rc == RC_REJECT)
        return refuse_field(reading, name, "has a part that is no number");
    return rc == RC_AGAIN && needed ? refuse_field(reading, name, "is missing") : RC_OK;
}

static enum rc read_text(struct reading *reading, enum ledger_field name, struct bytes *out)
{
    const struct connector_field *field = &reading->page->stream->map[name];
    bool needed = (reading->page->stream->identity & UINT32_C(1) << name) != 0 &&
                  name != FIELD_FROM && name != FIELD_TO && name != FIELD_TOKEN_ID;
    *out = BYTES_ABSENT;
    if (!field->mapped)
        return RC_OK;
    if (field->sum_count > 0 || field->factors[0] != NULL)
        return read_total(reading, name, needed, out);
    struct connector_scalar found = find_field(reading, field);
    if (found.kind == SCALAR_ABSENT)
        return needed ? refuse_field(reading, name, "is missing") : RC_OK;
    if (connector_cast_text(&found, field->cast, connector_scale(field, &reading->scope),
                            &reading->page->scratch, out))
        return RC_OK;
    if (found.kind == SCALAR_REAL && (field->cast == CAST_DEC || field->cast == CAST_HEX))
        return refuse_field(reading, name, "is a JSON number with more digits than are exact");
    return refuse_field(reading, name, "is not what its cast expects");
}

/* Nothing there, or a negative number: it stands in no block yet. */
static enum rc read_block(struct reading *reading)
{
    const struct connector_field *field = &reading->page->stream->map[FIELD_BLOCK];
    struct connector_scalar found = find_field(reading, field);
    reading->row->block = -1;
    if (found.kind == SCALAR_ABSENT)
        return RC_OK;
    if (!connector_cast_number(&found, field->cast, &reading->row->block))
        return refuse_field(reading, FIELD_BLOCK, "is not what its cast expects");
    if (reading->row->block < 0)
        reading->row->block = -1;
    return RC_OK;
}

/* A node may have forgotten when a block was made, and says null; its place is known all the same.
 * What says nothing at all is of another make. */
static enum rc read_time(struct reading *reading)
{
    const struct connector_stream *stream = reading->page->stream;
    const struct connector_field *field = &stream->map[FIELD_TIME];
    struct connector_scalar found = find_field(reading, field);
    bool forgotten = json_type(found.json) == JSON_NULL && stream->resume.kind != RESUME_TIMESTAMP;
    reading->row->time_us = -1;
    if (found.kind == SCALAR_ABSENT)
        return field->mapped && reading->row->block >= 0 && !forgotten
                   ? refuse_field(reading, FIELD_TIME, "is missing")
                   : RC_OK;
    if (connector_cast_time(&found, field->cast, &reading->row->time_us))
        return RC_OK;
    return refuse_field(reading, FIELD_TIME, "is not what its cast expects");
}

static enum rc read_status(struct reading *reading)
{
    const struct connector_stream *stream = reading->page->stream;
    const struct connector_field *field = &stream->map[FIELD_STATUS];
    bool pending = stream->map[FIELD_BLOCK].mapped && reading->row->block < 0;
    reading->row->status = pending ? "pending" : "confirmed";
    if (!field->mapped || pending)
        return RC_OK;
    struct connector_scalar found = find_field(reading, field);
    struct bytes word = found.text.data == NULL ? bytes_of("") : found.text;
    bool worded = found.kind != SCALAR_TREE && found.kind != SCALAR_REAL;
    for (size_t i = 0; worded && i < field->when_count; i++) {
        if (bytes_equal(word, field->when[i].from)) {
            reading->row->status = field->when[i].to;
            return RC_OK;
        }
    }
    if (field->otherwise == NULL && found.kind != SCALAR_ABSENT)
        return refuse_field(reading, FIELD_STATUS, "is a word that the connector does not know");
    if (field->otherwise != NULL)
        reading->row->status = field->otherwise;
    return RC_OK;
}

/* ---- identity ---- */

static void add_part(struct text *out, const char *name, struct bytes value)
{
    uint32_t len = value.data == NULL ? UINT32_MAX : (uint32_t)value.len;
    text_append(out, name, strlen(name) + 1);
    for (unsigned i = 0; i < 4; i++)
        text_append_char(out, (char)(len >> (24 - 8 * i)));
    text_append(out, value.data, value.len);
}

/* The order and the names of the parts are kept in every store: they never change. */
static void make_key(struct reading *reading)
{
    static const enum ledger_field order[] = {
        FIELD_PLATFORM, FIELD_HASH,     FIELD_KIND,   FIELD_FROM, FIELD_TO,
        FIELD_ASSET,    FIELD_TOKEN_ID, FIELD_AMOUNT, FIELD_ID,   FIELD_ROW};
    struct ledger_row *row = reading->row;
    const struct bytes values[FIELD_COUNT] = {
        [FIELD_PLATFORM] = reading->page->vars->platform,
        [FIELD_HASH] = row->hash,
        [FIELD_KIND] = bytes_of(row->kind),
        [FIELD_FROM] = row->from,
        [FIELD_TO] = row->to,
        [FIELD_ASSET] = row->asset,
        [FIELD_TOKEN_ID] = row->token_id,
        [FIELD_AMOUNT] = row->amount,
        [FIELD_ID] = row->id,
        [FIELD_ROW] = row->raw,
    };
    struct text *input = &reading->page->identity;
    uint8_t digest[DIGEST_SIZE];
    text_clear(input);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if ((reading->page->stream->identity & UINT32_C(1) << order[i]) != 0)
            add_part(input, connector_field_names[order[i]], values[order[i]]);
    digest_sha256(text_bytes(input), digest);
    memcpy(row->key, digest, EVENT_ID_SIZE);
}

/* ---- rows ---- */

static enum rc read_row(struct reading *reading)
{
    struct ledger_row *row = reading->row;
    const struct {
        enum ledger_field name;
        struct bytes *out;
    } texts[] = {{FIELD_HASH, &row->hash},
                 {FIELD_FROM, &row->from},
                 {FIELD_TO, &row->to},
                 {FIELD_ASSET, &row->asset},
                 {FIELD_TOKEN_ID, &row->token_id},
                 {FIELD_AMOUNT, &row->amount},
                 {FIELD_FEE, &row->fee},
                 {FIELD_ID, &row->id}};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < sizeof texts / sizeof texts[0]; i++)
        rc = read_text(reading, texts[i].name, texts[i].out);
    if (rc == RC_OK)
        rc = read_block(reading);
    if (rc == RC_OK)
        rc = read_time(reading);
    if (rc == RC_OK)
        rc = read_status(reading);
    if (rc == RC_OK)
        make_key(reading);
    return rc;
}

/* Into the parts of the record; RC_AGAIN: it has none. */
static enum rc enter_parts(struct connector_page *page, struct ledger_row *row, struct err *err)
{
    struct json list = json_pointer(page->record, page->stream->records.each);
    enum json_type type = json_type(list);
    if (type == JSON_ABSENT || type == JSON_NULL) {
        page->passed++;
        return RC_AGAIN;
    }
    if (type != JSON_ARRAY) {
        print_raw(page, page->record);
        *row = (struct ledger_row){.raw = text_bytes(&page->raw)};
        return err_set(err, RC_REJECT, "the record has no list at \"%s\"",
                       page->stream->records.each);
    }
    page->parts = json_walk(list);
    page->within = true;
    return RC_OK;
}

/* The next record or part; RC_AGAIN: there is none. */
static enum rc step(struct connector_page *page, struct json *item, struct ledger_row *row,
                    struct err *err)
{
    bool object = page->records.object;
    for (;;) {
        struct bytes key;
        if (page->within && json_walk_next(&page->parts, &key, item))
            return RC_OK;
        page->within = false;
        if (!json_walk_next(&page->records, &key, &page->record))
            return RC_AGAIN;
        page->key = object ? key : BYTES_ABSENT;
        page->last = page->record;
        page->record_count++;
        if (page->stream->records.each == NULL) {
            *item = page->record;
            return RC_OK;
        }
        enum rc rc = enter_parts(page, row, err);
        if (rc == RC_REJECT)
            return rc;
    }
}

enum rc connector_page_next(struct connector_page *page, struct ledger_row *row, struct err *err)
{
    struct json item;
    enum rc rc;
    assert(page->stream != NULL);
    while ((rc = step(page, &item, row, err)) == RC_OK) {
        struct reading reading = {
            .page = page,
            .ground = {.body = item,
                       .above = page->within ? page->record : (struct json){0},
                       .key_as = page->key.data == NULL ? NULL : page->stream->records.key_as,
                       .key = page->key},
            .scope = {page->connector, page->stream, page->platform, page->vars},
            .row = row,
            .err = err};
        arena_reset(&page->scratch);
        if (!connector_where_holds(&page->stream->where, &reading.ground, &reading.scope,
                                   &page->scratch, &page->identity)) {
            page->passed++;
            continue;
        }
        *row = (struct ledger_row){.block = -1, .time_us = -1, .kind = page->stream->kind};
        print_raw(page, item);
        row->raw = text_bytes(&page->raw);
        rc = read_row(&reading);
        break;
    }
    if (rc == RC_OK)
        page->row_count++;
    else if (rc == RC_REJECT)
        page->refused++;
    return rc;
}
