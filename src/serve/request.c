/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/request.h"

#include "serve/listener.h"
#include "serve/page_frame.h"
#include "sys/log.h"

#include <microhttpd.h>

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int request_status_of(enum refusal_code code)
{
    switch (code) {
    case REFUSAL_UNAUTHORIZED:
        return 401;
    case REFUSAL_FORBIDDEN:
        return 403;
    case REFUSAL_UNKNOWN_COLLECTION:
    case REFUSAL_HANDLE_NOT_FOUND:
    case REFUSAL_NOT_FOUND:
    case REFUSAL_NOT_KNOWN:
        return 404;
    case REFUSAL_METHOD_NOT_ALLOWED:
        return 405;
    case REFUSAL_CONFLICT:
        return 409;
    case REFUSAL_GAP:
    case REFUSAL_DEAD:
        return 410;
    case REFUSAL_TOO_LARGE:
        return 413;
    case REFUSAL_BAD_RANGE:
        return 416;
    case REFUSAL_QUOTA_EXCEEDED:
        return 429;
    case REFUSAL_HEADERS_TOO_LARGE:
        return 431;
    case REFUSAL_BEHIND:
    case REFUSAL_NOT_YET:
    case REFUSAL_OWED:
    case REFUSAL_BUSY:
    case REFUSAL_DEADLINE:
    case REFUSAL_SHUTTING_DOWN:
    case REFUSAL_UNAVAILABLE:
        return 503;
    case REFUSAL_INTERNAL:
        return 500;
    default:
        return 400;
    }
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct search {
    const char *header, *word;
    bool found;
};

static enum MHD_Result search_line(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct search *search = arg;
    (void)kind;
    search->found |= strcasecmp(name, search->header) == 0 && visitor_names(value, search->word);
    return search->found ? MHD_NO : MHD_YES;
}

bool request_names(const struct request *request, const char *header, const char *word)
{
    struct search search = {.header = header, .word = word};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, search_line, &search);
    return search.found;
}

const char *request_host(const struct request *request)
{
    return request->asked_host[0] != '\0' ? request->asked_host : request_header(request, "Host");
}

void request_begin_json(struct request *request, struct json_writer *writer)
{
    assert(!request->answered);
    text_clear(&request->reply);
    json_writer_init(writer, &request->reply);
    json_begin_object(writer);
    json_key(writer, "success");
    json_put_bool(writer, true);
}

void request_send_json(struct request *request, struct json_writer *writer)
{
    json_end_object(writer);
    text_append_char(&request->reply, '\n');
    request_send(request, 200, "application/json");
}

void request_send(struct request *request, int status, const char *content_type)
{
    assert(!request->answered && status >= 101 && status < 600);
    request->answered = true;
    request->status = status;
    request->content_type = content_type;
}

/* Whether a list of tags, `*` or W/"a", "b", has this one; weak or not. */
static bool tag_is_among(const char *tags, const char *etag)
{
    size_t len = strlen(etag);
    if (strcmp(tags, "*") == 0)
        return true;
    for (const char *at = tags; *at != '\0';) {
        at += strspn(at, " \t,");
        size_t word = strcspn(at, ", \t"), weak = strncmp(at, "W/", 2) == 0 ? 2 : 0;
        if (word - weak == len && memcmp(at + weak, etag, len) == 0)
            return true;
        at += word;
    }
    return false;
}

bool request_has_tag(const struct request *request, const char *etag)
{
    const char *known = request_header(request, "If-None-Match");
    return known != NULL && tag_is_among(known, etag);
}

void request_send_known(struct request *request, const char *content_type, const char *etag,
                        struct bytes content)
{
    request->etag = etag;
    text_append(&request->reply, content.data, content.len);
    request_send(request, request_has_tag(request, etag) ? 304 : 200, content_type);
}

void request_print_refusal(const struct refusal *refusal, struct text *out)
{
    struct json_writer writer;
    assert(refusal->code != REFUSAL_NONE);
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, "success");
    json_put_bool(&writer, false);
    json_key(&writer, "code");
    json_put_cstring(&writer, refusal_name(refusal->code));
    json_key(&writer, "error");
    json_put_cstring(&writer, refusal->err.text);
    json_key(&writer, "hint");
    json_put_cstring(&writer, refusal_hint(refusal->code));
    json_end_object(&writer);
    text_append_char(out, '\n');
}

void request_refuse(struct request *request, enum refusal_code code, const char *format, ...)
{
    struct refusal refusal = {.code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(refusal.err.text, sizeof refusal.err.text, format, args);
    va_end(args);
    request_refuse_with(request, &refusal);
}

void request_refuse_with(struct request *request, const struct refusal *refusal)
{
    if (request->route != NULL && request->route->finish == page_finish &&
        page_is_wanted(request)) {
        page_refuse(request, refusal);
        return;
    }
    request->service->refusals[refusal->code]++;
    text_clear(&request->reply);
    request_print_refusal(refusal, &request->reply);
    request_send(request, request_status_of(refusal->code), "application/json");
}

void request_fail(struct request *request)
{
    enum rc rc = request->job.rc;
    assert(rc != RC_OK);
    if (rc == RC_REJECT && request->refusal.code != REFUSAL_NONE) {
        request_refuse_with(request, &request->refusal);
        return;
    }
    if (rc == RC_AGAIN) {
        if (request->job.begun)
            request_refuse(request, REFUSAL_DEADLINE, "the store took too long to answer");
        else if (request->service->draining)
            request_refuse(request, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
        else
            request_refuse(request, REFUSAL_BUSY, "too many requests wait: try again");
        return;
    }
    log_event_limited(LOG_WARN, "serve", "store_failed",
                      (struct log_field[]){log_string("route", request->route->path),
                                           log_string("reason", request->job.err.text), LOG_END});
    if (rc == RC_RETRY)
        request_refuse(request, REFUSAL_UNAVAILABLE, "the store does not answer: try again");
    else
        request_refuse(request, REFUSAL_INTERNAL, "the store refused to read: see the log");
}

static bool give_to_reader(struct request *request)
{
    struct service *service = request->service;
    assert(request->route->work != NULL && !request->reading);
    request->job.rc = RC_AGAIN;
    request->job.begun = false;
    request->reading = service->waiting < service->waiting_max &&
                       reader_pool_submit(service->readers, &request->job) == RC_OK;
    service->waiting += request->reading;
    return request->reading;
}

static void finish_unread(struct request *request)
{
    request->route->finish(request);
    if (request->answered)
        request_resume(request);
}

void request_read(struct request *request)
{
    request->held = request->route->large && request->hold != NULL && request->hold(request);
    if (!request->held && !give_to_reader(request))
        finish_unread(request);
}

void request_drop_held(struct request *request)
{
    assert(request->held);
    request->held = false;
    request->job.rc = RC_AGAIN;
    request->job.begun = false;
    finish_unread(request);
}

void request_read_again(struct request *request)
{
    if (!give_to_reader(request))
        request->route->finish(request);
}

void request_resume(struct request *request)
{
    assert(request->answered);
    if (request->waiting)
        request->resume(request);
    else
        listener_wake(request);
}

bool request_parse_body(struct request *request, struct json *root)
{
    bool good = request_parse_body_with(request, request->service->doc, root);
    if (!good)
        request_refuse_with(request, &request->refusal);
    return good;
}

bool request_find_collection(struct request *request, struct json root,
                             const struct collection **collection)
{
    struct bytes name;
    if (!json_string(json_get(root, "collection"), &name)) {
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "collection is missing: its name");
        return false;
    }
    *collection = collections_find(request->service->options->collections, name);
    if (*collection == NULL)
        collections_refuse(request->service->options->collections, name, &request->refusal);
    return *collection != NULL;
}

bool request_take_id(struct request *request, struct json root, struct bytes *id)
{
    if (json_string(json_get(root, "id"), id) && id->len > 0)
        return true;
    refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "id is missing: a string");
    return false;
}

bool request_take_min_seq(struct request *request, struct json root, int64_t *min_seq)
{
    struct json value = json_get(root, "minSeq");
    enum json_type type = json_type(value);
    *min_seq = 0;
    if (type == JSON_ABSENT || type == JSON_NULL || (json_i64(value, min_seq) && *min_seq >= 0))
        return true;
    refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "minSeq is a whole number from 0 on");
    return false;
}

enum rc request_check_seq(struct request *request, int64_t min_seq, struct store *store,
                          struct err *err)
{
    int64_t seq = 0;
    if (min_seq == 0)
        return RC_OK;
    enum rc rc = store_query_int(store, "SELECT commit_seq FROM engine WHERE id = 1", 0, &seq, err);
    if (rc != RC_OK || seq >= min_seq)
        return rc;
    return refusal_set(&request->refusal, REFUSAL_BEHIND,
                       "the store is at seq %" PRId64 ", and minSeq is %" PRId64, seq, min_seq);
}

bool request_parse_body_with(struct request *request, struct json_doc *doc, struct json *root)
{
    struct err err;
    struct bytes body = bytes_make(text_string(&request->body), request->body.len);
    if (json_parse_copy(doc, body, root, &err) != RC_OK)
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "the body is not JSON: %s", err.text);
    else if (json_type(*root) != JSON_OBJECT)
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "the body must be a JSON object");
    else
        return true;
    return false;
}
