# SPDX-License-Identifier: Apache-2.0
"""The store stands still, or is not there, while the network goes on: the daemon answers, keeps
what it was sent within its bounds, and nothing is lost.

  store_away.py TIDEMARK TIDEMARK_SIM"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import (NO_DIFFERENCE, PAST, begin_before_everything, difference,  # noqa: E402
                      last_wanted_us, settings, stored_in, truth_of)
from store_trouble import Door, Stalled, away  # noqa: E402

MIB = 1 << 20
RING = 16 * MIB
FRAME = MIB  # of each of the frames that fill the ring
# The ring, all batches, and as much again for what the machine itself takes.
GROWTH_MAX = 4 * RING
PATIENCE_S = 300  # for work that a slow machine has to do, after a pause of up to 30 s
SMALL_HEAP = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"}


def is_in_trouble(health):
    return health["writer_trouble"] is not None


class StoreAway(BothStores):
    def wait_for_end(self, daemon, sim):
        end = last_wanted_us(sim)

        def reached():
            assert not daemon.ended(), daemon.words()
            health = daemon.health()
            return health and health["cursor_time_us"] == end
        wait_until(reached, "the last event", PATIENCE_S)
        self.assertEqual(difference(stored_in(daemon), truth_of(sim)), NO_DIFFERENCE)
        self.assertEqual(daemon.walk("gaps"), [])

    def test_health_answers_while_nothing_can_be_had_of_the_store(self):
        """R001-113: the health page is made of what the daemon knows: it is there, and says what is
        wrong, while every question to the store fails."""
        question = {"collection": "posts", "pageSize": 1}

        def run(home):
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.wait_for_end(daemon, sim)
                    with away(home):
                        sim.step(200)
                        daemon.wait_for(is_in_trouble, "the writer's trouble")
                        status, answer = daemon.ask_once("POST", "/api/data/query-open", question)
                        self.assertNotEqual(status, 200, answer)
                        status, health = daemon.ask("GET", "/health")
                        self.assertEqual((status, health["status"]), (503, "degraded"))
                        self.assertEqual(daemon.ask_once("GET", "/metrics")[0], 200)
                    self.wait_for_end(daemon, sim)
                    daemon.wait_for(lambda health: health["status"] == "healthy", "its recovery")
                    daemon.stop()
        self.both_stores(run)

    def test_a_declaration_is_taken_once_the_store_is_back(self):
        """Nobody writes anything else that would find out that the store is back."""
        def declare(home, names):
            path = os.path.join(home.folder, "tidemark.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(["collections:\n"] +
                                [f"  {name}: {{fields: {{a: text}}}}\n" for name in names])
            return path

        def run(home):
            config = declare(home, ["notes"])
            with Daemon(self.program, home, ("bluesky.mode=polling",), (), config) as daemon:
                daemon.wait_for(lambda _: True, "an answer")
                with away(home):
                    declare(home, ["notes", "others"])
                    daemon.reload()
                    wait_until(lambda: "msg=declaration_waits" in daemon.words(),
                               "the news that it waits", PATIENCE_S)
                wait_until(lambda: daemon.ask("POST", "/api/data/query-open",
                                              {"collection": "others"})[0] == 200,
                           "the new collection", PATIENCE_S)
                self.assertEqual(daemon.words().count("msg=declaration_waits"), 1)
                daemon.stop()
        self.both_stores(run)

    def test_a_source_that_cannot_begin_anew_ends_the_daemon_in_order(self):
        """The loop waits for the store meanwhile, and all that it looks at now and then is due when
        that has failed; of the source nothing is there any more."""
        def run(home):
            if home.kind == "sqlite":
                return  # nobody stands before a file
            with Door(home.url) as door, \
                    Simulator(self.sim_program, "--events", "100", *PAST) as sim:
                home.url = door.outside
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.wait_for_end(daemon, sim)

                    def reset():
                        """Readers without a connection open theirs while the door is open."""
                        daemon.ask("GET", "/api/status")
                        door.shut = True
                        status, _ = daemon.ask_once("POST", "/api/admin/reset",
                                                    {"source": "jetstream"})
                        door.shut = status == 200
                        return door.shut
                    wait_until(reset, "the reset")
                    self.assertEqual(daemon.process.wait(PATIENCE_S), 1, daemon.words())
                    self.assertIn("msg=source_not_restarted", daemon.words())
                home.url = door.url
        self.both_stores(run)

    def test_a_full_ring_closes_the_connection_and_loses_nothing(self):
        """The writer stands still while more comes than the ring of frames holds: memory stays
        within its bound, the connection is closed, and made anew once there is room."""
        def run(home):
            with Simulator(self.sim_program, "--events", "300", *PAST, "--gap-us", "1000") as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, "jetstream.compress=false"),
                            SMALL_HEAP) as daemon:
                    self.wait_for_end(daemon, sim)
                    before = daemon.memory()
                    with Stalled(home):
                        self.fill_ring(daemon, sim, before)
                        sim.step(50)  # nobody is there to hear it
                        self.assert_bounded(daemon, before)
                        daemon.wait_for(lambda health: not health["websocket_connected"],
                                        "the news that nobody is connected")
                        sim.ask("DELETE", "/_sim/fault")
                        opened = daemon.words().count("msg=connected")
                    self.wait_for_end(daemon, sim)
                    self.assertGreater(daemon.words().count("msg=connected"), opened)
                    daemon.stop()
        self.both_stores(run)

    def assert_bounded(self, daemon, before):
        self.assertLess(daemon.memory() - before, GROWTH_MAX * daemon.shadows())

    def fill_ring(self, daemon, sim, before):
        """Sends large frames among the events until there is no room for more."""
        sim.arm(f"name=huge&count=1000000&lasts=1&bytes={FRAME}")

        def is_full():
            assert not daemon.ended(), daemon.words()
            self.assert_bounded(daemon, before)
            if sim.stats()["connections"] > 0:
                sim.step(1)
            return "msg=ring_full" in daemon.words()
        wait_until(is_full, "a full ring", PATIENCE_S)
        self.assertGreater(sim.fired("huge") * FRAME, RING)


if __name__ == "__main__":
    main()
