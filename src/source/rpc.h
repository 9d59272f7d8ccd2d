/* SPDX-License-Identifier: Apache-2.0
 *
 * rpc.h - questions to the nodes of a chain, in JSON-RPC, one at a time.
 *
 * Nodes are providers: the stream of questions stays with one until it fails, and is answered by
 * another then. A question is asked until a node answers it, however long that takes; what a node
 * refuses in words (too many rows, bad parameters, no credit left) is an answer, too, and whoever
 * asked says what it is worth. An answer can be disbelieved: its node has failed and the same
 * question goes to the next one; or its node can be reproached with it, and what is asked next goes
 * elsewhere. For a second opinion a certain node is asked, once.
 *
 * Owner: a source.  Thread: the ingest loop. */
#ifndef SOURCE_RPC_H
#define SOURCE_RPC_H

#include "base/json.h"
#include "ingest/failover.h"
#include "sys/runtime.h"

struct rpc;

/* RC_OK: `result` is what the node says, borrowed. RC_REJECT: it refuses, or it says more than is
 * read, see `err`. RC_RETRY, for a second opinion or what is asked once: it does not answer. */
typedef void rpc_fn(void *arg, enum rc rc, struct json result, const struct err *err);

/* RC_REJECT: too many nodes, or two of one name. */
must_check enum rc rpc_new(struct runtime *runtime, const char *const *urls, size_t url_count,
                           struct rpc **out, struct err *err);
void rpc_free(struct rpc *rpc);
/* Asks; `params` is a JSON array. Nothing else is under way. */
void rpc_ask(struct rpc *rpc, const char *method, const char *params, rpc_fn *fn, void *arg);
/* The same for a question that can be asked in another way: of a node that does not answer it is
 * told, in place of asking the next one; the node has failed. One that wants it later is asked
 * again. */
void rpc_ask_once(struct rpc *rpc, const char *method, const char *params, rpc_fn *fn, void *arg);
/* Asks a node, once, that is none of `without`, which has a bit for each number of a node; the
 * stream of questions stays where it is. False: none of the others can be asked now. */
must_check bool rpc_ask_other(struct rpc *rpc, uint32_t without, const char *method,
                              const char *params, rpc_fn *fn, void *arg);
/* The number of the node whose answer is told, or was told last. */
int rpc_told_by(const struct rpc *rpc);
/* What the node said before has turned out to be wrong: it counts as a failure. */
void rpc_blame(struct rpc *rpc, int node, const char *why);
/* From inside the function of rpc_ask(): the answer is not believed; the question is asked again,
 * elsewhere if there is an elsewhere. */
void rpc_disbelieve(struct rpc *rpc, const char *why);
/* From inside the function of rpc_ask(), before anything else is asked: the answer counts as a
 * failure of its node. The question is not asked again. */
void rpc_reproach(struct rpc *rpc, const char *why);
/* Ends what is under way without a word. */
void rpc_stop(struct rpc *rpc);
/* What is wrong with who answers; "" when nothing is. */
const char *rpc_trouble(const struct rpc *rpc);
/* The nodes' standing, for people; the number of the one in use, or PROVIDER_NONE. */
const struct failover *rpc_group(const struct rpc *rpc, int *current);

#endif
