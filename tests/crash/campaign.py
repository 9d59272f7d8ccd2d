# SPDX-License-Identifier: Apache-2.0
"""Random kills of a daemon that does everything at once: stream, feeds, imports, documents and
readers on one store, both stores in turn. After each life the store keeps its own rules
(`tidemark verify`), at the end of each world it holds exactly what is true. R001-42, R002-01. Ends
with one line `campaign: N kills, N worlds, 0 violations`.

  campaign.py TIDEMARK TIDEMARK_SIM

Environment: KILLS, at least so many (40; 2000 with TIDEMARK_LONG); TIDEMARK_SEED, the first world
(always the same; any with TIDEMARK_LONG). A violation names its seed: TIDEMARK_SEED=S KILLS=1 is
that world again."""

import concurrent.futures
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support")]

from daemon_client import Home, wait_until  # noqa: E402
from seeded_trials import POINTS  # noqa: E402
from whole_world import WholeWorld  # noqa: E402

LONG = "TIDEMARK_LONG" in os.environ
KILLS = int(os.environ.get("KILLS", "2000" if LONG else "40"))
SEED = int(os.environ.get("TIDEMARK_SEED",
                          random.SystemRandom().randrange(1 << 32) if LONG else "20261116"))
LIVES = 100 if LONG else 20  # of a world
JOBS = 2


class Campaign:
    """One world and its lives, from a seed."""

    def __init__(self, programs, seed):
        self.programs, self.seed = programs, seed
        self.kind = ("sqlite", "postgres")[seed % 2]
        self.kills, self.violation = 0, None

    def run(self):
        try:
            with Home(self.kind) as home:
                self.chance = random.Random(self.seed)
                with WholeWorld(self.programs, home, self.chance) as world:
                    self.live(world)
        except Exception as error:  # any surprise is a violation, and the other worlds go on
            self.violation = f"seed={self.seed} store={self.kind}: {type(error).__name__}: {error}"
            print(f"violation: {self.violation}", flush=True)
        return self

    def live(self, world):
        world.meet()
        for _ in range(LIVES):
            self.live_and_die(world)
            world.verify()
        assert world.reader.walks > 0, "nobody read anything to its end"
        world.converge()

    def live_and_die(self, world):
        """Until something was committed, or a named place is reached; then dead at once."""
        chance, environment = self.chance, {}
        if chance.random() < 0.5:
            environment["TIDEMARK_CRASH_AT"] = f"{chance.choice(POINTS)}:{chance.randint(1, 4)}"
        with world.daemon(**environment) as daemon:
            first, goal = None, chance.randint(1, 4)
            turns = chance.randint(0, 3)

            def is_enough():
                nonlocal first
                health = daemon.health()
                if health is None:
                    return daemon.ended()
                if first is None:
                    first = health["commit_seq"]
                world.happen()
                world.reader.turn(daemon)
                return health["commit_seq"] >= first + goal
            wait_until(is_enough, "commits")
            for _ in range(turns):
                world.reader.turn(daemon)
            daemon.kill()
            assert daemon.process.returncode == -9, (
                f"ended with {daemon.process.returncode}:\n{daemon.words()[-2000:]}")
        self.kills += 1


def main():
    programs, kills, worlds, violations = sys.argv[1:3], 0, 0, 0
    print(f"campaign: seed {SEED}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        while kills < KILLS and violations == 0:
            seeds = range(SEED + worlds, SEED + worlds + JOBS)
            for done in pool.map(lambda seed: Campaign(programs, seed).run(), seeds):
                kills, worlds = kills + done.kills, worlds + 1
                violations += done.violation is not None
    print(f"campaign: {kills} kills, {worlds} worlds, {violations} violations")
    return 1 if violations or kills < KILLS else 0


if __name__ == "__main__":
    sys.exit(main())
