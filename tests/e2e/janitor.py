# SPDX-License-Identifier: Apache-2.0
"""A daemon forgets what has served its time, at its start and between batches, on both stores.

  janitor.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import WAIT_S, Daemon, wait_until  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from store_trouble import Stalled  # noqa: E402

HOUR_US = 3600 * 1000000
NOWHERE = ("jetstream.endpoint=ws://127.0.0.1:9", "jetstream.fallback_endpoint=")


def sql(home, text):
    """Runs it by another hand than the product's; the first column of the first row, as text."""
    if home.kind == "sqlite":
        store = sqlite3.connect(home.url[len("sqlite:"):], timeout=60)
        try:
            for statement in text.split(";"):
                row = store.execute(statement).fetchone()
            store.commit()
        finally:
            store.close()
        return None if row is None else str(row[0])
    out = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", text, home.url],
                         check=True, capture_output=True, text=True).stdout
    return out.split("\n")[0]


def fill(home, old=1201):
    """So many posts of two days ago and one of this hour, all of one link that is kept."""
    now_us, all_posts = int(time.time() * 1000000), old + 1
    numbers = ("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i "
               f"WHERE n < {all_posts}) SELECT {{}} FROM i")
    at_us = f"CASE WHEN n = {all_posts} THEN {now_us} ELSE {now_us - 48 * HOUR_US} END"
    sql(home, "INSERT INTO actors (id, did) " + numbers.format("n, 'did:plc:a' || n"))
    sql(home, "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) " +
        numbers.format(f"n, 0, n, 'app.bsky.feed.post', 'k', 0, {at_us}"))
    sql(home, "INSERT INTO links (id, normalized_url, original_url, share_count_total, "
              f"last_shared_us, below_us) VALUES (1, 'https://e', 'https://e', {all_posts}, "
              f"{now_us}, 1)")
    sql(home, "INSERT INTO post_links (post_id, link_id, via, actor) " +
        numbers.format("n, 1, 'post', n"))
    sql(home, "INSERT INTO share (link_id, actor, last_us, n_posts, counted) " +
        numbers.format(f"1, n, {at_us}, 1, 1"))
    sql(home, f"UPDATE engine SET next_n = {2 * all_posts}")


class Janitor(BothStores):
    def tell(self, home, command):
        done = subprocess.run([self.program, command, "-c", "/dev/null",
                               "--set", f"store.url={home.url}",
                               "--set", f"store.data_dir={home.folder}"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # R001-70 R001-79; R001-123: none of its commits is taken for the way of an event
    def test_the_start_makes_up_for_the_time_away(self):
        def run(home):
            self.tell(home, "migrate")
            fill(home)
            with Daemon(self.program, home, (*NOWHERE, "retention.enabled=false")) as daemon:
                daemon.wait_for(lambda health: True, "the daemon to answer")
                daemon.stop()
            self.assertEqual(sql(home, "SELECT count(*) FROM posts"), "1202")
            with Daemon(self.program, home, NOWHERE) as daemon:
                wait_until(lambda: sql(home, "SELECT count(*) FROM posts") == "1", "the old to go")
                wait_until(lambda: "cleaned_up" in daemon.words(), "the word of it")
                self.assertIn(b"tidemark_event_commit_seconds_count 0\n",
                              daemon.ask_raw("GET", "/metrics")[1])
                daemon.stop()
            self.assertEqual(sql(home, "SELECT share_count_total FROM links"), "1202")
            self.assertEqual(sql(home, "SELECT count(*) FROM shares WHERE n_posts = 1"), "1202")
            self.tell(home, "verify")
        self.both_stores(run)

    def fail_to_start(self, home, times, *settings):
        """Starts whose last step fails, when the store was asked already what is to go."""
        for _ in range(times):
            with Daemon(self.program, home, (*NOWHERE, *settings)) as daemon:
                self.assertEqual(daemon.process.wait(WAIT_S), 1, daemon.words())
        for word in ("cannot_start", "stopped"):
            self.assertEqual(daemon.words().count(f"msg={word} "), times, daemon.words())
        os.remove(daemon.log)

    def test_a_start_that_fails_late_ends_in_order(self):
        def run(home):
            self.tell(home, "migrate")
            fill(home)
            with socket.create_server(("127.0.0.1", 0)) as other:
                self.fail_to_start(home, 6, f"serve.listen=127.0.0.1:{other.getsockname()[1]}")
            self.fail_to_start(home, 6, f"serve.tokens_file={home.folder}/nowhere")
            with Daemon(self.program, home, NOWHERE) as daemon:
                wait_until(lambda: "cleaned_up" in daemon.words(), "the old to go")
                daemon.stop()
            self.tell(home, "verify")
        self.both_stores(run)

    @staticmethod
    def configure(home, enabled):
        path = os.path.join(home.folder, "tidemark.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"retention: {{enabled: {enabled}}}\nlog: {{level: debug}}\n")
        return path

    def begin_to_clean(self, home, daemon):
        """The first slice is with the writer; of a stalled store it is not stored."""
        self.configure(home, "true")
        daemon.reload()
        wait_until(lambda: "msg=slice_sent" in daemon.words(), "the clean-up to begin")

    def share(self, daemon, sim):
        """A post of this moment, which the daemon takes off the wire."""
        before = daemon.metric("tidemark_events_total")
        did = json.loads(lines(sim.get("/_sim/accounts"))[0])["did"]
        status, body = sim.ask("POST", f"/_sim/act?do=post&did={did}")
        self.assertEqual(status, 200, body)
        wait_until(lambda: daemon.metric("tidemark_events_total") > before, "the post to come")

    def test_a_clock_that_is_a_year_ahead_removes_nothing_young(self):
        """Young is what the sources' own time says; the clock may run ahead of it for an hour."""
        def run(home):
            self.tell(home, "migrate")
            fill(home)
            for table, column in (("post", "shared_us"), ("share", "last_us"),
                                  ("links", "last_shared_us")):
                sql(home, f"UPDATE {table} SET {column} = {column} - {365 * 24 * HOUR_US}")
            sql(home, f"UPDATE post SET shared_us = shared_us + {46 * HOUR_US} WHERE n <= 1000")
            with Daemon(self.program, home, NOWHERE) as daemon:
                wait_until(lambda: "cleaned_up" in daemon.words(), "the old to go")
                self.assertEqual(sql(home, "SELECT count(*) FROM posts"), "1001")
                self.assertEqual(sql(home, "SELECT count(*) FROM links"), "1")
                self.assertEqual(daemon.words().count("msg=held_back"), 1, daemon.words())
                daemon.stop()
            with Daemon(self.program, home, (*NOWHERE, "bluesky.mode=off")) as daemon:
                wait_until(lambda: sql(home, "SELECT count(*) FROM posts") == "0", "the rest to go")
                daemon.stop()
            self.tell(home, "verify")
        self.both_stores(run)

    def test_what_was_held_back_goes_once_the_sources_speak(self):
        """After a long time away the store knows only old times; the first news tells the time."""
        def run(home):
            self.tell(home, "migrate")
            fill(home)
            sql(home, f"UPDATE post SET shared_us = shared_us - {72 * HOUR_US}")
            with Simulator(self.sim_program, "--events", "1", "--start-us", "now") as sim:
                live = (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
                        "jetstream.fallback_endpoint=")
                with Daemon(self.program, home, live) as daemon:
                    wait_until(lambda: "msg=held_back" in daemon.words(), "the word of it")
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    self.share(daemon, sim)
                    wait_until(lambda: sql(home, "SELECT count(*) FROM post WHERE rkey = 'k'") ==
                               "0", "the old to go")
                    daemon.stop()
            self.tell(home, "verify")
        self.both_stores(run)

    # R001-80
    def test_what_comes_in_is_stored_while_thousands_of_posts_go(self):
        """A post that comes when the first slice is being removed does not wait for the others."""
        old = 12000
        look = ("SELECT (SELECT max(seq) FROM post WHERE rkey <> 'k') || ' ' || "
                "(SELECT max(seq) FROM tombstones WHERE collection = 'posts.n')")

        def run(home):
            self.tell(home, "migrate")
            fill(home, old)
            sql(home, "ANALYZE")  # as a server does by itself
            with Simulator(self.sim_program, "--events", "1", "--start-us", "now") as sim:
                live = (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
                        "jetstream.fallback_endpoint=")
                with Daemon(self.program, home, live,
                            config=self.configure(home, "false")) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    with Stalled(home):
                        self.begin_to_clean(home, daemon)
                        self.share(daemon, sim)
                    wait_until(lambda: "cleaned_up" in daemon.words(), "the old to go", 400)
                    slices = int(re.search(r"slices=(\d+)", daemon.words()).group(1))
                    daemon.stop()
            self.assertEqual(sql(home, "SELECT count(*) FROM post WHERE rkey = 'k'"), "1")
            self.assertGreaterEqual(slices, old // 500)
            stored, ended = map(int, sql(home, look).split())
            self.assertLess(stored, ended)
            self.tell(home, "verify")
        self.both_stores(run)

    # R001-79
    def test_nothing_more_goes_once_cleaning_up_is_not_wanted(self):
        """The slice that is under way is the last one; the rest goes once it is wanted again."""
        old = 3000

        def run(home):
            self.tell(home, "migrate")
            fill(home, old)
            with Daemon(self.program, home, NOWHERE,
                        config=self.configure(home, "false")) as daemon:
                daemon.wait_for(lambda health: True, "the daemon to answer")
                with Stalled(home):
                    self.begin_to_clean(home, daemon)
                    self.configure(home, "false")
                    daemon.reload()
                    wait_until(lambda: daemon.words().count("msg=reloaded") == 2, "the word")
                wait_until(lambda: "cleaned_up" in daemon.words(), "the slice to go")
                self.assertEqual(re.findall(r"slices=(\d+)", daemon.words()), ["1"])
                left = int(sql(home, "SELECT count(*) FROM posts"))
                self.assertGreater(left, 1)
                self.assertLess(left, old + 1)
                self.configure(home, "true")
                daemon.reload()
                wait_until(lambda: sql(home, "SELECT count(*) FROM posts") == "1", "the old to go")
                daemon.stop()
            self.tell(home, "verify")
        self.both_stores(run)


if __name__ == "__main__":
    main()
