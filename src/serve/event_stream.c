/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"
#include "serve/listener.h"
#include "serve/routes.h"
#include "serve/tail_hub.h"
#include "serve/tail_question.h"
#include "serve/tail_watch.h"

#include <microhttpd.h>

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_MAX (1 << 20)         /* more than this unread, and nothing is added */
#define MARK_US     INT64_C(15000000) /* a sign of life, and how far the stream is */
#define KEEP_MAX    65536

/* A query whose changes are a stream that ends with its connection, or with a refusal. Away from
 * the hub while its client is slow. */
struct event_stream {
    struct follower follower; /* first */
    struct request *request;
    struct tail_question question;
    struct timer timer;
    struct text out; /* from `out_at` on not taken yet */
    size_t out_at;
    size_t counted; /* as unsent */
    int64_t told_seq;
    bool joined; /* it is one of its session's connections */
    bool ended;
};

static void count(struct event_stream *stream)
{
    unsent_note(&stream->request->service->unsent, &stream->counted,
                stream->out_at < stream->out.len ? stream->out.cap : 0);
}

static size_t waiting_max(const struct event_stream *stream)
{
    return unsent_is_over(&stream->request->service->unsent) ? 0 : WAITING_MAX;
}

static void leave(struct event_stream *stream)
{
    struct service *service = stream->request->service;
    service->runtime->ops->timer_disarm(service->runtime, &stream->timer);
    tail_watch_end(&stream->follower);
    tail_hub_leave(service->tails, &stream->follower);
}

static void free_stream(void *data)
{
    struct event_stream *stream = data;
    struct request *request = stream->request;
    struct runtime *runtime = request->service->runtime;
    leave(stream);
    if (stream->joined)
        session_gone(request->service->handles, request->session, runtime->ops->wall_us(runtime));
    tail_deinit(&stream->follower.tail);
    tail_question_free(&stream->question);
    text_free(&stream->out);
    unsent_note(&request->service->unsent, &stream->counted, 0);
    free(stream);
}

/* ---- what is written ---- */

/* `changes` NULL: only how far it is. Who comes back names the last id. */
static void put_event(struct event_stream *stream, const struct changes *changes, int64_t seq)
{
    struct json_writer writer;
    text_appendf(&stream->out, "id: %" PRId64 "\ndata: ", seq);
    json_writer_init(&writer, &stream->out);
    json_begin_object(&writer);
    json_key(&writer, "changes");
    json_begin_array(&writer);
    if (changes != NULL)
        tail_print(&stream->follower.tail, changes, &writer);
    json_end_array(&writer);
    json_key(&writer, "seq");
    json_put_i64(&writer, seq);
    json_end_object(&writer);
    text_append_string(&stream->out, "\n\n");
    stream->told_seq = seq;
}

static void arm_mark(struct event_stream *stream)
{
    struct runtime *runtime = stream->request->service->runtime;
    runtime->ops->timer_arm(runtime, &stream->timer, MARK_US);
}

static void mark(void *arg)
{
    struct event_stream *stream = arg;
    int64_t seq = stream->follower.tail.seq;
    if (stream->out_at == stream->out.len && seq > stream->told_seq)
        put_event(stream, NULL, seq);
    else if (stream->out_at == stream->out.len)
        text_append_string(&stream->out, ":\n\n");
    arm_mark(stream);
    listener_wake(stream->request);
}

/* ---- what is read ---- */

static ssize_t give(struct request *request, char *to, size_t size)
{
    struct event_stream *stream = request->data;
    struct text *out = &stream->out;
    size_t left = out->len - stream->out_at;
    if (left == 0)
        return stream->ended ? -1 : 0;
    if (size > left)
        size = left;
    memcpy(to, out->data + stream->out_at, size);
    stream->out_at += size;
    if (size == left) {
        stream->out_at = out->len = 0;
        if (out->cap > KEEP_MAX)
            text_free(out);
        count(stream);
    }
    /* It was too slow, and has caught up. */
    if (size == left && stream->follower.state == FOLLOWER_AWAY && !stream->ended &&
        !request->service->draining)
        tail_hub_follow(request->service->tails, &stream->follower, true);
    return (ssize_t)size;
}

static void end_stream(struct request *request)
{
    struct event_stream *stream = request->data;
    leave(stream);
    stream->ended = true;
    listener_wake(request);
}

/* The stream begins when it is known that it can. */
static void begin_stream(struct event_stream *stream)
{
    struct request *request = stream->request;
    text_append_string(&stream->out, "retry: 1000\n\n");
    request->give = give;
    arm_mark(stream);
    listener_watch(request, end_stream);
    request_send(request, 200, "text/event-stream");
    request_resume(request);
}

static void hear(struct follower *follower, const struct changes *changes)
{
    struct event_stream *stream = (struct event_stream *)follower;
    if (stream->out.len - stream->out_at > waiting_max(stream)) {
        tail_hub_leave(stream->request->service->tails, follower);
        return;
    }
    if (tail_sees(&follower->tail, changes))
        put_event(stream, changes, changes->seq);
    count(stream);
    if (!stream->request->answered)
        begin_stream(stream);
    else
        listener_wake(stream->request);
}

static void be_refused(struct follower *follower, const struct refusal *refusal)
{
    struct event_stream *stream = (struct event_stream *)follower;
    struct request *request = stream->request;
    leave(stream);
    if (!request->answered) {
        request_refuse_with(request, refusal);
        request_resume(request);
        return;
    }
    stream->ended = true;
    text_append_string(&stream->out, "event: refused\ndata: ");
    request_print_refusal(refusal, &stream->out);
    text_append_string(&stream->out, "\n");
    listener_wake(request);
}

/* ---- the route ---- */

static struct bytes parameter(struct request *request, const char *name)
{
    return bytes_of(MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name));
}

/* A browser's EventSource can send no header of its own. */
static bool take_session(struct request *request)
{
    struct bytes session = parameter(request, "session");
    if (session.data == NULL || uuid_parse(session, request->session))
        return true;
    refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "session has 32 hexadecimal digits");
    return false;
}

void events_begin(struct request *request)
{
    static const struct follower_ops ops = {hear, be_refused};
    struct event_stream *stream = memory_new_zeroed(1, sizeof *stream);
    struct bytes since = bytes_of(request_header(request, "Last-Event-ID"));
    if (since.data == NULL)
        since = parameter(request, "since");
    stream->follower.ops = &ops;
    stream->request = request;
    stream->timer = (struct timer){.fn = mark, .arg = stream};
    request->data = stream;
    request->free_data = free_stream;
    if (!take_session(request) ||
        !tail_question_set(&stream->question, request, parameter(request, "queryHandle"), since))
        request_refuse_with(request, &request->refusal);
}

enum rc events_work(struct request *request, struct store *store, struct err *err)
{
    struct event_stream *stream = request->data;
    return tail_question_look_up(&stream->question, store, &request->refusal, err);
}

void events_finish(struct request *request)
{
    struct event_stream *stream = request->data;
    if (request->job.rc != RC_OK) {
        request_fail(request);
    } else if (tail_question_follow(&stream->question, request, &stream->follower)) {
        session_joined(request->service->handles, request->session);
        stream->joined = true;
        stream->told_seq = stream->follower.tail.seq;
        request->parked = true;
        tail_hub_follow(request->service->tails, &stream->follower, true);
    }
}
