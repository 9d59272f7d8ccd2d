/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tail_hub.h"

#include "query/collections.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define RETRY_US          INT64_C(500000)
#define READING_BYTES_MAX (1 << 20) /* what a reading may keep for the next one */

#define OF(type_, link_)   ((struct type_ *)((char *)(link_)-offsetof(struct type_, link)))
#define FOLLOWER_OF(link_) OF(follower, link_)
#define GROUP_OF(link_)    OF(tail_group, link_)

/* The followers of one collection, as long as there are any. */
struct tail_group {
    struct tail_link link; /* in the circle of all groups */
    struct tail_link live;
    const struct collection *collection;
    size_t members; /* live or not */
    size_t live_count;
    int64_t seq; /* what the live ones were told */
    bool due, reading;
};

/* One that is under way, for a group or for one follower. */
struct reading {
    struct reader_job job; /* first */
    bool busy;
    struct tail_group *group;  /* NULL: for the follower */
    struct follower *follower; /* NULL: it left meanwhile */
    const struct collection *collection;
    int64_t since;
    uint64_t commits; /* noted when it began */
    struct changes changes;
    struct refusal refusal;
};

struct tail_hub {
    struct runtime *runtime;
    struct reader_pool *readers;
    struct collections *collections;
    struct tail_link groups, due;
    struct reading readings[TAIL_HUB_READINGS_MAX];
    struct timer retry;
    uint64_t commits, read;
    bool stopped;
    const struct follower *telling; /* NULL: the one being told has left, and may be freed */
    struct tail_marks marks;
};

static void begin_readings(struct tail_hub *hub);

/* ---- groups ---- */

static struct tail_group *join_group(struct tail_hub *hub, const struct collection *collection)
{
    struct tail_link *at = hub->groups.after;
    while (at != &hub->groups && GROUP_OF(at)->collection != collection)
        at = at->after;
    struct tail_group *group = GROUP_OF(at);
    if (at == &hub->groups) {
        group = memory_new_zeroed(1, sizeof *group);
        group->collection = collection;
        circle_init(&group->live);
        circle_put(&hub->groups, &group->link);
    }
    group->members++;
    return group;
}

static void free_if_empty(struct tail_group *group)
{
    if (group->members > 0 || group->reading)
        return;
    circle_take(&group->link);
    free(group);
}

static void become_due(struct tail_hub *hub, struct follower *follower)
{
    follower->state = FOLLOWER_DUE;
    circle_put(&hub->due, &follower->link);
}

static void become_live(struct follower *follower)
{
    struct tail_group *group = follower->group;
    if (group->live_count == 0)
        group->seq = follower->tail.seq;
    follower->state = FOLLOWER_LIVE;
    circle_put(&group->live, &follower->link);
    group->live_count++;
}

void tail_hub_follow(struct tail_hub *hub, struct follower *follower, bool read_first)
{
    assert(follower->state == FOLLOWER_AWAY && follower->ops != NULL && !hub->stopped);
    follower->group = join_group(hub, follower->tail.collection);
    if (!read_first && follower->group->live_count > 0 &&
        follower->tail.seq == follower->group->seq) {
        become_live(follower);
        return;
    }
    become_due(hub, follower);
    begin_readings(hub);
}

static void forget_reading(struct tail_hub *hub, const struct follower *follower)
{
    for (size_t i = 0; i < TAIL_HUB_READINGS_MAX; i++)
        if (hub->readings[i].busy && hub->readings[i].follower == follower)
            hub->readings[i].follower = NULL;
}

void tail_hub_leave(struct tail_hub *hub, struct follower *follower)
{
    struct tail_group *group = follower->group;
    if (follower->state == FOLLOWER_AWAY)
        return;
    if (hub->telling == follower)
        hub->telling = NULL;
    if (follower->state == FOLLOWER_READING)
        forget_reading(hub, follower);
    else
        circle_take(&follower->link);
    group->live_count -= follower->state == FOLLOWER_LIVE;
    follower->state = FOLLOWER_AWAY;
    follower->group = NULL;
    group->members--;
    free_if_empty(group);
}

/* ---- readings ---- */

static enum rc read_changes(struct reader_job *job, struct store *store, struct err *err)
{
    struct reading *reading = (struct reading *)job;
    return changes_read(store, reading->collection, reading->since, &reading->changes,
                        &reading->refusal, err);
}

static bool begin_reading(struct tail_hub *hub, struct reading *reading)
{
    assert(!reading->busy);
    reading->job.work = read_changes;
    reading->commits = hub->commits;
    reading->busy = reader_pool_submit(hub->readers, &reading->job) == RC_OK;
    hub->read += reading->busy;
    return reading->busy;
}

static bool begin_for_group(struct tail_hub *hub, struct reading *reading, struct tail_group *group)
{
    reading->group = group;
    reading->follower = NULL;
    reading->collection = group->collection;
    reading->since = group->seq;
    if (!begin_reading(hub, reading))
        return false;
    group->due = false;
    group->reading = true;
    return true;
}

static bool begin_for_follower(struct tail_hub *hub, struct reading *reading,
                               struct follower *follower)
{
    reading->group = NULL;
    reading->follower = follower;
    reading->collection = follower->tail.collection;
    reading->since = follower->tail.seq;
    if (!begin_reading(hub, reading))
        return false;
    circle_take(&follower->link);
    follower->state = FOLLOWER_READING;
    return true;
}

static struct tail_group *find_due_group(struct tail_hub *hub)
{
    for (struct tail_link *at = hub->groups.after; at != &hub->groups; at = at->after)
        if (GROUP_OF(at)->due && !GROUP_OF(at)->reading && GROUP_OF(at)->live_count > 0)
            return GROUP_OF(at);
    return NULL;
}

static bool begin_one(struct tail_hub *hub, struct reading *reading)
{
    struct tail_group *group = find_due_group(hub);
    if (group != NULL)
        return begin_for_group(hub, reading, group);
    if (hub->due.after != &hub->due)
        return begin_for_follower(hub, reading, FOLLOWER_OF(hub->due.after));
    return false;
}

static void begin_readings(struct tail_hub *hub)
{
    for (size_t i = 0; i < TAIL_HUB_READINGS_MAX && !hub->stopped; i++)
        if (!hub->readings[i].busy && !begin_one(hub, &hub->readings[i]))
            return;
}

static void try_again(void *arg)
{
    begin_readings(arg);
}

static void retry_later(struct tail_hub *hub, const struct reading *reading)
{
    struct runtime *runtime = hub->runtime;
    if (hub->stopped)
        return;
    log_event_limited(LOG_WARN, "serve", "changes_not_read",
                      (struct log_field[]){log_string("collection", reading->collection->name),
                                           log_string("reason", reading->job.err.text), LOG_END});
    runtime->ops->timer_arm(runtime, &hub->retry, RETRY_US);
}

void tail_hub_note_commit(struct tail_hub *hub)
{
    hub->commits++;
    for (struct tail_link *at = hub->groups.after; at != &hub->groups; at = at->after)
        GROUP_OF(at)->due = true;
    begin_readings(hub);
}

/* ---- what came of them ---- */

/* Whether it still follows afterwards; it is moved then. */
static bool tell(struct tail_hub *hub, struct follower *follower, const struct changes *changes)
{
    hub->telling = follower;
    follower->ops->told(follower, changes);
    if (hub->telling == NULL)
        return false;
    hub->telling = NULL;
    tail_move(&follower->tail, changes);
    return true;
}

/* The collection as it is declared now; one that is not any more stays what it was. */
static const struct collection *find_newest(const struct tail_hub *hub,
                                            const struct collection *collection)
{
    const struct collection *found = collections_find(hub->collections, bytes_of(collection->name));
    return found == NULL ? collection : found;
}

/* Whether it still follows. */
static bool renew(struct tail_hub *hub, struct follower *follower,
                  const struct collection *collection)
{
    struct refusal refusal;
    if (follower->tail.collection == collection ||
        tail_renew(&follower->tail, collection, &refusal) == RC_OK)
        return true;
    tail_hub_leave(hub, follower);
    follower->ops->refused(follower, &refusal);
    return false;
}

/* A follower may leave, and others with it, while one is told: whoever is next then is asked of the
 * circle again, in which all that were told have been put last. */
static void tell_group(struct tail_hub *hub, struct tail_group *group, struct reading *reading)
{
    for (size_t left = group->live_count; left > 0 && group->live_count > 0; left--) {
        struct follower *follower = FOLLOWER_OF(group->live.after);
        circle_take(&follower->link);
        circle_put(&group->live, &follower->link);
        if (reading->collection != group->collection) {
            (void)renew(hub, follower, group->collection);
        } else if (reading->job.rc == RC_REJECT) {
            tail_hub_leave(hub, follower);
            follower->ops->refused(follower, &reading->refusal);
        } else if (reading->changes.seq > follower->tail.seq) {
            (void)tell(hub, follower, &reading->changes);
        }
    }
}

static void finish_for_group(struct tail_hub *hub, struct reading *reading)
{
    struct tail_group *group = reading->group;
    bool failed = reading->job.rc != RC_OK && reading->job.rc != RC_REJECT;
    group->members++; /* it stays while its followers are told */
    group->reading = false;
    if (!failed)
        group->collection = find_newest(hub, group->collection);
    bool renewed = group->collection != reading->collection;
    /* Who comes back while others are told is behind, then. */
    if (reading->job.rc == RC_OK && !renewed)
        group->seq = reading->changes.seq;
    if (!failed)
        tell_group(hub, group, reading);
    group->due |= failed || renewed || reading->changes.more || reading->commits != hub->commits;
    if (failed)
        retry_later(hub, reading);
    group->members--;
    free_if_empty(group);
}

static void settle_follower(struct tail_hub *hub, struct follower *follower,
                            const struct reading *reading)
{
    struct tail_group *group = follower->group;
    if (reading->changes.more || follower->tail.seq < group->seq) {
        become_due(hub, follower);
        return;
    }
    become_live(follower);
    group->due |= reading->commits != hub->commits;
}

static void finish_for_follower(struct tail_hub *hub, struct reading *reading)
{
    struct follower *follower = reading->follower;
    if (follower == NULL)
        return;
    assert(follower->state == FOLLOWER_READING);
    const struct collection *newest = find_newest(hub, reading->collection);
    if (reading->job.rc != RC_OK && reading->job.rc != RC_REJECT) {
        become_due(hub, follower);
        retry_later(hub, reading);
    } else if (newest != reading->collection) {
        if (renew(hub, follower, newest))
            become_due(hub, follower);
    } else if (reading->job.rc == RC_OK) {
        if (tell(hub, follower, &reading->changes))
            settle_follower(hub, follower, reading);
    } else {
        tail_hub_leave(hub, follower);
        follower->ops->refused(follower, &reading->refusal);
    }
}

bool tail_hub_takes(struct tail_hub *hub, struct reader_job *job)
{
    struct reading *reading = (struct reading *)job;
    if (job->work != read_changes)
        return false;
    assert(reading->busy);
    if (job->rc == RC_OK)
        tail_marks_add(&hub->marks, &reading->changes);
    if (reading->group != NULL)
        finish_for_group(hub, reading);
    else
        finish_for_follower(hub, reading);
    reading->busy = false;
    if (reading->changes.arena.used > READING_BYTES_MAX)
        changes_free(&reading->changes);
    if (job->rc == RC_OK || job->rc == RC_REJECT)
        begin_readings(hub);
    return true;
}

/* ---- beginning and end ---- */

const struct tail_marks *tail_hub_marks(const struct tail_hub *hub)
{
    return &hub->marks;
}

struct tail_counts tail_hub_counts(const struct tail_hub *hub)
{
    struct tail_counts counts = {.readings = hub->read};
    for (struct tail_link *at = hub->groups.after; at != &hub->groups; at = at->after) {
        counts.live += GROUP_OF(at)->live_count;
        counts.behind += GROUP_OF(at)->members - GROUP_OF(at)->live_count;
    }
    return counts;
}

struct tail_hub *tail_hub_new(struct runtime *runtime, struct reader_pool *readers,
                              struct collections *collections)
{
    struct tail_hub *hub = memory_new_zeroed(1, sizeof *hub);
    hub->runtime = runtime;
    hub->readers = readers;
    hub->collections = collections;
    hub->retry = (struct timer){.fn = try_again, .arg = hub};
    circle_init(&hub->groups);
    circle_init(&hub->due);
    return hub;
}

static struct follower *find_follower(struct tail_hub *hub)
{
    if (hub->due.after != &hub->due)
        return FOLLOWER_OF(hub->due.after);
    for (size_t i = 0; i < TAIL_HUB_READINGS_MAX; i++)
        if (hub->readings[i].busy && hub->readings[i].follower != NULL)
            return hub->readings[i].follower;
    for (struct tail_link *at = hub->groups.after; at != &hub->groups; at = at->after)
        if (GROUP_OF(at)->live_count > 0)
            return FOLLOWER_OF(GROUP_OF(at)->live.after);
    return NULL;
}

void tail_hub_stop(struct tail_hub *hub)
{
    struct follower *follower;
    struct refusal refusal;
    refusal_set(&refusal, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
    hub->stopped = true;
    hub->runtime->ops->timer_disarm(hub->runtime, &hub->retry);
    while ((follower = find_follower(hub)) != NULL) {
        tail_hub_leave(hub, follower);
        follower->ops->refused(follower, &refusal);
    }
}

void tail_hub_free(struct tail_hub *hub)
{
    assert(hub->groups.after == &hub->groups && hub->due.after == &hub->due);
    for (size_t i = 0; i < TAIL_HUB_READINGS_MAX; i++) {
        assert(!hub->readings[i].busy);
        changes_free(&hub->readings[i].changes);
    }
    free(hub);
}
