/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listener.h"
#include "serve/routes.h"
#include "serve/tail_hub.h"
#include "serve/tail_question.h"
#include "serve/tail_watch.h"
#include "serve/ws_session.h"

#include <assert.h>
#include <stdlib.h>

/* How long who does not wait is read for once the way proves to be long. */
#define WAY_US INT64_C(2000000)

/* A request that waits until something changes, or until its time is up. */
struct poll {
    struct follower follower; /* first */
    struct request *request;
    struct tail_question question;
    struct timer timer;
    bool on_the_way; /* the timer is for the way */
    bool counted;    /* it keeps a connection waiting */
};

static void free_poll(void *data)
{
    struct poll *poll = data;
    assert(poll->follower.state == FOLLOWER_AWAY);
    tail_deinit(&poll->follower.tail);
    tail_question_free(&poll->question);
    free(poll);
}

static void end_waiting(struct poll *poll)
{
    struct service *service = poll->request->service;
    service->runtime->ops->timer_disarm(service->runtime, &poll->timer);
    service->polls[poll->request->from] -= poll->counted;
    poll->counted = false;
    listener_unwatch(poll->request);
    tail_watch_end(&poll->follower);
    tail_hub_leave(service->tails, &poll->follower);
}

static void answer(struct poll *poll, const struct changes *changes)
{
    struct json_writer writer;
    const struct tail *tail = &poll->follower.tail;
    int64_t seq = changes != NULL && changes->seq > tail->seq ? changes->seq : tail->seq;
    request_begin_json(poll->request, &writer);
    json_key(&writer, "changes");
    json_begin_array(&writer);
    if (changes != NULL)
        tail_print(tail, changes, &writer);
    json_end_array(&writer);
    json_key(&writer, "seq");
    json_put_i64(&writer, seq);
    request_send_json(poll->request, &writer);
}

/* Nothing so far, and there is more: to answer now would look as if that were all. */
static void go_further(struct poll *poll)
{
    struct runtime *runtime = poll->request->service->runtime;
    if (poll->question.wait_ms > 0 || poll->on_the_way)
        return;
    poll->on_the_way = true;
    runtime->ops->timer_arm(runtime, &poll->timer, WAY_US);
}

static void hear(struct follower *follower, const struct changes *changes)
{
    struct poll *poll = (struct poll *)follower;
    bool goes_on = changes->more || poll->question.wait_ms > 0;
    if (goes_on && !tail_sees(&follower->tail, changes)) {
        go_further(poll);
        return;
    }
    end_waiting(poll);
    answer(poll, changes);
    request_resume(poll->request);
}

static void be_refused(struct follower *follower, const struct refusal *refusal)
{
    struct poll *poll = (struct poll *)follower;
    end_waiting(poll);
    request_refuse_with(poll->request, refusal);
    request_resume(poll->request);
}

static void give_up(void *arg)
{
    struct poll *poll = arg;
    end_waiting(poll);
    answer(poll, NULL);
    request_resume(poll->request);
}

/* Who says no more but still listens has its answer, too. */
static void let_go(struct request *request)
{
    give_up(request->data);
}

/* Most connections may wait, but never all of them. */
static bool may_wait(struct poll *poll)
{
    struct request *request = poll->request;
    struct service *service = request->service;
    if (poll->question.wait_ms == 0 || request->connection == NULL)
        return true;
    if (service->polls[request->from] >= service->polls_max) {
        request_refuse(request, REFUSAL_BUSY, "%u others wait for changes here: try again",
                       service->polls_max);
        return false;
    }
    service->polls[request->from]++;
    poll->counted = true;
    return true;
}

void query_tail_begin(struct request *request)
{
    static const struct follower_ops ops = {hear, be_refused};
    struct json root;
    struct poll *poll = memory_new_zeroed(1, sizeof *poll);
    poll->follower.ops = &ops;
    poll->request = request;
    poll->timer = (struct timer){.fn = give_up, .arg = poll};
    request->data = poll;
    request->free_data = free_poll;
    if (request_parse_body(request, &root) && !tail_question_parse(&poll->question, request, root))
        request_refuse_with(request, &request->refusal);
}

enum rc query_tail_work(struct request *request, struct store *store, struct err *err)
{
    struct poll *poll = request->data;
    return tail_question_look_up(&poll->question, store, &request->refusal, err);
}

void query_tail_finish(struct request *request)
{
    struct poll *poll = request->data;
    struct service *service = request->service;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    if (!tail_question_follow(&poll->question, request, &poll->follower))
        return;
    if (ws_command_is_left(request))
        poll->question.wait_ms = 0;
    if (!may_wait(poll)) {
        end_waiting(poll);
        return;
    }
    if (poll->question.wait_ms > 0) {
        service->runtime->ops->timer_arm(service->runtime, &poll->timer,
                                         poll->question.wait_ms * 1000);
        listener_watch(request, let_go);
    }
    request->parked = true;
    tail_hub_follow(service->tails, &poll->follower, poll->question.wait_ms == 0);
}

/* ---- their numbers ---- */

void tails_print_metrics(const struct tail_hub *hub, struct text *out)
{
    const struct tail_counts counts = tail_hub_counts(hub);
    metric_append(out, "tidemark_tails_live", "gauge", "Queries that are followed, up to date.",
                  counts.live);
    metric_append(out, "tidemark_tails_behind", "gauge", "Queries that are followed and catch up.",
                  counts.behind);
    metric_append(out, "tidemark_changes_readings_total", "counter",
                  "Times that the changes of a collection were read.", counts.readings);
}
