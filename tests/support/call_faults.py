# SPDX-License-Identifier: Apache-2.0
"""The n-th call of a kind fails in a daemon, and its clock is off: the test's side of
tests/fault/call_fault.c, which says how the two share a file."""

import errno
import mmap
import os
import struct

KINDS = ("write", "fsync", "open", "connect", "recv", "send", "accept", "malloc", "thread")
ERRORS = {"write": errno.EIO, "fsync": errno.EIO, "open": errno.EMFILE,
          "connect": errno.ENETUNREACH, "recv": errno.ECONNRESET, "send": errno.EPIPE,
          "accept": errno.ECONNABORTED, "malloc": errno.ENOMEM, "thread": errno.EAGAIN}
FIRST, LAST, ERROR, CALLS, FAILED = range(5)
FOREVER = 1 << 60


def kinds_of(library):
    """What it makes fail: one that was built for a sanitizer leaves the memory alone."""
    with open(library, "rb") as file:
        return [kind for kind in KINDS if kind != "malloc" or b"__libc_malloc" in file.read()]


class CallFaults:
    """A file of a home; processes get it by `environment`."""

    def __init__(self, library, home):
        self.library, self.path = os.path.abspath(library), os.path.join(home.folder, "calls")
        size = 8 * (2 + 5 * len(KINDS))
        with open(self.path, "wb") as file:
            file.write(bytes(size))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def environment(self):
        options = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": self.library, "TIDEMARK_TEST_CALLS": self.path,
                "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0"}

    def look(self, index):
        return struct.unpack_from("=q", self.memory, 8 * index)[0]

    def put(self, index, value):
        struct.pack_into("=q", self.memory, 8 * index, value)

    def get(self, kind, what):
        return self.look(2 + 5 * KINDS.index(kind) + what)

    def set(self, kind, what, value):
        self.put(2 + 5 * KINDS.index(kind) + what, value)

    def arm(self, kind, first, count=1, error=None):
        """From the `first` call from now on, `count` calls fail."""
        self.set(kind, FIRST, 0)
        self.set(kind, FAILED, 0)
        self.set(kind, ERROR, error or ERRORS[kind])
        begin = self.get(kind, CALLS) + first
        self.set(kind, LAST, begin + count - 1)
        self.set(kind, FIRST, begin)

    def disarm(self):
        for kind in KINDS:
            self.set(kind, FIRST, 0)

    def failed(self, kind):
        return self.get(kind, FAILED)

    def calls(self, kind):
        return self.get(kind, CALLS)

    def set_clock(self, seconds):
        self.put(0, seconds * 1000000)

    def clock_told(self):
        """How often a wrong time was told."""
        return self.look(1)
