# SPDX-License-Identifier: Apache-2.0
"""A kill at every place that has a name in the source, on both stores: a daemon is led there and
dies, the store keeps its own rules, and the daemons after it make of it what is true. A place that
no scene reaches fails. R000-16, R002-11. Ends with one line `points: N of N places, N kills, 0
violations`.

  points.py TIDEMARK TIDEMARK_SIM [SCENE...]"""

import concurrent.futures
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "e2e")]

from daemon_client import Daemon, Home, wait_until  # noqa: E402
from fault_list import Fault  # noqa: E402
from janitor import NOWHERE, fill  # noqa: E402
from page_cell import PageCell  # noqa: E402
from pictures import name_of  # noqa: E402
from polling_cell import PollingCell  # noqa: E402
from sim_client import Simulator  # noqa: E402
from whole_world import DOWN, WholeWorld  # noqa: E402

SEED = int(os.environ.get("TIDEMARK_SEED", "20261116"))
SOURCE = os.path.join(HERE, "..", "..", "src", "sys", "crashpoint.h")
JOBS = 4
STORES = ("sqlite", "postgres")
ONE_STORE = ("backup_begun", "backup_copied", "backup_named")  # a server has its own way
NO_FEEDS = "did_manager.backfill_enabled=false"
LOOKS = 40  # between two attempts to lead it there


def named_points():
    with open(SOURCE, encoding="utf-8") as file:
        return re.findall(r'X\(CRASH_\w+, "(\w+)"\)', file.read())


class Tally:
    def __init__(self):
        self.lock, self.fired, self.violations = threading.Lock(), [], 0

    def killed(self, store, point):
        with self.lock:
            self.fired.append((store, point))

    def cell_done(self, store, faults):
        """What a cell of the fault matrix says at its end."""

    def violated(self, words):
        with self.lock:
            self.violations += 1
            print("violation: " + words, flush=True)


def crash_at(point):
    return {"TIDEMARK_CRASH_AT": point}


def die_at(daemon, point, provoke):
    """Leads it there: `provoke` is called again and again while it answers."""
    with daemon:
        looks = 0

        def is_dead():
            nonlocal looks
            if daemon.ended():
                return True
            if looks % LOOKS == 0:
                if not daemon.health():
                    return False
                provoke(daemon)
            looks += 1
            return daemon.ended()
        try:
            wait_until(is_dead, point)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{daemon.words()[-1500:]}") from None
        code = daemon.process.returncode
        assert code == -9, f"{point}: ended with {code}:\n{daemon.words()[-1500:]}"


class Scene:
    """What happens on one home; `live` does it."""

    def __init__(self, programs, tally, store):
        self.programs, self.tally, self.store = programs, tally, store
        self.chance = random.Random(f"{SEED} {type(self).__name__} {store}")

    def run(self):
        try:
            with Home(self.store) as home:
                self.home = home
                self.live()
        except Exception as error:  # any surprise is a violation, and the other scenes go on
            self.tally.violated(f"{type(self).__name__} store={self.store}: "
                                f"{type(error).__name__}: {error}")

    def daemon(self, settings, environment=()):
        return Daemon(self.programs[0], self.home, settings, environment)

    def command(self, word):
        subprocess.run([self.programs[0], word, "-c", "/dev/null", "--set",
                        f"store.url={self.home.url}", "--set",
                        f"store.data_dir={self.home.folder}"], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)

    def kill_at(self, point, settings, provoke):
        die_at(self.daemon(settings, crash_at(point)), point, provoke)
        self.tally.killed(self.store, point)


class Whole(Scene):
    """All that one daemon does at once."""

    quiet = ("during_migrate", "after_migrate", "follows_page", "follows_end_sent",
             "follows_stored")
    feeds = ("backfill_planned", "feed_page_sent", "feed_page_stored", "backfill_ended")
    busy = ("after_rows", "after_cursor", "before_commit", "after_commit", "before_ack",
            "stream_opened", "unit_sent", "unit_stored", "import_sent", "import_opened",
            "ledger_page_sent", "ledger_page_stored", "import_closed", "document_ended",
            "content_sent", "content_stored", "undo_sent", "undo_stored", "handle_kept",
            "handle_moved", "handle_removed")
    operators = ("reset_sent", "reset_stored", "file_synced", "file_renamed") + ONE_STORE

    def live(self):
        with WholeWorld(self.programs, self.home, self.chance) as world:
            self.world = world
            for point in self.quiet:  # feeds are read only when one asks for it later
                self.kill_world_at(point, Daemon.reload, NO_FEEDS)
            with world.daemon(NO_FEEDS) as daemon:
                daemon.wait_for(lambda _: not world.follows_missing(), "the follows")
                daemon.stop()
            for point in self.feeds:
                self.kill_world_at(point, lambda _: None)
            world.meet()
            for point in self.busy:
                self.prepare()
                self.kill_world_at(point, self.busily)
                world.verify()
            for point in self.operators:
                if self.store == "sqlite" or point not in ONE_STORE:
                    self.prepare()
                    self.kill_world_at(point, getattr(self, point.split("_")[0]))
                    world.verify()
            world.converge()
            if self.store == "sqlite":
                self.check_backup()

    def kill_world_at(self, point, provoke, *settings):
        die_at(self.world.daemon(*settings, **crash_at(point)), point, provoke)
        self.tally.killed(self.store, point)

    def prepare(self):
        """What is found at the start: a longer history, another chain, new documents."""
        self.world.account.sim.act("mine", 3)
        self.world.content.sim.act("reorg", 2)
        self.world.content.sim.act("mine", 2)

    def busily(self, daemon):
        self.world.happen()
        self.world.content.sim.act("reorg", 1)
        self.world.content.sim.act("mine", 1)
        walks = self.world.reader.walks
        while not daemon.ended() and self.world.reader.walks == walks:
            self.world.reader.turn(daemon)

    def reset(self, _daemon):
        self.world.command("reset", "content")

    def file(self, daemon):
        """The cursor is written down at the end of a life in which it moved."""
        first = daemon.health()["commit_seq"]
        self.world.news.step(50)
        daemon.wait_for(lambda health: health["commit_seq"] > first, "a commit")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)

    def backup(self, daemon):
        with contextlib.suppress(*DOWN):
            daemon.ask_once("POST", "/api/admin/backup", {"path": self.backup_path()})

    def backup_by_command(self, _daemon):
        self.world.command("backup", os.path.join(self.home.folder, "other.db"))

    def backup_path(self):
        return os.path.join(self.home.folder, "copy.db")

    def check_backup(self):
        """Killed thrice, at last when the copy had its name: that one is whole and stays so when
        there is another one, and then nothing is left of the attempts."""
        self.kill_world_at("backup_named", self.backup_by_command)
        kept = os.path.join(self.home.folder, "kept.db")
        os.rename(self.backup_path(), kept)
        done = self.world.command("backup", self.backup_path())
        assert done.returncode == 0, done.stderr
        for path in (kept, self.backup_path()):
            done = self.world.command("verify", "--set", f"store.url=sqlite:{path}")
            assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"
        left = [name for name in os.listdir(self.home.folder)
                if "partial" in name or "backup" in name]
        assert not left, f"left behind: {left}"


class InCell:
    """A cell of the fault matrix in which nothing fails but the daemon."""

    points = ()

    def __init__(self, programs, tally, store):
        super().__init__(programs, tally, Fault("reset", ""), store, "v2", SEED)

    def arm(self, more=""):
        pass

    def fired(self):
        return 1

    def suffer(self):
        for point in self.points:
            self.step(20, 200)
            daemon = Daemon(self.program, self.home, self.settings(), crash_at(point))
            die_at(daemon, point, lambda _: self.step(20, 40))
            self.tally.killed(self.store, point)


class Polling(InCell, PollingCell):
    points = ("poll_cycle_ended",)


class Pages(InCell, PageCell):
    points = ("card_read", "debt_sent", "debt_settled")

    def suffer(self):
        super().suffer()
        self.hasten()


class Retention(Scene):
    """Posts of two days ago, which have to go."""

    def live(self):
        old = "SELECT count(*) AS n FROM posts"
        self.command("migrate")
        fill(self.home)
        for point in ("slice_sent", "slice_stored"):
            self.kill_at(point, NOWHERE, lambda _: None)
        with self.daemon(NOWHERE) as daemon:
            wait_until(lambda: self.home.select(old) == [{"n": 1}], "the old to go")
            daemon.wait_for(lambda _: True, "an answer")
            daemon.stop()
        self.command("verify")


class Pictures(Scene):
    """Somebody looks at the picture of a link."""

    def live(self):
        with Simulator(self.programs[1], "--events", "5") as sim:
            url = f"http://127.0.0.1:{sim.port}/picture/good/7"
            self.command("migrate")
            self.home.run_sql(
                "INSERT INTO links (id, normalized_url, original_url, image_url) VALUES "
                f"(1, 'https://e.example/1', 'https://e.example/1', '{url}');")
            self.path = f"/image/{name_of(1, url)}"
            settings = (*NOWHERE, "fetch.allow_private=true",
                        f"page.images_cdn=http://127.0.0.1:{sim.port}")
            self.kill_at("picture_sent", settings, self.look)
            self.home.run_sql("DELETE FROM pictures;")
            self.kill_at("picture_stored", settings, self.look)
            with self.daemon(settings) as daemon:
                daemon.wait_for(lambda _: True, "an answer")
                wait_until(lambda: self.look(daemon) == sim.get("/picture/good/7"), "the picture")
                daemon.stop()

    def look(self, daemon):
        try:
            return daemon.ask_once("GET", self.path)[1]
        except DOWN:
            return None


SCENES = (Whole, Polling, Pages, Retention, Pictures)


def main():
    programs, wanted, tally = sys.argv[1:3], sys.argv[3:], Tally()
    scenes = [scene(programs, tally, store) for scene in SCENES for store in STORES
              if not wanted or scene.__name__ in wanted]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(lambda scene: scene.run(), scenes))
    points = named_points()
    unreached = {(store, point) for store in STORES for point in points
                 if store == "sqlite" or point not in ONE_STORE} - set(tally.fired)
    if unreached and not wanted:
        print(f"never reached: {sorted(unreached)}")
    for store in STORES:
        reached = {point for kind, point in tally.fired if kind == store}
        print(f"store={store} tests={len(reached - set(ONE_STORE))} "
              f"alone={len(reached & set(ONE_STORE))}")
    print(f"points: {len({point for _, point in tally.fired})} of {len(points)} places, "
          f"{len(tally.fired)} kills, {tally.violations} violations")
    return 1 if tally.violations or (unreached and not wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
