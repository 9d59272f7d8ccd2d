# SPDX-License-Identifier: Apache-2.0
"""A cell of the fault matrix without any stream: what people share is read from their feeds."""

from daemon_client import wait_until
from fault_cell import EVERYBODY_COUNTS, METHODS, AppviewCell
from feed_truth import feeds_show, news_difference, told_by_feeds

CYCLES_MAX = 6


class PollingCell(AppviewCell):
    methods = METHODS[:2]  # a feed brings along what the others are asked for

    def settings(self):
        return ["bluesky.mode=polling", f"bluesky.actors=[{self.me()}]", "cards.enabled=false",
                f"bluesky.appview=http://127.0.0.1:{self.sim.control_port}",
                "backfill.rate_limit_ms=0", "polling.retry_backoff_ms=1",
                EVERYBODY_COUNTS]

    def wait_for_commits(self, daemon, goal):
        daemon.wait_for(lambda health: health["commit_seq"] > 0, "a commit")

    def live_and_die(self, when):
        self.step(20, 200)  # a cycle reads what is there when it begins
        super().live_and_die(when)

    def finish(self):
        """A cycle may miss an account that could not be read; then the next one does not."""
        self.step(20, 100)
        for _ in range(CYCLES_MAX):
            with self.daemon() as daemon:
                self.wait_for_cycle(daemon)
                found = self.look(daemon)
                daemon.stop()
            if not found and self.fired() > 0:
                return
        raise AssertionError(f"after {CYCLES_MAX} cycles: {found or 'the fault did not happen'}")

    def wait_for_cycle(self, daemon):
        def look():
            assert not daemon.ended(), "ended before the cycle did"
            words = daemon.health() and daemon.ask_raw("GET", "/metrics")[1].decode()
            return words and "tidemark_poll_cycles_total 0\n" not in words
        wait_until(look, "the end of a cycle")
        wait_until(lambda: not self.owes(daemon), "all that is owed")

    @staticmethod
    def owes(daemon):
        """What an AppView did not have is asked for again later; that is not waited for."""
        return [row for row in daemon.walk("owed")
                if row["source"] == "appview" and row["state"] == "owed"
                and row["reason"] != "the AppView does not have it"]

    def look(self, daemon):
        """What differs, but for what no feed shows."""
        found = news_difference(daemon, self.sim, feeds_show(self.sim), told_by_feeds)
        missing = self.follows_missing()
        return {**found, "follows": missing} if missing else found
