/* SPDX-License-Identifier: Apache-2.0 */
#include "source/turns.h"

#include "decode/url.h"

#include <assert.h>

static int64_t mono(const struct turns *turns)
{
    return turns->runtime->ops->mono_us(turns->runtime);
}

void turns_go_on(struct turns *turns)
{
    while (turns->taken < turns->places && turns->first != NULL) {
        struct turn *turn = turns->first;
        turns->first = turn->next;
        if (turns->first == NULL)
            turns->end = &turns->first;
        turn->next = NULL;
        turns->ask(turn->arg);
    }
}

static void come(void *arg)
{
    struct turn *turn = arg;
    struct turns *turns = turn->turns;
    assert(turn->next == NULL && turn->call == NULL);
    *turns->end = turn;
    turns->end = &turn->next;
    turns_go_on(turns);
}

void turns_init(struct turns *turns, struct runtime *runtime, turn_fn *ask, uint32_t places,
                int64_t per_host_us)
{
    *turns = (struct turns){.runtime = runtime, .ask = ask, .places = places};
    turns->end = &turns->first;
    cards_pace_init(&turns->pace, runtime->ops->random(runtime), per_host_us);
}

void turn_init(struct turn *turn, struct turns *turns, void *arg)
{
    *turn = (struct turn){.turns = turns, .arg = arg};
    turn->timer = (struct timer){.fn = come, .arg = turn};
}

enum rc turn_wait(struct turn *turn, struct bytes address, int64_t ahead_us, int64_t *wait_us,
                  struct err *err)
{
    struct turns *turns = turn->turns;
    struct url url;
    int64_t now_us = mono(turns), at_us;
    enum rc rc = url_parse(address, &url, err);
    if (rc != RC_OK)
        return RC_REJECT;
    rc = cards_pace_take(&turns->pace, url.host, now_us, ahead_us, &at_us);
    *wait_us = at_us - now_us;
    if (rc == RC_OK)
        turns->runtime->ops->timer_arm(turns->runtime, &turn->timer, *wait_us);
    return rc;
}

void turn_send(struct turn *turn, const struct http_request *request, http_done_fn *done)
{
    struct turns *turns = turn->turns;
    assert(turn->call == NULL);
    turns_take_place(turns);
    turn->call = turns->runtime->ops->http_send(turns->runtime, request, done, turn->arg);
}

void turn_answered(struct turn *turn)
{
    assert(turn->call != NULL && turn->turns->taken > 0);
    turn->call = NULL;
}

static void leave_queue(struct turn *turn)
{
    struct turns *turns = turn->turns;
    for (struct turn **at = &turns->first; *at != NULL; at = &(*at)->next) {
        if (*at != turn)
            continue;
        *at = turn->next;
        if (turns->end == &turn->next)
            turns->end = at;
        turn->next = NULL;
        return;
    }
}

void turn_stop(struct turn *turn)
{
    struct runtime *runtime = turn->turns->runtime;
    runtime->ops->timer_disarm(runtime, &turn->timer);
    leave_queue(turn);
    if (turn->call != NULL)
        runtime->ops->http_cancel(runtime, turn->call);
    turn->call = NULL;
}

void turns_take_place(struct turns *turns)
{
    turns->taken++;
}

void turns_give_place(struct turns *turns)
{
    assert(turns->taken > 0);
    turns->taken--;
}

void turns_pause(struct turns *turns, struct bytes address, int64_t wait_us)
{
    struct url url;
    if (wait_us > 0 && url_parse(address, &url, NULL) == RC_OK)
        cards_pace_pause(&turns->pace, url.host, mono(turns) + wait_us);
}
