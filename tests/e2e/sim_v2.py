# SPDX-License-Identifier: Apache-2.0
"""The v2 stream of tidemark-sim: cursors are numbers of one host, errors have names."""

import json
import sys
import unittest

from sim_client import Closed, Refused, Simulator, Websocket, lines

PROGRAM = sys.argv.pop(1)
STREAM = "/xrpc/network.bsky.jetstream.subscribeEvents"
DICTIONARY = "/xrpc/network.bsky.jetstream.getZstdDictionary"


class V2(unittest.TestCase):
    def start(self, *options):
        self.sim = Simulator(PROGRAM, *options)
        self.addCleanup(self.sim.__exit__)
        self.log = lines(self.sim.get("/_sim/events?wire=2&count=100000"))

    def open(self, query="", headers=()):
        ws = Websocket(self.sim, STREAM + query, headers)
        self.addCleanup(ws.close)
        return ws

    def refusal(self, query, headers=()):
        with self.assertRaises(Refused) as caught:
            self.open(query, headers)
        self.assertEqual(caught.exception.status, 400)
        return json.loads(caught.exception.body)

    def test_a_cursor_is_a_number_of_this_host_and_inclusive(self):
        self.start("--events", "300", "--seq-base", "5000")
        self.assertEqual(json.loads(self.log[0])["payload"]["seq"], 5001)
        self.assertEqual(self.open("?cursor=0").texts(300), self.log)
        self.assertEqual(self.open("?cursor=5101").texts(200), self.log[100:])
        live = self.open("?cursor=5301")
        self.sim.step(1)
        self.assertEqual(json.loads(live.texts(1)[0])["payload"]["seq"], 5301)

    def test_keys_stand_in_the_order_of_the_real_server(self):
        self.start("--events", "2000")
        for line in self.log:
            keys = list(json.loads(line)["payload"])
            self.assertEqual(keys, sorted(keys))

    def test_both_wires_tell_the_same(self):
        self.start("--events", "2000")
        for old, new in zip(self.sim.events(), self.log):
            old, new = json.loads(old), json.loads(new)["payload"]
            self.assertEqual(old["did"], new["did"])
            for key, value in old.get("commit", {}).items():
                self.assertEqual(value, new[key])
            for kind in ("identity", "account"):
                self.assertEqual(old.get(kind), new.get(kind))

    def test_a_number_before_the_floor_is_too_old_and_a_time_is_clamped_aloud(self):
        self.start("--events", "500", "--gap-us", "60000000", "--retention-hours", "2")
        floor = self.sim.stats()["replay_floor"]
        error = self.refusal("?cursor=1")
        self.assertEqual(error["error"], "CursorTooOld")
        self.assertIn(str(floor + 1), error["message"])
        got = self.open("?cursor=1500000000000000").texts(1 + 500 - floor)
        self.assertEqual(json.loads(got[0])["payload"]["name"], "OutdatedCursor")
        self.assertEqual(got[1:], self.log[floor:])

    def test_the_other_wires_parameters_are_refused_by_name(self):
        self.start("--events", "10")
        for query in ("wantedDids=did:plc:a", "wantedCollections=a.b.c", "requireHello=true",
                      "compress=true", "kinds=likes", "cursor=-1", "maxMessageSizeBytes=x",
                      "kinds=account&collections=a.b.c", "dids=x"):
            self.assertEqual(self.refusal("?" + query)["error"], "InvalidRequest", query)
        self.assertEqual(self.refusal("", ["Socket-Encoding: zstd"])["error"], "InvalidRequest")

    def test_kinds_and_collections_filter(self):
        self.start("--events", "1000")
        kinds = [json.loads(line)["payload"]["$type"].split("#")[1] for line in self.log]
        expected = [l for l, kind in zip(self.log, kinds) if kind in ("account", "identity")]
        got = self.open("?cursor=0&kinds=account&kinds=identity").texts(len(expected))
        self.assertEqual(got, expected)
        expected = [l for l in self.log if json.loads(l)["payload"].get("collection", "x.post")
                    .endswith(".post")]
        got = self.open("?cursor=0&collections=app.bsky.feed.post").texts(len(expected))
        self.assertEqual(got, expected)

    def test_the_dictionary_is_fetched_and_asked_for_by_id(self):
        self.start("--events", "10")
        body = self.sim.get(DICTIONARY)
        number = int.from_bytes(body[4:8], "little")
        self.assertEqual(self.sim.get(f"{DICTIONARY}?id={number}"), body)
        status, answer = self.sim.ask("GET", f"{DICTIONARY}?id=1")
        self.assertEqual((status, json.loads(answer)["error"]), (404, "DictionaryNotFound"))
        error = self.refusal("?zstdDictionary=1")
        self.assertEqual(error["error"], "UnknownZstdDictionary")
        self.assertIn(str(number), error["message"])
        opcode, frame = self.open(f"?cursor=0&zstdDictionary={number}").frame()
        self.assertEqual(opcode, 2)
        self.assertIn(body[4:8], frame[:10])

    def test_a_client_must_not_speak(self):
        self.start("--events", "0")
        ws = self.open("", ["Sec-WebSocket-Protocol: xrpc.v1.json"])
        ws.send(1, b"{}")
        with self.assertRaises(Closed) as caught:
            ws.frame()
        self.assertEqual(caught.exception.code, 1008)

    def test_a_slow_consumer_is_told_so(self):
        self.start("--events", "50")
        self.sim.arm("name=too_slow&after=9")
        got, end = self.open("?cursor=0").rest()
        self.assertEqual(got[:10], self.log[:10])
        self.assertEqual(json.loads(got[10])["error"], "ConsumerTooSlow")
        self.assertEqual(end.code, 1008)


if __name__ == "__main__":
    unittest.main()
