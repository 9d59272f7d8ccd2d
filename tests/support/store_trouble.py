# SPDX-License-Identifier: Apache-2.0
"""What happens to a store from outside, for as long as a `with` lasts: nobody can write, or nobody
can do anything."""

import atexit
import fcntl
import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time

from daemon_client import WAIT_S, wait_until

# Where SQLite locks its shared memory: who writes, who moves the log, who mends, five who read.
WAL_LOCKS = (120, 8)


class Stalled:
    """Nobody can write; whoever tries waits. Reading goes on."""

    def __init__(self, home):
        self.home = home

    def __enter__(self):
        if self.home.kind == "sqlite":
            self.store = sqlite3.connect(self.home.url[len("sqlite:"):], timeout=WAIT_S,
                                         isolation_level=None)
            self.store.execute("BEGIN IMMEDIATE")
            return self
        self.session = subprocess.Popen(["psql", "-qXAt", self.home.url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.session.stdin.write("BEGIN; LOCK TABLE engine IN EXCLUSIVE MODE; SELECT 'held';\n")
        self.session.stdin.flush()
        assert self.session.stdout.readline() == "held\n"
        return self

    def __exit__(self, *_):
        if self.home.kind == "sqlite":
            self.store.execute("ROLLBACK")
            self.store.close()
            return
        self.session.communicate("ROLLBACK;\n", timeout=WAIT_S)


class SqliteLocked:
    """Somebody keeps all locks of the database: it can be neither read nor written."""

    def __init__(self, home):
        self.path = home.url[len("sqlite:"):] + "-shm"

    def __enter__(self):
        self.file = open(self.path, "r+b")  # pylint: disable=consider-using-with
        first, count = WAL_LOCKS
        fcntl.lockf(self.file, fcntl.LOCK_EX, count, first)
        return self

    def __exit__(self, *_):
        self.file.close()


class PostgresOff:
    """The server of this test's own is stopped at once, and started again as it was."""

    servers = []  # that were started here: each is gone when the test ends

    def __init__(self, _home):
        self.pid = int(os.environ["TIDEMARK_TEST_POSTGRES_PID"])
        if self.servers:
            self.pid = self.servers[-1].pid
        folder = f"/proc/{self.pid}"
        with open(f"{folder}/cmdline", "rb") as file:
            self.command = file.read().decode().rstrip("\0").split("\0")
        self.folder, self.owner = os.readlink(f"{folder}/cwd"), os.stat(folder)
        self.port = int(os.environ["TIDEMARK_TEST_POSTGRES"].rsplit(":", 1)[1].split("/")[0])

    def is_up(self):
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        os.kill(self.pid, signal.SIGQUIT)
        if self.servers:
            self.servers[-1].wait(WAIT_S)
        wait_until(lambda: not self.is_up() and
                   not os.path.exists(os.path.join(self.data(), "postmaster.pid")),
                   "the server's end")
        return self

    def data(self):
        return self.command[self.command.index("-D") + 1]

    def __exit__(self, *_):
        who = {}
        if os.getuid() == 0:
            who = {"user": self.owner.st_uid, "group": self.owner.st_gid, "extra_groups": []}
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            server = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                      stderr=log, cwd=self.folder, **who)
        self.servers.append(server)
        atexit.register(end_server, server)
        wait_until(lambda: subprocess.run(
            ["psql", "-qX", "-c", "SELECT 1", os.environ["TIDEMARK_TEST_POSTGRES"]], check=False,
            capture_output=True).returncode == 0, "the server's start")


def end_server(server):
    if server.poll() is None:
        server.send_signal(signal.SIGQUIT)
        server.wait(WAIT_S)


def away(home):
    """Whoever wants anything of the store gets nothing."""
    return SqliteLocked(home) if home.kind == "sqlite" else PostgresOff(home)


class Door:
    """An address in front of a PostgreSQL server. While it is shut, whoever comes waits a second
    and is sent away; who is inside stays."""

    def __init__(self, url):
        self.url, self.shut = url, False
        found = re.search(r"@([^:/]+):(\d+)", url)
        self.server = (found[1], int(found[2]))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.outside = url.replace(found[0], f"@127.0.0.1:{self.listener.getsockname()[1]}")
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                guest = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.receive, args=(guest,), daemon=True).start()

    def receive(self, guest):
        with guest:
            if self.shut:
                time.sleep(1)
                return
            with socket.create_connection(self.server) as server:
                back = threading.Thread(target=self.carry, args=(guest, server), daemon=True)
                back.start()
                self.carry(server, guest)
                back.join()

    @staticmethod
    def carry(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
