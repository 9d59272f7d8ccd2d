# SPDX-License-Identifier: Apache-2.0
"""What an operator does with input that was refused: look, hand in again, drop.

  quarantine.py TIDEMARK TIDEMARK_SIM"""

import hashlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import PAST, settings  # noqa: E402

AUTHOR = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
GOOD = json.dumps({
    "did": AUTHOR, "time_us": 1790000000000000, "kind": "commit", "commit": {
        "rev": "3l3qo2vutsw2b", "operation": "create", "collection": "app.bsky.feed.post",
        "rkey": "3l3qo2vuowo2b", "cid": "bafyreihjsy",
        "record": {"$type": "app.bsky.feed.post", "createdAt": "2026-09-21T14:13:20.000Z",
                   "text": "kept for later https://example.org/story", "langs": ["en"]}}})
HOSTILE = '{"did":"did:x</pre><script>alert(1)</script>","time_us":true,"kind":"commit"}'
# id, source, bytes (None: not kept), size
INPUTS = ((1000001, "jetstream", GOOD, len(GOOD)), (1000002, "jetstream", HOSTILE, len(HOSTILE)),
          (1000003, "jetstream", None, 99999), (1000004, "feed", "{}", 2),
          (1000005, "jetstream", "a note", 9000000), (1000006, "jetstream", "drop me", 7))


def fill(home):
    rows = []
    for number, source, raw, size in INPUTS:
        digest = hashlib.sha256(str(number).encode()).hexdigest()[:32]
        literal = "x'{}'" if home.kind == "sqlite" else "'\\x{}'"
        kept = "NULL" if raw is None else literal.format(raw.encode().hex())
        rows.append(f"({number}, '{source}', {literal.format(digest)}, {kept}, {size}, "
                    "'could not be used', 5, 1, 0)")
    home.run_sql("INSERT INTO quarantine "
                 "(id, source, digest, raw, size, reason, at_us, times, seq) "
                 f"VALUES {', '.join(rows)};")


def ask(port, method, path, headers):
    """The answer of a daemon that may have too much to do for a moment."""
    def settled():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request(method, path, "" if method == "POST" else None, headers)
            answer = connection.getresponse()
            words = answer.read().decode()
            return None if answer.status == 503 else (answer, words)
        finally:
            connection.close()
    return wait_until(settled, f"an answer to {path}")


def post(port, path, **headers):
    answer, words = ask(port, "POST", path, {name.replace("_", "-"): value
                                             for name, value in headers.items()})
    return answer.status, answer.getheader("Location"), words


def get(port, path, **headers):
    return ask(port, "GET", path, headers)[1]


class Quarantine(BothStores):
    def command(self, home, *words):
        return subprocess.run(
            [self.program, "quarantine", *words, "-c", "/dev/null",
             "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"],
            capture_output=True, text=True, check=False)

    def left(self, daemon):
        page = daemon.ask_raw("GET", "/status")[1].decode()
        return sorted(int(number) for number in re.findall(r"#(\d+) from ", page))

    def following(self, run, *more):
        """run(home, daemon, port) while a daemon follows a firehose and has refused some input."""
        def begin(home):
            words = ["-c", "/dev/null", "--set", f"store.url={home.url}",
                     "--set", f"store.data_dir={home.folder}"]
            subprocess.run([self.program, "migrate", *words], check=True, capture_output=True)
            fill(home)
            with Simulator(self.sim_program, "--events", "1", *PAST) as sim, \
                    Daemon(self.program, home, settings(
                        sim, "retention.enabled=false", *more)) as daemon:  # what is kept is old
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                port = wait_until(lambda: re.search(r" port=(\d+)", daemon.words()), "the port")
                run(home, daemon, int(port.group(1)))
                daemon.stop()
        self.both_stores(begin)

    def test_what_can_be_used_by_now_is_stored_and_leaves(self):
        def run(home, daemon, _):
            done = self.command(home, "retry", "1000001")
            self.assertEqual((done.returncode, done.stderr),
                             (0, "1000001 was taken and is out of quarantine\n"))
            self.assertEqual(self.left(daemon), [number for number, *_ in INPUTS[1:]])
            row, = (row for row in daemon.walk("posts") if row["actorDid"] == AUTHOR)
            self.assertEqual(row["text"], "kept for later https://example.org/story")
        self.following(run)

    def test_what_cannot_be_used_stays_and_says_why(self):
        reasons = {1000002: "time_us", 1000003: "its bytes were not kept",
                   1000004: "what feed sends is asked for anew", 1000005: "its bytes were not kept",
                   7: "nothing is in quarantine under this id"}

        def run(home, daemon, _):
            for number, reason in reasons.items():
                done = self.command(home, "retry", str(number))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(reason, done.stderr)
            self.assertEqual(self.left(daemon), [number for number, *_ in INPUTS])
            self.assertEqual(self.command(home, "drop", "1000006").returncode, 0)
            self.assertEqual(self.command(home, "drop", "1000006").returncode, 1)
            self.assertEqual(self.left(daemon), [number for number, *_ in INPUTS[:-1]])
            for body in ({}, {"id": 1000002}, {"id": "1000002", "action": "drop"},
                         {"id": 1000002, "action": "burn"}):
                status, answer = daemon.ask("POST", "/api/admin/quarantine", body)
                self.assertEqual((status, answer["code"]), (400, "BAD_REQUEST"))
        self.following(run)

    def test_the_page_posts_and_no_page_of_another_origin_does(self):
        def run(home, daemon, port):
            drop = "/status/quarantine/drop/1000006"
            here = f"http://127.0.0.1:{port}"
            for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                            {"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"},
                            {"Host": "evil.example", "Origin": "http://evil.example"}):
                self.assertEqual(post(port, drop, **headers)[0], 403, headers)
            self.assertEqual(len(self.left(daemon)), len(INPUTS))
            self.assertEqual(get(port, drop).count("METHOD_NOT_ALLOWED"), 1)
            self.assertEqual(post(port, drop, Origin=here)[:2], (303, "/status#quarantine"))
            self.assertNotIn(1000006, self.left(daemon))
            status, _, page = post(port, "/status/quarantine/retry/1000002", Origin=here)
            self.assertEqual(status, 400)
            self.assertIn("time_us", page)
            self.assertIn("<!doctype html>", page.lower())
            self.assertEqual(post(port, "/status/quarantine/drop/nothing", Origin=here)[0], 400)
            page = get(port, "/status")
            self.assertNotIn("<script>alert", page)
            self.assertIn("&lt;/pre&gt;&lt;script&gt;alert(1)", page)
            self.assertEqual(page.count('action="/status/quarantine/retry/'), 2)
            self.assertEqual(page.count('action="/status/quarantine/drop/'), 5)
        self.following(run)

    def test_where_there_are_tokens_only_an_operators_is_good(self):
        names = {"reader": "read", "writer": "read,write", "operator": "read,admin"}

        def run(home, daemon, port):
            drop = "/status/quarantine/drop/1000006"
            self.assertEqual(post(port, drop)[0], 401)
            self.assertNotIn("<form method=\"post\"", get(port, "/status"))
            for name, status in (("reader", 403), ("writer", 403), ("operator", 303)):
                bearer = f"Bearer {name}"
                self.assertEqual("/status/quarantine/drop/" in get(port, "/status",
                                                                   Authorization=bearer),
                                 status == 303)
                self.assertEqual(post(port, drop, Authorization=bearer)[0], status, name)
            self.assertNotIn(1000006, self.left(daemon))

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens")
            with open(path, "w", encoding="utf-8") as file:
                for name, scopes in names.items():
                    file.write(f"{name} {scopes} {hashlib.sha256(name.encode()).hexdigest()}\n")
            os.chmod(path, 0o600)
            self.following(run, f"serve.tokens_file={path}")


if __name__ == "__main__":
    main()
