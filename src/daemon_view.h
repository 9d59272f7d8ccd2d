/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_view.h - what the running program shows of itself.
 *
 * The ingest loop puts a fresh copy together a few times a second; the serving half reads the last
 * one. Neither waits for the other, nor for the store.
 *
 * Thread: put on the ingest loop, everything else anywhere. */
#ifndef DAEMON_VIEW_H
#define DAEMON_VIEW_H

#include "ingest/failover.h"
#include "query/status.h"
#include "serve/health.h"
#include "source/appview.h"
#include "source/backfill.h"
#include "source/chain_heads.h"
#include "source/circle.h"
#include "source/due.h"
#include "source/evm_chain.h"
#include "source/pictures.h"
#include "source/poller.h"
#include "source/source.h"
#include "store/writer.h"
#include "sys/metrics.h"

/* What lies in the store, as last counted; below 0: not known. */
struct stored_view {
    int64_t size; /* bytes */
    int64_t gaps_open, follows, backfill_queue, owed, dead, quarantined;
    int64_t urgent_since_us; /* wall time the oldest backfill for a gap or a new follow was asked
                              * for */
};

#define LEDGER_PROVIDERS_SHOWN_MAX (STATUS_LEDGER_MAX - 2 * FAILOVER_PROVIDERS_MAX)

/* Accounts whose histories are kept. */
struct ledger_view {
    /* configured ones; of these, those whose last import was complete, and whose failed */
    size_t accounts, complete, failing;
    unsigned running;
    uint64_t completed, failed; /* imports */
    int64_t oldest_success_us;  /* wall time; of the accounts, the one longest ago; 0: none */
    struct {
        char platform[64];
        struct source_provider provider;
    } providers[LEDGER_PROVIDERS_SHOWN_MAX]; /* of platforms that were asked for */
    size_t provider_count;
};

#define CONTENT_NODES    "content.rpc" /* the names of the two groups that are asked */
#define CONTENT_GATEWAYS "content.gateways"

/* The chain that is followed for its documents. */
struct documents_view {
    bool on;
    struct evm_chain_view chain;
    int64_t troubled_us; /* for so long whoever reads the blocks has had trouble; 0: none */
    struct chain_heads_view heads;
    struct content_view content;
    struct source_provider nodes[FAILOVER_PROVIDERS_MAX], gateways[FAILOVER_PROVIDERS_MAX];
    size_t node_count, gateway_count;
};

struct daemon_view {
    int64_t at_us, started_us; /* wall time */
    bool has_source;
    const char *source_name; /* a constant */
    struct source_view source;
    double rate;              /* its events per second; below 0: not known yet */
    double connected_percent; /* of the time since the start */
    int64_t down_us;          /* how long it has not been connected; 0: it is */
    uint64_t day_bytes;       /* that came in the last 24 hours */
    bool everybody;           /* all accounts' events are asked for: silence is suspicious */
    struct backfill_view backfill;
    struct poller_view poller;
    struct stored_view stored;
    struct due_counts cards, subjects;
    struct pictures_counts pictures;
    struct documents_view documents;
    struct appview_view appview;
    struct circle_view circle;
    struct ledger_view ledger;
    int64_t size_alert; /* bytes; 0: none */
    struct writer_state writer;
    unsigned queued;
};

void daemon_view_health(const struct daemon_view *view, int64_t now_us, struct health_view *out);
void daemon_view_status(const struct daemon_view *view, int64_t now_us, struct status_live *out);
/* How far the committed cursor is behind. A stream that brings nothing is not behind. */
int64_t daemon_view_lag_us(const struct daemon_view *view, int64_t now_us);
/* Brings the registry up to what the view says. */
void daemon_view_metrics(const struct daemon_view *view, int64_t now_us, struct metrics *metrics);

#endif
