# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, as a person runs one: its size, its keys, and what it writes
until its end."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

from daemon_client import WAIT_S


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def keep_words(fd):
    """Ctrl-C and Ctrl-Z would throw away what was written and not read yet, after the program has
    heard of them: its last words among it."""
    modes = termios.tcgetattr(fd)
    modes[3] |= termios.NOFLSH
    termios.tcsetattr(fd, termios.TCSANOW, modes)


class TerminalProcess:
    """Whoever inherits it feeds on what is written."""

    def __init__(self, command, rows, columns, environment=()):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            set_size(0, rows, columns)
            keep_words(0)
            os.execve(command[0], command, {**os.environ, "TERM": "xterm", **dict(environment)})

    def feed(self, data):
        raise NotImplementedError

    def text(self):
        raise NotImplementedError

    def read(self):
        """What there is, or nothing after a second. False: nobody has it open any more."""
        if not select.select([self.fd], [], [], 1)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # what a terminal answers then
            return False
        self.feed(data)
        return bool(data)

    def wait_until(self, condition, what):
        """`condition` is asked after all that was written."""
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, f"waited for {what}:\n{self.text()}"
            assert self.read(), f"it ended before {what}:\n{self.text()}"

    def press(self, key):
        os.write(self.fd, key)

    def interrupt(self):
        self.press(b"\x03")

    def end(self):
        """Its exit code, after the last it wrote was read."""
        end = time.monotonic() + 2 * WAIT_S
        while self.read():
            assert time.monotonic() < end, f"waited for its end:\n{self.text()}"
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)
