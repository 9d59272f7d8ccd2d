# SPDX-License-Identifier: Apache-2.0
"""A cell of the fault matrix without any stream: what people share is read from their feeds."""

from daemon_client import wait_until
from fault_cell import EVERYBODY_COUNTS, METHODS, AppviewCell
from feed_truth import feeds_show, told_by_feeds
from truth_compare import (difference, folded_trending, shown_trending, stored_post_links,
                           stored_posts, trending_difference, true_post_links, true_posts)

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
        return [row for row in daemon.walk("owed")
                if row["source"] == "appview" and row["state"] == "owed"]

    def look(self, daemon):
        """What differs, but for what no feed shows."""
        is_clear = feeds_show(self.sim)
        scope = "&follows=1"
        expected = {uri: row for uri, row in true_posts(self.sim, scope).items() if is_clear(uri)}
        stored = {uri: row for uri, row in stored_posts(daemon).items() if is_clear(uri)}
        firm, fluid = true_post_links(self.sim, scope)
        rows = stored_post_links(self.home)
        unsure = {url for uri, url in rows if not is_clear(uri)}
        people = folded_trending(self.sim, scope, doubtful=lambda row: not is_clear(row["uri"]))
        shown = shown_trending(daemon, 24)
        found = {
            "follows": self.follows_missing(),
            "posts": difference(told_by_feeds(stored), told_by_feeds(expected)),
            "post_links": difference({key: via for key, via in rows.items() if is_clear(key[0])},
                                     {key: via for key, via in firm.items() if is_clear(key[0])},
                                     fluid),
            "trending": trending_difference([row for row in shown if row[0] not in unsure],
                                            {url: count for url, count in people.items()
                                             if url not in unsure})}
        return {name: wrong for name, wrong in found.items() if wrong}
