/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"
#include "sys/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t now_us(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    return runtime->ops->mono_us(runtime);
}

/* ---- query-open ---- */

struct open_call {
    struct handle_spec spec;
    bool exact;
    int64_t min_seq;
};

static void free_open(void *data)
{
    struct open_call *call = data;
    filter_free(call->spec.filter);
    free(call);
}

static bool take_page_size(struct json value, struct handle_spec *spec, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    int64_t size = 0;
    spec->page_size = spec->collection->page_size;
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
    spec->page_size = (unsigned)size;
    return true;
}

static bool take_count(struct json value, struct open_call *call, struct refusal *refusal)
{
    struct bytes word = json_string_or_absent(value);
    enum json_type type = json_type(value);
    call->spec.opening.kind = bytes_equal_string(word, "none") ? COUNT_NONE : COUNT_EXACT;
    call->exact = bytes_equal_string(word, "exact");
    if (type == JSON_ABSENT || type == JSON_NULL || call->exact ||
        call->spec.opening.kind == COUNT_NONE)
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "count is \"exact\", \"none\" or left out");
    return false;
}

static bool take_order(struct json root, struct handle_spec *spec, struct refusal *refusal)
{
    bool scan = false;
    if (order_parse(spec->collection, json_get(root, "orderBy"), &spec->order, refusal) != RC_OK)
        return false;
    (void)json_bool(json_get(root, "allowScan"), &scan);
    if (scan || order_index(spec->collection, &spec->order, filter_fixed(spec->filter)) != NULL)
        return true;
    refusal_set(refusal, REFUSAL_NO_INDEX,
                "no index of %s has this order: choose another, or set allowScan to true",
                spec->collection->name);
    return false;
}

static bool parse_open(struct collections *collections, struct json root, struct open_call *call,
                       struct refusal *refusal)
{
    struct bytes name;
    if (!json_string(json_get(root, "collection"), &name)) {
        refusal_set(refusal, REFUSAL_BAD_REQUEST, "query-open needs a collection");
        return false;
    }
    call->spec.collection = collections_find(collections, name);
    if (call->spec.collection == NULL) {
        refusal_set(refusal, REFUSAL_UNKNOWN_COLLECTION, "there is no collection \"%.*s\"",
                    (int)(name.len > 128 ? 128 : name.len), name.data);
        return false;
    }
    return filter_parse(call->spec.collection, json_get(root, "filter"), &call->spec.filter,
                        refusal) == RC_OK &&
           take_page_size(json_get(root, "pageSize"), &call->spec, refusal) &&
           take_count(json_get(root, "count"), call, refusal) &&
           take_order(root, &call->spec, refusal);
}

void query_open_begin(struct request *request)
{
    struct json root;
    struct open_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free_open;
    if (!request_parse_body(request, &root))
        return;
    memcpy(call->spec.session, request->session, HANDLE_SESSION_SIZE);
    if (!request_take_min_seq(request, root, &call->min_seq) ||
        !parse_open(request->service->options->collections, root, call, &request->refusal))
        request_refuse_with(request, &request->refusal);
}

enum rc query_open_work(struct request *request, struct store *store, struct err *err)
{
    struct open_call *call = request->data;
    struct handle_spec *spec = &call->spec;
    enum rc rc = opening_read(store, spec->collection, filter_where(spec->filter), call->exact,
                              &spec->opening, err);
    return rc == RC_OK ? request_check_seq(request, spec->opening.seq, call->min_seq) : rc;
}

static void put_total(struct json_writer *writer, const struct opening *opening)
{
    json_key(writer, "totalCount");
    if (opening->kind == COUNT_NONE)
        json_put_null(writer);
    else
        json_put_i64(writer, opening->total);
}

void query_open_finish(struct request *request)
{
    struct runtime *runtime = request->service->runtime;
    struct open_call *call = request->data;
    struct handle *handle;
    struct json_writer writer;
    char name[UUID_TEXT_SIZE];
    uint64_t random[2] = {runtime->ops->random(runtime), runtime->ops->random(runtime)};
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    if (handle_open(request->service->handles, &call->spec, (uint8_t *)random, now_us(request),
                    &handle, &request->refusal) != RC_OK) {
        request_refuse_with(request, &request->refusal);
        return;
    }
    call->spec.filter = NULL; /* the handle's now */
    handle_name(handle, name);
    request_begin_json(request, &writer);
    json_key(&writer, "queryHandle");
    json_put_cstring(&writer, name);
    put_total(&writer, &call->spec.opening);
    json_key(&writer, "totalCountKind");
    json_put_cstring(&writer, count_kind_name(call->spec.opening.kind));
    json_key(&writer, "pageSize");
    json_put_i64(&writer, call->spec.page_size);
    json_key(&writer, "seq");
    json_put_i64(&writer, call->spec.opening.seq);
    request_send_json(request, &writer);
}

/* ---- query-next ---- */

struct next_call {
    struct handle *handle; /* busy from begin to finish */
    enum handle_step step;
    int64_t number;
    struct page_request wanted;
    struct page page;
};

static void free_next(void *data)
{
    struct next_call *call = data;
    page_free(&call->page);
    free(call);
}

static bool find_handle(struct request *request, struct json root, struct handle **handle)
{
    struct bytes name;
    if (!json_string(json_get(root, "queryHandle"), &name))
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "queryHandle is missing");
    else if (handle_find(request->service->handles, name, request->session, now_us(request), handle,
                         &request->refusal) == RC_OK)
        return true;
    return false;
}

static bool take_page_number(struct json value, int64_t *page, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    *page = -1;
    if (type == JSON_ABSENT || type == JSON_NULL || (json_i64(value, page) && *page >= 0))
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "page is a whole number from 0 on");
    return false;
}

static void send_page(struct request *request, struct bytes items, int64_t number, bool has_more,
                      const struct opening *opening)
{
    struct json_writer writer;
    request_begin_json(request, &writer);
    json_key(&writer, "items");
    json_put_raw(&writer, items);
    json_key(&writer, "pageNumber");
    json_put_i64(&writer, number);
    json_key(&writer, "hasMore");
    json_put_bool(&writer, has_more);
    put_total(&writer, opening);
    request_send_json(request, &writer);
}

/* Which fields place the cursor, never their values. */
static void log_cursor(const struct next_call *call)
{
    char name[UUID_TEXT_SIZE];
    struct text fields = {0};
    const struct order *order = call->wanted.order;
    if (call->wanted.after->count == 0)
        return;
    handle_name(call->handle, name);
    for (size_t i = 0; i < order->count; i++)
        text_appendf(&fields, "%s%s", i > 0 ? "," : "",
                     order->terms[i].name == NULL ? "n" : order->terms[i].name);
    log_event(LOG_DEBUG, "query", "cursor_applied",
              (struct log_field[]){log_string("handle", name), log_int("page", call->number),
                                   log_string("collection", call->wanted.collection->name),
                                   log_text("fields", text_bytes(&fields)), LOG_END});
    text_free(&fields);
}

void query_next_begin(struct request *request)
{
    struct json root;
    int64_t page;
    struct next_call *call = memory_new_zeroed(1, sizeof *call);
    request->data = call;
    request->free_data = free_next;
    if (!request_parse_body(request, &root))
        return;
    if (!take_page_number(json_get(root, "page"), &page, &request->refusal) ||
        !find_handle(request, root, &call->handle) ||
        handle_begin(call->handle, page, &call->step, &call->number, &call->wanted,
                     &request->refusal) != RC_OK) {
        request_refuse_with(request, &request->refusal);
        return;
    }
    if (call->step == STEP_END)
        send_page(request, bytes_of("[]"), call->number, false,
                  &handle_spec(call->handle)->opening);
    else
        log_cursor(call);
}

enum rc query_next_work(struct request *request, struct store *store, struct err *err)
{
    struct next_call *call = request->data;
    return page_fetch(store, &call->wanted, &call->page, &request->refusal, err);
}

void query_next_finish(struct request *request)
{
    struct handles *handles = request->service->handles;
    struct next_call *call = request->data;
    const struct opening opening = handle_spec(call->handle)->opening;
    bool has_more;
    if (request->job.rc != RC_OK) {
        handle_abandon(handles, call->handle, now_us(request));
        request_fail(request);
    } else if (handle_deliver(handles, call->handle, call->step, &call->page, now_us(request),
                              &has_more, &request->refusal) != RC_OK) {
        request_refuse_with(request, &request->refusal);
    } else {
        send_page(request, text_bytes(&call->page.items), call->number, has_more, &opening);
    }
    call->handle = NULL;
}

/* ---- query-close ---- */

void query_close_begin(struct request *request)
{
    struct json root;
    struct json_writer writer;
    struct handle *handle = NULL;
    if (!request_parse_body(request, &root))
        return;
    bool found = find_handle(request, root, &handle);
    if (!found && request->refusal.code != REFUSAL_HANDLE_NOT_FOUND) {
        request_refuse_with(request, &request->refusal);
        return;
    }
    /* Closing what is closed succeeds: the caller wants it gone, and it is. */
    if (found)
        handle_close(request->service->handles, handle);
    request_begin_json(request, &writer);
    request_send_json(request, &writer);
}
