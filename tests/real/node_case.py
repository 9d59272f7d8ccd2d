# SPDX-License-Identifier: Apache-2.0
"""A test against real nodes: on both stores, with nodes of its own for each."""

import functools

from both_stores import BothStores


class NodeCase(BothStores):
    def world(self, home):
        """What the tests of a case stand on, beside a home; ends with the test."""
        raise NotImplementedError


def on_both_stores(test):
    """The test gets a home, and what `world` opens."""
    @functools.wraps(test)
    def run(self):
        def once(home):
            with self.world(home) as world:
                test(self, home, world)
        self.both_stores(once)
    return run
