# SPDX-License-Identifier: Apache-2.0
"""What of the truth a feed tells, and whether that is stored."""

import json
import time

from truth_compare import (difference, folded_trending, shown_trending, stored_post_links,
                           stored_posts, to_us, trending_difference, true_post_links, true_posts,
                           true_trending, truth)

DAY_US = 86400 * 1000000
REPOST = "app.bsky.feed.repost"


FOLLOWED = "&follows=1"


def told_by_feeds(posts):
    """What a feed tells of posts: no revision and no time of the stream, and of a repost only that
    it is there."""
    return {uri: (row[1], row[2], row[4] if row[1] == "post" else None)
            for uri, row in posts.items()}


def told_by_both(posts):
    """Of posts that came both ways the earlier time is kept; everything else is the stream's."""
    return {uri: (*row[:3], row[4]) for uri, row in posts.items()}


def told_by_either(posts, by_feed):
    """A feed has its own time of a post, and the earlier one counts; what came by a feed alone
    (from before one followed, or while the account was away) has no revision."""
    return {uri: row[1:3] if uri in by_feed else (*row[:3], row[4]) for uri, row in posts.items()}


def created_records(sim):
    """(at:// address, record) of everything that was ever written, in all versions."""
    for event in map(json.loads, sim.events()):
        commit = event.get("commit", {})
        if "record" in commit:
            yield (f"at://{event['did']}/{commit['collection']}/{commit['rkey']}",
                   commit["record"])


def dated_back(sim):
    """What claims to be older than one looks."""
    day = int(time.time() * 1000000) - DAY_US
    return {uri for uri, record in created_records(sim)
            if "createdAt" in record and to_us(record["createdAt"]) < day}


def were_away(sim):
    return {event["did"] for event in map(json.loads, sim.events()) if event["kind"] == "account"}


def hidden_from_feeds(sim):
    """Reposts of what is gone, and what was dated back."""
    there = {row["uri"] for row in truth(sim, "posts")}
    return dated_back(sim) | {uri for uri, record in created_records(sim)
                              if record.get("$type") == REPOST
                              and record["subject"]["uri"] not in there}


def feeds_show(sim):
    """Whether a feed shows a record of this address, as a function; accounts that were away are
    looked at once a day."""
    hidden, away = hidden_from_feeds(sim), were_away(sim)
    return lambda uri: uri not in hidden and uri.split("/")[2] not in away


def news_difference(daemon, sim, is_clear, told):
    """{} when what those share whom one follows is stored, and ranked, as it is true; `is_clear`
    says which posts are compared, `told` what of them."""
    expected = {uri: row for uri, row in true_posts(sim, FOLLOWED).items() if is_clear(uri)}
    stored = {uri: row for uri, row in stored_posts(daemon).items() if is_clear(uri)}
    firm, fluid = true_post_links(sim, FOLLOWED)
    rows = stored_post_links(daemon.home)
    people = folded_trending(sim, FOLLOWED, doubtful=lambda row: not is_clear(row["uri"]))
    unsure = {url for uri, url in rows if not is_clear(uri)}
    shown = [row for row in shown_trending(daemon, 24) if row[0] not in unsure]
    found = {
        "posts": difference(told(stored), told(expected)),
        "post_links": difference({key: via for key, via in rows.items() if is_clear(key[0])},
                                 {key: via for key, via in firm.items() if is_clear(key[0])},
                                 fluid),
        "trending": trending_difference(shown, {url: count for url, count in people.items()
                                                if url not in unsure})}
    return {name: wrong for name, wrong in found.items() if wrong}


def told_difference(daemon, sim):
    """{} when what those share whom one follows is stored, whichever way it came, and ranked. Who
    comes back in the moment between the list and the question about those who are not on it is off
    the list until the next one, and of that time only feeds tell: what they do not show may be
    missing, of accounts that ever were away."""
    stored, away = stored_posts(daemon), were_away(sim)
    by_feed = {uri for uri, row in stored.items() if row[0] is None}
    untold = {uri for uri in hidden_from_feeds(sim) if uri.split("/")[2] in away} - set(stored)
    firm, fluid = true_post_links(sim, FOLLOWED)
    unsure = {url for uri, url in firm if uri in untold}
    found = {
        "posts": difference(told_by_either(stored, by_feed), told_by_either(
            {uri: row for uri, row in true_posts(sim, FOLLOWED).items() if uri not in untold},
            by_feed)),
        "post_links": difference(stored_post_links(daemon.home),
                                 {key: via for key, via in firm.items() if key[0] not in untold},
                                 fluid),
        "trending": trending_difference(shown_trending(daemon, 24), {
            url: (0 if url in unsure else people[0], people[1])
            for url, people in true_trending(sim, 24, FOLLOWED).items()})}
    return {name: wrong for name, wrong in found.items() if wrong}
