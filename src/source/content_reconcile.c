/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE    128 /* rows read at a time, so that no reading is long */
#define AGAIN_US INT64_C(100000)

/* References in their order, and whether each leads to bytes or to somebody who owes them: what
 * verification calls the content's promise, a slice of it. */
static const char references_sql[] =
    "SELECT s.block_number, s.ordinal, s.uri, s.space, CASE WHEN c.uri IS NULL THEN 1 "
    "WHEN c.is_errored AND NOT EXISTS (SELECT 1 FROM ipfs_cache w JOIN owed o "
    "ON o.source = 'content' AND o.stream = ?3 AND o.item = w.uri "
    "WHERE w.uri = c.uri OR w.canonical = c.canonical) THEN 1 ELSE 0 END "
    "FROM (SELECT block_number, ordinal, uri, space FROM document_refs "
    "WHERE (block_number, ordinal) > (?1, ?2) ORDER BY block_number, ordinal LIMIT 128) s "
    "LEFT JOIN ipfs_cache c ON c.uri = s.uri ORDER BY s.block_number, s.ordinal";
static const char debts_sql[] =
    "SELECT id, item, unit, state FROM owed WHERE source = 'content' AND stream = ?2 AND id > ?1 "
    "ORDER BY id LIMIT 128";

/* Debts first: those that references bring about are not counted again. */
enum step { STEP_DEBTS, STEP_REFERENCES, STEP_DONE };

/* One that is to be fetched. */
struct wanted {
    char uri[OWED_ITEM_MAX + 1], unit[OWED_UNIT_MAX + 1], space[CONTENT_SPACE_SIZE];
    bool no_row;
};

struct reconciling {
    content_reconcile_fn *done;
    void *arg;
    bool dry;
    bool asking, sent; /* a slice is being read; some of it lies in a batch */
    struct timer again;
    enum step step;
    int64_t block, ordinal, id; /* the last that were read */
    struct wanted slice[SLICE];
    size_t count, at; /* those from `at` on are in no batch yet */
    struct content_reconciled what;
};

static void read_slice(struct content *content);

static void finish(struct content *content, enum rc rc)
{
    struct runtime *runtime = content->env.runtime;
    struct reconciling *r = content->reconciling;
    content->reconciling = NULL;
    runtime->ops->timer_disarm(runtime, &r->again);
    r->done(r->arg, rc, &r->what);
    free(r);
}

/* ---- what is there ---- */

static void copy_words(char *out, size_t size, const struct field *words)
{
    snprintf(out, size, "%.*s", words->null ? 0 : (int)words->b.len,
             words->null ? "" : words->b.data);
}

static void want(struct reconciling *r, const struct field *uri, const char *unit,
                 const struct field *space)
{
    if (r->dry || uri->b.len > OWED_ITEM_MAX)
        return;
    struct wanted *wanted = &r->slice[r->count++];
    *wanted = (struct wanted){.no_row = space != NULL};
    copy_words(wanted->uri, sizeof wanted->uri, uri);
    snprintf(wanted->unit, sizeof wanted->unit, "%s", unit);
    if (space != NULL)
        copy_words(wanted->space, sizeof wanted->space, space);
}

static void take_reference(struct reconciling *r, const struct field *row)
{
    char digits[DECIMAL_MAX], unit[DECIMAL_MAX];
    r->block = row[0].i;
    r->ordinal = row[1].i;
    r->what.references++;
    if (row[4].i == 0)
        return;
    struct bytes block = decimal_of(r->block, digits);
    r->what.missing++;
    snprintf(unit, sizeof unit, "%.*s", (int)block.len, block.data);
    want(r, &row[2], unit, &row[3]);
}

static void take_debt(struct reconciling *r, const struct field *row)
{
    char unit[OWED_UNIT_MAX + 1];
    r->id = row[0].i;
    *(bytes_equal_string(row[3].b, "dead") ? &r->what.dead : &r->what.owed) += 1;
    copy_words(unit, sizeof unit, &row[2]);
    want(r, &row[1], unit, NULL);
}

static void go_on(struct content *content)
{
    struct reconciling *r = content->reconciling;
    if (content->stopping)
        finish(content, RC_RETRY);
    else if (r->at < r->count)
        content_write(content);
    else if (r->step == STEP_DONE || r->what.more)
        finish(content, RC_OK);
    else
        read_slice(content);
}

static void take_slice(void *arg, const struct lookup_answer *answer)
{
    struct content *content = arg;
    struct reconciling *r = content->reconciling;
    bool references = r->step == STEP_REFERENCES;
    r->asking = false;
    if (answer->rc != RC_OK) {
        finish(content, RC_RETRY);
        return;
    }
    for (size_t i = 0; i < answer->rows; i++)
        (references ? take_reference : take_debt)(r, answer->fields + i * answer->columns);
    if (answer->rows < SLICE)
        r->step++;
    go_on(content);
}

static void read_again(void *arg)
{
    go_on(arg);
}

static void read_slice(struct content *content)
{
    struct reconciling *r = content->reconciling;
    struct runtime *runtime = content->env.runtime;
    struct field stream = field_text(bytes_of(content->settings.stream));
    struct field references[] = {field_int(r->block), field_int(r->ordinal), stream};
    struct field debts[] = {field_int(r->id), stream};
    assert(r->at == r->count && !r->asking);
    r->at = r->count = 0;
    enum rc rc = r->step == STEP_REFERENCES ? content->env.ask(content->env.ask_arg, references_sql,
                                                               references, 3, take_slice, content)
                                            : content->env.ask(content->env.ask_arg, debts_sql,
                                                               debts, 2, take_slice, content);
    r->asking = rc == RC_OK;
    if (!r->asking)
        runtime->ops->timer_arm(runtime, &r->again, AGAIN_US);
}

/* ---- what is done about it ---- */

/* Its row, if there is none, and its debt, or neither. RC_AGAIN: there is no room for it. */
static enum rc write_wanted(struct content *content, struct batch *batch,
                            const struct wanted *wanted)
{
    struct batch_mark mark = batch_mark(batch);
    struct need need = {.place = NEED_FREE};
    uint64_t block;
    if (wanted->no_row) {
        snprintf(need.uri, sizeof need.uri, "%s", wanted->uri);
        snprintf(need.space, sizeof need.space, "%s", wanted->space);
        content_spell(need.uri, &need.cid, need.canonical, NULL);
        need.block = bytes_to_u64(bytes_of(wanted->unit), &block) ? block : 0;
        if (!content_add_missing(batch, &need)) {
            batch_undo(batch, mark);
            return RC_AGAIN;
        }
    }
    enum rc rc = owed_retry(&content->owed, batch, bytes_of(wanted->uri), bytes_of(wanted->unit),
                            content_wall(content));
    if (rc == RC_AGAIN)
        batch_undo(batch, mark);
    return rc;
}

bool content_reconcile_waits(const struct content *content)
{
    const struct reconciling *r = content->reconciling;
    return r != NULL && !r->asking && r->at < r->count;
}

/* What does not fit follows with the next batch; when not even one does, as many are tried already
 * as memory holds, and the rest is left. */
void content_reconcile_write(struct content *content, struct batch *batch)
{
    struct reconciling *r = content->reconciling;
    size_t before;
    if (!content_reconcile_waits(content))
        return;
    for (before = r->at; r->at < r->count; r->at++) {
        enum rc rc = write_wanted(content, batch, &r->slice[r->at]);
        if (rc == RC_AGAIN)
            break;
        r->what.queued += rc == RC_OK;
    }
    if (r->at == before) {
        r->what.more = true;
        r->at = r->count;
    }
    r->sent = true;
}

/* The batch was answered, or there was nothing to send. */
void content_reconcile_answered(struct content *content, enum rc rc)
{
    struct reconciling *r = content->reconciling;
    if (r == NULL || !r->sent)
        return;
    r->sent = false;
    if (rc != RC_OK)
        finish(content, rc);
    else
        go_on(content);
}

void content_reconcile(struct content *content, bool dry, content_reconcile_fn *done, void *arg)
{
    struct reconciling *r = memory_new_zeroed(1, sizeof *r);
    assert(content->reconciling == NULL && done != NULL);
    *r = (struct reconciling){.done = done, .arg = arg, .dry = dry, .block = -1, .ordinal = -1};
    r->again = (struct timer){.fn = read_again, .arg = content};
    content->reconciling = r;
    go_on(content);
}

bool content_reconcile_reads(const struct content *content)
{
    return content->reconciling != NULL && content->reconciling->asking;
}

void content_reconcile_drop(struct content *content)
{
    const struct reconciling *r = content->reconciling;
    if (r != NULL && !r->asking && !r->sent)
        finish(content, RC_RETRY);
}
