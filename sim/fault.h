/* SPDX-License-Identifier: Apache-2.0
 *
 * fault.h - which misfortunes are planned, and how often each has really happened.
 *
 * A fault waits for its opportunities: frames sent, handshakes, or cut-overs from replay to live,
 * as its kind says. It lets `after` of them pass, fires on the next one, and does that `count`
 * times; then it is disarmed. One that lasts lets nothing pass after its first time. A sticky one
 * fires until it is disarmed by hand, unless a count is given. Only a fault that fired is counted.
 * One fault of a kind is armed at a time; arming again
 * replaces it.
 *
 * Faults marked lossy keep an event from a client that was entitled to it and never offer it again
 * on that connection; the caller records which. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "base/bytes.h"
#include "base/err.h"

enum fault_kind {
    /* at each frame sent */
    FAULT_RESET,            /* TCP reset in the middle of a frame */
    FAULT_DISCONNECT,       /* orderly end of TCP without a close frame */
    FAULT_CUT,              /* the same in the middle of a frame */
    FAULT_CLOSE,            /* close frame with `status` (1001) */
    FAULT_TOO_SLOW,         /* v2 error frame ConsumerTooSlow, then a close frame */
    FAULT_STALL,            /* neither sends nor reads for `ms` (10000) */
    FAULT_SLOW,             /* `bytes` (16) every 10 ms, for `ms` (1000) */
    FAULT_DUPLICATE,        /* the frame twice */
    FAULT_REORDER,          /* the frame after up to `bytes` (3) later ones, within 1 s of events */
    FAULT_DROP,             /* lossy: the frame is not sent */
    FAULT_OMIT,             /* lossy, sticky: frames of `collection` are not sent */
    FAULT_SKEW,             /* sticky: times of this host are off by `us` */
    FAULT_GARBAGE,          /* a frame of no JSON before it */
    FAULT_TRUNCATE,         /* half of its JSON before it; with lossy=1 instead of it */
    FAULT_HUGE,             /* a frame of `bytes` (40 MiB) before it */
    FAULT_WRONG_DICTIONARY, /* lossy: compressed with another dictionary */
    /* at each handshake */
    FAULT_REFUSE, /* answers `status` (503; 0 drops), Retry-After `retry_after` when given */
    /* at the first event of a replay that is younger than 1 s */
    FAULT_CUTOVER, /* lossy: `bytes` (5) events are left out, then two change places */
    /* at each XRPC request; `collection` is the method */
    FAULT_HTTP,          /* answers `status` (500; 0 drops, 200 is a page of HTML), Retry-After */
    FAULT_HTTP_TRUNCATE, /* half of the JSON */
    FAULT_HTTP_STALL,    /* the answer comes `ms` (10000) late */
    /* at each request for a web page; `collection` is its kind */
    FAULT_WEB,         /* answers `status` (500; 0 drops), Retry-After */
    FAULT_WEB_GARBAGE, /* what no browser could read, and calls it HTML */
    FAULT_WEB_HUGE,    /* `bytes` (4 MiB) of nothing */
    FAULT_WEB_STALL,   /* the page comes `ms` (10000) late */
    FAULT_WEB_SLOW,    /* `bytes` (16) every 10 ms, for `ms` (1000) */
    /* at each TLS connection */
    FAULT_TLS, /* garbage in place of a handshake; `status` 1: a certificate nobody trusts */
    /* at each request to a provider of the chain; `collection` is "provider" or
     * "provider/endpoint" */
    FAULT_LEDGER_HTTP,     /* answers `status` (503; 0 drops, 200 is a page of HTML), Retry-After */
    FAULT_LEDGER_ERROR,    /* an error in a good answer, `error` or "rate limit" */
    FAULT_LEDGER_EMPTY,    /* says that there is nothing */
    FAULT_LEDGER_PARTIAL,  /* half of the rows; says so where the provider would */
    FAULT_LEDGER_TRUNCATE, /* half of the JSON */
    FAULT_LEDGER_STALL,    /* the answer comes `ms` (10000) late */
    FAULT_LEDGER_EXPIRE,   /* at each token shown: it has expired */
    FAULT_LEDGER_INSERT,   /* `bytes` (1) blocks are mined before the answer */
    FAULT_LEDGER_REORG,    /* the newest `bytes` (3) blocks are replaced before the answer */
    FAULT_LEDGER_LAG,      /* sticky: the newest `bytes` (10) blocks are not seen yet */
    FAULT_LEDGER_TRACE,    /* sticky: the ids of internal calls are others */
    FAULT_LEDGER_NULL,     /* at each detail asked for: it is null */
    FAULT_COUNT,
};

struct fault {
    bool armed, lossy;
    bool lasts; /* once it has fired, it fires each time */
    uint64_t after, count, passed;
    uint64_t ms, bytes;
    int64_t us;
    unsigned status, retry_after;
    char collection[64]; /* only what is called this, or "this/…"; empty: any */
    char error[40];      /* what an answer calls itself; empty: what is usual */
};

struct fault_plan {
    struct fault faults[FAULT_COUNT];
    uint64_t fired[FAULT_COUNT];
    unsigned armed_count;
};

/* Arms what `query` says: name=…&after=N&count=K and the kind's own parameters. */
must_check enum rc fault_plan_arm(struct fault_plan *plan, struct bytes query, struct err *err);
/* Disarms the fault of that name, or all when absent; false when there is no such name. */
bool fault_plan_disarm(struct fault_plan *plan, struct bytes name);
/* Counts an opportunity. Non-NULL when the fault happens now; valid until it is armed again. */
const struct fault *fault_plan_fire(struct fault_plan *plan, enum fault_kind kind,
                                    const char *collection);
const char *fault_name(enum fault_kind kind);

#endif
