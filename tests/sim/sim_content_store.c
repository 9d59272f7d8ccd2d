/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include "ingest/owed.h"

#include <stdlib.h>
#include <string.h>

#define LINK_COLUMNS  2
#define CHECK_COLUMNS 3
#define OWED_COLUMNS  7

static struct sim_ref ref_of(const struct sim_world *world, const struct field *field)
{
    struct sim_ref ref = {0};
    if (field->null || !sim_document_find(world->content, field->b, &ref))
        sim_fail(world, "a document nobody named is stored");
    return ref;
}

static struct sim_stored *stored_of(struct sim_content *content, struct sim_ref ref)
{
    return &content->documents[ref.document].stored[ref.spelling];
}

static struct sim_stored_block *number_of(struct sim_world *world, const struct field *field)
{
    struct sim_content *content = world->content;
    if (field->null || field->i < SIM_START || (uint64_t)field->i > content->last)
        sim_fail(world, "a block that never was is stored");
    return &content->stored[field->i];
}

/* ---- documents ---- */

static void settle_owed(struct sim_stored *stored)
{
    if (stored->owed == OWED)
        sim_saw(SIGHT_OWED_PAID);
    stored->owed = NOTHING_OWED;
}

/* All spellings have what one has. */
static void share_bytes(struct sim_document *document, int64_t seq)
{
    bool whole = false;
    for (unsigned i = 0; i < SIM_SPELLINGS; i++)
        whole = whole || document->stored[i].whole;
    for (unsigned i = 0; i < SIM_SPELLINGS && whole; i++) {
        struct sim_stored *stored = &document->stored[i];
        if (stored->known && !stored->whole)
            stored->seq = seq;
        stored->whole = stored->known;
        settle_owed(stored);
    }
}

static void apply_document(struct sim_world *world, const struct record *record, int64_t seq)
{
    const struct field *fields = record->fields;
    struct sim_ref ref = ref_of(world, &fields[DOCUMENT_URI]);
    struct sim_document *document = &world->content->documents[ref.document];
    struct sim_stored *stored = stored_of(world->content, ref);
    bool whole = fields[DOCUMENT_WHOLE].i != 0;
    if (!bytes_equal_string(fields[DOCUMENT_CANONICAL].b, document->uris[0]))
        sim_fail(world, "%s has another spelling than it should", document->uris[0]);
    if (whole && !bytes_equal(fields[DOCUMENT_DATA].b, text_bytes(&document->bytes)))
        sim_fail(world, "the bytes of %s are not its own", document->uris[0]);
    if (whole && (document->hopeless || document->no_address))
        sim_fail(world, "%s was to be had from nobody", document->uris[0]);
    if (!stored->known || (whole && !stored->whole))
        stored->seq = seq;
    stored->known = true;
    stored->whole = stored->whole || whole;
    share_bytes(document, seq);
}

static void apply_owed(struct sim_world *world, const struct record *record)
{
    const struct field *fields = record->fields;
    struct sim_ref ref = ref_of(world, &fields[OWED_ITEM]);
    const struct sim_document *document = &world->content->documents[ref.document];
    struct sim_stored *stored = stored_of(world->content, ref);
    struct bytes state = fields[OWED_STATE].b;
    bool fresh = bytes_equal_string(state, "new"), dead = bytes_equal_string(state, "dead");
    if (bytes_equal_string(state, "done")) {
        settle_owed(stored);
        return;
    }
    if (dead && !document->hopeless && !document->no_address)
        sim_fail(world, "%s is called dead, and two gateways have it", document->uris[0]);
    if (fresh && stored->owed != NOTHING_OWED)
        return;
    sim_saw(dead ? SIGHT_DEAD : SIGHT_OWED);
    if (stored->owed == NOTHING_OWED) {
        stored->since_us = fields[OWED_AT_US].i;
        text_clear(&stored->unit);
        if (!fields[OWED_UNIT].null)
            text_append(&stored->unit, fields[OWED_UNIT].b.data, fields[OWED_UNIT].b.len);
    }
    stored->owed = dead ? DEAD : OWED;
    stored->attempts = fields[OWED_ATTEMPTS].i;
    stored->next_us = fields[OWED_NEXT_US].i;
    text_clear(&stored->refused_by);
    if (!fields[OWED_REFUSED_BY].null)
        text_append(&stored->refused_by, fields[OWED_REFUSED_BY].b.data,
                    fields[OWED_REFUSED_BY].b.len);
}

/* ---- blocks ---- */

static void apply_undo(struct sim_world *world, const struct record *record)
{
    struct sim_content *content = world->content;
    uint64_t after = (uint64_t)record->fields[UNDO_AFTER].i;
    sim_saw(SIGHT_UNDO);
    sim_trace(world, "undo after %" PRIu64, after);
    for (uint64_t number = after + 1; number <= content->last; number++)
        content->stored[number] = (struct sim_stored_block){0};
    content->undone = true;
}

static void apply_block(struct sim_world *world, const struct record *record)
{
    const struct field *fields = record->fields;
    struct sim_stored_block *stored = number_of(world, &fields[BLOCK_NUMBER]);
    stored->known = true;
    stored->documents = fields[BLOCK_DOCUMENTS].i;
    stored->hash = SIM_NO_BLOCK;
    if (fields[BLOCK_HASH].null)
        return;
    stored->hash = sim_block_find(world->content, fields[BLOCK_HASH].b);
    if (stored->hash == SIM_NO_BLOCK ||
        (int64_t)world->content->blocks[stored->hash].number != fields[BLOCK_NUMBER].i)
        sim_fail(world, "block %" PRId64 " has a hash that never was its own",
                 fields[BLOCK_NUMBER].i);
}

static void apply_settled(struct sim_world *world, const struct record *record)
{
    struct sim_content *content = world->content;
    uint64_t from = (uint64_t)record->fields[SETTLED_FROM].i;
    uint64_t before = (uint64_t)record->fields[SETTLED_BEFORE].i;
    for (uint64_t number = from; number < before && number <= content->last; number++)
        if (content->stored[number].documents == 0)
            content->stored[number].known = false;
}

static void apply_reference(struct sim_world *world, const struct record *record)
{
    const struct field *fields = record->fields;
    struct sim_stored_block *stored = number_of(world, &fields[REFERENCE_BLOCK]);
    int64_t ordinal = fields[REFERENCE_ORDINAL].i;
    if (ordinal < 0 || ordinal >= SIM_REFS_MAX)
        sim_fail(world, "no block names so many documents");
    stored->refs[ordinal] = ref_of(world, &fields[REFERENCE_URI]);
    stored->there[ordinal] = true;
}

static void apply_cursor(struct sim_world *world, const struct record *record)
{
    struct sim_content *content = world->content;
    struct bytes state = record->fields[CURSOR_ROW_STATE].b;
    uint64_t position = (uint64_t)record->fields[CURSOR_ROW_POSITION].i;
    if (content->cursor.len > 0 && position < content->position && !content->undone)
        sim_fail(world, "I4: the position goes back from %" PRIu64 " to %" PRIu64,
                 content->position, position);
    text_clear(&content->cursor);
    text_append(&content->cursor, state.data, state.len);
    const char *hash = strstr(text_string(&content->cursor), "\"hash\":\"");
    content->position = position;
    content->position_block = SIM_NO_BLOCK;
    if (hash != NULL) {
        hash += strlen("\"hash\":\"");
        content->position_block = sim_block_find(content, bytes_make(hash, strcspn(hash, "\"")));
        if (content->position_block == SIM_NO_BLOCK ||
            content->blocks[content->position_block].number != position)
            sim_fail(world, "the position %" PRIu64 " has a hash that never was its own", position);
    }
    sim_trace(world, "position %" PRIu64, position);
}

bool sim_content_apply(struct sim_world *world, const struct record *record, int64_t seq)
{
    static void (*const appliers[RECORD_ID_COUNT])(struct sim_world *, const struct record *) = {
        [RECORD_UNDO] = apply_undo,       [RECORD_BLOCK] = apply_block,
        [RECORD_SETTLED] = apply_settled, [RECORD_REFERENCE] = apply_reference,
        [RECORD_OWED] = apply_owed,       [RECORD_CURSOR] = apply_cursor};
    if (world->content == NULL)
        return false;
    if (record->kind == RECORD_CURSOR &&
        !bytes_equal_string(record->fields[CURSOR_ROW_SOURCE].b, CONTENT_SOURCE))
        return false;
    if (record->kind == RECORD_DOCUMENT)
        apply_document(world, record, seq);
    else if (appliers[record->kind] != NULL)
        appliers[record->kind](world, record);
    else
        return false;
    return true;
}

/* ---- questions ---- */

/* Room for a row more than there are. */
static struct field *fields_for(size_t count)
{
    static struct field *fields;
    static size_t room;
    if (count > room) {
        room = count;
        fields = memory_resize(fields, room * sizeof *fields);
    }
    return fields;
}

static void look_up_place(const struct sim_content *content, struct lookup_answer *answer)
{
    struct field *fields = fields_for(1);
    if (content->cursor.len == 0)
        return;
    fields[0] = field_text(text_bytes(&content->cursor));
    answer->fields = fields;
    answer->columns = answer->rows = 1;
}

/* The last known hashes, newest first. */
static void look_up_links(const struct sim_content *content, const struct field *params,
                          struct lookup_answer *answer)
{
    static char hashes[64][EVM_HASH_TEXT_SIZE];
    struct field *fields = fields_for(sizeof hashes / sizeof *hashes * LINK_COLUMNS);
    uint64_t number = (uint64_t)params[0].i < content->last ? (uint64_t)params[0].i : content->last;
    answer->fields = fields;
    answer->columns = LINK_COLUMNS;
    for (; number >= SIM_START && (int64_t)answer->rows < params[1].i; number--) {
        const struct sim_stored_block *stored = &content->stored[number];
        if (!stored->known || stored->hash == SIM_NO_BLOCK)
            continue;
        sim_block_hash(stored->hash, hashes[answer->rows]);
        fields[answer->rows * LINK_COLUMNS] = field_int((int64_t)number);
        fields[answer->rows * LINK_COLUMNS + 1] = field_text(bytes_of(hashes[answer->rows]));
        answer->rows++;
    }
}

static void look_up_documents(const struct sim_content *content, const struct field *params,
                              struct lookup_answer *answer)
{
    static const char *const states[] = {"", "owed", "dead"};
    struct field *fields = fields_for(LOOKUP_PARAMS_MAX * SIM_SPELLINGS * CHECK_COLUMNS);
    answer->fields = fields;
    answer->columns = CHECK_COLUMNS;
    for (size_t i = 1; i < LOOKUP_PARAMS_MAX; i++) {
        struct sim_ref ref;
        bool twice = false;
        for (size_t k = 1; k < i && !params[i].null; k++)
            twice = twice || (!params[k].null && bytes_equal(params[i].b, params[k].b));
        if (params[i].null || twice || !sim_document_find(content, params[i].b, &ref))
            continue;
        const struct sim_document *document = &content->documents[ref.document];
        for (unsigned s = 0; s < SIM_SPELLINGS; s++) {
            const struct sim_stored *stored = &document->stored[s];
            if (!stored->known)
                continue;
            struct field *row = &fields[CHECK_COLUMNS * answer->rows++];
            row[0] = field_text(bytes_of(document->uris[0]));
            row[1] = field_text(bytes_of(document->uris[s]));
            row[2] = field_text(bytes_of(stored->whole ? "stored" : states[stored->owed]));
        }
    }
}

struct owed_row {
    const char *uri;
    const struct sim_stored *stored;
};

static int compare_owed(const void *a, const void *b)
{
    const struct owed_row *x = a, *y = b;
    if (x->stored->next_us != y->stored->next_us)
        return x->stored->next_us < y->stored->next_us ? -1 : 1;
    return strcmp(x->uri, y->uri);
}

static struct field text_or_null(const struct text *text)
{
    return text->len == 0 ? field_null(FIELD_TEXT) : field_text(text_bytes(text));
}

static void look_up_owed(const struct sim_content *content, const struct field *params,
                         struct lookup_answer *answer)
{
    struct owed_row rows[256] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < content->document_count; i++)
        for (unsigned s = 0; s < SIM_SPELLINGS; s++)
            if (content->documents[i].stored[s].owed == OWED)
                rows[count++] = (struct owed_row){content->documents[i].uris[s],
                                                  &content->documents[i].stored[s]};
    qsort(rows, count, sizeof *rows, compare_owed);
    struct field *fields = fields_for((count + 1) * OWED_COLUMNS);
    answer->fields = fields;
    answer->columns = OWED_COLUMNS;
    for (; answer->rows < count && (int64_t)answer->rows < params[2].i; answer->rows++) {
        const struct sim_stored *stored = rows[answer->rows].stored;
        struct field *row = &fields[OWED_COLUMNS * answer->rows];
        row[0] = field_text(bytes_of(rows[answer->rows].uri));
        row[1] = text_or_null(&stored->unit);
        row[2] = field_text(bytes_of("it failed"));
        row[3] = text_or_null(&stored->refused_by);
        row[4] = field_int(stored->attempts);
        row[5] = field_int(stored->next_us);
        row[6] = field_int(stored->since_us);
    }
}

bool sim_content_look_up(struct sim_world *world, const char *sql, const struct field *params,
                         struct lookup_answer *answer)
{
    const struct sim_content *content = world->content;
    if (content == NULL)
        return false;
    if (strncmp(sql, "SELECT state FROM cursors WHERE source = 'content'", 50) == 0)
        look_up_place(content, answer);
    else if (strncmp(sql, "SELECT number, hash FROM chain_blocks", 37) == 0)
        look_up_links(content, params, answer);
    else if (strncmp(sql, "SELECT c.canonical, c.uri", 25) == 0)
        look_up_documents(content, params, answer);
    else if (sql == owed_load_sql)
        look_up_owed(content, params, answer);
    else
        return false;
    return true;
}
