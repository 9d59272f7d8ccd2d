/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_swarm.h"

#include <assert.h>

#define ALL 0 /* pipelines, whichever run */

/* Chances per million at which a fault that is on strikes; per frame, dial, commit or step. */
static const struct {
    const char *name;
    uint32_t rate;
    unsigned of; /* pipelines */
} faults[FAULT_COUNT] = {
    [FAULT_REFUSED_500] = {"refused_500", 250000, SIM_NEWS},
    [FAULT_REFUSED_429] = {"refused_429", 150000, SIM_NEWS},
    [FAULT_DIAL_TIMEOUT] = {"dial_timeout", 150000, SIM_NEWS},
    [FAULT_DROP_WITH_CLOSE] = {"drop_with_close", 8000, SIM_NEWS},
    [FAULT_DROP_ABRUPT] = {"drop_abrupt", 8000, SIM_NEWS},
    [FAULT_STALL_DEAD] = {"stall_dead", 4000, SIM_NEWS},
    [FAULT_DUPLICATE] = {"duplicate", 50000, SIM_NEWS},
    [FAULT_REORDER] = {"reorder", 100000, SIM_NEWS},
    [FAULT_GARBAGE_IN_LOG] = {"garbage_in_log", 40000, SIM_NEWS},
    [FAULT_GARBAGE_ON_WIRE] = {"garbage_on_wire", 10000, SIM_NEWS},
    [FAULT_HUGE_FRAME] = {"huge_frame", 20000, SIM_NEWS},
    [FAULT_CUTOVER_REPEATS] = {"cutover_repeats", 500000, SIM_NEWS},
    [FAULT_SLOW] = {"slow", 20000, SIM_NEWS},
    [FAULT_BURST] = {"burst", 300000, SIM_NEWS},
    [FAULT_HOST_SKEW] = {"host_skew", 1000000, SIM_NEWS},
    [FAULT_RETENTION] = {"retention", 1000000, SIM_NEWS},
    [FAULT_TIME_AHEAD] = {"time_ahead", 20000, SIM_NEWS},
    [FAULT_WALL_FORWARD] = {"wall_forward", 60000, ALL},
    [FAULT_WALL_BACK] = {"wall_back", 60000, ALL},
    [FAULT_STORE_BUSY] = {"store_busy", 60000, ALL},
    [FAULT_STORE_AMBIGUOUS] = {"store_ambiguous", 60000, ALL},
    [FAULT_POSITION_DOWN] = {"position_down", 300000, ALL},
    [FAULT_POISON] = {"poison", 20000, SIM_NEWS},
    [FAULT_STORE_STALL] = {"store_stall", 60000, ALL},
    [FAULT_CRASH_BETWEEN] = {"crash_between", 1500, ALL},
    [FAULT_CRASH_BEFORE_EFFECT] = {"crash_before_effect", 20000, ALL},
    [FAULT_CRASH_AFTER_EFFECT] = {"crash_after_effect", 20000, ALL},
    [FAULT_ZOMBIE] = {"zombie", 40000, ALL},
    [FAULT_CLEAN_STOP] = {"clean_stop", 30000, ALL},
    [FAULT_LOOKUP_FAILS] = {"lookup_fails", 30000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_HTTP_LOST] = {"http_lost", 60000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_HTTP_500] = {"http_500", 80000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_HTTP_429] = {"http_429", 60000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_HTTP_SLOW] = {"http_slow", 60000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_HTTP_GARBLED] = {"http_garbled", 30000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_SERVER_DIES] = {"server_dies", 20000, SIM_LEDGER | SIM_CONTENT},
    [FAULT_PAGE_EMPTY] = {"page_empty", 60000, SIM_LEDGER},
    [FAULT_PAGE_AGAIN] = {"page_again", 30000, SIM_LEDGER},
    [FAULT_PAGE_OVERLAP] = {"page_overlap", 100000, SIM_LEDGER},
    [FAULT_COUNT_AHEAD] = {"count_ahead", 60000, SIM_LEDGER},
    [FAULT_TOKEN_LOST] = {"token_lost", 60000, SIM_LEDGER},
    [FAULT_PROVIDER_LAGS] = {"provider_lags", 500000, SIM_LEDGER},
    [FAULT_REORG] = {"reorg", 100000, SIM_CONTENT},
    [FAULT_NODE_LAGS] = {"node_lags", 500000, SIM_CONTENT},
    [FAULT_LOGS_HELD_BACK] = {"logs_held_back", 200000, SIM_CONTENT},
    [FAULT_RANGE_TOO_LARGE] = {"range_too_large", 500000, SIM_CONTENT},
    [FAULT_DOCUMENT_LATE] = {"document_late", 200000, SIM_CONTENT},
    [FAULT_DOCUMENT_GONE] = {"document_gone", 60000, SIM_CONTENT},
    [FAULT_WRONG_BYTES] = {"wrong_bytes", 60000, SIM_CONTENT},
};

static const struct {
    const char *name;
    unsigned of;
} sights[SIGHT_COUNT] = {
    [SIGHT_STATE_IDLE] = {"state_idle", SIM_NEWS},
    [SIGHT_STATE_DIALLING] = {"state_dialling", SIM_NEWS},
    [SIGHT_STATE_LIVE] = {"state_live", SIM_NEWS},
    [SIGHT_STATE_WAITING] = {"state_waiting", SIM_NEWS},
    [SIGHT_STATE_STOPPED] = {"state_stopped", SIM_NEWS},
    [SIGHT_CRASH_IDLE] = {"crash_idle", SIM_NEWS},
    [SIGHT_CRASH_DIALLING] = {"crash_dialling", SIM_NEWS},
    [SIGHT_CRASH_LIVE] = {"crash_live", SIM_NEWS},
    [SIGHT_CRASH_WAITING] = {"crash_waiting", SIM_NEWS},
    [SIGHT_CRASH_STOPPED] = {"crash_stopped", SIM_NEWS},
    [SIGHT_CRASH_WITH_BATCHES] = {"crash_with_batches", ALL},
    [SIGHT_RING_FULL] = {"ring_full", SIM_NEWS},
    [SIGHT_POOL_EMPTY] = {"pool_empty", SIM_NEWS},
    [SIGHT_WRITER_FULL] = {"writer_full", SIM_NEWS | SIM_LEDGER},
    [SIGHT_FAILOVER] = {"failover", SIM_NEWS},
    [SIGHT_FAILOVER_SKEWED] = {"failover_skewed", SIM_NEWS},
    [SIGHT_RETENTION_CUT] = {"retention_cut", SIM_NEWS},
    [SIGHT_GAP_STORED] = {"gap_stored", SIM_NEWS},
    [SIGHT_QUARANTINED] = {"quarantined", SIM_NEWS},
    [SIGHT_QUARANTINED_CUT] = {"quarantined_cut", SIM_NEWS},
    [SIGHT_QUARANTINED_BY_STORE] = {"quarantined_by_store", SIM_NEWS},
    [SIGHT_EVENT_OVER_BATCH] = {"event_over_batch", SIM_NEWS},
    [SIGHT_DRY_WRITE] = {"dry_write", SIM_NEWS},
    [SIGHT_FOLDED] = {"folded", SIM_NEWS},
    [SIGHT_ZOMBIE_FENCED] = {"zombie_fenced", ALL},
    [SIGHT_READ] = {"read", ALL},
    [SIGHT_IMPORT_COMPLETED] = {"import_completed", SIM_LEDGER},
    [SIGHT_IMPORT_FAILED] = {"import_failed", SIM_LEDGER},
    [SIGHT_IMPORT_CANCELLED] = {"import_cancelled", SIM_LEDGER},
    [SIGHT_IMPORT_CUT_OFF] = {"import_cut_off", SIM_LEDGER},
    [SIGHT_ROW_REPEATED] = {"row_repeated", SIM_LEDGER},
    [SIGHT_SWITCHED] = {"switched", SIM_LEDGER},
    [SIGHT_SWEEP_TAKEN_UP] = {"sweep_taken_up", SIM_LEDGER},
    [SIGHT_EMPTY_PAGE] = {"empty_page", SIM_LEDGER},
    [SIGHT_UNDO] = {"undo", SIM_CONTENT},
    [SIGHT_OWED] = {"owed", SIM_CONTENT},
    [SIGHT_OWED_PAID] = {"owed_paid", SIM_CONTENT},
    [SIGHT_DEAD] = {"dead", SIM_CONTENT},
};

static uint64_t fault_counts[FAULT_COUNT], sight_counts[SIGHT_COUNT];

void sim_swarm_init(struct sim_swarm *swarm, uint64_t seed, uint64_t without)
{
    *swarm = (struct sim_swarm){.random = {seed}};
    uint64_t share = 1 + seeded_below(&swarm->random, 4); /* of five faults, so many are on */
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        static const uint32_t scale_percent[] = {30, 100, 100, 300};
        bool on = seeded_below(&swarm->random, 5) < share;
        uint64_t rate =
            (uint64_t)faults[i].rate * scale_percent[seeded_below(&swarm->random, 4)] / 100;
        on = on && (without >> i & 1) == 0;
        swarm->rate[i] = on ? (uint32_t)(rate < 900000 ? rate : 900000) : 0;
    }
}

enum sim_fault sim_fault_find(struct bytes name)
{
    enum sim_fault fault = 0;
    while (fault < FAULT_COUNT && !bytes_equal_string(name, faults[fault].name))
        fault++;
    return fault;
}

const char *sim_fault_name(enum sim_fault fault)
{
    assert(fault < FAULT_COUNT);
    return faults[fault].name;
}

bool sim_has(const struct sim_swarm *swarm, enum sim_fault fault)
{
    assert(fault < FAULT_COUNT);
    return swarm->rate[fault] > 0;
}

bool sim_strikes(struct sim_swarm *swarm, enum sim_fault fault)
{
    assert(fault < FAULT_COUNT);
    if (swarm->healed || swarm->rate[fault] == 0)
        return false;
    bool strikes = seeded_below(&swarm->random, 1000000) < swarm->rate[fault];
    fault_counts[fault] += strikes;
    return strikes;
}

int64_t sim_between(struct sim_swarm *swarm, int64_t lo, int64_t hi)
{
    assert(lo <= hi);
    return lo + (int64_t)seeded_below(&swarm->random, (uint64_t)(hi - lo) + 1);
}

void sim_fault_count(enum sim_fault fault)
{
    assert(fault < FAULT_COUNT);
    fault_counts[fault]++;
}

void sim_saw(enum sim_sight sight)
{
    assert(sight < SIGHT_COUNT);
    sight_counts[sight]++;
}

static bool report(const char *what, const char *name, unsigned of, unsigned pipelines,
                   uint64_t count)
{
    if (of != 0 && (of & pipelines) == 0)
        return true;
    printf("# %s %-20s %" PRIu64 "\n", what, name, count);
    return count > 0;
}

bool sim_report(unsigned pipelines)
{
    bool all = true;
    for (size_t i = 0; i < FAULT_COUNT; i++)
        all &= report("fault", faults[i].name, faults[i].of, pipelines, fault_counts[i]);
    for (size_t i = 0; i < SIGHT_COUNT; i++)
        all &= report("sight", sights[i].name, sights[i].of, pipelines, sight_counts[i]);
    return all;
}
