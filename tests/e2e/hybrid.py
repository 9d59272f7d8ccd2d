# SPDX-License-Identifier: Apache-2.0
"""Firehose with polling as its stand-in, through the real program: feeds are polled while no host
works and not a moment longer; nothing is lost and nothing comes twice; on both stores.

  hybrid.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from feed_truth import (dated_back, feeds_show, news_difference, told_by_both,  # noqa: E402
                        told_by_feeds)
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import (WIRES, begin_before_everything, stored_follows,  # noqa: E402
                           true_follows)

# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
FEED = "GET /xrpc/app.bsky.feed.getAuthorFeed"
FOR_EVER = 86400  # seconds: longer than any test


class Hybrid(BothStores):
    def both_stores(self, run):
        def run_with_network(home):
            with Simulator(self.sim_program, "--events", "1", "--accounts", "60", "--follows",
                           "12", "--noise", "0", *PAST) as sim:
                self.sim, self.home = sim, home
                self.me = json.loads(lines(sim.get("/_sim/accounts"))[0])["did"]
                self.wire = {"sqlite": "v1", "postgres": "v2"}[home.kind]
                self.config = self.set_patience(FOR_EVER)
                begin_before_everything(home, sim)
                run()
        super().both_stores(run_with_network)

    def set_patience(self, seconds):
        """How long the stream may be away before feeds are polled; as of a start or SIGHUP."""
        with open(os.path.join(self.home.folder, "hybrid.yaml"), "w", encoding="utf-8") as config:
            config.write(f"polling:\n  after_outage_seconds: {seconds}\n")
        return config.name

    def daemon(self):
        return Daemon(self.program, self.home, (
            f"jetstream.endpoint=ws://127.0.0.1:{self.sim.port}{WIRES[self.wire]}",
            "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
            f"bluesky.appview=http://127.0.0.1:{self.sim.port}", f"bluesky.actors=[{self.me}]",
            "bluesky.mode=hybrid",
            "did_manager.backfill_enabled=false", "backfill.rate_limit_ms=0",
            "news.single_domain_percent=100"), config=self.config)

    def metric(self, daemon, name):
        words = daemon.ask_raw("GET", "/metrics")[1].decode()
        return next(float(line.split(" ")[1]) for line in words.split("\n")
                    if line.startswith(f"tidemark_{name} "))

    def feeds_asked(self):
        return self.sim.stats()["requests"].get(FEED, 0)

    def wait_for_stream(self, daemon):
        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
        wait_until(lambda: self.metric(daemon, "polling") == 0, "polling to stop")

    def meet(self, daemon):
        """Whom one follows is known, and the stream works."""
        daemon.wait_for(
            lambda _: true_follows(self.sim) == stored_follows(self.home, self.me), "the follows")
        self.wait_for_stream(daemon)
        self.sim.step(150)
        self.assert_truth(daemon)
        self.assertEqual((self.metric(daemon, "poll_cycles_total"), self.feeds_asked()), (0, 0))

    def break_stream(self, daemon, events):
        """The line breaks before the first of these events, and no host takes a call."""
        self.set_patience(1)
        self.sim.arm("name=refuse&status=503&count=1000000000")
        self.sim.arm("name=disconnect")
        self.sim.step(events)
        daemon.wait_for(lambda health: not health["websocket_connected"], "the break")
        daemon.process.send_signal(signal.SIGHUP)

    def wait_for_cycle(self, daemon):
        wait_until(lambda: self.metric(daemon, "poll_cycles_total") >= 1, "a cycle")
        self.assertEqual(self.metric(daemon, "websocket_connected"), 0)

    def mend_stream(self):
        self.set_patience(FOR_EVER)
        self.sim.ask("DELETE", "/_sim/fault")

    def become_equal(self, daemon, is_clear, told):
        found = {}

        def look():
            found["now"] = news_difference(daemon, self.sim, is_clear, told)
            return not found["now"]
        try:
            wait_until(look, "the truth")
        except AssertionError:
            self.fail(f"{found['now']}\n{daemon.words()[-2000:]}")

    def assert_what_feeds_show(self, daemon):
        self.become_equal(daemon, feeds_show(self.sim), told_by_feeds)

    def assert_truth(self, daemon):
        """All but posts that were dated back: where a feed told of them first, they count as old as
        it says."""
        old = dated_back(self.sim)
        self.become_equal(daemon, lambda uri: uri not in old, told_by_both)
        self.assertEqual([gap for gap in daemon.walk("gaps") if gap["closedAt"] is None], [])
        self.assertEqual(daemon.walk("quarantine"), [])

    def assert_metrics_say(self, daemon, works):
        """Whether it is connected and how much of the time: both follow what happens, and go back
        with it; and what comes is counted."""
        def flows():
            self.sim.step(1)
            return self.metric(daemon, "events_per_second") > 0
        wait_until(lambda: self.metric(daemon, "websocket_connected") == works, "the connection")
        if works:
            wait_until(flows, "events")
        before = self.metric(daemon, "websocket_uptime_percent")
        self.assertLess(before, 100)

        def moves():
            now = self.metric(daemon, "websocket_uptime_percent")
            return now > before if works else now < before
        wait_until(moves, "the share of the time that it is there")

    def test_feeds_are_polled_only_while_no_host_works(self):
        """R001-01 R001-57 R001-114 R001-119 R001-120"""
        def run():
            with self.daemon() as daemon:
                self.meet(daemon)
                self.break_stream(daemon, 400)
                self.wait_for_cycle(daemon)
                self.assert_what_feeds_show(daemon)
                self.assertEqual(self.metric(daemon, "polling"), 1)
                self.assert_metrics_say(daemon, works=False)
                self.mend_stream()
                self.wait_for_stream(daemon)
                self.assert_metrics_say(daemon, works=True)
                self.assertGreaterEqual(self.feeds_asked(), 10)
                self.sim.step(150)
                self.assert_truth(daemon)
                self.assertEqual((self.metric(daemon, "polling"),
                                  self.metric(daemon, "poll_cycles_total")), (0, 1))
                daemon.stop()
        self.both_stores(run)

    def test_killed_while_it_polls_and_when_the_stream_is_back(self):
        """R001-42"""
        def run():
            with self.daemon() as daemon:
                self.meet(daemon)
                self.break_stream(daemon, 300)
                wait_until(lambda: self.feeds_asked() > 0, "a feed")
                daemon.kill()
            self.sim.step(100)
            with self.daemon() as daemon:
                wait_until(daemon.health, "an answer")
                self.wait_for_cycle(daemon)
                self.assert_what_feeds_show(daemon)
                self.mend_stream()
                daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                daemon.kill()
            self.sim.step(100)
            with self.daemon() as daemon:
                wait_until(daemon.health, "an answer")
                self.wait_for_stream(daemon)
                self.assert_truth(daemon)
                self.assertEqual(self.metric(daemon, "poll_cycles_total"), 0)
                daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
