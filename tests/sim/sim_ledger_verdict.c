/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <string.h>

/* ---- after a commit ---- */

/* Everything below the high water is stored (I2). */
static void check_high_water(struct sim_world *world, unsigned number)
{
    struct sim_ledger_stream *stream = &world->ledger->streams[number];
    for (; stream->verified < stream->count &&
           stream->blocks[stream->verified] < stream->place.high_water;
         stream->verified++)
        if (!stream->stored[stream->verified])
            sim_fail(world,
                     "I2: stream %u is called complete below block %" PRId64
                     ", but row %zu of block %" PRId64 " is not stored",
                     number, stream->place.high_water, stream->verified,
                     stream->blocks[stream->verified]);
}

/* What was there when the session began, and everybody showed, is there now. */
static void check_whole(struct sim_world *world, const struct sim_session *session, unsigned number)
{
    const struct sim_ledger *ledger = world->ledger;
    const struct sim_ledger_stream *stream = &ledger->streams[number];
    if (stream->lied_us >= session->began_us)
        return; /* where only its length tells the last page, an empty one is taken for it */
    size_t there = sim_ledger_visible(world, number, session->began_us, ledger->lag_blocks);
    for (size_t i = 0; i < there; i++)
        if (!stream->stored[i])
            sim_fail(world, "I9: the import is called complete, but row %zu of stream %u misses", i,
                     number);
}

static void check_completed(struct sim_world *world, const struct sim_session *session)
{
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++) {
        if (!session->complete[i])
            sim_fail(world, "I9: the import is called complete, but stream %u never was", i);
        if (!world->ledger->streams[i].place.complete)
            sim_fail(world, "I9: the completion of stream %u got lost from its cursor", i);
        check_whole(world, session, i);
    }
}

void sim_ledger_verdict_commit(struct sim_world *world)
{
    struct sim_ledger *ledger = world->ledger;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++) {
        struct sim_ledger_stream *stream = &ledger->streams[i];
        check_high_water(world, i);
        if (stream->told_complete && !stream->place.complete)
            sim_fail(world, "I9: stream %u is complete, and its cursor does not say so", i);
        stream->told_complete = false;
    }
    if (ledger->session_count == 0)
        return;
    struct sim_session *last = &ledger->sessions[ledger->session_count - 1];
    if (last->judged || strcmp(last->status, "started") == 0)
        return;
    last->judged = true;
    sim_saw(strcmp(last->status, "completed") == 0   ? SIGHT_IMPORT_COMPLETED
            : strcmp(last->status, "cancelled") == 0 ? SIGHT_IMPORT_CANCELLED
                                                     : SIGHT_IMPORT_FAILED);
    if (strcmp(last->status, "completed") == 0)
        check_completed(world, last);
}

/* ---- at the end ---- */

bool sim_ledger_verdict_drained(const struct sim_world *world)
{
    const struct sim_ledger *ledger = world->ledger;
    for (unsigned i = 0; i < SIM_LEDGER_STREAMS; i++)
        for (size_t k = 0; k < ledger->streams[i].count; k++)
            if (!ledger->streams[i].stored[k])
                return false;
    for (size_t i = 0; i < ledger->session_count; i++)
        if (ledger->sessions[i].began_us > world->healed_us &&
            strcmp(ledger->sessions[i].status, "completed") == 0)
            return true;
    return false;
}

/* One import at most is under way; every other one has ended in some way. */
void sim_ledger_verdict_end(const struct sim_world *world)
{
    const struct sim_ledger *ledger = world->ledger;
    unsigned open = 0;
    for (size_t i = 0; i < ledger->session_count; i++)
        open += strcmp(ledger->sessions[i].status, "started") == 0;
    /* With a clock that was set back, a later session may call itself the earlier one. */
    if (open > 1 && !sim_has(&world->swarm, FAULT_WALL_BACK))
        sim_fail(world, "%u imports are called under way", open);
}
