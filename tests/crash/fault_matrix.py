# SPDX-License-Identifier: Apache-2.0
"""Every fault of the simulated network x both stores x both wires, with kill -9 in between: what is
stored, and what people are shown of it, equals what is true, every gap is closed or shown, nothing
comes twice, and every fault really happened. What asks AppViews is tried without a stream too, and
what reads pages with pages that fail. Ends with one line `crash: N kills, N faults, 0 violations`.

  fault_matrix.py TIDEMARK TIDEMARK_SIM [FAULT...]

Environment: KILLS, at least so many kills (200; 1000 with TIDEMARK_LONG); SECONDS, go on for at
least so long (0); TIDEMARK_SEED (always the same; any with TIDEMARK_LONG), JOBS (4). A violation
names its seed and cell; that cell alone is run again by TIDEMARK_SEED=S with the name of the
fault."""

import concurrent.futures
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from fault_cell import AppviewCell, Cell  # noqa: E402
from fault_list import FAULTS  # noqa: E402
from page_cell import PageCell  # noqa: E402
from polling_cell import PollingCell  # noqa: E402

LONG = "TIDEMARK_LONG" in os.environ
KILLS = int(os.environ.get("KILLS", "1000" if LONG else "200"))
SECONDS = float(os.environ.get("SECONDS", "0"))
SEED = int(os.environ.get("TIDEMARK_SEED",
                          random.SystemRandom().randrange(1 << 32) if LONG else "20251115"))
JOBS = int(os.environ.get("JOBS", "4"))
KINDS = {"stream": Cell, "appview": AppviewCell, "page": PageCell}


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


def kind_of(fault, wire):
    return PollingCell if wire == "polling" else KINDS[fault.victim]


def main():
    programs, wanted = sys.argv[1:3], set(sys.argv[3:])
    tally, begin, round_number = Tally(), time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        while round_number == 0 or (not tally.violations and (
                tally.kills < KILLS or time.monotonic() - begin < SECONDS)):
            cells = [kind_of(fault, wire)(programs, tally, fault, store, wire, SEED + round_number)
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
