# SPDX-License-Identifier: Apache-2.0
"""Walks with query handles through the real program: killed between any two requests and in the
midst of them, asked by many at once and by strangers, over its quotas, and with very many handles
that nobody asks.

  handles.py TIDEMARK TIDEMARK_SIM"""

import concurrent.futures
import json
import os
import random
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, SocketConnection, WAIT_S, wait_until  # noqa: E402

LONG = "TIDEMARK_LONG" in os.environ
SEED = int(os.environ.get("TIDEMARK_SEED", "20251115"))
ROWS = 230
PAGE = 5 if LONG else 20
PARKED = 1000000 if LONG else 100000
FLAT_KIB = 16 * 1024
NOBODY = ("jetstream.endpoint=ws://127.0.0.1:9/subscribe", "jetstream.fallback_endpoint=",
          "retention.enabled=false")
POSTS = ("INSERT INTO actors (id, did) VALUES (1, 'did:plc:a');"
         "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
         "WITH RECURSIVE s(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM s WHERE i < {last}) "
         "SELECT i, 1, 1, 'app.bsky.feed.post', CAST(i AS TEXT), 0, 1700000000000000 + i % 7 "
         "FROM s; UPDATE engine SET next_n = {last} + 1;")


def run_sql(home, sql, beside=False):
    """By another hand than the product's."""
    if home.kind == "sqlite":
        path = home.url[len("sqlite:"):] + (".handles" if beside else "")
        store = sqlite3.connect(path)
        try:
            store.executescript(sql)
            store.commit()
        finally:
            store.close()
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", sql, home.url], check=True)


class Walks(BothStores):
    maxDiff = 2000

    def both_stores(self, run):
        def run_on_rows(home):
            self.tell(home, "migrate")
            run_sql(home, POSTS.format(first=1, last=ROWS))
            run(home)
        super().both_stores(run_on_rows)

    def tell(self, home, command, *words):
        result = subprocess.run(
            [self.program, command, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
             "--set", f"store.data_dir={home.folder}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def start(self, home, *settings):
        daemon = Daemon(self.program, home, (*NOBODY, *settings))
        daemon.wait_for(lambda health: True, "an answer")
        return daemon

    def ask(self, daemon, command, status=200, **params):
        got, answer = daemon.ask("POST", f"/api/data/query-{command}", params)
        self.assertEqual(got, status, (answer, daemon.words()[-500:]))
        return answer

    def metric(self, daemon, name):
        _, text = daemon.ask_raw("GET", "/metrics")
        line, = [line for line in text.decode().splitlines() if line.startswith(name + " ")]
        return int(line.split()[1])

    def expected(self):
        order = sorted(range(1, ROWS + 1), key=lambda i: (i % 7, i), reverse=True)
        return [str(i) for i in order]

    def test_killed_between_any_two_requests_a_walk_goes_on(self):
        """R004-24. With PostgreSQL the next daemon is another one each time, with a folder of its
        own: what it knows, it knows from the store."""
        def run(home):
            with Home("sqlite") as elsewhere:
                other = elsewhere.folder if home.kind == "postgres" else home.folder
                folders = [home.folder, other]
                turn = 0

                def next_daemon():
                    nonlocal turn
                    turn += 1
                    place = Home.__new__(Home)
                    place.kind, place.url, place.folder = home.kind, home.url, folders[turn % 2]
                    return self.start(place)

                with next_daemon() as daemon:
                    handle = self.ask(daemon, "open", collection="posts", pageSize=PAGE)
                    handle = handle["queryHandle"]
                    daemon.kill()
                rows, pages, page = [], [], 0
                while not pages or pages[-1]["hasMore"]:
                    with next_daemon() as daemon:
                        pages.append(self.ask(daemon, "next", queryHandle=handle))
                        self.assertEqual(pages[-1]["pageNumber"], page)
                        daemon.kill()
                    rows += [item["id"] for item in pages[-1]["items"]]
                    page += 1
                self.assertEqual(rows, self.expected())
                for back in range(page - 2, page - 5, -1):
                    with next_daemon() as daemon:
                        answer = self.ask(daemon, "prev", queryHandle=handle)
                        self.assertEqual((answer["pageNumber"], answer["items"]),
                                         (back, pages[back]["items"]))
                        daemon.kill()
                with next_daemon() as daemon:
                    self.ask(daemon, "close", queryHandle=handle)
                    daemon.kill()
                with next_daemon() as daemon:
                    answer = self.ask(daemon, "next", status=404, queryHandle=handle)
                    self.assertEqual(answer["code"], "HANDLE_NOT_FOUND")
                    daemon.stop()
        self.both_stores(run)

    def test_killed_in_the_midst_of_a_request_no_row_is_lost_or_twice(self):
        """The reply is lost, rows are inserted, and the page is asked for again."""
        def run(home):
            chance = random.Random(SEED)
            # Above every number that the daemon takes for what it notes itself.
            rows, page, handle, inserted, more = [], 0, None, 100000, True
            while more:
                with self.start(home) as daemon:
                    if handle is None:
                        handle = self.ask(daemon, "open", collection="posts",
                                          pageSize=PAGE)["queryHandle"]
                    lost = SocketConnection(daemon.socket)
                    lost.request("POST", "/api/data/query-next",
                                 json.dumps({"queryHandle": handle, "page": page}))
                    moment = time.monotonic() + chance.random() / 100
                    while time.monotonic() < moment:
                        pass
                    daemon.kill()
                    lost.close()
                run_sql(home, POSTS.format(first=inserted + 1, last=inserted + 5).split(";", 1)[1])
                inserted += 5
                with self.start(home) as daemon:
                    answer = self.ask(daemon, "next", queryHandle=handle, page=page)
                    daemon.kill()
                rows += [item["id"] for item in answer["items"]]
                more = answer["hasMore"]
                page += 1
            self.assertEqual(rows, self.expected())
        self.both_stores(run)

    def test_of_many_at_once_one_wins(self):
        """R004-16, on handles that are open and on ones that were parked by a restart."""
        def run(home):
            with self.start(home) as daemon:
                handle = self.ask(daemon, "open", collection="posts", pageSize=1)["queryHandle"]
                daemon.stop()
            with self.start(home) as daemon, concurrent.futures.ThreadPoolExecutor(8) as pool:
                pages, conflicts = [], 0
                while len(pages) < 40:
                    answers = list(pool.map(lambda _: daemon.ask(
                        "POST", "/api/data/query-next", {"queryHandle": handle}), range(8)))
                    for status, answer in answers:
                        self.assertIn(status, (200, 409))
                        if status == 200:
                            pages.append((answer["pageNumber"], answer["items"][0]["id"]))
                        else:
                            self.assertEqual(answer["code"], "CONFLICT")
                            conflicts += 1
                pages.sort()
                self.assertEqual(pages, list(enumerate(self.expected()[:len(pages)])))
                daemon.stop()
        self.both_stores(run)

    def test_over_a_quota_handles_are_parked_and_come_back(self):
        def run(home):
            with self.start(home, "serve.handles_open_max=5",
                            "serve.handles_kept_max=30") as daemon:
                handles = [self.ask(daemon, "open", collection="posts", pageSize=7)["queryHandle"]
                           for _ in range(30)]
                refused = self.ask(daemon, "open", status=429, collection="posts")
                self.assertEqual(refused["code"], "QUOTA_EXCEEDED")
                self.assertEqual((self.metric(daemon, "tidemark_handles_open"),
                                  self.metric(daemon, "tidemark_handles_parked")), (5, 25))
                listed = json.loads(self.tell(home, "handles", "--json"))
                self.assertEqual([line["handle"] for line in listed], handles[::-1])
                states = [line["state"] for line in listed]
                self.assertEqual((states.count("open"), states.count("parked")), (5, 25))
                expected = self.expected()
                for page in range(3):
                    for handle in handles:
                        answer = self.ask(daemon, "next", queryHandle=handle, page=page)
                        self.assertEqual([item["id"] for item in answer["items"]],
                                         expected[page * 7:page * 7 + 7])
                self.assertEqual(self.metric(daemon, "tidemark_handles_open"), 5)
                for handle in handles[:10]:
                    self.ask(daemon, "close", queryHandle=handle)
                self.ask(daemon, "open", collection="posts")
                daemon.stop()
            # Without a daemon all of them are on disk only. R004-30
            listed = json.loads(self.tell(home, "handles", "--json"))
            self.assertEqual([(line["collection"], line["state"], line["page"], line["pageSize"])
                              for line in listed],
                             [("posts", "parked", None, 100)] + [("posts", "parked", 2, 7)] * 20)
        self.both_stores(run)

    def resident_kib(self, daemon):
        with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
            line, = [line for line in status if line.startswith("VmRSS:")]
        return int(line.split()[1])

    def exercise(self, home):
        """The same work whatever stands on the shelf; what the daemon holds after it."""
        with self.start(home, "serve.handle_idle_seconds=86400") as daemon:
            handles = [self.ask(daemon, "open", collection="posts", pageSize=7)["queryHandle"]
                       for _ in range(50)]
            for _ in range(4):
                for handle in handles:
                    self.ask(daemon, "next", queryHandle=handle)
            resident = self.resident_kib(daemon)
            for handle in handles[1:]:
                self.ask(daemon, "close", queryHandle=handle)
            parked = self.metric(daemon, "tidemark_handles_parked")
            daemon.stop()
        return resident, parked, handles[0]

    def test_very_many_parked_handles_cost_no_memory_and_end_in_slices(self):
        def run(home):
            few, _, handle = self.exercise(home)
            fresh = "randomblob(16)" if home.kind == "sqlite" else (
                "decode(md5(random()::text || i), 'hex')")
            run_sql(home, "INSERT INTO query_handles (name, session, version, opened_us, used_us, "
                    "used_minute, collection, order_by, filter, page_size, fence_n, seq, total, "
                    "count_kind, page, walk) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT "
                    f"i + 1 FROM s WHERE i < {PARKED}) SELECT {fresh}, session, version, "
                    "opened_us, used_us, used_minute, collection, order_by, filter, page_size, "
                    "fence_n, seq, total, count_kind, page, walk FROM s, (SELECT * FROM "
                    "query_handles LIMIT 1) h", beside=True)
            many, parked, _ = self.exercise(home)
            self.assertGreaterEqual(parked, PARKED)
            self.assertLess(many - few, FLAT_KIB, f"{few} KiB, {many} KiB with {PARKED} parked")
            print(f"# {home.kind}: {few} KiB with few handles, {many} KiB with {parked}")
            # The first of them is still there, and then their time is over.
            with self.start(home, "serve.handle_idle_seconds=86400") as daemon:
                self.assertEqual(self.ask(daemon, "next", queryHandle=handle)["pageNumber"], 4)
                daemon.stop()
            run_sql(home, "UPDATE query_handles SET used_us = 60000000, used_minute = 1",
                    beside=True)
            with self.start(home) as daemon:
                wait_until(lambda: self.metric(daemon, "tidemark_handles_parked") == 0,
                           "the end of all of them", 10 * WAIT_S)
                self.assertGreater(self.metric(daemon, "tidemark_handles_expired_total"), PARKED)
                self.ask(daemon, "next", status=404, queryHandle=handle)
                daemon.stop()
            self.assertEqual(json.loads(self.tell(home, "handles", "--json")), [])
        self.both_stores(run)


if __name__ == "__main__":
    main()
