/* SPDX-License-Identifier: Apache-2.0
 *
 * at_uri.h - the address of a record: at:// and an account, a collection, a key.
 *
 * Only whole addresses by DID are understood: those name one record for good, while a handle may
 * come to mean somebody else. Pure; any thread. */
#ifndef DECODE_AT_URI_H
#define DECODE_AT_URI_H

#include "base/bytes.h"
#include "base/rc.h"

#define AT_DID_MAX        2048
#define AT_COLLECTION_MAX 317
#define AT_RKEY_MAX       512

#define AT_POST   "app.bsky.feed.post"
#define AT_REPOST "app.bsky.feed.repost"

/* The parts are parts of the address. */
struct at_uri {
    struct bytes did, collection, rkey;
};

/* False: something is missing, empty, too long or too much. */
must_check bool at_uri_parse(struct bytes uri, struct at_uri *out);

#endif
