/* SPDX-License-Identifier: Apache-2.0 */
#include "query/handle.h"

#include "config.h"
#include "query/handle_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct handle {
    struct handle *next_in_bucket;
    struct handle_link by_use, in_session;
    struct session *session; /* NULL until its state is known */
    struct handle_state state;
    bool busy, closing;
    bool fresh; /* being opened: nobody has heard of it */
};

struct handles {
    struct handle_limits limits;
    struct handle **buckets;
    size_t bucket_count; /* a power of two */
    struct handle_list by_use;
    struct sessions *sessions;
    struct handle_counts counts;
    size_t copies; /* known or not */
};

#define HANDLE_OF(link, member)                                                                    \
    ((struct handle *)(void *)((char *)(link)-offsetof(struct handle, member)))

struct handle_limits handle_limits_of(const struct config *config)
{
    return (struct handle_limits){
        .open_max = (size_t)config->serve.handles_open_max,
        .of_session_max = (size_t)config->serve.handles_of_session_max,
        .kept_max = config->serve.handles_kept_max,
        .idle_us = config->serve.handle_idle_seconds * 1000000,
        .grace_us = config->serve.session_grace_seconds * 1000000,
    };
}

static struct handle_limits with_defaults(const struct handle_limits *given)
{
    struct handle_limits limits = *given;
    limits.open_max = limits.open_max == 0 ? HANDLES_OPEN_MAX : limits.open_max;
    limits.of_session_max =
        limits.of_session_max == 0 ? HANDLES_OF_SESSION_MAX : limits.of_session_max;
    limits.kept_max = limits.kept_max == 0 ? HANDLES_KEPT_MAX : limits.kept_max;
    limits.idle_us = limits.idle_us == 0 ? HANDLE_IDLE_US : limits.idle_us;
    limits.grace_us = limits.grace_us == 0 ? HANDLE_SESSION_GRACE_US : limits.grace_us;
    return limits;
}

struct handles *handles_new(const struct handle_limits *limits, uint64_t seed)
{
    struct handles *handles = memory_new_zeroed(1, sizeof *handles);
    handles->limits = with_defaults(limits);
    handles->bucket_count = 1;
    while (handles->bucket_count < handles->limits.open_max)
        handles->bucket_count *= 2;
    handles->buckets = memory_new_zeroed(handles->bucket_count, sizeof(struct handle *));
    handles->sessions = sessions_new(seed);
    return handles;
}

/* Names are made of random bits, so the bits themselves spread. */
static struct handle **bucket_of(const struct handles *handles,
                                 const uint8_t name[HANDLE_NAME_SIZE])
{
    uint64_t bits;
    memcpy(&bits, name, sizeof bits);
    return &handles->buckets[bits & (handles->bucket_count - 1)];
}

static bool is_of(const struct handle *handle, const uint8_t session[HANDLE_SESSION_SIZE])
{
    return memcmp(handle->state.session, session, HANDLE_SESSION_SIZE) == 0;
}

/* Of those that are not known yet only the asker's own: a stranger who guesses a name holds nobody
 * up. */
static struct handle *search(const struct handles *handles, const uint8_t name[HANDLE_NAME_SIZE],
                             const uint8_t session[HANDLE_SESSION_SIZE])
{
    struct handle *at = *bucket_of(handles, name);
    while (at != NULL && (memcmp(at->state.name, name, HANDLE_NAME_SIZE) != 0 ||
                          (at->session == NULL && session != NULL && !is_of(at, session))))
        at = at->next_in_bucket;
    return at;
}

static struct handle *insert(struct handles *handles, const uint8_t name[HANDLE_NAME_SIZE],
                             const uint8_t session[HANDLE_SESSION_SIZE])
{
    struct handle *handle = memory_new_zeroed(1, sizeof *handle);
    struct handle **bucket = bucket_of(handles, name);
    memcpy(handle->state.name, name, HANDLE_NAME_SIZE);
    memcpy(handle->state.session, session, HANDLE_SESSION_SIZE);
    handle->busy = true;
    handle->next_in_bucket = *bucket;
    *bucket = handle;
    handles->copies++;
    return handle;
}

static void forget(struct handles *handles, struct handle *handle)
{
    struct handle **at = bucket_of(handles, handle->state.name);
    assert(!handle->busy && handles->copies > 0);
    while (*at != handle)
        at = &(*at)->next_in_bucket;
    *at = handle->next_in_bucket;
    if (handle->session != NULL) {
        handle_list_take(&handles->by_use, &handle->by_use);
        session_drop(handles->sessions, handle->session, &handle->in_session);
        handles->counts.open--;
    }
    handles->copies--;
    handle_state_forget(&handle->state);
    free(handle);
}

void handles_free(struct handles *handles)
{
    while (handles->by_use.oldest != NULL)
        forget(handles, HANDLE_OF(handles->by_use.oldest, by_use));
    assert(handles->copies == 0);
    sessions_free(handles->sessions);
    free(handles->buckets);
    free(handles);
}

const struct handle_limits *handles_limits(const struct handles *handles)
{
    return &handles->limits;
}

struct handle_counts handles_counts(const struct handles *handles)
{
    return handles->counts;
}

void handles_set_kept(struct handles *handles, int64_t kept)
{
    handles->counts.kept = kept;
}

static void note_fewer(struct handles *handles, size_t count)
{
    int64_t rest = handles->counts.kept - (int64_t)count;
    handles->counts.kept = rest < 0 ? 0 : rest;
}

void handles_note_expired(struct handles *handles, size_t count)
{
    handles->counts.expired += count;
    note_fewer(handles, count);
}

void handles_note_closed(struct handles *handles, size_t count)
{
    note_fewer(handles, count);
}

void handles_drop_idle(struct handles *handles, int64_t now_us)
{
    for (struct handle_link *at = handles->by_use.oldest, *next; at != NULL; at = next) {
        struct handle *handle = HANDLE_OF(at, by_use);
        next = at->newer;
        if (handle->busy)
            continue;
        if (now_us - handle->state.used_us < handles->limits.idle_us)
            break;
        forget(handles, handle);
    }
}

/* ---- quotas ---- */

static void park(struct handles *handles, struct handle *handle)
{
    handles->counts.parked++;
    forget(handles, handle);
}

static void park_of_session(struct handles *handles, struct session *session)
{
    for (struct handle_link *at = session_handles(session)->oldest, *next;
         at != NULL && session_handle_count(session) > handles->limits.of_session_max; at = next) {
        struct handle *handle = HANDLE_OF(at, in_session);
        next = at->newer;
        if (!handle->busy)
            park(handles, handle);
    }
}

static void park_of_all(struct handles *handles)
{
    for (struct handle_link *at = handles->by_use.oldest, *next;
         at != NULL && handles->counts.open > handles->limits.open_max; at = next) {
        struct handle *handle = HANDLE_OF(at, by_use);
        next = at->newer;
        if (!handle->busy)
            park(handles, handle);
    }
}

/* ---- one request ---- */

enum rc handle_add(struct handles *handles, struct handle_state *state,
                   const uint8_t random[HANDLE_NAME_SIZE], int64_t now_us, struct handle **out,
                   struct refusal *refusal)
{
    char text[UUID_TEXT_SIZE];
    uint8_t name[HANDLE_NAME_SIZE] = {0};
    if (handles->counts.kept >= handles->limits.kept_max)
        return refusal_set(refusal, REFUSAL_QUOTA_EXCEEDED,
                           "%lld queries are open, which is the limit: close some, or wait until "
                           "others end",
                           (long long)handles->limits.kept_max);
    uuid_format(random, text);
    bool parsed = uuid_parse(bytes_of(text), name);
    assert(parsed);
    (void)parsed;
    struct handle *handle = insert(handles, name, state->session);
    memcpy(state->name, name, sizeof name);
    handle->state = *state;
    handle->state.opened_us = handle->state.used_us = handle->state.kept_us = now_us;
    handle->fresh = true;
    *state = (struct handle_state){0};
    handles->counts.kept++;
    *out = handle;
    return RC_OK;
}

static enum rc refuse_foreign(struct refusal *refusal)
{
    return refusal_set(refusal, REFUSAL_FORBIDDEN, "this query belongs to another session");
}

static bool parse_name(struct bytes name, uint8_t out[HANDLE_NAME_SIZE], struct refusal *refusal)
{
    if (uuid_parse(name, out))
        return true;
    refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                "this is no query's handle: it has 32 hexadecimal digits");
    return false;
}

enum rc handle_hold(struct handles *handles, struct bytes name,
                    const uint8_t session[HANDLE_SESSION_SIZE], struct handle **out,
                    struct refusal *refusal)
{
    uint8_t wanted[HANDLE_NAME_SIZE];
    if (!parse_name(name, wanted, refusal))
        return RC_REJECT;
    struct handle *handle = search(handles, wanted, session);
    if (handle == NULL) {
        *out = insert(handles, wanted, session);
        return RC_OK;
    }
    if (!is_of(handle, session))
        return refuse_foreign(refusal);
    if (handle->closing)
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND, "the query was closed");
    if (handle->busy)
        return refusal_set(refusal, REFUSAL_CONFLICT, "a page of this query is being read already");
    handle->busy = true;
    *out = handle;
    return RC_OK;
}

static void make_newest(struct handles *handles, struct handle *handle)
{
    if (handle->session == NULL) {
        handle->session = session_add(handles->sessions, handle->state.session);
        session_put(handle->session, &handle->in_session);
        handles->counts.open++;
    } else {
        handle_list_take(&handles->by_use, &handle->by_use);
        session_renew(handle->session, &handle->in_session);
    }
    handle_list_put(&handles->by_use, &handle->by_use);
}

enum rc handle_release(struct handles *handles, struct handle *handle, struct refusal *refusal)
{
    bool closed = handle->closing, known = handle->state.known;
    assert(handle->busy);
    handle->busy = false;
    if (handle->fresh && known)
        handles->counts.opened++;
    else if (handle->fresh)
        note_fewer(handles, 1);
    handle->fresh = false;
    if (closed || !known) {
        forget(handles, handle);
    } else {
        make_newest(handles, handle);
        park_of_session(handles, handle->session);
        park_of_all(handles);
    }
    if (closed)
        return refusal_set(refusal, REFUSAL_HANDLE_NOT_FOUND,
                           "the query was closed while its page was being read");
    return RC_OK;
}

enum rc handle_close(struct handles *handles, struct bytes name,
                     const uint8_t session[HANDLE_SESSION_SIZE], uint8_t wanted[HANDLE_NAME_SIZE],
                     struct refusal *refusal)
{
    if (!parse_name(name, wanted, refusal))
        return RC_REJECT;
    struct handle *handle = search(handles, wanted, session);
    if (handle == NULL)
        return RC_OK;
    if (!is_of(handle, session))
        return refuse_foreign(refusal);
    if (handle->busy)
        handle->closing = true;
    else
        forget(handles, handle);
    return RC_OK;
}

struct handle_state *handle_state(struct handle *handle)
{
    return &handle->state;
}

const char *handle_standing(const struct handles *handles, const uint8_t name[HANDLE_NAME_SIZE])
{
    const struct handle *handle = search(handles, name, NULL);
    if (handle == NULL)
        return "parked";
    return handle->busy ? "busy" : "open";
}

/* ---- sessions ---- */

/* The machine itself has no connections that could be counted. */
static bool is_named(const uint8_t session[HANDLE_SESSION_SIZE])
{
    static const uint8_t unnamed[HANDLE_SESSION_SIZE];
    return memcmp(session, unnamed, sizeof unnamed) != 0;
}

void session_joined(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE])
{
    if (is_named(session))
        sessions_join(handles->sessions, session);
}

void session_gone(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE],
                  int64_t now_us)
{
    if (is_named(session))
        sessions_leave(handles->sessions, session, now_us + handles->limits.grace_us);
}

void session_seen(struct handles *handles, const uint8_t session[HANDLE_SESSION_SIZE])
{
    sessions_see(handles->sessions, session);
}

bool session_take_ended(struct handles *handles, int64_t now_us,
                        uint8_t session[HANDLE_SESSION_SIZE])
{
    if (!sessions_take_ended(handles->sessions, now_us, session))
        return false;
    struct session *ended = session_find(handles->sessions, session);
    /* The last of its handles takes the session with it. */
    for (size_t left = ended == NULL ? 0 : session_handle_count(ended); left > 0; left--) {
        struct handle *handle = HANDLE_OF(session_handles(ended)->oldest, in_session);
        if (handle->busy) {
            handle->closing = true;
            session_renew(ended, &handle->in_session);
        } else {
            forget(handles, handle);
        }
    }
    return true;
}
