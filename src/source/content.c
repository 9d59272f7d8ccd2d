/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_AGAIN_US INT64_C(1000000)
#define STATE_MAX      ((size_t)1 << 16)
#define NAMED_MAX      ((size_t)32 << 20) /* bytes of references; one block may be beyond it */

static const char place_sql[] =
    "SELECT state FROM cursors WHERE source = 'content' AND stream = ?1 AND position IS NOT NULL";

static void name_on(struct content *content);

void content_pump(struct content *content)
{
    if (content->stopping || !content->started)
        return;
    name_on(content);
    content_needs_check(content);
    content_jobs_pump(content);
    content_write(content);
}

static void copy_words(struct bytes words, char *out, size_t size)
{
    assert(words.len < size);
    snprintf(out, size, "%.*s", (int)words.len, words.len > 0 ? words.data : "");
}

/* ---- where the store stands ---- */

static void read_cursor(struct content *content);
static void read_search(struct content *content, struct json custom);

static void read_place(struct content *content, struct bytes state)
{
    struct err err;
    struct json root;
    if (cursor_state_from_json(&content->cursor, content->doc, state, &err) != RC_OK ||
        content->cursor.primary.kind != CURSOR_BLOCK_NUMBER)
        return; /* as after a reset: the documents are there still */
    content->committed =
        (struct content_place){.known = true, .number = (uint64_t)content->cursor.primary.number};
    read_cursor(content);
    if (json_parse_copy(content->doc, bytes_of(content->cursor.custom), &root, &err) != RC_OK)
        return;
    struct bytes hash = json_string_or_absent(json_get(root, "hash"));
    copy_words(hash, content->committed.hash, sizeof content->committed.hash);
    read_search(content, root);
}

/* Who searches for the same from a later block on has still begun with the earlier one. */
static void read_search(struct content *content, struct json custom)
{
    struct content_search *search = &content->committed.search;
    struct bytes words = json_string_or_absent(json_get(custom, "sought"));
    if (words.len == 0 || words.len > CONTENT_SEARCH_MAX ||
        !json_u64(json_get(custom, "from"), &search->from))
        return;
    copy_words(words, search->words, sizeof search->words);
    if (search->from < content->search.from)
        content->search.from = search->from;
}

static void read_cursor(struct content *content)
{
    for (unsigned i = 0; i < content->cursor.alternative_count; i++) {
        const struct cursor *other = &content->cursor.alternatives[i];
        if (other->kind == CURSOR_PAGE_TOKEN && strcmp(other->provider, CONTENT_FEED) == 0)
            copy_words(bytes_of(other->text), content->committed.cursor,
                       sizeof content->committed.cursor);
    }
}

static void take_place(void *arg, const struct lookup_answer *answer)
{
    struct content *content = arg;
    content->starting = false;
    if (content->stopping)
        return;
    if (answer->rc != RC_OK) {
        content->env.runtime->ops->timer_arm(content->env.runtime, &content->wake, START_AGAIN_US);
        return;
    }
    if (answer->rows > 0)
        read_place(content, answer->fields[0].b);
    content->stored = (uint64_t)content->cursor.total_fetched;
    content->started = true;
    content->events->started(content->arg, &content->committed);
    content_pump(content);
}

void content_search_for(struct content *content, const struct content_search *search)
{
    assert(!content->started && !content->starting);
    content->search = *search;
}

void content_start(struct content *content)
{
    struct field params[] = {field_text(bytes_of(content->settings.stream))};
    content->starting = true;
    if (content->env.ask(content->env.ask_arg, place_sql, params, 1, take_place, content) != RC_OK)
        take_place(content, &(struct lookup_answer){.rc = RC_AGAIN});
}

/* ---- blocks ---- */

static bool names_before(const struct content_block *block, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (bytes_equal(block->refs[i].name, block->refs[at].name))
            return true;
    return false;
}

static void fill_unit(struct content *content, struct unit *unit, const struct content_block *block)
{
    text_free(&unit->cursor);
    *unit = (struct unit){.number = block->number, .ref_count = (uint32_t)block->ref_count};
    copy_words(block->hash, unit->hash, sizeof unit->hash);
    copy_words(block->parent, unit->parent, sizeof unit->parent);
    if (block->cursor.len > 0)
        text_append(&unit->cursor, block->cursor.data, block->cursor.len);
    for (size_t i = 0; i < block->ref_count; i++) {
        const struct content_ref *ref = &block->refs[i];
        text_append_string(&unit->refs, IPFS_URI_SCHEME);
        text_append(&unit->refs, ref->name.data, ref->name.len);
        text_append_char(&unit->refs, '\0');
        if (ref->space.len > 0)
            text_append(&unit->refs, ref->space.data, ref->space.len);
        text_append_char(&unit->refs, '\0');
    }
    content->named_bytes += unit->refs.len;
}

void content_forget_refs(struct content *content, struct unit *unit)
{
    assert(content->named_bytes >= unit->refs.len);
    content->named_bytes -= unit->refs.len;
    text_free(&unit->refs);
}

/* How many documents the block names, each counted once. */
static uint32_t count_names(const struct content_block *block)
{
    uint32_t count = 0;
    for (size_t i = 0; i < block->ref_count; i++)
        count += !names_before(block, i);
    return count;
}

static enum rc refuse(struct content *content)
{
    content->refused = true;
    content_write(content); /* a position that waits makes room */
    return RC_AGAIN;
}

/* Whoever may write to the chain decides how much one block names: nothing of it is refused, it
 * takes its time. A document that is named again is one more wish for the same. */
static void name_on(struct content *content)
{
    struct naming *naming = &content->naming;
    if (naming->left == 0)
        return;
    const struct unit *unit = content_unit(content, naming->ticket.ord);
    for (; naming->left > 0 && content_needs_room(content, 1); naming->left--) {
        const char *uri = unit->refs.data + naming->at, *space = uri + strlen(uri) + 1;
        struct content_ref ref = {.name = bytes_of(uri + sizeof IPFS_URI_SCHEME - 1),
                                  .space = bytes_of(space)};
        content_need(content, &ref, unit->number, &naming->ticket);
        naming->at += (size_t)(space - uri) + strlen(space) + 1;
    }
}

/* Whether the units under way hold as much as they may; one alone may be of any size. */
static bool is_full(const struct content *content)
{
    const struct watermark *wm = &content->watermark;
    return content->naming.left > 0 || (content->named_bytes >= NAMED_MAX && wm->next > wm->base);
}

enum rc content_take(struct content *content, const struct content_block *block)
{
    struct watermark *wm = &content->watermark;
    struct watermark_ticket ticket;
    assert(content->started && !content->stopping);
    assert(block->ref_count < UINT32_MAX);
    if (content->undoing)
        return RC_AGAIN;
    if (!content->begun)
        content->first = block->number;
    content->begun = true;
    assert(block->number == content->first + wm->next);
    bool many = block->ref_count > CONTENT_NAMES_AT_ONCE;
    uint32_t names = many ? (uint32_t)block->ref_count : count_names(block);
    uint64_t ord = wm->next;
    if (is_full(content) || !content_needs_room(content, many ? 1 : names) ||
        watermark_admit(wm, names, 0, &ticket) != RC_OK)
        return refuse(content);
    fill_unit(content, content_unit(content, ord), block);
    if (many)
        content->naming = (struct naming){.ticket = ticket, .left = names};
    for (size_t i = 0; !many && i < block->ref_count; i++)
        if (!names_before(block, i))
            content_need(content, &block->refs[i], block->number, &ticket);
    content_pump(content);
    return RC_OK;
}

void content_rewind(struct content *content)
{
    struct watermark *wm = &content->watermark;
    uint64_t after = content->undo_to.number;
    uint64_t ord = after + 1 < content->first ? 0 : after + 1 - content->first;
    if (!content->begun || ord >= wm->next) {
        /* Below where this process began, nothing of it is left: the next block begins anew. */
        content->begun = content->begun && ord == wm->next && after + 1 >= content->first;
        return;
    }
    for (uint64_t at = ord > wm->base ? ord : wm->base; at < wm->next; at++)
        content_forget_refs(content, content_unit(content, at));
    if (content->naming.ticket.ord >= ord)
        content->naming.left = 0;
    content_needs_forget(content, ord);
    watermark_undo(wm, ord);
    if (content->written > ord)
        content->written = ord;
    if (after + 1 < content->first)
        content->first = after + 1;
}

void content_undo(struct content *content, uint64_t after, struct bytes hash, struct bytes cursor)
{
    assert(content->started && !content->undoing);
    content->undoing = true;
    content->undo_to = (struct content_place){.known = true, .number = after};
    copy_words(hash, content->undo_to.hash, sizeof content->undo_to.hash);
    copy_words(cursor, content->undo_to.cursor, sizeof content->undo_to.cursor);
    content_write(content);
}

enum rc content_quarantine(struct content *content, struct bytes raw, uint64_t size,
                           const char *reason)
{
    struct unusable *unusable = &content->unusable;
    assert(content->started && !content->stopping);
    if (unusable->waits)
        return refuse(content);
    unusable->waits = true;
    unusable->size = size;
    text_clear(&unusable->raw);
    text_append(&unusable->raw, raw.data, raw.len);
    snprintf(unusable->reason, sizeof unusable->reason, "%s", reason);
    content_write(content);
    return RC_OK;
}

/* ---- its life ---- */

static void on_ready(void *arg)
{
    content_write(arg);
}

static void on_wake(void *arg)
{
    struct content *content = arg;
    if (content->started)
        content_pump(content);
    else
        content_start(content);
}

struct content *content_new(const struct source_env *env, struct gateways *gateways,
                            const struct content_settings *settings,
                            const struct content_events *events, void *arg)
{
    struct content *content = memory_new_zeroed(1, sizeof *content);
    assert(settings->concurrency > 0 && settings->concurrency <= CONTENT_CONCURRENCY_MAX);
    content->env = *env;
    content->gateways = gateways;
    content->settings = *settings;
    if (settings->needs_max == 0)
        content->settings.needs_max = CONTENT_NEEDS_MAX;
    content->events = events;
    content->arg = arg;
    content->seed = content_random(content);
    content->wake = content->check_again = content->owe =
        (struct timer){.fn = on_wake, .arg = content};
    content->move = (struct timer){.fn = on_ready, .arg = content};
    content->doc = json_doc_new(STATE_MAX, JSON_DEPTH_MAX);
    content->units = memory_new_zeroed(settings->span, sizeof *content->units);
    content->jobs = memory_new_zeroed(CONTENT_JOBS_MAX, sizeof *content->jobs);
    watermark_init(&content->watermark, settings->span);
    quarantine_init(&content->quarantine, CONTENT_SOURCE);
    owed_init(&content->owed, &(struct owed_settings){.source = CONTENT_SOURCE,
                                                      .stream = settings->stream,
                                                      .items_max = settings->owed_max,
                                                      .concurrency = settings->concurrency,
                                                      .seed = content_random(content)});
    delivery_init(&content->delivery, &content->env, on_ready, content_written, content);
    content_needs_init(content);
    return content;
}

void content_tune(struct content *content, uint32_t concurrency)
{
    assert(concurrency > 0 && concurrency <= CONTENT_CONCURRENCY_MAX);
    content->settings.concurrency = concurrency;
    owed_tune(&content->owed, concurrency);
    content_pump(content);
}

static bool is_idle(const struct content *content)
{
    return !content->delivery.under_way && !content->checking_now && !content->loading &&
           !content->starting && !content_reconcile_reads(content);
}

void content_free(struct content *content)
{
    if (content == NULL)
        return;
    assert(is_idle(content));
    for (uint32_t i = 0; i < content->settings.span; i++) {
        text_free(&content->units[i].refs);
        text_free(&content->units[i].cursor);
    }
    text_free(&content->unusable.raw);
    content_needs_deinit(content);
    owed_deinit(&content->owed);
    watermark_deinit(&content->watermark);
    json_doc_free(content->doc);
    text_free(&content->scratch);
    free(content->units);
    free(content->jobs);
    free(content);
}

void content_stop(struct content *content)
{
    content->stopping = true;
    content_jobs_stop(content);
    content->env.runtime->ops->timer_disarm(content->env.runtime, &content->move);
    delivery_drop(&content->delivery);
    content_again_drop(content);
    content_reconcile_drop(content);
}

bool content_stopped(const struct content *content)
{
    return content->stopping && is_idle(content);
}

void content_look(const struct content *content, struct content_view *view)
{
    const struct watermark *wm = &content->watermark;
    *view = (struct content_view){
        .committed = content->committed,
        .received = content->begun && content->first + wm->next > 0 ? content->first + wm->next - 1
                                                                    : content->committed.number,
        .units = watermark_lag(wm),
        .waiting = content->checking.count + content->waiting.count + content->aside.count,
        .fetching = content->running,
        .stored = content->stored,
        .failed = content->failed,
        .owed = content->owed.count,
    };
}
