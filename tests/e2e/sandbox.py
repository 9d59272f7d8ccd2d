# SPDX-License-Identifier: Apache-2.0
"""The running daemon is in its box, says so, and does all of its work there, on both stores.

  sandbox.py TIDEMARK TIDEMARK_SIM"""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import PAST, begin_before_everything, last_wanted_us, settings  # noqa: E402

LANDLOCK_CREATE_RULESET, ASK_VERSION = 444, 1
PR_GET_SECCOMP = 21


def kernel_offers():
    """(the version of Landlock, whether there is seccomp), asked by another hand."""
    libc = ctypes.CDLL(None)
    return (max(0, libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, ASK_VERSION)),
            libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def locks_of(pid):
    """What the kernel says of each of its threads: (NoNewPrivs, Seccomp)."""
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as status:
                words = status.read()
        except OSError:
            continue  # it ended meanwhile
        found.add(tuple(int(re.search(rf"^{name}:\s+(\d)", words, re.M)[1])
                        for name in ("NoNewPrivs", "Seccomp")))
    return found


class Sandbox(BothStores):
    def tell(self, home, *words, code=0):
        done = subprocess.run(
            [self.program, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
             "--set", f"store.data_dir={home.folder}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def folder(self):
        path = tempfile.mkdtemp(prefix="tidemark-outside-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def check_locks(self, daemon):
        landlock, seccomp = kernel_offers()
        self.assertIn(f"landlock={landlock} seccomp={'true' if seccomp else 'false'}",
                      daemon.words())
        self.assertEqual({locks for locks in locks_of(daemon.process.pid)},
                         {(1, 2 if seccomp else 0)})
        answer = daemon.ask_once("POST", "/api/admin/backup", {"path": self.folder() + "/copy"})
        self.assertNotEqual(answer[0], 200 if landlock else 0)

    def replace(self, path, words):
        """As editors do it: a new file takes the name."""
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(words)
        os.rename(path + ".new", path)

    def check_reload(self, daemon, path):
        self.replace(path, "log: {level: debug}\nretention: {window_hours: 48}\n")
        daemon.reload()
        wait_until(lambda: "msg=reloaded" in daemon.words(), "the reload")
        self.assertNotIn("reload_refused", daemon.words())

    def check_backup(self, home):
        copy = self.folder() + "/copy"
        self.assertIn("copied", self.tell(home, "backup", copy))
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        self.assertEqual([name for name in os.listdir(home.folder) if "backup" in name], [])

    def test_the_daemon_does_its_work_in_its_box(self):
        def run(home):
            config = os.path.join(self.folder(), "tidemark.yaml")
            self.replace(config, "log: {level: info}\n")
            with Simulator(self.sim_program, "--events", "500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim), config=config) as daemon:
                    daemon.wait_for(lambda health: health["commit_seq"] > 0, "a commit")
                    self.check_locks(daemon)
                    self.check_reload(daemon, config)
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: health["cursor_time_us"] == end, "all events")
                    self.check_backup(home)
                    self.assertTrue(json.loads(self.tell(home, "verify", "--json"))["ok"])
                    daemon.stop()
        self.both_stores(run)

    def test_it_can_be_turned_off(self):
        def run(home):
            with Daemon(self.program, home, ("sandbox.mode=off", "bluesky.mode=polling")) as daemon:
                daemon.wait_for(lambda health: True, "its answer")
                self.assertIn("component=sandbox msg=off", daemon.words())
                self.assertEqual(locks_of(daemon.process.pid), locks_of(os.getpid()))
                daemon.stop()
        self.both_stores(run)

    def test_asked_for_strictly_it_starts_only_with_all_of_it(self):
        def run(home):
            landlock, seccomp = kernel_offers()
            with Daemon(self.program, home, ("sandbox.mode=on", "bluesky.mode=polling")) as daemon:
                if landlock > 0 and seccomp:
                    daemon.wait_for(lambda health: True, "its answer")
                    daemon.stop()
                else:
                    self.assertEqual(daemon.process.wait(WAIT_S), 1)
                    self.assertIn("this kernel lacks", daemon.words())
        self.both_stores(run)


if __name__ == "__main__":
    main()
