/* SPDX-License-Identifier: Apache-2.0
 *
 * provider.h - one interchangeable upstream: what it can do and how well it does.
 *
 * The circuit says whether it may be asked:
 *   closed     yes
 *   open       no, until `open_until_us`; failures in a row, or refused credentials, open it
 *   half-open  its time is over: one request at a time may probe it; success closes the circuit,
 *              failure opens it again for twice as long, up to a bound
 * A request carries a ticket: an answer to one sent before the last opening, or to a probe that was
 * replaced, is counted but moves the circuit no more. Requests that are under way together fail
 * together: that is one failure of the row that opens the circuit, however many they are.
 *
 * Always holds: at most one probe is under way; a probe nobody reports on is given up after its
 * time; a closed circuit has fewer failures in a row than it takes to open it. Permanent failures
 * and rate limits are answers of a healthy server: they do not touch the circuit of a closed one.
 *
 * Owner: a failover group.  Thread: loop.  Never allocates, never logs, never reads a clock. The
 * words of a failure are shown to people: whoever reports them has taken secrets out. */
#ifndef INGEST_PROVIDER_H
#define INGEST_PROVIDER_H

#include "ingest/bucket.h"
#include "ingest/retry.h"

#define PROVIDER_NAME_MAX      65 /* with its NUL */
#define PROVIDER_REASON_MAX    96
#define PROVIDER_NONE          (-1)
#define PROVIDER_OPEN_FAILURES 3
#define PROVIDER_OPEN_US_MIN   INT64_C(30000000)
#define PROVIDER_OPEN_US_MAX   INT64_C(600000000)
#define PROVIDER_PROBE_US_MAX  INT64_C(60000000)
#define PROVIDER_LIMIT_US_MIN  INT64_C(1000000) /* pause after a 429 that names no time, doubling */
#define PROVIDER_LIMIT_US_MAX  INT64_C(64000000)
#define PROVIDER_HEALTH_FULL   1000000
#define PROVIDER_UNKNOWN_TRIES 3 /* without a verdict; then an unknown latency is a bad one */

enum circuit { CIRCUIT_CLOSED, CIRCUIT_OPEN, CIRCUIT_HALF_OPEN };

struct provider_spec {
    const char *name;
    uint32_t kinds;          /* cursor kinds it can resume from, one bit each */
    uint32_t kind_preferred; /* one bit of them */
    int64_t replay_blocks;   /* how far another provider's position is rewound for it */
    int64_t replay_us;
    int32_t priority; /* lower is preferred */
    bool disabled;
    uint32_t open_failures; /* in a row that open the circuit; 0: PROVIDER_OPEN_FAILURES */
    int64_t open_us_max;    /* for so long; 0: PROVIDER_OPEN_US_MAX */
    struct bucket_limits limits;
};

/* Up to where its data was checked against something else and found complete. */
struct provider_proof {
    int64_t block, time_us; /* positions, the one or the other or both; -1: unknown */
    int64_t at_us;          /* when it was proved; -1: never */
};

#define PROVIDER_UNPROVED ((struct provider_proof){-1, -1, -1})

struct provider {
    char name[PROVIDER_NAME_MAX];
    uint32_t kinds, kind_preferred;
    int64_t replay_blocks, replay_us;
    int32_t priority;
    bool disabled;
    uint32_t open_failures;
    int64_t open_us_max;
    struct bucket bucket;

    uint64_t successes, failures, limited; /* limited: answers of class rate-limited */
    uint32_t failures_in_row, limited_in_row;
    int32_t health;       /* moving share of successes, of PROVIDER_HEALTH_FULL */
    int64_t latency_us;   /* moving mean of successes; -1: never measured */
    uint32_t unmeasured;  /* requests that ended without a verdict before it was */
    int64_t succeeded_us; /* INT64_MIN: never */
    int64_t failed_us;    /* the same */
    char last_error[PROVIDER_REASON_MAX];
    struct provider_proof proof;

    bool open;             /* false: closed */
    int64_t open_us;       /* length of the last opening; 0 once closed */
    int64_t open_until_us; /* when a probe may begin */
    bool probing;
    int64_t probe_until_us; /* when the probe under way is given up */
    uint64_t epoch;         /* openings so far */
    uint64_t probe;         /* probes so far */
    uint64_t blows;         /* failures so far that were one of a row */
};

struct provider_ticket {
    uint64_t epoch;
    uint64_t probe; /* 0: an ordinary request */
    uint64_t blows; /* that had been met when it was sent */
};

struct provider_failure {
    enum retry_class class;
    int64_t retry_after_us; /* -1: the server named no time */
    const char *reason;     /* one sentence, without secrets */
};

void provider_init(struct provider *provider, const struct provider_spec *spec, int64_t now_us);
enum circuit provider_circuit(const struct provider *provider, int64_t now_us);
/* "closed", "open" or "half-open". */
const char *provider_circuit_name(enum circuit circuit);
/* When the circuit lets the next request through: `now_us` if it does now. */
int64_t provider_ready_us(const struct provider *provider, int64_t now_us);
/* True when a probe would tell something and none is under way: a half-open circuit, or a closed
 * one whose last answer was a failure a while ago. */
bool provider_probe_wanted(const struct provider *provider, int64_t now_us);
/* Begins a probe, which must be wanted. */
struct provider_ticket provider_probe_begin(struct provider *provider, int64_t now_us);
/* The ticket of an ordinary request; the circuit must be closed. */
struct provider_ticket provider_ticket(const struct provider *provider);

void provider_succeeded(struct provider *provider, struct provider_ticket ticket,
                        int64_t latency_us, int64_t now_us);
void provider_failed(struct provider *provider, struct provider_ticket ticket,
                     const struct provider_failure *failure, int64_t now_us);
/* The request was called off by us, or its answer says nothing of the provider: no verdict. */
void provider_abandoned(struct provider *provider, struct provider_ticket ticket);
/* The request was called off because another provider answered, and it had had its time: that costs
 * health, but counts as no failure and leaves the circuit alone. */
void provider_outrun(struct provider *provider, struct provider_ticket ticket, const char *reason);
void provider_proved(struct provider *provider, const struct provider_proof *proof);

/* Copies words meant for one line: whatever steers a terminal, ends the line or turns its direction
 * becomes a space, a longer text is cut between two characters. Returns the bytes written without
 * the NUL; `size` is at least 1. */
size_t provider_words_copy(char *out, size_t size, const char *words);

/* What people call the provider at this address: its host, without what may be a secret before or
 * behind it. A long one is cut. */
void provider_name_of_url(const char *url, char out[PROVIDER_NAME_MAX]);

/* Negative when `a` is to be preferred: lower priority, then better health in steps of a tenth,
 * then lower latency; 0 when equal. One that was never measured comes first, so that it is, but
 * only for its first tries: after that it comes last. */
int provider_compare(const struct provider *a, const struct provider *b);

#endif
