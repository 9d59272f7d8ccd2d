/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/content_world.h"

#include <assert.h>
#include <string.h>

#define QUESTION_MAX 65536

struct content_options content_options_default(void)
{
    return (struct content_options){
        .chain = {.seed = 1, .blocks = 60, .density = 1, .crowded = 3},
        .stock = {.seed = 1, .documents = 60, .hard_percent = 0, .large_percent = 20},
        .nodes = 2,
        .gateways = 2};
}

struct host_manner host_manner_default(void)
{
    return (struct host_manner){.status = 503, .dies_after = UINT64_MAX};
}

static enum rc open_hosts(struct content_world *world, uv_loop_t *loop, struct host *hosts,
                          uint32_t count, const struct http_route routes[2], uint64_t salt,
                          struct err *err)
{
    enum rc rc = RC_OK;
    assert(count <= CONTENT_HOSTS_MAX);
    for (uint32_t i = 0; i < count && rc == RC_OK; i++) {
        hosts[i] = (struct host){.world = world,
                                 .routes = {routes[0], routes[1]},
                                 .manner = host_manner_default(),
                                 .salt = salt + i};
        rc = http_server_start(&hosts[i].server, loop, 0, hosts[i].routes, &hosts[i], err);
    }
    return rc;
}

enum rc content_world_start(struct content_world *world, uv_loop_t *loop,
                            const struct content_options *options, struct err *err)
{
    static const struct http_route node[] = {{"POST", "/", evm_node_answer, 0},
                                             {"GET", "/", evm_heads_open, 0}};
    static const struct http_route gateway[2] = {{"GET", "/ipfs/*", ipfs_gateway_answer, 0}};
    *world = (struct content_world){.options = *options};
    world->options.chain.documents = options->stock.documents;
    doc_stock_init(&world->stock, &world->options.stock);
    doc_chain_init(&world->chain, &world->options.chain);
    world->doc = json_doc_new(QUESTION_MAX, JSON_DEPTH_MAX);
    enum rc rc = open_hosts(world, loop, world->nodes, options->nodes, node, 0, err);
    if (rc == RC_OK)
        rc = open_hosts(world, loop, world->gateways, options->gateways, gateway, CONTENT_HOSTS_MAX,
                        err);
    return rc;
}

void content_world_stop(struct content_world *world)
{
    for (uint32_t i = 0; i < world->options.nodes; i++)
        http_server_stop(world->nodes[i].server);
    for (uint32_t i = 0; i < world->options.gateways; i++)
        http_server_stop(world->gateways[i].server);
}

void content_world_deinit(struct content_world *world)
{
    for (uint32_t i = 0; i < world->options.nodes; i++)
        http_server_free(world->nodes[i].server);
    for (uint32_t i = 0; i < world->options.gateways; i++)
        http_server_free(world->gateways[i].server);
    doc_stock_deinit(&world->stock);
    doc_chain_deinit(&world->chain);
    json_doc_free(world->doc);
}

struct draw host_draw(const struct host *host)
{
    return draw_make(host->world->options.chain.seed, host->salt << 40 ^ host->counts.requests,
                     SALT_HOST);
}

static void stir(struct host *host, struct draw *draw)
{
    struct doc_chain *chain = &host->world->chain;
    host->counts.stirred++;
    if (host->manner.depth > 0 && draw_below(draw, 2) == 0)
        doc_chain_reorganise(chain, 1 + draw_below(draw, host->manner.depth));
    else
        doc_chain_mine(chain, 1 + draw_below(draw, 2), draw_below(draw, 4) == 0);
    evm_heads_tell(host->world);
}

bool host_admit(struct host *host, struct http_exchange *exchange, struct draw *draw)
{
    struct host_manner *manner = &host->manner;
    host->counts.requests++;
    if (manner->dies_after == 0) {
        host->counts.dropped++;
        http_drop(exchange);
        return true;
    }
    if (manner->dies_after != UINT64_MAX)
        manner->dies_after--;
    if (draw_below(draw, 100) < manner->stir)
        stir(host, draw);
    if (draw_below(draw, 100) >= manner->fail)
        return false;
    host->counts.failed++;
    if (manner->status == 0)
        http_drop(exchange);
    else
        host_reply(host, exchange, draw, (int)manner->status, "text/html",
                   bytes_of("<!doctype html><title>planned</title>"));
    return true;
}

void host_reply(struct host *host, struct http_exchange *exchange, struct draw *draw, int status,
                const char *type, struct bytes body)
{
    const struct host_manner *manner = &host->manner;
    uint32_t ms = manner->ms_min;
    if (manner->ms_max > manner->ms_min)
        ms += draw_below(draw, manner->ms_max - manner->ms_min + 1);
    host->counts.late_ms += ms;
    if (ms > 0)
        peer_stall(http_exchange_peer(exchange), ms);
    http_reply(exchange, status, type, NULL, body);
}
