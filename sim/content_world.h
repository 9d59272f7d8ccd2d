/* SPDX-License-Identifier: Apache-2.0
 *
 * content_world.h - a chain that names documents, the nodes that show it and the gateways that have
 * the documents, each host on a port of its own.
 *
 * Every host shows the same world, in its own manner: late, failing, lagging, lying, dead. Chances
 * are drawn from the seed and the number of the host's request. How often a host did what is
 * counted, so that a test can see that its misfortunes happened.
 *
 * Owner: the simulation.  Thread: loop. */
#ifndef SIM_CONTENT_WORLD_H
#define SIM_CONTENT_WORLD_H

#include "base/json.h"
#include "sim/doc_chain.h"
#include "sim/doc_stock.h"
#include "sim/http_server.h"
#include "sim/seeded.h"

#define CONTENT_HOSTS_MAX 8
#define CONTENT_CONTRACT  "b01683b2f0d38d43fcd4d9aab980166988924132"

struct content_options {
    struct doc_chain_options chain;
    struct doc_stock_options stock;
    uint32_t nodes, gateways;
};

struct host_manner {
    uint32_t fail; /* percent of requests answered with `status`; 0: the connection ends */
    uint32_t status;
    uint32_t lack;           /* percent: it says that it has nothing: no logs, no block, 404 */
    uint32_t lie;            /* percent: other bytes than those asked for */
    uint32_t lag;            /* newest blocks that it has not seen */
    uint32_t range_max;      /* blocks of one question; 0: any number */
    uint32_t ms_min, ms_max; /* how late answers come */
    uint32_t stir;           /* percent: the chain moves before the answer */
    uint32_t depth;          /* how deep it may change then */
    uint32_t hang_up;        /* percent: it hangs up in place of telling a head */
    uint64_t dies_after;     /* requests from now on; UINT64_MAX: it lives */
};

struct host_counts {
    uint64_t requests, failed, lacked, lied, refused, stirred, dropped;
    uint64_t late_ms;          /* of all answers together */
    uint64_t heads, listening; /* told over websockets; to whom now */
};

struct content_world;
struct listener;

struct host {
    struct content_world *world;
    struct http_server *server;
    struct http_route routes[3];
    struct host_manner manner;
    struct host_counts counts;
    uint64_t salt;
};

struct content_world {
    struct content_options options;
    struct doc_stock stock;
    struct doc_chain chain;
    struct host nodes[CONTENT_HOSTS_MAX], gateways[CONTENT_HOSTS_MAX];
    struct listener *listeners; /* to heads */
    struct json_doc *doc;
};

struct content_options content_options_default(void);
must_check enum rc content_world_start(struct content_world *world, uv_loop_t *loop,
                                       const struct content_options *options, struct err *err);
void content_world_stop(struct content_world *world);
void content_world_deinit(struct content_world *world);

/* The good-natured one. */
struct host_manner host_manner_default(void);
/* Chances of this request. */
struct draw host_draw(const struct host *host);
/* Counts a request and does what befalls all of them; true: it was answered. */
bool host_admit(struct host *host, struct http_exchange *exchange, struct draw *draw);
/* The answer, as late as this host is. */
void host_reply(struct host *host, struct http_exchange *exchange, struct draw *draw, int status,
                const char *type, struct bytes body);

/* POST /: JSON-RPC. */
http_handler_fn evm_node_answer;
/* The newest block that the node has seen. */
void evm_node_print_head(struct host *host, struct text *out);
/* GET /: a websocket, for `newHeads`. */
http_handler_fn evm_heads_open;
/* The chain has changed: whoever listens hears of its newest block. */
void evm_heads_tell(struct content_world *world);
/* GET /ipfs/CID?format=raw */
http_handler_fn ipfs_gateway_answer;

/* /_sim/content/… */
http_handler_fn control_content_hosts, control_content_manner, control_content_act,
    control_content_truth;

#endif
