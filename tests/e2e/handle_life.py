# SPDX-License-Identifier: Apache-2.0
"""The whole life of a query handle, from outside, on both stores: opened, read to its end and back,
closed; forgotten when nobody uses it, or when its session ends; there again after a restart.

  handle_life.py TIDEMARK TIDEMARK_SIM"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import wait_until  # noqa: E402
from sim_client import Websocket  # noqa: E402
from tail import MESSAGES, Chat, open_over  # noqa: E402

ROWS, PAGE = 23, 5
SESSION = "5" * 32
LONG = "serve.handle_idle_seconds=86400"


class HandleLife(BothStores):
    """R004-59"""

    def fill(self, daemon):
        for number in range(ROWS):
            daemon.data("create", collection=MESSAGES, data={
                "id": f"m{number:03}", "roomId": "a", "status": "x", "text": str(number),
                "timestamp": f"2026-01-01T00:00:{number:02}Z"})
        return [f"m{number:03}" for number in range(ROWS)]

    def open(self, daemon):
        answer = daemon.data("query-open", collection=MESSAGES, pageSize=PAGE,
                             orderBy=[{"field": "timestamp", "direction": "asc"}],
                             filter={"roomId": "a"})
        self.assertEqual((answer["totalCount"], answer["totalCountKind"]), (ROWS, "exact"))
        return answer["queryHandle"]

    def page(self, daemon, command, handle, **more):
        answer = daemon.data(f"query-{command}", queryHandle=handle, **more)
        return [item["id"] for item in answer["items"]], answer

    def is_gone(self, daemon, handle):
        for command in ("query-next", "query-prev", "query-tail"):
            status, answer = daemon.ask("POST", f"/api/data/{command}", {"queryHandle": handle})
            self.assertEqual((status, answer["code"]), (404, "HANDLE_NOT_FOUND"))

    def listed(self, daemon):
        return {each["handle"] for each in daemon.ask("GET", "/api/admin/handles")[1]["handles"]}

    def read_on(self, daemon, handle, ids, pages):
        """The next pages, each with its number, and again as if the answer had been lost."""
        for number in pages:
            expected = ids[number * PAGE:(number + 1) * PAGE]
            for again in range(2):
                got, answer = self.page(daemon, "next", handle, page=number)
                self.assertEqual((got, answer["pageNumber"]), (expected, number), again)
                self.assertEqual(answer["hasMore"], (number + 1) * PAGE < ROWS)

    def test_opened_read_to_its_end_and_back_and_closed(self):
        def run(home):
            with Chat(home) as daemon:
                ids, handle = self.fill(daemon), self.open(daemon)
                last = (ROWS - 1) // PAGE
                self.read_on(daemon, handle, ids, range(last + 1))
                got, answer = self.page(daemon, "next", handle)
                self.assertEqual((got, answer["hasMore"]), ([], False))
                for number in range(last, -1, -1):
                    got, answer = self.page(daemon, "prev", handle)
                    self.assertEqual(got, ids[number * PAGE:(number + 1) * PAGE])
                    self.assertEqual(answer["hasPrevious"], number > 0)
                self.assertIn(handle, self.listed(daemon))
                for _ in range(2):  # twice is as good as once
                    daemon.data("query-close", queryHandle=handle)
                self.assertNotIn(handle, self.listed(daemon))
                self.is_gone(daemon, handle)
                daemon.stop()
        self.both_stores(run)

    def test_one_that_nobody_uses_expires(self):
        def run(home):
            with Chat(home, "serve.handle_idle_seconds=1") as daemon:
                self.fill(daemon)
                handle = self.open(daemon)
                wait_until(lambda: handle not in self.listed(daemon), "its end")
                self.is_gone(daemon, handle)
                daemon.stop()
        self.both_stores(run)

    def test_it_ends_with_its_session(self):
        def run(home):
            with Chat(home, LONG, "serve.session_grace_seconds=1") as daemon:
                ids, other = self.fill(daemon), self.open(daemon)
                with Websocket(daemon, "/api/ws", (f"Tidemark-Session: {SESSION}",),
                               host="localhost") as websocket:
                    handle = open_over(websocket, collection=MESSAGES, pageSize=PAGE)
                    self.assertLessEqual({handle, other}, self.listed(daemon))
                    status, answer = daemon.ask("POST", "/api/data/query-next",
                                                {"queryHandle": handle})
                    self.assertEqual((status, answer["code"]), (403, "FORBIDDEN"))
                wait_until(lambda: handle not in self.listed(daemon), "the end of its session")
                self.read_on(daemon, other, ids, range(2))  # another session's lives on
                daemon.stop()
        self.both_stores(run)

    def test_it_goes_on_after_a_restart_and_after_a_kill(self):
        def run(home):
            with Chat(home, LONG) as daemon:
                ids, handle = self.fill(daemon), self.open(daemon)
                self.read_on(daemon, handle, ids, range(2))
                daemon.stop()
            with Chat(home, LONG) as daemon:
                self.read_on(daemon, handle, ids, range(2, 3))
                daemon.kill()
            with Chat(home, LONG) as daemon:
                self.read_on(daemon, handle, ids, range(2, 5))  # the last page once more, then on
                daemon.data("query-close", queryHandle=handle)
                daemon.stop()
            with Chat(home, LONG) as daemon:
                self.is_gone(daemon, handle)  # what was closed stays closed
                daemon.stop()
        self.both_stores(run)

    def command(self, home, *words):
        subprocess.run([self.program, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
                        "--set", f"store.data_dir={home.folder}"], check=True, capture_output=True)

    def put_back(self, home, copy):
        """As docs/OPERATING.md says."""
        if home.kind == "postgres":
            subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", "SET client_min_messages "
                            "= warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public",
                            home.url], check=True)
            subprocess.run(["pg_restore", f"--dbname={home.url}", copy], check=True)
            return
        store = home.url[len("sqlite:"):]
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(store + ending):
                os.remove(store + ending)
        shutil.copy(copy, store)

    def test_it_ends_when_the_store_is_put_back_to_an_earlier_state(self):
        """Numbers of commits are given again: a tail would be silent of what came with them."""
        def run(home):
            copy = os.path.join(home.folder, "copy")
            with Chat(home, LONG) as daemon:
                self.fill(daemon)
                handles = [self.open(daemon)]
                self.command(home, "backup", copy)
                daemon.data("update", collection=MESSAGES, id="m000", data={"text": "lost"})
                handles.append(self.open(daemon))
                daemon.stop()
            for times in range(2):  # the same copy once more
                self.put_back(home, copy)
                with Chat(home, LONG) as daemon:
                    for handle in handles:
                        self.is_gone(daemon, handle)
                    self.assertEqual(self.listed(daemon), set(), times)
                    daemon.data("update", collection=MESSAGES, id="m000", data={"text": "lost"})
                    handles = [self.open(daemon)]
                    daemon.stop()
            with Chat(home, LONG) as daemon:
                self.assertEqual(self.listed(daemon), set(handles))
                daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
