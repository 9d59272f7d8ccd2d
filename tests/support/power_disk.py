# SPDX-License-Identifier: Apache-2.0
"""A disk that forgets: what a power cut leaves of the steps that tests/fault/disk_record.c wrote
down. Bytes are there for certain once their file was synced; a name that was given, changed or
taken away is so for certain once its folder was synced, and not because its file was. Of all else
chance lets through what it likes: names in order or any of them, writes whole, torn at sectors, or
not."""

import os
import struct

STEP = struct.Struct("=QQqQ")
CREATE, WRITE, TRUNCATE, SYNC, SYNC_FOLDER, RENAME, LINK, UNLINK = range(1, 9)
NAMES = (CREATE, RENAME, LINK, UNLINK)
SECTOR = 512
# Rebuilt by whoever opens the store; sockets and locks are of the living.
PASSING = ("-shm", ".sock", ".lock")


def read_steps(path):
    """[(act, file, at, bytes)]"""
    with open(path, "rb") as file:
        data = file.read()
    steps, place = [], 0
    while place < len(data):
        act, number, at, size = STEP.unpack_from(data, place)
        place += STEP.size
        steps.append((act, number, at, data[place:place + size]))
        place += size
    return steps


def put(content, at, data):
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at:at + len(data)] = data


class File:
    """What is synced of it, and in order what is not: (place, bytes) or (size, None)."""

    def __init__(self, content=b""):
        self.synced, self.changes = bytearray(content), []

    @staticmethod
    def apply(content, change):
        place, data = change
        if data is not None:
            put(content, place, data)
        elif place < len(content):
            del content[place:]
        else:
            content.extend(bytes(place - len(content)))

    def sync(self):
        for change in self.changes:
            self.apply(self.synced, change)
        self.changes = []

    def after_cut(self, chance):
        """chance None: nothing that was not synced."""
        content = bytearray(self.synced)
        for place, data in self.changes if chance else ():
            fate = chance.random()
            if fate < 0.4:
                self.apply(content, (place, data))
            elif fate < 0.6 and data is not None:
                for begin in range(0, len(data), SECTOR):
                    if chance.random() < 0.5:
                        put(content, place + begin, data[begin:begin + SECTOR])
        return bytes(content)


class Disk:
    """A folder as it lay before the steps, all of it synced."""

    def __init__(self, folder):
        self.folder = folder
        self.names, self.files, self.waiting = {}, {}, []
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.names[path] = self.files[os.stat(path).st_ino] = File(file.read())

    def now(self, path):
        """What lies under that name as the living see it."""
        found = self.names.get(path)
        for change in self.waiting:
            found = change.get(path, found)
        return found

    @staticmethod
    def from_elsewhere(path):
        """A file of another folder, where it was synced before it was linked to here."""
        with open(path, "rb") as file:
            return File(file.read())

    def play(self, step):
        act, number, at, data = step
        paths = [os.path.normpath(path) for path in data.decode().split("\0")] if (
            act in NAMES or act == SYNC_FOLDER) else []
        if act == CREATE:
            self.files[number] = File()
            self.waiting.append({paths[0]: self.files[number]})
        elif act == RENAME:
            self.waiting.append({paths[0]: None, paths[1]: self.now(paths[0])})
        elif act == LINK:
            self.waiting.append({paths[1]: self.now(paths[0]) or self.from_elsewhere(paths[1])})
        elif act == UNLINK:
            self.waiting.append({paths[0]: None})
        elif act == SYNC_FOLDER:
            for change in self.waiting if paths[0] == self.folder else ():
                self.names.update(change)
            self.waiting = [] if paths[0] == self.folder else self.waiting
        elif number in self.files and act == SYNC:
            self.files[number].sync()
        elif number in self.files:
            self.files[number].changes.append((at, data if act == WRITE else None))

    def cut(self, chance, names="any", data=True):
        """{name: bytes} after a power cut now. names: `none` of what was not synced, `all`, or any;
        data: whether bytes that were not synced may arrive."""
        found = dict(self.names)
        prefix = chance.randrange(len(self.waiting) + 1) if chance.random() < 0.5 else None
        for place, change in enumerate(self.waiting):
            arrives = chance.random() < 0.5 if prefix is None else place < prefix
            if names == "all" or (names == "any" and arrives):
                found.update(change)
        return {os.path.relpath(path, self.folder): file.after_cut(chance if data else None)
                for path, file in found.items() if file and not path.endswith(PASSING)}
