# SPDX-License-Identifier: Apache-2.0
"""What goes over the network, counted at its other end: bytes of the firehose, requests of a day.
No clock is read; what a day or an hour costs is said by the events and rounds in it.

  traffic.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from daemon_client import Home, wait_until  # noqa: E402
from feed_bench import FeedBench, main, values  # noqa: E402
from jetstream import connections  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import begin_before_everything, last_wanted_us  # noqa: E402

FOLLOWS = 342
DAY_POSTS = 8000  # what so many people share in a day, as the seed estimates
MB = 1000000
FEEDS, LISTS = ("GET /xrpc/app.bsky." + name for name in ("feed.getAuthorFeed", "graph.getFollows"))


def gauge(daemon, name):
    words = daemon.ask_raw("GET", "/metrics")[1].decode()
    return float(re.search(rf"^tidemark_{name} (\S+)$", words, re.M).group(1))


class Traffic(FeedBench):
    def follow_all(self, home, sim):
        """The list stands already, so that the first connection knows it; whose it is."""
        accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
        rows = [(a["did"], a["handle"]) for a in accounts if a["followed"]]
        for at in range(0, len(rows), 500):
            part = rows[at:at + 500]
            self.run_sql(home, ["INSERT INTO follows (did, handle) VALUES " + values(part),
                                "INSERT INTO circle (did, degree, sources) VALUES " +
                                values([(did, 1, 1) for did, _ in part])])
        return accounts[0]["did"]

    def requests(self, sim, *names):
        counts = sim.stats()["requests"]
        return sum(counts[name] for name in names)

    def read_day(self, wire, compress):
        """Frames and bytes of one day of those who are followed, and the bytes in a day that the
        daemon says it received."""
        events = DAY_POSTS * 5  # half of the people are followed, two in five events are posts
        began = str(int((time.time() - 86400) * 1000000))
        with Home("sqlite") as home, Simulator(
                self.sim_program, "--accounts", str(2 * FOLLOWS), "--follows", str(FOLLOWS),
                "--events", str(events), "--start-us", began, "--gap-us", "2100000") as sim:
            self.migrate(home)
            begin_before_everything(home, sim)
            path = os.path.join(home.folder, "v1.zdict")
            with open(path, "wb") as file:
                file.write(sim.get("/_sim/dictionary"))
            me, end = self.follow_all(home, sim), last_wanted_us(sim)
            with self.daemon(home, sim, f"bluesky.actors=[{me}]", "retention.enabled=false",
                             "did_manager.backfill_enabled=false", f"jetstream.compress={compress}",
                             f"jetstream.dictionary_file={path}",
                             endpoint=f"ws://127.0.0.1:{sim.port}{wire}") as daemon:
                daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end - 120 * MB,
                                "the end of the day")
                stats = sim.stats()
                wait_until(lambda: gauge(daemon, "received_bytes_day") >=
                           stats["frame_bytes"] * 0.95, "what came to be counted")
                received = gauge(daemon, "received_bytes_day")
                self.assertEqual(connections(daemon, sim), 1)
                daemon.stop()
        return stats["frames"], stats["frame_bytes"], received

    def test_a_day_of_follows_is_some_megabytes(self):
        """R001-151 R001-152: below 50 MB a day and 3 GB a month; compressed less than half. What
        the whole network sends is its own affair: only the share that is saved is told. The v2
        wire has no filter by people, so everybody's posts come, twice as many here."""
        for wire in ("/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents"):
            plain_frames, plain, _ = self.read_day(wire, "false")
            frames, packed, received = self.read_day(wire, "true")
            print(f"{wire}: {frames} frames, plain {plain / MB:.1f} MB a day, compressed "
                  f"{packed / MB:.1f} MB: {100 - 100 * packed / plain:.0f} % saved", flush=True)
            self.assertLess(abs(frames - plain_frames), 100)  # the last minutes may still come
            self.assertGreater(frames, DAY_POSTS * 9 // 10)
            self.assertLess(packed, 50 * MB)
            self.assertLess(30 * packed, 3000 * MB)
            self.assertLess(packed, plain * 0.5)
            self.assertLess(abs(received - packed), packed * 0.05)

    def hour_of_firehose(self, follows):
        """Requests between two readings of the list, the second included, and an hour's share of
        those for names, which are read once a day by 25."""
        with Home("sqlite") as home, Simulator(
                self.sim_program, "--accounts", str(follows + 300), "--follows", str(follows),
                "--events", "1") as sim:
            self.migrate(home)
            me = self.follow_all(home, sim)
            with self.daemon(home, sim, f"bluesky.actors=[{me}]", "log.level=debug",
                             "did_manager.backfill_enabled=false",
                             endpoint=f"ws://127.0.0.1:{sim.port}/subscribe") as daemon:
                pages = -(-follows // 100)
                wait_until(lambda: self.requests(sim, LISTS) >= pages and
                           "msg=read" in daemon.words(), "the first reading", 900)
                before = self.requests(sim, FEEDS, LISTS)
                daemon.reload()  # which looks at what is stored, then reads the list
                wait_until(lambda: self.requests(sim, LISTS) >= 2 * pages and
                           daemon.words().count("msg=read") >= 3, "the next reading", 900)
                asked = self.requests(sim, FEEDS, LISTS) - before
                self.assertEqual(self.requests(sim, FEEDS), 0)
                daemon.stop()
        return asked + -(-follows // 25) / 24

    def round_of_polling(self):
        """Requests for feeds in a regular round over everybody."""
        with Home("sqlite") as home, Simulator(
                self.sim_program, "--accounts", str(FOLLOWS + 1), "--follows", str(FOLLOWS),
                "--events", "400", "--start-us", "now") as sim:
            self.migrate(home)
            self.follow_all(home, sim)
            for _ in range(2):  # the first round is the initial one
                before = self.requests(sim, FEEDS)
                with self.daemon(home, sim, "bluesky.mode=polling") as daemon:
                    daemon.wait_for(lambda health: True, "a word")
                    wait_until(lambda: gauge(daemon, "poll_cycles_total") >= 1 and
                               gauge(daemon, "poll_accounts") > 0, "a round", 900)
                    daemon.stop()
                asked = self.requests(sim, FEEDS) - before
        return asked

    def test_the_firehose_saves_nearly_all_requests(self):
        """R001-154: four rounds of polling an hour against one reading of the list; who is
        followed costs no request but his line on a page of that list."""
        polling, firehose = 4 * self.round_of_polling(), self.hour_of_firehose(FOLLOWS)
        many = self.hour_of_firehose(10000)
        print(f"requests an hour: polling {polling}, firehose {firehose:.1f}; of 10,000 follows "
              f"{many:.1f}", flush=True)
        self.assertGreaterEqual(polling, 4 * FOLLOWS * 9 // 10)  # but for who is gone
        self.assertLess(firehose, polling * 0.05)
        self.assertLess(firehose, 5)
        self.assertLess(many, 4 * 10000 * 0.05)


if __name__ == "__main__":
    main(Traffic, stores=False)
