/* SPDX-License-Identifier: Apache-2.0
 *
 * source.h - what every upstream is to the daemon: started, stopped, looked at.
 *
 * A source takes bytes from its upstream through the runtime it was given, fills batches from the
 * pool and hands them over with `submit`; what it must know of the store it asks for. It never
 * touches a socket, a clock or the store itself, so a simulation can run it as it is.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "record_batch.h"
#include "store/lookup.h"
#include "sys/batch_pool.h"
#include "sys/runtime.h"

/* What a source is given. */
struct source_env {
    struct runtime *runtime;
    struct batch_pool *pool;
    /* Hands a batch to the writer; RC_AGAIN: not now, the source keeps it. */
    enum rc (*submit)(void *arg, struct batch *batch);
    void *submit_arg;
    /* Asks what is stored, as a lookup does; NULL: this source never asks. */
    enum rc (*ask)(void *arg, const char *sql, const struct field *params, size_t param_count,
                   lookup_fn *fn, void *fn_arg);
    /* The same for those who cannot look again later. */
    enum rc (*ask_steadily)(void *arg, const struct lookup_question *question, lookup_fn *fn,
                            void *fn_arg);
    void *ask_arg;
};

/* What may change while a source runs. */
struct source_tuning {
    uint32_t reconnect_delay_seconds, max_reconnect_attempts; /* 0 attempts: for ever */
};

enum source_state { SOURCE_IDLE, SOURCE_DIALLING, SOURCE_LIVE, SOURCE_WAITING, SOURCE_STOPPED };

#define SOURCE_PROVIDERS_MAX 4

struct source_provider {
    char name[65], state[16], reason[96];
    char chosen[192]; /* from whom and why the stream last moved to it; "": it never did */
    bool current;
    uint64_t successes, failures;
    int64_t latency_us; /* mean of its last answers; -1: it never answered */
};

/* What people see of a source; a copy. */
struct source_view {
    enum source_state state;
    char provider[64];
    char trouble[ERR_TEXT_MAX]; /* "" when there is none */
    uint32_t failures;          /* in a row */
    bool alerting;
    int64_t received_us, staged_us, committed_us; /* positions (I1), 0: none */
    int64_t last_event_us;                        /* wall time the last event came in */
    uint64_t events, records, rejected, reconnects, bytes;
    uint64_t filtered; /* events of accounts and collections nobody asked for */
    uint64_t left_out; /* addresses in posts that became no link */
    uint64_t ahead;    /* events whose time has not come: stored, but the cursor stays */
    bool compressed;   /* what comes now is */
    size_t follows;    /* accounts asked for; 0 when everybody's events are wanted */
    struct source_provider providers[SOURCE_PROVIDERS_MAX];
    size_t provider_count;
};

struct source {
    const struct source_ops *ops;
};

struct source_ops {
    const char *name;
    void (*start)(struct source *source);
    /* Takes over what may change while it runs. */
    void (*tune)(struct source *source, const struct source_tuning *tuning);
    /* Stops asking; batches under way are still answered. */
    void (*stop)(struct source *source);
    /* True once nothing of it is under way: it may be freed. */
    bool (*stopped)(const struct source *source);
    void (*view)(const struct source *source, struct source_view *view);
    /* Every batch was answered. What was not handed over is forgotten and asked for again. */
    void (*free)(struct source *source);
};

#endif
