/* SPDX-License-Identifier: Apache-2.0
 *
 * One process's reading of the chain, joined as the daemon joins it. */
#include "sim_world.h"

#include "source/content.h"
#include "source/gateways.h"
#include "source/rpc.h"

#include <stdlib.h>

#define KEEP_DEPTHS 4

static void open_chain(struct sim_content_life *part)
{
    static const char *const nodes[SIM_NODES] = {"https://node-a.example/",
                                                 "https://node-b.example/"};
    struct sim_world *world = part->life->world;
    struct err err;
    struct evm_chain_settings settings = {.start_block = SIM_START,
                                          .confirmations = world->content->confirmations,
                                          .reorg_depth = world->content->reorg_depth};
    if (evm_event_parse(bytes_of("any"), bytes_of(SIM_CONTRACT), &settings.event, &err) != RC_OK ||
        rpc_new(&part->life->runtime, nodes, SIM_NODES, &part->rpc, &err) != RC_OK)
        sim_fail(world, "no chain: %s", err.text);
    part->chain = evm_chain_new(&part->env, part->rpc, &settings);
}

struct sim_content_life *sim_content_life_new(struct sim_life *life)
{
    static const char *const roots[SIM_GATEWAYS] = {"https://gate-a.example",
                                                    "https://gate-b.example"};
    struct sim_content_life *part = memory_new_zeroed(1, sizeof *part);
    struct sim_swarm *swarm = &life->world->swarm;
    struct err err;
    uint32_t concurrency = (uint32_t)sim_between(swarm, 1, 8);
    struct gateways_settings gateways = {roots, SIM_GATEWAYS, concurrency};
    struct content_settings settings = {.stream = CONTENT_SOURCE,
                                        .concurrency = concurrency,
                                        .span = (uint32_t)1 << sim_between(swarm, 2, 6),
                                        .keep = KEEP_DEPTHS * life->world->content->reorg_depth,
                                        .needs_max = (uint32_t)sim_between(swarm, SIM_REFS_MAX, 64),
                                        .owed_max = (uint32_t)sim_between(swarm, 8, 32)};
    part->life = life;
    part->pool =
        batch_pool_new((unsigned)sim_between(swarm, 1, 2), (size_t)sim_between(swarm, 8, 48) << 10);
    part->env = life->env;
    part->env.pool = part->pool;
    if (gateways_new(&life->runtime, &gateways, &part->gateways, &err) != RC_OK)
        sim_fail(life->world, "no gateways: %s", err.text);
    open_chain(part);
    part->content =
        content_new(&part->env, part->gateways, &settings, &evm_chain_events, part->chain);
    evm_chain_feed(part->chain, part->content);
    return part;
}

void sim_content_life_start(struct sim_content_life *part)
{
    content_start(part->content);
}

void sim_content_life_stop(struct sim_content_life *part)
{
    if (part->stopping)
        return;
    part->stopping = true;
    evm_chain_stop(part->chain);
    content_stop(part->content);
}

bool sim_content_life_stopped(const struct sim_content_life *part)
{
    return evm_chain_stopped(part->chain) && content_stopped(part->content);
}

void sim_content_life_free(struct sim_content_life *part)
{
    evm_chain_free(part->chain);
    content_free(part->content);
    rpc_free(part->rpc);
    gateways_free(part->gateways);
    batch_pool_free(part->pool);
    free(part);
}
