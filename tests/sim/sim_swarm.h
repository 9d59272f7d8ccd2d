/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_swarm.h - which faults a seed has, and what was seen of them.
 *
 * A seed switches on a random subset of the faults, each at its own rate; a healed swarm has none.
 * Every fault that happens and every sight worth proving is counted over all seeds, so that a run
 * can show that nothing it tests was left out. */
#ifndef TESTS_SIM_SWARM_H
#define TESTS_SIM_SWARM_H

#include "base/bytes.h"
#include "tests/unit/test_seed.h"

#include <stdbool.h>
#include <stddef.h>

/* The pipelines a run may have; a fault or a sight may belong to some of them only. */
enum { SIM_NEWS = 1, SIM_LEDGER = 2, SIM_CONTENT = 4, SIM_ALL = 7 };

enum sim_fault {
    FAULT_REFUSED_500,
    FAULT_REFUSED_429,
    FAULT_DIAL_TIMEOUT,
    FAULT_DROP_WITH_CLOSE,
    FAULT_DROP_ABRUPT,
    FAULT_STALL_DEAD,
    FAULT_DUPLICATE,
    FAULT_REORDER,
    FAULT_GARBAGE_IN_LOG,
    FAULT_GARBAGE_ON_WIRE,
    FAULT_HUGE_FRAME,
    FAULT_CUTOVER_REPEATS,
    FAULT_SLOW,
    FAULT_BURST,
    FAULT_HOST_SKEW,
    FAULT_RETENTION,
    FAULT_TIME_AHEAD,
    FAULT_WALL_FORWARD,
    FAULT_WALL_BACK,
    FAULT_STORE_BUSY,
    FAULT_STORE_AMBIGUOUS,
    FAULT_POSITION_DOWN,
    FAULT_POISON,
    FAULT_STORE_STALL,
    FAULT_CRASH_BETWEEN,
    FAULT_CRASH_BEFORE_EFFECT,
    FAULT_CRASH_AFTER_EFFECT,
    FAULT_ZOMBIE,
    FAULT_CLEAN_STOP,
    FAULT_LOOKUP_FAILS,
    FAULT_HTTP_LOST,
    FAULT_HTTP_500,
    FAULT_HTTP_429,
    FAULT_HTTP_SLOW,
    FAULT_HTTP_GARBLED,
    FAULT_SERVER_DIES, /* for minutes, in the midst of what it was saying */
    FAULT_PAGE_EMPTY,  /* a lie */
    FAULT_PAGE_AGAIN,
    FAULT_PAGE_OVERLAP,
    FAULT_COUNT_AHEAD, /* a row is counted before it is shown */
    FAULT_TOKEN_LOST,
    FAULT_PROVIDER_LAGS,
    FAULT_REORG,
    FAULT_NODE_LAGS,
    FAULT_LOGS_HELD_BACK,
    FAULT_RANGE_TOO_LARGE,
    FAULT_DOCUMENT_LATE, /* a gateway has it later only */
    FAULT_DOCUMENT_GONE, /* nobody has it, nor will */
    FAULT_WRONG_BYTES,
    FAULT_COUNT
};

enum sim_sight {
    SIGHT_STATE_IDLE, /* the source's states, in their order */
    SIGHT_STATE_DIALLING,
    SIGHT_STATE_LIVE,
    SIGHT_STATE_WAITING,
    SIGHT_STATE_STOPPED,
    SIGHT_CRASH_IDLE, /* a crash in each of them, in the same order */
    SIGHT_CRASH_DIALLING,
    SIGHT_CRASH_LIVE,
    SIGHT_CRASH_WAITING,
    SIGHT_CRASH_STOPPED,
    SIGHT_CRASH_WITH_BATCHES, /* batches were at the writer */
    SIGHT_RING_FULL,
    SIGHT_POOL_EMPTY,
    SIGHT_WRITER_FULL,
    SIGHT_FAILOVER,
    SIGHT_FAILOVER_SKEWED,
    SIGHT_RETENTION_CUT,
    SIGHT_GAP_STORED,
    SIGHT_QUARANTINED,
    SIGHT_QUARANTINED_CUT, /* without its bytes */
    SIGHT_QUARANTINED_BY_STORE,
    SIGHT_EVENT_OVER_BATCH,
    SIGHT_DRY_WRITE,
    SIGHT_FOLDED,
    SIGHT_ZOMBIE_FENCED,
    SIGHT_READ, /* a client looked */
    SIGHT_IMPORT_COMPLETED,
    SIGHT_IMPORT_FAILED,
    SIGHT_IMPORT_CANCELLED,
    SIGHT_IMPORT_CUT_OFF, /* by a crash; the next one says so */
    SIGHT_ROW_REPEATED,   /* the store dropped what it had */
    SIGHT_SWITCHED,       /* another provider goes on where one was */
    SIGHT_SWEEP_TAKEN_UP, /* by its token */
    SIGHT_EMPTY_PAGE,
    SIGHT_UNDO,
    SIGHT_OWED,
    SIGHT_OWED_PAID,
    SIGHT_DEAD,
    SIGHT_COUNT
};

struct sim_swarm {
    struct seeded random;
    bool healed;
    uint32_t rate[FAULT_COUNT]; /* per million chances; 0: off */
};

/* The faults whose bits are set in `without` never strike. */
void sim_swarm_init(struct sim_swarm *swarm, uint64_t seed, uint64_t without);
/* FAULT_COUNT when there is none of that name. */
enum sim_fault sim_fault_find(struct bytes name);
const char *sim_fault_name(enum sim_fault fault);
/* Whether the seed has the fault at all, healed or not. */
bool sim_has(const struct sim_swarm *swarm, enum sim_fault fault);
/* Whether the fault happens now; counted. */
bool sim_strikes(struct sim_swarm *swarm, enum sim_fault fault);
/* In [lo, hi]. */
int64_t sim_between(struct sim_swarm *swarm, int64_t lo, int64_t hi);
void sim_fault_count(enum sim_fault fault);
void sim_saw(enum sim_sight sight);
/* Prints every count of these pipelines; false when one is zero. */
bool sim_report(unsigned pipelines);

#endif
