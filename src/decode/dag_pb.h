/* SPDX-License-Identifier: Apache-2.0
 *
 * dag_pb.h - a block that links to other blocks: a run of links and some bytes of its own.
 *
 * A block is judged whole when it is opened: every link in it can be read, the bytes stand there
 * at most once, and nothing else does. The order of the two is not: encoders of two ages differ.
 * Borrows the block. Pure; any thread. */
#ifndef DECODE_DAG_PB_H
#define DECODE_DAG_PB_H

#include "decode/cid.h"

struct dag_pb {
    struct bytes block;
    struct bytes data; /* absent: the block has none */
    size_t link_count;
};

struct dag_pb_link {
    struct cid cid;
    struct bytes name; /* absent: it has none */
};

must_check enum rc dag_pb_open(struct bytes block, struct dag_pb *node, struct err *err);
/* Walks the links: `*rest` begins as the node's block. False: there are no more. */
must_check bool dag_pb_next_link(struct bytes *rest, struct dag_pb_link *link);

#endif
