# SPDX-License-Identifier: Apache-2.0
"""What of the truth a feed tells."""

import json
import time

from truth_compare import to_us, truth

DAY_US = 86400 * 1000000
REPOST = "app.bsky.feed.repost"


def told_by_feeds(posts):
    """What a feed tells of posts: no revision and no time of the stream, and of a repost only that
    it is there."""
    return {uri: (row[1], row[2], row[4] if row[1] == "post" else None)
            for uri, row in posts.items()}


def feeds_show(sim):
    """Whether a feed shows a record of this address, as a function. Not shown are reposts of what
    is gone, nor what was dated back further than one looks; accounts that were away are looked at
    once a day."""
    events = [json.loads(line) for line in sim.events()]
    there = {row["uri"] for row in truth(sim, "posts")}
    day = int(time.time() * 1000000) - DAY_US
    away = {event["did"] for event in events if event["kind"] == "account"}
    hidden = set()
    for event in events:
        commit = event.get("commit", {})
        record = commit.get("record", {})
        repost = commit.get("collection") == REPOST and record
        if (repost and record["subject"]["uri"] not in there) or (
                "createdAt" in record and to_us(record["createdAt"]) < day):
            hidden.add(f"at://{event['did']}/{commit['collection']}/{commit['rkey']}")
    return lambda uri: uri not in hidden and uri.split("/")[2] not in away
