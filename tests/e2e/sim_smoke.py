# SPDX-License-Identifier: Apache-2.0
"""tidemark-sim seen from outside: what it replays, filters, refuses and spoils."""

import json
import sys
import unittest

from sim_client import Closed, Refused, Simulator, Websocket, lines

PROGRAM = sys.argv.pop(1)
POST = "app.bsky.feed.post"


def time_of(line):
    return json.loads(line)["time_us"]


def update(**payload):
    return json.dumps({"type": "options_update", "payload": payload}).encode()


class Stream(unittest.TestCase):
    def setUp(self):
        self.sim = Simulator(PROGRAM, "--events", "3000", "--seed", "7")
        self.addCleanup(self.sim.__exit__)
        self.log = self.sim.events()

    def open(self, query="", headers=()):
        ws = Websocket(self.sim, "/subscribe" + query, headers)
        self.addCleanup(ws.close)
        return ws

    def refusal(self, query):
        with self.assertRaises(Refused) as caught:
            self.open(query)
        return caught.exception

    def test_cursor_0_replays_the_whole_log(self):
        self.assertEqual(self.open("?cursor=0").texts(3000), self.log)

    def test_a_cursor_is_inclusive(self):
        middle = time_of(self.log[1500])
        self.assertEqual(self.open(f"?cursor={middle}").texts(1500), self.log[1500:])
        self.assertEqual(self.open(f"?cursor={middle + 1}").texts(1), self.log[1501:1502])

    def test_no_cursor_and_a_future_cursor_mean_live(self):
        future = time_of(self.log[-1]) + 10**9
        streams = [self.open(), self.open("?cursor="), self.open(f"?cursor={future}")]
        self.sim.step(5)
        new = self.sim.events(3000)
        self.assertEqual(len(new), 5)
        for ws in streams:
            self.assertEqual(ws.texts(5), new)

    def test_replay_goes_over_into_live_without_a_hole(self):
        ws = self.open("?cursor=0")
        first = ws.texts(2990)
        self.sim.step(50)
        self.assertEqual(first + ws.texts(60), self.sim.events())

    def test_collections_filter_commits_only(self):
        def wanted(line):
            event = json.loads(line)
            return event["kind"] != "commit" or event["commit"]["collection"] == POST

        expected = [line for line in self.log if wanted(line)]
        got = self.open(f"?cursor=0&wantedCollections={POST}").texts(len(expected))
        self.assertEqual(got, expected)
        self.assertTrue(any(json.loads(line)["kind"] == "account" for line in got))

    def test_a_prefix_takes_every_collection_below_it(self):
        expected = [l for l in self.log if ".graph." not in json.loads(l).get("commit", {})
                    .get("collection", "") and ".actor." not in l.split('"record"')[0]]
        got = self.open("?cursor=0&wantedCollections=app.bsky.feed.*").texts(len(expected))
        self.assertEqual(got, expected)

    def test_dids_filter_every_kind(self):
        dids = sorted({json.loads(line)["did"] for line in self.log})[:7]
        expected = [line for line in self.log if json.loads(line)["did"] in dids]
        query = "&".join("wantedDids=" + did.replace(":", "%3A") for did in dids)
        self.assertEqual(self.open("?cursor=0&" + query).texts(len(expected)), expected)

    def test_bad_parameters_are_refused_before_the_upgrade(self):
        for query, words in (("cursor=soon", b"invalid cursor: soon"),
                             ("wantedCollections=app.bsky.fo*", b"invalid collection"),
                             ("wantedDids=nobody", b"invalid DID"),
                             ("&".join(f"wantedCollections=a.b.c{i}" for i in range(101)),
                              b"too many wanted collections")):
            refusal = self.refusal("?" + query)
            self.assertEqual(refusal.status, 400)
            self.assertIn(words, refusal.body)

    def test_require_hello_sends_nothing_before_the_options(self):
        ws = self.open("?cursor=0&requireHello=true")
        self.sim.step(1)
        self.assertEqual(self.sim.stats()["frames"], 0)
        ws.send(1, update(wantedCollections=[], wantedDids=[]))
        self.assertEqual(ws.texts(3001), self.sim.events())

    def test_an_options_update_replaces_both_filters(self):
        did = json.loads(self.log[0])["did"]
        ws = self.open(f"?requireHello=true&wantedDids={did}")
        dids = ["did:plc:" + "a" * 20 + f"{i:04}".translate(str.maketrans("0189", "xyzw"))
                for i in range(9999)]
        ws.send(1, update(wantedDids=dids + [did]))
        ws.send(1, update(wantedCollections=[POST]))
        self.sim.wait_until(lambda stats: stats["options_updates"] == 2)
        self.sim.step(500)
        expected = [l for l in self.sim.events(3000)
                    if '"collection":"' not in l or POST + '","rkey' in l]
        self.assertEqual(ws.texts(len(expected)), expected)

    def test_bad_options_close_the_stream_with_a_reason(self):
        for message, words in ((b"{", b"unmarshal"), (update(wantedDids=["x"]), b"invalid DID")):
            ws = self.open()
            ws.send(1, message)
            with self.assertRaises(Closed) as caught:
                ws.frame()
            self.assertEqual(caught.exception.code, 1000)
            self.assertIn(words, caught.exception.reason)

    def test_bigger_events_than_wanted_are_skipped(self):
        expected = [line for line in self.log if len(line.encode()) <= 400]
        got = self.open("?cursor=0&maxMessageSizeBytes=400").texts(len(expected))
        self.assertEqual(got, expected)

    def test_compressed_frames_are_binary_and_name_the_dictionary(self):
        dictionary = self.sim.get("/_sim/dictionary")
        self.assertEqual(dictionary[:4], bytes.fromhex("37a430ec"))
        for ws in (self.open("?cursor=0&compress=true"),
                   self.open("?cursor=0", ["Socket-Encoding: zstd"])):
            opcode, frame = ws.frame()
            self.assertEqual(opcode, 2)
            self.assertEqual(frame[:4], bytes.fromhex("28b52ffd"))
            self.assertIn(dictionary[4:8], frame[:10])
            self.assertLess(len(frame), len(self.log[0].encode()))


class World(unittest.TestCase):
    def test_the_same_seed_gives_the_same_bytes(self):
        bodies = []
        for seed, events in (("5", "800"), ("5", "600"), ("6", "800")):
            with Simulator(PROGRAM, "--events", events, "--seed", seed) as sim:
                sim.step(800 - int(events))
                bodies.append((sim.get("/_sim/events?count=9999"), sim.get("/_sim/truth")))
        self.assertEqual(bodies[0], bodies[1])
        self.assertNotEqual(bodies[0], bodies[2])

    def test_old_events_are_clamped_away_in_silence(self):
        with Simulator(PROGRAM, "--events", "500", "--gap-us", "60000000", "--retention-hours",
                       "2") as sim, Websocket(sim, "/subscribe?cursor=0") as ws:
            floor = sim.stats()["replay_floor"]
            self.assertGreater(floor, 370)
            self.assertEqual(ws.texts(500 - floor), sim.events(floor))

    def test_events_go_on_at_the_chosen_rate(self):
        with Simulator(PROGRAM, "--events", "10", "--rate", "500", "--live-events", "90") as sim, \
                Websocket(sim, "/subscribe?cursor=0") as ws:
            self.assertEqual(ws.texts(100), sim.events())
            self.assertEqual(sim.stats()["events"], 100)

    def test_ties_share_a_time_and_a_cursor_finds_the_first(self):
        with Simulator(PROGRAM, "--events", "400", "--ties", "500") as sim:
            log = sim.events()
            times = [time_of(line) for line in log]
            self.assertEqual(times, sorted(times))
            tie = next(i for i in range(1, 400) if times[i] == times[i - 1])
            with Websocket(sim, f"/subscribe?cursor={times[tie]}") as ws:
                self.assertEqual(ws.texts(2), log[tie - 1:tie + 1])

    def test_a_client_that_answers_pings_stays_and_one_that_does_not_is_cut_off(self):
        pings = ("--ping-ms", "20", "--pong-wait-ms", "5000")
        with Simulator(PROGRAM, "--events", "0", *pings) as sim:
            with Websocket(sim, "/subscribe") as deaf, Websocket(sim, "/subscribe") as ws:
                sim.wait_until(lambda stats: stats["connections"] == 2)
                while sim.stats()["connections"] == 2:
                    sim.step(1)
                    ws.texts(1)
                self.assertGreater(ws.pings, 3)
                self.assertIsNone(deaf.rest()[1].code)

    def test_the_newer_software_names_its_seq_and_takes_it_as_a_cursor(self):
        with Simulator(PROGRAM, "--events", "100", "--v2-software") as sim:
            log = sim.events()
            self.assertEqual(json.loads(log[41])["cursor"], 42)
            with Websocket(sim, "/subscribe?cursor=42") as ws:
                self.assertEqual(ws.texts(59), log[41:])
            with self.assertRaises(Refused):
                Websocket(sim, "/subscribe?cursor=-1")

    def test_truth_follows_when_asked_and_names_the_followed_only(self):
        with Simulator(PROGRAM, "--events", "4000", "--follows", "9") as sim:
            people = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
            followed = {person["did"] for person in people if person["followed"]}
            self.assertEqual(len(followed), 9)
            summary, *rows = lines(sim.get("/_sim/truth?follows=1"))
            self.assertEqual(json.loads(summary)["records"], len(rows))
            self.assertLessEqual({json.loads(row)["did"] for row in rows}, followed)
            some = ",".join(sorted(followed)[:3])
            part = lines(sim.get("/_sim/truth?dids=" + some))
            self.assertEqual(part[1:], [r for r in rows if json.loads(r)["did"] in some])


if __name__ == "__main__":
    unittest.main()
