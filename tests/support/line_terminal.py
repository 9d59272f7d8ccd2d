# SPDX-License-Identifier: Apache-2.0
"""A terminal for commands that draw a few lines over and over: it fails on whatever it was not made
for, on a line that is too wide, and on colours."""

import os
import re

from terminal_process import TerminalProcess

SEQUENCE = re.compile(rb"\x1b\[([0-9]*)([A-Za-z])")
ROWS = 24


class LineTerminal(TerminalProcess):
    """The command on it; `lines` is what a person sees."""

    def __init__(self, command, columns=140, kind="xterm"):
        self.columns = columns
        self.lines, self.row, self.column, self.rest = [""], 0, 0, b""
        super().__init__(command, ROWS, columns, {"TERM": kind})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, 9)
            self.end()

    def obey(self, number, letter):
        if letter == b"A":
            self.row -= int(number)
            assert self.row >= 0, "above the first line"
        elif (number, letter) == (b"2", b"K"):
            self.lines[self.row] = ""
        else:
            raise AssertionError((number, letter))

    def write(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        else:
            assert character >= " ", repr(character)
            assert self.column < self.columns, f"too wide: {self.lines[self.row]!r}"
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def feed(self, data):
        data = self.rest + data
        while data:
            match = SEQUENCE.match(data)
            size = 1 if data[0] < 0x80 else 2 if data[0] < 0xe0 else 3 if data[0] < 0xf0 else 4
            if match:
                self.obey(*match.groups())
                data = data[match.end():]
            elif data[0] == 0x1b or len(data) < size:
                break  # the rest of it is to come
            else:
                self.write(data[:size].decode())
                data = data[size:]
        self.rest = data

    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, pattern):
        """Until a line looks so."""
        self.wait_until(lambda: re.search(pattern, self.text(), re.M), pattern)
