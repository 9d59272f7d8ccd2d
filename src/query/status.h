/* SPDX-License-Identifier: Apache-2.0
 *
 * status.h - where every source stands, as one JSON object.
 *
 * Most of it is what the store holds. What only a running process knows (connections, rates) is
 * given to it; without, the same members are there and null, so that whoever reads the object needs
 * to know one shape only.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_STATUS_H
#define QUERY_STATUS_H

#include "store/store.h"

#define STATUS_SOURCES_MAX   8
#define STATUS_PROVIDERS_MAX 4
#define STATUS_LEDGER_MAX    80 /* providers of groups that are shown */
#define STATUS_WORDS_MAX     160

/* One upstream of a source, as the running process sees it. */
struct status_provider {
    char name[65];
    char state[16];
    bool current;
    int64_t successes, failures;
    int64_t latency_us;            /* mean of its last answers; below 0: it never answered */
    char reason[STATUS_WORDS_MAX]; /* of its last failure, or "" */
    char chosen[STATUS_WORDS_MAX]; /* why the source last moved to it, or "" */
};

struct status_source {
    const char *name, *state; /* constants */
    char provider[65];        /* the one in use, or "" */
    char trouble[STATUS_WORDS_MAX];
    double rate;           /* events per second; below 0: not known yet */
    int64_t committed_us;  /* 0: none */
    int64_t last_event_us; /* wall time; 0: none */
    int64_t lag_us;        /* how far what is committed is behind what came; below 0: in no time */
    int64_t events, reconnects;
    struct status_provider providers[STATUS_PROVIDERS_MAX];
    size_t provider_count;
};

/* One of a group that is asked beside or below the sources: for account histories, for the blocks
 * and documents of a chain. */
struct status_ledger {
    char platform[64];
    struct status_provider provider;
};

/* What the running process is at beside its sources; below 0: not known. */
struct status_progress {
    double commit_p50, commit_p95, commit_p99; /* seconds from the wire to the commit; 0: none */
    struct {
        int64_t queued, running, completed, failed; /* the last two since the start */
        int64_t per_minute;                         /* of the stretch that is under way */
    } backfill;                                     /* histories of accounts */
    struct {
        int64_t accounts, complete, failing, running, completed, failed;
        int64_t oldest_success_us; /* wall time: of the accounts, the one longest ago; 0: none */
    } imports;
    struct {
        bool followed;
        int64_t head, block, waiting, fetching, stored, owed;
    } documents;
    int64_t handles_open;
};

/* What the running process adds. */
struct status_live {
    int64_t pid, uptime_us;
    int64_t queued; /* batches that wait for the writer */
    bool writing;   /* false: the store cannot be written */
    struct status_progress progress;
    struct status_source sources[STATUS_SOURCES_MAX];
    size_t source_count;
    struct status_ledger ledger[STATUS_LEDGER_MAX];
    size_t ledger_count;
};

/* Appends the object and a line's end; `live` NULL: nothing runs. */
must_check enum rc status_print(struct store *store, const struct status_live *live,
                                struct text *out, struct err *err);

#endif
