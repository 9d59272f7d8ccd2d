# SPDX-License-Identifier: Apache-2.0
"""What those who use a chain's documents are told: each state by itself, what lacks on demand, a
reader that is stuck, and the very statements that consumers of hermes' tables ask; both stores.

  content_answers.py TIDEMARK TIDEMARK_SIM"""

import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from content import World, address, get, position, reach, rows, stored  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402

CAP = 25 << 20  # the largest document that is kept


def two_good(world):
    """Two gateways that have all there is, by different names."""
    return (*world.settings(), f"content.gateways=http://localhost:{world.port}/good,"
                               f"http://127.0.0.1:{world.port}/good")


def command(program, home, *words):
    """What a command of the running daemon's home prints."""
    done = subprocess.run([program, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
                           "--set", f"store.data_dir={home.folder}"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class ContentAnswers(BothStores):
    def test_a_block_that_names_very_much_stops_nobody(self):
        """R002-12: whoever may write to the contract fills a block with names; each of them has
        its row, and the blocks behind it are read."""
        def run(home):
            world = World()
            world.name(*(f"x{n}" for n in range(4096)), *("same" for _ in range(4096)))
            cid = world.add(b"behind it")[0]
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 2)
                self.assertEqual(stored(home), ["ipfs://" + cid])
                self.assertEqual(rows(home, "SELECT count(*), count(DISTINCT uri) FROM "
                                            "document_refs WHERE block_number = 1"),
                                 [["8192", "4097"]])
                self.assertEqual(rows(home, "SELECT count(*) FROM owed WHERE state = 'dead'"),
                                 [["4097"]])
                daemon.stop()
        self.both_stores(run)

    def test_what_lacks_is_fetched_on_demand(self):
        """R002-12, R002-17: `tidemark reconcile` counts what is missing, owed and dead, and has it
        fetched, all of it; with --dry-run it only counts."""
        def run(home):
            world = World()

            def reconcile(*words):
                return command(self.program, home, "reconcile", *words)

            cids = [world.add(b"document %d" % n)[0] for n in range(8)]
            world.missing.update(cids[4:])
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 8)
                daemon.stop()
            home.run_sql("UPDATE owed SET state = 'dead', next_us = NULL;"
                         f"DELETE FROM owed WHERE item = 'ipfs://{cids[7]}';"
                         f"DELETE FROM ipfs_cache WHERE uri = 'ipfs://{cids[0]}';")
            world.missing.clear()
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 8)
                told = json.loads(reconcile("--dry-run", "--json"))
                self.assertEqual(told, {"success": True, "dryRun": True, "references": 8,
                                        "missing": 2, "owed": 0, "dead": 3, "queued": 0,
                                        "more": False, "rows": 0})
                self.assertEqual(len(stored(home)), 3)
                words = reconcile()
                self.assertIn("8 references, 2 of them lead to nothing; 0 documents are owed, 3"
                              " given up", words)
                self.assertIn("5 are fetched again now", words)
                wait_until(lambda: stored(home) == sorted("ipfs://" + cid for cid in cids),
                           "all documents")
                self.assertEqual(rows(home, "SELECT count(*) FROM owed"), [["0"]])
                told = json.loads(reconcile("--json"))
                self.assertEqual((told["missing"], told["dead"], told["queued"]), (0, 0, 0))
                daemon.stop()
        self.both_stores(run)

    def test_what_is_under_way_is_not_called_unknown(self):
        """R002-12: a document that a block names and that is being fetched is neither unknown nor a
        debt; who knows the block is told whether that block is done."""
        def told(daemon, path):
            status, headers, body = get(daemon, "/ipfs/" + path)
            code = None if status == 200 else json.loads(body)["code"]
            return status, code, headers["Retry-After"]

        def run(home):
            world = World()
            world.add(b"done")
            nobody = address(b"nobody named it")
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 1)
                world.open.clear()
                cid = world.add(b"slow")[0]
                in_folder = "Qm" + "a" * 44 + "/a/b.png"
                world.name(in_folder)
                other = "f01551220" + hashlib.sha256(b"slow").hexdigest()
                wait_until(lambda: told(daemon, in_folder)[1] == "NOT_YET", "its block")
                for name in (cid, other, cid + "?block=1", cid + "?block=2"):
                    self.assertEqual(told(daemon, name), (503, "NOT_YET", "1"), name)
                self.assertEqual(told(daemon, nobody), (404, "NOT_KNOWN", None))
                self.assertEqual(told(daemon, nobody + "?block=1"), (404, "NOT_KNOWN", None))
                self.assertEqual(told(daemon, nobody + "?block=2"), (503, "NOT_YET", "1"))
                self.assertEqual(told(daemon, nobody + "?block=x")[:2], (400, "BAD_REQUEST"))
                self.assertEqual(told(daemon, address(b"done") + "?block=9")[0], 200)
                world.open.set()
                reach(daemon, home, 3)
                self.assertEqual(told(daemon, other)[0], 200)
                self.assertEqual(told(daemon, in_folder)[:2], (503, "OWED"))
                self.assertEqual(told(daemon, nobody + "?block=3"), (404, "NOT_KNOWN", None))
                self.assertEqual(told(daemon, nobody + "?block=4"), (503, "NOT_YET", "1"))
                daemon.stop()
        self.both_stores(run)

    def test_what_is_not_known_of_the_chain_is_not_shown_as_a_number(self):
        """R002-13: while no node answers, nobody knows where the head is, nor at first where we
        are; neither command nor page makes a number of it."""
        def told(daemon, home):
            daemon.wait_for(lambda _: True, "an answer")
            page = get(daemon, "/status")[2].decode()
            words = command(self.program, home, "status")
            line = next(line for line in words.splitlines() if line.startswith("content "))
            return line.split(";")[0], page

        def run(home):
            world = World()
            dead = (*world.settings(), "content.rpc=http://127.0.0.1:9")
            with Daemon(self.program, home, dead) as daemon:
                line, page = told(daemon, home)
                self.assertEqual(line, "content no block, the head is not known")
                self.assertIn("no block, the head is not known", page)
                daemon.stop()
            world.add(b"a document")
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 1)
                wait_until(lambda: told(daemon, home)[0] == "content block 1 of 1", "the head")
                self.assertIn("block 1 of 1", told(daemon, home)[1])
                daemon.stop()
            with Daemon(self.program, home, dead) as daemon:
                wait_until(lambda: told(daemon, home)[0] ==
                           "content block 1, the head is not known", "the place")
                self.assertIn("block 1, the head is not known",
                              told(daemon, home)[1])
                daemon.stop()
        self.both_stores(run)

    def test_the_largest_document_is_kept_and_a_byte_more_is_not(self):
        """R002-17: 25 MiB are a document; one byte more is given up at two gateways, says why, and
        holds nothing up."""
        def run(home):
            world = World()
            whole, over = bytes(CAP), bytes(CAP + 1)
            world.add(whole)
            world.add(over)
            world.add(b"behind it")
            with Daemon(self.program, home, two_good(world)) as daemon:
                reach(daemon, home, 3)
                self.assertEqual(stored(home), sorted("ipfs://" + address(document)
                                                      for document in (whole, b"behind it")))
                status, _, body = get(daemon, "/ipfs/" + address(over))
                self.assertEqual((status, json.loads(body)["code"]), (410, "DEAD"))
                self.assertIn(f"the answer is over {CAP} bytes", json.loads(body)["error"])
                status, headers, _ = get(daemon, "/ipfs/" + address(whole), "HEAD")
                self.assertEqual((status, headers["Content-Length"]), (200, str(CAP)))
                daemon.stop()
        self.both_stores(run)

    def test_a_reader_that_is_stuck_says_so_wherever_one_looks(self):
        """R002-18: a chain that changed deeper than is allowed: health, status, metrics and the log
        say it and how to go on; nothing is undone, and the way out leads on."""
        def run(home):
            world = World()
            for n in range(10):
                world.add(b"document %d" % n)
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 10)
                with world.lock:
                    world.blocks[3:] = [("b", [b"document 0"])] * 9
                told = daemon.wait_for(lambda health: health["status"] == "degraded", "it to say")
                self.assertTrue(any("the chain is not followed any further" in reason and
                                    "tidemark reset content" in reason
                                    for reason in told["reasons"]), told)
                wait_until(lambda: "tidemark_content_stopped 1" in
                           daemon.ask_raw("GET", "/metrics")[1].decode().splitlines(), "a metric")
                self.assertIn("tidemark reset content", command(self.program, home, "status"))
                self.assertIn("msg=stopped", daemon.words())
                self.assertEqual(position(home), 10)
                self.assertEqual(len(stored(home)), 10)
                self.assertEqual(daemon.ask("POST", "/api/admin/reset",
                                            {"source": "content"})[0], 200)
                reach(daemon, home, 11)
                daemon.wait_for(lambda health: health["status"] == "healthy", "its recovery")
                daemon.stop()
        self.both_stores(run)

    def test_a_node_that_refuses_is_replaced_and_said(self):
        """R002-12: the first node answers every question, or every one for logs, by an error: the
        second takes over, the log and `tidemark providers` have the node's words."""
        def run(home):
            world = World()
            name = f"localhost:{world.port}"
            nodes = f"content.rpc=http://{name}/plan,http://127.0.0.1:{world.port}/rpc"
            cids = []
            for methods in (("eth_getBlockByNumber", "eth_getLogs"), ("eth_getLogs",)):
                world.refusing["/plan"] = methods
                cids += [world.add(b"document %d" % (len(cids) + n))[0] for n in range(10)]
                with Daemon(self.program, home, (*world.settings(), nodes)) as daemon:
                    reach(daemon, home, len(cids))
                    self.assertEqual(stored(home), sorted("ipfs://" + cid for cid in cids))
                    wait_until(lambda: "msg=node_failed" in daemon.words(), "a warning")
                    self.assertIn("daily request count exceeded", daemon.words())
                    wait_until(lambda: any(name in line and "daily request" in line for line in
                                           command(self.program, home, "providers").splitlines()),
                               "the node's words")
                    daemon.stop()
        self.both_stores(run)

    def test_the_statements_of_the_caches_consumers_run_as_they_are(self):
        """R002-12, R002-14: what hermes' pipeline and its tools ask of ipfs_cache and meta."""
        def run(home):
            world = World()
            kept, lacking = world.add(b"kept")[0], world.add(b"lacking")[0]
            world.missing.add(lacking)
            world.add()
            with Daemon(self.program, home, world.settings()) as daemon:
                reach(daemon, home, 3)
                here, lost = f"ipfs://{kept}", f"ipfs://{lacking}"
                octets = "hex(data)" if home.kind == "sqlite" else "upper(encode(data, 'hex'))"
                one = "SELECT {} FROM ipfs_cache WHERE uri = '{}'"
                columns = f"{octets}, space, is_errored, name"
                no, yes = ("0", "1") if home.kind == "sqlite" else ("f", "t")
                self.assertEqual(rows(home, one.format(columns, here)),
                                 [[b"kept".hex().upper(), "", no, ""]])
                self.assertEqual(rows(home, one.format("data, space, is_errored, name", lost)),
                                 [["", "", yes, ""]])
                self.assertEqual(rows(home, one.format(columns, "ipfs://nobody")), [])
                # A row that is missing means something because of this number only.
                self.assertEqual(rows(home, "SELECT block_number FROM meta WHERE id = 'content'"),
                                 [["3"]])
                self.assertEqual(rows(home, "SELECT block_number FROM meta WHERE id = 'content'"
                                            " AND block_number >= 3 AND cursor <> ''"), [["3"]])
                self.assertEqual(rows(home, "SELECT uri FROM ipfs_cache WHERE is_errored = true"
                                            " ORDER BY uri LIMIT 100"), [[lost]])
                self.assertEqual(rows(home, "SELECT uri, block FROM ipfs_cache WHERE uri IN"
                                            f" ('{here}', '{lost}') ORDER BY block"),
                                 [[here, "1"], [lost, "2"]])
                if home.kind == "postgres":
                    self.assertEqual(rows(home, "SELECT uri FROM ipfs_cache WHERE uri = "
                                                f"ANY(ARRAY['{here}', 'x'])"), [[here]])
                daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
