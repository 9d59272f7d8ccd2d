# SPDX-License-Identifier: Apache-2.0
"""The cards of links against what their pages say, and shares where links turn out to be one."""

import json

from sim_client import lines
from truth_compare import SHOWN_MAX, difference, sql, stored_post_links, truth

# Pages that never say anything about themselves, or not at their first asking.
SILENT = {"pdf", "picture", "latecard", "bomb", "slow", "silent", "cut", "loop", "chain", "inward",
          "status404", "status410", "status429", "status500", "status503", "image"}


def page_requests(sim):
    rows = [json.loads(line) for line in lines(sim.get("/_sim/requests"))]
    return [row for row in rows if row["path"].startswith(("/web/", "/s/"))]


def path_of(sim, url):
    return url.split(str(sim.port))[-1]


def nothing_untried(home, source):
    return sql(home, "SELECT count(*) FROM owed WHERE state = 'owed' AND attempts = 0 "
                     f"AND source = '{source}'") == [["0"]]


def found_out(sim):
    """What each link is, as far as its page was asked for: posts that bring a card leave nothing
    to ask."""
    asked = {row["path"] for row in page_requests(sim)}

    def is_known(url):
        path = path_of(sim, url)
        return path in asked and (path.startswith("/s/") or
                                  path.replace("/web/", "/s/") not in asked)
    return {row["url"]: row["merged"] for row in truth(sim, "links") if is_known(row["url"])}


def unsure_links(sim):
    """Links whose page was asked for, perhaps only because another led there."""
    asked = {row["path"] for row in page_requests(sim)}
    rows = [row for row in truth(sim, "links")
            if path_of(sim, row["url"]).replace("/web/", "/s/") in asked
            and "/web/" in row["url"] and row["url"] != row["merged"]]
    return {row["url"] for row in rows} | {row["merged"] for row in rows}


def post_link_difference(home, sim, scope="", merged=None, unsure=frozenset()):
    """Who shares what, through which post: {} when exactly that is stored, but for what nobody can
    know; and how many rows that were. `merged` says which link an address turned out to be."""
    merged, firm = merged or {}, {}
    want = truth(sim, "post_links", scope)

    def name(row):
        return row["uri"], merged.get(row["url"], row["url"])
    fluid = {name(row) for row in want if row.get("fluid") or name(row)[1] in unsure}
    for row in want:
        if name(row) not in fluid:  # the first of the alphabet is the post's own
            firm[name(row)] = min(row["via"], firm.get(name(row), row["via"]))
    have = {key: via for key, via in stored_post_links(home).items() if key[1] not in unsure}
    return difference(have, firm, fluid), len(firm)


def count_difference(home, sim, scope="", merged=None, unsure=frozenset()):
    """How often each person shared each link, as far as it is certain."""
    merged, posts, unclear = merged or {}, {}, set()
    have = {(url, did): int(count) for url, did, count in sql(
        home, "SELECT l.normalized_url, a.did, s.n_posts FROM shares s "
              "JOIN links l ON l.id = s.link_id JOIN actors a ON a.id = s.actor")}
    for row in truth(sim, "post_links", scope):
        key = (merged.get(row["url"], row["url"]), row["uri"].split("/")[2])
        posts.setdefault(key, set()).add(row["uri"])
        if row.get("fluid") or key[0] in unsure:
            unclear.add(key)
    wrong = {key: (have.get(key), len(uris)) for key, uris in posts.items()
             if key not in unclear and have.get(key) != len(uris)}
    return dict(list(wrong.items())[:SHOWN_MAX])


def card_state(home, sim):
    """Links whose page says something but which have no card; cards in words that are not the
    page's; and how many have the page's own."""
    rows = sql(home, "SELECT normalized_url, title, description, image_url FROM links")
    stored = {row[0]: row[1:] for row in rows}
    pages = [row for row in truth(sim, "links") if row["news"] and "title" in row]
    without = [row["url"] for row in pages if row.get("kind") not in SILENT
               and stored.get(row["url"], stored.get(row["merged"], ["nobody shares it"]))[0] == ""]
    words = {row["merged"]: [row["title"], row.get("description", ""), row.get("image", "")]
             for row in pages}
    own = {url: card for url, card in stored.items() if card[0].startswith("Page ")}
    other = {url: card for url, card in own.items() if card != words.get(url, card)}
    return without, other, len(own)
