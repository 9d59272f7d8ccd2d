# SPDX-License-Identifier: Apache-2.0
"""What tidemark-sim says is true, against a naive client that knows only the wire: who shares which
link, what is inherited and lost again, what trends, who follows whom. And what /_sim/act does."""

import json
import re
import sys
import unittest
from collections import defaultdict
from urllib.parse import quote

from sim_client import Simulator, lines

PROGRAM = sys.argv.pop(1)
POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
LINKS = 200


def bare_links(text, covered):
    """Addresses that stand plainly in the text, outside of the byte ranges that facets cover."""
    raw = text.encode()
    for match in re.finditer(rb"https?://[^\s<>\"]+", raw):
        if any(begin <= match.start() < end for begin, end in covered):
            continue
        url = match.group().decode()
        while url and (url[-1] in ".,!" or url[-1] == ")" and url.count(")") > url.count("(")):
            url = url[:-1]
        yield url


def links_of(record):
    covered, found = [], []
    for facet in record.get("facets", []):
        covered.append((facet["index"]["byteStart"], facet["index"]["byteEnd"]))
        found += [f["uri"] for f in facet["features"] if f["$type"].endswith("#link")]
    found += bare_links(record["text"], covered)
    embed = record.get("embed", {})
    embed = embed.get("media", embed)
    if embed.get("$type") == "app.bsky.embed.external":
        found.append(embed["external"]["uri"])
    return found


def quoted_by(record):
    embed = record.get("embed", {})
    if embed.get("$type") == "app.bsky.embed.recordWithMedia":
        embed = embed["record"]
    return embed["record"]["uri"] if embed.get("$type") == "app.bsky.embed.record" else None


def said_in(record):
    """Languages, hashtags and which bytes stand for what, as the truth has them."""
    marks = [(facet["index"]["byteStart"], facet["index"]["byteEnd"],
              feature["$type"].split("#")[1], feature.get("uri") or feature.get("tag"))
             for facet in record.get("facets", []) for feature in facet["features"]]
    for begin, end, kind, value in marks:
        if kind == "tag":
            assert record["text"].encode()[begin:end] == b"#" + value.encode(), record
    tags = dict.fromkeys(record.get("tags", []) + [mark[3] for mark in marks if mark[2] == "tag"])
    return {"langs": ",".join(record.get("langs", [])), "tags": ",".join(tags), "facets": marks}


class Naive:
    """Reads the log once and keeps what a careful person would."""

    def __init__(self, sim):
        self.meaning = {}
        for n in range(LINKS):
            page = json.loads(sim.get(f"/_sim/link?n={n}"))
            for spelling in page["spellings"]:
                self.meaning[spelling] = spelling if "/s/" in spelling else page["url"]
        self.posts, self.inactive = {}, set()
        for line in sim.events():
            self.take(json.loads(line))

    def take(self, event):
        if event["kind"] == "account":
            change = self.inactive.discard if event["account"]["active"] else self.inactive.add
            change(event["did"])
        if event["kind"] != "commit" or event["commit"]["collection"] not in (POST, REPOST):
            return
        commit = event["commit"]
        uri = f"at://{event['did']}/{commit['collection']}/{commit['rkey']}"
        if commit["operation"] == "delete":
            del self.posts[uri]
            return
        time_us = self.posts[uri]["time_us"] if uri in self.posts else event["time_us"]
        record = commit["record"]
        is_post = commit["collection"] == POST
        self.posts[uri] = {
            "did": event["did"], "time_us": time_us, "said": said_in(record),
            "own": {self.meaning[url] for url in links_of(record)} if is_post else set(),
            "subject": quoted_by(record) if is_post else record["subject"]["uri"],
            "via": "quote" if is_post else "repost"}

    def pairs(self, depth):
        """{(uri, url): via} of everybody who is active, and the pairs nobody can be sure of."""
        sure, unsure = {}, set()
        for uri, post in self.posts.items():
            if post["did"] in self.inactive:
                continue
            for url in post["own"]:
                sure[uri, url] = "post"
            subject, left, doubt = post["subject"], depth, False
            while subject and left:
                doubt = doubt or subject.split("/")[2] in self.inactive
                if subject not in self.posts:
                    break
                for url in self.posts[subject]["own"]:
                    if doubt:
                        unsure.add((uri, url))
                    else:
                        sure.setdefault((uri, url), post["via"])
                step = self.posts[subject]
                subject = step["subject"] if step["via"] == "quote" else None
                left -= 1
        return sure, unsure - set(sure)


class Truth(unittest.TestCase):
    def simulator(self, *options, events=6000):
        sim = Simulator(PROGRAM, "--events", str(events), "--accounts", "60", "--follows", "20",
                        "--links", str(LINKS), "--noise", "20", *options)
        self.addCleanup(sim.__exit__)
        return sim

    def rows(self, sim, query):
        return [json.loads(line) for line in lines(sim.get("/_sim/truth?" + query))[1:]]

    def act(self, sim, **parameters):
        query = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in parameters.items())
        status, body = sim.ask("POST", "/_sim/act?" + query)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def people(self, sim, query=""):
        return self.rows(sim, "what=profiles" + query)

    def test_posts_share_what_a_naive_client_finds(self):
        sim = self.simulator("--web-links", "30", "--named-sites", "20")
        naive = Naive(sim)
        for depth in (1, 3):
            sure, unsure = naive.pairs(depth)
            rows = self.rows(sim, f"what=post_links&depth={depth}")
            told = {(row["uri"], row["url"]): row["via"] for row in rows if "fluid" not in row}
            self.assertEqual(told, sure)
            fluid = {(row["uri"], row["url"]) for row in rows if "fluid" in row}
            self.assertLessEqual(unsure, fluid)
            self.assertEqual(set(told.values()), {"post", "quote", "repost"})
            self.assertEqual([(r["uri"], r["url"]) for r in rows],
                             sorted((r["uri"], r["url"]) for r in rows))
        self.assertGreater(len(naive.pairs(3)[0]), len(naive.pairs(1)[0]))

    def test_posts_say_of_their_text_what_a_naive_client_reads(self):
        sim = self.simulator()
        naive, counts = Naive(sim), defaultdict(int)
        for row in self.rows(sim, "what=posts"):
            said = {"langs": row.get("langs", ""), "tags": row.get("tags", ""),
                    "facets": [tuple(mark) for mark in row.get("facets", [])]}
            self.assertEqual(said, naive.posts[row["uri"]]["said"])
            if row["kind"] == "post":
                for what in ("langs", "tags"):
                    counts[what, said[what].count(",") + (said[what] != "")] += 1
        for what in ("langs", "tags"):  # none, one and two of each
            self.assertEqual([n for n in range(3) if not counts[what, n]], [], what)

    def test_shares_and_trending_follow_from_the_pairs(self):
        sim = self.simulator("--follows-each", "9")
        naive = Naive(sim)
        pairs = self.rows(sim, "what=post_links")
        shares = defaultdict(list)
        for row in pairs:
            if "fluid" not in row:
                shares[row["url"], row["uri"].split("/")[2]].append(
                    naive.posts[row["uri"]]["time_us"])
        fluid = {(row["url"], row["uri"].split("/")[2]) for row in pairs if "fluid" in row}
        told = self.rows(sim, "what=shares")
        self.assertEqual({(r["url"], r["did"]): (r["n_posts"], r["last_us"])
                          for r in told if "fluid" not in r},
                         {key: (len(times), max(times)) for key, times in shares.items()
                          if key not in fluid})
        self.assertEqual({(r["url"], r["did"]) for r in told if "fluid" in r}, fluid)
        news = {row["url"]: row["news"] for row in self.rows(sim, "what=links")}
        self.assertIn(False, news.values())
        stats = sim.stats()
        since = (stats["first_time_us"] + stats["last_time_us"]) // 2
        for degree in (0, 1, 2):
            follows = [r["did"] for r in self.rows(sim, "what=follows")]
            wanted = set(follows)
            if degree == 2:
                sources = defaultdict(int)
                for did in follows:
                    for row in self.rows(sim, "what=follows&actor=" + did):
                        sources[row["did"]] += 1
                me = json.loads(lines(sim.get("/_sim/accounts"))[0])["did"]
                wanted |= {did for did, count in sources.items() if count >= 3 and did != me}
            people = defaultdict(set)
            for (url, did), times in shares.items():
                if news[url] and max(times) >= since and (degree == 0 or did in wanted):
                    people[url].add(did)
            told = self.rows(sim, f"what=trending&since_us={since}&degree={degree}&min_sources=3"
                             f"&dids={','.join(row['did'] for row in self.people(sim))}")
            self.assertEqual({r["url"]: r["people"] for r in told if r["people"] > 0},
                             {url: len(dids) for url, dids in people.items()})
            order = [(-r["people"], -r["last_us"], r["url"]) for r in told]
            self.assertEqual(order, sorted(order))

    def test_in_a_scope_only_the_subjects_of_strangers_are_unsure(self):
        sim = self.simulator()
        follows = {row["did"] for row in self.rows(sim, "what=profiles&follows=1")}
        sure, unsure = {}, 0
        everything = {(r["uri"], r["url"]) for r in self.rows(sim, "what=post_links")}
        for row in self.rows(sim, "what=post_links&follows=1"):
            self.assertIn(row["uri"].split("/")[2], follows)
            if "fluid" in row:
                unsure += 1
            else:
                sure[row["uri"], row["url"]] = row["via"]
        self.assertLessEqual(set(sure), everything)
        self.assertGreater(unsure, 0)
        # The daemon cannot have less than these: every one is known for certain in the whole world.
        whole = Naive(sim).pairs(1)[0]
        self.assertLessEqual(set(sure.items()), set(whole.items()))

    def test_an_act_changes_what_is_inherited(self):
        sim = self.simulator(events=0)
        alice, bob, carol = (row["did"] for row in self.people(sim)[:3])
        page = [json.loads(sim.get(f"/_sim/link?n={n}"))["url"] for n in range(3)]

        def pairs():
            return sorted((r["uri"], r["url"], r["via"])
                          for r in self.rows(sim, "what=post_links") if "fluid" not in r)
        post = self.act(sim, do="post", did=alice, link=0, spelling=4)["uri"]
        repost = self.act(sim, do="repost", did=bob, subject=post)["uri"]
        quoting = self.act(sim, do="post", did=carol, shape="quote_and_card", link=1,
                           subject=post)["uri"]
        before = [(post, page[0], "post"), (repost, page[0], "repost"),
                  (quoting, page[1], "post"), (quoting, page[0], "quote")]
        self.assertEqual(pairs(), sorted(before))
        self.act(sim, do="edit", uri=post, link=2)
        self.assertEqual(pairs(), sorted([(post, page[2], "post"), (repost, page[2], "repost"),
                                          (quoting, page[1], "post"), (quoting, page[2], "quote")]))
        self.act(sim, do="account", did=bob, status="takendown")
        self.assertNotIn(repost, {uri for uri, _, _ in pairs()})
        self.act(sim, do="account", did=bob, status="active")
        self.assertIn((repost, page[2], "repost"), pairs())
        self.act(sim, do="delete", uri=post)
        self.assertEqual(pairs(), [(quoting, page[1], "post")])
        self.assertEqual(sim.ask("POST", "/_sim/act?do=delete&uri=" + quote(post))[0], 400)
        log = [json.loads(line) for line in sim.events()]
        self.assertEqual([e["kind"] for e in log], ["commit"] * 4 + ["account"] * 2 + ["commit"])
        self.assertEqual(log[4]["account"]["status"], "takendown")

    def test_an_act_renames_pins_and_follows(self):
        sim = self.simulator(events=0)
        me = [json.loads(line)["did"] for line in lines(sim.get("/_sim/accounts"))][0]
        who = self.rows(sim, "what=follows")[0]
        self.act(sim, do="handle", did=who["did"])
        self.act(sim, do="profile", did=who["did"])
        now = next(r for r in self.rows(sim, "what=follows") if r["did"] == who["did"])
        self.assertNotEqual(now["handle"], who["handle"])
        self.assertNotEqual(now["displayName"], who["displayName"])
        posts = [self.act(sim, do="post", did=who["did"])["uri"] for _ in range(3)]
        self.act(sim, do="profile", did=who["did"], pin=posts[0])

        def feed(query):
            body = json.loads(sim.get("/xrpc/app.bsky.feed.getAuthorFeed?actor=" + who["did"] +
                                      query))
            return [(item["post"]["uri"], item.get("reason", {}).get("$type", "").split("#")[-1])
                    for item in body["feed"]], body.get("cursor")
        plain = [(uri, "") for uri in feed("")[0] and [item[0] for item in feed("")[0]]]
        self.assertEqual({uri for uri, _ in plain}, set(posts))
        pinned = [(posts[0], "reasonPin")]
        self.assertEqual(feed("&includePins=true")[0],
                         pinned + [item for item in plain if item[0] != posts[0]])
        # On a short first page the pin stands on top and again where it belongs, later.
        short, cursor = feed("&includePins=true&limit=1")
        self.assertEqual(short[0], pinned[0])
        self.assertNotIn("reasonPin", [kind for _, kind in
                                       feed("&includePins=true&limit=9&cursor=" + cursor)[0]])
        stranger = next(r["did"] for r in self.people(sim) if not r["followed"] and r["did"] != me)
        made = self.act(sim, do="follow", did=me, subject=stranger)
        self.assertIn(stranger, {r["did"] for r in self.rows(sim, "what=follows")})
        self.act(sim, do="delete", uri=made["uri"])
        self.assertNotIn(stranger, {r["did"] for r in self.rows(sim, "what=follows")})

    def test_follows_are_those_of_the_appview(self):
        sim = self.simulator("--follows-each", "12")
        for person in self.people(sim)[:10]:
            if not person["active"]:
                continue
            listed, cursor = [], ""
            while cursor is not None:
                body = json.loads(sim.get("/xrpc/app.bsky.graph.getFollows?limit=5&actor=" +
                                          person["did"] + cursor))
                listed += [row["did"] for row in body["follows"]]
                cursor = "&cursor=" + body["cursor"] if "cursor" in body else None
            told = [r["did"] for r in self.rows(sim, "what=follows&actor=" + person["did"])]
            self.assertEqual(sorted(listed), told)

    def test_links_are_merged_when_their_pages_say_so(self):
        sim = self.simulator("--web-links", "100", events=3000)
        rows = self.rows(sim, "what=links")
        kinds = {row["kind"] for row in rows}
        self.assertLessEqual({"plain", "canonical", "ogurl", "huge", "loop"}, kinds)
        merged = {row["url"]: row["merged"] for row in rows}
        self.assertLess(len(set(merged.values())), len(merged))
        told = {row["url"] for row in self.rows(sim, "what=links&merged=1")}
        self.assertEqual(told, set(merged.values()))


if __name__ == "__main__":
    unittest.main()
