# SPDX-License-Identifier: Apache-2.0
"""`tidemark connector`, as whoever writes a description types it, against APIs of its own.

  connector_command.py TIDEMARK"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MADEUP = os.path.join(ROOT, "tests", "data", "connectors", "madeup.yaml")
COINBASE = os.path.join(ROOT, "connectors", "exchange", "coinbase.yaml")
KRAKEN = os.path.join(ROOT, "connectors", "exchange", "kraken.yaml")
KEY = "canary-5f0c1e"
TIDES = {"tides": {
    "t-1": {"level": "12.50", "moon": 3, "at_ms": 1700000000000, "giver": "a", "taker": "b\x1b[2J"},
    "t-2": {"level": "much", "moon": 4, "at_ms": 1700000001000, "giver": "a", "taker": "c"}},
    "rest": 5, "all": 7}


class Api(http.server.BaseHTTPRequestHandler):
    """Answers what the test laid out, and keeps what was asked."""
    answers, asked = {}, []

    def do_GET(self):
        Api.asked.append((self.path, dict(self.headers)))
        status, body = Api.answers.get(self.path.split("?")[0], (404, {"trouble": "not here"}))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class ConnectorCommand(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        cls.address = f"http://127.0.0.1:{cls.server.server_port}/tidal"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        Api.answers, Api.asked = {}, []

    def tell(self, *words, code=0, settings=()):
        done = subprocess.run(
            [self.program, "connector", *words,
             *(part for setting in settings for part in ("--set", setting))],
            capture_output=True, text=True, timeout=60, cwd=tempfile.gettempdir())
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn(KEY, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def try_madeup(self, *words, code=0, key=KEY):
        settings = [f"providers.madeup.base_url={self.address}"]
        if key:
            settings.append(f"providers.madeup.api_key={key}")
        return self.tell("try", MADEUP, "madeup:alice", *words, code=code, settings=settings)

    # R003-37
    def test_a_page_of_a_provider_nobody_wrote_code_for(self):
        Api.answers = {"/tidal/tides": (200, TIDES)}
        out, words = self.try_madeup("--json")
        found = json.loads(out)
        self.assertEqual(Api.asked[0][0], "/tidal/tides?most=10")
        self.assertEqual(Api.asked[0][1]["X-Tide"], KEY)
        self.assertEqual((found["status"], found["verdict"], found["next"], found["last"]),
                         (200, "ok", "t-2", False))
        self.assertEqual(found["rows"], [{
            "block": 3, "time": "2023-11-14T22:13:20.000Z", "kind": "tides", "hash": "t-1",
            "from": "a", "to": "b\x1b[2J", "asset": "TIDE", "amount": "12.5", "fee": None,
            "status": "confirmed", "id": None}])
        self.assertEqual([entry["reason"] for entry in found["refused"]],
                         ["amount (/level) is not what its cast expects"])
        self.assertEqual(json.loads(found["refused"][0]["raw"])["key"], "t-2")
        self.assertIn(f"GET {self.address}/tides?most=10\nX-Tide: ********\n", words)

    def test_people_get_a_table_that_cannot_steer_a_terminal(self):
        Api.answers = {"/tidal/tides": (200, TIDES)}
        out, words = self.try_madeup()
        lines = out.splitlines()
        self.assertEqual(lines[0].split()[:3], ["BLOCK", "TIME", "KIND"])
        self.assertIn("12.5", lines[1])
        self.assertNotIn("\x1b", out)
        self.assertIn("refused: amount (/level)", words)
        self.assertIn("ok: 2 records, 1 row, 1 refused, 0 not of this stream; more pages follow",
                      words)

    def test_what_the_provider_says_decides_the_exit_code(self):
        for status, body, verdict, code in (
                (200, {"trouble": "rate limit"}, "rate_limited", 1),
                (401, {}, "auth", 3),
                (503, b"<html>", "retry", 1),
                (200, b"<html>", "retry", 1),
                (404, {}, "fatal", 1)):
            Api.answers = {"/tidal/tides": (status, body)}
            out, _ = self.try_madeup("--json", code=code)
            self.assertEqual(json.loads(out)["verdict"], verdict)
        Api.answers = {"/tidal/tides": (200, {"tides": "none"})}
        _, words = self.try_madeup(code=1)
        self.assertIn('the answer has no map of records at "/tides"', words)

    def test_without_its_key_nothing_is_asked(self):
        _, words = self.try_madeup(code=3, key=None)
        self.assertIn("madeup needs a key: set providers.madeup.api_key", words)
        self.assertEqual(Api.asked, [])

    def test_wrong_words_are_usage(self):
        for words, sentence in (
                (("try", MADEUP, "ethereum:x"), 'madeup does not serve "ethereum"'),
                (("try", MADEUP, "madeup:a b"), "after the platform comes a name"),
                (("try", MADEUP, "madeup:a", "--stream", "x"), "madeup has no such stream"),
                (("try", MADEUP), "usage:"), (("check",), "usage:"), (("chek",), "usage:")):
            _, said = self.tell(*words, code=2)
            self.assertIn(sentence, said)

    def test_a_signed_list_comes_before_its_walk(self):
        pem = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"],
                             capture_output=True, text=True, check=True).stdout
        Api.answers = {
            "/tidal/v2/accounts": (200, {"pagination": {}, "data": [{"id": "w 1"}, {"id": "w2"}]}),
            "/tidal/v2/accounts/w%201/transactions": (200, {"pagination": {}, "data": [
                {"id": "x", "status": "completed", "created_at": "2023-11-14T22:13:20Z",
                 "amount": {"amount": "1", "currency": "BTC"}}]})}
        with tempfile.TemporaryDirectory() as folder:
            secret = os.path.join(folder, "pem")
            with open(secret, "w", encoding="ascii") as file:
                file.write(pem)
            os.chmod(secret, 0o600)
            out, words = self.tell(
                "try", COINBASE, "coinbase", "--json",
                settings=[f"providers.coinbase.base_url={self.address}",
                          f"providers.coinbase.api_key={KEY}",
                          f"providers.coinbase.api_secret_file={secret}"])
        self.assertEqual([row["id"] for row in json.loads(out)["rows"]], ["x"])
        self.assertEqual(len(Api.asked), 2)
        for _, headers in Api.asked:
            self.assertEqual(headers["Authorization"].count("."), 2)
            self.assertNotIn(headers["Authorization"], words)
        self.assertEqual(words.count("Authorization: ********"), 2)

    def test_the_reason_of_an_explorer_is_its_sentence(self):
        why = "You are using a deprecated V1 endpoint"
        for provider in ("etherscan", "routescan"):
            path = os.path.join(ROOT, "connectors", "evm", provider + ".yaml")
            Api.answers["/tidal/api"] = (200, {"status": "0", "message": "NOTOK", "result": why})
            out, _ = self.tell("try", path, "ethereum:0x" + "1" * 40, "--json", code=1, settings=(
                f"providers.{provider}.base_url={self.address}",
                f"providers.{provider}.api_key={KEY}"))
            self.assertEqual(json.loads(out)["verdict"], "next_provider")
            self.assertIn(why, json.loads(out)["why"])

    def test_a_file_is_read_like_an_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ledgers.csv")
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write('"txid","refid","time","type","subtype","aclass","asset","amount","fee",'
                           '"balance"\r\n"L1","R1","2023-11-14 22:13:20","deposit","","currency",'
                           '"XXBT","0.10","0",""\r\n"L2","R2"\r\n')
            out, words = self.tell("try", KRAKEN, f"csv:{path}", "--json")
            self.assertEqual([(row["id"], row["amount"]) for row in json.loads(out)["rows"]],
                             [("L1", "0.1")])
            self.assertIn("refused: line 3: 2 cells where the header has 10", words)
            with open(path, "w", encoding="utf-8") as file:
                file.write("a,b\n1,2\n")
            _, words = self.tell("try", KRAKEN, f"csv:{path}", code=1)
            self.assertIn("kraken knows no rows in a file with these columns: a,b", words)

    # R003-36
    def test_check_names_the_place_of_a_mistake(self):
        with open(MADEUP, encoding="utf-8") as file:
            good = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(good.replace("    resume: {kind: none}\n", ""))
            _, words = self.tell("check", MADEUP, path, code=1)
            self.assertIn("madeup.yaml is good: madeup, 1 platform, 1 stream", words)
            self.assertIn("wrong.yaml:17:5: a stream needs the key resume", words)
            with open(path, "w", encoding="utf-8") as file:
                file.write(good.replace("records:", "record:"))
            _, words = self.tell("check", path, code=1)
            self.assertIn('wrong.yaml:23:5: a stream has no key "record" (did you mean records?)',
                          words)
            _, words = self.tell("check", os.path.join(folder, "none.yaml"), code=1)
            self.assertIn("none.yaml", words)

    def test_the_connectors_for_nodes_of_ones_own_are_good(self):
        nodes = [os.path.join(ROOT, "examples", "nodes", name + ".yaml")
                 for name in ("bitcoin_node", "evm_node")]
        _, words = self.tell("check", *nodes)
        self.assertEqual(words.count(" is good: "), 2)

    def test_the_worked_example_of_the_document_is_good(self):
        out, _ = self.tell("docs")
        begin = out.index("    version: 1\n")
        lines = [line[4:] for line in out[begin:].splitlines() if line.startswith("    ")]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "madeup.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            _, words = self.tell("check", path)
            self.assertIn("madeup, 1 platform, 1 stream", words)


if __name__ == "__main__":
    ConnectorCommand.program = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
