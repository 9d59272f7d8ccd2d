/* SPDX-License-Identifier: Apache-2.0 */
#include "query/list_cursor.h"
#include "query/row_fetch.h"
#include "serve/routes.h"

#include <stdlib.h>

/* ---- read ---- */

struct read_call {
    const struct collection *collection;
    struct text id, item;
    int64_t min_seq;
};

static void free_read(void *data)
{
    struct read_call *call = data;
    text_free(&call->id);
    text_free(&call->item);
    free(call);
}

void read_begin(struct request *request)
{
    struct read_call *call = memory_new_zeroed(1, sizeof *call);
    struct json root;
    struct bytes id;
    request->data = call;
    request->free_data = free_read;
    if (!request_parse_body(request, &root))
        return;
    if (request_find_collection(request, root, &call->collection) &&
        request_take_id(request, root, &id) && request_take_min_seq(request, root, &call->min_seq))
        text_append(&call->id, id.data, id.len);
    else
        request_refuse_with(request, &request->refusal);
}

enum rc read_work(struct request *request, struct store *store, struct err *err)
{
    struct read_call *call = request->data;
    text_clear(&call->item);
    enum rc rc = request_check_seq(request, call->min_seq, store, err);
    if (rc == RC_OK)
        rc = row_fetch(store, call->collection, text_bytes(&call->id), &call->item, err);
    return rc;
}

void read_finish(struct request *request)
{
    struct read_call *call = request->data;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
    } else if (call->item.len == 0) {
        request_refuse(request, REFUSAL_NOT_FOUND, "%s has nothing with the id \"%.*s\"",
                       call->collection->name, (int)(call->id.len > 128 ? 128 : call->id.len),
                       text_string(&call->id));
    } else {
        request_begin_json(request, &writer);
        json_key(&writer, "item");
        json_put_raw(&writer, text_bytes(&call->item));
        request_send_json(request, &writer);
    }
}

/* ---- list ---- */

struct list_call {
    const struct collection *collection;
    struct order order;
    struct filter *filter; /* with the cursor's condition, if it is one */
    struct filter *asked;  /* what is counted */
    struct list_cursor cursor;
    unsigned limit;
    int64_t min_seq;
    struct opening opening;
    struct row_key place;
    struct page page;
};

static void free_list(void *data)
{
    struct list_call *call = data;
    filter_free(call->filter);
    filter_free(call->asked);
    list_cursor_free(&call->cursor);
    row_key_clear(&call->place);
    page_free(&call->page);
    free(call);
}

static bool take_limit(struct request *request, struct json root, struct list_call *call)
{
    struct json value = json_get(root, "limit");
    enum json_type type = json_type(value);
    int64_t limit = call->collection->page_size;
    bool given = type != JSON_ABSENT && type != JSON_NULL;
    if (given && (!json_i64(value, &limit) || limit < 1 || limit > COLLECTION_PAGE_SIZE_MAX)) {
        refusal_set(&request->refusal, REFUSAL_LIMIT_RANGE, "limit is from 1 to %d",
                    COLLECTION_PAGE_SIZE_MAX);
        return false;
    }
    call->limit = (unsigned)limit;
    return true;
}

static bool take_order(struct request *request, struct json root, struct list_call *call)
{
    bool scan = false;
    if (order_parse(call->collection, json_get(root, "orderBy"), &call->order, &request->refusal) !=
        RC_OK)
        return false;
    (void)json_bool(json_get(root, "allowScan"), &scan);
    if (scan || order_index(call->collection, &call->order, filter_fixed(call->asked)) != NULL)
        return true;
    refusal_set(&request->refusal, REFUSAL_NO_INDEX,
                "no index of %s has this order: choose another, or set allowScan to true",
                call->collection->name);
    return false;
}

static bool parse_list(struct request *request, struct json root, struct list_call *call)
{
    struct refusal *refusal = &request->refusal;
    struct json filter = json_get(root, "filter");
    return request_find_collection(request, root, &call->collection) &&
           request_take_min_seq(request, root, &call->min_seq) && take_limit(request, root, call) &&
           filter_parse(call->collection, filter, &call->asked, refusal) == RC_OK &&
           take_order(request, root, call) &&
           list_cursor_parse(call->collection, &call->order, json_get(root, "cursor"),
                             &call->cursor, refusal) == RC_OK &&
           list_cursor_filter(&call->cursor, call->collection, filter, &call->filter, refusal) ==
               RC_OK;
}

void list_begin(struct request *request)
{
    struct list_call *call = memory_new_zeroed(1, sizeof *call);
    struct json root;
    request->data = call;
    request->free_data = free_list;
    if (!request_parse_body(request, &root))
        return;
    if (!parse_list(request, root, call))
        request_refuse_with(request, &request->refusal);
    else
        request->service->list_cursors += call->cursor.given;
}

enum rc list_work(struct request *request, struct store *store, struct err *err)
{
    struct list_call *call = request->data;
    call->opening.kind = COUNT_EXACT;
    enum rc rc = request_check_seq(request, call->min_seq, store, err);
    if (rc == RC_OK)
        rc = opening_read(store, call->collection, filter_where(call->asked), false, &call->opening,
                          err);
    if (rc == RC_OK)
        rc = list_cursor_place(&call->cursor, store, call->collection, &call->order, &call->place,
                               &request->refusal, err);
    const struct page_request wanted = {.collection = call->collection,
                                        .order = &call->order,
                                        .filter = call->filter,
                                        .fence_n = call->opening.fence_n,
                                        .after = &call->place,
                                        .page_size = call->limit};
    if (rc == RC_OK)
        rc = list_cursor_fetch(&call->cursor, store, &wanted, &call->page, &request->refusal, err);
    return rc;
}

void list_finish(struct request *request)
{
    struct list_call *call = request->data;
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    request_begin_json(request, &writer);
    json_key(&writer, "items");
    json_put_raw(&writer, text_bytes(&call->page.items));
    json_key(&writer, "totalCount");
    json_put_i64(&writer, call->opening.total);
    json_key(&writer, "totalCountKind");
    json_put_cstring(&writer, count_kind_name(call->opening.kind));
    json_key(&writer, "hasMore");
    json_put_bool(&writer, call->page.has_more);
    request_send_json(request, &writer);
}
