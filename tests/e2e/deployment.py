# SPDX-License-Identifier: Apache-2.0
"""How it is run where people run it: in a folder of its own, in the foreground, watched by others.

  deployment.py TIDEMARK TIDEMARK_SIM"""

import configparser
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import (NO_DIFFERENCE, PAST, begin_before_everything, difference,  # noqa: E402
                      last_wanted_us, settings, stored_in, truth_of)


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def gauge(daemon, name):
    words = daemon.ask_raw("GET", "/metrics")[1].decode()
    found = re.search(rf"^{name} (\S+)$", words, re.M)
    return float(found.group(1)) if found else None


def wait_for_end(daemon, sim):
    end = last_wanted_us(sim)
    daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the last event")


def has_cursor(folder):
    store = sqlite3.connect(os.path.join(folder, "data", "tidemark.db"))
    try:
        return store.execute("SELECT count(*) FROM cursors").fetchone()[0] > 0
    finally:
        store.close()


def read_file(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def read_compose(text):
    """Mappings and lists by indentation, lists of words in brackets: all a compose file here needs.
    Anything else is an error."""
    root = {}
    open_at = [(-1, root)]
    for line in text.split("\n"):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        while depth <= open_at[-1][0]:
            open_at.pop()
        inside = open_at[-1][1]
        if words.startswith("- "):
            inside.setdefault("", []).append(words[2:])
            continue
        key, value = re.fullmatch(r"([a-z_]+):(?: (.+))?", words).groups()
        assert key not in inside, f"{key} stands there twice"
        inside[key] = {} if value is None else \
            json.loads(value) if value.startswith("[") else value
        if value is None:
            open_at.append((depth, inside[key]))
    return root


class Deployment(BothStores):
    def test_health_has_an_address_of_its_own(self):
        """R001-112"""
        def run(home):
            with Simulator(self.sim_program, "--events", "100") as sim, \
                    Daemon(self.program, home, settings(
                        sim, "serve.health_listen=127.0.0.1:0")) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                found = wait_until(lambda: re.search(r"health_port=(\d+)", daemon.words()),
                                   "the port of health")
                port = int(found.group(1))
                status, body = fetch(port, "/health")
                self.assertEqual(status, 200)
                self.assertEqual(json.loads(body)["status"], "healthy")
                self.assertEqual(fetch(port, "/api/status")[0], 404)
                daemon.stop()
        self.both_stores(run)

    def test_without_standard_streams_it_follows_and_stops(self):
        """Whatever is opened first must not be what the log is written to."""
        def run(home):
            with Simulator(self.sim_program, "--events", "500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, (*settings(sim), "log.level=debug"),
                            before_it_runs=lambda: os.closerange(0, 3)) as daemon:
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: health["cursor_time_us"] == end, "all events")
                    self.assertEqual({os.readlink(f"/proc/{daemon.process.pid}/fd/{number}")
                                      for number in range(3)}, {"/dev/null"})
                    daemon.stop()
        self.both_stores(run)

    def test_what_it_stores_is_for_nobody_else_to_read(self):
        """Also in a folder that was there before, and open to all."""
        with Home("sqlite") as home, \
                Daemon(self.program, home, ("bluesky.mode=off",),
                       before_it_runs=lambda: os.umask(0o022)) as daemon:
            daemon.wait_for(lambda health: health["commit_seq"] is not None, "its answer")
            modes = {name: oct(os.stat(os.path.join(home.folder, name)).st_mode & 0o777)
                     for name in os.listdir(home.folder) if name.startswith("tidemark.")}
            self.assertEqual(modes, dict.fromkeys(modes, "0o600"))
            self.assertLessEqual({"tidemark.db", "tidemark.db-wal", "tidemark.db.handles",
                                  "tidemark.sock"}, set(modes))
            daemon.stop()

    def test_the_log_may_lie_in_a_data_directory_that_is_not_there_yet(self):
        with tempfile.TemporaryDirectory() as outer:
            data = os.path.join(outer, "data")
            log = os.path.join(data, "tidemark.log")
            words = [self.program, "run", "-c", "/dev/null", "--set", "serve.listen=127.0.0.1:0",
                     "--set", "serve.health_listen=", "--set", "bluesky.mode=off",
                     "--set", f"store.url=sqlite:{data}/tidemark.db",
                     "--set", f"log.file={log}"]
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True) as process:
                wait_until(lambda: os.path.exists(os.path.join(data, "tidemark.sock")) or
                           process.poll() is not None, "its socket")
                process.terminate()
                _, said = process.communicate(timeout=WAIT_S)
            self.assertEqual((process.returncode, said), (0, ""))
            with open(log, encoding="utf-8") as file:
                self.assertIn("msg=stopped", file.read())
            self.assertEqual(os.stat(data).st_mode & 0o777, 0o700)

    def test_why_it_ends_is_said_where_it_was_started_too(self):
        """Who has the log in a file looks at the terminal, or the journal, first."""
        def run(home):
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                address = f"127.0.0.1:{taken.getsockname()[1]}"
                log = os.path.join(home.folder, "d", "tidemark.log")
                words = [self.program, "run", "-c", "/dev/null"]
                for change in (f"store.url={home.url}", f"store.data_dir={home.folder}/d",
                               "bluesky.mode=off", f"serve.listen={address}",
                               "serve.health_listen="):
                    words += ["--set", change]
                said = subprocess.run([*words, "--set", f"log.file={log}"], capture_output=True,
                                      text=True, timeout=WAIT_S, check=False)
                self.assertEqual((said.returncode, said.stderr),
                                 (1, f"tidemark: cannot listen on {address}: "
                                     "Address already in use\n"))
                self.assertIn("msg=cannot_start", read_file(log))
                # Where the log is the terminal's, it is told once.
                said = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S,
                                      check=False)
                self.assertEqual(said.stderr.count("Address already in use"), 1)
        self.both_stores(run)

    def test_a_commit_that_stalls_shows_in_the_latency(self):
        """R001-123"""
        with Home("postgres") as home, Simulator(self.sim_program, "--events", "1", *PAST) as sim:
            with Daemon(self.program, home, settings(sim)) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                sim.step(200)
                wait_until(lambda: len(stored_in(daemon)) > 0, "the first posts")
                self.assertLess(gauge(daemon, "tidemark_event_commit_p50_seconds"), WAIT_S)
                wait_for_end(daemon, sim)
                lock = subprocess.Popen(["psql", "-qX", home.url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
                lock.stdin.write("BEGIN; LOCK TABLE engine IN ACCESS EXCLUSIVE MODE;\n"
                                 "SELECT 'held';\n")
                lock.stdin.flush()
                wait_until(lambda: "held" in lock.stdout.readline(), "the lock")
                known = gauge(daemon, "tidemark_events_total")
                sim.step(400)
                wait_until(lambda: gauge(daemon, "tidemark_events_total") > known, "an event")
                began = time.monotonic()
                wait_until(lambda: time.monotonic() - began > 1, "a second of standstill")
                lock.stdin.write("COMMIT;\n")
                lock.communicate(timeout=WAIT_S)
                wait_for_end(daemon, sim)
                self.assertGreater(gauge(daemon, "tidemark_event_commit_p99_seconds"), 0.3)
                daemon.stop()

    def test_in_the_foreground_in_an_empty_folder_it_keeps_everything_in_data(self):
        """R001-138 R001-139 R001-140"""
        with tempfile.TemporaryDirectory() as folder, \
                Simulator(self.sim_program, "--events", "300", "--rate", "50") as sim:
            programs = os.path.join(folder, "programs")
            os.mkdir(programs)
            os.symlink(self.program, os.path.join(programs, "tidemark"))
            shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(folder, "tools"))
            config = os.path.join(folder, "tidemark.yaml")
            with open(config, "w", encoding="utf-8") as out:
                out.write("serve: {listen: '127.0.0.1:0', health_listen: ''}\n"
                          "bluesky: {appview: 'http://127.0.0.1:9'}\ncards: {enabled: false}\n"
                          f"jetstream: {{endpoint: 'ws://127.0.0.1:{sim.port}/subscribe', "
                          "fallback_endpoint: ''}\n")
            epochs = []
            for _ in range(2):
                process = subprocess.Popen(
                    [os.path.join(folder, "tools", "run"), "--firehose", "--config", config],
                    env={**os.environ, "PROGRAMS": programs}, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                words = []
                for line in process.stdout:  # until the console says so
                    words.append(line)
                    if "msg=connected" in line:
                        break
                self.assertIn("msg=connected", "".join(words))
                wait_until(lambda: has_cursor(folder), "a position")
                process.send_signal(signal.SIGINT)
                words.append(process.stdout.read())
                self.assertEqual(process.wait(WAIT_S), 0, "".join(words))
                process.stdout.close()
                epochs.append(int(re.search(r"epoch=(\d+)", "".join(words)).group(1)))
            self.assertEqual(epochs, [1, 2])
            with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as makefile:
                self.assertRegex(makefile.read(), r"(?m)^run-firehose:.*\n\t.*tools/run --firehose")
            kept = set(os.listdir(os.path.join(folder, "data")))
            self.assertLessEqual({"tidemark.db", "jetstream_cursor.txt"}, kept)
            self.assertEqual(set(os.listdir(folder)),
                             {"data", "programs", "tidemark.yaml", "tools"})

    def test_the_compose_file_asks_for_health_where_the_daemon_tells_it(self):
        """R001-141"""
        compose = read_compose(read_file("deploy", "compose.yaml"))
        service, = compose["services"].values()
        self.assertEqual(service["restart"], "unless-stopped")
        volumes = dict(volume.split(":")[:2] for volume in service["volumes"][""])
        mounts = {target: source for source, target in volumes.items()}
        # The image is built from here, without the rights of root, and reads the mounted file.
        self.assertEqual(service["build"]["context"], "..")
        image = read_file(service["build"]["dockerfile"])
        last = image[image.rindex("\nFROM "):]
        self.assertRegex(image, r"(?m)\AFROM debian:|^FROM debian:")
        self.assertRegex(last, r"(?m)^USER (?!root)\w+$")
        # Everything that `make install` puts somewhere, connectors too, is in the image.
        prefix, destination = re.search(r"make install PREFIX=(\S+) DESTDIR=(\S+)", image).groups()
        self.assertIn(f"\nCOPY --from=build {destination}{prefix}/ {prefix}/\n", last)
        known = re.findall(r"(?m)^([a-z][\w.+-]*)", read_file("tools", "packages.txt"))
        named = [word for line in re.findall(r"--no-install-recommends (.+)", image)
                 for word in re.findall(r"(?<!\S)[a-z][\w.-]+(?=\s|$)", line.split("<")[0])]
        self.assertEqual(sorted(named), ["ca-certificates", "curl", "make"])
        self.assertLessEqual(set(named) - {"make"}, set(known))  # it comes with build-essential
        ignored = read_file(".dockerignore").split("\n")
        self.assertLessEqual({".git", "build", "data"}, set(ignored))
        config = re.search(r'(?m)^CMD \["run", "-c", "(.+)"\]$', last).group(1)
        self.assertIn(config, mounts)
        given = os.path.join(ROOT, "deploy", mounts[config])
        check = subprocess.run([self.program, "config", "check", "-c", given],
                               capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        # All that is written lies in the volume.
        folder, = (target for target, source in mounts.items() if source in compose["volumes"])
        for path in re.findall(r"(?m)^  (?:url|data_dir|cursor_file): (?:sqlite:)?(.+)$",
                               read_file("deploy", mounts[config])):
            self.assertTrue(path.startswith(folder), path)
        # Both ask for health at the address that this configuration gives it.
        asked = service["healthcheck"]["test"][-1]
        self.assertIn(f'"{asked}"', last)
        printed = subprocess.run([self.program, "config", "print", "-c", given], check=True,
                                 capture_output=True, text=True).stdout
        address = re.search(r'health_listen: "(.+)"', printed).group(1)
        self.assertEqual(asked, f"http://{address}/health")
        self.assertEqual(service["network_mode"], "host")  # whose loopback it is
        with Home("sqlite") as home, Simulator(self.sim_program, "--events", "10") as sim, \
                Daemon(self.program, home, settings(sim, "serve.health_listen=127.0.0.1:0"),
                       config=given) as daemon:
            daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
            port = int(re.search(r'"?health_port"?[=:](\d+)', daemon.words()).group(1))
            self.assertEqual(fetch(port, asked[asked.rindex("/"):])[0], 200)
            daemon.stop()

    def test_the_readme_says_what_is_not_to_be_expected(self):
        """R001-158, R003-64: how far back posts go, and what nobody does with transactions."""
        scope = re.search(r"(?m)^Not in scope:(.|\n)*?\n\n", read_file("README.md")).group(0)
        for words in ("normalising, pricing or accounting", "24 hours of posts",
                      "cursors that every provider understands"):
            self.assertIn(words, " ".join(scope.split()))

    def test_every_duty_of_the_seed_has_its_files(self):
        """R001-145: the map in docs/ARCHITECTURE.md names them, and they are there."""
        page = read_file("docs", "ARCHITECTURE.md")
        section = page.split("## Which file does what the seed's components did")[1]
        section = section.split("\n## ")[0]
        rows = re.findall(r"(?m)^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", section)
        self.assertLessEqual({"cmd/firehose", "internal/jetstream client",
                              "internal/jetstream types", "internal/didmanager", "cmd/janitor",
                              "cmd/poller", "internal/backfill"}, {row[0] for row in rows})
        for component, duty, files in rows:
            self.assertTrue(duty.strip(), component)
            names = re.findall(r"`([^`]+)`", files)
            self.assertTrue(names, component)
            for name in names:
                self.assertTrue(os.path.isfile(os.path.join(ROOT, name)), f"{component}: {name}")

    def test_what_is_killed_is_started_again_and_complete(self):
        """R001-142 R001-144: the unit restarts whatever ends badly, a kill included."""
        unit = configparser.RawConfigParser(strict=False, delimiters="=")
        unit.optionxform = str
        unit.read(os.path.join(ROOT, "deploy", "tidemark.service"))
        self.assertEqual(unit["Service"]["Restart"], "on-failure")
        self.assertEqual(unit["Unit"]["StartLimitIntervalSec"], "0")

        def run(home):
            with Simulator(self.sim_program, "--events", "2000", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    daemon.wait_for(lambda health: health["commit_seq"] > 0, "the first commit")
                    daemon.kill()
                with Daemon(self.program, home, settings(sim)) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                    wait_until(lambda: difference(stored_in(daemon), truth_of(sim))
                               == NO_DIFFERENCE, "all posts")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
