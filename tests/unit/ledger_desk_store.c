/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_desk_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct desk_row *find_row(struct ledger_desk *desk, struct bytes id)
{
    for (size_t i = 0; i < desk->row_count; i++)
        if (memcmp(desk->rows[i].id, id.data, EVENT_ID_SIZE) == 0)
            return &desk->rows[i];
    return NULL;
}

static void copy_text(char *out, size_t size, const struct field *field)
{
    snprintf(out, size, "%.*s", field->null ? 0 : (int)field->b.len,
             field->null ? "" : field->b.data);
}

static bool strstr_in(struct field field, const char *part)
{
    return !field.null && memmem(field.b.data, field.b.len, part, strlen(part)) != NULL;
}

static void keep_row(struct ledger_desk *desk, const struct record *record)
{
    const struct field *fields = record->fields;
    struct desk_row *row = find_row(desk, fields[TRANSACTION_EVENT_ID].b);
    bool orphaned = bytes_equal_string(fields[TRANSACTION_STATUS].b, "orphaned");
    if (row == NULL) {
        assert_false(orphaned);
        assert_true(desk->row_count < LEDGER_DESK_ROWS);
        row = &desk->rows[desk->row_count++];
        memcpy(row->id, fields[TRANSACTION_EVENT_ID].b.data, EVENT_ID_SIZE);
        copy_text(row->hash, sizeof row->hash, &fields[TRANSACTION_HASH]);
    }
    copy_text(row->status, sizeof row->status, &fields[TRANSACTION_STATUS]);
    copy_text(row->provider, sizeof row->provider, &fields[TRANSACTION_PROVIDER]);
    if (!orphaned)
        row->block = fields[TRANSACTION_BLOCK].null ? -1 : fields[TRANSACTION_BLOCK].i;
    row->times++;
    row->whole = strstr_in(fields[TRANSACTION_NORMALIZED_DATA], "\"fee\":\"7\"");
    row->part = strstr_in(fields[TRANSACTION_NORMALIZED_DATA], "\"fee\":\"1\"");
}

static void keep_owed(struct ledger_desk *desk, const struct field *fields)
{
    copy_text(desk->owed, sizeof desk->owed, &fields[OWED_ITEM]);
    copy_text(desk->owed_state, sizeof desk->owed_state, &fields[OWED_STATE]);
    if (!fields[OWED_UNIT].null)
        copy_text(desk->owed_unit, sizeof desk->owed_unit, &fields[OWED_UNIT]);
    desk->owed_attempts = fields[OWED_ATTEMPTS].i;
}

/* ---- the form of a batch ---- */

static const struct record *only_one(const struct batch *batch, enum record_id kind)
{
    assert_ptr_equal(batch->first[kind], batch->last[kind]);
    return batch->first[kind];
}

static void note_fields(uint32_t *form, const struct record *record, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *form |= (uint32_t)!record->fields[i].null << i;
}

static void expect_row_form(const struct record *row, struct bytes stream)
{
    const struct field *fields = row->fields;
    bool orphaned = bytes_equal_string(fields[TRANSACTION_STATUS].b, "orphaned");
    assert_true(bytes_equal_string(fields[TRANSACTION_ACCOUNT].b, "chain:me"));
    assert_true(bytes_equal(fields[TRANSACTION_STREAM].b, stream));
    assert_int_equal(fields[TRANSACTION_EVENT_ID].b.len, EVENT_ID_SIZE);
    assert_false(fields[TRANSACTION_PROVIDER].null);
    assert_int_equal(fields[TRANSACTION_PROVIDER_DATA].null, orphaned);
    assert_int_equal(fields[TRANSACTION_NORMALIZED_DATA].null, orphaned);
}

/* R003-19 R003-20: whatever came, a batch of a stream says which one it is, holds its rows, where
 * it stands, and whether that is all: exactly when its cursor says so. */
static void expect_form(struct ledger_desk *desk, const struct batch *batch)
{
    const struct record *cursor = only_one(batch, RECORD_CURSOR);
    const struct record *session = only_one(batch, RECORD_SESSION);
    assert_non_null(session);
    if (session->fields[SESSION_STREAM].null) { /* it opens or closes the import */
        assert_null(cursor);
        assert_null(batch->first[RECORD_TRANSACTION]);
        return;
    }
    struct bytes stream = session->fields[SESSION_STREAM].b;
    assert_non_null(cursor);
    assert_true(bytes_equal_string(stream, "moves"));
    assert_true(bytes_equal_string(cursor->fields[CURSOR_ROW_SOURCE].b, "chain:me"));
    assert_true(bytes_equal(cursor->fields[CURSOR_ROW_STREAM].b, stream));
    assert_false(session->fields[SESSION_COMPLETE].null);
    bool complete = strstr_in(cursor->fields[CURSOR_ROW_STATE], "\"isComplete\":true");
    assert_int_equal(session->fields[SESSION_COMPLETE].i, complete);
    unsigned who = !bytes_equal_string(session->fields[SESSION_PROVIDER].b, "alpha");
    for (struct record *at = batch->first[RECORD_TRANSACTION]; at != NULL; at = at->next) {
        expect_row_form(at, stream);
        note_fields(&desk->forms[who][0], at, TRANSACTION_FIELDS);
    }
    note_fields(&desk->forms[who][1], cursor, CURSOR_ROW_FIELDS);
    note_fields(&desk->forms[who][2], session, SESSION_FIELDS);
}

void ledger_desk_commit(struct ledger_desk *desk, struct batch *batch)
{
    expect_form(desk, batch);
    for (struct record *at = batch->first[RECORD_TRANSACTION]; at != NULL; at = at->next)
        keep_row(desk, at);
    for (struct record *at = batch->first[RECORD_CURSOR]; at != NULL; at = at->next) {
        free(desk->cursor);
        desk->cursor = calloc(1, at->fields[CURSOR_ROW_STATE].b.len + 1);
        memcpy(desk->cursor, at->fields[CURSOR_ROW_STATE].b.data,
               at->fields[CURSOR_ROW_STATE].b.len);
    }
    for (struct record *at = batch->first[RECORD_COVERAGE]; at != NULL; at = at->next)
        if (at->fields[COVERAGE_HI].i > desk->covered)
            desk->covered = at->fields[COVERAGE_HI].i;
    for (struct record *at = batch->first[RECORD_OWED]; at != NULL; at = at->next)
        keep_owed(desk, at->fields);
    for (struct record *at = batch->first[RECORD_QUARANTINE]; at != NULL; at = at->next) {
        copy_text(desk->reason, sizeof desk->reason, &at->fields[QUARANTINE_REASON]);
        desk->quarantined++;
    }
    for (struct record *at = batch->first[RECORD_SESSION]; at != NULL; at = at->next) {
        copy_text(desk->session, sizeof desk->session, &at->fields[SESSION_STATUS]);
        copy_text(desk->error, sizeof desk->error, &at->fields[SESSION_ERROR]);
        desk->skipped += at->fields[SESSION_SKIPPED].null ? 0 : at->fields[SESSION_SKIPPED].i;
        if (!at->fields[SESSION_NONCE].null && at->fields[SESSION_NONCE].i > desk->nonce)
            desk->nonce = at->fields[SESSION_NONCE].i;
    }
    desk->batches++;
}

enum rc ledger_desk_submit(void *arg, struct batch *batch)
{
    struct ledger_desk *desk = arg;
    assert_true(desk->handed_count < 8);
    desk->handed[desk->handed_count++] = batch;
    return RC_OK;
}

enum rc ledger_desk_ask(void *arg, const struct lookup_question *question, lookup_fn *fn,
                        void *fn_arg)
{
    struct ledger_desk *desk = arg;
    assert_true(desk->question_count < 8);
    const char *sql = question->sql;
    bool cursor = strncmp(sql, "SELECT state", 12) == 0;
    bool count = strncmp(sql, "SELECT count", 12) == 0;
    bool nonce = strncmp(sql, "SELECT max(nonce)", 17) == 0;
    desk->questions[desk->question_count].nonce = nonce;
    desk->questions[desk->question_count].owed = strncmp(sql, "SELECT item", 11) == 0;
    desk->questions[desk->question_count].fn = fn;
    desk->questions[desk->question_count].arg = fn_arg;
    desk->questions[desk->question_count].cursor = cursor;
    desk->questions[desk->question_count].count = count;
    desk->questions[desk->question_count++].from =
        cursor || count || nonce ? 0 : question->params[2].i;
    bool owed = desk->questions[desk->question_count - 1].owed;
    assert_int_equal(question->param_count, nonce ? 0 : cursor || count ? 2 : owed ? 6 : 4);
    return RC_OK;
}

static int compare_rows(const void *a, const void *b)
{
    return memcmp(((const struct desk_row *)a)->id, ((const struct desk_row *)b)->id,
                  EVENT_ID_SIZE);
}

static int64_t place_of(const struct ledger_desk *desk, const struct desk_row *row)
{
    return desk->timed ? ledger_desk_time_us(row->block) : row->block;
}

void ledger_desk_answer(struct ledger_desk *desk)
{
    static struct field fields[LEDGER_DESK_ROWS * 4];
    struct lookup_answer answer = {.rc = RC_OK, .fields = fields, .columns = 4};
    struct desk_row *at = desk->rows;
    bool cursor = desk->questions[0].cursor, count = desk->questions[0].count;
    bool owed = desk->questions[0].owed, nonce = desk->questions[0].nonce;
    lookup_fn *fn = desk->questions[0].fn;
    void *arg = desk->questions[0].arg;
    int64_t from = desk->questions[0].from;
    memmove(desk->questions, desk->questions + 1,
            --desk->question_count * sizeof desk->questions[0]);
    if (cursor) {
        answer.columns = 1;
        answer.rows = desk->cursor != NULL;
        fields[0] = field_text(bytes_of(desk->cursor));
    } else if (owed) {
        answer.columns = 3;
        answer.rows = strcmp(desk->owed_state, "new") == 0 || strcmp(desk->owed_state, "owed") == 0;
        fields[0] = field_text(bytes_of(desk->owed));
        fields[1] = field_text(bytes_of(desk->owed_unit));
        fields[2] = field_int(desk->owed_attempts);
    } else if (nonce) {
        answer.columns = answer.rows = 1;
        fields[0] = desk->nonce == 0 ? field_null(FIELD_INT) : field_int(desk->nonce);
    } else if (count) {
        answer.columns = answer.rows = 1;
        fields[0] = field_int((int64_t)desk->row_count);
    } else {
        qsort(desk->rows, desk->row_count, sizeof desk->rows[0], compare_rows);
        for (; at < desk->rows + desk->row_count; at++) {
            if (strcmp(at->status, "orphaned") == 0 ||
                (at->block >= 0 && place_of(desk, at) < from))
                continue;
            struct field *row = &fields[4 * answer.rows++];
            row[0] = field_blob(bytes_make(at->id, EVENT_ID_SIZE));
            row[1] = row[2] = at->block < 0 ? field_null(FIELD_INT) : field_int(place_of(desk, at));
            row[3] = field_text(bytes_of(at->status));
        }
    }
    fn(arg, &answer);
}
