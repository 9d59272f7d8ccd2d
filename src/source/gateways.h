/* SPDX-License-Identifier: Apache-2.0
 *
 * gateways.h - a block by its content address, from whichever IPFS gateway has it.
 *
 * Every gateway is a provider: scored, limited, left alone for a while after failures. The best one
 * is asked first; when it is slower than usual the next one is asked as well, and when it fails, at
 * once. The first answer whose bytes hash to the address wins; bytes that do not are never given
 * to anybody and cost the gateway its standing, and so does an answer too large to be taken for a
 * block that another one gives, or its silence, once it has had its time. That a gateway does not
 * have a block says nothing about the gateway.
 *
 * A call ends exactly once, unless it is cancelled: with the block, or with what each gateway said.
 * It waits for gateways that are busy or recovering, but not beyond its time, and not for long
 * when all others have refused.
 *
 * Owner: a source.  Thread: the ingest loop.  Calls lie in their owners' memory. */
#ifndef SOURCE_GATEWAYS_H
#define SOURCE_GATEWAYS_H

#include "decode/cid.h"
#include "ingest/failover.h"
#include "sys/runtime.h"

#define GATEWAYS_MAX         FAILOVER_PROVIDERS_MAX
#define GATEWAYS_CALL_US_MAX INT64_C(60000000)

struct gateways_settings {
    const char *const *roots; /* "https://host", without the /ipfs/ */
    size_t root_count;
    uint32_t flights_max; /* at one gateway at a time */
};

struct gateways;

/* What one gateway said that was not the block. */
struct gateway_failure {
    const char *provider;
    enum retry_class class;
    char reason[PROVIDER_REASON_MAX];
};

struct gateway_outcome {
    enum rc rc;                             /* RC_OK: here it is. RC_RETRY: see the failures */
    struct bytes block;                     /* borrowed for the call */
    const struct gateway_failure *failures; /* in the order they came */
    size_t failure_count;                   /* 0: no gateway could be asked in time */
    bool too_large;                         /* one of them had more bytes than were asked for */
    int64_t rest_us; /* for so long each of them wants to be left alone; -1: not all do */
};

typedef void gateway_fn(void *arg, const struct gateway_outcome *outcome);

struct gateway_try {
    struct gateway_call *call;
    int provider;
    struct http_call *exchange; /* NULL: over, or never begun */
    struct provider_ticket ticket;
    int64_t asked_us;
};

struct gateway_call {
    struct gateways *gateways;
    struct gateway_call *next, *previous;
    struct cid cid;
    size_t bytes_max;
    uint32_t spared;  /* a bit per gateway that need not be asked */
    uint32_t tried;   /* a bit per gateway that was asked, or must not be */
    uint32_t doubted; /* a bit per gateway whose answer was refused unread; its ticket is kept */
    unsigned running;
    int64_t began_us;
    struct timer turn;
    struct gateway_try tries[GATEWAYS_MAX];
    struct gateway_failure failures[GATEWAYS_MAX];
    size_t failure_count;
    gateway_fn *fn;
    void *arg;
};

/* RC_REJECT: too many gateways, or two of one name. */
must_check enum rc gateways_new(struct runtime *runtime, const struct gateways_settings *settings,
                                struct gateways **out, struct err *err);
/* Every call ended or was cancelled. */
void gateways_free(struct gateways *gateways);
/* So many exchanges at one gateway from now on; those under way beyond it are waited for. */
void gateways_tune(struct gateways *gateways, uint32_t flights_max);
/* Their standing, for people; the names are valid as long as the gateways are. */
const struct failover *gateways_group(const struct gateways *gateways);

/* Asks for a block of at most `bytes_max` bytes. `without` has a bit for each gateway that need not
 * be asked while there are others. */
void gateways_get(struct gateways *gateways, struct gateway_call *call, const struct cid *cid,
                  size_t bytes_max, uint32_t without, gateway_fn *fn, void *arg);
void gateways_cancel(struct gateway_call *call);

#endif
