# SPDX-License-Identifier: Apache-2.0
"""The power goes while the real program works on an SQLite store, and takes along what was not
synced: bytes, and names too. Steps of one life are written down (tests/fault/disk_record.c); for
many moments of it the folder is made that a power cut then could have left, worst case first.

  power.py TIDEMARK TIDEMARK_SIM LIBRARY

A store is whole at every moment, the cursor file is one that was written and never ahead of it, and
a copy is whole or not there. What a program was done with when it ended well stays: the copy, the
last word in the cursor file, and that a reset took it away, even while it was being written.
TIDEMARK_SEED chooses the moments;
TIDEMARK_LONG=1 takes more of them."""

import concurrent.futures
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from daemon_client import WAIT_S, Daemon, Home, wait_until  # noqa: E402
from power_disk import NAMES, Disk, read_steps  # noqa: E402
from sim_client import Simulator  # noqa: E402
from truth_compare import (COLLECTIONS, begin_before_everything, difference,  # noqa: E402
                           last_wanted_us, stored_posts, true_posts)

LONG = "TIDEMARK_LONG" in os.environ
SEED = int(os.environ.get("TIDEMARK_SEED", "20261116"))
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
CUTS = 2000 if LONG else 60       # of a life, besides those at its names
CONVERGING = 40 if LONG else 3    # of them that are followed by another life
CURSOR, STORE, COPY = "jetstream_cursor.txt", "tidemark.db", "copy.db"
# Worst first: no name and no byte that was not synced; names, but no bytes; whatever comes.
FATES = (("none", False), ("all", False), ("any", True))


def read_number(content):
    """What an operator's tools read from the cursor file."""
    assert content.endswith(b"\n"), f"half a cursor file: {content!r}"
    return int(content)


@contextlib.contextmanager
def folder_of(files):
    """What was left, in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="tidemark-cut-")
    try:
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        yield folder
    finally:
        shutil.rmtree(folder)


class Left(Home):
    """A home that a power cut left."""

    def __init__(self, folder):
        self.kind, self.folder, self.database = "sqlite", folder, None
        self.url = f"sqlite:{folder}/{STORE}"

    def __exit__(self, *_):
        pass


def look_into(path):
    """(position, posts) of a store by another hand; None where there is no such table."""
    store = sqlite3.connect(path)
    try:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
        tables = {row[0] for row in store.execute("SELECT name FROM sqlite_schema")}
        position = posts = None
        if "jetstream_state" in tables:
            position = store.execute("SELECT max(cursor_time_us) FROM jetstream_state").fetchone()
        if "post" in tables:
            posts = store.execute("SELECT count(*) FROM post").fetchone()[0]
        return (position[0] if position else None) or 0, posts
    finally:
        store.close()


class PowerCuts:
    def __init__(self, programs, library, home, sim):
        self.program, self.library, self.home, self.sim = programs[0], library, home, sim
        self.chance = random.Random(SEED)
        self.record = os.path.join(tempfile.gettempdir(), f"{os.path.basename(home.folder)}.steps")
        self.cuts = self.lives = self.scenes = 0

    # ---- what is written down ----

    def environment(self, folder):
        options = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": self.library, "TIDEMARK_TEST_FOLDER": folder,
                "TIDEMARK_TEST_DISK": self.record,
                "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0"}

    @contextlib.contextmanager
    def written_down(self, folder, steps):
        """Fills `steps` with what is done in the folder meanwhile; gives the disk as it was."""
        disk = Disk(folder)
        with open(self.record, "wb"):
            pass
        try:
            yield disk
            steps += read_steps(self.record)
            assert any(step[0] in NAMES for step in steps), "nothing was written down"
        finally:
            os.remove(self.record)

    def command(self, *words, environment=()):
        done = subprocess.run(
            [self.program, words[0], "-c", "/dev/null", "--set", f"store.url={self.home.url}",
             "--set", f"store.data_dir={self.home.folder}", "--set",
             f"jetstream.cursor_file={self.home.folder}/{CURSOR}", *words[1:]],
            env=dict(os.environ, **dict(environment)), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert done.returncode == 0, done

    def daemon(self, home, environment=(), more=()):
        return Daemon(self.program, home, (
            f"jetstream.endpoint=ws://127.0.0.1:{self.sim.port}/subscribe",
            "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
            "jetstream.cursor_save_interval_seconds=1",
            f"jetstream.wanted_collections=[{', '.join(COLLECTIONS)}]", *more), environment)

    def content(self, name):
        with open(os.path.join(self.home.folder, name), "rb") as file:
            return file.read()

    # ---- what a cut leaves ----

    def cut_everywhere(self, name, disk, steps, check):
        """At every change of a name, at moments that chance chooses, and at the end."""
        chosen = {place for place, step in enumerate(steps, 1) if step[0] in NAMES}
        chosen |= {self.chance.randrange(len(steps)) for _ in range(CUTS)}
        before = self.cuts
        for place in range(len(steps) + 1):
            if place > 0:
                disk.play(steps[place - 1])
            if place not in chosen and place < len(steps):
                continue
            for names, data in FATES:
                with folder_of(disk.cut(self.chance, names, data)) as folder:
                    try:
                        check(folder, place == len(steps))
                    except (AssertionError, sqlite3.Error) as error:
                        raise AssertionError(f"{name}: cut at step {place} of {len(steps)}, "
                                             f"names {names}: {error}") from error
                self.cuts += 1
        self.scenes += 1
        print(f"power: {name}: {len(steps)} steps, {self.cuts - before} cuts", flush=True)

    def converge(self, folder):
        """A life on what was left has everything in the end."""
        with self.daemon(Left(folder)) as daemon:
            end = last_wanted_us(self.sim)
            daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the last event")
            found = difference(stored_posts(daemon), true_posts(self.sim))
            assert not found, f"the store differs: {found}"
            daemon.stop()
        self.lives += 1

    def life(self):
        """From an empty folder to a clean end."""
        steps, home = [], self.home
        begin_before_everything(home, self.sim)
        first, end = read_number(self.content(CURSOR)), last_wanted_us(self.sim)
        with self.written_down(home.folder, steps) as disk:
            with self.daemon(home, self.environment(home.folder)) as daemon:
                daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the end")
                daemon.stop()
        last, stored = read_number(self.content(CURSOR)), look_into(home.url[len("sqlite:"):])
        assert last == stored[0] >= end, (last, stored, end)
        converging = set(self.chance.sample(range(len(FATES) * CUTS), CONVERGING))

        def check(folder, is_end):
            path = os.path.join(folder, STORE)
            position, posts = look_into(path) if os.path.exists(path) else (0, None)
            with open(os.path.join(folder, CURSOR), "rb") as file:
                number = read_number(file.read())
            assert number == first or number <= position, f"{number} is ahead of {position}"
            if is_end:
                assert (number, position, posts) == (last, *stored), (number, position, posts)
            if is_end or self.cuts in converging:
                self.converge(folder)
        self.cut_everywhere("life", disk, steps, check)

    def whole_copy(self, path, is_end, expected):
        """Under its name there is nothing, or all."""
        if os.path.exists(path):
            assert look_into(path) == expected, f"{look_into(path)} in place of {expected}"
        else:
            assert not is_end, "the copy that was reported is gone"

    def backup(self):
        """By the command itself: nobody has the store."""
        steps, folder = [], self.home.folder
        expected = look_into(self.home.url[len("sqlite:"):])
        with self.written_down(folder, steps) as disk:
            self.command("backup", os.path.join(folder, COPY),
                         environment=self.environment(folder))

        def check(left, is_end):
            assert look_into(os.path.join(left, STORE)) == expected
            self.whole_copy(os.path.join(left, COPY), is_end, expected)
        self.cut_everywhere("backup", disk, steps, check)

    def backup_elsewhere(self):
        """The daemon makes it in its folder, the command takes it to another one."""
        steps = []
        with tempfile.TemporaryDirectory(prefix="tidemark-copy-") as folder:
            with self.daemon(self.home) as daemon:
                daemon.wait_for(lambda _: True, "an answer")
                with self.written_down(folder, steps) as disk:
                    self.command("backup", os.path.join(folder, COPY),
                                 environment=self.environment(folder))
                daemon.stop()
            expected = look_into(os.path.join(folder, COPY))
            self.cut_everywhere("backup elsewhere", disk, steps,
                                lambda left, is_end: self.whole_copy(
                                    os.path.join(left, COPY), is_end, expected))

    def reset(self):
        """Of the firehose's position, while no daemon runs."""
        steps, folder = [], self.home.folder
        before = self.content(CURSOR)
        with self.written_down(folder, steps) as disk:
            self.command("reset", "jetstream", environment=self.environment(folder))
        assert not os.path.exists(os.path.join(folder, CURSOR)), "the file is still there"

        def check(left, is_end):
            path = os.path.join(left, CURSOR)
            look_into(os.path.join(left, STORE))
            if os.path.exists(path):
                assert not is_end, "the position that was reset is back"
                with open(path, "rb") as file:
                    assert file.read() == before
        self.cut_everywhere("reset", disk, steps, check)

    def reset_of_daemon(self):
        """The same of a daemon that runs: its answer is the moment from which it holds."""
        steps, folder = [], self.home.folder
        path = os.path.join(folder, CURSOR)
        with self.written_down(folder, steps) as disk:
            with self.daemon(self.home, self.environment(folder)) as daemon:
                self.step_until(path)
                old = self.content(CURSOR)
                self.command("reset", "jetstream")
                answered = len(read_steps(self.record))
                daemon.stop()
        for step in steps[:answered]:
            disk.play(step)
        left = disk.cut(self.chance, "none", False)
        assert left.get(CURSOR) != old, "the position that was reset is back"
        self.cuts, self.scenes = self.cuts + 1, self.scenes + 1

    def step_until(self, path):
        def appears():
            self.sim.step(1)
            return os.path.exists(path)
        wait_until(appears, os.path.basename(path))

    def reset_under_a_write(self):
        """The next position is on its way into the file when the reset comes, and stays there
        until the daemon says that it waits for it: who does not wait never says so."""
        path, hold = os.path.join(self.home.folder, CURSOR), self.record + ".hold"
        environment = dict(self.environment(self.home.folder), TIDEMARK_TEST_HOLD=hold)
        with self.daemon(self.home, environment, ("log.level=debug",)) as daemon:
            self.step_until(path)
            with open(hold, "wb"):
                pass
            self.step_until(path + ".new")
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                done = pool.submit(self.command, "reset", "jetstream")
                try:
                    wait_until(lambda: done.done() or daemon.ended() or
                               "msg=cursor_file_awaited" in daemon.words(), "the reset to wait")
                    waited = not done.done() and not daemon.ended()
                    on_its_way = (self.content(CURSOR + ".new")
                                  if os.path.exists(path + ".new") else b"")
                finally:
                    os.remove(hold)
                done.result()
            assert waited and on_its_way, "the reset did not wait for what was on its way"
            left = self.content(CURSOR) if os.path.exists(path) else b""
            assert left != on_its_way, "what was reset came back"
            daemon.stop()
        os.remove(self.record)
        self.scenes += 1


def main():
    programs, library = sys.argv[1:3], os.path.abspath(sys.argv[3])
    print(f"power: seed {SEED}", flush=True)
    with Home("sqlite") as home, Simulator(programs[1], "--events", "400", *PAST) as sim:
        power = PowerCuts(programs, library, home, sim)
        power.life()
        power.backup()
        power.backup_elsewhere()
        power.reset()
        power.reset_of_daemon()
        power.reset_under_a_write()
    print(f"power: {power.cuts} cuts in {power.scenes} scenes, {power.lives} of them followed by "
          "a life")


if __name__ == "__main__":
    main()
