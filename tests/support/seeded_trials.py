# SPDX-License-Identifier: Apache-2.0
"""Trials of a program in random worlds, one per seed: which seeds there are, what came of them, and
the line that says so.

TIDEMARK_SEEDS says how many worlds there are, TIDEMARK_SEED which is the first; TIDEMARK_LONG makes
it a thousand. TIDEMARK_JOBS says how many run at a time: they share nothing but the PostgreSQL
server, and mostly wait. A world that failed is repeated by naming its seed behind the programs."""

import concurrent.futures
import functools
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


def run_trial(trial_of, postgres_every, programs, seed):
    """How often the program was killed in this world, and what was wrong in it, if anything."""
    with Home("sqlite" if seed % postgres_every else "postgres") as home:
        trial = trial_of(programs, seed, home)
        with trial.world:
            try:
                trial.run()
            except Failure as failure:
                return trial.kills, f"seed {seed} on {home.kind}, {trial}: {failure}"
        return trial.kills, None


def run_all(run_one, seeds):
    """(seed, what run_one answers) as they end. What else goes wrong with one ends the program."""
    jobs = min(int(os.environ.get("TIDEMARK_JOBS", 1)), len(seeds))
    if jobs <= 1:
        for seed in seeds:
            yield seed, run_one(seed)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        under_way = {pool.submit(run_one, seed): seed for seed in seeds}
        try:
            for done in concurrent.futures.as_completed(under_way):
                yield under_way[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run_trials(name, trial_of, usual, postgres_every):
    """Runs `trial_of(programs, seed, home)`: a trial has a `world` to enter, run(), `kills`, and
    words for itself. Every so many seeds the store is PostgreSQL. Ends the program."""
    programs, seeds = sys.argv[1:3], choose_seeds(sys.argv[3:], usual)
    run_one = functools.partial(run_trial, trial_of, postgres_every, programs)
    kills, failed, begun = 0, [], time.monotonic()
    for seed, (killed, wrong) in run_all(run_one, seeds):
        kills += killed
        if wrong:
            failed.append(seed)
            print(wrong, flush=True)
    took = time.monotonic() - begun
    print(f"{name}: {len(seeds)} worlds from seed {seeds[0]}, {kills} kills,"
          f" {len(failed)} failed {sorted(failed)}, {took:.0f} s")
    sys.exit(1 if failed else 0)
