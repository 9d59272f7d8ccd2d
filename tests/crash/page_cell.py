# SPDX-License-Identifier: Apache-2.0
"""A cell of the fault matrix in which links lie on web pages, and it is the pages that fail."""

import sqlite3
import subprocess

from card_compare import (card_state, count_difference, found_out, nothing_untried,
                          page_requests, post_link_difference, unsure_links)
from fault_cell import Cell
from truth_compare import (difference, folded_trending, shown_trending, sql, stored_links,
                           stored_posts, trending_difference, true_posts)


class PageCell(Cell):
    world = ("--events", "60", "--web-links", "100", "--links", "64")

    def settings(self):
        chosen = [setting for setting in super().settings() if not setting.startswith("cards.")]
        return chosen + ["cards.enabled=true", "cards.per_host_ms=1", "cards.in_flight=16",
                         "fetch.allow_private=true"]

    def stream_origin(self):
        return f"ws://127.0.0.1:{self.sim.control_port}"

    def suffer(self):
        self.live_and_die("fault")
        self.hasten()

    def hasten(self):
        """An operator who does not want to wait for the next attempt."""
        statement = "UPDATE owed SET next_us = 0 WHERE source = 'cards' AND state = 'owed'"
        if self.home.kind == "sqlite":
            with sqlite3.connect(self.home.url[7:], timeout=60) as store:
                store.execute(statement)
            store.close()
        else:
            subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", statement,
                            self.home.url], check=True)

    def judge(self, daemon):
        """Pages never hold up the stream; in the end each was read, or is known to be hopeless."""
        found = difference(stored_posts(daemon), true_posts(self.sim))
        assert not found, f"the store differs: {found}"
        self.wait_for_none(daemon, lambda: {"untried": not nothing_untried(self.home, "cards"),
                                            "owed": self.owed()})
        hopeless = self.fired() if self.fault.final else 0
        merged, unsure = found_out(self.sim), unsure_links(self.sim)
        unmerged = set(stored_links(self.home)) & {
            url for url, other in merged.items() if url != other and url not in unsure}
        assert len(unmerged) <= hopeless, f"links that are others: {unmerged}"
        unsure |= unmerged | {merged[url] for url in unmerged}
        found = {
            "post_links": post_link_difference(self.home, self.sim, "", merged, unsure)[0],
            "counts": count_difference(self.home, self.sim, "", merged, unsure),
            "trending": self.trending_difference(daemon, merged, unsure)}
        assert not any(found.values()), f"the store differs: {found}"
        without, other, count = card_state(self.home, self.sim)
        assert not other, f"cards in words of others: {other}"
        assert count > 0, "no page was read"
        assert len(without) <= hopeless, (
            f"links without their card: {without} {self.about(without)}")
        rows = sql(self.home, "SELECT normalized_url FROM links l WHERE card_us IS NULL AND title "
                              "IS NULL AND EXISTS (SELECT 1 FROM post_links x WHERE "
                              "x.link_id = l.id) AND flags IN (0, 1, 2, 3)")
        assert not rows, f"links that nobody looked at: {rows[:3]}"

    def about(self, urls):
        """What is known of these links, for whoever reads a violation."""
        return [row for row in sql(self.home, "SELECT normalized_url, flags, card_us, title, "
                                   "original_url FROM links") if row[0] in urls] + [
            row for row in page_requests(self.sim) if any(row["path"] in url for url in urls)]

    def owed(self):
        """What is still to be tried."""
        return sql(self.home, "SELECT item, reason FROM owed WHERE source = 'cards' "
                              "AND state = 'owed'")[:3]

    def trending_difference(self, daemon, merged, unsure):
        expected = folded_trending(self.sim, name=lambda url: merged.get(url, url))
        shown = [row for row in shown_trending(daemon, 24) if row[0] not in unsure]
        return trending_difference(shown, {url: people for url, people in expected.items()
                                           if url not in unsure})
