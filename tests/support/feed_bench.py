# SPDX-License-Identifier: Apache-2.0
"""A daemon that reads feeds which the test wrote, on either store."""

import sqlite3
import subprocess
import sys
import unittest

from both_stores import BothStores, finish
from daemon_client import Daemon, wait_until
from sim_client import Simulator

MINUTE = 60 * 1000000
HOUR = 60 * MINUTE


def values(rows):
    return ", ".join("(" + ", ".join("NULL" if value is None else
                                     str(value) if isinstance(value, int) else f"'{value}'"
                                     for value in row) + ")" for row in rows)


def queue_sql(view, priority, since_us, dids=None, at_us=1):
    rows = [(did, priority, since_us, "test", at_us, at_us + i, at_us)
            for i, did in enumerate(dids or view.accounts)]
    return ["INSERT INTO backfill_queue (actor_did, priority, since_us, reason, next_us, "
            "queued_us, asked_us) VALUES " + values(rows)]


class FeedBench(BothStores):
    maxDiff = 2000
    mode = "firehose"

    @classmethod
    def setUpClass(cls):
        cls.firehose = Simulator(cls.sim_program, "--events", "1")
        cls.endpoint = f"ws://127.0.0.1:{cls.firehose.port}/subscribe"

    @classmethod
    def tearDownClass(cls):
        cls.firehose.__exit__()

    def daemon(self, home, view, *settings, endpoint=None, **more):
        return Daemon(self.program, home, (
            f"bluesky.appview={view.address}", f"bluesky.mode={self.mode}",
            f"jetstream.endpoint={endpoint or self.endpoint}", "jetstream.fallback_endpoint=",
            "backfill.rate_limit_ms=0", "polling.retry_backoff_ms=1",
            "retention.enabled=false",  # each start cleans up: what is dated back would be gone
            *settings), **more)

    def migrate(self, home):
        subprocess.run([self.program, "migrate", "-c", "/dev/null", "--set",
                        f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"],
                       check=True, capture_output=True)

    def run_sql(self, home, statements):
        home.run_sql(";\n".join(statements) + ";\n")

    def select(self, home, question):
        """The first value of the answer, as words."""
        if home.kind == "sqlite":
            store = sqlite3.connect(home.url[7:], timeout=60)
            row = store.execute(question).fetchone()
            store.close()
            return "" if row is None or row[0] is None else str(row[0])
        return subprocess.run(["psql", "-qXAt", "-c", question, home.url], check=True, text=True,
                              capture_output=True).stdout.strip()

    def command(self, home, *words):
        """Exit code and words of a command."""
        done = subprocess.run([self.program, words[0], "-c", "/dev/null", "--set",
                               f"store.url={home.url}", "--set", f"store.data_dir={home.folder}",
                               *words[1:]], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def follow(self, home, view):
        rows = [(account.did, account.handle) for account in view.accounts.values()]
        self.run_sql(home, ["INSERT INTO follows (did, handle) VALUES " + values(rows),
                            "INSERT INTO circle (did, degree, sources) VALUES " +
                            values([(did, 1, 1) for did in view.accounts])])

    def wait_for_queue(self, daemon, depth):
        def look():
            assert not daemon.ended(), daemon.words()
            return self.select(daemon.home, "SELECT count(*) FROM backfill_queue") == str(depth)
        wait_until(look, f"a queue of {depth}")

    def stored(self, daemon):
        return {row["uri"]: row for row in daemon.walk("posts")}

    def assert_stored(self, daemon, view, since=0, extra=()):
        """Everything above `since` is stored, and nothing that is not there (any more)."""
        shown = {item["uri"]: item for account in view.accounts.values() if not account.standing
                 for item in account.items}
        wanted = {uri for uri, item in shown.items()
                  if min(item["seen"], item["created"]) >= since}
        stored = set(self.stored(daemon))
        self.assertEqual(wanted - stored, set(), "missing")
        self.assertEqual(stored - set(shown) - set(extra), set(), "too many")


def main(*cases, stores=True):
    """Without `stores` the cases choose themselves where they keep what they read."""
    for case in cases:
        case.program, case.sim_program = sys.argv[1:3]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               for case in cases)
    if len(sys.argv) > 3:
        suite = unittest.TestSuite(case(name) for case in cases for name in sys.argv[3:]
                                   if hasattr(case, name))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    finish(result, stores and len(sys.argv) <= 3)
