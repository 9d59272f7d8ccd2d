/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_document_fill.h"

#include "base/json.h"
#include "ingest/cursor.h"
#include "source/content.h"
#include "source/delivery.h"
#include "store/row_table.h"
#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE       16 /* documents looked at in one reading */
#define BATCH_BYTES ((size_t)8 << 20)
#define AGAIN_US    INT64_C(200000)
#define SAVE_US     INT64_C(1000000) /* between commits that only say how far it is */
#define STATE_MAX   ((size_t)1 << 16)
#define OWN         "documents" /* whose positions these are */

static const char place_sql[] =
    "SELECT state FROM cursors WHERE source = 'content' AND stream = ?1";
/* Of several spellings of one document, the first is looked at. */
static const char slice_sql[] =
    "SELECT s.seq, s.n, c.canonical, c.data FROM (SELECT seq, n FROM ipfs_cache "
    "WHERE (seq, n) > (?1, ?2) ORDER BY seq, n LIMIT %d) s LEFT JOIN ipfs_cache c ON c.n = s.n "
    "AND NOT c.is_errored AND length(c.data) <= %zu AND NOT EXISTS (SELECT 1 FROM \"%s%s\" d "
    "WHERE d.id = c.canonical) AND NOT EXISTS (SELECT 1 FROM ipfs_cache w "
    "WHERE w.canonical = c.canonical AND w.n < c.n AND NOT w.is_errored) ORDER BY s.seq, s.n";

struct document_fill {
    struct source_env env;
    struct batch_pool *pool;
    struct document_rows *rows;
    char stream[ROW_TABLE_NAME_MAX + 8];
    struct text sql;
    struct json_doc *doc;
    struct cursor_state state; /* as it was read or written last */
    struct text scratch;
    struct delivery delivery;
    struct timer again;
    bool asking, walking, ended, stopping;
    int64_t seq, n;    /* all up to these were looked at */
    int64_t saved_seq; /* as the store has it; -1: nothing is stored */
    int64_t save_due_us;
    uint64_t added;
    bool dry;
    bool wanted, wanted_dry; /* another walk, when this one has ended */
    document_fill_fn *done;  /* NULL: nobody waits */
    void *arg;
};

static void go_on(struct document_fill *fill);

static int64_t mono(const struct document_fill *fill)
{
    return fill->env.runtime->ops->mono_us(fill->env.runtime);
}

static void wait(struct document_fill *fill)
{
    fill->env.runtime->ops->timer_arm(fill->env.runtime, &fill->again, AGAIN_US);
}

static void begin_anew(struct document_fill *fill, bool dry)
{
    fill->dry = dry;
    fill->walking = true;
    fill->wanted = fill->ended = false;
    fill->seq = fill->n = -1;
    fill->added = 0;
    go_on(fill);
}

static void finish(struct document_fill *fill, enum rc rc)
{
    document_fill_fn *done = fill->done;
    fill->walking = false;
    if (rc == RC_OK && fill->added > 0 && !fill->dry)
        log_event(LOG_INFO, "content", "rows_filled",
                  (struct log_field[]){log_int("rows", (int64_t)fill->added), LOG_END});
    if (fill->wanted && rc == RC_OK) {
        begin_anew(fill, fill->wanted_dry);
        return;
    }
    fill->done = NULL;
    if (done != NULL)
        done(fill->arg, rc, fill->added);
}

/* ---- where it stands ---- */

static bool add_place(struct document_fill *fill, struct batch *batch)
{
    struct cursor_state *state = &fill->state;
    struct runtime *runtime = fill->env.runtime;
    int64_t now_us = runtime->ops->wall_us(runtime);
    struct err err;
    *state = (struct cursor_state){.updated_ms = now_us / 1000};
    state->primary = cursor_make_number(CURSOR_SEQ, fill->seq, OWN);
    snprintf(state->provider_name, sizeof state->provider_name, OWN);
    snprintf(state->custom, sizeof state->custom, "{\"n\":%" PRId64 "}", fill->n);
    text_clear(&fill->scratch);
    enum rc rc = cursor_state_to_json(state, fill->doc, &fill->scratch, &err);
    assert(rc == RC_OK);
    struct record *row = batch_add(batch, RECORD_CURSOR);
    if (row == NULL || !batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of(CONTENT_SOURCE)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of(fill->stream)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&fill->scratch)))
        return false;
    batch_set_int(row, CURSOR_ROW_AT_US, now_us);
    return true;
}

static void read_place(struct document_fill *fill, struct bytes json)
{
    struct json root;
    struct err err;
    int64_t n;
    if (cursor_state_from_json(&fill->state, fill->doc, json, &err) != RC_OK ||
        fill->state.primary.kind != CURSOR_SEQ ||
        json_parse_copy(fill->doc, bytes_of(fill->state.custom), &root, &err) != RC_OK ||
        !json_i64(json_get(root, "n"), &n))
        return; /* then from the start: who has a row is passed over */
    fill->seq = fill->saved_seq = fill->state.primary.number;
    fill->n = n;
}

static void take_place(void *arg, const struct lookup_answer *answer)
{
    struct document_fill *fill = arg;
    fill->asking = false;
    if (answer->rc == RC_OK) {
        if (answer->rows > 0)
            read_place(fill, answer->fields[0].b);
        fill->walking = true;
    }
    if (fill->stopping || fill->walking)
        go_on(fill);
    else
        wait(fill);
}

/* ---- documents ---- */

/* How many of the slice's rows were dealt with; the rest is read again. */
static size_t add_rows(struct document_fill *fill, struct batch *batch,
                       const struct lookup_answer *answer)
{
    struct runtime *runtime = fill->env.runtime;
    int64_t now_us = runtime->ops->wall_us(runtime);
    size_t at = 0;
    for (; at < answer->rows; at++) {
        const struct field *row = answer->fields + at * answer->columns;
        uint32_t before = batch->record_count;
        struct batch_mark mark = batch_mark(batch);
        if (!row[2].null) {
            text_clear(&fill->scratch);
            text_append(&fill->scratch, row[2].b.data, row[2].b.len);
            if (!document_rows_add(fill->rows, batch, text_string(&fill->scratch), row[3].b,
                                   now_us) &&
                batch->record_count > 0)
                break; /* alone it fits */
        }
        fill->added += batch->record_count - before;
        if (fill->dry)
            batch_undo(batch, mark);
        fill->seq = row[0].i;
        fill->n = row[1].i;
    }
    return at;
}

/* With the rows; without any now and then, and at the end. */
static bool place_is_due(const struct document_fill *fill, const struct batch *batch)
{
    if (fill->dry)
        return false;
    return batch->record_count > 0 ||
           (fill->seq > fill->saved_seq && (fill->ended || mono(fill) >= fill->save_due_us));
}

static void take_slice(void *arg, const struct lookup_answer *answer)
{
    struct document_fill *fill = arg;
    struct batch *batch = fill->stopping ? NULL : delivery_take(&fill->delivery);
    fill->asking = false;
    if (fill->stopping) {
        go_on(fill);
        return;
    }
    if (batch == NULL)
        return; /* it is called again when there is one */
    if (answer->rc != RC_OK) {
        wait(fill);
        return;
    }
    size_t done = add_rows(fill, batch, answer);
    fill->ended = done == answer->rows && answer->rows < SLICE;
    if (place_is_due(fill, batch) && add_place(fill, batch)) {
        fill->saved_seq = fill->seq;
        fill->save_due_us = mono(fill) + SAVE_US;
        delivery_send(&fill->delivery);
        return;
    }
    go_on(fill);
}

static void go_on(struct document_fill *fill)
{
    struct field place[] = {field_int(fill->seq), field_int(fill->n)};
    if (fill->asking || fill->delivery.under_way)
        return;
    if (fill->stopping || fill->ended) {
        delivery_drop(&fill->delivery);
        finish(fill, fill->stopping ? RC_RETRY : RC_OK);
        return;
    }
    fill->asking = fill->env.ask(fill->env.ask_arg, text_string(&fill->sql), place, 2, take_slice,
                                 fill) == RC_OK;
    if (!fill->asking)
        wait(fill);
}

static void on_stored(void *arg, enum rc rc)
{
    struct document_fill *fill = arg;
    if (rc == RC_OK)
        go_on(fill);
}

static void on_ready(void *arg)
{
    go_on(arg);
}

static void on_again(void *arg)
{
    struct document_fill *fill = arg;
    if (fill->walking)
        go_on(fill);
    else
        document_fill_start(fill);
}

/* ---- its life ---- */

void document_fill_start(struct document_fill *fill)
{
    struct field stream = field_text(bytes_of(fill->stream));
    assert(!fill->walking && !fill->asking);
    fill->asking =
        fill->env.ask(fill->env.ask_arg, place_sql, &stream, 1, take_place, fill) == RC_OK;
    if (!fill->asking)
        wait(fill);
}

void document_fill_again(struct document_fill *fill, bool dry, document_fill_fn *done, void *arg)
{
    assert(fill->done == NULL);
    fill->done = done;
    fill->arg = arg;
    if (fill->stopping) {
        finish(fill, RC_RETRY);
        return;
    }
    fill->wanted = true;
    fill->wanted_dry = dry;
    if (fill->walking || fill->asking)
        return; /* after the one that is under way */
    fill->env.runtime->ops->timer_disarm(fill->env.runtime, &fill->again);
    begin_anew(fill, dry);
}

struct document_fill *document_fill_new(const struct source_env *env, struct document_rows *rows,
                                        const char *collection)
{
    struct document_fill *fill = memory_new_zeroed(1, sizeof *fill);
    fill->env = *env;
    fill->pool = batch_pool_new(1, BATCH_BYTES);
    fill->env.pool = fill->pool;
    fill->rows = rows;
    fill->seq = fill->n = fill->saved_seq = -1;
    fill->again = (struct timer){.fn = on_again, .arg = fill};
    fill->doc = json_doc_new(STATE_MAX, JSON_DEPTH_MAX);
    snprintf(fill->stream, sizeof fill->stream, "rows.%s", collection);
    text_appendf(&fill->sql, slice_sql, SLICE, DOCUMENT_ROW_BYTES_MAX, ROW_TABLE_PREFIX,
                 collection);
    delivery_init(&fill->delivery, &fill->env, on_ready, on_stored, fill);
    return fill;
}

void document_fill_free(struct document_fill *fill)
{
    if (fill == NULL)
        return;
    assert(!fill->asking && !fill->delivery.under_way);
    text_free(&fill->sql);
    text_free(&fill->scratch);
    json_doc_free(fill->doc);
    batch_pool_free(fill->pool);
    free(fill);
}

void document_fill_stop(struct document_fill *fill)
{
    fill->stopping = true;
    fill->env.runtime->ops->timer_disarm(fill->env.runtime, &fill->again);
    if (!fill->asking && !fill->delivery.under_way)
        go_on(fill);
}

bool document_fill_stopped(const struct document_fill *fill)
{
    return fill->stopping && !fill->asking && !fill->delivery.under_way;
}
