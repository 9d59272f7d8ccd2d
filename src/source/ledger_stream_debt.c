/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are stored without what their provider could not tell. Each is remembered with its
 * position; a later run begins low enough to be shown them again, asks for their details once more
 * and replaces what is stored. One that fails again waits longer each time, and is dead in the
 * end. */
#include "source/ledger_stream_steps.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define AGAIN_US_MIN INT64_C(3600000000)
#define ATTEMPTS_MAX 8
#define AGAIN_US_MAX (AGAIN_US_MIN << (ATTEMPTS_MAX - 1))

static bool has_details(const struct ledger_stream *stream)
{
    const struct ledger_platform *platform = stream->run->platform;
    for (int i = 0; i < platform->group.count; i++) {
        const struct connector_stream *shape =
            connector_stream(platform->members[i]->connector, bytes_of(stream->name));
        if (shape != NULL && shape->detail.given)
            return true;
    }
    return false;
}

enum rc ledger_stream_ask_debts(struct ledger_stream *stream, lookup_fn *loaded)
{
    static const char sql[] =
        "SELECT item, unit, attempts FROM owed WHERE source = ?1 AND stream = ?2 "
        "AND ((state = 'owed' AND (next_us <= ?3 OR next_us > ?6)) OR item = ?5) "
        "ORDER BY CASE WHEN item = ?5 THEN 0 ELSE 1 END, next_us, item LIMIT ?4";
    const struct source_env *env = stream->run->env;
    int64_t now_us = ledger_stream_wall(stream);
    /* Nothing is put off for longer than ?6: such a row is from before the clock was set back. */
    const struct field params[] = {field_text(bytes_of(stream->run->account)),
                                   field_text(bytes_of(stream->name)),
                                   field_int(now_us),
                                   field_int(LEDGER_DEBTS_MAX),
                                   stream->run->owed == NULL
                                       ? field_null(FIELD_TEXT)
                                       : field_text(bytes_of(stream->run->owed)),
                                   field_int(now_us + AGAIN_US_MAX)};
    const struct lookup_question question = {.sql = sql, .params = params, .param_count = 6};
    const struct lookup_answer none = {.rc = RC_OK};
    if (has_details(stream))
        return env->ask_steadily(env->ask_arg, &question, loaded, stream);
    loaded(stream, &none);
    return RC_OK;
}

void ledger_stream_take_debts(struct ledger_stream *stream, const struct lookup_answer *answer)
{
    assert(answer->rows <= LEDGER_DEBTS_MAX);
    for (size_t i = 0; i < answer->rows; i++) {
        const struct field *fields = &answer->fields[i * answer->columns];
        struct ledger_debt *debt = &stream->debts[stream->debt_count];
        *debt = (struct ledger_debt){.attempts = fields[2].i};
        if (fields[0].b.len >= sizeof debt->key || fields[1].null ||
            !bytes_to_i64(fields[1].b, &debt->position))
            continue;
        memcpy(debt->key, fields[0].b.data, fields[0].b.len);
        stream->debt_count++;
    }
}

int64_t ledger_stream_debts_from(const struct ledger_stream *stream, int64_t otherwise)
{
    int64_t from = otherwise;
    for (size_t i = 0; i < stream->debt_count; i++)
        if (stream->debts[i].position < from)
            from = stream->debts[i].position;
    return from;
}

struct ledger_debt *ledger_stream_debt(struct ledger_stream *stream, struct bytes key)
{
    for (size_t i = 0; i < stream->debt_count; i++)
        if (bytes_equal_string(key, stream->debts[i].key))
            return &stream->debts[i];
    return NULL;
}

void ledger_stream_owe(struct ledger_stream *stream, const struct ledger_detail *detail)
{
    struct bytes key = connector_detail_key(stream->shape, detail->record);
    struct ledger_debt *debt = ledger_stream_debt(stream, key);
    stream->view.owed++;
    if (debt != NULL) {
        debt->failed = true;
        return;
    }
    text_appendf(&stream->owed, "%" PRId64 "%c", detail->position, '\0');
    text_append(&stream->owed, key.data, key.len);
    text_append_char(&stream->owed, '\0');
}

static struct record *add(struct ledger_stream *stream, struct batch *batch, const char *key,
                          const char *position, const char *state)
{
    struct record *row = batch_add(batch, RECORD_OWED);
    bool fits = row != NULL &&
                batch_set_text(batch, row, OWED_SOURCE, bytes_of(stream->run->account)) &&
                batch_set_text(batch, row, OWED_STREAM, bytes_of(stream->name)) &&
                batch_set_text(batch, row, OWED_ITEM, bytes_of(key)) &&
                batch_set_text(batch, row, OWED_STATE, bytes_of(state)) &&
                batch_set_text(batch, row, OWED_REASON, bytes_of("its details were not to be had"));
    if (fits && position != NULL)
        fits = batch_set_text(batch, row, OWED_UNIT, bytes_of(position));
    if (!fits)
        return NULL;
    batch_set_int(row, OWED_ATTEMPTS, 1);
    batch_set_int(row, OWED_NEXT_US, ledger_stream_wall(stream));
    batch_set_int(row, OWED_AT_US, ledger_stream_wall(stream));
    return row;
}

/* An old debt that is paid, or not to be had once more. */
static bool tell_debt(struct ledger_stream *stream, struct batch *batch, struct ledger_debt *debt)
{
    int64_t attempts = debt->attempts + debt->failed;
    const char *state = !debt->failed ? "done" : attempts >= ATTEMPTS_MAX ? "dead" : "owed";
    struct record *row = add(stream, batch, debt->key, NULL, state);
    if (row == NULL)
        return false;
    batch_set_int(row, OWED_ATTEMPTS, attempts);
    batch_set_int(row, OWED_NEXT_US,
                  ledger_stream_wall(stream) + AGAIN_US_MIN * (INT64_C(1) << (attempts & 15)));
    debt->told = true;
    return true;
}

bool ledger_stream_add_owed(struct ledger_stream *stream, struct batch *batch)
{
    const char *end = stream->owed.data + stream->owed.len;
    for (const char *position = stream->owed.data; position < end;) {
        const char *key = position + strlen(position) + 1;
        if (add(stream, batch, key, position, "new") == NULL)
            return false;
        position = key + strlen(key) + 1;
    }
    text_clear(&stream->owed);
    for (size_t i = 0; i < stream->debt_count; i++) {
        struct ledger_debt *debt = &stream->debts[i];
        if (!debt->told && (debt->stored || debt->failed) && !tell_debt(stream, batch, debt))
            return false;
    }
    return true;
}

void ledger_stream_drop_payments(struct ledger_stream *stream)
{
    text_clear(&stream->owed);
    for (size_t i = 0; i < stream->debt_count; i++)
        if (!stream->debts[i].told)
            stream->debts[i].stored = stream->debts[i].paid = false;
}
