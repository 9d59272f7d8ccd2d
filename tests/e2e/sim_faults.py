# SPDX-License-Identifier: Apache-2.0
"""Every fault of tidemark-sim happens when it is planned, does what it says and is counted."""

import json
import sys
import unittest

from sim_client import Closed, Refused, Simulator, Websocket, lines

PROGRAM = sys.argv.pop(1)


class Faults(unittest.TestCase):
    def setUp(self):
        self.sim = Simulator(PROGRAM, "--events", "500", "--seed", "11")
        self.addCleanup(self.sim.__exit__)
        self.log = self.sim.events()

    def open(self, query="?cursor=0"):
        ws = Websocket(self.sim, "/subscribe" + query)
        self.addCleanup(ws.close)
        return ws

    def lost(self):
        return [json.loads(line)["k"] for line in lines(self.sim.get("/_sim/lost"))]

    def test_disconnect_ends_without_a_close_frame(self):
        self.sim.arm("name=disconnect&after=99&count=2")
        for _ in range(2):
            got, end = self.open().rest()
            self.assertEqual(got, self.log[:100])
            self.assertIsNone(end.code)
        self.assertEqual(self.open().texts(500), self.log)
        self.assertEqual(self.sim.fired("disconnect"), 2)

    def test_cut_and_reset_break_off_inside_a_frame(self):
        for name in ("cut", "reset"):
            self.sim.arm(f"name={name}&after=20")
            got, end = self.open().rest()
            self.assertEqual(got, self.log[:len(got)])
            self.assertLessEqual(len(got), 20)
            self.assertIsNone(end.code)
            self.assertEqual(self.sim.fired(name), 1)

    def test_close_says_goodbye(self):
        self.sim.arm("name=close&after=9")
        got, end = self.open().rest()
        self.assertEqual((got, end.code), (self.log[:10], 1001))

    def test_stall_and_slow_delay_but_lose_nothing(self):
        self.sim.arm("name=stall&ms=50&after=10")
        self.sim.arm("name=slow&ms=50&bytes=64&after=100")
        self.assertEqual(self.open().texts(500), self.log)
        self.assertEqual((self.sim.fired("stall"), self.sim.fired("slow")), (1, 1))

    def test_duplicate_sends_the_frame_twice(self):
        self.sim.arm("name=duplicate&after=4")
        self.assertEqual(self.open().texts(501), self.log[:5] + self.log[4:])

    def test_reorder_sends_the_frame_a_little_later(self):
        self.sim.arm("name=reorder&after=4&bytes=2")
        expected = self.log[:4] + self.log[5:7] + [self.log[4]] + self.log[7:]
        self.assertEqual(self.open().texts(500), expected)

    def test_a_frame_held_back_at_the_end_still_comes(self):
        self.sim.arm("name=reorder&after=499")
        self.assertEqual(self.open().texts(500), self.log)
        self.assertEqual(self.sim.fired("reorder"), 1)

    def test_drop_leaves_out_the_frame_and_says_so(self):
        self.sim.arm("name=drop&after=30&count=2")
        self.assertEqual(self.open().texts(498), self.log[:30] + self.log[31:61] + self.log[62:])
        self.assertEqual(self.lost(), [30, 61])

    def test_a_fault_may_be_bound_to_one_collection(self):
        self.sim.arm("name=drop&count=1000000&collection=app.bsky.feed.repost")
        expected = [line for line in self.log if '"collection":"app.bsky.feed.repost"' not in line]
        self.assertEqual(self.open().texts(len(expected)), expected)
        self.assertEqual(len(self.lost()), 500 - len(expected))

    def test_a_host_may_leave_out_a_collection_until_told_otherwise(self):
        self.sim.arm("name=omit&collection=app.bsky.feed.repost")
        expected = [line for line in self.log if '"collection":"app.bsky.feed.repost"' not in line]
        self.assertEqual(self.open().texts(len(expected)), expected)
        left_out = 500 - len(expected)
        self.assertEqual((self.sim.fired("omit"), len(self.lost())), (left_out, left_out))
        self.assertEqual(self.sim.ask("DELETE", "/_sim/fault?name=omit")[0], 200)
        self.assertEqual(self.open().texts(500), self.log)

    def test_the_clock_of_a_host_may_be_off(self):
        """Times on the wire and times taken as cursors are off by the same."""
        for off in (-7000000, 3000):
            self.sim.arm(f"name=skew&us={off}")
            got = [json.loads(line) for line in self.open().texts(500)]
            right = [json.loads(line) for line in self.log]
            self.assertEqual([event.pop("time_us") - off for event in got],
                             [event.pop("time_us") for event in right])
            self.assertEqual(got, right)
            at = json.loads(self.log[250])["time_us"] + off
            self.assertEqual(len(self.open(f"?cursor={at}").texts(250)), 250)
        self.assertEqual(self.sim.fired("skew"), 2 * 750)
        self.assertEqual(self.sim.ask("POST", "/_sim/fault?name=skew&us=soon")[0], 400)

    def test_garbage_and_half_an_event_come_before_the_whole_one(self):
        self.sim.arm("name=garbage&after=2")
        self.sim.arm("name=truncate&after=3")
        got = self.open().texts(502)
        spoilt = [got.pop(2), got.pop(3)]
        self.assertEqual(got, self.log)
        for text in spoilt:
            self.assertRaises(ValueError, json.loads, text)
        self.assertTrue(self.log[3].startswith(spoilt[1]))
        self.assertEqual(self.lost(), [])

    def test_half_an_event_in_place_of_it_is_a_loss(self):
        self.sim.arm("name=truncate&after=3&lossy=1")
        got = self.open().texts(500)
        self.assertRaises(ValueError, json.loads, got.pop(3))
        self.assertEqual(got, self.log[:3] + self.log[4:])
        self.assertEqual(self.lost(), [3])

    def test_a_huge_frame_is_as_big_as_asked(self):
        self.sim.arm("name=huge&after=1&bytes=3000000")
        got = self.open().texts(501)
        self.assertEqual(len(got.pop(1)), 3000000)
        self.assertEqual(got, self.log)

    def test_refuse_answers_the_handshake_with_a_status(self):
        self.sim.arm("name=refuse&status=429&retry_after=7&count=2")
        for _ in range(2):
            with self.assertRaises(Refused) as caught:
                self.open()
            self.assertEqual(caught.exception.status, 429)
            self.assertEqual(caught.exception.headers[b"Retry-After"], b"7")
        self.sim.arm("name=refuse&status=0")
        self.assertRaises(Closed, self.open)
        self.assertEqual(self.open().texts(1), self.log[:1])
        self.assertEqual(self.sim.fired("refuse"), 3)

    def test_a_wrong_dictionary_is_named_in_the_frame(self):
        self.sim.arm("name=wrong_dictionary&after=1")
        ws = self.open("?cursor=0&compress=true")
        first, second, third = (ws.frame()[1] for _ in range(3))
        right = self.sim.get("/_sim/dictionary")[4:8]
        self.assertIn(right, first[:10])
        self.assertNotIn(right, second[:10])
        self.assertIn(right, third[:10])
        self.assertEqual(self.lost(), [1])

    def test_a_cut_over_from_replay_to_live_loses_what_it_says(self):
        self.sim.arm("name=cutover&bytes=4")
        got = self.open().texts(496)
        self.assertEqual(sorted(set(self.log) - set(got)), sorted(self.log[k] for k in self.lost()))
        self.assertEqual(len(self.lost()), 4)
        self.assertNotEqual(got, sorted(got, key=lambda line: json.loads(line)["time_us"]))
        self.assertEqual(self.sim.fired("cutover"), 1)

    def test_a_fault_that_never_met_its_chance_is_not_counted(self):
        self.sim.arm("name=duplicate&after=5000")
        self.assertEqual(self.open().texts(500), self.log)
        self.assertEqual(self.sim.fired("duplicate"), 0)
        self.assertEqual(self.sim.stats()["armed"], ["duplicate"])
        self.assertEqual(self.sim.ask("DELETE", "/_sim/fault?name=duplicate")[0], 200)
        self.assertEqual(self.sim.stats()["armed"], [])
        self.assertEqual(self.sim.ask("POST", "/_sim/fault?name=nothing")[0], 400)

    def test_a_plan_can_be_given_on_the_command_line(self):
        with Simulator(PROGRAM, "--events", "20", "--fault", "name=drop&after=3") as sim, \
                Websocket(sim, "/subscribe?cursor=0") as ws:
            ws.texts(19)
            self.assertEqual(sim.fired("drop"), 1)


if __name__ == "__main__":
    unittest.main()
