# SPDX-License-Identifier: Apache-2.0
"""Two PostgreSQL servers, one of which follows the other: what a test needs to kill the primary and
have the standby promoted. Servers are this process's own, on loopback, and gone at the end."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from daemon_client import WAIT_S, wait_until
from free_port import free_port


def unprivileged():
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    def __init__(self, port):
        self.port, self.process = port, None
        self.programs, self.who = os.environ["TIDEMARK_TEST_POSTGRES_BIN"], unprivileged()
        self.home = tempfile.mkdtemp(prefix="tidemark-pg-")
        if self.who:
            os.chown(self.home, self.who["user"], self.who["group"])
        self.data = os.path.join(self.home, "data")

    def run(self, program, *arguments):
        subprocess.run([os.path.join(self.programs, program), *arguments], check=True,
                       cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       **self.who)

    def make(self):
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                 "--locale=C.UTF-8", "--no-sync")

    def copy(self, primary):
        self.run("pg_basebackup", "-D", self.data, "-h", "127.0.0.1", "-p", str(primary.port),
                 "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self):
        with open(os.path.join(self.home, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(self.programs, "postgres"), "-D", self.data, "-p", str(self.port),
                 "-k", self.home, "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1",
                 "-c", "shared_buffers=16MB"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home, **self.who)
        self.await_value("SELECT 1", "1")

    def ask(self, statement):
        """The first value, or None while it cannot be had."""
        done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement,
                               f"postgresql://postgres@127.0.0.1:{self.port}/postgres"],
                              capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def do(self, statement):
        assert self.ask(statement) is not None, f"cannot {statement}"

    def await_value(self, question, answer):
        wait_until(lambda: self.ask(question) == answer, f"{question} to be {answer}")

    def kill(self):
        """Like the power of its machine: no word to anybody, and all its processes go."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT_S)
        self.process = None

    def stop(self):
        """As an operator does, to start it again."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT_S)
        self.process = None

    def remove(self):
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(WAIT_S)
        shutil.rmtree(self.home, ignore_errors=True)


class Pair:
    """`url` names both; whichever takes writes is the one to write to."""

    def __init__(self):
        self.servers = []
        self.primary = self.add(free_port())
        self.standby = None
        self.primary.make()
        self.primary.start()
        ports = [self.primary.port, free_port()]
        self.follow(ports[1])
        self.url = "postgresql://postgres@" + ",".join(
            f"127.0.0.1:{port}" for port in ports) + "/postgres"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.remove()

    def add(self, port):
        self.servers.append(Server(port))
        return self.servers[-1]

    def follow(self, port):
        """A standby on that port, for which every commit of the primary waits."""
        self.standby = self.add(port)
        self.standby.copy(self.primary)
        self.standby.start()
        self.primary.do("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.do("SELECT pg_reload_conf()")
        self.primary.await_value("SELECT sync_state FROM pg_stat_replication", "sync")

    def promote(self):
        """The standby is the primary from now on, and has no standby."""
        self.primary, self.standby = self.standby, None
        self.primary.do("ALTER SYSTEM RESET synchronous_standby_names")
        self.primary.do("SELECT pg_promote()")
        self.primary.await_value("SELECT pg_is_in_recovery()", "f")
        self.primary.do("SELECT pg_reload_conf()")
        self.primary.await_value("SHOW synchronous_standby_names", "")
