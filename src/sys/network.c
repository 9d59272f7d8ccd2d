/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/network.h"

#include "sys/http_client.h"
#include "sys/ws_client.h"

#include <assert.h>
#include <stdlib.h>

struct network {
    struct loop *loop;
    struct http_client *http;
    struct ws_client *ws;
};

static struct network *network_of(struct runtime *runtime)
{
    struct network *network = loop_network(loop_of(runtime));
    assert(network != NULL);
    return network;
}

static struct http_call *http_send(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    return http_client_send(network_of(runtime)->http, request, done, arg);
}

static void http_cancel(struct runtime *runtime, struct http_call *call)
{
    http_client_cancel(network_of(runtime)->http, call);
}

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    return ws_client_open(network_of(runtime)->ws, request, events, arg);
}

static const struct runtime_ops network_ops = {
    .http_send = http_send,
    .http_cancel = http_cancel,
    .ws_open = ws_open,
    .ws_send_text = ws_client_send_text,
    .ws_hold = ws_client_hold,
    .ws_close = ws_client_close,
};

struct network *network_new(struct loop *loop, const struct network_options *options)
{
    struct network *network = memory_new_zeroed(1, sizeof *network);
    network->loop = loop;
    network->http = http_client_new(loop, &(struct http_client_options){
                                              .ca_file = options->ca_file,
                                              .allow_private = options->allow_private,
                                              .any_port = options->allow_private,
                                              .host_calls_max = options->http_host_calls_max,
                                              .calls_max = options->http_calls_max,
                                              .queue_max = options->http_queue_max,
                                          });
    network->ws = ws_client_new(loop, options->ca_file);
    loop_attach(loop, network, &network_ops);
    return network;
}

void network_free(struct network *network)
{
    loop_attach(network->loop, NULL, NULL);
    http_client_free(network->http);
    ws_client_free(network->ws);
    free(network);
}
