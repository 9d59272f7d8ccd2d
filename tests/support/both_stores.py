# SPDX-License-Identifier: Apache-2.0
"""A case that runs on both stores and tells that it did: for tests started as
NAME.py TIDEMARK TIDEMARK_SIM [CASE.TEST...]"""

import os
import sys
import unittest

from daemon_client import Home

EXECUTED = {"sqlite": 0, "postgres": 0}


class BothStores(unittest.TestCase):
    program = sim_program = None
    maxDiff = 4000

    def both_stores(self, run):
        for kind in EXECUTED:
            with self.subTest(store=kind), Home(kind) as home:
                run(home)
                EXECUTED[kind] += 1


def finish(result, whole=True):
    """Ends the program; a `whole` run has to have done something on each store."""
    for name, count in EXECUTED.items():
        print(f"store={name} tests={count}")
    sys.exit(0 if result.wasSuccessful() and (not whole or min(EXECUTED.values()) > 0) else 1)


def main():
    BothStores.program, BothStores.sim_program = map(os.path.abspath, sys.argv[1:3])
    chosen = sys.argv[3:]
    finish(unittest.main(argv=sys.argv[:1] + chosen, exit=False, verbosity=2).result, not chosen)
