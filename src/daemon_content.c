/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_content.h"

#include "daemon_document_fill.h"
#include "daemon_document_rows.h"
#include "daemon_errand.h"
#include "daemon_providers.h"
#include "daemon_view.h"
#include "ingest/owed.h"
#include "source/block_feed.h"
#include "source/chain_heads.h"
#include "source/evm_chain.h"
#include "source/source_view.h"
#include "sys/clock.h"
#include "sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 2
#define SPAN    4096
/* So many times the depth stays known, so that a deeper one can be configured when it is needed. */
#define KEEP_DEPTHS 4
/* Exchanges that are enough for everybody else. */
#define CALLS_USUAL 64

/* Whose providers they are, for people. */
#define WARN_AGAIN_US INT64_C(600000000)

/* What was said of a node that failed. */
struct node_warning {
    uint64_t failures;
    int64_t failed_us;
    char reason[PROVIDER_REASON_MAX];
};

struct content_part {
    struct part part;
    const struct part_env *env;
    struct batch_pool *pool; /* of its own: documents are large */
    struct source_env source;
    struct gateways *gateways;
    struct content *content;
    struct document_rows *rows; /* NULL: no collection takes documents */
    struct document_fill *fill; /* NULL as well then */
    /* Who reads blocks: the one or the other. */
    struct rpc *rpc;
    struct evm_chain *chain;
    struct chain_heads *heads; /* NULL: no node tells them */
    struct block_feed *feed;
    uint32_t concurrency;     /* as it was told last */
    struct name_board *board; /* documents that are wanted and have no row yet */
    bool stuck, stopping;
    int64_t troubled_since_us; /* monotonic; 0: whoever reads blocks has no trouble */
    int64_t troubled_us;       /* for so long, when it was looked at */
    struct node_warning warnings[FAILOVER_PROVIDERS_MAX]; /* by number of node */
    struct daemon_providers nodes_known, gateways_known;
    struct errand errand;
    char item[OWED_ITEM_MAX + 1], unit[OWED_UNIT_MAX + 1]; /* the errand's */
    struct errand reconciling;
    bool dry; /* that errand's */
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

/* ---- what lacks ---- */

static void filled(void *arg, enum rc rc, uint64_t rows)
{
    struct content_part *part = arg;
    part->reconciling.answer.number = (int64_t)rows;
    if (rc != RC_OK)
        err_set(&part->reconciling.why, rc, "the reading of the chain stops: ask again");
    errand_finish(&part->reconciling, rc);
}

static void reconciled(void *arg, enum rc rc, const struct content_reconciled *what)
{
    struct content_part *part = arg;
    struct errand_answer *answer = &part->reconciling.answer;
    snprintf(answer->words, sizeof answer->words,
             "\"references\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"owed\":%" PRIu64
             ",\"dead\":%" PRIu64 ",\"queued\":%" PRIu64 ",\"more\":%s",
             what->references, what->missing, what->owed, what->dead, what->queued,
             what->more ? "true" : "false");
    if (rc == RC_OK && part->fill != NULL)
        document_fill_again(part->fill, part->dry, filled, part);
    else
        filled(part, rc, 0);
}

static void begin_reconcile(void *arg)
{
    struct content_part *part = arg;
    if (part->content == NULL || part->stopping)
        filled(part, RC_RETRY, 0);
    else
        content_reconcile(part->content, part->dry, reconciled, part);
}

enum rc content_part_reconcile(struct part *of, bool dry, int64_t wait_us, struct text *members,
                               struct err *err)
{
    struct content_part *part = (struct content_part *)of;
    struct errand_answer answer;
    enum rc rc = errand_take(&part->reconciling, err);
    if (rc != RC_OK)
        return rc;
    part->dry = dry;
    rc = errand_run(&part->reconciling, wait_us, &answer, err);
    if (rc == RC_OK)
        text_appendf(members, "%s,\"rows\":%" PRId64, answer.words, answer.number);
    return rc;
}

bool content_part_awaits(void *arg, struct bytes name)
{
    return name_board_has(((struct content_part *)arg)->board, name);
}

void content_part_abandon(struct part *of)
{
    errand_abandon(&((struct content_part *)of)->errand);
    errand_abandon(&((struct content_part *)of)->reconciling);
}

/* ---- its life ---- */

static void close_all(struct content_part *part)
{
    chain_heads_free(part->heads);
    evm_chain_free(part->chain);
    block_feed_free(part->feed);
    content_free(part->content);
    rpc_free(part->rpc);
    gateways_free(part->gateways);
    document_fill_free(part->fill);
    document_rows_free(part->rows);
    part->fill = NULL;
    part->rows = NULL;
    part->heads = NULL;
    part->chain = NULL;
    part->feed = NULL;
    part->content = NULL;
    part->rpc = NULL;
    part->gateways = NULL;
    part->stuck = part->stopping = false;
}

static enum rc open_gateways(struct content_part *part, struct err *err)
{
    const struct config *config = part->env->config;
    struct gateways_settings gateways = {config->content.gateways.items,
                                         config->content.gateways.count, part->concurrency};
    if (gateways.root_count == 0)
        return err_set(err, RC_REJECT, "content.gateways: name at least one gateway");
    return gateways_new(part->env->runtime, &gateways, &part->gateways, err);
}

static void hear_head(void *arg, uint64_t number)
{
    evm_chain_wake(((struct content_part *)arg)->chain, number);
}

static enum rc open_chain(struct content_part *part, struct err *err)
{
    const struct config *config = part->env->config;
    struct evm_chain_settings chain = {
        .start_block = (uint64_t)config->content.start_block,
        .confirmations = (uint64_t)config->content.confirmations,
        .reorg_depth = (uint32_t)config->content.reorg_depth,
    };
    enum rc rc = evm_event_parse(bytes_of(config->content.event),
                                 bytes_of(config->content.contract), &chain.event, err);
    if (rc == RC_OK)
        rc = rpc_new(part->env->runtime, config->content.rpc.items, config->content.rpc.count,
                     &part->rpc, err);
    if (rc != RC_OK)
        return rc;
    part->chain = evm_chain_new(&part->source, part->rpc, &chain);
    struct chain_heads_settings heads = {config->content.heads.items, config->content.heads.count,
                                         hear_head, part};
    if (heads.url_count > 0)
        part->heads = chain_heads_new(part->env->runtime, &heads);
    return RC_OK;
}

static enum rc open_feed(struct content_part *part, struct err *err)
{
    const struct config *config = part->env->config;
    struct bytes feed = bytes_of(config->content.feed);
    struct block_feed_settings settings = {.start_block = (uint64_t)config->content.start_block};
    bool server = bytes_starts_with(feed, "http://") || bytes_starts_with(feed, "https://");
    if (server)
        settings.url = config->content.feed;
    else if (byte_stream_open(config->content.feed, &settings.stream, err) != RC_OK)
        return err_wrap(err, RC_REJECT, "content.feed");
    part->feed = block_feed_new(&part->source, &settings);
    return RC_OK;
}

static void join_reader(struct content_part *part)
{
    const struct config *config = part->env->config;
    struct content_settings settings = {
        .stream = CONTENT_SOURCE,
        .concurrency = part->concurrency,
        .span = SPAN,
        .keep = KEEP_DEPTHS * (uint32_t)config->content.reorg_depth,
        .board = part->board,
    };
    if (config->content.collection[0] != '\0') {
        part->rows = document_rows_new(part->env->collections, config->content.collection);
        part->fill = document_fill_new(&part->env->source, part->rows, config->content.collection);
        settings.add_row = document_rows_add;
        settings.row_arg = part->rows;
    }
    if (part->feed != NULL) {
        part->content =
            content_new(&part->source, part->gateways, &settings, &block_feed_events, part->feed);
        block_feed_feed(part->feed, part->content);
    } else {
        part->content =
            content_new(&part->source, part->gateways, &settings, &evm_chain_events, part->chain);
        evm_chain_feed(part->chain, part->content);
    }
}

static enum rc open_all(struct part *of, struct err *err)
{
    struct content_part *part = (struct content_part *)of;
    struct runtime *runtime = part->env->runtime;
    if (part->pool == NULL) {
        part->pool = batch_pool_new(BATCHES, CONTENT_BATCH_BYTES);
        part->board = name_board_new(CONTENT_NEEDS_MAX, runtime->ops->random(runtime));
    }
    part->source = part->env->source;
    part->source.pool = part->pool;
    enum rc rc = open_gateways(part, err);
    if (rc == RC_OK && part->env->config->content.feed[0] != '\0')
        rc = open_feed(part, err);
    else if (rc == RC_OK)
        rc = open_chain(part, err);
    if (rc == RC_OK)
        join_reader(part);
    return rc;
}

static void start(struct part *of)
{
    struct content_part *part = (struct content_part *)of;
    content_start(part->content);
    if (part->fill != NULL)
        document_fill_start(part->fill);
    if (part->heads != NULL)
        chain_heads_start(part->heads);
}

static void reload(struct part *of, const struct config *fresh)
{
    struct content_part *part = (struct content_part *)of;
    part->concurrency = (uint32_t)fresh->content.concurrency;
    if (part->content == NULL || part->stopping)
        return;
    gateways_tune(part->gateways, part->concurrency);
    content_tune(part->content, part->concurrency);
}

static void keep_providers(struct content_part *part, struct daemon_providers *known,
                           const char *name, const struct failover *group, int current)
{
    struct source_view shown = {0};
    source_show_providers(group, current, clock_mono_us(), &shown);
    daemon_providers_look(known, name, &shown, clock_wall_us(), &part->env->source);
}

static void look_at_reader(const struct content_part *part, struct evm_chain_view *out)
{
    struct block_feed_view feed;
    if (part->chain != NULL) {
        evm_chain_look(part->chain, out);
        return;
    }
    block_feed_look(part->feed, &feed);
    *out = (struct evm_chain_view){.head = feed.last, .given = feed.last, .stuck = feed.stuck};
    snprintf(out->trouble, sizeof out->trouble, "%s", feed.trouble);
}

/* A node that fails is said once, in its own words; again if they change, or after a while. */
static void warn_of_node(const struct provider *node, struct node_warning *said)
{
    if (node->failures == said->failures)
        return;
    bool news = strcmp(node->last_error, said->reason) != 0 || node->failures < said->failures ||
                node->failed_us - said->failed_us > WARN_AGAIN_US;
    said->failures = node->failures;
    if (!news || node->failures == 0)
        return;
    said->failed_us = node->failed_us;
    snprintf(said->reason, sizeof said->reason, "%s", node->last_error);
    log_event(LOG_WARN, CONTENT_SOURCE, "node_failed",
              (struct log_field[]){log_string("provider", node->name),
                                   log_string("reason", node->last_error), LOG_END});
}

static void look_at_nodes(struct content_part *part)
{
    int current;
    const struct failover *nodes = rpc_group(part->rpc, &current);
    for (int i = 0; i < nodes->count; i++)
        warn_of_node(&nodes->providers[i], &part->warnings[i]);
    keep_providers(part, &part->nodes_known, CONTENT_NODES, nodes, current);
}

/* A chain that cannot be followed any further is said once, and how to go on. */
static void look(struct part *of, int64_t now_us, const struct daemon_view *view)
{
    struct content_part *part = (struct content_part *)of;
    struct evm_chain_view chain;
    (void)view;
    look_at_reader(part, &chain);
    if (part->chain == NULL || chain.trouble[0] == '\0')
        part->troubled_since_us = 0;
    else if (part->troubled_since_us == 0)
        part->troubled_since_us = now_us;
    part->troubled_us = part->troubled_since_us == 0 ? 0 : now_us - part->troubled_since_us;
    if (chain.stuck && !part->stuck)
        log_event(LOG_ERROR, CONTENT_SOURCE, "stopped",
                  (struct log_field[]){log_string("reason", chain.trouble), LOG_END});
    if (!chain.stuck && part->stuck)
        log_event(LOG_INFO, CONTENT_SOURCE, "goes_on", NULL);
    part->stuck = chain.stuck;
    if (part->stopping)
        return;
    if (part->rpc != NULL)
        look_at_nodes(part);
    keep_providers(part, &part->gateways_known, CONTENT_GATEWAYS, gateways_group(part->gateways),
                   PROVIDER_NONE);
}

static size_t show_group(const struct failover *group, int current, struct source_provider *shown)
{
    int64_t now_us = clock_mono_us();
    for (int i = 0; i < group->count; i++) {
        source_show_provider(group, i, now_us, &shown[i]);
        shown[i].current = i == current;
    }
    return (size_t)group->count;
}

static void show_providers(const struct content_part *part, struct documents_view *view)
{
    int current;
    if (part->rpc != NULL) {
        const struct failover *nodes = rpc_group(part->rpc, &current);
        view->node_count = show_group(nodes, current, view->nodes);
    }
    view->gateway_count = show_group(gateways_group(part->gateways), PROVIDER_NONE, view->gateways);
}

static void show(struct part *of, struct daemon_view *view)
{
    struct content_part *part = (struct content_part *)of;
    view->documents.on = true;
    look_at_reader(part, &view->documents.chain);
    view->documents.troubled_us = part->troubled_us;
    if (part->heads != NULL)
        chain_heads_look(part->heads, &view->documents.heads);
    content_look(part->content, &view->documents.content);
    show_providers(part, &view->documents);
}

static void stop(struct part *of)
{
    struct content_part *part = (struct content_part *)of;
    part->stopping = true;
    if (part->content == NULL)
        return;
    if (part->heads != NULL)
        chain_heads_stop(part->heads);
    if (part->chain != NULL)
        evm_chain_stop(part->chain);
    else
        block_feed_stop(part->feed);
    if (part->fill != NULL)
        document_fill_stop(part->fill);
    content_stop(part->content);
}

static bool stopped(const struct part *of)
{
    const struct content_part *part = (const struct content_part *)of;
    if (part->content == NULL)
        return true;
    bool heads = part->heads == NULL || chain_heads_stopped(part->heads);
    bool chain = part->chain == NULL || evm_chain_stopped(part->chain);
    bool fill = part->fill == NULL || document_fill_stopped(part->fill);
    return heads && chain && fill && content_stopped(part->content);
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
    name_board_free(part->board);
    errand_deinit(&part->errand);
    errand_deinit(&part->reconciling);
    free(part);
}

static const struct part_ops content_ops = {
    .open = open_all,
    .start = start,
    .look = look,
    .reload = reload,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
    .source = CONTENT_SOURCE,
    .restart = restart,
};

static bool is_configured(const struct config *config)
{
    return config->content.contract[0] != '\0' || config->content.feed[0] != '\0';
}

/* For as many as a reload may allow. */
void content_part_widen(const struct config *config, struct network_options *network)
{
    if (!is_configured(config))
        return;
    network->http_host_calls_max = CONTENT_CONCURRENCY_MAX;
    network->http_calls_max =
        CALLS_USUAL + CONTENT_CONCURRENCY_MAX * config->content.gateways.count;
}

struct part *content_part_new(const struct part_env *env)
{
    if (!is_configured(env->config))
        return NULL;
    struct content_part *part = memory_new_zeroed(1, sizeof *part);
    part->part.ops = &content_ops;
    part->env = env;
    part->concurrency = (uint32_t)env->config->content.concurrency;
    errand_init(&part->errand, env->loop, "retry", begin_retry, part);
    errand_init(&part->reconciling, env->loop, "reconcile", begin_reconcile, part);
    return &part->part;
}
