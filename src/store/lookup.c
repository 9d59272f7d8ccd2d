/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lookup.h"

#include "store/key_piece.h"
#include "store/reader_pool.h"
#include "sys/loop.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define QUERY_US_MAX INT64_C(250000)
#define ROOM_MIN     64

/* Fields whose bytes lie one after the other in a text of their own. */
struct fields {
    struct field *items;
    size_t count, room;
    struct text bytes;
    size_t kept_count, kept_len; /* of both, what a new try does not take away */
};

struct ask {
    struct reader_job job;
    struct ask *next; /* free */
    const char *sql;
    struct fields params, found;
    size_t columns, rows, kept_rows, rows_max;
    bool steady, in_pieces;
    struct key_piece piece;
    unsigned late; /* readings in a row that took too long */
    lookup_fn *fn;
    void *arg;
};

struct lookup {
    struct reader_pool *readers;
    struct loop_waker *waker;
    struct ask *free;
    bool closing;
    unsigned count;
    struct ask asks[];
};

static bool has_bytes(const struct field *field)
{
    return !field->null && (field->type == FIELD_TEXT || field->type == FIELD_BLOB);
}

static void fields_clear(struct fields *fields)
{
    fields->count = fields->kept_count = fields->kept_len = 0;
    text_clear(&fields->bytes);
}

static void fields_keep(struct fields *fields)
{
    fields->kept_count = fields->count;
    fields->kept_len = fields->bytes.len;
}

static void fields_back(struct fields *fields)
{
    fields->count = fields->kept_count;
    fields->bytes.len = fields->kept_len;
}

static void fields_add(struct fields *fields, const struct field *field)
{
    if (fields->count == fields->room) {
        fields->room = fields->room == 0 ? ROOM_MIN : fields->room * 2;
        fields->items = memory_resize(fields->items, fields->room * sizeof *fields->items);
    }
    fields->items[fields->count++] = *field;
    if (has_bytes(field))
        text_append(&fields->bytes, field->b.data, field->b.len);
}

/* The bytes have their place now: every field points at its own. */
static void fields_settle(struct fields *fields)
{
    static const char nothing[1] = "";
    size_t at = 0;
    for (size_t i = 0; i < fields->count; i++) {
        struct field *field = &fields->items[i];
        if (!has_bytes(field))
            continue;
        field->b.data = fields->bytes.data == NULL ? nothing : fields->bytes.data + at;
        at += field->b.len;
    }
    assert(at == fields->bytes.len);
}

static struct ask *of(struct reader_job *job)
{
    return (struct ask *)(void *)((char *)job - offsetof(struct ask, job));
}

/* ---- on a reader's thread ---- */

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct ask *ask = arg;
    ask->columns = count;
    if (ask->rows == ask->rows_max)
        return false;
    ask->rows++;
    for (size_t i = 0; i < count; i++)
        fields_add(&ask->found, &columns[i]);
    return true;
}

static enum rc work(struct reader_job *job, struct store *store, struct err *err)
{
    struct ask *ask = of(job);
    fields_back(&ask->found);
    ask->rows = ask->kept_rows;
    enum rc rc =
        store_query(store, ask->sql, ask->params.items, ask->params.count, take_row, ask, err);
    if (rc == RC_OK && ask->rows > LOOKUP_ROWS_MAX)
        rc = err_set(err, RC_REJECT, "more than %d rows answer \"%s\"", LOOKUP_ROWS_MAX, ask->sql);
    return rc;
}

/* ---- on the loop ---- */

static enum rc hand_over(struct lookup *lookup, struct ask *ask)
{
    char room[KEY_PIECE_KEY_MAX];
    fields_back(&ask->params);
    if (ask->in_pieces) {
        const struct field first = field_blob(key_piece_first(&ask->piece, room));
        fields_add(&ask->params, &first);
        const struct field end = field_blob(key_piece_end(&ask->piece, room));
        fields_add(&ask->params, &end);
    }
    fields_settle(&ask->params);
    return reader_pool_submit(lookup->readers, &ask->job);
}

/* False: it has its answer. */
static bool ask_on(struct lookup *lookup, struct ask *ask)
{
    if (ask->job.rc == RC_AGAIN && ask->steady && ++ask->late < LOOKUP_TRIES_MAX) {
        key_piece_halve(&ask->piece);
        return hand_over(lookup, ask) == RC_OK;
    }
    if (ask->job.rc != RC_OK || !ask->in_pieces || ask->rows == ask->rows_max ||
        !key_piece_next(&ask->piece))
        return false;
    ask->late = 0;
    fields_keep(&ask->found);
    ask->kept_rows = ask->rows;
    return hand_over(lookup, ask) == RC_OK;
}

static void tell(struct lookup *lookup, struct ask *ask)
{
    struct lookup_answer answer = {.rc = ask->job.rc, .err = ask->job.err};
    if (answer.rc == RC_OK) {
        fields_settle(&ask->found);
        answer.fields = ask->found.items;
        answer.columns = ask->columns;
        answer.rows = ask->rows;
    } else if (!ask->job.begun) {
        answer.rc = err_set(&answer.err, RC_AGAIN, "the program is stopping");
    }
    ask->fn(ask->arg, &answer);
    ask->next = lookup->free;
    lookup->free = ask;
}

static void deliver(void *arg)
{
    struct lookup *lookup = arg;
    for (struct reader_job *job; (job = reader_pool_take(lookup->readers)) != NULL;)
        if (!ask_on(lookup, of(job)))
            tell(lookup, of(job));
}

/* Reader's thread. */
static void pass_on(void *arg)
{
    struct lookup *lookup = arg;
    loop_waker_wake(lookup->waker);
}

struct lookup *lookup_new(struct loop *loop, const char *store_url, unsigned asks_max)
{
    assert(loop != NULL && asks_max > 0);
    struct lookup *lookup = memory_new_zeroed(1, sizeof *lookup + asks_max * sizeof(struct ask));
    struct reader_options options = {
        .store_url = store_url, .threads = 1, .jobs_max = asks_max, .query_us_max = QUERY_US_MAX};
    lookup->count = asks_max;
    for (unsigned i = 0; i < asks_max; i++) {
        lookup->asks[i].job.work = work;
        lookup->asks[i].next = lookup->free;
        lookup->free = &lookup->asks[i];
    }
    lookup->waker = loop_waker_new(loop, deliver, lookup);
    lookup->readers = reader_pool_start(&options, pass_on, lookup);
    return lookup;
}

void lookup_free(struct lookup *lookup)
{
    lookup->closing = true; /* who is told now may want to ask again */
    reader_pool_stop(lookup->readers);
    deliver(lookup);
    reader_pool_free(lookup->readers);
    loop_waker_free(lookup->waker);
    for (unsigned i = 0; i < lookup->count; i++) {
        struct fields *both[] = {&lookup->asks[i].params, &lookup->asks[i].found};
        for (size_t k = 0; k < 2; k++) {
            free(both[k]->items);
            text_free(&both[k]->bytes);
        }
    }
    free(lookup);
}

static enum rc submit(struct lookup *lookup, const struct lookup_question *question, bool steady,
                      lookup_fn *fn, void *arg)
{
    assert(question->param_count + 2U * question->in_pieces <= LOOKUP_PARAMS_MAX && fn != NULL);
    assert(question->rows_max <= LOOKUP_ROWS_MAX);
    struct ask *ask = lookup->free;
    if (ask == NULL || lookup->closing)
        return RC_AGAIN;
    ask->sql = question->sql;
    ask->fn = fn;
    ask->arg = arg;
    ask->steady = steady;
    ask->in_pieces = question->in_pieces;
    ask->rows_max = question->rows_max > 0 ? question->rows_max : LOOKUP_ROWS_MAX + 1;
    ask->piece = key_piece_all();
    ask->columns = ask->kept_rows = ask->late = 0;
    fields_clear(&ask->found);
    fields_clear(&ask->params);
    for (size_t i = 0; i < question->param_count; i++)
        fields_add(&ask->params, &question->params[i]);
    fields_keep(&ask->params);
    enum rc rc = hand_over(lookup, ask);
    if (rc == RC_OK)
        lookup->free = ask->next;
    return rc;
}

enum rc lookup_ask(struct lookup *lookup, const char *sql, const struct field *params,
                   size_t param_count, lookup_fn *fn, void *arg)
{
    const struct lookup_question question = {
        .sql = sql, .params = params, .param_count = param_count};
    return submit(lookup, &question, false, fn, arg);
}

enum rc lookup_ask_steadily(struct lookup *lookup, const struct lookup_question *question,
                            lookup_fn *fn, void *arg)
{
    return submit(lookup, question, true, fn, arg);
}
