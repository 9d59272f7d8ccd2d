# SPDX-License-Identifier: Apache-2.0
"""Calls to the machine that fail in a running daemon: the n-th write, fsync, open, connect, recv,
send, accept, allocation and start of a thread, each in a life of its own. The daemon goes on and
has all in the end, or it ends with a sentence; the next life has all. Besides: a disk that is full
for a while, a clock that jumps an hour, no descriptors left, no processor for a while; of these
nobody dies. Every fault proves that it happened; on both stores.

  calls.py TIDEMARK TIDEMARK_SIM LIBRARY [KIND...]

First it is counted how often a life makes calls of a kind; some of them, evenly apart, fail then,
TIDEMARK_SEED chooses which. TIDEMARK_LONG=1 lets each of them fail in turn."""

import concurrent.futures
import errno
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from call_faults import FOREVER, CallFaults, kinds_of  # noqa: E402
from daemon_client import WAIT_S, Daemon, Home, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from truth_compare import (COLLECTIONS, begin_before_everything, difference,  # noqa: E402
                           last_wanted_us, stored_posts, true_posts)

LONG = "TIDEMARK_LONG" in os.environ
SEED = int(os.environ.get("TIDEMARK_SEED", "20261116"))
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
SAMPLES = 2         # of a kind, besides its first call
FULL_CALLS = 4      # that a full disk refuses
HOUR_S = 3600
STOPS = 3
# The sentence of whoever ends.
REASON = re.compile(r"^tidemark: |^cannot |level=error", re.M)


class Sweep:
    """One store; every life has the same stream before it, and a little more."""

    def __init__(self, programs, library, home, sim):
        self.program, self.home, self.sim = programs[0], home, sim
        self.chance = random.Random(f"{SEED} {home.kind}")
        self.faults = CallFaults(library, home)
        self.tried = self.fired = self.ended = 0
        begin_before_everything(home, sim)

    def daemon(self):
        return Daemon(self.program, self.home, (
            f"jetstream.endpoint=ws://127.0.0.1:{self.sim.port}/subscribe",
            "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
            f"jetstream.wanted_collections=[{', '.join(COLLECTIONS)}]"),
            self.faults.environment())

    def is_there(self, daemon):
        """Whether the last event is stored."""
        health = daemon.health()
        return health and (health["cursor_time_us"] or 0) >= self.end

    def step(self, events):
        self.sim.step(events)
        self.end = last_wanted_us(self.sim)

    def check(self, daemon):
        found = difference(stored_posts(daemon), true_posts(self.sim))
        assert not found, f"the store differs: {found}"

    def run_well(self):
        """A life in which nothing fails: it has everything."""
        self.faults.disarm()
        self.step(20)
        with self.daemon() as daemon:
            daemon.wait_for(lambda _: self.is_there(daemon), "the last event")
            self.check(daemon)
            daemon.stop()

    # ---- the n-th call fails ----

    def fail_nth(self, kind, nth):
        """One life; whether the fault happened. It does, unless the life made fewer calls."""
        before = self.faults.calls(kind)
        self.faults.disarm()
        self.faults.arm(kind, nth)
        self.step(20)
        with open(os.path.join(self.home.folder, "log"), "w", encoding="utf-8"):
            pass  # what is heard is of this life
        with self.daemon() as daemon:
            wait_until(lambda: daemon.ended() or self.is_there(daemon), f"{kind} {nth} to pass")
            daemon.process.terminate()  # the fault may as well strike at the end
            code = daemon.process.wait(WAIT_S)
            fired, words = self.faults.failed(kind) > 0, daemon.words()
        clear = code == 0 or (fired and code in (1, -signal.SIGABRT) and REASON.search(words))
        assert clear, f"{kind} {nth}: ended with {code} and says {words[-2000:]!r}"
        made = self.faults.calls(kind) - before
        assert fired or made < nth, f"{kind} {nth} did not fail, and there were {made}"
        self.tried, self.fired = self.tried + 1, self.fired + fired
        self.ended += code != 0
        return fired

    def count_calls(self, kinds):
        """How often a daemon without faults makes calls of each kind."""
        self.run_well()  # makes its tables
        before = {kind: self.faults.calls(kind) for kind in kinds}
        self.run_well()
        return {kind: self.faults.calls(kind) - before[kind] for kind in kinds}

    def numbers(self, count):
        """The calls that fail, evenly apart."""
        if LONG:
            return range(1, count + 1)
        stretch = max(1, count // SAMPLES)
        off = self.chance.randrange(stretch)
        return [1] + [1 + min(count - 1, off + i * stretch) for i in range(SAMPLES)]

    def sweep(self, kind, count):
        assert count > 0, f"there is no {kind} in the life of a daemon"
        numbers = self.numbers(count)
        fired = sum(self.fail_nth(kind, nth) for nth in numbers)
        assert fired > 0, f"no {kind} ever failed"
        self.run_well()
        print(f"store={self.home.kind} fault={kind} of={count} tried={len(numbers)} "
              f"fired={fired}", flush=True)

    # ---- misfortunes that pass ----

    def outlive(self, name, happen):
        """A daemon to which something happens, which then has everything without a new start."""
        self.faults.disarm()
        self.step(20)
        with self.daemon() as daemon:
            daemon.wait_for(lambda _: self.is_there(daemon), "the last event")
            fired = happen(daemon)
            assert fired, f"{name} did not happen"
            daemon.wait_for(lambda _: self.is_there(daemon), f"the last event after {name}")
            self.check(daemon)
            daemon.stop()
        self.tried, self.fired = self.tried + 1, self.fired + 1
        print(f"store={self.home.kind} fault={name} fired={fired}", flush=True)

    def fill_disk(self, daemon):
        self.faults.arm("write", 1, FOREVER, errno.ENOSPC)

        def is_over():
            assert not daemon.ended(), f"ended:\n{daemon.words()[-2000:]}"
            self.step(1)
            return self.faults.failed("write") >= FULL_CALLS
        wait_until(is_over, "the disk to be full")
        self.faults.disarm()
        return self.faults.failed("write")

    def turn_clock(self, daemon):
        for off in (HOUR_S, -HOUR_S, 0):
            self.faults.set_clock(off)
            self.step(20)
            daemon.wait_for(lambda _: self.is_there(daemon), f"the last event {off} s off")
        return self.faults.clock_told()

    def take_descriptors(self, daemon):
        """As many as it has, and not one more."""
        pid = daemon.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        self.faults.arm("accept", FOREVER)  # counts from here
        held = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held, limits[1]))
        callers = []
        try:
            def is_out():
                assert not daemon.ended(), f"ended:\n{daemon.words()[-2000:]}"
                callers.append(daemon.call())
                self.step(1)
                return self.faults.failed("accept") > 0
            wait_until(is_out, "the last descriptor to be taken")
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            for caller in callers:
                caller.close()
        return self.faults.failed("accept")

    def take_processor(self, daemon):
        """Others have it all, and meanwhile the host of the stream hangs up."""
        for _ in range(STOPS):
            daemon.process.send_signal(signal.SIGSTOP)
            with open(f"/proc/{daemon.process.pid}/stat", encoding="utf-8") as file:
                wait_until(lambda: file.seek(0) or file.read().rsplit(")", 1)[1][1] == "T", "rest")
            self.sim.arm("name=disconnect")
            self.step(20)
            wait_until(lambda: self.sim.stats()["connections"] == 0, "the host to hang up")
            daemon.process.send_signal(signal.SIGCONT)
            daemon.wait_for(lambda _: self.is_there(daemon), "the last event")
        return STOPS


    # ---- copies ----

    def break_backup(self):
        """Each fsync of `tidemark backup` fails once: what is not reported is not there. The last
        one is its folder's, without which the name might not outlive a power cut; of some SQLite
        needs no answer."""
        copy, words, fired = os.path.join(self.home.folder, "copy.db"), [], 1
        while fired:
            self.faults.arm("fsync", len(words) + 1)
            done = subprocess.run(
                [self.program, "backup", copy, "-c", "/dev/null", "--set",
                 f"store.url={self.home.url}", "--set", f"store.data_dir={self.home.folder}"],
                env=dict(os.environ, **self.faults.environment()), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=WAIT_S, check=False)
            fired = self.faults.failed("fsync")
            is_there = os.path.exists(copy)
            assert done.returncode == (0 if is_there else 1) and (fired or is_there), done
            words.append(done.stderr)
            if is_there:
                os.remove(copy)
        assert "cannot make the backup" in words[-2], words
        self.tried, self.fired = self.tried + len(words), self.fired + len(words) - 1
        print(f"store=sqlite fault=backup fired={len(words) - 1}", flush=True)


def run_on(store, programs, library, kinds):
    with Home(store) as home, Simulator(programs[1], "--events", "60", *PAST) as sim:
        sweep = Sweep(programs, library, home, sim)
        for kind, count in sweep.count_calls(kinds).items():
            sweep.sweep(kind, count)
        shared = sweep.tried
        if store == "sqlite":
            sweep.break_backup()
            sweep.outlive("disk-full", sweep.fill_disk)
        alone = sweep.tried - shared  # what the other store cannot do
        sweep.outlive("clock", sweep.turn_clock)
        sweep.outlive("descriptors", sweep.take_descriptors)
        sweep.outlive("processor", sweep.take_processor)
        print(f"store={store} tests={sweep.tried - alone} alone={alone} fired={sweep.fired} "
              f"ended={sweep.ended}")
        return sweep


def main():
    programs, library = sys.argv[1:3], sys.argv[3]
    kinds = sys.argv[4:] or kinds_of(library)
    print(f"calls: seed {SEED}", flush=True)
    stores = ("sqlite", "postgres")
    with concurrent.futures.ThreadPoolExecutor(len(stores)) as pool:
        sweeps = list(pool.map(lambda store: run_on(store, programs, library, kinds), stores))
    print(f"calls: {sum(sweep.tried for sweep in sweeps)} faults of {len(kinds)} kinds of calls, "
          f"{sum(sweep.fired for sweep in sweeps)} fired, {sum(sweep.ended for sweep in sweeps)} "
          "ended a daemon, each of which went on afterwards")


if __name__ == "__main__":
    main()
