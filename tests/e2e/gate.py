# SPDX-License-Identifier: Apache-2.0
"""Who is let in: tokens as an operator makes, gives out and takes back.

  gate.py TIDEMARK TIDEMARK_SIM"""

import hashlib
import http.client
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from daemon_client import Daemon, Home, WAIT_S, wait_until  # noqa: E402
from sim_client import Closed, Refused, Websocket  # noqa: E402

OPEN_POSTS = {"collection": "posts"}
QUIET = ("jetstream.endpoint=ws://127.0.0.1:9/subscribe", "jetstream.fallback_endpoint=")


class Gate(unittest.TestCase):
    program = None

    def tell(self, *words, code=0):
        result = subprocess.run([self.program, *words], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        return result.stdout, result.stderr

    def make_token(self, name, scopes):
        """(the line, the token)"""
        line, token = self.tell("token", name, scopes)
        return line, token.strip()

    @staticmethod
    def write(home, *lines):
        path = os.path.join(home.folder, "tokens")
        with open(path, "w", encoding="utf-8",
                  opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.writelines(lines)
        return path

    @staticmethod
    def status_of(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status

    @staticmethod
    def ask(port, method, path, token=None, body=None):
        """(the status, the answer) over TCP."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        words = answer.read()
        connection.close()
        return answer.status, json.loads(words)

    @staticmethod
    def port_of(daemon):
        found = wait_until(lambda: re.search(r" port=(\d+)", daemon.words()), "the port")
        return int(found.group(1))

    def test_a_fresh_token_is_known_by_its_line_alone(self):
        line, token = self.make_token("alice", "read,write")
        self.assertNotEqual(line, self.make_token("alice", "read,write")[0])
        self.assertRegex(token, r"^tmk_[0-9a-f]{64}$")
        self.assertEqual(line, f"alice read,write {hashlib.sha256(token.encode()).hexdigest()}\n")
        for words in ((), ("alice",), ("al ice", "read"), ("alice", "all"), ("a", "read", "b")):
            self.tell("token", *words, code=2)
        with Home("sqlite") as home:
            given = ("config", "check", "-c", "/dev/null", "--set",
                     f"serve.tokens_file={self.write(home, line)}")
            self.tell(*given)
            path = self.write(home, line, "# and one more\n", "bob all 00\n")
            self.assertIn(f"{path}:3: ", self.tell(*given, code=1)[1])
            self.assertIn("cannot", self.tell(*given[:-1], "serve.tokens_file=/nowhere",
                                              code=1)[1])

    def test_tokens_are_taken_back_by_a_signal(self):
        line, token = self.make_token("alice", "read,admin")
        other_line, other = self.make_token("bob", "read")
        with Home("sqlite") as home:
            path = self.write(home, line)
            with Daemon(self.program, home, (*QUIET, f"serve.tokens_file={path}",
                                             "serve.open_reads=false")) as daemon:
                port = self.port_of(daemon)
                # As docs/OPERATING.md says: neither a page nor the API, but what is nobody's.
                for page, status in (("/", 401), ("/status", 401), ("/api/trending", 401),
                                     ("/metrics", 401), ("/health", 200),
                                     ("/api/openapi.json", 200)):
                    self.assertEqual(self.status_of(port, page), status, page)
                self.assertEqual(self.ask(port, "GET", "/api/status")[0], 401)
                self.assertEqual(self.ask(port, "GET", "/api/status", token)[0], 200)
                self.assertEqual(self.ask(port, "POST", "/api/admin/verify", token, {})[0], 200)
                self.assertEqual(self.ask(port, "GET", "/api/status", other)[0], 401)
                self.write(home, other_line)
                daemon.reload()
                wait_until(lambda: self.ask(port, "GET", "/api/status", other)[0] == 200,
                           "the fresh token")
                self.assertEqual(self.ask(port, "GET", "/api/status", token)[0], 401)
                self.assertEqual(self.ask(port, "POST", "/api/admin/verify", other, {})[0], 403)
                self.write(home, other_line, "nonsense\n")
                daemon.reload()
                wait_until(lambda: f"{path}:2: " in daemon.words(), "the bad line's name")
                self.assertEqual(self.ask(port, "GET", "/api/status", other)[0], 200)
                daemon.stop()
                self.assertIn("address=127.0.0.1 msg=token_refused", daemon.words())
                self.assertNotIn("without_effect", daemon.words())
                self.assertNotIn(token, daemon.words())
                self.assertNotIn(other, daemon.words())

    def follow(self, port, token):
        """A query of the token's, followed as events and by a long poll."""
        handle = self.ask(port, "POST", "/api/data/query-open", token, OPEN_POSTS)[1]["queryHandle"]
        headers = {"Authorization": f"Bearer {token}"}
        events, poll = (http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
                        for _ in range(2))
        events.request("GET", f"/api/events?queryHandle={handle}", headers=headers)
        stream = events.getresponse()
        self.assertEqual((stream.status, stream.readline()), (200, b"retry: 1000\n"))
        poll.request("POST", "/api/data/query-tail",
                     json.dumps({"queryHandle": handle, "wait": 60000}), headers)
        return stream, poll

    def test_who_is_told_unasked_is_not_told_after_the_token_is_taken_back(self):
        line, token = self.make_token("alice", "read")
        kept_line, kept = self.make_token("bob", "read,admin")
        changed_line, changed = self.make_token("carol", "read")
        with Home("sqlite") as home:
            path = self.write(home, line, kept_line, changed_line)
            with Daemon(self.program, home, (*QUIET, f"serve.tokens_file={path}")) as daemon:
                daemon.port = port = self.port_of(daemon)
                lost = [self.follow(port, each) for each in (token, changed)]
                stays, stays_poll = self.follow(port, kept)
                wait_until(lambda: b"tails_live 6" in daemon.ask_raw("GET", "/metrics")[1],
                           "all to follow")
                websocket = Websocket(daemon, "/api/ws", (f"Authorization: Bearer {token}",),
                                      host="localhost")
                self.write(home, kept_line, changed_line.replace(" read ", " write "))
                daemon.reload()
                with self.assertRaises(Closed) as closed:
                    websocket.texts(1)
                self.assertEqual(closed.exception.code, 1008)
                websocket.close()
                for stream, poll in lost:
                    words = stream.read().decode()
                    self.assertIn("event: refused\n", words)
                    self.assertIn('"code":"UNAUTHORIZED"', words)
                    self.assertEqual(poll.getresponse().status, 401)
                    poll.close()
                self.assertIn(b"tails_live 2\n", daemon.ask_raw("GET", "/metrics")[1])
                stays.close()
                stays_poll.close()
                daemon.stop()

    def test_a_websocket_may_offer_its_token(self):
        line, token = self.make_token("alice", "read")
        with Home("sqlite") as home:
            path = self.write(home, line)
            with Daemon(self.program, home, (*QUIET, f"serve.tokens_file={path}",
                                             "serve.open_reads=false")) as daemon:
                daemon.port = self.port_of(daemon)

                def offer(*protocols):
                    words = "Sec-WebSocket-Protocol: " + ", ".join(protocols)
                    return Websocket(daemon, "/api/ws", (words,), host="localhost")

                with offer("tidemark", f"tidemark.bearer.{token}") as websocket:
                    self.assertEqual(websocket.fields[b"Sec-WebSocket-Protocol"], b"tidemark")
                    websocket.send(1, json.dumps({"id": 1, "command": "query-open",
                                                  "params": OPEN_POSTS}).encode())
                    self.assertTrue(json.loads(websocket.texts(1)[0])["result"]["success"])
                    websocket.send(1, json.dumps({"id": 2, "command": "create", "params": {
                        "collection": "x", "data": {}}}).encode())
                    self.assertEqual(json.loads(websocket.texts(1)[0])["result"]["code"],
                                     "FORBIDDEN")
                for protocols, status in (((f"tidemark.bearer.{token}",), 400),
                                          (("tidemark", "tidemark.bearer.tmk_0"), 401),
                                          (("tidemark", "tidemark.bearer."), 401),
                                          (("tidemark",), 401)):
                    with self.assertRaises(Refused) as refused:
                        offer(*protocols)
                    self.assertEqual(refused.exception.status, status, protocols)
                    self.assertNotIn(b"Sec-WebSocket-Protocol", refused.exception.headers)
                daemon.stop()
                self.assertNotIn(token, daemon.words())

    def test_without_tokens_nobody_else_is_served(self):
        with Home("sqlite") as home:
            with Daemon(self.program, home, (*QUIET, "serve.listen=0.0.0.0:0")) as daemon:
                self.assertNotEqual(daemon.process.wait(WAIT_S), 0)
                self.assertIn("without serve.tokens_file only a loopback address is served",
                              daemon.words())
            with Daemon(self.program, home, QUIET) as daemon:
                port = self.port_of(daemon)
                self.assertEqual(self.ask(port, "POST", "/api/data/query-open",
                                          body=OPEN_POSTS)[0], 200)
                status, answer = self.ask(port, "POST", "/api/admin/verify", body={})
                self.assertEqual((status, answer["code"]), (401, "UNAUTHORIZED"))
                self.assertEqual(daemon.ask("POST", "/api/admin/verify", {})[0], 200)
                daemon.stop()

    def test_what_would_end_a_daemon_at_once_is_found_before(self):
        """`config check` names the setting, and `run` says the same words."""
        chain = ("content.contract=0x" + "0" * 40, "content.gateways=https://ipfs.example")
        faults = (("serve.listen", "serve.listen=0.0.0.0:0"),
                  ("serve.listen", "serve.listen=localhost:0"),
                  ("bluesky.appview", "bluesky.appview=https://me:secret@a.example"),
                  ("bluesky.appview", "bluesky.appview=https://a.example, http://a.example"),
                  ("jetstream.fallback_endpoint", "jetstream.endpoint=ws://127.0.0.1:9",
                   "jetstream.fallback_endpoint=ws://127.0.0.1:9/subscribe"),
                  ("content.rpc", *chain, "content.rpc=http://n:1/a, http://n:1/b"),
                  ("content.gateways", "content.feed=-", "content.gateways=http://g, http://g/"),
                  ("fetch.ca_file", "fetch.ca_file=/no/such.pem"))
        for setting, *changes in faults:
            with Home("sqlite") as home:
                flags = [word for change in (*QUIET, *changes) for word in ("--set", change)]
                said = self.tell("config", "check", "-c", "/dev/null", *flags, code=1)[1]
                self.assertTrue(said.startswith("--set: ") and said.count("\n") == 2, said)
                self.assertIn(setting, said)
                self.assertNotIn("secret", said)
                with Daemon(self.program, home, (*QUIET, *changes)) as daemon:
                    self.assertNotEqual(daemon.process.wait(WAIT_S), 0)
                    self.assertIn(said, daemon.words())

    def test_an_account_that_is_none_is_found_before(self):
        account = "ledger.accounts=ethereum:0x123"
        with Home("sqlite") as home:
            said = self.tell("config", "check", "-c", "/dev/null", "--set", account, code=1)[1]
            reason = said.splitlines()[0].removeprefix("--set: ")
            self.assertTrue(reason.startswith("ledger.accounts: ethereum:0x123: "), said)
            with Daemon(self.program, home, (*QUIET, account)) as daemon:
                wait_until(lambda: "msg=import_refused" in daemon.words(), "the refusal")
                self.assertIn(f'reason="{reason}"', daemon.words())
                daemon.stop()


if __name__ == "__main__":
    Gate.program = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
