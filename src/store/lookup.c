/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lookup.h"

#include "store/reader_pool.h"
#include "sys/loop.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define QUERY_US_MAX  INT64_C(250000)
#define PATIENT_TRIES 3 /* more: 1, 4 and 16 s */
#define ROOM_MIN      64

/* Fields whose bytes lie one after the other in a text of their own. */
struct fields {
    struct field *items;
    size_t count, room;
    struct text bytes;
};

struct ask {
    struct reader_job job;
    struct ask *next; /* free */
    const char *sql;
    struct fields params, found;
    size_t columns, rows;
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
    fields->count = 0;
    text_clear(&fields->bytes);
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
    if (ask->rows++ == LOOKUP_ROWS_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        fields_add(&ask->found, &columns[i]);
    return true;
}

static enum rc work(struct reader_job *job, struct store *store, struct err *err)
{
    struct ask *ask = of(job);
    fields_clear(&ask->found);
    ask->columns = ask->rows = 0;
    enum rc rc =
        store_query(store, ask->sql, ask->params.items, ask->params.count, take_row, ask, err);
    if (rc == RC_OK && ask->rows > LOOKUP_ROWS_MAX)
        rc = err_set(err, RC_REJECT, "more than %d rows answer \"%s\"", LOOKUP_ROWS_MAX, ask->sql);
    return rc;
}

/* ---- on the loop ---- */

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

static enum rc submit(struct lookup *lookup, unsigned more_tries, const char *sql,
                      const struct field *params, size_t param_count, lookup_fn *fn, void *arg)
{
    assert(param_count <= LOOKUP_PARAMS_MAX && fn != NULL);
    struct ask *ask = lookup->free;
    if (ask == NULL || lookup->closing)
        return RC_AGAIN;
    ask->job.more_tries = more_tries;
    ask->sql = sql;
    ask->fn = fn;
    ask->arg = arg;
    fields_clear(&ask->params);
    for (size_t i = 0; i < param_count; i++)
        fields_add(&ask->params, &params[i]);
    fields_settle(&ask->params);
    enum rc rc = reader_pool_submit(lookup->readers, &ask->job);
    if (rc == RC_OK)
        lookup->free = ask->next;
    return rc;
}

enum rc lookup_ask(struct lookup *lookup, const char *sql, const struct field *params,
                   size_t param_count, lookup_fn *fn, void *arg)
{
    return submit(lookup, 0, sql, params, param_count, fn, arg);
}

enum rc lookup_ask_patiently(struct lookup *lookup, const char *sql, const struct field *params,
                             size_t param_count, lookup_fn *fn, void *arg)
{
    return submit(lookup, PATIENT_TRIES, sql, params, param_count, fn, arg);
}
