/* SPDX-License-Identifier: Apache-2.0 */
#include "query/explain.h"
#include "query/handle_ask.h"
#include "query/handle_shelf.h"
#include "serve/routes.h"
#include "serve/tail_watch.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ENVELOPE_ROOM 512 /* what stands around the items of most pages */

static int64_t now_us(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    return runtime->ops->wall_us(runtime);
}

/* 0 when it is left out. */
static bool take_page_size(struct json value, unsigned *page_size, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    int64_t size = 0;
    *page_size = 0;
    if (type == JSON_ABSENT || type == JSON_NULL)
        return true;
    if (type != JSON_INT && type != JSON_UINT) {
        refusal_set(refusal, REFUSAL_BAD_REQUEST, "pageSize is a whole number");
        return false;
    }
    if (!json_i64(value, &size) || size < 1 || size > COLLECTION_PAGE_SIZE_MAX) {
        refusal_set(refusal, REFUSAL_LIMIT_RANGE, "pageSize is from 1 to %d",
                    COLLECTION_PAGE_SIZE_MAX);
        return false;
    }
    *page_size = (unsigned)size;
    return true;
}

static bool take_flag(struct json root, const char *name, bool *flag, struct refusal *refusal)
{
    struct json value = json_get(root, name);
    enum json_type type = json_type(value);
    *flag = false;
    if (type == JSON_ABSENT || type == JSON_NULL || json_bool(value, flag))
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "%s is true or false", name);
    return false;
}

/* ---- query-open ---- */

struct open_call {
    struct handle_state wanted; /* until it has a handle */
    struct handle *handle;      /* from begin to finish */
    struct handle_opening question;
    struct text around; /* the question's bytes */
    int64_t min_seq;
    bool explained;
};

static void free_open(void *data)
{
    struct open_call *call = data;
    handle_state_forget(&call->wanted);
    text_free(&call->around);
    free(call);
}

static bool take_count(struct json value, struct open_call *call, struct refusal *refusal)
{
    struct bytes word = json_string_or_absent(value);
    enum json_type type = json_type(value);
    call->wanted.opening.kind = bytes_equal_string(word, "none") ? COUNT_NONE : COUNT_EXACT;
    call->question.exact = bytes_equal_string(word, "exact");
    if (type == JSON_ABSENT || type == JSON_NULL || call->question.exact ||
        call->wanted.opening.kind == COUNT_NONE)
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "count is \"exact\", \"none\" or left out");
    return false;
}

static bool take_order(struct json root, struct handle_state *wanted, struct refusal *refusal)
{
    bool scan;
    if (!take_flag(root, "allowScan", &scan, refusal) ||
        order_parse(wanted->collection, json_get(root, "orderBy"), &wanted->order, refusal) !=
            RC_OK)
        return false;
    if (scan ||
        order_index(wanted->collection, &wanted->order, filter_fixed(wanted->filter)) != NULL)
        return true;
    refusal_set(refusal, REFUSAL_NO_INDEX,
                "no index of %s has this order: choose another, or set allowScan to true",
                wanted->collection->name);
    return false;
}

/* An id is a string; a number is taken for the string that it is written as. */
static bool take_around(struct json value, struct open_call *call, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    if (type == JSON_ABSENT || type == JSON_NULL)
        return true;
    if (type != JSON_STRING && type != JSON_INT) {
        refusal_set(refusal, REFUSAL_BAD_REQUEST, "around is the id of a row");
        return false;
    }
    struct bytes id = json_string_or_absent(value);
    if (type == JSON_STRING)
        text_append(&call->around, id.data, id.len);
    else
        json_print(value, &call->around);
    call->question.around = bytes_make(text_string(&call->around), call->around.len);
    return true;
}

static bool parse_open(struct collections *collections, struct json root, struct open_call *call,
                       struct refusal *refusal)
{
    struct handle_state *wanted = &call->wanted;
    struct bytes name;
    if (!json_string(json_get(root, "collection"), &name)) {
        refusal_set(refusal, REFUSAL_BAD_REQUEST, "query-open needs a collection");
        return false;
    }
    wanted->collection = collections_find(collections, name);
    if (wanted->collection == NULL) {
        collections_refuse(collections, name, refusal);
        return false;
    }
    if (filter_parse(wanted->collection, json_get(root, "filter"), &wanted->filter, refusal) !=
            RC_OK ||
        !take_page_size(json_get(root, "pageSize"), &wanted->page_size, refusal) ||
        !take_count(json_get(root, "count"), call, refusal) ||
        !take_around(json_get(root, "around"), call, refusal) ||
        !take_flag(root, "explain", &call->explained, refusal) ||
        !take_order(root, wanted, refusal))
        return false;
    if (wanted->page_size == 0)
        wanted->page_size = wanted->collection->page_size;
    return true;
}

void query_open_begin(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    struct json root;
    struct open_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free_open;
    if (!request_parse_body(request, &root))
        return;
    const uint64_t random[2] = {runtime->ops->random(runtime), runtime->ops->random(runtime)};
    memcpy(call->wanted.session, request->session, HANDLE_SESSION_SIZE);
    if (!request_take_min_seq(request, root, &call->min_seq) ||
        !parse_open(request->service->options->collections, root, call, &request->refusal) ||
        handle_add(request->service->handles, &call->wanted, (const uint8_t *)random,
                   now_us(request), &call->handle, &request->refusal) != RC_OK)
        request_refuse_with(request, &request->refusal);
}

enum rc query_open_work(struct request *request, struct store *store, struct err *err)
{
    struct open_call *call = request->data;
    enum rc rc = request_check_seq(request, call->min_seq, store, err);
    if (rc != RC_OK)
        return rc;
    return handle_open(store, handle_state(call->handle), &call->question, &request->refusal, err);
}

static void put_total(struct json_writer *writer, const struct opening *opening)
{
    json_key(writer, "totalCount");
    if (opening->kind == COUNT_NONE)
        json_put_null(writer);
    else
        json_put_i64(writer, opening->total);
}

static void put_opened(const struct handle_state *state, struct json_writer *writer)
{
    char name[UUID_TEXT_SIZE];
    uuid_format(state->name, name);
    json_key(writer, "queryHandle");
    json_put_cstring(writer, name);
    put_total(writer, &state->opening);
    json_key(writer, "totalCountKind");
    json_put_cstring(writer, count_kind_name(state->opening.kind));
    json_key(writer, "pageSize");
    json_put_i64(writer, state->page_size);
    json_key(writer, "seq");
    json_put_i64(writer, state->opening.seq);
}

void query_open_finish(struct request *request)
{
    struct open_call *call = request->data;
    struct json_writer writer;
    bool opened = request->job.rc == RC_OK;
    if (opened) {
        request_begin_json(request, &writer);
        put_opened(handle_state(call->handle), &writer);
        if (call->explained) {
            json_key(&writer, "explain");
            explain_print(handle_state(call->handle), NULL, &writer);
        }
    }
    /* Nobody knows its name yet, so nobody has closed it. */
    enum rc rc = handle_release(request->service->handles, call->handle, &request->refusal);
    assert(rc == RC_OK);
    (void)rc;
    if (opened)
        request_send_json(request, &writer);
    else
        request_fail(request);
}

/* ---- query-next, query-prev ---- */

struct page_call {
    struct handle *handle; /* from begin to finish */
    struct handle_question question;
    struct handle_answer answer;
    struct text explained; /* JSON; empty: not asked for */
};

static void free_page_call(void *data)
{
    struct page_call *call = data;
    page_free(&call->answer.page);
    text_free(&call->explained);
    free(call);
}

static bool take_page_number(struct json value, struct handle_question *question,
                             struct refusal *refusal)
{
    enum json_type type = json_type(value);
    if (type == JSON_ABSENT || type == JSON_NULL)
        return true;
    question->named = type == JSON_INT && json_i64(value, &question->page);
    if (!question->named)
        refusal_set(refusal, REFUSAL_BAD_REQUEST, "page is a whole number");
    return question->named;
}

static bool take_handle_name(struct json root, struct bytes *name, struct refusal *refusal)
{
    if (json_string(json_get(root, "queryHandle"), name))
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "queryHandle is missing");
    return false;
}

static const struct collection *find_collection(void *arg, struct bytes name)
{
    return collections_find(arg, name);
}

static void begin_page(struct request *request, enum walk_direction direction)
{
    struct json root;
    struct bytes name;
    struct handles *handles = request->service->handles;
    struct page_call *call = memory_new_zeroed(1, sizeof *call);
    struct handle_question *question = &call->question;
    request->data = call;
    request->free_data = free_page_call;
    if (!request_parse_body(request, &root))
        return;
    question->finder =
        (struct handle_finder){find_collection, request->service->options->collections};
    question->direction = direction;
    question->now_us = now_us(request);
    question->idle_us_max = handles_limits(handles)->idle_us;
    memcpy(question->session, request->session, HANDLE_SESSION_SIZE);
    if (!take_page_number(json_get(root, "page"), question, &request->refusal) ||
        !take_page_size(json_get(root, "pageSize"), &question->page_size, &request->refusal) ||
        !take_flag(root, "explain", &question->counted, &request->refusal) ||
        !take_handle_name(root, &name, &request->refusal) ||
        handle_hold(handles, name, request->session, &call->handle, &request->refusal) != RC_OK)
        request_refuse_with(request, &request->refusal);
}

void query_next_begin(struct request *request)
{
    begin_page(request, WALK_NEXT);
}

void query_prev_begin(struct request *request)
{
    begin_page(request, WALK_PREVIOUS);
}

enum rc query_page_work(struct request *request, struct store *store, struct err *err)
{
    struct page_call *call = request->data;
    return handle_ask(store, handle_state(call->handle), &call->question, &call->answer,
                      &request->refusal, err);
}

static void send_page(struct request *request, const struct handle_answer *answer,
                      struct bytes explained)
{
    struct json_writer writer;
    text_reserve(&request->reply, answer->page.items.len + ENVELOPE_ROOM);
    request_begin_json(request, &writer);
    json_key(&writer, "items");
    json_put_raw(&writer, text_bytes(&answer->page.items));
    json_key(&writer, "pageNumber");
    json_put_i64(&writer, answer->number);
    json_key(&writer, "hasMore");
    json_put_bool(&writer, answer->has_more);
    put_total(&writer, &answer->opening);
    json_key(&writer, "hasPrevious");
    json_put_bool(&writer, answer->has_previous);
    if (explained.len > 0) {
        json_key(&writer, "explain");
        json_put_raw(&writer, explained);
    }
    request_send_json(request, &writer);
}

/* Which fields place the cursor, never their values. */
static void log_cursor(const struct handle_state *state, const struct handle_answer *answer)
{
    char name[UUID_TEXT_SIZE];
    struct text fields = {0};
    const struct order *order = &state->order;
    if (answer->keys_used == 0 || !log_wants(LOG_DEBUG))
        return;
    uuid_format(state->name, name);
    for (size_t i = 0; i < order->count; i++)
        text_appendf(&fields, "%s%s", i > 0 ? "," : "",
                     order->terms[i].name == NULL ? "n" : order->terms[i].name);
    log_event(LOG_DEBUG, "query", "cursor_applied",
              (struct log_field[]){log_string("handle", name), log_int("page", answer->number),
                                   log_string("collection", state->collection->name),
                                   log_text("fields", text_bytes(&fields)), LOG_END});
    text_free(&fields);
}

void query_page_finish(struct request *request)
{
    struct page_call *call = request->data;
    enum rc rc = request->job.rc;
    struct json_writer writer;
    json_writer_init(&writer, &call->explained);
    if (rc == RC_OK)
        log_cursor(handle_state(call->handle), &call->answer);
    if (rc == RC_OK && call->question.counted)
        explain_print(handle_state(call->handle), &call->answer.page, &writer);
    enum rc released = handle_release(request->service->handles, call->handle, &request->refusal);
    if (rc != RC_OK)
        request_fail(request);
    else if (released != RC_OK)
        request_refuse_with(request, &request->refusal);
    else
        send_page(request, &call->answer, text_bytes(&call->explained));
}

/* ---- query-close ---- */

struct close_call {
    uint8_t name[HANDLE_NAME_SIZE];
    bool removed;
};

static void send_closed(struct request *request)
{
    struct json_writer writer;
    request_begin_json(request, &writer);
    request_send_json(request, &writer);
}

void query_close_begin(struct request *request)
{
    struct json root;
    struct bytes name;
    struct close_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free;
    if (!request_parse_body(request, &root))
        return;
    if (take_handle_name(root, &name, &request->refusal) &&
        handle_close(request->service->handles, name, request->session, call->name,
                     &request->refusal) == RC_OK)
        return;
    /* Closing what is not open succeeds: the caller wants it gone, and it is. */
    if (request->refusal.code == REFUSAL_HANDLE_NOT_FOUND)
        send_closed(request);
    else
        request_refuse_with(request, &request->refusal);
}

enum rc query_close_work(struct request *request, struct store *store, struct err *err)
{
    struct close_call *call = request->data;
    struct store *beside;
    enum rc rc = store_beside(store, &beside, err);
    if (rc == RC_OK)
        rc = shelf_remove(beside, call->name, request->session, &call->removed, &request->refusal,
                          err);
    return rc;
}

void query_close_finish(struct request *request)
{
    struct close_call *call = request->data;
    if (call->removed) {
        handles_note_closed(request->service->handles, 1);
        tail_watches_end_handle(request->service->watches, call->name);
    }
    if (request->job.rc == RC_OK)
        send_closed(request);
    else
        request_fail(request);
}
