# SPDX-License-Identifier: Apache-2.0
"""A daemon may be asked to stop at any moment of its life, the first and the last included: it ends
with 0, the store is whole and free for the next one, and nothing is lost.

  early_stop.py TIDEMARK TIDEMARK_SIM"""

import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import (NO_DIFFERENCE, PAST, begin_before_everything, difference,  # noqa: E402
                      last_wanted_us, settings, stored_in, truth_of)

STOPS = (signal.SIGTERM, signal.SIGINT)
# Passed once the program runs: while it starts, and while it works.
POINTS = ("during_migrate:1", "during_migrate:3", "after_migrate:1", "stream_opened:1",
          "unit_sent:1", "after_rows:1", "after_cursor:1", "before_commit:1", "after_commit:1",
          "before_ack:1", "unit_stored:1")


def ask_to_stop(signo):
    """In the process that is about to be the daemon: it finds the signal waiting."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signo,))
    os.kill(os.getpid(), signo)


class EarlyStop(BothStores):
    def setUp(self):
        self.sim = Simulator(self.sim_program, "--events", "300", *PAST)
        self.addCleanup(self.sim.__exit__)

    def begin(self, home, environment=(), **more):
        begin_before_everything(home, self.sim)
        return Daemon(self.program, home, settings(self.sim), environment, **more)

    def ends_well(self, daemon, when):
        self.assertEqual(daemon.process.wait(WAIT_S), 0, f"{when}: {daemon.words()}")

    def finish(self, home):
        """The next daemon gets the store at once, and makes of it what is true."""
        end = last_wanted_us(self.sim)
        with Daemon(self.program, home, settings(self.sim)) as daemon:
            daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the last event")
            self.assertEqual(difference(stored_in(daemon), truth_of(self.sim)), NO_DIFFERENCE)
            daemon.stop()

    def test_a_stop_at_the_first_moment(self):
        """Two such lives, on an empty store and on one that is there."""
        def run(home):
            for signo in STOPS:
                with self.begin(home, before_it_runs=lambda: ask_to_stop(signo)) as daemon:
                    self.ends_well(daemon, signo)
                    self.assertNotIn("msg=listening", daemon.words())
            self.finish(home)
        self.both_stores(run)

    def test_a_stop_before_the_program_runs_leaves_nothing(self):
        """The system may be quicker than the program's first line; then there was none."""
        def run(home):
            for _ in range(5):
                with Home(home.kind) as fresh, self.begin(fresh) as daemon:
                    before = {"log", "jetstream_cursor.txt"}
                    daemon.process.terminate()
                    code = daemon.process.wait(WAIT_S)
                    if code == -signal.SIGTERM:
                        self.assertEqual(set(os.listdir(fresh.folder)), before)
                        self.assertEqual(daemon.words(), "")
                    else:
                        self.assertEqual(code, 0, daemon.words())
        self.both_stores(run)

    def test_a_stop_at_a_named_point(self):
        def run(home):
            for point in POINTS:
                with Home(home.kind) as fresh:
                    with self.begin(fresh, {"TIDEMARK_STOP_AT": point}) as daemon:
                        self.ends_well(daemon, point)
                    self.finish(fresh)
        self.both_stores(run)

    def test_a_stop_as_soon_as_something_is_seen_of_it(self):
        signs = ("tidemark.sock", "msg=listening", "msg=started", "msg=connected")

        def is_seen(daemon, sign):
            return sign in daemon.words() or sign in os.listdir(daemon.home.folder)

        def run(home):
            for sign in signs:
                with Home(home.kind) as fresh:
                    with self.begin(fresh) as daemon:
                        wait_until(lambda: is_seen(daemon, sign), sign)  # pylint: disable=W0640
                        daemon.stop()
                    self.finish(fresh)
        self.both_stores(run)

    def test_a_second_stop_while_it_ends(self):
        """Its cursor file is written at the very end."""
        def run(home):
            for point in ("file_synced:1", "file_renamed:1"):
                with Home(home.kind) as fresh:
                    with self.begin(fresh, {"TIDEMARK_STOP_AT": point}) as daemon:
                        daemon.wait_for(lambda health: health["commit_seq"] > 0, "a commit")
                        daemon.process.terminate()
                        self.ends_well(daemon, point)
                    self.finish(fresh)
        self.both_stores(run)


if __name__ == "__main__":
    main()
