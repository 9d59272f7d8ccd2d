/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tail_question.h"

#include "base/uuid.h"
#include "serve/gate.h"
#include "serve/tail_watch.h"

#include <assert.h>
#include <string.h>

static const struct collection *find_collection(void *arg, struct bytes name)
{
    return collections_find(arg, name);
}

static bool take_handle(struct tail_question *question, struct request *request,
                        struct bytes handle)
{
    struct service *service = request->service;
    struct runtime *runtime = service->runtime;
    question->handle.finder =
        (struct handle_finder){find_collection, service->options->collections};
    question->handle.now_us = runtime->ops->wall_us(runtime);
    question->handle.idle_us_max = handles_limits(service->handles)->idle_us;
    memcpy(question->handle.session, request->session, HANDLE_SESSION_SIZE);
    if (uuid_parse(handle, question->state.name))
        return true;
    refusal_set(&request->refusal, REFUSAL_HANDLE_NOT_FOUND,
                "this is no query's handle: it has 32 hexadecimal digits");
    return false;
}

static bool take_since(struct tail_question *question, struct json value, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    question->has_since = type != JSON_ABSENT && type != JSON_NULL;
    if (!question->has_since || (json_i64(value, &question->since) && question->since >= 0))
        return true;
    refusal_set(refusal, REFUSAL_BAD_REQUEST, "since is the seq of an earlier answer");
    return false;
}

static bool take_wait(struct tail_question *question, struct json value, struct refusal *refusal)
{
    enum json_type type = json_type(value);
    if (type == JSON_ABSENT || type == JSON_NULL ||
        (json_i64(value, &question->wait_ms) && question->wait_ms >= 0 &&
         question->wait_ms <= TAIL_WAIT_MS_MAX))
        return true;
    refusal_set(refusal, REFUSAL_LIMIT_RANGE, "wait is from 0 to %d milliseconds",
                TAIL_WAIT_MS_MAX);
    return false;
}

bool tail_question_parse(struct tail_question *question, struct request *request,
                         struct json params)
{
    struct bytes handle;
    if (!json_string(json_get(params, "queryHandle"), &handle)) {
        refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "queryHandle is missing");
        return false;
    }
    return take_handle(question, request, handle) &&
           take_since(question, json_get(params, "since"), &request->refusal) &&
           take_wait(question, json_get(params, "wait"), &request->refusal);
}

bool tail_question_set(struct tail_question *question, struct request *request, struct bytes handle,
                       struct bytes since)
{
    if (!take_handle(question, request, handle))
        return false;
    question->has_since = since.data != NULL;
    if (since.data == NULL || (bytes_to_i64(since, &question->since) && question->since >= 0))
        return true;
    refusal_set(&request->refusal, REFUSAL_BAD_REQUEST, "since is the seq of an earlier answer");
    return false;
}

void tail_question_free(struct tail_question *question)
{
    handle_state_forget(&question->state);
}

enum rc tail_question_look_up(struct tail_question *question, struct store *store,
                              struct refusal *refusal, struct err *err)
{
    return handle_look_up(store, &question->state, &question->handle, refusal, err);
}

bool tail_question_follow(struct tail_question *question, struct request *request,
                          struct follower *follower)
{
    struct service *service = request->service;
    struct handle_state *state = &question->state;
    assert(state->known);
    if (service->draining)
        request_refuse(request, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
    else if (!gate_knows(service->gate, &request->visitor))
        request_refuse(request, REFUSAL_UNAUTHORIZED, "this token is no longer known here");
    if (request->answered)
        return false;
    tail_init(&follower->tail, state->collection, state->filter, &state->opening,
              question->has_since ? question->since : state->opening.seq,
              tail_hub_marks(service->tails));
    tail_watch_begin(service->watches, follower, request, state->name, question->handle.now_us);
    state->filter = NULL;
    handle_state_forget(state);
    return true;
}
