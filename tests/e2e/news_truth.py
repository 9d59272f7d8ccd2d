# SPDX-License-Identifier: Apache-2.0
"""Links and who shares them, through the real program: what the store holds equals what is true,
for a long replay and for each single thing that people do, on both stores.

  news_truth.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import sys
import time
from urllib.parse import quote

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import (WIRES, begin_before_everything, differences,  # noqa: E402
                           last_wanted_us, sql, truth)

# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
WHAT = ("posts", "links", "post_links", "shares")


def settings(sim, wire):
    return (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}{WIRES[wire]}",
            "jetstream.fallback_endpoint=", "jetstream.compress=false", "cards.enabled=false",
            f"bluesky.appview=http://127.0.0.1:{sim.port}")


class NewsTruth(BothStores):
    def become_equal(self, daemon, sim, poke=None):
        """Waits until nothing differs; says what does when it never ends."""
        found = {}

        def look():
            found["now"] = differences(daemon, sim, WHAT)
            if found["now"] and poke:
                poke()
            return not found["now"]
        try:
            wait_until(look, "the truth")
        except AssertionError:
            self.fail(f"{found['now']}\n{daemon.words()[-2000:]}")

    def test_a_long_replay_gives_exactly_what_is_true(self):
        """Quotes, reposts, edits, deletes and accounts that leave and come back, thousands in one
        go, faster than slices of a changed account follow. R001-25 R001-29"""
        def run(home):
            wire = "v1" if home.kind == "sqlite" else "v2"
            with Simulator(self.sim_program, "--events", "12000", "--noise", "20", "--accounts",
                           "120", "--named-sites", "20", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, wire)) as daemon:
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end,
                                    "the end")
                    # What an account takes along or brings back follows in the commits after it.
                    self.become_equal(daemon, sim, lambda: sim.step(10))
                    ways = {row[0] for row in sql(home, "SELECT DISTINCT via FROM post_links")}
                    self.assertEqual(ways, {"post", "quote", "repost"})
                    self.check_choices(daemon, sim)
                    daemon.stop()
        self.both_stores(run)

    def check_choices(self, daemon, sim):
        """R001-156: posts can be chosen by language, hashtag and rich text."""
        rows = truth(sim, "posts")
        for chosen, fits in (
                ({"langs": "de"}, lambda row: row.get("langs") == "de"),
                ({"langs": {"$contains": "pt-BR"}}, lambda row: "pt-BR" in row.get("langs", "")),
                ({"tags": {"$contains": "tide"}}, lambda row: "tide" in row.get("tags", "")),
                ({"facets": {"$isNull": False}}, lambda row: row.get("facets", []) != [])):
            with self.subTest(chosen=chosen):
                want = {row["uri"] for row in rows if fits(row)}
                have = {row["uri"]
                        for row in daemon.walk("posts", filter=dict(chosen, active=True))}
                self.assertEqual(have, want)
                self.assertNotEqual(want, set())

    def test_each_thing_that_people_do_is_followed(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1", "--accounts", "12", *PAST) as sim:
                begin_before_everything(home, sim)
                people = [json.loads(line)["did"] for line in lines(sim.get("/_sim/accounts"))]
                alice, bob, carol = people[1:4]
                with Daemon(self.program, home, settings(sim, "v1")) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")

                    def act(**parameters):
                        query = "&".join(f"{key}={quote(str(value), safe='')}"
                                         for key, value in parameters.items())
                        status, body = sim.ask("POST", "/_sim/act?" + query)
                        self.assertEqual(status, 200, body)
                        self.become_equal(daemon, sim)
                        return json.loads(body).get("uri")
                    post = act(do="post", did=alice, link=3, spelling=13)
                    repost = act(do="repost", did=bob, subject=post)
                    quoting = act(do="post", did=carol, shape="quote_and_card", link=4,
                                  subject=post)
                    act(do="post", did=bob, shape="bare", link=3, spelling=1)
                    act(do="edit", uri=post, link=7, spelling=6)
                    for who in (alice, bob):
                        for status in ("deactivated", "active", "takendown", "active", "suspended",
                                       "active"):
                            act(do="account", did=who, status=status)
                    act(do="handle", did=alice)
                    act(do="edit", uri=quoting, link=3)
                    act(do="delete", uri=repost)
                    act(do="delete", uri=post)
                    act(do="account", did=carol, status="deleted")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
