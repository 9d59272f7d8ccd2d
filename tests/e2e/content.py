# SPDX-License-Identifier: Apache-2.0
"""A daemon that follows a contract: a node and two gateways of this file's own making, both stores.

  content.py TIDEMARK TIDEMARK_SIM"""

import base64
import hashlib
import http.server
import json
import os
import sqlite3
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from daemon_client import Daemon, Home, wait_until  # noqa: E402

EXECUTED = {"sqlite": 0, "postgres": 0}
CONTRACT = "0xb01683b2f0d38d43fcd4d9aab980166988924132"


def rows(home, text):
    """Read by another hand than the product's: rows of strings."""
    if home.kind == "sqlite":
        store = sqlite3.connect(home.url[len("sqlite:"):], timeout=60)
        try:
            found = store.execute(text).fetchall()
        finally:
            store.close()
        return [["" if cell is None else str(cell) for cell in row] for row in found]
    out = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", text, home.url],
                         check=True, capture_output=True, text=True).stdout
    return [line.split("|") for line in out.splitlines()]


def address(document):
    binary = bytes([1, 0x55, 0x12, 32]) + hashlib.sha256(document).digest()
    return "b" + base64.b32encode(binary).decode().lower().rstrip("=")


class World:
    """One chain and what its documents are; what is asked for is counted."""

    def __init__(self):
        self.lock = threading.Lock()
        self.blocks = [("a", [])]
        self.documents, self.missing, self.fetched = {}, set(), []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, *documents, fork="a"):
        """A block that names them; answers their addresses."""
        with self.lock:
            self.blocks.append((fork, list(documents)))
            for document in documents:
                self.documents[address(document)] = document
        return [address(document) for document in documents]

    def hash(self, number):
        return "0x" + hashlib.sha256(f"{number}{self.blocks[number][0]}".encode()).hexdigest()

    def header(self, number):
        if number >= len(self.blocks):
            return None
        return {"number": hex(number), "hash": self.hash(number), "timestamp": "0x1",
                "parentHash": self.hash(number - 1) if number > 0 else "0x" + "00" * 32}

    def logs(self, question):
        if "blockHash" in question:
            numbers = [n for n in range(len(self.blocks)) if self.hash(n) == question["blockHash"]]
        else:
            numbers = range(int(question["fromBlock"], 16), int(question["toBlock"], 16) + 1)
        return [{"address": CONTRACT, "blockNumber": hex(n), "blockHash": self.hash(n),
                 "logIndex": hex(i), "topics": [], "removed": False,
                 "data": "0x" + ("ipfs://" + address(document)).encode().hex()}
                for n in numbers for i, document in enumerate(self.blocks[n][1])]

    def answer(self, question):
        method, params = question["method"], question["params"]
        with self.lock:
            if method == "eth_getLogs":
                return self.logs(params[0])
            assert method == "eth_getBlockByNumber", method
            last = len(self.blocks) - 1
            return self.header(last if params[0] == "latest" else int(params[0], 16))

    def fetch(self, gateway, cid):
        with self.lock:
            self.fetched.append(cid)
            if gateway == "liar":
                return b"not what you asked for"
            return None if cid in self.missing else self.documents.get(cid)

    def settings(self):
        root = f"http://127.0.0.1:{self.port}"
        return ("bluesky.mode=polling", f"content.contract={CONTRACT}", f"content.rpc={root}/rpc",
                f"content.gateways=http://localhost:{self.port}/liar,{root}/good",
                "content.reorg_depth=4")


def handler_of(world):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.reply(200, json.dumps({"jsonrpc": "2.0", "id": question["id"],
                                        "result": world.answer(question)}).encode())

        def do_GET(self):
            _, gateway, _, cid = self.path.split("?")[0].split("/")
            found = world.fetch(gateway, cid)
            self.reply(404 if found is None else 200, found or b"no")

    return Handler


def position(home):
    found = rows(home, "SELECT block_number FROM meta WHERE id = 'content'")
    return int(found[0][0]) if found else None


def reach(daemon, home, number):
    daemon.wait_for(lambda _: position(home) == number, f"block {number}")


def stored(home):
    return sorted(row[0] for row in rows(
        home, "SELECT uri FROM ipfs_cache WHERE data IS NOT NULL AND NOT is_errored"))


class Content(unittest.TestCase):
    def both_stores(self, run):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind), Home(kind) as home:
                run(home, World())
                EXECUTED[kind] += 1

    def test_documents_are_kept_over_kills_and_reorganisations(self):
        """R002-01, R002-14, R002-18: a chain is followed to its head; killed, the daemon goes on
        without fetching anything again; a changed chain takes its references back."""
        def run(home, world):
            first = [world.add(b"document %d" % n)[0] for n in range(20)]
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 20)
                daemon.kill()
            self.assertEqual(stored(home), sorted("ipfs://" + cid for cid in first))
            asked = len(world.fetched)
            world.add()
            second = world.add(b"late", b"document 3")
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 22)
                self.assertEqual(set(world.fetched[asked:]), {second[0]})
                with world.lock:
                    world.blocks[-2:] = []
                world.add(fork="b")
                third = world.add(b"other", fork="b")
                world.add(fork="b")
                reach(daemon, home, 23)
            self.assertIn("ipfs://" + third[0], stored(home))
            self.assertIn("ipfs://" + second[0], stored(home))
            self.assertEqual(rows(home, "SELECT uri FROM document_refs WHERE block_number > 20"),
                             [["ipfs://" + third[0]]])
        self.both_stores(run)

    def test_what_no_gateway_has_is_owed_and_paid_later(self):
        """R002-17, R002-12, R002-13: the position passes it, a row remembers it."""
        def run(home, world):
            cid = world.add(b"missing")[0]
            world.missing.add(cid)
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 1)
                self.assertEqual(rows(home, "SELECT item, state FROM owed"),
                                 [["ipfs://" + cid, "owed"]])
                world.missing.clear()
                wait_until(lambda: stored(home) == ["ipfs://" + cid], "the debt to be paid")
                self.assertEqual(rows(home, "SELECT count(*) FROM owed"), [["0"]])
                told = ("tidemark_content_block 1", "tidemark_chain_head_block 1",
                        "tidemark_content_lag_blocks 0", "tidemark_content_owed 0",
                        "tidemark_content_stopped 0")
                wait_until(lambda: set(told) <= set(
                    daemon.ask_raw("GET", "/metrics")[1].decode().splitlines()), "these metrics")
                daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    result = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False, verbosity=2).result
    for name, count in EXECUTED.items():
        print(f"store={name} tests={count}")
    sys.exit(0 if result.wasSuccessful() and min(EXECUTED.values()) > 0 else 1)
