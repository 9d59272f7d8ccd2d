# SPDX-License-Identifier: Apache-2.0
"""`tidemark doctor`: what it says of a sound installation, and of each planted trouble.

  doctor.py TIDEMARK TIDEMARK_SIM"""

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import PAST, settings  # noqa: E402

LINE = re.compile(r"^(ok  |warn|FAIL) ([^:]+(?::\d+)?): (.+)$")
SCHEMA = len(os.listdir(os.path.join(HERE, "..", "..", "src", "store", "sql", "sqlite")))
NOBODY = 65534
KEY = "the-key-nobody-may-read"


class Upstream(http.server.ThreadingHTTPServer):
    """AppView, node, gateway and explorer in one, with a clock of its own."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.ahead_s = 0
        self.asked = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def root(self):
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join(WAIT_S)
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.server.ahead_s)

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.server.asked.append(self.path + str(self.headers))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/xrpc/app.bsky.actor.getProfiles?"):
            self.answer(200, b'{"profiles":[]}')
        elif self.path.startswith("/moved/"):
            self.answer(301, b"", Location=f"http://cid.ipfs.localhost{self.path}")
        else:
            self.answer(404, b"{}")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = self.path == "/rpc" and asked["method"] == "eth_chainId"
        self.answer(200, b'{"jsonrpc":"2.0","id":1,"result":"0x1"}' if known else b"[]")


def closed_port():
    """One where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Doctor(BothStores):
    def sound(self, home, sim, upstream, *more):
        return (f"store.url={home.url}", f"store.data_dir={home.folder}", *settings(sim),
                f"bluesky.appview={upstream.root}", f"content.rpc={upstream.root}/rpc",
                f"content.gateways={upstream.root}", "content.event=any",
                "content.contract=0x" + "ab" * 20,
                f"providers.etherscan.base_url={upstream.root}/v2/api",
                f"providers.etherscan.api_key_file={home.folder}/key", *more)

    def ask(self, changes, *words, **options):
        """(exit code, {what: (level, finding)}, stdout)"""
        command = [self.program, "doctor", *words, "-c", "/dev/null"]
        for change in changes:
            command += ["--set", change]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=WAIT_S, check=False, **options)
        self.assertNotIn(KEY, result.stdout + result.stderr)
        if "--json" in words:
            return result.returncode, json.loads(result.stdout), result.stdout
        found = {}
        for line in result.stdout.splitlines():
            match = LINE.match(line)
            self.assertTrue(match, line)
            level, what, finding = match.groups()
            found.setdefault(what, (level.strip(), finding))
        failed = sum(line.startswith("FAIL") for line in result.stdout.splitlines())
        self.assertEqual(result.returncode, 1 if failed else 0, result.stdout)
        self.assertIn(f", {failed} failed", result.stderr)
        return result.returncode, found, result.stdout

    def ask_until(self, sound, *question, **options):
        """As `ask`, again while the machine is too slow for the seconds that doctor has."""
        def judged():
            answer = self.ask(*question, **options)
            return answer if sound(answer[1]) else None

        return wait_until(judged, "a sound verdict")

    def world(self, run):
        """run(home, sim, upstream) on each store, which is set up; the key has its file."""
        def begin(home):
            with open(os.path.join(home.folder, "key"), "w", encoding="utf-8",
                      opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
                key.write(KEY)
            subprocess.run([self.program, "migrate", "-c", "/dev/null", "--set",
                            f"store.url={home.url}"], check=True, capture_output=True)
            with Simulator(self.sim_program, "--events", "20", *PAST) as sim, \
                    Upstream() as upstream:
                run(home, sim, upstream)
        self.both_stores(begin)

    # ---- a sound installation ----

    def test_nothing_fails_where_nothing_is_wrong(self):
        def run(home, sim, upstream):
            code, found, _ = self.ask_until(
                lambda found: {level for level, _ in found.values()} == {"ok"},
                self.sound(home, sim, upstream))
            self.assertEqual(code, 0)
            names = {"configuration", "data directory", "disk", "sandbox", "secrets", "dictionary",
                     "store", f"firehose 127.0.0.1:{sim.port}", "clock"}
            at = f"127.0.0.1:{upstream.server_port}"
            names |= {f"{noun} {at}" for noun in ("appview", "rpc node", "gateway",
                                                  "ledger provider")}
            names |= {"write-ahead log"} if home.kind == "sqlite" else set()
            self.assertEqual(set(found), names)
            self.assertIn(f"{home.kind}, schema {SCHEMA}", found["store"][1])
            self.assertNotIn(KEY, "".join(upstream.asked))  # looking needs no key
            code, answer, _ = self.ask_until(
                lambda answer: {check["level"] for check in answer["checks"]} == {"ok"},
                self.sound(home, sim, upstream), "--json")
            self.assertEqual((code, answer["ok"]), (0, True))
            self.assertEqual({check["what"] for check in answer["checks"]}, names)
        self.world(run)

    def test_a_running_daemon_is_asked_and_its_store_is_not_opened(self):
        def run(home, sim, upstream):
            with Daemon(self.program, home, settings(sim)) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                _, found, _ = self.ask_until(
                    lambda found: found["daemon"] == ("ok", "runs and is healthy"),
                    self.sound(home, sim, upstream))
                self.assertRegex(found["store"][1],
                                 f"^{home.kind}, schema {SCHEMA}, .*the daemon has it open$")
                # It is asked for its own store only, and no other is opened beside it.
                elsewhere = "store.url=" + ("sqlite:/nowhere/at.db" if home.kind == "sqlite" else
                                            f"postgresql://127.0.0.1:{closed_port()}/none")
                code, found, _ = self.ask(self.sound(home, sim, upstream, elsewhere))
                self.assertEqual((code, found["daemon"][0]), (1, "FAIL"))
                self.assertIn("has another store", found["daemon"][1])
                self.assertFalse(os.path.exists("/nowhere"))
                daemon.stop()
        self.world(run)

    # ---- planted troubles ----

    def test_the_configuration_is_judged_as_by_config_check(self):
        def run(home, sim, upstream):
            wrong = self.sound(home, sim, upstream, "polling.interval_minutes=0",
                               "log.level=loud", "providers.etherscan.api_key_file=/nowhere/key")
            command = [self.program, "config", "check", "-c", "/dev/null"]
            for change in wrong:
                command += ["--set", change]
            said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
            problems = [line for line in said.splitlines() if line.startswith("--set")]
            self.assertEqual(len(problems), 3, said)
            code, found, out = self.ask(wrong)
            self.assertEqual(code, 1)
            self.assertEqual([line for line in out.splitlines() if " configuration: " in line],
                             [f"FAIL configuration: {problem}" for problem in problems])
            self.assertIn("/nowhere/key", out)
            self.assertEqual(found["store"][0], "ok")  # the rest is looked at all the same
        self.world(run)

    def test_an_unwritable_directory_fails(self):
        def run(home, sim, upstream):
            folder = os.path.join(home.folder, "closed")
            os.mkdir(folder)
            os.chmod(home.folder, 0o755)
            os.chmod(folder, 0o555)
            nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [],
                      "executable": shutil.copy(self.program, home.folder), "cwd": home.folder}
            changes = self.sound(home, sim, upstream, f"store.data_dir={folder}",
                                 "providers.etherscan.api_key_file=",
                                 "providers.etherscan.api_key=x")
            _, found, _ = self.ask(changes, **(nobody if os.geteuid() == 0 else {}))
            level, finding = found["data directory"]
            self.assertEqual(level, "FAIL")
            self.assertIn(f"{folder} takes no files of user", finding)
            self.assertIn("Give it to the user that tidemark runs as", finding)
            if home.kind == "sqlite" and os.geteuid() == 0:
                self.assertIn("FAIL", found["store"][0])
            file = self.sound(home, sim, upstream, f"store.data_dir={home.folder}/key")
            self.assertIn("is no directory", self.ask(file)[1]["data directory"][1])
        self.world(run)

    def test_a_directory_that_nobody_can_make_fails(self):
        def run(home, sim, upstream):
            closed = os.path.join(home.folder, "closed")
            os.mkdir(closed)
            os.chmod(home.folder, 0o755)
            os.chmod(closed, 0o555)
            nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [],
                      "executable": shutil.copy(self.program, home.folder), "cwd": home.folder}
            changes = self.sound(home, sim, upstream, f"store.data_dir={closed}/not/there",
                                 "providers.etherscan.api_key_file=",
                                 "providers.etherscan.api_key=x")
            _, found, _ = self.ask(changes, **(nobody if os.geteuid() == 0 else {}))
            level, finding = found["data directory"]
            self.assertEqual(level, "FAIL", finding)
            self.assertRegex(finding, f"^{closed}/not/there is not there, and user .* cannot make "
                                      f"it in {closed}: .*Make it, and give it to the user")
            # Where it can be made, the disk that it will lie on is looked at.
            os.chmod(closed, 0o777)
            _, found, _ = self.ask(changes, **(nobody if os.geteuid() == 0 else {}))
            self.assertEqual(found["data directory"],
                             ("warn", f"{closed}/not/there is not there. The first start makes it"))
            self.assertIn(f"MiB free at {closed}", found["disk"][1])
            self.assertEqual(os.listdir(closed), [])
        self.world(run)

    def test_a_full_disk_is_told(self):
        def run(home, sim, upstream):
            # Where no file can be there is no room either.
            _, found, _ = self.ask(self.sound(home, sim, upstream, "store.data_dir=/proc"))
            self.assertEqual(found["disk"],
                             ("FAIL", "0 MiB free at /proc. Free some space, or shorten "
                                      "retention.window_hours"))
        self.world(run)

    def test_dead_and_wrong_providers_fail_unless_others_stand_in(self):
        def run(home, sim, upstream):
            dead, at = closed_port(), upstream.server_port
            _, found, _ = self.ask(self.sound(
                home, sim, upstream, f"jetstream.fallback_endpoint=ws://127.0.0.1:{dead}",
                f"bluesky.appview={upstream.root}/nothing-here",
                f"content.rpc={upstream.root}/not-a-node",
                f"content.gateways={upstream.root},http://127.0.0.1:{dead}",
                f"providers.etherscan.base_url=http://127.0.0.1:{dead}"))
            self.assertEqual(found[f"firehose 127.0.0.1:{sim.port}"][0], "ok")
            level, finding = found[f"firehose 127.0.0.1:{dead}"]
            self.assertEqual(level, "warn")
            self.assertIn("cannot be reached", finding)
            self.assertIn("Correct jetstream.fallback_endpoint", finding)
            self.assertRegex(found[f"appview 127.0.0.1:{at}"][1], "status 404.*bluesky.appview")
            self.assertEqual(found[f"appview 127.0.0.1:{at}"][0], "FAIL")
            self.assertRegex(found[f"rpc node 127.0.0.1:{at}"][1], "as a node.*content.rpc")
            self.assertEqual(found[f"gateway 127.0.0.1:{dead}"][0], "warn")
            self.assertEqual(found[f"ledger provider 127.0.0.1:{dead}"][0], "FAIL")
            _, found, _ = self.ask(self.sound(
                home, sim, upstream, f"jetstream.endpoint={upstream.root.replace('http', 'ws')}"))
            self.assertRegex(found[f"firehose 127.0.0.1:{at}"][1], "status 404.*endpoint")
            self.assertEqual(found[f"firehose 127.0.0.1:{at}"][0], "FAIL")
        self.world(run)

    def test_a_gateway_that_redirects_is_none(self):
        def run(home, sim, upstream):
            at = upstream.server_port
            _, found, _ = self.ask(self.sound(home, sim, upstream,
                                              f"content.gateways={upstream.root}/moved",
                                              f"bluesky.appview={upstream.root}/moved"))
            level, finding = found[f"gateway 127.0.0.1:{at}"]
            self.assertEqual(level, "FAIL")
            self.assertIn("answers with status 301, to http://cid.ipfs.localhost", finding)
            self.assertIn("http://127.0.0.1:8080", finding)
            level, finding = found[f"appview 127.0.0.1:{at}"]
            self.assertEqual(level, "FAIL")
            self.assertIn("answers with status 301, to http://cid.ipfs.localhost", finding)
        self.world(run)

    def test_keys_and_secrets_are_looked_at(self):
        def run(home, sim, upstream):
            key = os.path.join(home.folder, "key")
            os.chmod(key, 0o644)
            tokens = os.path.join(home.folder, "tokens")
            with open(tokens, "w", encoding="utf-8") as file:
                file.write("not a line\n")
            os.chmod(tokens, 0o600)
            code, found, _ = self.ask(self.sound(
                home, sim, upstream, "providers.kraken.priority=1", "providers.nobody.priority=1",
                f"serve.tokens_file={tokens}"))
            self.assertEqual(code, 1)
            level, finding = found["providers.etherscan.api_key_file"]
            self.assertEqual(level, "warn")
            self.assertIn(f"chmod 600 {key}", finding)
            self.assertIn("it has no key", found["kraken"][1])
            self.assertIn("no connector has this name", found["nobody"][1])
            self.assertEqual(found["serve.tokens_file"][0], "FAIL")
        self.world(run)

    def test_a_store_that_cannot_be_used_fails(self):
        def run(home, sim, upstream):
            home.run_sql("INSERT INTO schema_migrations (version, name, checksum, applied_us) "
                         f"VALUES ({SCHEMA + 1}, 'later', 'x', 1);")
            _, found, _ = self.ask(self.sound(home, sim, upstream))
            self.assertEqual(found["store"][0], "FAIL")
            self.assertIn("install a newer tidemark", found["store"][1])
            if home.kind == "sqlite":
                os.unlink(home.url[len("sqlite:"):])
                code, found, _ = self.ask(self.sound(home, sim, upstream))
                self.assertEqual((code, found["store"][0]), (0, "warn"))
                self.assertFalse(os.path.exists(home.url[len("sqlite:"):]))
            else:
                lost = f"store.url=postgresql://u:{KEY}@127.0.0.1:{closed_port()}/none"
                _, found, _ = self.ask(self.sound(home, sim, upstream, lost))
                self.assertEqual(found["store"][0], "FAIL")
                self.assertIn("Correct store.url", found["store"][1])
                with Home("postgres") as bare:
                    code, found, _ = self.ask(self.sound(home, sim, upstream,
                                                         f"store.url={bare.url}"))
                self.assertEqual((code, found["store"][0]), (0, "warn"))
                self.assertIn("the database has no tables yet", found["store"][1])
                self.assertIn("`tidemark migrate` makes them", found["store"][1])
        self.world(run)

    def test_a_dictionary_that_is_none_is_told(self):
        def run(home, sim, upstream):
            path = os.path.join(home.folder, "words")
            shutil.copy(os.path.join(home.folder, "key"), path)
            change = f"jetstream.dictionary_file={path}"
            _, found, _ = self.ask(self.sound(home, sim, upstream, change))
            self.assertEqual(found["dictionary"][0], "warn")
            self.assertIn("is no zstd dictionary", found["dictionary"][1])
            with open(path, "wb") as file:
                file.write(b"\x37\xa4\x30\xec" + b"words" * 10)
            _, found, _ = self.ask(self.sound(home, sim, upstream, change))
            self.assertEqual(found["dictionary"], ("ok", f"{path}, 54 bytes"))
        self.world(run)

    # ---- the clock ----

    def test_the_clock_is_compared_with_whoever_tells_the_time(self):
        def run(home, sim, upstream):
            for ahead_s, level, words in ((120, "warn", "s behind appview"),
                                          (-4000, "FAIL", "s ahead of appview")):
                upstream.ahead_s = ahead_s
                _, found, _ = self.ask(self.sound(home, sim, upstream))
                self.assertEqual(found["clock"][0], level)
                self.assertIn(words, found["clock"][1])
                told = int(found["clock"][1].split()[0])
                self.assertLess(abs(told - abs(ahead_s)), 60, found["clock"])
        self.world(run)

    def test_without_a_network_the_newest_event_is_the_clock(self):
        def run(home, sim, upstream):
            del sim, upstream
            alone = (f"store.url={home.url}", f"store.data_dir={home.folder}",
                     f"jetstream.endpoint=ws://127.0.0.1:{closed_port()}",
                     "jetstream.fallback_endpoint=",
                     f"bluesky.appview=http://127.0.0.1:{closed_port()}")
            _, found, _ = self.ask(alone)
            self.assertEqual(found["clock"][0], "warn")
            self.assertIn("no provider told the time", found["clock"][1])
            for age_s, level, newer_wire in ((60, "ok", False), (-7200, "FAIL", False),
                                             (60, "ok", True), (-7200, "FAIL", True)):
                at_us = int((time.time() - age_s) * 1e6)
                place = {"type": "timeUs", "value": at_us}
                number = {"type": "seq", "value": 7, "providerName": "a.example"}
                cursor = json.dumps({"primary": number if newer_wire else place,
                                     "alternatives": [number, place] if newer_wire else [place],
                                     "lastTransactionId": "", "totalFetched": 0})
                home.run_sql("DELETE FROM cursors; INSERT INTO cursors VALUES "
                             f"('jetstream', 'live', '{cursor}', {at_us}, 6, 0);")
                _, found, _ = self.ask(alone)
                self.assertEqual(found["clock"][0], level, found["clock"])
        self.world(run)


if __name__ == "__main__":
    main()
