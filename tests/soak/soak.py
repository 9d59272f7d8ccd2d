# SPDX-License-Identifier: Apache-2.0
"""The soak: a daemon on each store against one simulated network at five times the rate of the real
one, with everything that goes wrong in a long life: broken wires, hosts that start again, kill -9,
new starts, reloads, and retention, which forgets as fast as the network speaks. In the end the
stores hold what is true, their own rules hold, nothing was read twice, and what a daemon holds and
its store takes stays where it is. Ends with one line `soak: ...`.

  soak.py TIDEMARK TIDEMARK_SIM FOLDER

Environment: SECONDS (1800 with TIDEMARK_LONG, else 300), TIDEMARK_SEED (any). FOLDER gets the
samples, soak.json, from which tools/plots makes a picture."""

import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from daemon_client import Daemon, Home, wait_until  # noqa: E402
from flatness import verdicts  # noqa: E402
from free_port import free_port  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from soaked_daemon import SoakedDaemon  # noqa: E402
from truth_compare import (begin_before_everything, difference, last_wanted_us,  # noqa: E402
                           sql, stored_posts, to_us, truly_said, truth)

LONG = "TIDEMARK_LONG" in os.environ
SECONDS = float(os.environ.get("SECONDS", "1800" if LONG else "300"))
SEED = int(os.environ.get("TIDEMARK_SEED", random.SystemRandom().randrange(1 << 32)))
REAL_RATE = 480  # events a second of the whole network
RATE = 5 * REAL_RATE
GAP_US = 1000000 // RATE
HOUR_US = 3600 * 1000000
# What happens now left the window of an hour but for this: a post is forgotten a minute later.
MEMORY_US = 60 * 1000000
MARGIN_EVENTS = 1000
NOISE_PERCENT = "80"
LAST_LIFE = 0.6  # nobody is killed in what is left of the run
STUCK_LOOKS = 12000
PEOPLE_AT_ONCE = 20
FORGET_S = 600
MISFORTUNES = ("name=reset", "name=cut", "name=disconnect", "name=close", "name=stall&ms=1200",
               "name=slow&ms=400", "name=duplicate&count=50", "name=reorder&count=20",
               "name=garbage&count=3", "name=truncate&count=3", "name=huge&bytes=5000000",
               "name=refuse&status=503&count=2")


class World:
    """The simulated network; it comes back on its port with all that has happened meanwhile."""

    def __init__(self, program):
        self.program, self.port = program, free_port()
        self.begin_us = int(time.time() * 1000000)
        self.faults, self.restarts = {}, -1
        self.sim = None

    def start(self, live=True):
        self.stop()
        passed = (int(time.time() * 1000000) - self.begin_us) // GAP_US
        rate = ("--rate", str(RATE)) if live else ()
        self.restarts += 1
        self.sim = Simulator(
            self.program, "--port", str(self.port), "--seed", str(SEED % (1 << 30)),
            "--start-us", str(self.begin_us - HOUR_US + MEMORY_US), "--gap-us", str(GAP_US),
            "--events", str(passed + MARGIN_EVENTS * (self.restarts + 1)),
            "--noise", NOISE_PERCENT, *rate)

    def stop(self):
        if self.sim:
            for name, count in self.sim.stats()["faults"].items():
                self.faults[name] = self.faults.get(name, 0) + count
            self.sim.__exit__()
        self.sim = None


class Soak:
    def __init__(self, program, world, homes):
        self.program, self.world = program, world
        self.chance = random.Random(SEED)
        wires = ["v1", "v2"]
        self.chance.shuffle(wires)
        self.daemons = [SoakedDaemon(program, home, world.port, wire, SEED)
                        for home, wire in zip(homes, wires)]
        self.counts = {"kill": 0, "stop": 0, "reload": 0}

    def run(self):
        for daemon in self.daemons:
            begin_before_everything(daemon.home, self.world.sim)
            daemon.begin()
        begin = time.monotonic()
        next_look, next_trouble = begin, begin + 5
        while time.monotonic() < begin + SECONDS:
            time.sleep(max(0, next_look - time.monotonic()))
            next_look = max(next_look + 1, time.monotonic())
            world_us = self.world.sim.stats()["last_time_us"]
            for daemon in self.daemons:
                daemon.sample(time.monotonic() - begin, world_us)
            if time.monotonic() >= next_trouble:
                self.trouble((time.monotonic() - begin) / SECONDS)
                next_trouble = time.monotonic() + self.chance.uniform(2, 8)

    def trouble(self, part):
        """Something goes wrong, for one of the daemons or for both."""
        what = self.chance.random()
        victim = self.chance.choice(self.daemons)
        if what < 0.1:
            self.world.start()
        elif what < 0.2:
            victim.reload()
            self.counts["reload"] += 1
        elif what < 0.28 and part < LAST_LIFE:
            victim.kill()
            self.counts["kill"] += 1
        elif what < 0.32 and part < LAST_LIFE:
            victim.restart()
            self.counts["stop"] += 1
        else:
            self.world.sim.arm(f"{self.chance.choice(MISFORTUNES)}"
                               f"&after={self.chance.randrange(2000)}")

    # ---- the verdict ----

    def judge(self):
        for daemon in self.daemons:
            daemon.end()
        forgotten_us = int(time.time() * 1000000) - HOUR_US
        self.world.start(live=False)
        for daemon in self.daemons:
            try:
                self.compare(daemon, forgotten_us)
                self.forget(daemon)
                self.verify(daemon)
            except AssertionError as error:
                daemon.violated(str(error))
            for verdict in verdicts(daemon.samples, daemon.home.kind):
                if not verdict["flat"]:
                    daemon.violated(f"not flat: {verdict}")

    def compare(self, subject, forgotten_us):
        """What retention has not taken must be what is true."""
        settings = subject.settings + ["retention.enabled=false"]
        end = last_wanted_us(self.world.sim)
        with Daemon(self.program, subject.home, settings) as daemon:
            self.wait_for_end(daemon, end)
            kept = {uri: row for uri, row in stored_posts(daemon).items()
                    if row[3] >= forgotten_us}
            expected, revived = self.expected(forgotten_us)
            wrong = {uri: (kept[uri], row) for uri, row in revived.items()
                     if uri in kept and (*kept[uri][:3], kept[uri][4]) != row}
            assert not wrong, f"edits of what was forgotten: {list(wrong.items())[:3]}"
            found = difference(kept, expected, fluid=revived)
            assert not found, f"the store differs: {found}"
            open_gaps = [gap for gap in daemon.walk("gaps") if gap["closedAt"] is None]
            assert not open_gaps, f"gaps that nothing explains: {open_gaps}"
            assert kept, "nothing was kept"
            daemon.stop()

    def forget(self, subject):
        """A start without a network forgets all that left the window, but for what newer posts pass
        on: what a store holds is bounded by its window."""
        bound = int(time.time() * 1000000) - HOUR_US
        question = (f"SELECT uri FROM posts WHERE shared_us < {bound} AND uri NOT IN "
                    "(SELECT subject FROM post WHERE subject IS NOT NULL) LIMIT 1")
        with Daemon(self.program, subject.home, [*subject.settings,
                                                 "jetstream.endpoint=ws://127.0.0.1:9"]) as daemon:
            daemon.wait_for(lambda _: True, "an answer")
            wait_until(lambda: not sql(subject.home, question), "the old to go", FORGET_S)
            daemon.stop()

    def expected(self, forgotten_us):
        """The posts that must be there; and those that are older but were edited since: when the
        edit came, the store may have known them no more, and keeps them as something new."""
        sim, expected, revived = self.world.sim, {}, {}
        people = [json.loads(line)["did"] for line in lines(sim.get("/_sim/accounts"))]
        for begin in range(0, len(people), PEOPLE_AT_ONCE):
            some = ",".join(people[begin:begin + PEOPLE_AT_ONCE])
            for row in truth(sim, "posts", f"&dids={some}"):
                text = (row["rev"], row["kind"], truly_said(row))
                if row["time_us"] >= forgotten_us:
                    expected[row["uri"]] = (*text, row["time_us"], to_us(row["createdAt"]))
                elif row["updated_us"] >= forgotten_us:
                    revived[row["uri"]] = (*text, to_us(row["createdAt"]))
        return expected, revived

    @staticmethod
    def wait_for_end(daemon, end):
        """As long as it takes, unless nothing moves any more."""
        place, looks = None, 0

        def arrived():
            nonlocal place, looks
            assert not daemon.ended(), f"ended while it caught up:\n{daemon.words()}"
            now = (daemon.health() or {}).get("cursor_time_us")
            looks = looks + 1 if now == place else 0
            place = now
            assert looks < STUCK_LOOKS, f"does not move on from {place} to {end}"
            return place is not None and place >= end
        wait_until(arrived, "the last event", SECONDS + 600)

    def verify(self, subject):
        done = subprocess.run([self.program, "verify", "-c", "/dev/null", "--set",
                               f"store.url={subject.home.url}", "--set",
                               f"store.data_dir={subject.home.folder}"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"tidemark verify: {done.stdout}{done.stderr}"

    # ---- the record ----

    def record(self):
        faults = {name: count for name, count in self.world.faults.items() if count}
        return {"seed": SEED, "seconds": SECONDS, "rate": RATE, "restarts": self.world.restarts,
                "faults": faults, **self.counts,
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "command": f"make soak SECONDS={SECONDS:.0f} TIDEMARK_SEED={SEED}",
                "stores": [{"store": each.home.kind, "wire": each.wire, "lives": each.life,
                            "taken": each.taken_before + each.taken, "pages": each.pages,
                            "walks": each.walks, "verdicts": verdicts(each.samples, each.home.kind),
                            "violations": each.violations, "samples": each.samples}
                           for each in self.daemons]}


def calm_server(home):
    """Settings of an operator whose store is busy and whose disk is small."""
    for setting in ("max_wal_size = '64MB'", "min_wal_size = '32MB'", "checkpoint_timeout = '30s'",
                    "autovacuum_naptime = '5s'"):
        home.server_sql(f"ALTER SYSTEM SET {setting}")
    home.server_sql("DO 'BEGIN PERFORM pg_reload_conf(); END'")


def main():
    program, sim_program, folder = map(os.path.abspath, sys.argv[1:4])
    print(f"soak: seed {SEED}, {SECONDS:.0f} s at {RATE} events a second", flush=True)
    world = World(sim_program)
    with Home("sqlite") as sqlite, Home("postgres") as postgres:
        calm_server(postgres)
        world.start()
        try:
            soak = Soak(program, world, (sqlite, postgres))
            try:
                soak.run()
                soak.judge()
            finally:
                for daemon in soak.daemons:
                    daemon.over.set()
                    daemon.daemon.__exit__()
        finally:
            world.stop()
    record = soak.record()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "soak.json"), "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
    for each in record["stores"]:
        print(f"{each['store']}: {each['taken']} events in {each['lives']} lives, "
              f"{each['pages']} pages read")
        for verdict in each["verdicts"]:
            print("  {name}: {middle:.9g} then {last:.9g}, at most {most:.9g}".format(**verdict))
    violations = sum(len(each["violations"]) for each in record["stores"])
    print(f"soak: {sum(each['taken'] for each in record['stores'])} events, "
          f"{record['kill']} kills, {record['restarts']} restarts of the network, "
          f"{sum(record['faults'].values())} faults, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
