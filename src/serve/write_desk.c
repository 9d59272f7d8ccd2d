/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/write_desk.h"

#include "store/outbox.h"
#include "sys/log.h"
#include "sys/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct desk {
    struct outbox *outbox;
    struct id_set held;
    struct write *first, *last; /* in the order of arrival */
    bool admitting, closed;
};

struct desk *desk_new(struct loop *loop, struct writer *writer)
{
    struct desk *desk = memory_new_zeroed(1, sizeof *desk);
    struct runtime *runtime = loop_runtime(loop);
    desk->outbox = outbox_new(loop, writer, SERVER_WRITES_MAX);
    id_set_init(&desk->held, runtime->ops->random(runtime));
    return desk;
}

void desk_free(struct desk *desk)
{
    outbox_free(desk->outbox);
    assert(desk->first == NULL);
    id_set_deinit(&desk->held);
    free(desk);
}

/* ---- names ---- */

bool write_name(struct write *write, const char *collection, char kind, struct bytes name)
{
    struct text whole = {0};
    text_appendf(&whole, "%s%c", collection, kind);
    text_append(&whole, name.data, name.len);
    bool fresh = id_set_add(&write->names, text_bytes(&whole));
    text_free(&whole);
    return fresh;
}

static bool take_names(struct desk *desk, const struct write *write)
{
    struct id_set_walk walk = id_set_walk(&write->names);
    struct bytes name;
    while (id_set_walk_next(&walk, &name))
        if (id_set_contains(&desk->held, name))
            return false;
    walk = id_set_walk(&write->names);
    while (id_set_walk_next(&walk, &name))
        id_set_add(&desk->held, name);
    return true;
}

static void give_names_back(struct desk *desk, const struct write *write)
{
    struct id_set_walk walk = id_set_walk(&write->names);
    struct bytes name;
    while (id_set_walk_next(&walk, &name))
        id_set_remove(&desk->held, name);
}

/* ---- coming and going ---- */

static void unlink_write(struct desk *desk, struct write *write)
{
    if (write->previous == NULL)
        desk->first = write->next;
    else
        write->previous->next = write->next;
    if (write->next == NULL)
        desk->last = write->previous;
    else
        write->next->previous = write->previous;
    write->next = write->previous = NULL;
}

static void go_on(struct write *write)
{
    struct request *request = write->request;
    write->state = WRITE_ENTERED;
    request->parked = false;
    if (write->read) {
        request_read(request);
        return;
    }
    request->route->finish(request);
    if (request->answered)
        request_resume(request);
}

/* Whoever can go on now does; one that goes on may end at once and make room for more. */
static void admit(struct desk *desk)
{
    struct write *write = desk->first;
    if (desk->admitting || desk->closed)
        return;
    desk->admitting = true;
    while (write != NULL) {
        bool enters = write->state == WRITE_WAITING && take_names(desk, write);
        if (enters)
            go_on(write);
        write = enters ? desk->first : write->next;
    }
    desk->admitting = false;
}

/* Gives the names back and forgets it. */
static void remove_write(struct desk *desk, struct write *write)
{
    bool held = write->state != WRITE_WAITING;
    unlink_write(desk, write);
    write->state = WRITE_NEW;
    if (held)
        give_names_back(desk, write);
    if (held)
        admit(desk);
}

static void refuse_late(struct request *request)
{
    request_refuse(request, REFUSAL_SHUTTING_DOWN, "the daemon is stopping: nothing is stored");
}

bool desk_enter(struct desk *desk, struct write *write, bool read)
{
    assert(write->state == WRITE_NEW && write->request != NULL);
    if (desk->closed) {
        refuse_late(write->request);
        return false;
    }
    write->desk = desk;
    write->read = read;
    write->previous = desk->last;
    if (desk->last == NULL)
        desk->first = write;
    else
        desk->last->next = write;
    desk->last = write;
    bool enters = take_names(desk, write);
    write->state = enters ? WRITE_ENTERED : WRITE_WAITING;
    write->request->parked = !enters;
    return enters;
}

void desk_release(struct write *write)
{
    assert(write->state != WRITE_SUBMITTED);
    if (write->state != WRITE_NEW)
        remove_write(write->desk, write);
}

void desk_leave(void *arg)
{
    struct write *write = arg;
    write->request = NULL;
    if (write->state == WRITE_SUBMITTED)
        return;
    desk_release(write);
    write->free(write);
}

/* ---- the writer ---- */

static void take_answer(void *owner, struct batch *batch, enum rc rc)
{
    struct write *write = owner;
    struct request *request = write->request;
    if (rc == RC_REJECT)
        log_event_limited(LOG_WARN, "serve", "write_refused",
                          (struct log_field[]){log_string("reason", batch->why.text), LOG_END});
    write->state = WRITE_ENTERED;
    if (request == NULL) { /* answered when the desk closed */
        desk_leave(write);
        return;
    }
    request->parked = false;
    if (!request->answered)
        write->committed(write, rc);
    remove_write(write->desk, write);
    request_resume(request);
}

void desk_submit(struct write *write)
{
    struct request *request = write->request;
    assert(write->state == WRITE_ENTERED && write->batch.record_count > 0);
    write->batch.together = write->batch.urgent = true;
    write->batch.answered = take_answer;
    write->batch.owner = write;
    enum rc rc =
        write->desk->closed ? RC_REJECT : outbox_submit(write->desk->outbox, &write->batch);
    if (rc == RC_OK) {
        write->state = WRITE_SUBMITTED;
        request->parked = true;
    } else if (rc == RC_AGAIN) {
        request_refuse(request, REFUSAL_BUSY, "too much is being written: try again");
    } else {
        refuse_late(request);
    }
}

void desk_close(struct desk *desk)
{
    desk->closed = true;
    for (struct write *write = desk->first, *next; write != NULL; write = next) {
        struct request *request = write->request;
        next = write->next;
        if (request == NULL || request->answered)
            continue;
        request->parked = false;
        if (write->state == WRITE_SUBMITTED)
            request_refuse(request, REFUSAL_UNAVAILABLE,
                           "the daemon is stopping and cannot tell whether this is stored: look, "
                           "or ask again with the same idempotencyKey");
        else
            refuse_late(request);
        request_resume(request);
    }
}
