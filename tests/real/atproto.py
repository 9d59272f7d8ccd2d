# SPDX-License-Identifier: Apache-2.0
"""The news pipeline against real atproto servers: a PDS on which people act, the AppView that
indexes it, and its firehose. What is stored must be exactly what was posted, on both stores.

  atproto.py TIDEMARK PACKAGES [TEST...]

PACKAGES is the folder into which tools/real-servers put the servers."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

import atproto_history  # noqa: E402
import atproto_live  # noqa: E402
import atproto_polling  # noqa: E402
from atproto_case import EXECUTED, Pages, RealNetwork  # noqa: E402
from atproto_network import Network  # noqa: E402

MODULES = (atproto_live, atproto_history, atproto_polling)


def main():
    RealNetwork.program = sys.argv[1]
    load = unittest.defaultTestLoader
    tests = unittest.TestSuite(map(load.loadTestsFromModule, MODULES))
    if len(sys.argv) > 3:
        tests = load.loadTestsFromNames(sys.argv[3:])
    with Network(sys.argv[2]) as network, Pages() as pages:
        RealNetwork.network, RealNetwork.pages = network, pages
        outcome = unittest.TextTestRunner(verbosity=2).run(tests)
    assert EXECUTED["sqlite"] == EXECUTED["postgres"] > 0, EXECUTED
    return 0 if outcome.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
