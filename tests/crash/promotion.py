# SPDX-License-Identifier: Apache-2.0
"""The whole daemon on a PostgreSQL primary with a standby: the primary is killed with kill -9 while
events come in, the standby is promoted, and the same process goes on there. In the end the store
holds the truth, its own rules hold, and whoever pages meanwhile is answered in words. Once the kill
comes when a commit is on the standby and nobody was told.

  promotion.py TIDEMARK TIDEMARK_SIM

TIDEMARK_SEED chooses the moments; TIDEMARK_LONG=1 makes many rounds, each with a new standby where
the old primary was."""

import os
import random
import subprocess
import sys
import tempfile
import shutil
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from daemon_client import Daemon, wait_until  # noqa: E402
from postgres_pair import Pair  # noqa: E402
from sim_client import Simulator  # noqa: E402
from truth_compare import (COLLECTIONS, begin_before_everything, difference,  # noqa: E402
                           differences, last_wanted_us, stored_posts, true_posts)

LONG = "TIDEMARK_LONG" in os.environ
SEED = int(os.environ.get("TIDEMARK_SEED", "20261116"))
ROUNDS = 20 if LONG else 2
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
SETTLED_S = 300


class PairHome:
    """The home of a daemon whose store has two addresses."""

    kind = "postgres"

    def __init__(self, pair):
        self.url, self.folder = pair.url, tempfile.mkdtemp(prefix="tidemark-home-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


class Promotion(unittest.TestCase):
    program = sim_program = None

    def daemon(self, home, sim):
        return Daemon(self.program, home, (
            f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
            "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
            f"jetstream.wanted_collections=[{', '.join(COLLECTIONS)}]"))

    def lives(self, daemon):
        self.assertFalse(daemon.ended(), f"the daemon ended:\n{daemon.words()[-4000:]}")

    def let_commit(self, daemon, sim, commits):
        """Events come in until there are so many commits more."""
        goal = daemon.wait_for(lambda _: True, "an answer")["commit_seq"] + commits

        def reached():
            self.lives(daemon)
            sim.step(20)
            return (daemon.health() or {}).get("commit_seq", 0) >= goal
        wait_until(reached, "commits")

    def wait_for_trouble(self, daemon, sim):
        """Events come in, and the daemon tells people that it cannot store them."""
        def in_trouble():
            self.lives(daemon)
            sim.step(5)
            health = daemon.health()
            return health and health["writer_trouble"]
        return wait_until(in_trouble, "the daemon to say that its store is away")

    def judge(self, daemon, home, sim):
        end = last_wanted_us(sim)

        def arrived():
            self.lives(daemon)
            return ((daemon.health() or {}).get("cursor_time_us") or 0) >= end
        wait_until(arrived, "the last event", SETTLED_S)
        try:
            stored = stored_posts(daemon)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{daemon.words()[-4000:]}") from None
        self.assertEqual(difference(stored, true_posts(sim)), {})
        self.assertEqual(differences(daemon, sim, ("links", "post_links", "shares")), {})
        self.assertEqual([gap for gap in daemon.walk("gaps") if gap["closedAt"] is None], [])
        self.assertEqual(daemon.walk("quarantine"), [])
        daemon.wait_for(lambda health: health["status"] == "healthy", "its health")

    def verify(self, home):
        done = subprocess.run([self.program, "verify", "-c", "/dev/null", "--set",
                               f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"tidemark verify: {done.stdout}{done.stderr}")

    def page_on(self, daemon, opened):
        """A handle from before the kill goes on, or is gone and says so: what holds handles does
        not travel to a standby."""
        status, answer = daemon.ask("POST", "/api/data/query-next",
                                    {"queryHandle": opened["queryHandle"]})
        gone = status == 404 and answer["code"] == "HANDLE_NOT_FOUND"
        self.assertTrue(status == 200 or gone, (status, answer))

    def test_a_killed_primary_is_left_for_its_standby(self):
        chance = random.Random(SEED)
        with Pair() as pair, PairHome(pair) as home, \
                Simulator(self.sim_program, "--events", "200", *PAST) as sim:
            begin_before_everything(home, sim)
            with self.daemon(home, sim) as daemon:
                for number in range(ROUNDS):
                    if number > 0:
                        pair.follow(old_port)
                    self.let_commit(daemon, sim, chance.randrange(3, 30))
                    _, opened = daemon.ask("POST", "/api/data/query-open",
                                           {"collection": "posts", "pageSize": 7})
                    sim.step(chance.randrange(1, 400))
                    old_port = pair.primary.port
                    pair.primary.kill()
                    self.wait_for_trouble(daemon, sim)
                    pair.promote()
                    self.let_commit(daemon, sim, 3)
                    self.page_on(daemon, opened)
                    self.judge(daemon, home, sim)
                daemon.stop()
            self.verify(home)
        print(f"fault=promotion fired={ROUNDS}")

    def test_a_commit_nobody_answers_for_is_there_once(self):
        with Pair() as pair, PairHome(pair) as home, \
                Simulator(self.sim_program, "--events", "200", *PAST) as sim:
            begin_before_everything(home, sim)
            pair.primary.do("ALTER SYSTEM SET synchronous_commit = remote_apply")
            pair.primary.do("SELECT pg_reload_conf()")
            pair.primary.await_value("SHOW synchronous_commit", "remote_apply")
            with self.daemon(home, sim) as daemon:
                self.let_commit(daemon, sim, 5)
                pair.standby.do("SELECT pg_wal_replay_pause()")
                pair.standby.await_value("SELECT pg_get_wal_replay_pause_state()", "paused")

                def waits():
                    sim.step(20)
                    return pair.primary.ask("SELECT count(*) > 0 FROM pg_stat_activity "
                                            "WHERE wait_event = 'SyncRep'") == "t"
                wait_until(waits, "a commit that waits for the standby")
                pair.primary.await_value("SELECT flush_lsn >= pg_current_wal_flush_lsn() "
                                         "FROM pg_stat_replication", "t")
                pair.standby.await_value(
                    "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()", "t")
                pair.primary.kill()
                self.wait_for_trouble(daemon, sim)
                pair.promote()
                self.judge(daemon, home, sim)
                daemon.stop()
            self.verify(home)
        print("fault=ambiguous-promotion fired=1")

    def test_nothing_is_read_from_a_standby_that_is_behind(self):
        """The primary is restarted while people read. What was acknowledged is neither missed nor
        written over, though a standby that answers has not heard of it."""
        with Pair() as pair, PairHome(pair) as home:
            pair.primary.do("ALTER SYSTEM RESET synchronous_standby_names")
            pair.primary.do("SELECT pg_reload_conf()")
            config = os.path.join(home.folder, "tidemark.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write("collections: {notes: {fields: {a: text, k: int}}}\n")
            with Daemon(self.program, home, ("bluesky.mode=polling",), (), config) as daemon:
                def ask(command, **params):
                    return daemon.ask("POST", f"/api/data/{command}",
                                      {"collection": "notes", **params})

                daemon.wait_for(lambda _: True, "an answer")
                self.assertEqual(ask("create", data={"id": "x", "a": "0", "k": 0})[0], 200)
                pair.standby.await_value("SELECT count(*) FROM data_notes", "1")
                pair.primary.stop()
                for _ in range(8):  # there are several readers
                    status, _ = daemon.ask_once("POST", "/api/data/read",
                                                {"collection": "notes", "id": "x"})
                    self.assertEqual(status, 503)
                pair.primary.start()
                pair.standby.do("SELECT pg_wal_replay_pause()")
                pair.standby.await_value("SELECT pg_get_wal_replay_pause_state()", "paused")
                wait_until(lambda: ask("update", id="x", data={"k": 1})[0] == 200, "an update")
                want = {"id": "x", "a": "0", "k": 1}
                for turn in range(2, 10):
                    change = {"k": turn} if turn % 2 else {"a": str(turn)}
                    status, answer = ask("update", id="x", data=change)
                    want.update(change)
                    self.assertEqual((status, answer.get("item")), (200, want))
                    self.assertEqual(ask("read", id="x")[1].get("item"), want)
                    self.assertEqual(ask("list")[1].get("items"), [want])
                    self.assertEqual(ask("create", data={"id": "x", "a": "new"})[0], 409)
                self.assertEqual(pair.standby.ask("SELECT k FROM data_notes"), "0")
                daemon.stop()
        print("fault=standby-behind fired=1")


def main():
    Promotion.program, Promotion.sim_program = map(os.path.abspath, sys.argv[1:3])
    print(f"promotion: seed {SEED}", flush=True)
    result = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False, verbosity=2).result
    print(f"only=postgres tests={result.testsRun}")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
