/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct handle {
    struct handle *next_in_bucket;
    struct handle *older, *newer; /* by last use */
    uint8_t name[16];
    struct handle_spec spec;
    int64_t used_us;
    int64_t delivered;    /* pages recorded so far */
    struct row_key start; /* the last recorded page is what comes after `start` ... */
    struct row_key end;   /* ... up to `end`; no place: it was empty */
    bool exhausted;       /* nothing follows it */
    bool busy, closing;
};

struct handles {
    struct handle **buckets;
    size_t bucket_count; /* a power of two */
    size_t count, max;
    int64_t idle_us;
    struct handle *oldest, *newest;
};

struct handles *handles_new(size_t handles_max, int64_t idle_us)
{
    struct handles *handles = memory_new_zeroed(1, sizeof *handles);
    handles->max = handles_max == 0 ? HANDLES_MAX : handles_max;
    handles->idle_us = idle_us == 0 ? HANDLE_IDLE_US : idle_us;
    handles->bucket_count = 1;
    while (handles->bucket_count < handles->max)
        handles->bucket_count *= 2;
    handles->buckets = memory_new_zeroed(handles->bucket_count, sizeof(struct handle *));
    return handles;
}

/* Names are made of random bits, so the bits themselves spread. */
static struct handle **bucket_of(const struct handles *handles, const uint8_t name[16])
{
    uint64_t bits;
    memcpy(&bits, name, sizeof bits);
    return &handles->buckets[bits & (handles->bucket_count - 1)];
}

static void take_from_list(struct handles *handles, struct handle *handle)
{
    *(handle->older != NULL ? &handle->older->newer : &handles->oldest) = handle->newer;
    *(handle->newer != NULL ? &handle->newer->older : &handles->newest) = handle->older;
    handle->older = handle->newer = NULL;
}

static void put_newest(struct handles *handles, struct handle *handle, int64_t now_us)
{
    handle->used_us = now_us;
    handle->older = handles->newest;
    *(handle->older != NULL ? &handle->older->newer : &handles->oldest) = handle;
    handles->newest = handle;
}

static void renew(struct handles *handles, struct handle *handle, int64_t now_us)
{
    take_from_list(handles, handle);
    put_newest(handles, handle, now_us);
}

static void forget(struct handles *handles, struct handle *handle)
{
    struct handle **at = bucket_of(handles, handle->name);
    assert(!handle->busy && handles->count > 0);
    while (*at != handle)
        at = &(*at)->next_in_bucket;
    *at = handle->next_in_bucket;
    take_from_list(handles, handle);
    handles->count--;
    row_key_clear(&handle->start);
    row_key_clear(&handle->end);
    filter_free(handle->spec.filter);
    free(handle);
}

void handles_free(struct handles *handles)
{
    while (handles->oldest != NULL)
        forget(handles, handles->oldest);
    assert(handles->count == 0);
    free(handles->buckets);
    free(handles);
}

size_t handles_count(const struct handles *handles)
{
    return handles->count;
}

size_t handles_expire(struct handles *handles, int64_t now_us)
{
    size_t gone = 0;
    for (struct handle *at = handles->oldest, *next; at != NULL; at = next) {
        next = at->newer;
        if (now_us - at->used_us < handles->idle_us)
            break;
        if (at->busy)
            continue;
        forget(handles, at);
        gone++;
    }
    return gone;
}

enum rc handle_open(struct handles *handles, const struct handle_spec *spec,
                    const uint8_t random[16], int64_t now_us, struct handle **out,
                    struct refusal *refusal)
{
    char text[UUID_TEXT_SIZE];
    assert(spec->page_size > 0 && spec->page_size <= COLLECTION_PAGE_SIZE_MAX);
    handles_expire(handles, now_us);
    if (handles->count >= handles->max)
        return refusal_set(refusal, REFUSAL_QUOTA_EXCEEDED,
                           "%zu queries are open, which is the limit: close some", handles->max);
    struct handle *handle = memory_new_zeroed(1, sizeof *handle);
    uuid_format(random, text);
    bool parsed = uuid_parse(bytes_of(text), handle->name);
    assert(parsed);
    (void)parsed;
    handle->spec = *spec;
    struct handle **bucket = bucket_of(handles, handle->name);
    handle->next_in_bucket = *bucket;
    *bucket = handle;
    put_newest(handles, handle, now_us);
    handles->count++;
    *out = handle;
    return RC_OK;
}

enum rc handle_find(struct handles *handles, struct bytes name,
                    const uint8_t session[HANDLE_SESSION_SIZE], int64_t now_us, struct handle **out,
                    struct refusal *refusal)
{
    uint8_t wanted[16];
    struct handle *handle = NULL;
    handles_expire(handles, now_us);
    if (uuid_parse(name, wanted))
        handle = *bucket_of(handles, wanted);
    while (handle != NULL && memcmp(handle->name, wanted, sizeof wanted) != 0)
        handle = handle->next_in_bucket;
    if (handle == NULL || handle->closing)
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                           "no such query is open: it was closed, or not used for %" PRId64 " s",
                           handles->idle_us / 1000000);
    if (memcmp(handle->spec.session, session, HANDLE_SESSION_SIZE) != 0)
        return refusal_set(refusal, REFUSAL_FORBIDDEN, "this query belongs to another session");
    renew(handles, handle, now_us);
    *out = handle;
    return RC_OK;
}

static enum rc choose_step(const struct handle *handle, int64_t page, enum handle_step *step,
                           struct refusal *refusal)
{
    if (handle->busy)
        return refusal_set(refusal, REFUSAL_CONFLICT, "a page of this query is being read already");
    if (page == -1 || page == handle->delivered || (page > handle->delivered && handle->exhausted))
        *step = handle->exhausted ? STEP_END : STEP_NEXT;
    else if (page >= 0 && page == handle->delivered - 1)
        *step = STEP_AGAIN;
    else if (handle->delivered == 0)
        return refusal_set(refusal, REFUSAL_CONFLICT, "no page was delivered yet: ask for page 0");
    else
        return refusal_set(refusal, REFUSAL_CONFLICT,
                           "page %" PRId64 " was delivered last: ask for it again or for page "
                           "%" PRId64,
                           handle->delivered - 1, handle->delivered);
    return RC_OK;
}

enum rc handle_begin(struct handle *handle, int64_t page, enum handle_step *step, int64_t *number,
                     struct page_request *request, struct refusal *refusal)
{
    const struct handle_spec *spec = &handle->spec;
    assert(!handle->closing);
    enum rc rc = choose_step(handle, page, step, refusal);
    if (rc != RC_OK)
        return rc;
    *number = page == -1 ? handle->delivered : page;
    /* A page that was empty when delivered stays so: nothing is read for it. */
    if (*step == STEP_AGAIN && handle->end.count == 0)
        *step = STEP_END;
    if (*step == STEP_END)
        return RC_OK;
    handle->busy = true;
    *request = (struct page_request){.collection = spec->collection,
                                     .order = &spec->order,
                                     .filter = spec->filter,
                                     .fence_n = spec->opening.fence_n,
                                     .page_size = spec->page_size};
    request->after = *step == STEP_NEXT ? &handle->end : &handle->start;
    request->last = *step == STEP_NEXT ? NULL : &handle->end;
    return RC_OK;
}

/* A handle that was closed meanwhile is gone afterwards. */
static void end_busy(struct handles *handles, struct handle *handle, int64_t now_us)
{
    assert(handle->busy);
    handle->busy = false;
    if (handle->closing)
        forget(handles, handle);
    else
        renew(handles, handle, now_us);
}

enum rc handle_deliver(struct handles *handles, struct handle *handle, enum handle_step step,
                       struct page *page, int64_t now_us, bool *has_more, struct refusal *refusal)
{
    bool closed = handle->closing;
    assert(step == STEP_NEXT || step == STEP_AGAIN);
    if (!closed && step == STEP_NEXT) {
        row_key_move(&handle->start, &handle->end);
        row_key_move(&handle->end, &page->last);
        handle->exhausted = !page->has_more;
        handle->delivered++;
    }
    *has_more = !closed && !handle->exhausted;
    end_busy(handles, handle, now_us);
    if (closed)
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                           "the query was closed while its page was being read");
    return RC_OK;
}

void handle_abandon(struct handles *handles, struct handle *handle, int64_t now_us)
{
    end_busy(handles, handle, now_us);
}

void handle_close(struct handles *handles, struct handle *handle)
{
    if (handle->busy)
        handle->closing = true;
    else
        forget(handles, handle);
}

const struct handle_spec *handle_spec(const struct handle *handle)
{
    return &handle->spec;
}

void handle_name(const struct handle *handle, char out[UUID_TEXT_SIZE])
{
    uuid_format(handle->name, out);
}

void handles_print(const struct handles *handles, int64_t now_us, struct json_writer *writer)
{
    json_begin_array(writer);
    for (const struct handle *at = handles->newest; at != NULL; at = at->older) {
        char name[UUID_TEXT_SIZE];
        handle_name(at, name);
        json_begin_object(writer);
        json_key(writer, "handle");
        json_put_cstring(writer, name);
        json_key(writer, "collection");
        json_put_cstring(writer, at->spec.collection->name);
        json_key(writer, "pageSize");
        json_put_i64(writer, at->spec.page_size);
        json_key(writer, "pages");
        json_put_i64(writer, at->delivered);
        json_key(writer, "state");
        json_put_cstring(writer, at->busy ? "busy" : at->exhausted ? "ended" : "idle");
        json_key(writer, "idleSeconds");
        json_put_i64(writer, (now_us - at->used_us) / 1000000);
        json_key(writer, "seq");
        json_put_i64(writer, at->spec.opening.seq);
        json_end_object(writer);
    }
    json_end_array(writer);
}
