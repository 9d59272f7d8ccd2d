/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_ledger.h - an account's history at two providers, and what the store has of it.
 *
 * The account has two streams of rows, each in a block of a chain that grows while the run lasts;
 * that is the truth, and it is known here only by its own arithmetic. Each provider has each stream
 * in an order of its own: oldest first from a block on, newest first by tokens, or by ranges of
 * blocks. One of the two may lag behind the chain, or say that there is nothing; the other one is
 * honest, when it answers.
 *
 * The store keeps what its tables promise: an event is there once, by its id; a session is closed
 * by the one after it.
 *
 * Thread: one. */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include "base/digest.h"
#include "record_batch.h"
#include "source/ledger_account.h"
#include "store/lookup.h"

#define SIM_LEDGER_ACCOUNT   "chain:me"
#define SIM_LEDGER_STREAMS   2
#define SIM_LEDGER_PROVIDERS 2
#define SIM_LEDGER_PAGE      10
#define SIM_LEDGER_REPLAY    2 /* blocks that are read again at another provider */
#define SIM_LEDGER_RATE      5 /* requests a second, by a process at a provider */

struct sim_world;
struct sim_life;

enum sim_walk { WALK_RISE, WALK_FALL, WALK_COUNTED, WALK_SPAN, SIM_WALKS };

struct sim_stored_row {
    uint8_t id[EVENT_ID_SIZE];
    unsigned stream;
    size_t number; /* of the row that it is */
    int64_t block, seq;
    int64_t seen; /* its commit when the reader looked last; 0: it was not there */
};

/* What a cursor says, read from its words. */
struct sim_place {
    int64_t high_water, total; /* -1: none */
    int provider;              /* -1: none */
    bool complete, sweeping;
};

struct sim_session {
    int64_t started_us; /* as it calls itself */
    int64_t began_us;   /* true time */
    char status[12];
    bool complete[SIM_LEDGER_STREAMS];
    bool judged; /* its end was looked at */
};

struct sim_ledger_stream {
    int64_t *blocks; /* of its rows, rising */
    size_t count;
    bool *stored;
    size_t verified; /* rows before it lie below the high water, and are stored */
    enum sim_walk walk[SIM_LEDGER_PROVIDERS];
    struct text page[SIM_LEDGER_PROVIDERS]; /* the last one each has given in this session */
    int64_t lied_us;                        /* when somebody said something false; 0: never */
    struct text cursor;                     /* as stored; empty: none */
    struct sim_place place;                 /* the same, read */
    bool told_complete;                     /* by the session, in the commit under way */
};

struct sim_ledger {
    struct sim_ledger_stream streams[SIM_LEDGER_STREAMS];
    int64_t block_us, first_block; /* how long a block takes; the newest one at the beginning */
    int64_t end_us;                /* then the chain stands still */
    int liar;
    int64_t lag_blocks;          /* of the liar */
    bool known;                  /* the account has its row */
    struct sim_stored_row *rows; /* by id */
    size_t row_count;
    struct sim_session *sessions;
    size_t session_count;
};

/* One process's imports, one after the other. */
struct sim_ledger_life {
    struct sim_life *life;
    struct source_env env;
    struct batch_pool *pool;
    struct ledger_providers *providers;
    struct ledger_account *account; /* NULL: between two */
    struct timer turn;
    bool over;
    struct sim_place begun[SIM_LEDGER_STREAMS]; /* where the import began */
    struct sim_place sent[SIM_LEDGER_STREAMS];  /* of the last cursor that went to the writer */
    int asked[SIM_LEDGER_STREAMS];              /* the provider asked last; -1: none yet */
    int64_t requests_us[SIM_LEDGER_PROVIDERS][SIM_LEDGER_RATE];
    size_t requests[SIM_LEDGER_PROVIDERS];
};

/* ---- upstream ---- */
void sim_ledger_init(struct sim_world *world);
void sim_ledger_deinit(struct sim_world *world);
/* How many rows of the stream are in a block that is `lag_blocks` old by now. */
size_t sim_ledger_visible(const struct sim_world *world, unsigned stream, int64_t at_us,
                          int64_t lag_blocks);
/* A provider's answer; its status. */
int sim_ledger_say(struct sim_world *world, int provider, const char *path, struct text *body);
/* A question leaves: it must be where the last provider had come to, less what is read again. */
void sim_ledger_hear(struct sim_life *life, int provider, const char *path);

/* ---- the store ---- */
/* False: not of this pipeline. */
bool sim_ledger_apply(struct sim_world *world, const struct record *record, int64_t seq);
/* False: not a question about it. The answer's fields are good until the next one. */
bool sim_ledger_look_up(struct sim_world *world, const char *sql, const struct field *params,
                        struct lookup_answer *answer);
bool sim_ledger_has(const struct sim_world *world, struct bytes event_id);
void sim_ledger_read_place(struct bytes state, struct sim_place *place);
/* The stream of this name; SIM_LEDGER_STREAMS: none of ours. */
unsigned sim_ledger_stream(struct bytes name);

/* ---- a life ---- */
struct sim_ledger_life *sim_ledger_life_new(struct sim_life *life);
void sim_ledger_life_free(struct sim_ledger_life *ledger);
void sim_ledger_life_stop(struct sim_ledger_life *ledger);
bool sim_ledger_life_stopped(const struct sim_ledger_life *ledger);
/* What goes to the writer. */
void sim_ledger_life_sent(struct sim_ledger_life *ledger, const struct batch *batch);

/* ---- the verdict ---- */
void sim_ledger_verdict_commit(struct sim_world *world);
bool sim_ledger_verdict_drained(const struct sim_world *world);
void sim_ledger_verdict_end(const struct sim_world *world);

#endif
