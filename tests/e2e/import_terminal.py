# SPDX-License-Identifier: Apache-2.0
"""What a person sees of `tidemark import`: lines that are drawn anew on a terminal, plain ones
where there is none.

  import_terminal.py TIDEMARK TIDEMARK_SIM"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Daemon, Home, WAIT_S  # noqa: E402
from ledger_world import EVM_STREAMS, World  # noqa: E402
from terminal_process import TerminalProcess  # noqa: E402

PROGRAMS = sys.argv[1:3]
DEAD = "&count=1000000&lasts=1"
GO_ON = "what came is stored; run the same command again to go on from there"


class Terminal(TerminalProcess):
    """The command on a terminal: all it wrote, and the pictures it drew, one over the other."""

    def __init__(self, world, columns=250):
        self.columns, self.written = columns, b""
        command = [PROGRAMS[0], "import", world.account, "-c", world.configuration]
        super().__init__(command, 50, columns)

    def feed(self, data):
        self.written += data

    def text(self):
        return self.written.decode(errors="replace").replace("\r\n", "\n")

    def wait_for(self, pattern):
        """Until it has said so, in whatever picture."""
        self.wait_until(lambda: re.search(pattern, self.text()), pattern)

    def pictures(self):
        """Each as the lines of its streams; what follows the last one is left out."""
        found = []
        for part in re.split(r"\x1b\[\d+A", self.text()):
            lines = re.findall(r"^\x1b\[2K(.*)$", part, re.M)
            if lines:
                found.append(lines)
        return found

    def steps_back(self):
        """Over how many lines each picture but the first was drawn."""
        return [int(number) for number in re.findall(r"\x1b\[(\d+)A", self.text())]


class Live(unittest.TestCase):
    maxDiff = 4000

    def world(self, providers=("etherscan",), **choices):
        home = Home("sqlite")
        self.addCleanup(home.__exit__)
        world = World(PROGRAMS, home, providers, **choices)
        self.addCleanup(world.__exit__)
        return world

    def test_each_stream_has_one_line_that_is_drawn_anew(self):
        # Also while it waits for the rate limit of its provider, and beside a daemon.
        for beside in (False, True):
            with self.subTest(daemon=beside):
                world = self.world(rate="{per_second: 1, burst: 1, concurrency: 1}")
                if beside:
                    daemon = Daemon(PROGRAMS[0], world.home, config=world.configuration)
                    self.addCleanup(daemon.__exit__)
                    daemon.wait_for(lambda _: True, "the daemon")
                terminal = Terminal(world)
                terminal.wait_for(r"waiting \d\.\d s \(rate limit\)")
                self.assertEqual(terminal.end(), 0, terminal.text())
                pictures = terminal.pictures()
                for lines in pictures:
                    names = [re.search(r" (\w+): +\d+ new", line)[1] for line in lines]
                    self.assertEqual(len(set(names)), len(names), lines)
                # A picture is drawn over the one before: there is nothing between them.
                self.assertEqual(terminal.steps_back(),
                                 [len(lines) for lines in pictures][:-1])
                self.assertEqual(len(pictures[-1]), len(EVM_STREAMS))
                for stream, line in zip(EVM_STREAMS, sorted_like(EVM_STREAMS, pictures[-1])):
                    self.assertRegex(
                        line, rf" {stream}: +\d+ new, \d+ known · \d+ rows/s · block \d+ · "
                        r"etherscan \d+\.\d req/s · complete · \d+ batch(es)?$")
                self.assertRegex(terminal.text(), r"completed, \d+ new, 0 known, 0 orphaned, 0 gap")
                self.assertEqual(world.difference(), {})

    def test_a_line_never_wraps(self):
        world = self.world()
        terminal = Terminal(world, columns=40)
        self.assertEqual(terminal.end(), 0, terminal.text())
        for lines in terminal.pictures():
            self.assertLess(max(map(len, lines)), 40, lines)

    def test_a_limit_that_the_provider_tells_is_waited_for_and_said(self):
        # ... of every stream, as long as somebody wants to: a long one, then a short one.
        world = self.world(rate="{per_second: 1000, burst: 1000, concurrency: 1}")
        limited = "name=ledger_http&collection=etherscan&status=429&count=1&retry_after="
        world.sim.arm(limited + "1800")
        terminal = Terminal(world)
        terminal.wait_for(r"(waiting 1[78]\d\d\.\d s \(rate limit\)[^\n]*\n[^\n]*){4}")
        terminal.press(b"\x03")
        self.assertEqual(terminal.end(), 130, terminal.text())
        world.sim.arm(limited + "2")
        terminal = Terminal(world)
        terminal.wait_for(r"waiting \d\.\d s \(rate limit\)")
        self.assertEqual(terminal.end(), 0, terminal.text())
        self.assertEqual(world.difference(), {})

    def test_progress_and_how_long_it_will_take_where_the_source_counts(self):
        # ... with each page, or when it is asked; and Ctrl-C, which stores what is under way.
        for provider, pace in (("blockchaincom", 4), ("blockstream", 2)):
            with self.subTest(provider=provider):
                world = self.world((provider,), platform="bitcoin", sizes={"blockchaincom": 5},
                                   rate=f"{{per_second: {pace}, burst: 1, concurrency: 1}}",
                                   options=("--chain-blocks", "400"))
                terminal = Terminal(world)
                terminal.wait_for(r" normal: .* · [1-9]\d? %, \d+ (s|min) left")
                terminal.press(b"\x03")
                self.assertEqual(terminal.end(), 130, terminal.text())
                self.assertIn(GO_ON, terminal.text())
                self.assertRegex("\n".join(terminal.pictures()[-1]), r" normal: .* · stopped · ")
                self.assertRegex(terminal.text(), r"cancelled, \d+ new")
                self.go_on(world)

    def go_on(self, world):
        """The same command reads the rest of what was interrupted."""
        self.assertEqual(world.sessions(), ["cancelled"])
        stored = len(world.stored())
        self.assertGreater(stored, 0)
        self.assertLess(stored, len(world.true_rows("normal")))
        world.rate = "{per_second: 1000, burst: 1000, concurrency: 4}"
        world.write_connectors({}, 10000)
        code, said, words = world.run()
        self.assertEqual((code, said and said["status"]), (0, "completed"), words)
        self.assertEqual(world.difference(), {})
        self.assertEqual(len(world.stored()),
                         stored + sum(part["imported"] for part in said["streams"]))

    def test_who_goes_on_for_another_is_named(self):
        for terminal_too in (True, False):
            with self.subTest(terminal=terminal_too):
                world = self.world(("etherscan", "routescan"), sizes={"etherscan": 20},
                                   options=("--chain-blocks", "300"))
                world.sim.arm("name=ledger_http&collection=etherscan/token&after=2" + DEAD)
                if terminal_too:
                    terminal = Terminal(world)
                    self.assertEqual(terminal.end(), 0, terminal.text())
                    lines = terminal.pictures()[-1]
                else:
                    done = subprocess.run(
                        [PROGRAMS[0], "import", world.account, "-c", world.configuration],
                        capture_output=True, text=True, timeout=2 * WAIT_S, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("\x1b", done.stderr + done.stdout)
                    lines = done.stderr.splitlines()
                token = [line for line in lines if " token:" in line][-1]
                self.assertRegex(token, r" · routescan \d+\.\d req/s · complete · "
                                        r"switched to routescan \(.*503.*\) · \d+ batch")


def sorted_like(names, lines):
    """The line of each name."""
    return [next(line for line in lines if f" {name}:" in line) for name in names]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
