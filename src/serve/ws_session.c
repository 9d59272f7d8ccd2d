/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ws_session.h"

#include "base/uuid.h"
#include "serve/gate.h"
#include "serve/listener.h"
#include "serve/routes.h"
#include "serve/visitor.h"
#include "sys/ws_upgrade.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ID_MAX       128 /* bytes of a command's id */
#define NAME_MAX_LEN 32
#define CODE_GOING   1001 /* RFC 6455, 7.4.1 */
#define CODE_POLICY  1008

struct ws_sessions {
    struct loop *loop;
    struct json_doc *doc; /* for messages; a command's own parameters are parsed anew */
    struct ws_session *first;
    bool draining;
};

/* ---- answers ---- */

static void send_result(struct ws_session *session, struct bytes id, struct bytes result)
{
    struct text out = {0};
    while (result.len > 0 && result.data[result.len - 1] == '\n')
        result.len--;
    text_append_string(&out, "{\"id\":");
    text_append(&out, id.data, id.len);
    text_append_string(&out, ",\"result\":");
    text_append(&out, result.data, result.len);
    text_append_char(&out, '}');
    ws_wire_send(&session->wire, text_bytes(&out));
    text_free(&out);
}

static void close_if_done(struct ws_session *session)
{
    if (session->all->draining && session->command_count == 0)
        ws_wire_close(&session->wire, CODE_GOING, "the daemon is stopping");
}

static void free_command(struct ws_command *command)
{
    struct request *request = &command->request;
    if (request->free_data != NULL)
        request->free_data(request->data);
    request->service->body_bytes -= request->body.len;
    text_free(&request->body);
    text_free(&request->reply);
    text_free(&command->id);
    free(command);
}

static void take_from_session(struct ws_command *command)
{
    struct ws_session *session = command->session;
    *(command->before != NULL ? &command->before->after : &session->commands) = command->after;
    if (command->after != NULL)
        command->after->before = command->before;
    session->command_count--;
}

/* ---- large answers ---- */

/* The oldest is last in the list. */
static struct request *oldest_held(const struct ws_session *session)
{
    struct request *oldest = NULL;
    for (struct ws_command *at = session->commands; at != NULL; at = at->after)
        if (at->request.held)
            oldest = &at->request;
    return oldest;
}

static bool may_read(const struct ws_session *session)
{
    unsigned reading = 0;
    for (const struct ws_command *at = session->commands; at != NULL; at = at->after)
        reading += at->request.reading && at->request.route->large;
    return reading < session->service->ws_reads_max && !ws_wire_is_full(&session->wire);
}

/* Who comes now stands behind those that wait. */
static bool hold(struct request *request)
{
    struct ws_session *session = ((struct ws_command *)request)->session;
    if (session == NULL || request->held)
        return false;
    return oldest_held(session) != NULL || !may_read(session);
}

static void release(struct ws_session *session)
{
    struct request *next;
    if (session->releasing)
        return;
    session->releasing = true;
    while (may_read(session) && (next = oldest_held(session)) != NULL)
        request_read(next);
    session->releasing = false;
}

void ws_command_rests(struct request *request)
{
    struct ws_command *command = (struct ws_command *)request;
    if (request->hold == hold && command->session != NULL)
        release(command->session);
}

/* ---- the end of a command ---- */

static void finish_command(struct request *request)
{
    struct ws_command *command = (struct ws_command *)request;
    struct ws_session *session = command->session;
    assert(request->answered);
    if (session != NULL) {
        take_from_session(command);
        send_result(session, text_bytes(&command->id), text_bytes(&request->reply));
        release(session);
        close_if_done(session);
    }
    request->service->completed(request->service->server, request);
    free_command(command);
}

bool ws_command_is_left(const struct request *request)
{
    return request->resume == finish_command &&
           ((const struct ws_command *)request)->session == NULL;
}

/* ---- commands ---- */

static bool is_name(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] != '-' && (name.data[i] < 'a' || name.data[i] > 'z'))
            return false;
    return name.len > 0 && name.len <= NAME_MAX_LEN;
}

static void choose_route(struct ws_command *command, struct bytes name, struct json params)
{
    struct request *request = &command->request;
    char path[NAME_MAX_LEN + 16];
    bool push = false;
    (void)json_bool(json_get(params, "push"), &push);
    if (push && bytes_equal_string(name, "query-tail")) {
        request->route = &ws_push_route;
    } else if (!is_name(name)) {
        request_refuse(request, REFUSAL_NOT_FOUND, "there is no such command");
    } else {
        snprintf(path, sizeof path, "/api/data/%.*s", (int)name.len, name.data);
        route_choose(request, "POST", path);
    }
    if (!request->answered)
        gate_pass(request);
}

static struct ws_command *make_command(struct ws_session *session, struct bytes id)
{
    struct ws_command *command = memory_new_zeroed(1, sizeof *command);
    struct request *request = &command->request;
    text_append(&command->id, id.data, id.len);
    command->session = session;
    command->after = session->commands;
    if (command->after != NULL)
        command->after->before = command;
    session->commands = command;
    session->command_count++;
    request->service = session->service;
    request->listener = session->listener;
    request->from = session->from;
    request->scopes = session->scopes;
    request->visitor = session->visitor;
    request->resume = finish_command;
    request->hold = hold;
    memcpy(request->session, session->session, sizeof request->session);
    return command;
}

static void begin_command(struct ws_session *session, struct bytes id, struct bytes name,
                          struct json params)
{
    struct service *service = session->service;
    struct ws_command *command = make_command(session, id);
    struct request *request = &command->request;
    if (json_type(params) == JSON_ABSENT || json_type(params) == JSON_NULL)
        text_append_string(&request->body, "{}");
    else
        json_print(params, &request->body);
    service->body_bytes += request->body.len;
    if (session->command_count > WS_COMMANDS_MAX)
        request_refuse(request, REFUSAL_BUSY, "%d commands are under way: wait for an answer",
                       WS_COMMANDS_MAX);
    else if (service->body_bytes > LISTENER_BODIES_MAX)
        request_refuse(request, REFUSAL_BUSY, "too many bodies are being sent: try again");
    else
        gate_again(service->gate, request);
    if (!request->answered)
        choose_route(command, name, params);
    if (bytes_equal_string(name, "query-close"))
        (void)ws_session_untail(session, json_string_or_absent(json_get(params, "queryHandle")));
    if (!request->answered)
        service->dispatch(service->server, request);
    if (request->answered)
        finish_command(request);
    else
        request->waiting = true;
}

/* ---- what is the connection's own ---- */

static void refuse(struct ws_session *session, struct bytes id, enum refusal_code code,
                   const char *sentence)
{
    struct text result = {0};
    struct refusal refusal;
    refusal_set(&refusal, code, "%s", sentence);
    request_print_refusal(&refusal, &result);
    send_result(session, id, text_bytes(&result));
    text_free(&result);
}

static void print_session(const uint8_t session[HANDLE_SESSION_SIZE], char out[33])
{
    for (size_t i = 0; i < HANDLE_SESSION_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", session[i]);
}

/* The session that the header or the token gave, or the one named here, or one of its own. `chosen`
 * begins as the first; false: what is named is none. */
static bool choose_session(struct runtime *runtime, struct json named,
                           uint8_t chosen[HANDLE_SESSION_SIZE])
{
    static const uint8_t none[HANDLE_SESSION_SIZE];
    enum json_type type = json_type(named);
    if (type != JSON_ABSENT && type != JSON_NULL)
        return type == JSON_STRING && uuid_parse(json_string_or_absent(named), chosen);
    if (memcmp(chosen, none, sizeof none) == 0) {
        const uint64_t random[2] = {runtime->ops->random(runtime), runtime->ops->random(runtime)};
        memcpy(chosen, random, sizeof random);
    }
    return true;
}

static void greet(struct ws_session *session, struct bytes id, struct json params)
{
    struct handles *handles = session->service->handles;
    struct runtime *runtime = session->service->runtime;
    struct text result = {0};
    uint8_t before[HANDLE_SESSION_SIZE], chosen[HANDLE_SESSION_SIZE];
    char words[33];
    memcpy(before, session->session, sizeof before);
    memcpy(chosen, before, sizeof chosen);
    if (session->greeted || session->commanded) {
        refuse(session, id, REFUSAL_CONFLICT, "hello is said once, and before anything else");
        return;
    }
    if (!choose_session(runtime, json_get(params, "session"), chosen)) {
        refuse(session, id, REFUSAL_BAD_REQUEST, "session has 32 hexadecimal digits");
        return;
    }
    session->greeted = true;
    session_joined(handles, chosen);
    memcpy(session->session, chosen, sizeof chosen);
    session_gone(handles, before, runtime->ops->wall_us(runtime));
    print_session(session->session, words);
    text_appendf(&result,
                 "{\"success\":true,\"session\":\"%s\",\"version\":\"" TIDEMARK_VERSION
                 "\",\"pingMs\":%d}",
                 words, (int)(WS_WIRE_PING_US / 1000));
    send_result(session, id, text_bytes(&result));
    text_free(&result);
}

static void untail(struct ws_session *session, struct bytes id, struct json params)
{
    /* Ending what is not followed succeeds: the caller wants it ended, and it is. */
    (void)ws_session_untail(session, json_string_or_absent(json_get(params, "queryHandle")));
    send_result(session, id, bytes_of("{\"success\":true}"));
}

/* ---- messages ---- */

static bool take_id(struct json value, struct text *id)
{
    enum json_type type = json_type(value);
    bool good = type == JSON_INT || type == JSON_UINT ||
                (type == JSON_STRING && json_string_or_absent(value).len <= ID_MAX);
    if (good)
        json_print(value, id);
    else
        text_append_string(id, "null");
    return good;
}

static void take_command(struct ws_session *session, struct bytes id, struct json root)
{
    struct json params = json_get(root, "params");
    struct bytes name = json_string_or_absent(json_get(root, "command"));
    if (bytes_starts_with(name, "data/"))
        name = bytes_make(name.data + 5, name.len - 5);
    if (name.data == NULL) {
        refuse(session, id, REFUSAL_BAD_REQUEST, "command is missing");
        return;
    }
    if (bytes_equal_string(name, "hello")) {
        greet(session, id, params);
        return;
    }
    session->commanded = true;
    if (bytes_equal_string(name, "query-untail"))
        untail(session, id, params);
    else
        begin_command(session, id, name, params);
}

static void take_message(struct ws_wire *wire, struct bytes text)
{
    struct ws_session *session = (struct ws_session *)wire;
    struct text id = {0};
    struct json root;
    struct err err;
    if (json_parse(session->all->doc, text, &root, &err) != RC_OK)
        refuse(session, bytes_of("null"), REFUSAL_BAD_REQUEST, "the message is not JSON");
    else if (!take_id(json_get(root, "id"), &id))
        refuse(session, bytes_of("null"), REFUSAL_BAD_REQUEST,
               "a command has an id: a whole number or a short string");
    else
        take_command(session, text_bytes(&id), root);
    text_free(&id);
}

static void note_drained(struct ws_wire *wire)
{
    release((struct ws_session *)wire);
    ws_session_resume_tails((struct ws_session *)wire);
}

static void note_time(struct ws_wire *wire)
{
    ws_session_mark_tails((struct ws_session *)wire);
}

static void end_session(struct ws_wire *wire)
{
    struct ws_session *session = (struct ws_session *)wire;
    struct runtime *runtime = session->service->runtime;
    ws_session_end_tails(session);
    for (struct ws_command *at = session->commands; at != NULL; at = at->after)
        at->session = NULL;
    for (struct ws_command *at = session->commands, *next; at != NULL; at = next) {
        next = at->after;
        if (at->request.held)
            request_drop_held(&at->request);
        else if (at->request.gone != NULL)
            at->request.gone(&at->request);
    }
    session_gone(session->service->handles, session->session, runtime->ops->wall_us(runtime));
    *(session->before != NULL ? &session->before->after : &session->all->first) = session->after;
    if (session->after != NULL)
        session->after->before = session->before;
    free(session);
}

/* ---- opening ---- */

static void open_session(struct request *request, int fd,
                         struct MHD_UpgradeResponseHandle *upgraded, struct bytes early)
{
    static const struct ws_wire_ops ops = {take_message, note_drained, note_time, end_session};
    struct ws_sessions *all = request->service->websockets;
    struct ws_session *session = memory_new_zeroed(1, sizeof *session);
    session->wire.ops = &ops;
    session->wire.unsent = &request->service->unsent;
    session->all = all;
    session->service = request->service;
    session->listener = request->listener;
    session->from = request->from;
    session->scopes = request->scopes;
    session->visitor = request->visitor;
    memcpy(session->session, request->session, sizeof session->session);
    session_joined(session->service->handles, session->session);
    session->after = all->first;
    if (session->after != NULL)
        session->after->before = session;
    all->first = session;
    ws_wire_open(&session->wire, all->loop, request->listener, fd, upgraded, early);
    close_if_done(session);
}

/* Where a GET can be answered with something else than a body, HEAD has no answer. */
static void refuse_head(struct request *request)
{
    request->allow = "GET";
    request_refuse(request, REFUSAL_METHOD_NOT_ALLOWED, "/api/ws takes GET");
}

/* Who speaks another version is told which one is spoken here. */
static void refuse_version(struct request *request, const char *version)
{
    request_refuse(request, REFUSAL_BAD_REQUEST, "Sec-WebSocket-Version has to be 13");
    if (version != NULL)
        request->status = 426;
}

void ws_begin(struct request *request)
{
    const char *key = request_header(request, "Sec-WebSocket-Key");
    const char *version = request_header(request, "Sec-WebSocket-Version");
    const char *protocols = request_header(request, "Sec-WebSocket-Protocol");
    bool spoken = visitor_names(protocols, VISITOR_PROTOCOL);
    if (request->head_only)
        refuse_head(request);
    else if (!request_names(request, "Upgrade", "websocket") ||
             !request_names(request, "Connection", "upgrade") || key == NULL)
        request_refuse(request, REFUSAL_BAD_REQUEST, "this address is for websockets");
    else if (request->old_http)
        request_refuse(request, REFUSAL_BAD_REQUEST, "a websocket begins with HTTP/1.1");
    else if (version == NULL || strcmp(version, "13") != 0)
        refuse_version(request, version);
    else if (strlen(key) != 24)
        request_refuse(request, REFUSAL_BAD_REQUEST, "Sec-WebSocket-Key has 24 characters");
    else if (!spoken && visitor_offered_token(protocols).data != NULL)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "Sec-WebSocket-Protocol has to offer " VISITOR_PROTOCOL
                       " beside the token, which is never answered");
    else {
        ws_upgrade_accept(bytes_of(key), request->accept);
        request->protocol = spoken ? VISITOR_PROTOCOL : NULL;
        request->upgrade = open_session;
        request_send(request, 101, NULL);
    }
}

/* ---- all of them ---- */

struct ws_sessions *ws_sessions_new(struct loop *loop)
{
    struct ws_sessions *sessions = memory_new_zeroed(1, sizeof *sessions);
    sessions->loop = loop;
    sessions->doc = json_doc_new(WS_WIRE_MESSAGE_MAX, JSON_DEPTH_MAX);
    return sessions;
}

void ws_sessions_free(struct ws_sessions *sessions)
{
    assert(sessions->first == NULL);
    json_doc_free(sessions->doc);
    free(sessions);
}

void ws_sessions_drain(struct ws_sessions *sessions)
{
    sessions->draining = true;
    for (struct ws_session *at = sessions->first; at != NULL; at = at->after)
        close_if_done(at);
}

void ws_sessions_check(struct ws_sessions *sessions, const struct gate *gate)
{
    for (struct ws_session *at = sessions->first, *next; at != NULL; at = next) {
        next = at->after;
        if (!gate_knows(gate, &at->visitor))
            ws_wire_close(&at->wire, CODE_POLICY, "this token is no longer known here");
    }
}

void ws_sessions_abort(struct ws_sessions *sessions)
{
    while (sessions->first != NULL)
        ws_wire_abort(&sessions->first->wire);
}
