/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include "sys/crashpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CURSOR_ONLY_US INT64_C(1000000)

/* ---- documents ---- */

static struct record *add_row(struct batch *batch, const char *uri, const char *canonical,
                              uint64_t block, const char *space)
{
    struct record *row = batch_add(batch, RECORD_DOCUMENT);
    if (row == NULL || !batch_set_text(batch, row, DOCUMENT_URI, bytes_of(uri)) ||
        !batch_set_text(batch, row, DOCUMENT_CANONICAL, bytes_of(canonical)) ||
        (space[0] != '\0' && !batch_set_text(batch, row, DOCUMENT_SPACE, bytes_of(space))))
        return NULL;
    batch_set_int(row, DOCUMENT_BLOCK, (int64_t)block);
    batch_set_int(row, DOCUMENT_WHOLE, 0);
    return row;
}

bool content_add_missing(struct batch *batch, const struct need *need)
{
    return add_row(batch, need->uri, need->canonical, need->block, need->space) != NULL;
}

static bool add_fetched(struct batch *batch, const struct job *job, const char *space)
{
    struct bytes document = bytes_make(text_string(&job->document), job->document.len);
    struct record *row = add_row(batch, job->uri, job->canonical, job->block, space);
    if (row == NULL || (job->rc == RC_OK && !batch_set_text(batch, row, DOCUMENT_DATA, document)))
        return false;
    batch_set_int(row, DOCUMENT_WHOLE, job->rc == RC_OK);
    const struct content_settings *settings = &job->content->settings;
    return job->rc != RC_OK || settings->add_row == NULL ||
           settings->add_row(settings->row_arg, batch, job->canonical, document,
                             content_wall(job->content));
}

/* The failure that tells the most about an item that was owed before: one more refusal for good. */
static struct owed_failure worst_of(const struct job *job, const struct owed_item *item)
{
    struct owed_failure failure = {"gateways", RETRY_TRANSIENT, "no gateway could be asked",
                                   job->rest_us};
    for (size_t i = 0; i < job->failure_count; i++) {
        const struct gateway_failure *f = &job->failures[i];
        bool fresh =
            f->class == RETRY_PERMANENT && item != NULL && !owed_refused_by(item, f->provider);
        if (fresh || failure.class != RETRY_PERMANENT)
            failure = (struct owed_failure){f->provider, f->class, f->reason, job->rest_us};
        if (fresh)
            break;
    }
    return failure;
}

static enum rc add_failures(struct content *content, struct batch *batch, const struct job *job,
                            struct bytes unit)
{
    struct owed_failure failures[GATEWAYS_MAX] = {worst_of(job, NULL)};
    for (size_t i = 0; i < job->failure_count; i++)
        failures[i] = (struct owed_failure){job->failures[i].provider, job->failures[i].class,
                                            job->failures[i].reason, job->rest_us};
    return owed_put(&content->owed, batch, bytes_of(job->uri), unit, failures,
                    job->failure_count == 0 ? 1 : job->failure_count, content_wall(content),
                    content_random(content));
}

/* What became of a fetch, as the owed table has it. */
static enum rc add_verdict(struct content *content, struct batch *batch, const struct job *job)
{
    char unit[DECIMAL_MAX];
    struct bytes uri = bytes_of(job->uri), block = decimal_of((int64_t)job->block, unit);
    int64_t now_us = content_wall(content);
    if (job->rc == RC_OK)
        return owed_done(&content->owed, batch, uri);
    if (job->rc == RC_REJECT)
        return owed_dead(&content->owed, batch, uri, block, job->err.text, now_us);
    if (job->need != CONTENT_NONE)
        return add_failures(content, batch, job, block);
    struct owed_failure failure = worst_of(job, owed_find(&content->owed, uri));
    return owed_failed(&content->owed, batch, job->retry, &failure, now_us,
                       content_random(content));
}

/* Both rows or none. */
static bool write_job(struct content *content, struct batch *batch, struct job *job)
{
    struct batch_mark mark = batch_mark(batch);
    const char *space = job->need == CONTENT_NONE ? "" : content->needs[job->need].space;
    if (!add_fetched(batch, job, space) || add_verdict(content, batch, job) != RC_OK) {
        batch_undo(batch, mark);
        return false;
    }
    *(job->rc == RC_OK ? &content->stored : &content->failed) += 1;
    if (job->need != CONTENT_NONE)
        content_need_written(content, job->need);
    content_job_free(job);
    return true;
}

static bool write_hopeless(struct content *content, struct batch *batch, uint32_t index)
{
    struct need *need = &content->needs[index];
    struct batch_mark mark = batch_mark(batch);
    char unit[DECIMAL_MAX];
    char canonical[CONTENT_URI_SIZE];
    struct err err;
    struct cid cid;
    bool is_address = content_spell(need->uri, &cid, canonical, &err);
    assert(!is_address);
    if (!content_add_missing(batch, need) || owed_dead(&content->owed, batch, bytes_of(need->uri),
                                                       decimal_of((int64_t)need->block, unit),
                                                       err.text, content_wall(content)) != RC_OK) {
        batch_undo(batch, mark);
        return false;
    }
    content->failed++;
    content_need_written(content, index);
    return true;
}

/* The store gives it the bytes that another spelling has, now or later. */
static bool write_echo(struct content *content, struct batch *batch, uint32_t index)
{
    struct batch_mark mark = batch_mark(batch);
    if (!content_add_missing(batch, &content->needs[index])) {
        batch_undo(batch, mark);
        return false;
    }
    content_need_written(content, index);
    return true;
}

static void write_needs(struct content *content, struct batch *batch, struct need_list *list,
                        bool (*write)(struct content *content, struct batch *batch, uint32_t index))
{
    for (uint32_t index; (index = content_list_take(content, list)) != CONTENT_NONE;) {
        if (write(content, batch, index))
            continue;
        content_list_put(content, list, index);
        return;
    }
}

static void write_documents(struct content *content, struct batch *batch)
{
    for (struct job *job = content->jobs; content->held > 0; job++)
        if (job->place == JOB_HELD && !write_job(content, batch, job))
            return;
    write_needs(content, batch, &content->echoes, write_echo);
    write_needs(content, batch, &content->hopeless, write_hopeless);
}

static void write_unusable(struct content *content, struct batch *batch)
{
    struct unusable *unusable = &content->unusable;
    if (unusable->waits &&
        quarantine_add(&content->quarantine, batch, CONTENT_FEED, text_bytes(&unusable->raw),
                       unusable->size, unusable->reason, content_wall(content)) == RC_OK)
        unusable->waits = false;
}

/* ---- blocks ---- */

static bool add_reference(struct batch *batch, const struct unit *unit)
{
    const char *uri = unit->refs.data + unit->refs_at, *space = uri + strlen(uri) + 1;
    struct batch_mark mark = batch_mark(batch);
    struct record *row = batch_add(batch, RECORD_REFERENCE);
    if (row == NULL || !batch_set_text(batch, row, REFERENCE_URI, bytes_of(uri)) ||
        (space[0] != '\0' && !batch_set_text(batch, row, REFERENCE_SPACE, bytes_of(space)))) {
        batch_undo(batch, mark);
        return false;
    }
    batch_set_int(row, REFERENCE_BLOCK, (int64_t)unit->number);
    batch_set_int(row, REFERENCE_ORDINAL, unit->refs_written);
    return true;
}

static bool add_block(struct batch *batch, const struct unit *unit)
{
    struct batch_mark mark = batch_mark(batch);
    if (unit->hash[0] == '\0' && unit->ref_count == 0)
        return true; /* deep and empty: the position says all there is */
    struct record *row = batch_add(batch, RECORD_BLOCK);
    if (row == NULL ||
        (unit->hash[0] != '\0' && !batch_set_text(batch, row, BLOCK_HASH, bytes_of(unit->hash))) ||
        (unit->parent[0] != '\0' &&
         !batch_set_text(batch, row, BLOCK_PARENT, bytes_of(unit->parent)))) {
        batch_undo(batch, mark);
        return false;
    }
    batch_set_int(row, BLOCK_NUMBER, (int64_t)unit->number);
    batch_set_int(row, BLOCK_DOCUMENTS, unit->ref_count);
    return true;
}

/* False: the batch is full; the unit goes on with the next one. */
static bool write_unit(struct content *content, struct batch *batch, struct unit *unit)
{
    while (unit->refs_written < unit->ref_count) {
        if (!add_reference(batch, unit))
            return false;
        const char *at = unit->refs.data + unit->refs_at;
        size_t uri = strlen(at) + 1;
        unit->refs_at += uri + strlen(at + uri) + 1;
        unit->refs_written++;
    }
    if (!add_block(batch, unit))
        return false;
    content_forget_refs(content, unit);
    return true;
}

/* ---- the position ---- */

static void put_custom(struct content *content, const struct content_place *place)
{
    const struct content_search *search = &content->search;
    struct text *out = &content->scratch;
    text_clear(out);
    if (place->hash[0] != '\0')
        text_appendf(out, ",\"hash\":\"%s\"", place->hash);
    if (search->words[0] != '\0')
        text_appendf(out, ",\"sought\":\"%s\",\"from\":%" PRIu64, search->words, search->from);
    if (out->len > 0) {
        out->data[0] = '{';
        text_append_char(out, '}');
    }
    snprintf(content->cursor.custom, sizeof content->cursor.custom, "%s", text_string(out));
}

static enum rc add_cursor(struct content *content, struct batch *batch,
                          const struct content_place *place)
{
    struct cursor_state *state = &content->cursor;
    struct err err;
    state->primary = cursor_make_number(CURSOR_BLOCK_NUMBER, (int64_t)place->number, NULL);
    state->total_fetched = (int64_t)content->stored;
    state->updated_ms = content_wall(content) / 1000;
    snprintf(state->provider_name, sizeof state->provider_name, "%s", CONTENT_SOURCE);
    put_custom(content, place);
    state->alternative_count = place->cursor[0] != '\0';
    if (place->cursor[0] != '\0')
        state->alternatives[0] =
            cursor_make_text(CURSOR_PAGE_TOKEN, bytes_of(place->cursor), CONTENT_FEED);
    text_clear(&content->scratch);
    enum rc rc = cursor_state_to_json(state, content->doc, &content->scratch, &err);
    assert(rc == RC_OK);
    struct batch_mark mark = batch_mark(batch);
    struct record *row = batch_add(batch, RECORD_CURSOR);
    if (row == NULL || !batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of(CONTENT_SOURCE)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of(content->settings.stream)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&content->scratch)) ||
        (place->cursor[0] != '\0' &&
         !batch_set_text(batch, row, CURSOR_ROW_OPAQUE, bytes_of(place->cursor)))) {
        batch_undo(batch, mark);
        return RC_AGAIN;
    }
    batch_set_int(row, CURSOR_ROW_POSITION, (int64_t)place->number);
    batch_set_int(row, CURSOR_ROW_AT_US, content_wall(content));
    return RC_OK;
}

/* A batch that has no room leaves it to the next. */
static void add_settled(struct content *content, struct batch *batch, uint64_t number)
{
    uint32_t keep = content->settings.keep;
    if (keep == 0 || number < keep || number - keep <= content->settled)
        return;
    struct record *row = batch_add(batch, RECORD_SETTLED);
    if (row == NULL)
        return;
    batch_set_int(row, SETTLED_FROM, (int64_t)content->settled);
    batch_set_int(row, SETTLED_BEFORE, (int64_t)(number - keep));
    content->settled = number - keep;
}

/* Brings the position up to the first unfinished unit, if all before it fits into the batch. */
static void write_position(struct content *content, struct batch *batch)
{
    struct watermark *wm = &content->watermark;
    uint64_t end;
    if (!watermark_oldest_unfinished(wm, &end))
        end = wm->next;
    for (; content->written < end; content->written++)
        if (!write_unit(content, batch, content_unit(content, content->written)))
            return;
    if (end == wm->staged)
        return;
    const struct unit *last = content_unit(content, end - 1);
    struct content_place place = {.known = true, .number = last->number};
    memcpy(place.hash, last->hash, sizeof place.hash);
    snprintf(place.cursor, sizeof place.cursor, "%.*s", (int)last->cursor.len,
             last->cursor.len > 0 ? last->cursor.data : "");
    if (add_cursor(content, batch, &place) != RC_OK)
        return;
    add_settled(content, batch, place.number);
    bool moved = watermark_stage(wm);
    assert(moved && wm->staged == end);
    content->staging = true;
    content->staged = place;
}

/* One is under way at a time: what comes meanwhile, and the position, wait for it. */
static void send(struct content *content, struct batch *batch)
{
    batch->urgent = true;
    content->sent = batch;
    delivery_send(&content->delivery);
    crashpoint(CRASH_CONTENT_SENT);
}

/* ---- undo: alone in its batch, so that nothing of the old chain comes after it ---- */

/* A process that was killed may have left references of blocks that the position had not passed
 * yet, and those may be other blocks by now. Until the first batch is sent, all that the store has
 * above this block is of that kind. False: no block was taken yet. */
static bool left_above(const struct content *content, int64_t *after)
{
    *after =
        content->committed.known ? (int64_t)content->committed.number : (int64_t)content->first - 1;
    return content->committed.known || content->begun;
}

/* Such references go with the first batch, before what it holds. */
static void sweep(struct content *content, struct batch *batch)
{
    int64_t after;
    if (content->swept || !left_above(content, &after))
        return;
    struct record *row = batch_add(batch, RECORD_UNDO);
    assert(row != NULL); /* the batch was empty */
    batch_set_int(row, UNDO_AFTER, after);
}

static void write_undo(struct content *content, struct batch *batch)
{
    int64_t left, after = (int64_t)content->undo_to.number;
    if (!content->swept && left_above(content, &left) && left < after)
        after = left;
    content->swept = true;
    content_rewind(content);
    struct record *row = batch_add(batch, RECORD_UNDO);
    assert(row != NULL);
    batch_set_int(row, UNDO_AFTER, after);
    bool back = content->committed.known && content->committed.number > content->undo_to.number;
    enum rc rc = back ? add_cursor(content, batch, &content->undo_to) : RC_OK;
    assert(rc == RC_OK); /* the batch was empty */
    content->undo_sent = true;
    send(content, batch);
    crashpoint(CRASH_UNDO_SENT);
}

/* ---- batches ---- */

/* Whether some of what the next unit names is in the store, and the rest had no room beside it. */
static bool is_begun(struct content *content)
{
    return content->written < content->watermark.next &&
           content_unit(content, content->written)->refs_written > 0;
}

/* Without documents a batch only moves the position: that can wait, unless it makes room. */
static bool position_is_due(struct content *content, bool with_documents)
{
    struct runtime *runtime = content->env.runtime;
    int64_t now_us = content_mono(content);
    if (with_documents || content->refused || is_begun(content) || now_us >= content->cursor_due_us)
        return true;
    runtime->ops->timer_arm(runtime, &content->move, content->cursor_due_us - now_us);
    return false;
}

static bool has_work(const struct content *content)
{
    const struct watermark *wm = &content->watermark;
    bool held = content->unusable.waits || content->undoing || content_again_waits(content) ||
                content_reconcile_waits(content) ||
                content->hopeless.count + content->echoes.count + content->held > 0;
    return held || (wm->staged < wm->next && watermark_pending(wm, wm->staged) == 0);
}

void content_write(struct content *content)
{
    if (delivery_is_busy(&content->delivery) || content->stopping || !has_work(content))
        return;
    struct batch *batch = delivery_take(&content->delivery);
    if (batch == NULL)
        return;
    if (content->undoing) {
        write_undo(content, batch);
        return;
    }
    struct batch_mark empty = batch_mark(batch);
    sweep(content, batch);
    uint32_t before = batch->record_count;
    content_again_write(content, batch);
    content_reconcile_write(content, batch);
    write_unusable(content, batch);
    write_documents(content, batch);
    /* What could not be used is durable before the position passes it. */
    if (!content->unusable.waits && position_is_due(content, batch->record_count > before))
        write_position(content, batch);
    if (batch->record_count == before) {
        batch_undo(batch, empty);
        content_reconcile_answered(content, RC_OK);
        return;
    }
    content->swept = content->swept || before > 0;
    content->cursor_due_us = content_mono(content) + CURSOR_ONLY_US;
    send(content, batch);
    content_jobs_pump(content); /* what the batch holds has left its places */
}

static void settle_undo(struct content *content)
{
    content->undo_sent = content->undoing = false;
    if (content->committed.known && content->committed.number > content->undo_to.number)
        content->committed = content->undo_to;
    content->events->undone(content->arg);
}

void content_written(void *arg, enum rc rc)
{
    struct content *content = arg;
    crashpoint(CRASH_CONTENT_STORED);
    owed_answered(&content->owed, content->sent, rc);
    content_again_answered(content, rc);
    if (rc != RC_OK) {
        content_reconcile_answered(content, rc);
        return; /* the program is about to end */
    }
    content_needs_answered(content);
    if (content->staging) {
        bool counted = watermark_commit(&content->watermark, content->watermark.staged,
                                        content->watermark.epoch);
        assert(counted);
        content->committed = content->staged;
        content->staging = false;
    }
    content_reconcile_answered(content, RC_OK);
    if (content->stopping)
        return;
    if (content->undo_sent) {
        crashpoint(CRASH_UNDO_STORED);
        settle_undo(content);
    }
    if (content->refused && !content->undoing) {
        content->refused = false;
        content->events->room(content->arg);
    }
    content_pump(content);
}
