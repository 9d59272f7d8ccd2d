# SPDX-License-Identifier: Apache-2.0
"""Random worlds of a chain that names documents: reorganisations, nodes and gateways that fail,
lie, are slow or die, documents that are nowhere, and a daemon that is killed at random. In the end
what is stored, owed and dead is what is true of the chain, and so is the position. R002-01,
R002-14, R002-17, R002-18.

  content_worlds.py TIDEMARK TIDEMARK_SIM [SEED...]

Which worlds there are: tests/support/seeded_trials.py."""

import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from content_world import EVENTS, World  # noqa: E402
from daemon_client import wait_until  # noqa: E402
from seeded_trials import POINTS, Failure, run_trials  # noqa: E402

STATUSES = (0, 429, 500, 502, 503, 504)
PATIENCE_S = 2  # with misfortunes; then a daemon is killed wherever it stands
QUIET_S = 0.5  # nobody was asked anything for so long: it waits, and no place in it is reached
LOOK_S = 0.02  # between two looks
END_S = 300  # until all is true once nothing goes wrong any more


class Trial:
    """One world, from its seed."""

    def __init__(self, programs, seed, home):
        self.chance = chance = random.Random(seed)
        self.kills, self.home = 0, home
        self.nodes, self.gateways = chance.randint(1, 3), chance.randint(1, 4)
        empty = chance.choice((0, 0, 0, 40, 3000, 100000))
        blocks = chance.choice((0, 5, 40, 150))
        self.world = World(
            programs, home, event=chance.choice(tuple(EVENTS)), depth=chance.randint(1, 8),
            confirmations=chance.choice((0, 0, 0, 3)), concurrency=chance.randint(1, 20),
            start=chance.choice((0, 0, empty + blocks // 2)), heads=chance.random() < 0.5,
            options=("--content-seed", str(seed), "--content-empty", str(empty),
                     "--content-blocks", str(blocks),
                     "--content-density", str(chance.randint(0, 3)),
                     "--content-documents", str(chance.choice((3, 20, 80))),
                     "--content-hard", str(chance.choice((0, 15, 40))),
                     "--content-large", str(chance.choice((0, 20, 60))),
                     "--content-folders", str(chance.choice((0, 30))),
                     "--content-nodes", str(self.nodes),
                     "--content-gateways", str(self.gateways)))

    def __str__(self):
        return f"{self.nodes} nodes and {self.gateways} gateways"

    # ---- misfortunes ----

    def plan_gateway(self):
        chance = self.chance
        kind = chance.choice(("good", "failing", "slow", "lying", "dead", "poor", "all of it"))
        manner = {}
        if kind in ("failing", "all of it"):
            manner.update(fail=30, status=chance.choice(STATUSES))
        if kind in ("slow", "all of it"):
            manner.update(ms_min=0, ms_max=chance.choice((20, 400)))
        if kind in ("lying", "all of it"):
            manner["lie"] = chance.choice((10, 50, 100))
        if kind in ("poor", "all of it"):
            manner["lack"] = chance.choice((20, 100))
        if kind == "dead":
            manner["dies_after"] = chance.randint(0, 10)
        return manner

    def plan_node(self):
        chance = self.chance
        manner = {"stir": chance.choice((0, 5, 30)), "depth": chance.randint(0, self.world.depth)}
        if chance.random() < 0.4:
            manner["range_max"] = chance.choice((1, 10, 700))
        if chance.random() < 0.3:
            manner.update(fail=chance.choice((5, 30)), status=chance.choice(STATUSES))
        if chance.random() < 0.3:
            manner["dies_after"] = chance.randint(0, 30)
        if chance.random() < 0.2:
            manner.update(ms_min=0, ms_max=60)
        if chance.random() < 0.3:
            manner["hang_up"] = chance.choice((5, 50))
        return manner

    def plan_nodes(self):
        """Of several nodes one may lag behind or hold logs back, as long as another one is well."""
        chance = self.chance
        plans = [self.plan_node() for _ in range(self.nodes)]
        if self.nodes > 1 and chance.random() < 0.5:
            liar, honest = chance.sample(range(self.nodes), 2)
            plans[liar].update(chance.choice(({"lag": 1}, {"lag": 12}, {"lack": 30},
                                              {"lack": 100})))
            plans[honest] = {"stir": plans[honest]["stir"], "depth": plans[honest]["depth"]}
        return plans

    def plan(self):
        for n, manner in enumerate(self.plan_nodes()):
            self.world.sim.manner("node", n=n, **manner)
        for n in range(self.gateways):
            self.world.sim.manner("gateway", n=n, **self.plan_gateway())

    def heal(self):
        self.world.sim.manner("node")
        self.world.sim.manner("gateway")

    def happen(self):
        """Something on the chain while nobody looks, or nothing."""
        chance, depth = self.chance, self.world.depth
        for _ in range(chance.randint(0, 3)):
            if chance.random() < 0.5:
                self.world.sim.act("reorg", chance.randint(1, depth))
            else:
                self.world.sim.act("mine", chance.choice((1, 3, 30)), chance.randint(0, 1))

    # ---- runs ----

    def run_and_kill(self):
        """Until enough was asked, or a place in the program is reached, or patience ends."""
        chance, world = self.chance, self.world
        point = None
        if chance.random() < 0.6:
            point = f"{chance.choice(POINTS)}:{chance.randint(1, 30)}"
        before = world.requests()
        enough = before + chance.randint(1, 150)
        end = time.monotonic() + PATIENCE_S
        asked, since = before, time.monotonic()

        def is_over():
            nonlocal asked, since
            if daemon.ended():
                return True
            now, requests = time.monotonic(), world.requests()
            if requests != asked:
                asked, since = requests, now
            return (now > end or (point is None and requests >= enough)
                    or (requests > before and now - since > QUIET_S))

        with world.daemon(point) as daemon:
            wait_until(is_over, "a moment to kill it", pause=LOOK_S)
            if daemon.ended() and daemon.process.returncode != -9:
                raise Failure(f"ended with {daemon.process.returncode}: {daemon.words()[-2000:]}")
            daemon.kill()
        self.kills += 1

    def check_promise(self, before, forks):
        """What holds at any time: nothing below the position is missing, and it never goes back
        without the chain having done so: `before` was true of the chain, which has not changed."""
        place = self.stored_place()
        now = self.world.sim.truth("head")[0]["forks"]
        if before is not None and now == forks and (place is None or place < before):
            raise Failure(f"the position went from {before} to {place}")
        holes = self.world.holes() if place is not None else []
        if holes:
            raise Failure(f"below {place} there is nothing for {holes[:3]}")
        return (place if self.is_true(place) else None), now

    def is_true(self, place):
        """Whether the chain has the block that the position names; of one that it left meanwhile
        the next daemon goes back."""
        if place is None:
            return False
        told = self.world.place()[1]
        now = self.world.sim.truth("blocks", **{"from": place, "to": place})
        return bool(now) and told in (None, now[0]["hash"])

    def stored_place(self):
        """A daemon that was killed before it made its tables left none."""
        try:
            place = self.world.place()
        except Exception as error:  # noqa: BLE001 - either store's own
            if "meta" not in str(getattr(error, "stderr", error)):
                raise
            return None
        return None if place is None else place[0]

    def run_to_the_end(self):
        world = self.world
        self.heal()
        if self.stored_place() is not None:  # debts are due now, so that nobody waits for them
            self.home.run_sql("UPDATE owed SET next_us = 0 WHERE state = 'owed';")
        with world.daemon() as daemon:
            def settled():
                if daemon.ended():
                    raise Failure(f"ended by itself: {daemon.words()[-2000:]}")
                return daemon.health() and not world.difference()
            try:
                wait_until(settled, "the truth", END_S, pause=LOOK_S)
                daemon.stop()
            except AssertionError as error:
                raise Failure(f"{error}: {world.difference()[:5]}\n{daemon.words()[-1500:]}") \
                    from error
        if world.difference():
            raise Failure(f"afterwards: {world.difference()[:5]}")

    def run(self):
        place, forks = None, 0
        for _ in range(self.chance.randint(1, 4)):
            self.plan()
            self.run_and_kill()
            place, forks = self.check_promise(place, forks)
            self.happen()
        self.run_to_the_end()


if __name__ == "__main__":
    # Among them: confirmations, hints of heads, a long time without anything, one node only.
    run_trials("content_worlds", Trial, usual=(5, 12, 16, 18), postgres_every=3)
