/* SPDX-License-Identifier: Apache-2.0
 *
 * post_record.h - a post or a repost, from its JSON to the records that stand for it.
 *
 * One way for all of them, wherever they were read: a POST with the post that it reposts or quotes,
 * and a LINK for each address that it carries itself, under the same name and rev. A repost carries
 * none; it shares its subject's.
 *
 * All or nothing: what does not fit into the batch leaves the batch as it was.
 *
 * Pure, never allocates; any thread. */
#ifndef DECODE_POST_RECORD_H
#define DECODE_POST_RECORD_H

#include "base/json.h"
#include "record_batch.h"

/* Everything is borrowed for the call. */
struct post_input {
    struct bytes did, collection, rkey;
    struct bytes rev;     /* absent: read from a feed, which does not tell */
    struct bytes cid;     /* absent: not said */
    int op, kind;         /* POST_OP_*, POST_KIND_* */
    bool fresh;           /* it comes into being with this */
    bool unseen;          /* in a delete: a feed did not show it, nobody said that it was deleted */
    int64_t shared_us;    /* the upstream's witness time ... */
    int64_t now_us;       /* ... which is stored as this when it lies after it */
    int64_t asof_seq;     /* without a rev, and of what is unseen: commits known when the reading
                           * began */
    struct json body;     /* what the account wrote; nobody looks at it in a delete */
    struct bytes subject; /* of a repost whose body is not at hand: what it reposts */
};

struct post_output {
    unsigned records;  /* added to the batch */
    unsigned left_out; /* addresses that are no LINK: too many of them, or none that can be read */
};

/* RC_AGAIN: the batch is full. */
must_check enum rc post_record_add(const struct post_input *post, struct batch *batch,
                                   struct post_output *out);

#endif
