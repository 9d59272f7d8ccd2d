# SPDX-License-Identifier: Apache-2.0
"""`make run` as a person sees it: the last line is the page's address, the page is there, events
come, and Ctrl-C ends it calmly and with nothing left over."""

import glob
import http.client
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from free_port import free_port  # noqa: E402

WAIT_S = 120


def wait_until(holds, what):
    until = time.monotonic() + WAIT_S
    while not (answer := holds()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {WAIT_S} s: {what}")
        select.select([], [], [], 0.05)
    return answer


def session_members(leader):
    """Living processes of the session that `leader` began."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(path.split("/")[2]))
    return found


def parent_of(pid):
    """0 when it is gone by now."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def page_of(address):
    return f"http://{address[0]}:{address[1]}/"


class Run:
    """tools/run in a session of its own, with programs from the build directory."""

    def __init__(self, tool, programs, *words, port=None):
        self.folder = tempfile.TemporaryDirectory()
        self.scratch = os.path.join(self.folder.name, "tmp")
        bin_folder = os.path.join(self.folder.name, "bin")
        os.mkdir(self.scratch)
        os.mkdir(bin_folder)
        for program in programs:
            os.symlink(program, os.path.join(bin_folder, os.path.basename(program)))
        self.port = port or free_port()
        self.words = []
        environment = {**os.environ, "PROGRAMS": bin_folder, "PORT": str(self.port),
                       "SIM_RATE": "200", "TMPDIR": self.scratch}
        self.process = subprocess.Popen([tool, *words], env=environment, start_new_session=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in session_members(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(WAIT_S)
        self.process.stdout.close()
        self.folder.cleanup()

    def said(self):
        while chunk := self.process.stdout.read():
            self.words.append(chunk.decode(errors="replace"))
        return "".join(self.words)

    def address(self):
        pattern = r"^Open http://([0-9.]+):(\d+)/$"

        def printed():
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}:\n{self.said()}")
            return re.search(pattern, self.said(), re.M)

        wait_until(printed, "the printed address")
        found = re.search(pattern, self.said(), re.M)
        return found.group(1), int(found.group(2))

    def log(self):
        with open(re.search(r"Its log: (\S+)$", self.said(), re.M).group(1),
                  encoding="utf-8") as log:
            return log.read()

    def get(self, address, path):
        """Status and text; a daemon that is too busy for it now is asked again."""
        def settled():
            self.said()  # whoever does not read lets the writer wait
            answer = self.ask_once(address, path)
            return answer if answer[0] != 503 or path == "/health" else None

        return wait_until(settled, path)

    @staticmethod
    def ask_once(address, path):
        connection = http.client.HTTPConnection(*address, timeout=WAIT_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def events(self, address):
        sources = json.loads(self.get(address, "/api/status")[1])["sources"]
        return sum(source.get("events") or 0 for source in sources)


class RunTool(unittest.TestCase):
    tool = programs = None

    def end(self, run, number):
        said = run.said()
        run.process.send_signal(number)
        wait_until(lambda: run.said() is None or run.process.poll() is not None, "the end")
        self.assertEqual(run.process.returncode, 0, run.said())  # as it is meant to end
        self.assertTrue(run.said().endswith("\nStopped.\n"), run.said())
        if "Its log:" in said:
            self.assertEqual(run.said(), said + "Stopped.\n")
        wait_until(lambda: session_members(run.process.pid) == [], "that nobody is left over")
        self.assertEqual(os.listdir(run.scratch), [])

    def check_news(self, run, address):
        """What a person sees: papers with names of their own, headlines that differ."""
        def links():
            return json.loads(run.get(address, "/api/trending")[1])["links"]

        def settled():
            return len({link["domain"] for link in links() if link["title"]}) >= 5

        wait_until(settled, "headlines from five sites")
        shown = [link for link in links() if link["title"]]
        self.assertTrue(all(link["domain"].endswith(".localhost") for link in shown), shown)
        self.assertGreater(len({link["title"] for link in shown}), 4)

    def test_the_page_and_events_are_there_and_a_signal_ends_all(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Run(self.tool, self.programs) as run:
                address = run.address()
                self.assertEqual(address, ("127.0.0.1", run.port))
                # A newcomer looks at the last line, and opens the only address there is.
                self.assertEqual(run.said().splitlines()[-1], f"Open {page_of(address)}")
                self.assertEqual(len(run.said().splitlines()), 2)
                self.assertEqual(re.findall(r"https?://\S+", run.said()), [page_of(address)])
                status, page = run.get(address, "/")
                self.assertEqual(status, 200)
                self.assertIn("<html", page)
                wait_until(lambda: run.events(address) > 0, "the first event")
                wait_until(lambda: run.get(address, "/health")[0] == 200, "health")
                health = json.loads(run.get(address, "/health")[1])
                self.assertTrue(health["websocket_connected"])
                seen = run.events(address)
                wait_until(lambda: run.events(address) > seen + 100, "a stream that goes on")
                self.assertIn("level=info", run.log())
                self.assertNotIn("level=warn", run.log())  # nothing here is amiss
                self.assertIn("tidemark_compressed 1\n", run.get(address, "/metrics")[1])
                self.check_news(run, address)
                # Where it stood is kept with its data: the next one has another network.
                wait_until(lambda: glob.glob(run.scratch + "/tidemark-run.*/jetstream_cursor.txt"),
                           "the cursor file")
                self.end(run, number)

    def test_whoever_wants_more_is_told_where_the_network_is_and_sees_the_log(self):
        with Run(self.tool, self.programs, "--verbose") as run:
            address = run.address()
            said = run.said()
            network = re.search(r"http://\S+/_sim/accounts$", said, re.M)
            self.assertIn("handle", urllib.request.urlopen(network.group(), timeout=WAIT_S).read()
                          .decode())
            self.assertLess(network.start(), said.index(f"Open {page_of(address)}"))
            self.assertIn("level=info", said)
            self.end(run, signal.SIGTERM)

    def test_another_one_runs_beside_it_on_another_port(self):
        with Run(self.tool, self.programs) as first, Run(self.tool, self.programs) as second:
            for run in (first, second):
                self.assertEqual(run.get(run.address(), "/")[0], 200)
                self.end(run, signal.SIGTERM)

    def test_a_daemon_that_cannot_start_ends_it_all(self):
        with Run(self.tool, self.programs) as first:
            address = first.address()
            with Run(self.tool, self.programs, port=address[1]) as second:
                wait_until(lambda: second.said() is None or second.process.poll() is not None,
                           "the end")
                self.assertNotEqual(second.process.returncode, 0)
                self.assertNotIn("Open http", second.said())
                self.assertRegex(second.said(), r"run: tidemark ended with 1; the last it said:\n"
                                                rf"(.*\n)*.*{address[1]}.*in use")
                self.assertRegex(second.said(), rf"has port {address[1]}; take another: PORT=\d+ ")
                wait_until(lambda: session_members(second.process.pid) == [], "nobody left over")
                self.assertEqual(os.listdir(second.scratch), [])
            self.end(first, signal.SIGTERM)

    def test_a_program_that_is_missing_is_named(self):
        with Run(self.tool, []) as run:
            wait_until(lambda: run.process.poll() is not None, "the end")
            self.assertEqual(run.process.returncode, 1)
            self.assertIn("tidemark is not there", run.said())


class Make(unittest.TestCase):
    """The Makefile that lies beside the tool, with stand-ins for everything that builds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        shutil.copy(os.path.join(os.path.dirname(RunTool.tool), "..", "Makefile"), self.folder)
        for path in ("tools/setup", "tools/link-programs"):
            self.stand_in(path, "exit 0")
        self.stand_in("tools/run", "echo Open http://127.0.0.1:1/")
        self.stand_in("bin/meson", 'echo Compiler for C supports; mkdir -p "${@: -1}"\n'
                                   'touch "${@: -1}/build.ninja"')
        self.stand_in("bin/ninja", "echo The Meson build system; echo Regenerating >&2")

    def stand_in(self, path, script):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/bash\n{script}\n")
        os.chmod(path, 0o755)

    def run_make(self):
        # Nothing else: a make that runs the tests would speak through its environment.
        environment = {"PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]}
        done = subprocess.run(["make", "run"], cwd=self.folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT_S)
        return done.returncode, done.stdout

    def test_nothing_but_the_address_is_said_when_all_is_well(self):
        said = "building build/release\nOpen http://127.0.0.1:1/\n"
        self.assertEqual(self.run_make(), (0, said))
        self.assertEqual(self.run_make(), (0, said))  # now that it is set up

    def test_the_end_is_calm(self):
        """Ctrl-C goes to all of them, a service manager's SIGTERM to make or to the tool alone."""
        shutil.copy(RunTool.tool, os.path.join(self.folder, "tools"))
        for program in RunTool.programs:
            os.symlink(program, os.path.join(self.folder, "bin", os.path.basename(program)))
        for number, everybody in ((signal.SIGINT, True), (signal.SIGTERM, True),
                                  (signal.SIGTERM, False)):
            with self.subTest(number=number, everybody=everybody):
                self.run_to_the_end(number, everybody)

    def run_to_the_end(self, number, everybody):
        path = os.path.join(self.folder, "bin")
        sanitizers = {name: value for name, value in os.environ.items()
                      if name.endswith("SAN_OPTIONS")}
        environment = {**sanitizers, "PATH": path + ":" + os.environ["PATH"], "PROGRAMS": path,
                       "TMPDIR": self.folder, "PORT": str(free_port())}
        with subprocess.Popen(["make", "run"], cwd=self.folder, env=environment, text=True,
                              start_new_session=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as make:
            said = []
            for line in make.stdout:
                said.append(line)
                if line.startswith("Open http"):
                    break
            if everybody:
                os.killpg(make.pid, number)
            else:
                tool, = [pid for pid in session_members(make.pid) if parent_of(pid) == make.pid]
                os.kill(tool, number)
            rest = make.stdout.read()
            code = make.wait(WAIT_S)
        self.assertTrue(said and said[-1].startswith("Open http"), said)
        self.assertEqual(rest, "Stopped.\n")
        self.assertEqual(code, -number if everybody else 0)
        wait_until(lambda: session_members(make.pid) == [], "that nobody is left over")

    def test_whoever_fails_is_heard_in_full(self):
        for program in ("meson", "ninja"):
            words = [f"{program} {i}: something is amiss" for i in range(500)]
            self.stand_in(f"bin/{program}", "\n".join(f"echo '{word}' >&{1 + i % 2}" for i, word
                                                      in enumerate(words)) + "\nexit 3")
            code, said = self.run_make()
            self.assertEqual(code, 2)
            self.assertIn("\n".join(words), said)
            self.assertNotIn("Open http", said)
            self.stand_in("bin/meson", 'mkdir -p "${@: -1}"; touch "${@: -1}/build.ninja"')


if __name__ == "__main__":
    RunTool.tool, *RunTool.programs = (os.path.abspath(path) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
