# SPDX-License-Identifier: Apache-2.0
"""Trials of a program in random worlds, one per seed: which seeds there are, what came of them, and
the line that says so.

TIDEMARK_SEEDS says how many worlds there are, TIDEMARK_SEED which is the first; TIDEMARK_LONG makes
it a thousand. A world that failed is repeated by naming its seed behind the programs."""

import os
import sys
import time

from daemon_client import Home

# Where the program can be killed.
POINTS = ("after_rows", "after_cursor", "before_commit", "after_commit", "before_ack")
MANY = 1000


class Failure(Exception):
    """What is stored is not what is true."""


def choose_seeds(named, usual):
    """Those that were named, or as many in a row as is wanted, or the `usual` ones."""
    if named:
        return [int(seed) for seed in named]
    if not {"TIDEMARK_LONG", "TIDEMARK_SEED", "TIDEMARK_SEEDS"} & set(os.environ):
        return usual
    first = int(os.environ.get("TIDEMARK_SEED", usual[0]))
    count = MANY if "TIDEMARK_LONG" in os.environ else len(usual)
    return range(first, first + int(os.environ.get("TIDEMARK_SEEDS", count)))


def run_trials(name, trial_of, usual, postgres_every):
    """Runs `trial_of(programs, seed, home)`: a trial has a `world` to enter, run(), `kills`, and
    words for itself. Every so many seeds the store is PostgreSQL. Ends the program."""
    programs, seeds = sys.argv[1:3], choose_seeds(sys.argv[3:], usual)
    kills, failed, begun = 0, [], time.monotonic()
    for seed in seeds:
        with Home("sqlite" if seed % postgres_every else "postgres") as home:
            trial = trial_of(programs, seed, home)
            with trial.world:
                try:
                    trial.run()
                except Failure as failure:
                    failed.append(seed)
                    print(f"seed {seed} on {home.kind}, {trial}: {failure}", flush=True)
            kills += trial.kills
    took = time.monotonic() - begun
    print(f"{name}: {len(seeds)} worlds from seed {seeds[0]}, {kills} kills,"
          f" {len(failed)} failed {failed}, {took:.0f} s")
    sys.exit(1 if failed else 0)
