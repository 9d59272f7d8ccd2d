# SPDX-License-Identifier: Apache-2.0
"""The walking skeleton: a simulated firehose through the real program into a real store, killed
again and again, and read page by page. What is stored must equal what was sent.

  skeleton.py TIDEMARK TIDEMARK_SIM"""

import os
import random
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from store_trouble import Stalled  # noqa: E402
from truth_compare import (COLLECTIONS, WIRES, begin_before_everything, difference,  # noqa: E402
                           last_wanted_us)
from truth_compare import stored_posts as stored_in, true_posts as truth_of  # noqa: E402

NO_DIFFERENCE = {}
# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)))
LONG = "TIDEMARK_LONG" in os.environ
KILLS = 200 if LONG else 25
SEED = int(os.environ.get("TIDEMARK_SEED", "20251115"))


def settings(sim, *more, wire="v1"):
    return (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}{WIRES[wire]}",
            "jetstream.fallback_endpoint=",
            f"jetstream.wanted_collections=[{', '.join(COLLECTIONS)}]",  # R001-157: reposts, too
            "jetstream.reconnect_delay_seconds=1", *more)


def step_on(sim):
    """Until there is one more event that a daemon wants."""
    end = last_wanted_us(sim)
    while last_wanted_us(sim) == end:
        sim.step(1)


class Skeleton(BothStores):
    maxDiff = 2000

    def finish(self, home, sim, environment=()):
        """Runs the daemon to the end of the stream and compares."""
        end = last_wanted_us(sim)
        with Daemon(self.program, home, settings(sim), environment) as daemon:
            daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the last event")
            self.assertEqual(difference(stored_in(daemon), truth_of(sim)), NO_DIFFERENCE)
            self.assertEqual(daemon.walk("gaps"), [])
            self.assertEqual(daemon.walk("quarantine"), [])
            daemon.stop()

    def test_everything_sent_is_stored_and_paged(self):
        with Simulator(self.sim_program, "--events", "6000", *PAST) as sim:
            def run(home):
                begin_before_everything(home, sim)
                self.finish(home, sim)
            self.both_stores(run)

    def test_killed_at_random_nothing_is_lost_and_nothing_comes_twice(self):
        def run(home):
            chance = random.Random(SEED)
            with Simulator(self.sim_program, "--events", "100", *PAST,
                           "--gap-us", "1000") as sim:
                begin_before_everything(home, sim)
                seq = 0
                for _ in range(KILLS):
                    goal = seq + chance.randrange(1, 4)
                    with Daemon(self.program, home, settings(sim)) as daemon:
                        sim.step(chance.randrange(50, 400))

                        def reached():
                            assert not daemon.ended(), daemon.words()
                            health = daemon.health()
                            if health and health["commit_seq"] < goal:
                                sim.step(20)
                            return health if health and health["commit_seq"] >= goal else None
                        seq = wait_until(reached, "commits")["commit_seq"]
                        sim.step(chance.randrange(1, 200))
                        daemon.kill()
                self.finish(home, sim)
        self.both_stores(run)

    def test_killed_at_every_named_point_it_recovers(self):
        writing = ("after_rows", "after_cursor", "before_commit", "after_commit", "before_ack")
        points = [("during_migrate", 1), ("during_migrate", 2), ("after_migrate", 1)]
        points += [(point, hit) for point in writing for hit in (1, 2)]

        def run(home):
            with Simulator(self.sim_program, "--events", "3000", *PAST,
                           "--gap-us", "1000") as sim:
                begin_before_everything(home, sim)
                for point, hit in points:
                    sim.step(50)
                    environment = {"TIDEMARK_CRASH_AT": f"{point}:{hit}"}
                    with Daemon(self.program, home, settings(sim), environment) as daemon:
                        def fallen():
                            sim.step(5)
                            return daemon.ended()
                        wait_until(fallen, f"the end at {point}:{hit}")
                        self.assertEqual(daemon.process.returncode, -9, daemon.words())
                self.finish(home, sim)
        self.both_stores(run)

    def test_a_stop_commits_what_was_taken_in(self):
        """The store stands still while events come in and the daemon is asked to stop: what it has
        taken off the wire by then is durable when it has ended. Nobody can ask for it again: the
        network is gone."""
        def run(home):
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                for _ in range(3):
                    self.stop_while_it_stalls(home, sim)
                self.compare_without_network(home, sim)
        self.both_stores(run)

    def stop_while_it_stalls(self, home, sim):
        # On the newer wire nothing is asked for twice. What it replays is over before the store
        # stands still, or it would fill all batches: an event that comes after it is stored.
        with Daemon(self.program, home, settings(sim, wire="v2")) as daemon:
            lines = daemon.words().count("msg=stopping")
            daemon.wait_for(lambda health: health["websocket_connected"], "a start")
            step_on(sim)
            end = last_wanted_us(sim)
            daemon.wait_for(lambda health: health["cursor_time_us"] == end, "what is live")
            with Stalled(home):
                for _ in range(3):  # batches: one is being written, the others wait for it
                    self.have_one_taken_in(daemon, sim)
                if home.kind == "sqlite":  # PostgreSQL has it wait, SQLite has it try again
                    daemon.wait_for(lambda health: health["writer_trouble"], "its trouble")
                daemon.process.send_signal(signal.SIGTERM)
                wait_until(lambda: daemon.words().count("msg=stopping") > lines, "its stopping")
            self.assertEqual(daemon.process.wait(WAIT_S), 0, daemon.words())

    def have_one_taken_in(self, daemon, sim):
        """The next event that the daemon wants; others are not sent."""
        before = daemon.metric("tidemark_events_total")
        step_on(sim)
        wait_until(lambda: daemon.metric("tidemark_events_total") > before,
                   "an event to be taken in")

    def compare_without_network(self, home, sim):
        nowhere = ("jetstream.endpoint=ws://127.0.0.1:9/subscribe", "jetstream.fallback_endpoint=")
        end = last_wanted_us(sim)
        with Daemon(self.program, home, nowhere) as daemon:
            health = daemon.wait_for(lambda health: True, "a start")
            self.assertEqual(health["cursor_time_us"], end)
            self.assertEqual(difference(stored_in(daemon), truth_of(sim)), NO_DIFFERENCE)
            daemon.stop()

    def test_a_second_daemon_is_refused_and_the_first_goes_on(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as first:
                    first.wait_for(lambda health: health["commit_seq"] > 0, "a commit")
                    with Daemon(self.program, home, settings(sim)) as second:
                        code = second.process.wait(WAIT_S)
                        self.assertEqual(code, 1)
                        self.assertIn("another tidemark", second.words())
                    sim.step(300)
                    end = last_wanted_us(sim)
                    first.wait_for(lambda health: health["cursor_time_us"] == end, "the end")
                    self.assertEqual(difference(stored_in(first), truth_of(sim)), NO_DIFFERENCE)
                    first.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
