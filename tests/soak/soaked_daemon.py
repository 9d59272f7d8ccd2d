# SPDX-License-Identifier: Apache-2.0
"""A daemon that lives through the soak on one store: its lives, what it holds every second, and
somebody who pages through what it stores all the while."""

import glob
import http.client
import os
import random
import re
import threading
import time

from daemon_client import Daemon
from truth_compare import WIRES, sql

SLOW_LOOK = 10  # samples between two looks into the store itself
PAGE_SIZE = 200
PAGES_MAX = 40
# Rows that tell who was away what has left; they stay for 48 hours, by design.
KEPT_TABLES = ("tombstones", "past_rows")
# What outlasts its posts and therefore a soak, by design: links and who shared them stay a day,
# what is owed an hour, what was refused until somebody looks. All else goes with the posts.
LASTING_TABLES = KEPT_TABLES + ("actors", "gap_sweep", "gaps", "link_aliases", "links", "owed",
                                "quarantine", "shares")


def number_in(text, name):
    found = re.search(rf"^{name} (\S+)$", text, re.M)
    return float(found.group(1)) if found else None


class SoakedDaemon:
    def __init__(self, program, home, sim_port, wire, seed):
        self.program, self.home, self.wire = program, home, wire
        self.settings = [
            f"jetstream.endpoint=ws://127.0.0.1:{sim_port}{WIRES[wire]}",
            "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
            "jetstream.wanted_collections=[]", "jetstream.compress=false",
            "bluesky.mode=firehose", "retention.window_hours=1",
            "retention.cleanup_interval_minutes=1", "store.size_alert_gb=0"]
        self.chance = random.Random(f"{seed} {home.kind}")
        self.samples, self.violations = [], []
        self.life, self.taken_before, self.taken = 0, 0, 0
        self.posts_most = self.passing_most = 0
        self.pages = self.walks = 0
        self.more = False  # whether the query of the reader has another page
        self.over = threading.Event()
        self.daemon = None

    def start(self):
        self.life += 1
        self.taken_before += self.taken
        self.taken = 0
        self.daemon = Daemon(self.program, self.home, self.settings)

    def begin(self):
        self.start()
        self.reader = threading.Thread(target=self.read_on)
        self.reader.start()

    def end(self):
        """The reader goes home; the daemon is stopped."""
        self.over.set()
        self.reader.join()
        self.awake().stop()

    def kill(self):
        self.daemon.kill()
        self.start()

    def restart(self):
        self.awake().stop()
        self.start()

    def reload(self):
        self.awake().reload()

    def awake(self):
        """The daemon, far enough to take a signal."""
        self.daemon.wait_for(lambda _: True, "an answer")
        return self.daemon

    def violated(self, words):
        self.violations.append(f"{self.home.kind}: {words}")
        print(f"violation: {self.violations[-1]}", flush=True)

    # ---- what it holds ----

    def sample(self, second, world_us):
        """One line of the record; nothing when it does not answer at this moment."""
        assert not self.daemon.ended(), f"{self.home.kind} ended by itself:\n{self.daemon.words()}"
        try:
            words = self.daemon.ask_once("GET", "/metrics")[1].decode()
            health = self.daemon.health()
            resident = self.resident()
            descriptors = len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))
        except (OSError, http.client.HTTPException):
            return
        taken = number_in(words, "tidemark_events_total")
        if taken is None or not health or not health.get("cursor_time_us"):
            return
        self.taken = max(self.taken, int(taken))
        sample = {"second": round(second, 1), "life": self.life,
                  "taken": self.taken_before + self.taken, "rss": resident,
                  "descriptors": descriptors, "wal": self.log_bytes(),
                  "database": self.database_bytes(),
                  "lag_us": world_us - health["cursor_time_us"]}
        if len(self.samples) % SLOW_LOOK == 0:
            sample.update(self.look_into_the_store())
        self.samples.append(sample)

    def resident(self):
        with open(f"/proc/{self.daemon.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def database_bytes(self):
        if self.home.kind == "sqlite":
            return os.path.getsize(self.home.url[len("sqlite:"):])
        return int(sql(self.home, "SELECT pg_database_size(current_database())")[0][0])

    def log_bytes(self):
        if self.home.kind == "sqlite":
            return sum(map(os.path.getsize, glob.glob(f"{self.home.folder}/tidemark.db-wal")))
        return int(sql(self.home, "SELECT sum(size) FROM pg_ls_waldir()")[0][0])

    def look_into_the_store(self):
        """What goes with the posts, by bytes and by rows. Bytes are those of the fullest moment for
        each post of the fullest moment: a file does not shrink when rows go, and fills again."""
        if self.home.kind == "postgres":
            self.home.run_sql("VACUUM")  # the server's own may not get its turn on a slow machine
        sizes = self.table_sizes()
        passing = [table for table in sizes if table not in LASTING_TABLES]
        rows = {table: int(sql(self.home, f'SELECT count(*) FROM "{table}"')[0][0])
                for table in passing}
        self.posts_most = max(self.posts_most, rows["post"])
        self.passing_most = max(self.passing_most, sum(sizes[table] for table in passing))
        return {"kept": sum(sizes[table] for table in KEPT_TABLES), "posts": rows["post"],
                "rows_per_post": sum(rows.values()) / max(1, rows["post"]),
                "bytes_per_post": self.passing_most / max(1, self.posts_most)}

    def table_sizes(self):
        """{table: bytes}, with its indexes."""
        question = ("SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s "
                    "ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY s.tbl_name"
                    if self.home.kind == "sqlite" else
                    "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
                    "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
        return {table: int(size) for table, size in sql(self.home, question)}

    # ---- who reads ----

    def read_on(self):
        try:
            while not self.over.is_set():
                self.walk()
                self.walks += 1
        except Exception as error:  # whatever it is, the soak has to hear of it
            self.violated(f"a reader: {type(error).__name__}: {error}")

    def walk(self):
        """One query, page by page: no row twice while it keeps its key, and a page asked for again
        has no other rows when keys cannot change."""
        fixed = self.chance.random() < 0.5
        order = [{"field": "id", "direction": "desc"}] if fixed else []
        opened = self.ask("open", {"collection": "posts", "pageSize": PAGE_SIZE, "orderBy": order})
        if opened is None:
            return
        seen, page, more = set(), 0, True
        while more and page < PAGES_MAX:
            keys = self.page(opened, page, fixed)
            if keys is None:
                return
            assert not seen & set(keys), "a row came twice"
            if fixed and self.chance.random() < 0.2:
                again = self.page(opened, page, fixed)
                assert again is None or set(again) <= set(keys), (
                    f"page {page} asked for again has other rows: {set(again) - set(keys)}")
            seen |= set(keys)
            more, page, self.pages = self.more, page + 1, self.pages + 1
        self.ask("close", {"queryHandle": opened["queryHandle"]})

    def page(self, opened, page, fixed):
        """The rows by their keys in the order of the query; None when the soak is over."""
        answer = self.ask("next", {"queryHandle": opened["queryHandle"], "page": page})
        if answer is None:
            return None
        self.more = answer["hasMore"]
        keys = [item["id"] if fixed else (item["id"], item["sharedAt"])
                for item in answer["items"]]
        assert len(set(keys)) == len(keys), "a row came twice on one page"
        return keys

    def ask(self, what, body):
        """The answer, from whichever life of the daemon gives one; None when the soak is over."""
        while not self.over.is_set():
            try:
                status, answer = self.daemon.ask("POST", f"/api/data/query-{what}", body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # it is being killed, or starts
                continue
            if status == 503:
                continue
            assert status == 200, f"query-{what}: {status} {answer}"
            return answer
        return None
