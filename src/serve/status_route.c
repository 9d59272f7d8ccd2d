/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "base/timestamp.h"

#include <assert.h>

#define STREAMS_MAX "10000"

/* Every source anybody wrote about, with its streams; one row per stream. */
static const char status_sql[] =
    "SELECT s.source, "
    "(SELECT count(*) FROM gaps g WHERE g.source = s.source AND g.closed_us IS NULL), "
    "(SELECT count(*) FROM owed o WHERE o.source = s.source AND o.state = 'owed'), "
    "(SELECT count(*) FROM owed o WHERE o.source = s.source AND o.state = 'dead'), "
    "(SELECT count(*) FROM quarantine q WHERE q.source = s.source), "
    "c.stream, c.position, c.updated_us, c.state "
    "FROM (SELECT source FROM cursors UNION SELECT source FROM gaps UNION "
    "SELECT source FROM owed UNION SELECT source FROM quarantine) s "
    "LEFT JOIN cursors c ON c.source = s.source ORDER BY s.source, c.stream LIMIT " STREAMS_MAX;

enum {
    AT_SOURCE,
    AT_GAPS,
    AT_OWED,
    AT_DEAD,
    AT_QUARANTINE,
    AT_STREAM,
    AT_POSITION,
    AT_UPDATED,
    AT_STATE,
    AT_COUNT
};

struct status_call {
    struct json_writer writer;
    struct text source; /* the one being written */
    bool open;
};

void status_begin(struct request *request)
{
    (void)request; /* the store knows */
}

static void end_source(struct status_call *call)
{
    if (!call->open)
        return;
    json_end_array(&call->writer);
    json_end_object(&call->writer);
    call->open = false;
}

static void begin_source(struct status_call *call, const struct field *columns)
{
    static const char *const names[] = {"gaps", "owed", "dead", "quarantine"};
    struct json_writer *writer = &call->writer;
    end_source(call);
    text_clear(&call->source);
    text_append(&call->source, columns[AT_SOURCE].b.data, columns[AT_SOURCE].b.len);
    call->open = true;
    json_begin_object(writer);
    json_key(writer, "source");
    json_put_string(writer, columns[AT_SOURCE].b);
    for (size_t i = 0; i < 4; i++) {
        json_key(writer, names[i]);
        json_put_i64(writer, columns[AT_GAPS + i].i);
    }
    json_key(writer, "streams");
    json_begin_array(writer);
}

static void put_stream(struct json_writer *writer, const struct field *columns)
{
    char time[TIMESTAMP_TEXT_MAX];
    bool known = timestamp_format(columns[AT_UPDATED].i, time);
    json_begin_object(writer);
    json_key(writer, "stream");
    json_put_string(writer, columns[AT_STREAM].b);
    json_key(writer, "position");
    if (columns[AT_POSITION].null)
        json_put_null(writer);
    else
        json_put_i64(writer, columns[AT_POSITION].i);
    json_key(writer, "updated_at");
    json_put_cstring(writer, known ? time : NULL);
    json_key(writer, "cursor");
    json_put_raw(writer, columns[AT_STATE].b);
    json_end_object(writer);
}

static bool take_status(void *arg, const struct field *columns, size_t count)
{
    struct status_call *call = arg;
    assert(count == AT_COUNT);
    if (!call->open || !bytes_equal(text_bytes(&call->source), columns[AT_SOURCE].b))
        begin_source(call, columns);
    if (!columns[AT_STREAM].null)
        put_stream(&call->writer, columns);
    return true;
}

enum rc status_work(struct request *request, struct store *store, struct err *err)
{
    struct status_call call = {0};
    int64_t seq = 0;
    request_begin_json(request, &call.writer);
    json_key(&call.writer, "version");
    json_put_cstring(&call.writer, TIDEMARK_VERSION);
    enum rc rc = store_query_int(store, "SELECT commit_seq FROM engine WHERE id = 1", 0, &seq, err);
    json_key(&call.writer, "commit_seq");
    json_put_i64(&call.writer, seq);
    json_key(&call.writer, "sources");
    json_begin_array(&call.writer);
    if (rc == RC_OK)
        rc = store_query(store, status_sql, NULL, 0, take_status, &call, err);
    end_source(&call);
    json_end_array(&call.writer);
    json_end_object(&call.writer);
    text_append_char(&request->reply, '\n');
    text_free(&call.source);
    return rc;
}

void status_finish(struct request *request)
{
    if (request->job.rc == RC_OK)
        request_send(request, 200, "application/json");
    else
        request_fail(request);
}
