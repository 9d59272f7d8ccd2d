/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_content.h"

#include "daemon_errand.h"
#include "daemon_providers.h"
#include "daemon_view.h"
#include "ingest/owed.h"
#include "source/evm_chain.h"
#include "source/source_view.h"
#include "sys/clock.h"
#include "sys/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 2
#define SPAN    4096
/* So many times the depth stays known, so that a deeper one can be configured when it is needed. */
#define KEEP_DEPTHS 4
/* Exchanges of one host, and of all, that are enough for everybody else. */
#define HOST_CALLS_USUAL 8
#define CALLS_USUAL      64

/* Whose providers they are, for people. */
#define NODES_NAME    "content.rpc"
#define GATEWAYS_NAME "content.gateways"

struct content_part {
    struct part part;
    const struct part_env *env;
    struct batch_pool *pool; /* of its own: documents are large */
    struct source_env source;
    struct gateways *gateways;
    struct rpc *rpc;
    struct evm_chain *chain;
    struct content *content;
    bool stuck, stopping;
    struct daemon_providers nodes_known, gateways_known;
    struct errand errand;
    char item[OWED_ITEM_MAX + 1], unit[OWED_UNIT_MAX + 1]; /* the errand's */
};

/* ---- what a person wants tried again ---- */

static void retried(void *arg, enum rc rc)
{
    struct content_part *part = arg;
    if (rc != RC_OK)
        err_set(&part->errand.why, rc,
                rc == RC_REJECT ? "it cannot be tried"
                                : "the reading of the chain stops: ask again");
    errand_finish(&part->errand, rc);
}

static void begin_retry(void *arg)
{
    struct content_part *part = arg;
    if (part->content == NULL)
        retried(part, RC_RETRY);
    else
        content_retry(part->content, part->item, part->unit, retried, part);
}

enum rc content_part_retry(struct part *of, const char *item, const char *unit, int64_t wait_us,
                           struct err *err)
{
    struct content_part *part = (struct content_part *)of;
    enum rc rc = errand_take(&part->errand, err);
    if (rc != RC_OK)
        return rc;
    snprintf(part->item, sizeof part->item, "%s", item);
    snprintf(part->unit, sizeof part->unit, "%s", unit);
    return errand_run(&part->errand, wait_us, NULL, err);
}

void content_part_abandon(struct part *of)
{
    errand_abandon(&((struct content_part *)of)->errand);
}

/* ---- its life ---- */

static void close_all(struct content_part *part)
{
    evm_chain_free(part->chain);
    content_free(part->content);
    rpc_free(part->rpc);
    gateways_free(part->gateways);
    part->chain = NULL;
    part->content = NULL;
    part->rpc = NULL;
    part->gateways = NULL;
    part->stuck = part->stopping = false;
}

static enum rc open_nodes(struct content_part *part, struct err *err)
{
    const struct config *config = part->env->config;
    struct gateways_settings gateways = {config->content.gateways.items,
                                         config->content.gateways.count,
                                         (uint32_t)config->content.concurrency};
    if (gateways.root_count == 0)
        return err_set(err, RC_REJECT, "content.gateways: name at least one gateway");
    enum rc rc = gateways_new(part->env->runtime, &gateways, &part->gateways, err);
    if (rc == RC_OK)
        rc = rpc_new(part->env->runtime, config->content.rpc.items, config->content.rpc.count,
                     &part->rpc, err);
    return rc;
}

static enum rc open_all(struct part *of, struct err *err)
{
    struct content_part *part = (struct content_part *)of;
    const struct config *config = part->env->config;
    struct evm_chain_settings chain = {
        .start_block = (uint64_t)config->content.start_block,
        .confirmations = (uint64_t)config->content.confirmations,
        .reorg_depth = (uint32_t)config->content.reorg_depth,
    };
    struct content_settings content = {CONTENT_SOURCE, (uint32_t)config->content.concurrency, SPAN,
                                       KEEP_DEPTHS * chain.reorg_depth};
    if (part->pool == NULL)
        part->pool = batch_pool_new(BATCHES, CONTENT_BATCH_BYTES);
    part->source = part->env->source;
    part->source.pool = part->pool;
    enum rc rc = evm_event_parse(bytes_of(config->content.event),
                                 bytes_of(config->content.contract), &chain.event, err);
    if (rc == RC_OK)
        rc = open_nodes(part, err);
    if (rc != RC_OK)
        return rc;
    part->chain = evm_chain_new(&part->source, part->rpc, &chain);
    part->content =
        content_new(&part->source, part->gateways, &content, &evm_chain_events, part->chain);
    evm_chain_feed(part->chain, part->content);
    return RC_OK;
}

static void start(struct part *of)
{
    content_start(((struct content_part *)of)->content);
}

static void keep_providers(struct content_part *part, struct daemon_providers *known,
                           const char *name, const struct failover *group, int current)
{
    struct source_view shown = {0};
    source_show_providers(group, current, clock_mono_us(), &shown);
    daemon_providers_look(known, name, &shown, clock_wall_us(), &part->env->source);
}

/* A chain that cannot be followed any further is said once, and how to go on. */
static void look(struct part *of, int64_t now_us, const struct daemon_view *view)
{
    struct content_part *part = (struct content_part *)of;
    struct evm_chain_view chain;
    (void)now_us;
    (void)view;
    evm_chain_look(part->chain, &chain);
    if (chain.stuck && !part->stuck)
        log_event(LOG_ERROR, CONTENT_SOURCE, "stopped",
                  (struct log_field[]){log_string("reason", chain.trouble), LOG_END});
    part->stuck = chain.stuck;
    if (part->stopping)
        return;
    int current;
    const struct failover *nodes = rpc_group(part->rpc, &current);
    keep_providers(part, &part->nodes_known, NODES_NAME, nodes, current);
    keep_providers(part, &part->gateways_known, GATEWAYS_NAME, gateways_group(part->gateways),
                   PROVIDER_NONE);
}

static void show(struct part *of, struct daemon_view *view)
{
    struct content_part *part = (struct content_part *)of;
    view->documents.on = true;
    evm_chain_look(part->chain, &view->documents.chain);
    content_look(part->content, &view->documents.content);
}

static void stop(struct part *of)
{
    struct content_part *part = (struct content_part *)of;
    part->stopping = true;
    if (part->chain == NULL)
        return;
    evm_chain_stop(part->chain);
    content_stop(part->content);
}

static bool stopped(const struct part *of)
{
    const struct content_part *part = (const struct content_part *)of;
    return part->chain == NULL ||
           (evm_chain_stopped(part->chain) && content_stopped(part->content));
}

static enum rc restart(struct part *of, struct err *err)
{
    struct content_part *part = (struct content_part *)of;
    close_all(part);
    enum rc rc = open_all(of, err);
    if (rc == RC_OK)
        start(of);
    return rc;
}

static void free_all(struct part *of)
{
    struct content_part *part = (struct content_part *)of;
    close_all(part);
    if (part->pool != NULL)
        batch_pool_free(part->pool);
    errand_deinit(&part->errand);
    free(part);
}

static const struct part_ops content_ops = {
    .open = open_all,
    .start = start,
    .look = look,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
    .source = CONTENT_SOURCE,
    .restart = restart,
};

void content_part_widen(const struct config *config, struct network_options *network)
{
    size_t most = (size_t)config->content.concurrency;
    if (config->content.contract[0] == '\0')
        return;
    if (most > HOST_CALLS_USUAL)
        network->http_host_calls_max = most;
    network->http_calls_max = CALLS_USUAL + most * config->content.gateways.count;
}

struct part *content_part_new(const struct part_env *env)
{
    if (env->config->content.contract[0] == '\0')
        return NULL;
    struct content_part *part = memory_new_zeroed(1, sizeof *part);
    part->part.ops = &content_ops;
    part->env = env;
    errand_init(&part->errand, env->loop, "retry", begin_retry, part);
    return &part->part;
}
