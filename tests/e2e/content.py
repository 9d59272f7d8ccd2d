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
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from daemon_client import Daemon, Home, wait_until  # noqa: E402
from unixfs_folder import folder, shards  # noqa: E402

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
        self.refusing = {}  # by path of a node, the methods that it answers by an error
        self.feed = None  # what answers for an indexer, if there is one
        self.asking, self.open = 0, threading.Event()  # who waits for the gateways to open
        self.open.set()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def name(self, *names):
        """A block that has these addresses in its logs, as they are."""
        with self.lock:
            self.blocks.append(("a", list(names)))

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
                 "data": "0x" + ("ipfs://" + (named if isinstance(named, str) else address(named))
                                 ).encode().hex()}
                for n in numbers for i, named in enumerate(self.blocks[n][1])]

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
            self.fetched.append((gateway, cid))
            if gateway.startswith("liar"):
                return b"not what you asked for"
            return None if cid in self.missing else self.documents.get(cid)

    def asked_for(self, ending=""):
        """Documents; with `ending` those that gateways with such a name were asked for."""
        with self.lock:
            return {cid for gateway, cid in self.fetched if gateway.endswith(ending)}

    def settings(self, life=""):
        """A gateway's name may tell whose question it is: one that was given up may come late."""
        root = f"http://127.0.0.1:{self.port}"
        return ("bluesky.mode=polling", f"content.contract={CONTRACT}", f"content.rpc={root}/rpc",
                f"content.gateways=http://localhost:{self.port}/liar{life},{root}/good{life}",
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
            if self.path in world.refusing and question["method"] in world.refusing[self.path]:
                self.reply(200, json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": {
                    "code": -32005, "message": "daily request count exceeded"}}).encode())
                return
            self.reply(200, json.dumps({"jsonrpc": "2.0", "id": question["id"],
                                        "result": world.answer(question)}).encode())

        def do_GET(self):
            path = urllib.parse.urlsplit(self.path)
            if path.path == "/feed":
                query = urllib.parse.parse_qs(path.query)
                self.reply(200, world.feed(query.get("cursor", [None])[0]))
                return
            _, gateway, _, cid = path.path.split("/")
            with world.lock:
                world.asking += 1
            world.open.wait()
            found = world.fetch(gateway, cid)
            try:
                self.reply(404 if found is None else 200, found or b"no")
            except ConnectionError:  # it had enough of it
                self.close_connection = True

    return Handler


class NoInserts:
    """While it stands, nobody can insert a document."""

    def __init__(self, home):
        self.home = home

    def __enter__(self):
        if self.home.kind == "sqlite":
            self.store = sqlite3.connect(self.home.url[len("sqlite:"):], timeout=60,
                                         isolation_level=None)
            self.store.execute("BEGIN IMMEDIATE")
            return
        self.session = subprocess.Popen(["psql", "-qXAt", self.home.url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.session.stdin.write("BEGIN; LOCK TABLE ipfs_cache IN SHARE MODE; SELECT 'locked';\n")
        self.session.stdin.flush()
        assert self.session.stdout.readline() == "locked\n"

    def __exit__(self, *_):
        if self.home.kind == "sqlite":
            self.store.execute("ROLLBACK")
            self.store.close()
            return
        self.session.communicate("ROLLBACK;\n", timeout=60)


def position(home):
    found = rows(home, "SELECT block_number FROM meta WHERE id = 'content'")
    return int(found[0][0]) if found else None


def reach(daemon, home, number):
    daemon.wait_for(lambda _: position(home) == number, f"block {number}")


def stored(home):
    return sorted(row[0] for row in rows(
        home, "SELECT uri FROM ipfs_cache WHERE data IS NOT NULL AND NOT is_errored"))


def get(daemon, path, method="GET", **headers):
    """Status, headers and bytes of an answer."""
    return daemon.fetch(method, path, headers={name.replace("_", "-"): value
                                               for name, value in headers.items()})


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
            world.add()
            second = world.add(b"late", b"document 3")
            with Daemon(PROGRAM, home, world.settings("-2")) as daemon:
                reach(daemon, home, 22)
                opened = daemon.ask("POST", "/api/data/query-open", {"collection": "blocks"})[1]
                self.assertEqual(world.asked_for("-2"), {second[0]})
                with world.lock:
                    world.blocks[-2:] = []
                world.add(fork="b")
                third = world.add(b"other", fork="b")
                world.add(fork="b")
                reach(daemon, home, 23)
                told = daemon.ask("POST", "/api/data/query-tail",
                                  {"queryHandle": opened["queryHandle"]})[1]
                self.assertEqual(sum(c["op"] == "leave" for c in told["changes"]), 2)
                self.assertEqual({c["item"]["number"] for c in told["changes"]
                                  if c["op"] == "enter"}, {21, 22, 23})
                self.assertEqual(
                    [(row["number"], row["documents"]) for row in daemon.walk("blocks", 7)][:4],
                    [(23, 0), (22, 1), (21, 0), (20, 1)])
                self.assertEqual({(row["uri"], row["state"]) for row in daemon.walk("documents")},
                                 {(uri, "stored") for uri in stored(home)})
                status, answer = daemon.ask("POST", "/api/admin/reset", {"source": "content"})
                self.assertEqual(status, 200, answer)
                reach(daemon, home, 23)  # read anew, nothing fetched again
                self.assertEqual(world.asked_for("-2"), {second[0], third[0]})
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
                row = daemon.walk("documents")[0]
                self.assertEqual((row["state"], row["size"], row["block"]), ("missing", None, 1))
                world.missing.clear()
                wait_until(lambda: stored(home) == ["ipfs://" + cid], "the debt to be paid")
                self.assertEqual(rows(home, "SELECT count(*) FROM owed"), [["0"]])
                wait_until(lambda: rows(home, "SELECT source, count(*) FROM providers "
                                              "GROUP BY source ORDER BY source") ==
                           [["content.gateways", "2"], ["content.rpc", "1"]], "the providers")
                told = ("tidemark_content_block 1", "tidemark_chain_head_block 1",
                        "tidemark_content_lag_blocks 0", "tidemark_content_owed 0",
                        "tidemark_content_stopped 0")
                wait_until(lambda: set(told) <= set(
                    daemon.ask_raw("GET", "/metrics")[1].decode().splitlines()), "these metrics")
                status = daemon.ask("GET", "/api/status")[1]
                source, = [row for row in status["sources"] if row["source"] == "content"]
                self.assertEqual((source["state"], source["events"]), ("live", 1))
                groups = {name: [row for row in status["providers"] if row["source"] == name]
                          for name in ("content.rpc", "content.gateways")}
                self.assertEqual([len(rows) for rows in groups.values()], [1, 2])
                node, = groups["content.rpc"]
                self.assertEqual((node["name"], node["current"]), (source["provider"], True))
                self.assertGreater(node["successes"], 0)
                self.assertGreater(sum(row["successes"] for row in groups["content.gateways"]), 0)
                daemon.stop()
        self.both_stores(run)

    def test_a_store_that_fails_for_a_while_is_waited_for(self):
        """R002-12, R002-13: as long as rows cannot be stored the position stays, whatever came from
        the gateways; afterwards, with or without a kill in between, all of it is there."""
        def run(home, world):
            first = [world.add(b"before %d" % n)[0] for n in range(4)]
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 4)
                with NoInserts(home):
                    second = [world.add(b"meanwhile %d" % n)[0] for n in range(4)]
                    wait_until(lambda: set(second) <= world.asked_for(), "the documents")
                    self.assertEqual(position(home), 4)
                reach(daemon, home, 8)
                with NoInserts(home):
                    third = [world.add(b"at the end %d" % n)[0] for n in range(4)]
                    wait_until(lambda: set(third) <= world.asked_for(), "the documents")
                    daemon.kill()
                    self.assertEqual(position(home), 8)
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 12)
                self.assertEqual(stored(home),
                                 sorted("ipfs://" + cid for cid in first + second + third))
                daemon.stop()
        self.both_stores(run)

    def test_one_gateway_is_asked_for_as_many_documents_as_are_allowed(self):
        """R002-03: `content.concurrency` fetches are under way, wherever they go."""
        def run(home, world):
            world.open.clear()
            for n in range(40):
                world.add(b"document %d" % n)
            with Daemon(PROGRAM, home, (*world.settings(), "content.concurrency=30",
                                        f"content.gateways=http://127.0.0.1:{world.port}/good")
                        ) as daemon:
                wait_until(lambda: world.asking >= 30, "thirty questions at a time")
                world.open.set()
                reach(daemon, home, 40)
                daemon.stop()
        self.both_stores(run)

    def test_a_reload_changes_how_many_documents_are_fetched_at_a_time(self):
        """R002-03: `content.concurrency` is raised and lowered while documents wait."""
        def run(home, world):
            config = os.path.join(home.folder, "tidemark.yaml")

            def write(concurrency):
                with open(config, "w", encoding="utf-8") as file:
                    file.write(f"content: {{concurrency: {concurrency}}}\n")

            def busy(daemon, fetching, waiting):
                """That many are fetched at a time while the others wait for their turn."""
                def holds():
                    told = daemon.ask("GET", "/api/status")[1]["progress"]["documents"]
                    return (told["fetching"], told["waiting"]) == (fetching, waiting)
                wait_until(holds, f"{fetching} documents under way")

            world.open.clear()
            world.add(*(b"document %d" % n for n in range(40)))
            write(2)
            with Daemon(PROGRAM, home, (*world.settings(),
                                        f"content.gateways=http://127.0.0.1:{world.port}/good"),
                        config=config) as daemon:
                wait_until(lambda: world.asking >= 2, "two questions at a time")
                busy(daemon, 2, 38)
                write(30)
                daemon.reload()
                wait_until(lambda: world.asking >= 30, "thirty questions at a time")
                write(3)
                daemon.reload()
                wait_until(lambda: daemon.words().count("reloaded") == 2, "the second reload")
                world.open.set()
                reach(daemon, home, 1)
                world.open.clear()
                world.add(*(b"afterwards %d" % n for n in range(10)))
                busy(daemon, 3, 7)
                world.open.set()
                reach(daemon, home, 2)
                daemon.stop()
        self.both_stores(run)

    def check_document(self, daemon, cid, document, kind):
        path = "/ipfs/" + cid
        status, headers, body = get(daemon, path)
        self.assertEqual((status, len(body), body == document), (200, len(document), True))
        tag = headers["ETag"]
        self.assertEqual((tag, headers["Content-Type"]), (f'"{cid}"', kind))
        self.assertIn("immutable", headers["Cache-Control"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertIn("sandbox", headers["Content-Security-Policy"])
        status, headers, body = get(daemon, path, "HEAD")
        self.assertEqual((status, headers["Content-Length"], body), (200, str(len(document)), b""))
        status, headers, body = get(daemon, path, If_None_Match=f'"other", {tag}')
        self.assertEqual((status, headers["ETag"], body), (304, tag, b""))
        self.assertEqual(headers["Content-Length"], str(len(document)))
        middle = len(document) // 2
        parts = {f"bytes=0-{middle}": slice(0, middle + 1), "bytes=-3": slice(-3, None),
                 f"bytes={middle}-": slice(middle, None)}
        for ask, part in parts.items():
            status, headers, body = get(daemon, path, Range=ask)
            first, last, _ = part.indices(len(document))
            self.assertEqual((status, headers["Content-Range"], body == document[part]),
                             (206, f"bytes {first}-{last - 1}/{len(document)}", True), ask)
        self.assertEqual(get(daemon, path, Range="bytes=0-1", If_Range='"other"')[0], 200)
        status, headers, body = get(daemon, path, Range=f"bytes={len(document)}-")
        self.assertEqual((status, headers["Content-Range"], json.loads(body)["code"]),
                         (416, f"bytes */{len(document)}", "BAD_RANGE"))

    def retry(self, daemon, home, cid, world):
        """What is dead is tried again when a person says so, by the daemon that runs."""
        def command(*words):
            return subprocess.run([PROGRAM, "owed", *words, "-c", "/dev/null", "--set",
                                   f"store.url={home.url}", "--set",
                                   f"store.data_dir={home.folder}"],
                                  capture_output=True, text=True, check=False)
        debt, = json.loads(command("--json").stdout)
        self.assertEqual((debt["item"], debt["state"]), ("ipfs://" + cid, "dead"))
        self.assertGreater(debt["attempts"], 0)
        self.assertRegex(debt["reason"], "answers 404|do not fit the address")
        self.assertEqual(command("retry", "999999").returncode, 1)
        world.missing.clear()
        done = command("retry", str(debt["id"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: "ipfs://" + cid in stored(home), "the retry")
        self.assertEqual(get(daemon, "/ipfs/" + cid)[0], 200)
        self.assertEqual(json.loads(command("--json").stdout), [])

    def test_a_path_behind_an_address_leads_to_its_document(self):
        """R002-12: a document in a folder is stored under its whole address and given by it; a way
        that leads nowhere says so."""
        def run(home, world):
            picture = b"\x89PNG\r\n\x1a\n" + bytes(9)
            inner, inner_blocks = folder([("a.json", address(b"{}")),
                                          ("my 1.png", address(picture))])
            root, root_blocks = folder([("img", inner), ("notes", address(b"notes"))])
            large, large_blocks = shards([(f"{n}.json", address(b"{}")) for n in range(700)])
            with world.lock:
                world.documents.update({**root_blocks, **inner_blocks, **large_blocks,
                                        address(picture): picture, address(b"{}"): b"{}"})
            spellings = [f"{root}/img/my%201.png", f"{root}//%69mg/my%201.png"]
            dead = {f"{root}/img": "a directory, not a file",
                    f"{root}/img/b.json": "the directory has no `b.json`",
                    f"{root}/img/a.json/x": "a file where a directory with `x` should be",
                    f"{large}/700.json": "the directory has no `700.json`"}
            in_shards = [f"{large}/{n}.json" for n in range(0, 700, 50)]
            world.name(*spellings, *in_shards, f"{root}/notes", *dead)
            world.missing.add(address(b"notes"))
            with Daemon(PROGRAM, home, (*world.settings(),
                                        f"content.gateways=http://127.0.0.1:{world.port}/good")
                        ) as daemon:
                reach(daemon, home, 1)
                self.assertEqual(stored(home),
                                 sorted("ipfs://" + name for name in spellings + in_shards))
                self.assertGreater(len(large_blocks), 50)  # most are two shards deep
                status, headers, body = get(daemon, "/ipfs/" + spellings[0])
                self.assertEqual((status, headers["Content-Type"], body),
                                 (200, "image/png", picture))
                self.assertEqual(headers["ETag"], f'"{spellings[0]}"')
                self.assertEqual(get(daemon, "/ipfs/" + spellings[1])[2], picture)
                for name, why in dead.items():
                    status, _, body = get(daemon, "/ipfs/" + name)
                    self.assertEqual((status, json.loads(body)["code"]), (410, "DEAD"), name)
                    self.assertIn(why, json.loads(body)["error"])
                self.assertEqual(get(daemon, f"/ipfs/{root}/notes")[0], 503)
                for unknown in ("a.json", "img/my%25201.png", "%ff", "a" * 300):
                    self.assertEqual(get(daemon, f"/ipfs/{root}/{unknown}")[0], 404, unknown)
                for unknown in (root, root + "/", "%ff/a"):
                    self.assertEqual(get(daemon, "/ipfs/" + unknown)[0], 404, unknown)
                daemon.stop()
        self.both_stores(run)

    def test_documents_are_given_by_their_address(self):
        """R002-12: what is stored, unknown, owed and dead are four answers."""
        large = bytes(range(256)) * (25 << 12)
        documents = [(b'{"name": "one"}', "application/json"), (large, "application/octet-stream"),
                     (b"<script>alert(1)</script>", "text/plain; charset=utf-8"),
                     (b"\x89PNG\r\n\x1a\n" + bytes(9), "image/png")]

        def run(home, world):
            for document, _ in documents:
                world.add(document)
            owed = world.add(b"missing")[0]
            world.missing.add(owed)
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 5)
                for document, kind in documents:
                    self.check_document(daemon, address(document), document, kind)
                respelled = "f01551220" + hashlib.sha256(documents[0][0]).hexdigest()
                status, headers, body = get(daemon, "/ipfs/" + respelled)
                self.assertEqual((status, body, headers["ETag"]),
                                 (200, documents[0][0], f'"{address(documents[0][0])}"'))
                status, headers, body = get(daemon, "/ipfs/" + owed)
                self.assertEqual((status, json.loads(body)["code"]), (503, "OWED"))
                self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                self.assertNotIn("ETag", headers)
                for unknown in (address(b"nobody named it"), "%ff", "nonsense"):
                    status, headers, body = get(daemon, "/ipfs/" + unknown)
                    self.assertEqual((status, json.loads(body)["code"]), (404, "NOT_KNOWN"))
                    self.assertEqual(headers["Cache-Control"], "no-store")
                self.assertIn("up to 5", json.loads(body)["error"])
                self.assertEqual(get(daemon, "/ipfs/" + owed, "POST")[0], 405)
                daemon.stop()
            home.run_sql("UPDATE owed SET state = 'dead'")
            with Daemon(PROGRAM, home, world.settings()) as daemon:
                reach(daemon, home, 5)
                status, _, body = get(daemon, "/ipfs/" + owed)
                self.assertEqual((status, json.loads(body)["code"]), (410, "DEAD"))
                self.retry(daemon, home, owed, world)
        self.both_stores(run)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    result = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False, verbosity=2).result
    for name, count in EXECUTED.items():
        print(f"store={name} tests={count}")
    sys.exit(0 if result.wasSuccessful() and min(EXECUTED.values()) > 0 else 1)
