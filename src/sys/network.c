/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/network.h"

#include "sys/ws_client.h"

#include <assert.h>
#include <stdlib.h>

struct network {
    struct loop *loop;
    struct ws_client *ws;
};

static struct network *network_of(struct runtime *runtime)
{
    struct network *network = loop_network(loop_of(runtime));
    assert(network != NULL);
    return network;
}

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    return ws_client_open(network_of(runtime)->ws, request, events, arg);
}

static const struct runtime_ops network_ops = {
    .ws_open = ws_open,
    .ws_send_text = ws_client_send_text,
    .ws_close = ws_client_close,
};

struct network *network_new(struct loop *loop, const struct network_options *options)
{
    struct network *network = memory_new_zeroed(1, sizeof *network);
    network->loop = loop;
    network->ws = ws_client_new(loop, options->ca_file);
    loop_attach(loop, network, &network_ops);
    return network;
}

void network_free(struct network *network)
{
    loop_attach(network->loop, NULL, NULL);
    ws_client_free(network->ws);
    free(network);
}
