/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold, computed from the history and from what lies in the store, by no code of the
 * product. I5 is the query half's; I9 and I10 are about pages, which this source has none of. */
#include "sim_world.h"

#include <assert.h>
#include <string.h>

#define DISORDER_US INT64_C(1000000)
#define REWIND_US   INT64_C(15000000) /* at the same host */
#define CROSS_US    INT64_C(10000000) /* at another one */
#define FIRST_MAX   12                /* a host's first usable event is one of its first so many */

static bool is_quarantined(const struct sim_db *db, const uint8_t *digest)
{
    for (size_t i = 0; i < db->quarantine_count; i++)
        if (!db->quarantine[i].by_store &&
            memcmp(db->quarantine[i].digest, digest, EVENT_ID_SIZE) == 0)
            return true;
    return false;
}

static bool is_refused(const struct sim_db *db, size_t at)
{
    for (size_t i = 0; i < db->quarantine_count; i++)
        if (db->quarantine[i].by_store && db->quarantine[i].rev == at)
            return true;
    return false;
}

/* The frame, as one of the hosts sends it, lies in quarantine. */
static bool frame_is_quarantined(const struct sim_world *world, size_t at)
{
    const struct sim_event *event = &world->history.events[at];
    if (event->kind != EVENT_GARBAGE && event->filler == 0)
        return false;
    for (int host = 0; host < SIM_HOSTS; host++)
        if (is_quarantined(&world->db, event->digests[host]))
            return true;
    return false;
}

static bool lies_in_gap(const struct sim_world *world, size_t at)
{
    for (size_t i = 0; i < world->db.gap_count; i++)
        for (int host = 0; host < world->shape.hosts; host++) {
            int64_t time_us = sim_history_time(&world->history, at, host);
            if (!world->db.gaps[i].closed && world->db.gaps[i].from_us <= time_us &&
                time_us < world->db.gaps[i].to_us)
                return true;
        }
    return false;
}

/* Status and handle are judged by the time a host saw them, so two that are closer together than
 * the hosts' clocks are apart may come out either way round; so may two at the very beginning of a
 * connection, of which the first claims a time to come. */
static bool stands_for(const struct sim_world *world, size_t standing, size_t at)
{
    const struct sim_event *events = world->history.events;
    int64_t slack_us = sim_has(&world->swarm, FAULT_HOST_SKEW) ? 2 * SIM_SKEW_US_MAX : 0;
    if (sim_has(&world->swarm, FAULT_TIME_AHEAD))
        slack_us += CROSS_US;
    return standing >= at || events[at].at_us - events[standing].at_us < slack_us;
}

static bool is_stored(const struct sim_world *world, size_t at)
{
    const struct sim_event *event = &world->history.events[at];
    const struct sim_actor *actor = &world->db.actors[event->did];
    switch (event->kind) {
    case EVENT_PUT:
    case EVENT_DELETE: {
        const struct sim_post *post = &world->db.posts[sim_event_key(event)];
        return (post->known && post->rev >= at) || is_refused(&world->db, at) ||
               frame_is_quarantined(world, at);
    }
    case EVENT_ACCOUNT:
        return actor->has_status && stands_for(world, actor->status, at);
    case EVENT_IDENTITY:
        return actor->has_handle && stands_for(world, actor->handle, at);
    case EVENT_NOISE:
        return true;
    case EVENT_GARBAGE:
        return frame_is_quarantined(world, at);
    }
    return false;
}

/* The losses that cannot be told from silence or disorder: a host that begins a little late, asked
 * for the position of another one by a process whose clock is wrong; and one that begins just
 * within the disorder it had sent before. */
static bool is_undetectable(const struct sim_world *world, size_t at)
{
    bool wrong_clock = sim_has(&world->swarm, FAULT_WALL_BACK);
    bool disorder = sim_has(&world->swarm, FAULT_REORDER);
    int64_t cross_us = CROSS_US + world->shape.retention_us / 24 + 2 * SIM_SKEW_US_MAX;
    for (size_t i = 0; i < world->opening_count; i++) {
        const struct sim_opening *opening = &world->openings[i];
        int64_t time_us = sim_history_time(&world->history, at, opening->host);
        if (!opening->cut || at >= opening->first || time_us < opening->asked_us)
            continue;
        int64_t late_us =
            sim_history_time(&world->history, opening->first, opening->host) - time_us;
        if ((wrong_clock && opening->stranger && late_us <= cross_us) ||
            (disorder && late_us <= REWIND_US))
            return true;
    }
    return false;
}

static bool is_accounted(struct sim_world *world, size_t at)
{
    if (is_stored(world, at))
        return true;
    world->db.lost[at] = lies_in_gap(world, at) || is_undetectable(world, at);
    return world->db.lost[at];
}

/* Nobody fills gaps here: what was missing once is still called missing, if not by its own row. */
static void check_gaps_stay(struct sim_world *world)
{
    const struct sim_gap *gaps = world->db.gaps;
    for (size_t a = 0; a < world->db.gap_count; a++) {
        bool missing = !gaps[a].closed;
        for (size_t b = 0; b < world->db.gap_count && !missing; b++)
            missing = !gaps[b].closed && gaps[b].from_us <= gaps[a].from_us &&
                      gaps[b].to_us >= gaps[a].to_us;
        if (!missing)
            sim_fail(world, "the gap %" PRId64 " to %" PRId64 " was closed by nobody",
                     gaps[a].from_us, gaps[a].to_us);
    }
}

void sim_verdict_commit(struct sim_world *world)
{
    struct sim_db *db = &world->db;
    check_gaps_stay(world);
    if (world->ledger != NULL)
        sim_ledger_verdict_commit(world);
    if (world->content != NULL)
        sim_content_verdict_commit(world);
    if (db->cursor.len == 0)
        return;
    if (db->cursor_host < 0 && db->cursor_us != SIM_BEGIN_US)
        sim_fail(world, "the cursor does not say whose it is");
    if (db->cursor_host < 0)
        return; /* where the operator said to begin: no event has passed it yet */
    int64_t upto_us = db->cursor_us - (sim_has(&world->swarm, FAULT_REORDER) ? DISORDER_US : 0);
    for (; db->verified < world->history.count; db->verified++) {
        if (sim_history_time(&world->history, db->verified, db->cursor_host) > upto_us)
            return;
        if (!is_accounted(world, db->verified))
            sim_fail(world,
                     "I2/I7: the cursor %" PRId64 " of host %d passed event %zu (kind %d, time "
                     "%" PRId64 "), which is neither stored nor quarantined nor in a gap",
                     db->cursor_us, db->cursor_host, db->verified,
                     (int)world->history.events[db->verified].kind,
                     sim_history_time(&world->history, db->verified, db->cursor_host));
    }
}

static void check_life(struct sim_world *world, struct sim_life *life)
{
    struct source_view view;
    if (life->writer.under_way > world->shape.writer_batches)
        sim_fail(world, "I6: a bound was passed");
    if (life->writer.committer.position.commit_seq > world->db.position.commit_seq)
        sim_fail(world, "I5: %" PRId64 " commits are told of, the store has %" PRId64,
                 life->writer.committer.position.commit_seq, world->db.position.commit_seq);
    if (life->source == NULL)
        return;
    life->source->ops->view(life->source, &view);
    sim_saw((enum sim_sight)(SIGHT_STATE_IDLE + (int)view.state));
    if (view.committed_us > view.staged_us || view.staged_us > view.received_us)
        sim_fail(world, "I1: committed %" PRId64 " staged %" PRId64 " received %" PRId64,
                 view.committed_us, view.staged_us, view.received_us);
    int64_t durable_us = world->db.cursor.len == 0 ? SIM_BEGIN_US : world->db.cursor_us;
    if (view.committed_us > durable_us)
        sim_fail(world, "I2: %" PRId64 " is called committed, the store has %" PRId64,
                 view.committed_us, durable_us);
    unsigned left = batch_pool_left(life->pool);
    if (left == 0)
        sim_saw(SIGHT_POOL_EMPTY);
    if (left > world->shape.batches)
        sim_fail(world, "I6: a bound was passed");
    if (view.state == SOURCE_STOPPED && !life->stopping && life == world->life)
        sim_fail(world, "the source stopped by itself: %s", view.trouble);
}

void sim_verdict_step(struct sim_world *world)
{
    if (world->life != NULL)
        check_life(world, world->life);
    if (world->zombie != NULL)
        check_life(world, world->zombie);
}

bool sim_verdict_drained(struct sim_world *world)
{
    struct sim_db *db = &world->db;
    size_t at = db->verified;
    if (world->ledger != NULL && !sim_ledger_verdict_drained(world))
        return false;
    if (world->content != NULL && !sim_content_verdict_drained(world))
        return false;
    if ((world->plan.pipelines & SIM_NEWS) == 0)
        return true;
    while (at < world->history.count && is_accounted(world, at))
        at++;
    return at == world->history.count;
}

/* ---- at the end ---- */

static void check_post(struct sim_world *world, size_t key, struct text *body)
{
    const struct sim_post *post = &world->db.posts[key];
    if (!post->known)
        return;
    if (post->rev >= world->history.count)
        sim_fail(world, "post %zu stands at revision %zu, which never was", key, post->rev);
    const struct sim_event *event = &world->history.events[post->rev];
    bool commit = event->kind == EVENT_PUT || event->kind == EVENT_DELETE;
    if (!commit || sim_event_key(event) != key)
        sim_fail(world, "post %zu stands at revision %zu, which is another's", key, post->rev);
    if (post->gone != (event->kind == EVENT_DELETE))
        sim_fail(world, "post %zu is %s by mistake", key, post->gone ? "gone" : "there");
    if (post->gone)
        return;
    sim_history_body(&world->history, post->rev, body);
    if (event->poison)
        sim_fail(world, "post %zu holds what the store refuses", key);
    if (post->body_hash != sim_hash(text_bytes(body)) || (post->kind != 0) != event->repost)
        sim_fail(world, "post %zu holds something else than event %zu said", key, post->rev);
    bool true_clocks = !sim_has(&world->swarm, FAULT_HOST_SKEW) &&
                       !sim_has(&world->swarm, FAULT_WALL_BACK) &&
                       !sim_has(&world->swarm, FAULT_WALL_FORWARD);
    /* A time that is not believed becomes that of what came before it. */
    bool before = event->lead_us > 0 && sim_has(&world->swarm, FAULT_REORDER);
    if (true_clocks && post->shared_us > event->at_us + (before ? DISORDER_US : 0))
        sim_fail(world, "post %zu was shared later than it happened", key);
}

/* Every key stands at its highest revision that was not refused or lost. */
static void check_posts(struct sim_world *world)
{
    struct text body = {0};
    for (size_t key = 0; key < SIM_KEYS; key++)
        check_post(world, key, &body);
    text_free(&body);
    for (size_t i = 0; i < world->history.count; i++) {
        const struct sim_event *event = &world->history.events[i];
        bool commit = event->kind == EVENT_PUT || event->kind == EVENT_DELETE;
        if (!commit || world->db.lost[i])
            continue;
        const struct sim_post *post = &world->db.posts[sim_event_key(event)];
        bool excused = event->poison || frame_is_quarantined(world, i);
        if (!excused && (!post->known || post->rev < i))
            sim_fail(world, "post %zu misses revision %zu", sim_event_key(event), i);
    }
}

static void check_actors(struct sim_world *world)
{
    for (size_t i = 0; i < SIM_DIDS; i++) {
        const struct sim_actor *actor = &world->db.actors[i];
        const struct sim_event *events = world->history.events;
        if (actor->has_status &&
            (actor->status >= world->history.count || events[actor->status].kind != EVENT_ACCOUNT ||
             events[actor->status].did != i ||
             (actor->active != 0) != (events[actor->status].shape != 0)))
            sim_fail(world, "account %zu has a status nobody gave it", i);
        if (actor->has_handle &&
            (actor->handle >= world->history.count ||
             events[actor->handle].kind != EVENT_IDENTITY || events[actor->handle].did != i))
            sim_fail(world, "account %zu has a handle nobody gave it", i);
    }
}

static bool is_wire_garbage(const struct sim_world *world, const uint8_t *digest)
{
    for (size_t i = 0; i < world->wire_garbage_count; i++)
        if (memcmp(world->wire_garbage[i], digest, EVENT_ID_SIZE) == 0)
            return true;
    return false;
}

static bool is_sent_garbage(const struct sim_world *world, const uint8_t *digest)
{
    for (size_t i = 0; i < world->history.count; i++) {
        const struct sim_event *event = &world->history.events[i];
        bool garbage = event->kind == EVENT_GARBAGE;
        if (!garbage && event->filler + 40000 < world->shape.arena_bytes)
            continue; /* fits into a batch: there is no reason to refuse it */
        for (int host = 0; host < SIM_HOSTS; host++)
            if (memcmp(event->digests[host], digest, EVENT_ID_SIZE) == 0)
                return true;
    }
    return false;
}

static void check_quarantine(struct sim_world *world)
{
    for (size_t i = 0; i < world->db.quarantine_count; i++) {
        const struct sim_quarantined *row = &world->db.quarantine[i];
        if (row->by_store) {
            if (row->rev >= world->history.count || !world->history.events[row->rev].poison)
                sim_fail(world, "I7: the store's quarantine holds a good post, %zu", row->rev);
        } else if (!is_wire_garbage(world, row->digest) && !is_sent_garbage(world, row->digest)) {
            sim_fail(world, "I7: the quarantine holds what was no garbage (%" PRId64 " bytes)",
                     row->size);
        }
    }
}

/* Down to where this opening explains a gap that ends at `to_us` or, if `within`, anywhere in
 * [from_us, to_us); INT64_MAX when it does not. */
static int64_t explained_down_to(const struct sim_world *world, const struct sim_opening *opening,
                                 int64_t from_us, int64_t to_us, bool within)
{
    /* In disorder the event that would have shown that nothing is missing may come second. */
    bool disorder = sim_has(&world->swarm, FAULT_REORDER);
    if (!opening->cut && !opening->stranger && !disorder)
        return INT64_MAX;
    for (size_t i = opening->first; i < world->history.count && i < opening->first + FIRST_MAX;
         i++) {
        int64_t end_us = sim_history_time(&world->history, i, opening->host);
        bool ends = within ? end_us >= from_us && end_us < to_us : end_us == to_us;
        bool small = end_us - opening->asked_us < REWIND_US + DISORDER_US;
        if (ends && (opening->cut || opening->stranger || small))
            return opening->asked_us;
    }
    return INT64_MAX;
}

/* A row may be several gaps that met: it is explained from its end downwards. */
static bool is_explained(const struct sim_world *world, const struct sim_gap *gap)
{
    int64_t reached = INT64_MAX;
    for (size_t o = 0; o < world->opening_count; o++) {
        int64_t down =
            explained_down_to(world, &world->openings[o], gap->from_us, gap->to_us, false);
        reached = down < reached ? down : reached;
    }
    for (bool moved = reached != INT64_MAX; moved && reached > gap->from_us;) {
        moved = false;
        for (size_t o = 0; o < world->opening_count; o++) {
            int64_t down = explained_down_to(world, &world->openings[o], reached, gap->to_us, true);
            moved |= down < reached;
            reached = down < reached ? down : reached;
        }
    }
    return reached <= gap->from_us;
}

/* A gap is what was asked for and not delivered; nothing else is one. */
static void check_gaps(struct sim_world *world)
{
    for (size_t i = 0; i < world->db.gap_count; i++)
        if (!is_explained(world, &world->db.gaps[i]))
            sim_fail(world, "the gap %" PRId64 " to %" PRId64 " never was",
                     world->db.gaps[i].from_us, world->db.gaps[i].to_us);
}

void sim_verdict_end(struct sim_world *world)
{
    sim_verdict_commit(world);
    sim_reader_look(world);
    if (world->ledger != NULL)
        sim_ledger_verdict_end(world);
    if (world->content != NULL)
        sim_content_verdict_end(world);
    if ((world->plan.pipelines & SIM_NEWS) == 0)
        return;
    check_posts(world);
    check_actors(world);
    check_quarantine(world);
    check_gaps(world);
}
