# SPDX-License-Identifier: Apache-2.0
"""Random worlds of account histories: random chains, page sizes, providers and misfortunes, and an
import that is killed at random. In the end what is stored is what exists, each row once: every
provider is read without a cursor first, and then from one (R003-34; nothing of the kind was ever
tried elsewhere, Exitbook 1.8.17).

  ledger_worlds.py TIDEMARK TIDEMARK_SIM [SEED...]

Which worlds there are: tests/support/seeded_trials.py."""

import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from ledger_world import SHOWN_BY, SINGLE, World  # noqa: E402
from seeded_trials import POINTS, Failure, run_trials  # noqa: E402

# Who shows a platform, and how deep its history may change.
DEPTHS = {"ethereum": 6, "bitcoin": 4, "solana": 6, "polkadot": 6, "cardano": 6}
PLATFORMS = {name: (providers, DEPTHS.get(name, 0)) for name, providers in SHOWN_BY.items()}
FAULTS = ("http&status=500", "http&status=429&retry_after=1", "http&status=0", "http&status=200",
          "error", "empty", "partial", "truncate", "expire", "insert", "insert&bytes=7",
          "lag&bytes=4&count=3", "trace")
# Newest first and without a count: that they leave something out cannot be known, but of an empty
# page where another one can be asked.
BELIEVED = ("tatum", "solana", "helius", "cosmos")
MOVING = ("tatum", "cosmos")  # and by number: nor can be known that rows moved between two pages
EMPTY_BELIEVED = BELIEVED + ("coinbase",)  # it says with each page whether there is another one
REORGS = ("reorg&bytes=1", "reorg&bytes=3")  # where there are any
MINE_MAX = 40
PATIENCE_S = 3  # with misfortunes; who waits for a provider then is killed like any other
RUNS_MAX = 12  # to the end, once nothing goes wrong any more


class Trial:
    """One world, from its seed."""

    def __init__(self, programs, seed, home):
        self.chance = chance = random.Random(seed)
        self.kills = 0
        platform = chance.choice(list(PLATFORMS) + ["ethereum"] * 5 + ["bitcoin"] * 3)
        known, self.depth = PLATFORMS[platform]
        providers = chance.sample(known, chance.randint(1, len(known)))
        accounts = chance.randint(1, 4)
        self.world = World(
            programs, home, providers, platform,
            number=0 if platform in SINGLE else chance.randrange(accounts),
            sizes={name: chance.randint(5, 50) for name in providers if chance.random() < 0.8},
            window=chance.choice((1000, 10000)),  # at least a page
            options=("--chain-seed", str(seed), "--chain-accounts", str(accounts),
                     "--chain-blocks", str(chance.randint(1, 200)),
                     "--chain-density", str(chance.randint(0, 4)),
                     "--chain-burst", str(chance.choice((0, 15, 40))),
                     "--chain-mempool", str(chance.choice((0, 0, 7)))))

    def __str__(self):
        return f"{self.world.account} {self.world.providers}"

    def happen(self):
        """Something on the chain, or nothing."""
        what = self.chance.choice(("mine", "mine", "reorg", "mempool", "expire_tokens", None))
        limit = {"mine": MINE_MAX, "reorg": self.depth, "mempool": 5}.get(what, 1)
        if what and limit > 0:
            self.world.sim.act(what, self.chance.randint(1, limit))

    def plan(self):
        """Misfortunes of single providers; of several, one may die for the whole run."""
        chance, world = self.chance, self.world
        world.sim.ask("DELETE", "/_sim/fault")
        faults = FAULTS + (REORGS if self.depth > 0 else ())
        for fault in chance.sample(faults, chance.randint(0, 3)):
            provider = chance.choice(world.providers)
            often = "" if "count=" in fault else f"&count={chance.randint(1, 3)}"
            believed = (fault == "partial" and provider in BELIEVED) or (
                fault == "empty" and provider in EMPTY_BELIEVED and len(world.providers) == 1) or (
                fault.startswith(("lag", "reorg")) and provider in MOVING)
            if not believed:
                world.sim.arm(f"name=ledger_{fault}&collection={provider}"
                              f"&after={chance.randint(0, 8)}{often}")
        if len(world.providers) > 1 and chance.random() < 0.4:
            world.sim.arm(f"name=ledger_http&collection={chance.choice(world.providers)}"
                          f"&after={chance.randint(0, 6)}&count=1000000&lasts=1")

    def run_to_the_end(self):
        world = self.world
        world.sim.ask("DELETE", "/_sim/fault")
        for run in range(RUNS_MAX):
            code, said, words = world.run()
            if code == 0:
                break
            # A lone provider that shows nothing any more is believed once it shows something newer.
            if run >= RUNS_MAX // 2:
                world.sim.act("mine", MINE_MAX)
        else:
            raise Failure(f"never completed: {code} {said} {words}")
        # What was believed to be nothing by the only one who could be asked is found now.
        code, said, words = world.run()
        if code != 0 or said["status"] != "completed":
            raise Failure(f"a later run ended with {code}: {said} {words}")
        if world.difference():
            raise Failure(str(world.difference()))
        states = world.sessions()
        if states[-1] != "completed" or "started" in states:
            raise Failure(f"sessions {states}")

    def run(self):
        for _ in range(self.chance.randint(1, 5)):
            self.plan()
            point = None
            if self.chance.random() < 0.7:
                point = f"{self.chance.choice(POINTS)}:{self.chance.randint(1, 14)}"
            code, said, words = self.world.run(crash_at=point, patience=PATIENCE_S)
            if code not in (-9, 0, 4):
                raise Failure(f"ended with {code}: {said} {words}")
            self.kills += code == -9
            self.happen()
        self.run_to_the_end()


if __name__ == "__main__":
    # 811040: a reorg took what an interrupted sweep had met first; 840832: what was left out of a
    # page was counted.
    run_trials("ledger_worlds", Trial, usual=(*range(1, 13), 811040, 840832), postgres_every=5)
