/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_page.h - one page of an account's feed, as an AppView answers it, item by item.
 *
 * An item is one act of sharing: a post of the account, or its repost of somebody's post. A pinned
 * post stands in front of the feed as well as in its place, so the one in front says nothing of
 * where a reading stands. The page ends the feed when it names no further page.
 *
 * Pure: no I/O, no clock, no log. A malformed item is refused with the reason and leaves the page
 * and the batch as they were: the reader goes on with the next. */
#ifndef DECODE_FEED_PAGE_H
#define DECODE_FEED_PAGE_H

#include "base/json.h"
#include "decode/at_uri.h"
#include "record_batch.h"

#define FEED_TOKEN_MAX 1024

enum feed_item_kind { FEED_POST, FEED_REPOST, FEED_PIN };

/* Everything is borrowed from the parsed document. */
struct feed_item {
    enum feed_item_kind kind;
    struct bytes uri; /* of the act: the repost's own for a repost */
    struct at_uri name;
    struct bytes cid;
    int64_t seen_us; /* when the server saw it */
    int64_t sort_us; /* where it stands in the feed: the date its author gave, if that is earlier */
    struct json post; /* what is shared, as the AppView shows it */
};

/* What every record of one reading says. */
struct feed_reading {
    int64_t now_us;
    int64_t asof_seq; /* commits known when the reading began */
};

struct feed_page {
    struct json items;
    struct bytes token; /* of the next, older page; absent: this was the last */
};

/* RC_REJECT: it is no page of a feed. */
must_check enum rc feed_page_read(struct json root, struct feed_page *page, struct err *err);
/* RC_REJECT: not what an item of the feed of `did` can be. */
must_check enum rc feed_item_read(struct json item, struct bytes did, struct feed_item *out,
                                  struct err *err);
/* Adds the act with its links; with a repost or a quote also the post that is shared, where the
 * page shows it. A pin gives nothing. RC_AGAIN: the batch is full and as it was. */
must_check enum rc feed_item_add(const struct feed_item *item, const struct feed_reading *reading,
                                 struct batch *batch, unsigned *links);

#endif
