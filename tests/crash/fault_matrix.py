# SPDX-License-Identifier: Apache-2.0
"""Every fault of the simulated network x both stores x both wires, with kill -9 in between: what is
stored equals what is true, every gap is closed or shown, nothing comes twice, and every fault
really happened. Ends with one line `crash: N kills, N faults, 0 violations`.

  fault_matrix.py TIDEMARK TIDEMARK_SIM [FAULT...]

Environment: KILLS, at least so many kills (200; 1000 with TIDEMARK_LONG); SECONDS, go on for at
least so long (0); TIDEMARK_SEED, JOBS (4). A violation names its seed and cell; that cell alone is
run again by TIDEMARK_SEED=S with the name of the fault."""

import concurrent.futures
import json
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from daemon_client import Daemon, Home, wait_until  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import (WIRES, begin_before_everything, difference,  # noqa: E402
                           differences, last_wanted_us, stored_follows, stored_posts,
                           true_follows, true_posts)

LONG = "TIDEMARK_LONG" in os.environ
KILLS = int(os.environ.get("KILLS", "1000" if LONG else "200"))
SECONDS = float(os.environ.get("SECONDS", "0"))
SEED = int(os.environ.get("TIDEMARK_SEED", str(random.SystemRandom().randrange(1 << 32))))
JOBS = int(os.environ.get("JOBS", "4"))
# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
DICTIONARY = "network.bsky.jetstream.getZstdDictionary"
WORDS_MAX = 3000
EVENTS_MAX = 1500  # of a cell: less than a v1 host is asked for again


class Fault:
    """What is armed, and what it may leave behind."""

    def __init__(self, name, plan, wires=("v1", "v2"), lossy=False, quarantine=False,
                 compress=None, label=None, after=(10, 150), appview=False):
        self.name, self.plan, self.wires, self.lossy = name, plan, wires, lossy
        self.quarantine, self.compress, self.after = quarantine, compress, after
        self.appview = appview  # one follows people, and it is the AppView that fails
        self.label = label or name


def refusal(status, more=""):
    return Fault("refuse", f"status={status}{more or '&count=2'}", label=f"refuse-{status}",
                 after=(0, 0))


def appview(name, plan, label):
    return Fault(name, plan, label=label, after=(0, 0), appview=True)


FAULTS = [
    Fault("reset", ""), Fault("disconnect", ""), Fault("cut", ""), Fault("close", ""),
    Fault("too_slow", "", wires=("v2",)), Fault("stall", "ms=1200"), Fault("slow", "ms=400"),
    Fault("duplicate", "count=50", after=(0, 5)), Fault("reorder", "count=20", after=(0, 9)),
    Fault("drop", "count=3", lossy=True), Fault("cutover", "", lossy=True, after=(0, 0)),
    Fault("omit", "collection=app.bsky.feed.repost", lossy=True),
    Fault("garbage", "count=3", quarantine=True), Fault("truncate", "count=3", quarantine=True),
    Fault("truncate", "lossy=1", lossy=True, quarantine=True, label="truncate-lossy"),
    Fault("huge", "bytes=5000000"), Fault("wrong_dictionary", "", compress=True),
    Fault("http", f"collection={DICTIONARY}&status=500", ("v2",), compress=True, after=(0, 0),
          label="dictionary-500"),
    Fault("http", f"collection={DICTIONARY}&status=200", ("v2",), compress=True, after=(0, 0),
          label="dictionary-html"),
    Fault("http_truncate", f"collection={DICTIONARY}", ("v2",), compress=True, after=(0, 0),
          label="dictionary-truncated"),
    Fault("skew", "us=-2500000", label="skew"), Fault("tls", "count=2", after=(0, 0)),
    Fault("tls", "status=1&count=2", after=(0, 0), label="tls-stranger"),
    *(refusal(status) for status in (0, 200, 400, 403, 404, 410, 500, 502, 503)),
    refusal(429, "&retry_after=1"), refusal(401, "&count=1"),
    *(appview("http", f"status={status}", f"appview-{status}")
      for status in (0, 200, 400, 401, 403, 404, 410, 500, 502, 503)),
    appview("http", "status=429&retry_after=1", "appview-429"),
    appview("http_truncate", "", "appview-truncated"),
    appview("http_stall", "ms=700", "appview-stall"),
]
METHODS = ("app.bsky.graph.getFollows", "app.bsky.feed.getAuthorFeed", "app.bsky.feed.getPosts")
CONVERGENCE_S = 150


class Tally:
    """What happened in all cells together."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kills = self.faults = 0
        self.cells = {"sqlite": 0, "postgres": 0}
        self.violations = []

    def cell_done(self, store, faults):
        with self.lock:
            self.cells[store] += 1
            self.faults += faults

    def killed(self):
        with self.lock:
            self.kills += 1

    def violated(self, words):
        with self.lock:
            self.violations.append(words)
            print("violation: " + words, flush=True)


class Cell:
    """One fault on one store over one wire, from an empty store to its end."""

    def __init__(self, programs, tally, fault, store, wire, seed):
        self.program, self.sim_program = programs
        self.tally, self.fault, self.store, self.wire, self.seed = tally, fault, store, wire, seed
        self.chance = random.Random(f"{seed} {fault.label} {store} {wire}")
        self.method = self.chance.choice(METHODS)
        self.events = 0
        self.words = ""  # the daemon's last ones, when something is wrong

    def __str__(self):
        return f"seed={self.seed} fault={self.fault.label} store={self.store} wire={self.wire}"

    def run(self):
        try:
            with Home(self.store) as home:
                self.live(home)
        except Exception as error:  # any surprise is a violation, and the other cells go on
            self.tally.violated(f"{self}: {type(error).__name__}: {error}\n{self.words}")

    def live(self, home):
        try:
            self.live_through(home)
        except Exception:
            with open(os.path.join(home.folder, "log"), encoding="utf-8") as log:
                self.words = log.read()[-WORDS_MAX:]
            raise

    def live_through(self, home):
        tls = ("--tls", "--tls-save", f"{home.folder}/sim.pem") if self.fault.name == "tls" else ()
        world = ("--events", "60")
        if self.fault.appview:
            world = ("--events", "1", "--accounts", "60", "--follows", "12")
        with Simulator(self.sim_program, *world, "--seed", str(self.chance.randrange(1 << 30)),
                       *PAST, *tls) as sim:
            self.sim, self.home = sim, home
            if self.fault.appview:
                begin_before_everything(home, sim)
                self.introduce()
            else:
                self.arm()
                begin_before_everything(home, sim)
            for _ in range(self.chance.randint(1, 2)):
                self.live_and_die(self.chance.choice(("at once", "commits", "fault")))
            if self.fault.lossy:  # what a v1 host kept from us comes again after a new start
                self.live_and_die("fault")
                sim.ask("DELETE", "/_sim/fault")
            self.finish()
            self.tally.cell_done(self.store, sim.fired(self.fault.name))

    def arm(self):
        low, high = self.fault.after
        plan = self.fault.plan
        if self.fault.appview:
            plan += "&collection=" + self.method
        self.sim.arm(f"name={self.fault.name}&after={self.chance.randint(low, high)}&{plan}")

    def settings(self):
        scheme = "wss" if self.fault.name == "tls" else "ws"
        chosen = [f"jetstream.endpoint={scheme}://127.0.0.1:{self.sim.port}{WIRES[self.wire]}",
                  "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
                  f"bluesky.appview=http://127.0.0.1:{self.sim.control_port}",
                  "cards.enabled=false"]
        if self.fault.appview:
            chosen += [f"bluesky.actors=[{self.me()}]", "backfill.rate_limit_ms=0"]
        compress = self.fault.compress
        if compress is None:
            compress = self.chance.random() < 0.5
        chosen.append(f"jetstream.compress={str(compress).lower()}")
        if scheme == "wss":
            chosen.append(f"fetch.ca_file={self.home.folder}/sim.pem")
        if compress and self.wire == "v1":
            path = f"{self.home.folder}/v1.zdict"
            with open(path, "wb") as file:
                file.write(self.sim.get("/_sim/dictionary"))
            chosen.append(f"jetstream.dictionary_file={path}")
        return chosen

    def introduce(self):
        """A first life before anything happens: whom one follows is known. What comes later comes
        over the stream then, with all that a feed does not tell."""
        backfills = self.method == METHODS[1]
        if backfills:  # which happens only for those who are new
            self.arm()
        with Daemon(self.program, self.home, self.settings()) as daemon:
            daemon.wait_for(lambda _: not self.follows_missing(), "the follows")
            daemon.stop()
        if not backfills:
            self.arm()

    def follows_missing(self):
        """Who is not known to be followed; whoever left since is still known."""
        return true_follows(self.sim) - stored_follows(self.home, self.me())

    def me(self):
        return json.loads(lines(self.sim.get("/_sim/accounts"))[0])["did"]

    def step(self, low, high):
        """New events, as long as a v1 host would still send all of them again."""
        count = min(self.chance.randint(low, high), EVENTS_MAX - self.events)
        if count > 0:
            self.sim.step(count)
            self.events += count

    def has_fired(self):
        return self.sim.fired(self.fault.name) > 0

    def live_and_die(self, when):
        with Daemon(self.program, self.home, self.settings()) as daemon:
            self.step(20, 200)
            if when == "commits":
                self.wait_for_commits(daemon, self.chance.randint(1, 5))
            elif when == "fault":
                self.wait(daemon, self.has_fired, "the fault")
            self.step(0, 60)
            try:  # any moment of the next fifth of a second is as good as another
                code = daemon.process.wait(self.chance.random() / 5)
                raise AssertionError(f"ended by itself with {code}")
            except subprocess.TimeoutExpired:
                daemon.kill()
                self.tally.killed()

    def wait_for_commits(self, daemon, goal):
        """So many, or all that there will be."""
        def reached():
            commits = (daemon.health() or {}).get("commit_seq", 0)
            return commits >= (goal if self.events < EVENTS_MAX else 1)
        self.wait(daemon, reached, "commits")

    def wait(self, daemon, condition, what):
        def look():
            assert not daemon.ended(), f"ended before {what}"
            held = condition()
            if not held:
                self.step(1, 3)
            return held
        wait_until(look, what)

    def finish(self):
        with Daemon(self.program, self.home, self.settings()) as daemon:
            self.step(20, 100)
            if self.fault.quarantine and not self.fault.lossy:
                self.fired_before = self.sim.fired(self.fault.name)
                self.arm()  # once more where nobody is killed, so that a row must be there
            if not self.fault.lossy:
                fired = self.fired_before if self.fault.quarantine else 0
                self.wait(daemon, lambda: self.sim.fired(self.fault.name) > fired,
                          f"{self.fault.label} to happen")
            if self.fault.appview:
                self.converge(daemon)
                daemon.stop()
                return
            end = last_wanted_us(self.sim)
            daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the last event")
            self.judge(daemon)
            daemon.stop()

    def converge(self, daemon):
        """What is followed, and all that those people share, is there after a while."""
        found = {}

        def look():
            assert not daemon.ended(), "ended while it caught up"
            found["follows"] = self.follows_missing()
            found["posts"] = difference(self.without_times(stored_posts(daemon)),
                                        self.without_times(true_posts(self.sim, "&follows=1")))
            found["links"] = differences(daemon, self.sim, ("post_links",), "&follows=1")
            return not any(found.values())
        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
        try:
            wait_until(look, "the store to be complete", CONVERGENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.method}: {found}") from None

    @staticmethod
    def without_times(posts):
        """A feed has its own time of a post, and the earlier one counts."""
        return {uri: (*row[:3], row[4]) for uri, row in posts.items()}

    def expected(self):
        truth = true_posts(self.sim)
        if self.fault.name != "skew":
            return truth
        off = int(self.fault.plan.split("=")[1])
        return {uri: (*row[:3], row[3] + off, row[4]) for uri, row in truth.items()}

    def is_excused(self):
        """A v2 number is resumed exactly: what a host kept to itself does not come again, and no
        sign of it is on the wire. A v1 host is asked again from a little before."""
        return self.fault.lossy and self.wire == "v2"

    def without_what_was_lost(self, rows):
        lost = [json.loads(line) for line in lines(self.sim.get("/_sim/lost"))]
        uris = {row["uri"] for row in lost if "uri" in row}
        dids = {row["did"] for row in lost if "uri" not in row}
        return {uri: row for uri, row in rows.items()
                if uri not in uris and uri.split("/")[2] not in dids}

    def judge_links(self, daemon):
        if self.is_excused():
            return
        what = ["links", "post_links"]
        if self.fault.name != "skew":  # its shares have other times
            what.append("shares")
        found = differences(daemon, self.sim, what)
        assert not found, f"the store differs: {found}"

    def judge(self, daemon):
        stored, truth = stored_posts(daemon), self.expected()
        if self.is_excused():
            stored, truth = self.without_what_was_lost(stored), self.without_what_was_lost(truth)
        found = difference(stored, truth)
        assert not found, f"the store differs: {found}"
        self.judge_links(daemon)
        assert self.has_fired(), "the fault did not happen"
        open_gaps = [gap for gap in daemon.walk("gaps") if gap["closedAt"] is None]
        assert not open_gaps, f"gaps that nothing explains: {open_gaps}"
        spoilt = len(daemon.walk("quarantine"))
        assert spoilt == 0 or self.fault.quarantine, f"{spoilt} rows in quarantine"
        assert spoilt > 0 or self.fault.lossy or not self.fault.quarantine, "nothing in quarantine"


def main():
    programs, wanted = sys.argv[1:3], set(sys.argv[3:])
    tally, begin, round_number = Tally(), time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        while round_number == 0 or (not tally.violations and (
                tally.kills < KILLS or time.monotonic() - begin < SECONDS)):
            cells = [Cell(programs, tally, fault, store, wire, SEED + round_number)
                     for fault in FAULTS if not wanted or fault.label in wanted
                     for wire in fault.wires for store in ("sqlite", "postgres")]
            list(pool.map(Cell.run, cells))
            round_number += 1
            if wanted:
                break
    for store, cells in tally.cells.items():
        print(f"store={store} tests={cells}")
    print(f"crash: {tally.kills} kills, {tally.faults} faults, {len(tally.violations)} violations")
    return 1 if tally.violations or (not wanted and tally.kills < KILLS) else 0


if __name__ == "__main__":
    sys.exit(main())
