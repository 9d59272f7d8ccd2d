/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_store.h - a store in memory that fails.
 *
 * It keeps what store.h promises and nothing else: a commit is whole or not at all, refused under
 * another epoch or on top of another commit. Posts are judged by revision, accounts and handles by
 * their time. The code shares nothing with the SQL.
 *
 * Trouble: busy (no effect), an answer lost after the effect, a position that cannot be read, rows
 * it refuses, a crash before or after the effect. */
#ifndef TESTS_SIM_STORE_H
#define TESTS_SIM_STORE_H

#include "sim_history.h"
#include "store/store.h"

struct sim_world;
struct sim_life;

struct sim_post {
    bool known, gone;
    size_t rev; /* number of the event that stands */
    uint64_t body_hash;
    int64_t kind, shared_us;
    int64_t changed; /* the commit that did last */
    int64_t seq[2];  /* commits that held a put and a delete of it last */
};

struct sim_actor {
    bool has_status, has_handle;
    int64_t status_us, handle_us;
    size_t status, handle; /* numbers of the events that stand */
    int64_t active;
};

struct sim_quarantined {
    uint8_t digest[EVENT_ID_SIZE];
    bool by_store, cut;
    size_t rev; /* by the store: of the post it refused */
    int64_t size;
};

struct sim_gap {
    int64_t from_us, to_us;
    bool closed;
};

struct sim_db {
    struct store_position position;
    struct sim_post posts[SIM_KEYS];
    struct sim_actor actors[SIM_DIDS];
    struct sim_quarantined *quarantine;
    size_t quarantine_count;
    struct sim_gap *gaps;
    size_t gap_count;
    struct text cursor; /* as stored; empty: none */
    int64_t cursor_us;
    int cursor_host;     /* by the name in the cursor; -1: none */
    uint64_t unanswered; /* hash of the last commit if its answer was lost */
    int64_t position_down_until_us;
    size_t verified; /* every event before it is accounted for */
    bool *lost;      /* per event: it lies in a recorded gap */
};

/* One process's connection. */
struct sim_store_handle {
    struct store base;
    struct sim_world *world;
    struct sim_life *life;
    int64_t epoch; /* as claimed */
};

void sim_db_init(struct sim_db *db, size_t events);
void sim_db_deinit(struct sim_db *db);
/* Connects and becomes the one writer. */
struct store_position sim_store_claim(struct sim_store_handle *handle, struct sim_life *life);
uint64_t sim_hash(struct bytes bytes);

#endif
