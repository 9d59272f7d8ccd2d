/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_world.h - one simulated run: a clock, an upstream, a store, and the lives of a process.
 *
 * Time passes only from one scheduled event to the next. A life is one run of the process: its own
 * timers, connections, batches and writer, on the world's one clock. It ends by a crash, which
 * drops all of that, by a clean stop, or as a zombie that goes on beside its successor for a while.
 * Only the store outlives a life.
 *
 * Thread: one. Nothing here reads a real clock; equal seeds give equal runs. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "sim_content.h"
#include "sim_history.h"
#include "sim_http.h"
#include "sim_ledger.h"
#include "sim_lookup.h"
#include "sim_reader.h"
#include "sim_store.h"
#include "sim_writer.h"
#include "source/jetstream.h"

/* What a host was asked for and what it began with. */
struct sim_opening {
    int host;
    int64_t asked_us;
    size_t first;  /* event it begins with */
    bool cut;      /* events at or after `asked_us` were no longer there */
    bool stranger; /* the position may be another host's, or nobody's */
};

struct sim_shape { /* how large things are in this seed */
    size_t ring_bytes, arena_bytes;
    unsigned batches, writer_batches;
    int64_t retention_us, window_us;
    int hosts;
};

struct sim_life {
    struct runtime runtime; /* first: the runtime is the life */
    struct sim_world *world;
    struct timer_heap timers;
    struct source_env env; /* of its sources; the pool is the news' */
    struct batch_pool *pool;
    struct sim_store_handle store;
    struct sim_writer writer;
    struct source *source;            /* the news; NULL: not in this run */
    struct sim_ledger_life *ledger;   /* the same for the account ... */
    struct sim_content_life *content; /* ... and for the chain's documents */
    struct timer start;
    struct ws *connections;
    struct http_call *calls;
    struct sim_question *questions;
    struct sim_manners manners[SIM_SERVERS];
    bool dying;    /* the crash came inside a call: what it returns does not matter any more */
    bool ended;    /* being dropped: nothing of it reaches the world */
    bool stopping; /* cleanly */
    int64_t end_by_us;
};

/* Bugs that must be found. */
enum sim_plant {
    PLANT_NONE,
    PLANT_CURSOR, /* a crash stores the cursor of a commit without its rows */
    PLANT_READER, /* a commit that does not come to be can be read for a while */
};

/* What a run is made of. All but the seed may be 0: as the seed says. */
struct sim_plan {
    uint64_t seed, steps;
    size_t events_max;
    unsigned days;      /* that the history takes */
    uint64_t without;   /* faults that never strike, a bit each */
    unsigned pipelines; /* 0: all */
    bool show;
    enum sim_plant plant;
};

struct sim_world {
    struct sim_plan plan;
    struct sim_swarm swarm;
    struct sim_history history;
    struct sim_shape shape;
    struct sim_db db;
    struct sim_ledger *ledger;   /* NULL: not in this run */
    struct sim_content *content; /* the same */
    struct sim_reader reader;
    int64_t now_us;    /* true time */
    int64_t healed_us; /* 0: not yet */
    int64_t down_until_us[SIM_SERVERS];
    int64_t wall_offset_us; /* of the process's wall clock */
    struct timer_heap timers;
    struct timer weather, birth;
    struct sim_life *life, *zombie; /* NULL: none now */
    struct sim_opening *openings;
    size_t opening_count;
    int last_host; /* that sent an event; -1: none yet */
    uint8_t (*wire_garbage)[DIGEST_SIZE];
    size_t wire_garbage_count;
    int64_t stalled_until_us;
    uint64_t steps, trace;
};

extern const struct runtime_ops sim_runtime_ops;
extern const char *const sim_host_urls[SIM_HOSTS];
extern const char *const sim_host_names[SIM_HOSTS];

/* Runs the world until the plan's steps have passed, heals it and lets it drain; gives the trace's
 * hash. */
uint64_t sim_world_run(const struct sim_plan *plan);

/* Makes a plan that fails smaller, as long as it fails: fewer events, fewer faults. False: it does
 * not fail by itself. */
bool sim_shrink(struct sim_plan *plan);
/* Prints how to repeat the plan and which faults are left in it; how many these are. */
unsigned sim_shrink_tell(const struct sim_plan *plan);
/* Prints the arguments that are neither its seed nor its size. */
void sim_plan_tell(const struct sim_plan *plan);

/* Folds words into the trace. */
void sim_trace(struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a number, which is often. */
void sim_trace_number(struct sim_world *world, const char *what, uint64_t number);
/* Says which seed fails and how to repeat it, and ends the program. */
void sim_fail(const struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Starts a process on the store as it is. */
struct sim_life *sim_life_new(struct sim_world *world);
/* Drops everything the process held in memory. */
void sim_life_free(struct sim_life *life);
/* Ends what the network holds for a life that is dropped. */
void sim_connections_free(struct sim_life *life);

/* After a commit: everything the cursor passed is accounted for. */
void sim_verdict_commit(struct sim_world *world);
/* After a scheduled event. */
void sim_verdict_step(struct sim_world *world);
/* Whether the whole history is in the store. */
bool sim_verdict_drained(struct sim_world *world);
/* At the end: the tables are what the history alone gives. */
void sim_verdict_end(struct sim_world *world);

#endif
