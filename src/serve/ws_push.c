/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"
#include "serve/tail_watch.h"
#include "serve/ws_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A query whose changes are pushed. Away from the hub while its client is slow. */
struct ws_tail {
    struct follower follower; /* first */
    struct ws_session *session;
    struct ws_tail *next;
    struct tail_question question;
    uint8_t name[HANDLE_NAME_SIZE];
    int64_t told_seq; /* what the client knows it was told up to */
};

static void free_tail(void *data)
{
    struct ws_tail *tail = data;
    assert(tail->follower.state == FOLLOWER_AWAY);
    tail_watch_end(&tail->follower);
    tail_deinit(&tail->follower.tail);
    tail_question_free(&tail->question);
    free(tail);
}

static struct ws_tail **find_tail(struct ws_session *session, const uint8_t name[HANDLE_NAME_SIZE])
{
    struct ws_tail **at = &session->tails;
    while (*at != NULL && memcmp((*at)->name, name, HANDLE_NAME_SIZE) != 0)
        at = &(*at)->next;
    return at;
}

static void end_tail(struct ws_session *session, struct ws_tail **at)
{
    struct ws_tail *tail = *at;
    *at = tail->next;
    session->tail_count--;
    tail_hub_leave(session->service->tails, &tail->follower);
    free_tail(tail);
}

/* ---- what is pushed ---- */

static void begin_push(const struct ws_tail *tail, struct json_writer *writer, struct text *out)
{
    char name[UUID_TEXT_SIZE];
    uuid_format(tail->name, name);
    json_writer_init(writer, out);
    json_begin_object(writer);
    json_key(writer, "push");
    json_put_cstring(writer, "tail");
    json_key(writer, "queryHandle");
    json_put_cstring(writer, name);
}

/* `changes` NULL: only how far it is. */
static void push_changes(struct ws_tail *tail, const struct changes *changes, int64_t seq)
{
    struct text out = {0};
    struct json_writer writer;
    begin_push(tail, &writer, &out);
    json_key(&writer, "changes");
    json_begin_array(&writer);
    if (changes != NULL)
        tail_print(&tail->follower.tail, changes, &writer);
    json_end_array(&writer);
    json_key(&writer, "seq");
    json_put_i64(&writer, seq);
    json_end_object(&writer);
    ws_wire_send(&tail->session->wire, text_bytes(&out));
    text_free(&out);
    tail->told_seq = seq;
}

/* A client that does not listen is left alone: what it misses is read from the store when it has
 * room again. */
static void hear(struct follower *follower, const struct changes *changes)
{
    struct ws_tail *tail = (struct ws_tail *)follower;
    struct ws_session *session = tail->session;
    if (ws_wire_is_full(&session->wire)) {
        tail_hub_leave(session->service->tails, follower);
        return;
    }
    if (tail_sees(&follower->tail, changes))
        push_changes(tail, changes, changes->seq);
}

static void be_refused(struct follower *follower, const struct refusal *refusal)
{
    struct ws_tail *tail = (struct ws_tail *)follower;
    struct ws_session *session = tail->session;
    struct text out = {0};
    struct json_writer writer;
    begin_push(tail, &writer, &out);
    json_key(&writer, "success");
    json_put_bool(&writer, false);
    json_key(&writer, "code");
    json_put_cstring(&writer, refusal_name(refusal->code));
    json_key(&writer, "error");
    json_put_cstring(&writer, refusal->err.text);
    json_end_object(&writer);
    ws_wire_send(&session->wire, text_bytes(&out));
    text_free(&out);
    end_tail(session, find_tail(session, tail->name));
}

/* ---- of one session ---- */

bool ws_session_untail(struct ws_session *session, struct bytes handle)
{
    uint8_t name[HANDLE_NAME_SIZE];
    if (!uuid_parse(handle, name))
        return false;
    struct ws_tail **at = find_tail(session, name);
    if (*at == NULL)
        return false;
    end_tail(session, at);
    return true;
}

void ws_session_end_tails(struct ws_session *session)
{
    while (session->tails != NULL)
        end_tail(session, &session->tails);
    assert(session->tail_count == 0);
}

void ws_session_resume_tails(struct ws_session *session)
{
    for (struct ws_tail *tail = session->tails; tail != NULL; tail = tail->next)
        if (tail->follower.state == FOLLOWER_AWAY && !session->service->draining)
            tail_hub_follow(session->service->tails, &tail->follower, true);
}

void ws_session_mark_tails(struct ws_session *session)
{
    for (struct ws_tail *tail = session->tails; tail != NULL; tail = tail->next)
        if (tail->follower.tail.seq > tail->told_seq && !ws_wire_is_full(&session->wire))
            push_changes(tail, NULL, tail->follower.tail.seq);
}

/* ---- the command ---- */

static struct ws_session *session_of(struct request *request)
{
    return ((struct ws_command *)request)->session;
}

static void begin(struct request *request)
{
    static const struct follower_ops ops = {hear, be_refused};
    struct json params;
    struct ws_tail *tail = memory_new_zeroed(1, sizeof *tail);
    tail->follower.ops = &ops;
    tail->session = session_of(request);
    request->data = tail;
    request->free_data = free_tail;
    if (request_parse_body(request, &params) &&
        !tail_question_parse(&tail->question, request, params))
        request_refuse_with(request, &request->refusal);
}

static enum rc work(struct request *request, struct store *store, struct err *err)
{
    struct ws_tail *tail = request->data;
    return tail_question_look_up(&tail->question, store, &request->refusal, err);
}

/* False: it is answered. */
static bool admit(struct request *request, const struct ws_session *session,
                  const uint8_t name[HANDLE_NAME_SIZE])
{
    if (session == NULL)
        request_refuse(request, REFUSAL_SHUTTING_DOWN, "the connection is closing");
    else if (*find_tail(session_of(request), name) != NULL)
        request_refuse(request, REFUSAL_CONFLICT, "this query is followed here already");
    else if (session->tail_count == WS_TAILS_MAX)
        request_refuse(request, REFUSAL_QUOTA_EXCEEDED,
                       "a connection follows at most %d queries: end one", WS_TAILS_MAX);
    return !request->answered;
}

static void finish(struct request *request)
{
    struct ws_tail *tail = request->data;
    struct ws_session *session = session_of(request);
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    memcpy(tail->name, tail->question.state.name, sizeof tail->name);
    if (!admit(request, session, tail->name) ||
        !tail_question_follow(&tail->question, request, &tail->follower))
        return;
    request->data = NULL;
    request->free_data = NULL;
    tail->told_seq = tail->follower.tail.seq;
    tail->next = session->tails;
    session->tails = tail;
    session->tail_count++;
    request_begin_json(request, &writer);
    json_key(&writer, "seq");
    json_put_i64(&writer, tail->told_seq);
    request_send_json(request, &writer);
    tail_hub_follow(request->service->tails, &tail->follower, true);
}

const struct route ws_push_route = {.method = "POST",
                                    .path = "/api/data/query-tail",
                                    .listeners = ON_MAIN,
                                    .scope = SCOPE_READ,
                                    .begin = begin,
                                    .work = work,
                                    .finish = finish};
