# SPDX-License-Identifier: Apache-2.0
"""The AppView of tidemark-sim answers like the measured one and agrees with the truth."""

import json
import sys
import unittest
from urllib.parse import quote

from sim_client import Simulator, lines

PROGRAM = sys.argv.pop(1)


class AppView(unittest.TestCase):
    def setUp(self):
        self.sim = Simulator(PROGRAM, "--events", "6000", "--accounts", "60", "--follows", "20")
        self.addCleanup(self.sim.__exit__)
        self.people = [json.loads(line) for line in lines(self.sim.get("/_sim/accounts"))]
        self.by_did = {person["did"]: person for person in self.people}

    def ask(self, method, **parameters):
        query = "&".join(f"{key}={quote(str(value), safe='')}"
                         for key, values in parameters.items()
                         for value in (values if isinstance(values, list) else [values]))
        status, body = self.sim.ask("GET", f"/xrpc/{method}?{query}")
        return status, body if body[:1] == b"<" else json.loads(body)

    def walk(self, method, key, limit, **parameters):
        items, cursor, pages = [], {}, 0
        while cursor is not None:
            status, body = self.ask(method, limit=limit, **parameters, **cursor)
            self.assertEqual(status, 200, body)
            self.assertLessEqual(len(body[key]), limit)
            items += body[key]
            cursor = {"cursor": body["cursor"]} if "cursor" in body else None
            pages += 1
        return items, pages

    def active(self):
        return [person for person in self.people if person["status"] == "active"]

    def test_feeds_of_all_together_are_the_truth(self):
        truth = {row["uri"]: row for row in map(json.loads, lines(self.sim.get("/_sim/truth"))[1:])}
        visible = {uri for uri, row in truth.items()
                   if row["kind"] == "post" or row["subject"] in truth}
        seen = set()
        for person in self.active():
            items, _ = self.walk("app.bsky.feed.getAuthorFeed", "feed", 7, actor=person["did"])
            sorts = []
            for item in items:
                reason = item.get("reason")
                uri = reason["uri"] if reason else item["post"]["uri"]
                self.assertNotIn(uri, seen)
                seen.add(uri)
                sorts.append((reason or item["post"])["indexedAt"])
                if not reason:
                    self.assertEqual(item["post"]["record"]["text"], truth[uri]["text"])
            self.assertEqual(sorts, sorted(sorts, reverse=True))
        self.assertEqual(seen, visible)

    def test_a_cursor_means_older_and_survives_new_posts(self):
        did = max(self.active(), key=lambda p: len(self.walk(
            "app.bsky.feed.getAuthorFeed", "feed", 100, actor=p["did"])[0]))["did"]
        _, first = self.ask("app.bsky.feed.getAuthorFeed", actor=did, limit=3)
        ask = {"actor": did, "limit": 100, "cursor": first["cursor"]}
        before = self.ask("app.bsky.feed.getAuthorFeed", **ask)
        known = lines(self.sim.get("/_sim/truth?summary=1"))
        self.sim.step(1)
        while lines(self.sim.get("/_sim/truth?summary=1")) == known:
            self.sim.step(1)
        after = self.ask("app.bsky.feed.getAuthorFeed", **ask)
        uris = [[item["post"]["uri"] for item in answer[1]["feed"]] for answer in (before, after)]
        self.assertLessEqual(len(set(uris[0]) ^ set(uris[1])), 1)

    def test_bad_questions_get_the_measured_answers(self):
        feed = "app.bsky.feed.getAuthorFeed"
        did = self.active()[0]["did"]
        for parameters, status, message in (
                ({"actor": did, "limit": 0}, 400, "integer too small (minimum 1, got 0)"),
                ({"actor": did, "limit": 101}, 400, "integer too big (maximum 100, got 101)"),
                ({"actor": did, "limit": "abc"}, 400, 'Expected integer value type (got "abc")'),
                ({}, 400, 'Missing required key "actor"'),
                ({"actor": "not an actor"}, 400, 'Invalid AT identifier (got "not an actor")'),
                ({"actor": "nobody.test"}, 400, "Profile not found"),
                ({"actor": did, "cursor": "1700000000000"}, 500, "Internal Server Error")):
            got, body = self.ask(feed, **parameters)
            self.assertEqual(got, status)
            self.assertTrue(body["message"].endswith(message), body)
        self.assertEqual(self.ask(feed, actor=did, cursor="1::x"), (200, {"feed": []}))

    def test_dead_accounts_are_told_apart_by_their_profile_only(self):
        expected = {"deactivated": "AccountDeactivated", "takendown": "AccountTakedown",
                    "suspended": "AccountTakedown", "deleted": "InvalidRequest"}
        dead = [person for person in self.people if person["status"] != "active"]
        self.assertTrue(dead)
        for person in dead:
            feed = self.ask("app.bsky.feed.getAuthorFeed", actor=person["did"])
            self.assertEqual((feed[0], feed[1]["message"]), (400, "Profile not found"))
            status, profile = self.ask("app.bsky.actor.getProfile", actor=person["did"])
            self.assertEqual((status, profile["error"]), (400, expected[person["status"]]))

    def test_follows_are_listed_once_and_without_the_dead(self):
        expected = {p["did"] for p in self.active() if p["followed"]}
        me = self.people[0]["did"]
        for limit in (1, 4, 100):
            items, pages = self.walk("app.bsky.graph.getFollows", "follows", limit, actor=me)
            self.assertEqual(len(items), len(expected))
            self.assertEqual({item["did"] for item in items}, expected)
            # A full page has a cursor even when nothing follows.
            self.assertEqual(pages, len(expected) // limit + 1)
        stranger = next(p for p in self.active() if not p["followed"] and p["did"] != me)
        self.assertEqual(self.sim.ask("POST", "/_sim/follow?did=" + stranger["did"])[0], 200)
        items, _ = self.walk("app.bsky.graph.getFollows", "follows", 100, actor=me)
        self.assertIn(stranger["did"], {item["did"] for item in items})

    def test_profiles_come_in_the_order_asked_without_the_unknown(self):
        dids = [person["did"] for person in self.people[:20]]
        asked = dids + ["nobody.test", dids[0]]
        status, body = self.ask("app.bsky.actor.getProfiles", actors=asked)
        self.assertEqual(status, 200)
        alive = [did for did in dids + [dids[0]] if self.by_did[did]["status"] == "active"]
        self.assertEqual([profile["did"] for profile in body["profiles"]], alive)
        self.assertEqual(body["profiles"][0]["displayName"], self.people[0]["displayName"])
        self.assertEqual(self.ask("app.bsky.actor.getProfiles", actors=dids + dids)[0], 400)

    def test_only_the_present_handle_resolves(self):
        person = next(p for p in self.active() if "-" in p["handle"])
        resolve = "com.atproto.identity.resolveHandle"
        self.assertEqual(self.ask(resolve, handle=person["handle"]), (200, {"did": person["did"]}))
        old = person["handle"].split("-")[0] + ".sky.example"
        self.assertEqual(self.ask(resolve, handle=old)[0], 400)

    def test_posts_are_found_by_address_and_deleted_ones_are_left_out(self):
        rows = [json.loads(line) for line in lines(self.sim.get("/_sim/truth"))[1:]]
        posts = [row for row in rows if row["kind"] == "post"][:24]
        deleted = next(json.loads(line) for line in self.sim.events()
                       if '"operation":"delete","collection":"app.bsky.feed.post"' in line)
        gone = f"at://{deleted['did']}/app.bsky.feed.post/{deleted['commit']['rkey']}"
        status, body = self.ask("app.bsky.feed.getPosts", uris=[p["uri"] for p in posts] + [gone])
        self.assertEqual(status, 200)
        self.assertEqual([p["record"]["text"] for p in body["posts"]], [p["text"] for p in posts])

    def test_planned_misfortunes_of_requests_happen_and_are_counted(self):
        me = self.people[0]["did"]
        self.sim.arm("name=http&status=429&retry_after=3&collection=app.bsky.actor.getProfile")
        self.assertEqual(self.ask("app.bsky.graph.getFollows", actor=me)[0], 200)
        self.assertEqual(self.ask("app.bsky.actor.getProfile", actor=me)[0], 429)
        self.sim.arm("name=http&status=200")
        self.assertTrue(self.ask("app.bsky.actor.getProfile", actor=me)[1].startswith(b"<"))
        self.sim.arm("name=http_truncate")
        self.assertRaises(ValueError, self.ask, "app.bsky.actor.getProfile", actor=me)
        self.assertEqual((self.sim.fired("http"), self.sim.fired("http_truncate")), (2, 1))


if __name__ == "__main__":
    unittest.main()
