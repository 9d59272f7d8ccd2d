/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle_session.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 256

struct session {
    struct session *next_in_bucket;
    struct session *sooner, *later; /* in grace */
    uint8_t id[HANDLE_SESSION_SIZE];
    struct handle_list handles;
    size_t handle_count;
    unsigned connections;
    bool in_grace;
    int64_t end_us;
};

struct sessions {
    struct session **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    struct session *first, *last; /* in grace */
    size_t gone;
    uint64_t seed;
};

/* ---- lists ---- */

void handle_list_put(struct handle_list *list, struct handle_link *link)
{
    link->newer = NULL;
    link->older = list->newest;
    *(link->older != NULL ? &link->older->newer : &list->oldest) = link;
    list->newest = link;
}

void handle_list_take(struct handle_list *list, struct handle_link *link)
{
    *(link->older != NULL ? &link->older->newer : &list->oldest) = link->newer;
    *(link->newer != NULL ? &link->newer->older : &list->newest) = link->older;
    *link = (struct handle_link){0};
}

/* ---- the table ---- */

struct sessions *sessions_new(uint64_t seed)
{
    struct sessions *sessions = memory_new_zeroed(1, sizeof *sessions);
    sessions->seed = seed;
    sessions->bucket_count = BUCKETS_MIN;
    sessions->buckets = memory_new_zeroed(BUCKETS_MIN, sizeof(struct session *));
    return sessions;
}

static struct session **bucket_of(const struct sessions *sessions,
                                  const uint8_t id[HANDLE_SESSION_SIZE])
{
    uint64_t hash = hash_bytes(bytes_make(id, HANDLE_SESSION_SIZE), sessions->seed);
    return &sessions->buckets[hash & (sessions->bucket_count - 1)];
}

static void grow(struct sessions *sessions)
{
    struct session **old = sessions->buckets;
    size_t old_count = sessions->bucket_count;
    sessions->bucket_count *= 2;
    sessions->buckets = memory_new_zeroed(sessions->bucket_count, sizeof(struct session *));
    for (size_t i = 0; i < old_count; i++) {
        for (struct session *at = old[i], *next; at != NULL; at = next) {
            struct session **bucket = bucket_of(sessions, at->id);
            next = at->next_in_bucket;
            at->next_in_bucket = *bucket;
            *bucket = at;
        }
    }
    free(old);
}

struct session *session_find(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE])
{
    struct session *at = *bucket_of(sessions, id);
    while (at != NULL && memcmp(at->id, id, sizeof at->id) != 0)
        at = at->next_in_bucket;
    return at;
}

struct session *session_add(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE])
{
    struct session *session = session_find(sessions, id);
    if (session != NULL)
        return session;
    if (sessions->count == sessions->bucket_count)
        grow(sessions);
    struct session **bucket = bucket_of(sessions, id);
    session = memory_new_zeroed(1, sizeof *session);
    memcpy(session->id, id, sizeof session->id);
    session->next_in_bucket = *bucket;
    *bucket = session;
    sessions->count++;
    return session;
}

static void forget_when_idle(struct sessions *sessions, struct session *session)
{
    if (session->handle_count > 0 || session->connections > 0 || session->in_grace)
        return;
    struct session **at = bucket_of(sessions, session->id);
    while (*at != session)
        at = &(*at)->next_in_bucket;
    *at = session->next_in_bucket;
    sessions->count--;
    free(session);
}

/* ---- its handles ---- */

void session_put(struct session *session, struct handle_link *link)
{
    handle_list_put(&session->handles, link);
    session->handle_count++;
}

void session_renew(struct session *session, struct handle_link *link)
{
    handle_list_take(&session->handles, link);
    handle_list_put(&session->handles, link);
}

void session_drop(struct sessions *sessions, struct session *session, struct handle_link *link)
{
    assert(session->handle_count > 0);
    handle_list_take(&session->handles, link);
    session->handle_count--;
    forget_when_idle(sessions, session);
}

const struct handle_list *session_handles(const struct session *session)
{
    return &session->handles;
}

size_t session_handle_count(const struct session *session)
{
    return session->handle_count;
}

/* ---- coming and going ---- */

static void begin_grace(struct sessions *sessions, struct session *session, int64_t end_us)
{
    assert(!session->in_grace);
    session->in_grace = true;
    session->end_us = end_us;
    session->later = NULL;
    session->sooner = sessions->last;
    *(session->sooner != NULL ? &session->sooner->later : &sessions->first) = session;
    sessions->last = session;
    sessions->gone++;
}

static void end_grace(struct sessions *sessions, struct session *session)
{
    if (!session->in_grace)
        return;
    *(session->sooner != NULL ? &session->sooner->later : &sessions->first) = session->later;
    *(session->later != NULL ? &session->later->sooner : &sessions->last) = session->sooner;
    session->in_grace = false;
    sessions->gone--;
}

void sessions_join(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE])
{
    struct session *session = session_add(sessions, id);
    end_grace(sessions, session);
    session->connections++;
}

void sessions_leave(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE],
                    int64_t end_us)
{
    struct session *session = session_find(sessions, id);
    assert(session != NULL && session->connections > 0);
    if (--session->connections == 0)
        begin_grace(sessions, session, end_us);
}

void sessions_see(struct sessions *sessions, const uint8_t id[HANDLE_SESSION_SIZE])
{
    struct session *session = sessions->gone == 0 ? NULL : session_find(sessions, id);
    if (session == NULL)
        return;
    end_grace(sessions, session);
    forget_when_idle(sessions, session);
}

bool sessions_take_ended(struct sessions *sessions, int64_t now_us, uint8_t id[HANDLE_SESSION_SIZE])
{
    struct session *session = sessions->first;
    if (session == NULL || (session->end_us > now_us && sessions->gone <= SESSIONS_GONE_MAX))
        return false;
    assert(session->in_grace && session->sooner == NULL && session->later != session);
    memcpy(id, session->id, sizeof session->id);
    end_grace(sessions, session);
    forget_when_idle(sessions, session);
    return true;
}

void sessions_free(struct sessions *sessions)
{
    uint8_t id[HANDLE_SESSION_SIZE];
    while (sessions_take_ended(sessions, INT64_MAX, id))
        ;
    assert(sessions->count == 0);
    free(sessions->buckets);
    free(sessions);
}
