/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tail_watch.h"

#include "serve/gate.h"

#include <stdlib.h>
#include <string.h>

struct tail_watches {
    struct tail_hub *hub;
    struct tail_link all;
};

#define FOLLOWER_OF(link_)                                                                         \
    ((struct follower *)(void *)((char *)(link_)-offsetof(struct follower, watch.link)))

struct tail_watches *tail_watches_new(struct tail_hub *hub)
{
    struct tail_watches *watches = memory_new_zeroed(1, sizeof *watches);
    watches->hub = hub;
    circle_init(&watches->all);
    return watches;
}

void tail_watches_free(struct tail_watches *watches)
{
    assert(watches->all.after == &watches->all);
    free(watches);
}

void tail_watch_begin(struct tail_watches *watches, struct follower *follower,
                      const struct request *request, const uint8_t handle[HANDLE_NAME_SIZE],
                      int64_t now_us)
{
    struct tail_watch *watch = &follower->watch;
    memcpy(watch->handle, handle, sizeof watch->handle);
    memcpy(watch->session, request->session, sizeof watch->session);
    watch->visitor = request->visitor;
    watch->renewed_us = now_us;
    circle_put(&watches->all, &watch->link);
}

void tail_watch_end(struct follower *follower)
{
    if (follower->watch.link.after != NULL)
        circle_take(&follower->watch.link);
}

/* ---- what ends them ---- */

typedef bool ends_fn(const struct tail_watch *watch, const void *arg);

/* Whoever is refused may be freed, so the circle is looked through again after each. */
static void end_those(struct tail_watches *watches, ends_fn *ends, const void *arg,
                      const struct refusal *refusal)
{
    struct tail_link *at = watches->all.after;
    while (at != &watches->all) {
        struct follower *follower = FOLLOWER_OF(at);
        at = at->after;
        if (!ends(&follower->watch, arg))
            continue;
        tail_watch_end(follower);
        tail_hub_leave(watches->hub, follower);
        follower->ops->refused(follower, refusal);
        at = watches->all.after;
    }
}

static bool is_stranger(const struct tail_watch *watch, const void *gate)
{
    return !gate_knows(gate, &watch->visitor);
}

void tail_watches_check(struct tail_watches *watches, const struct gate *gate)
{
    struct refusal refusal;
    refusal_set(&refusal, REFUSAL_UNAUTHORIZED, "this token may not read here any more");
    end_those(watches, is_stranger, gate, &refusal);
}

static bool is_of_session(const struct tail_watch *watch, const void *session)
{
    return memcmp(watch->session, session, HANDLE_SESSION_SIZE) == 0;
}

void tail_watches_end_session(struct tail_watches *watches,
                              const uint8_t session[HANDLE_SESSION_SIZE])
{
    struct refusal refusal;
    refusal_set(&refusal, REFUSAL_HANDLE_NOT_FOUND,
                "the session has ended, and its queries with it");
    end_those(watches, is_of_session, session, &refusal);
}

static bool is_of_handle(const struct tail_watch *watch, const void *handle)
{
    return memcmp(watch->handle, handle, HANDLE_NAME_SIZE) == 0;
}

void tail_watches_end_handle(struct tail_watches *watches, const uint8_t handle[HANDLE_NAME_SIZE])
{
    struct refusal refusal;
    refusal_set(&refusal, REFUSAL_HANDLE_NOT_FOUND, "the query was closed");
    end_those(watches, is_of_handle, handle, &refusal);
}

static bool is_anybody(const struct tail_watch *watch, const void *unused)
{
    (void)watch, (void)unused;
    return true;
}

void tail_watches_stop(struct tail_watches *watches)
{
    struct refusal refusal;
    refusal_set(&refusal, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
    end_those(watches, is_anybody, NULL, &refusal);
}

/* ---- what keeps them ---- */

size_t tail_watches_renew(struct tail_watches *watches, int64_t since_us, int64_t now_us,
                          uint8_t (*handles)[HANDLE_NAME_SIZE], size_t max)
{
    size_t count = 0;
    for (struct tail_link *at = watches->all.after; at != &watches->all && count < max;
         at = at->after) {
        struct tail_watch *watch = &FOLLOWER_OF(at)->watch;
        if (watch->renewed_us > since_us)
            continue;
        watch->renewed_us = now_us;
        memcpy(handles[count++], watch->handle, HANDLE_NAME_SIZE);
    }
    return count;
}
