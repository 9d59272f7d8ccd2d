/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_aside.h"
#include "source/ledger_stream_steps.h"
#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum cursor_kind ledger_stream_kind(const struct connector_stream *shape)
{
    if (shape->resume.kind == RESUME_SLOT)
        return CURSOR_SLOT;
    if (shape->resume.kind == RESUME_TIMESTAMP || !shape->map[FIELD_BLOCK].mapped)
        return CURSOR_TIMESTAMP;
    return CURSOR_BLOCK_NUMBER;
}

/* ---- what is stored ---- */

static const struct connector_stream *any_shape(const struct ledger_stream *stream)
{
    const struct ledger_platform *platform = stream->run->platform;
    const struct connector_stream *shape =
        stream->run->file != NULL ? stream->run->file->shape : NULL;
    for (int i = 0; i < platform->group.count && shape == NULL; i++)
        shape = connector_stream(platform->members[i]->connector, bytes_of(stream->name));
    assert(shape != NULL);
    return shape;
}

/* How far back any provider of the platform may be asked to go. */
static int64_t find_reach(const struct ledger_stream *stream, bool blocks)
{
    int64_t reach = 0;
    for (int i = 0; i < stream->run->platform->group.count; i++) {
        const struct connector *connector = stream->run->platform->members[i]->connector;
        int64_t far = blocks ? connector->replay_blocks : connector->replay_us;
        if (blocks && connector->settle_blocks > far)
            far = connector->settle_blocks;
        reach = far > reach ? far : reach;
    }
    return reach;
}

/* The last row may have become another stream's: it waits again, and is news when it comes back. */
static void note_strayed(struct ledger_stream *stream)
{
    struct bytes last = bytes_of(stream->stored.cursor.last_transaction_id);
    window_seed(&stream->strayed, last);
    for (size_t i = 0; i < stream->known.count; i++) {
        struct window_id id;
        memcpy(id.byte, stream->known.rows[i].id, sizeof id.byte);
        if (window_contains(&stream->strayed, &id))
            window_clear(&stream->strayed);
    }
}

static void on_known(void *arg, const struct lookup_answer *answer)
{
    struct ledger_stream *stream = arg;
    if (stream->stopping || answer->rc != RC_OK) {
        ledger_stream_end(stream, stream->stopping ? LEDGER_STOPPED : LEDGER_INCOMPLETE,
                          answer->rc == RC_OK ? "" : answer->err.text);
        return;
    }
    ledger_known_take(&stream->known, answer);
    note_strayed(stream);
    ledger_stream_choose(stream);
}

static struct ledger_aside read_aside(struct ledger_stream *stream)
{
    return ledger_aside_read(stream->cursor_doc, stream->stored.cursor.custom);
}

static enum rc ask_known(struct ledger_stream *stream)
{
    const struct cursor *complete = &stream->stored.cursor.high_water;
    bool blocks = ledger_stream_kind(any_shape(stream)) != CURSOR_TIMESTAMP;
    int64_t from =
        complete->kind == CURSOR_NONE ? 0 : complete->number - find_reach(stream, blocks);
    from = ledger_stream_debts_from(stream, from);
    int64_t waits = read_aside(stream).waits;
    from = waits >= 0 && waits < from ? waits : from;
    const struct field params[LEDGER_KNOWN_PARAMS] = {
        field_text(bytes_of(stream->run->account)), field_text(bytes_of(stream->name)),
        field_int(from > 0 ? from : 0), field_int(LEDGER_KNOWN_MAX + 1)};
    const struct lookup_question question = {.sql = blocks ? ledger_known_by_block_sql
                                                           : ledger_known_by_time_sql,
                                             .params = params,
                                             .param_count = LEDGER_KNOWN_PARAMS,
                                             .in_pieces = true,
                                             .rows_max = LEDGER_KNOWN_MAX + 1};
    return stream->run->env->ask_steadily(stream->run->env->ask_arg, &question, on_known, stream);
}

static void on_debts(void *arg, const struct lookup_answer *answer)
{
    struct ledger_stream *stream = arg;
    if (answer->rc == RC_OK)
        ledger_stream_take_debts(stream, answer);
    if (stream->stopping || answer->rc != RC_OK || ask_known(stream) != RC_OK)
        ledger_stream_end(stream, stream->stopping ? LEDGER_STOPPED : LEDGER_INCOMPLETE,
                          answer->rc == RC_OK ? "" : answer->err.text);
}

/* The end of a complete import was checked: its provider was good up to there. */
static void note_proof(struct ledger_stream *stream)
{
    const struct cursor_state *state = &stream->stored.cursor;
    const struct cursor *complete = &state->high_water;
    int owner = failover_find(stream->failover.group, state->provider_name);
    struct provider_proof proof = PROVIDER_UNPROVED;
    if (!stream->was_complete || owner == PROVIDER_NONE || complete->kind == CURSOR_NONE)
        return;
    *(complete->kind == CURSOR_TIMESTAMP ? &proof.time_us : &proof.block) = complete->number;
    proof.at_us = ledger_stream_mono(stream);
    failover_proved(&stream->failover, owner, &proof);
}

static void on_cursor(void *arg, const struct lookup_answer *answer)
{
    struct ledger_stream *stream = arg;
    struct err err = {""};
    enum rc rc = answer->rc;
    if (rc != RC_OK)
        err = answer->err;
    if (rc == RC_OK && answer->rows > 0 && !answer->fields[0].null)
        rc = stream_resume(&stream->stored, stream->cursor_doc, answer->fields[0].b, &err);
    stream->was_complete = rc == RC_OK && stream_is_complete(&stream->stored);
    stream->total_before = read_aside(stream).total;
    stream->hold_ms = read_aside(stream).hold_ms;
    note_proof(stream);
    if (rc == RC_OK && !stream->stopping)
        rc = ledger_stream_ask_debts(stream, on_debts);
    if (rc == RC_REJECT)
        ledger_stream_end(stream, LEDGER_FAILED, err.text);
    else if (rc != RC_OK || stream->stopping)
        ledger_stream_end(stream, stream->stopping ? LEDGER_STOPPED : LEDGER_INCOMPLETE, err.text);
}

void ledger_stream_load(struct ledger_stream *stream)
{
    static const char sql[] = "SELECT state FROM cursors WHERE source = ?1 AND stream = ?2";
    const struct source_env *env = stream->run->env;
    const struct field params[] = {field_text(bytes_of(stream->run->account)),
                                   field_text(bytes_of(stream->name))};
    const struct lookup_question question = {.sql = sql, .params = params, .param_count = 2};
    stream->view.state = LEDGER_LOADING;
    if (env->ask_steadily(env->ask_arg, &question, on_cursor, stream) != RC_OK)
        ledger_stream_end(stream, LEDGER_INCOMPLETE, "the store cannot be asked now");
}

/* ---- where a walk begins ---- */

/* The position everybody agrees on: up to there all is complete. A token or the oldest row of a
 * sweep that was interrupted says something to its own provider only. */
static bool find_complete(const struct cursor_state *state, enum cursor_kind kind,
                          struct cursor_state *safe)
{
    *safe = (struct cursor_state){0};
    memcpy(safe->provider_name, state->provider_name, sizeof safe->provider_name);
    if (state->high_water.kind == kind) {
        safe->primary = state->high_water;
        return true;
    }
    for (unsigned i = 0; i < state->alternative_count; i++)
        if (state->alternatives[i].kind == kind && state->backfill.kind == CURSOR_NONE) {
            safe->primary = state->alternatives[i];
            return true;
        }
    return false;
}

/* It has nothing to begin at, and no end before its last page. */
static bool reads_all(const struct connector_stream *shape)
{
    return shape->order == ORDER_NONE ||
           (shape->order == ORDER_ASC && shape->resume.kind == RESUME_NONE);
}

uint32_t ledger_stream_avoided(const struct ledger_stream *stream)
{
    const struct ledger_platform *platform = stream->run->platform;
    const struct cursor_state *state = &stream->stored.cursor;
    int owner = failover_find(stream->failover.group, state->provider_name);
    const struct connector_stream *theirs = NULL;
    bool sweeps = state->backfill.kind != CURSOR_NONE ||
                  (stream->shape != NULL && stream->shape->order != ORDER_ASC);
    uint32_t avoided = 0;
    if (owner != PROVIDER_NONE)
        theirs = connector_stream(platform->members[owner]->connector, bytes_of(stream->name));
    for (int i = 0; i < platform->group.count; i++) {
        const struct connector_stream *shape =
            connector_stream(platform->members[i]->connector, bytes_of(stream->name));
        struct cursor_state safe;
        if (shape == NULL)
            continue;
        bool anew =
            state->total_fetched > 0 && !find_complete(state, ledger_stream_kind(shape), &safe);
        anew |= reads_all(shape) && (theirs == NULL || !reads_all(theirs));
        avoided |= (uint32_t)(sweeps || anew) << i;
    }
    return avoided;
}

/* A new run reads the last blocks again at the same provider; another provider's position is
 * rewound once. */
static int64_t find_start(struct ledger_stream *stream, enum cursor_kind kind)
{
    const struct connector *connector = stream->provider->connector;
    struct cursor_state safe;
    struct cursor_choice choice;
    struct err err;
    if (!find_complete(&stream->stored.cursor, kind, &safe))
        return -1;
    const struct cursor_ask ask = {.provider_name = connector->provider,
                                   .supported = cursor_bit(kind),
                                   .replay_blocks = connector->replay_blocks,
                                   .replay_us = connector->replay_us,
                                   .proved_block = stream->pick.proof.block,
                                   .proved_us = stream->pick.proof.time_us};
    if (cursor_resolve(&safe, &ask, &choice, &err) != RC_OK || choice.cursor.kind != kind)
        return -1;
    int64_t start = choice.cursor.number;
    bool fresh_run = stream->view.batches == 0;
    if (choice.same_provider && fresh_run && kind == CURSOR_BLOCK_NUMBER)
        start = start > connector->settle_blocks ? start - connector->settle_blocks : 0;
    if (choice.rewound_by > 0)
        log_event(LOG_INFO, LEDGER_COMPONENT, "replay",
                  (struct log_field[]){log_string("account", stream->run->account),
                                       log_string("stream", stream->name),
                                       log_string("provider", connector->provider),
                                       log_int("from", start), LOG_END});
    return start;
}

/* The token of an interrupted sweep, if it still means something here. */
static struct bytes find_token(struct ledger_stream *stream, int64_t *top)
{
    const struct cursor_state *state = &stream->stored.cursor;
    int64_t token_ms = stream->shape->page.token_ms;
    int64_t age_ms = ledger_stream_wall(stream) / 1000 - state->updated_ms;
    bool own = strcmp(state->provider_name, stream->provider->connector->provider) == 0 &&
               state->primary.kind == CURSOR_PAGE_TOKEN;
    struct ledger_aside aside = read_aside(stream);
    *top = -1;
    if (!own || state->backfill.kind == CURSOR_NONE || (token_ms > 0 && age_ms > token_ms) ||
        aside.top < 0)
        return BYTES_ABSENT;
    *top = aside.top;
    stream->waits_from = aside.waits;
    return bytes_of(state->primary.text);
}

void ledger_stream_start_walk(struct ledger_stream *stream, int listed)
{
    struct ledger_place place = {.top = -1, .head = stream->head};
    enum cursor_kind kind = ledger_stream_kind(stream->shape);
    const struct cursor *swept = &stream->stored.cursor.backfill;
    ledger_walk_init(&stream->walk, stream->shape, listed);
    place.complete = find_start(stream, kind);
    int64_t since = ledger_stream_since(stream, kind);
    stream->skips = since > place.complete;
    if (stream->skips)
        place.complete = since;
    stream->waits_from = -1;
    stream->waited_from = read_aside(stream).waits;
    bool lower = stream->waited_from >= 0 && stream->waited_from < place.complete;
    if (lower && !stream->skips && stream->stored.cursor.high_water.kind == kind)
        place.complete = stream->waited_from;
    place.token = find_token(stream, &place.top);
    place.settle = kind == CURSOR_BLOCK_NUMBER ? stream->provider->connector->settle_blocks : 0;
    if (stream->known.whole && !stream->skips)
        place.complete = ledger_stream_debts_from(stream, place.complete);
    if (stream->doubted_from >= 0 && place.complete > stream->doubted_from)
        place.complete = stream->doubted_from;
    if (stream->resweeping)
        place = (struct ledger_place){
            .complete = -1, .top = -1, .head = stream->head, .token = BYTES_ABSENT};
    if (listed >= 0 && !stream->skips && place.complete >= 0)
        ledger_stream_tell_new_parts(stream);
    ledger_walk_begin(&stream->walk, &place);
    ledger_reread_begin(&stream->reread, place.complete);
    if (stream->walk.continued)
        ledger_reread_resume(&stream->reread, &place, swept->kind == kind ? swept->number : -1);
    stream->covered_from = place.complete < 0 ? 0 : place.complete;
    stream->purpose = ASK_PAGE;
}

void ledger_stream_list_parts(struct ledger_stream *stream)
{
    bool ranged = stream->shape->page.by == PAGE_RANGE;
    stream->purpose = ranged ? ASK_HEAD : ASK_LIST;
    if (stream->shape->listed.request != NULL || ranged)
        return;
    ledger_stream_start_walk(stream, -1);
    ledger_stream_foretell(stream);
}

/* The provider exports its list as a file, too. */
static bool has_file(const struct connector *connector, const struct connector_stream *shape)
{
    for (size_t i = 0; i < connector->stream_count; i++)
        if (connector->streams[i].csv.header != NULL &&
            strcmp(connector->streams[i].kind, shape->kind) == 0)
            return true;
    return false;
}

void ledger_stream_begin_walk(struct ledger_stream *stream)
{
    const struct ledger_platform *platform = stream->run->platform;
    ledger_walk_deinit(&stream->walk);
    ledger_stream_drop_details(stream);
    stream->provider = platform->members[stream->pick.provider];
    stream->shape = connector_stream(stream->provider->connector, bytes_of(stream->name));
    assert(stream->shape != NULL);
    stream->shares =
        stream->shape->count.given && has_file(stream->provider->connector, stream->shape);
    stream->view.kind = ledger_stream_kind(stream->shape);
    stream->view.provider = stream->provider->connector->provider;
    stream->vars =
        connector_vars_first(stream->shape, bytes_of(platform->name), stream->run->identifier);
    stream->vars.api_key = secret_reveal(&stream->provider->api_key);
    stream->vars.api_secret = secret_reveal(&stream->provider->api_secret);
    ledger_known_forget_seen(&stream->known);
    stream->counted = stream->reached = stream->shrank = false;
    stream->foretelling = stream->foretold = false;
    stream->total_first = stream->total_top = -1;
    stream->waiting = 0;
    window_clear(&stream->unreadable);
    stream->reach = stream->shown = stream->bound = -1;
    stream->purpose = ASK_SINCE;
    stream->part_count = 0;
    text_clear(&stream->parts);
    text_clear(&stream->list_token);
    if (!ledger_stream_needs_since(stream))
        ledger_stream_list_parts(stream);
}

/* ---- ranges ---- */

void ledger_stream_take_head(struct ledger_stream *stream)
{
    char words[ERR_TEXT_MAX];
    if (!connector_figure_read(&stream->shape->head, stream->side.root, &stream->head)) {
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, "does not name its newest block");
        return;
    }
    ledger_walk_deinit(&stream->walk);
    ledger_stream_start_walk(stream, -1);
    if (stream->walk.complete > stream->head + 1) {
        snprintf(words, sizeof words,
                 "is behind: its newest block is %" PRId64 ", and %" PRId64 " is known",
                 stream->head, stream->walk.complete - 1);
        stream->purpose = ASK_HEAD;
        ledger_stream_failed(stream, RETRY_TRANSIENT, -1, words);
    } else if (ledger_walk_over(&stream->walk)) {
        ledger_stream_settle(stream); /* there is no new block */
    } else {
        ledger_stream_choose(stream);
    }
}

/* ---- files ---- */

static void begin_file(struct ledger_stream *stream)
{
    const struct ledger_place beginning = {.complete = -1, .top = -1};
    stream->provider = stream->run->file->provider;
    stream->shape = stream->run->file->shape;
    stream->view.kind = ledger_stream_kind(stream->shape);
    stream->view.provider = stream->provider->connector->provider;
    stream->vars = connector_vars_first(stream->shape, bytes_of(stream->run->platform->name),
                                        stream->run->identifier);
    ledger_walk_init(&stream->walk, stream->shape, -1);
    ledger_walk_begin(&stream->walk, &beginning);
    stream->believed = true; /* a file says what it says, and another one may say more */
    stream->known.whole = false;
}

void ledger_stream_read_file(struct ledger_stream *stream)
{
    struct json root;
    struct err err;
    if (stream->provider == NULL)
        begin_file(stream);
    text_clear(&stream->group);
    ledger_file_read(stream->run->file, &stream->group);
    enum rc rc = json_parse_copy(stream->list_doc, text_bytes(&stream->group), &root, &err);
    if (rc == RC_OK)
        rc = connector_page_open_list(&stream->page, stream->provider->connector, stream->shape,
                                      &stream->vars, root, &err);
    if (rc != RC_OK) {
        ledger_stream_end(stream, LEDGER_FAILED, err.text);
        return;
    }
    stream->last_count = 0;
    stream->reading = true;
    ledger_stream_store(stream);
}
