# SPDX-License-Identifier: Apache-2.0
"""A daemon that another indexer drives: lines from a file, a named pipe and a server, both stores.

  content_feed.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from content import World, address, position, reach, rows, stored  # noqa: E402
from daemon_client import Daemon, Home, wait_until  # noqa: E402

CRASH_POINTS = ("after_rows", "after_cursor", "before_commit", "after_commit", "before_ack")


class Feed:
    """What an indexer knows: blocks, undone blocks, and the lines it has written."""

    def __init__(self, world):
        self.world, self.lines = world, []

    def line(self, number, *documents, fork="a", parent="a", **more):
        for document in documents:
            with self.world.lock:
                self.world.documents[address(document)] = document
        said = {"cursor": f"{number}{fork} \u00fc\t\"{'x' * 90}", "number": number,
                "hash": f"h{number}{fork}"}
        if not more:
            said.update(parent=f"h{number - 1}{parent}",
                        uris=["ipfs://" + address(document) for document in documents])
        self.lines.append(json.dumps({**said, **more}))
        return said["cursor"]

    def text(self, first=0):
        return "".join(line + "\n" for line in self.lines[first:])


def settings(world, feed):
    kept = [entry for entry in world.settings()
            if not entry.startswith(("content.rpc", "content.contract"))]
    return (*kept, f"content.feed={feed}")


def cursor(home):
    return rows(home, "SELECT cursor FROM meta WHERE id = 'content'")[0][0]


class ContentFeed(BothStores):
    def expect(self, home, feed, last):
        """Every document that is named has its row; the cursor is the feed's own, byte for byte."""
        named = {uri for line in feed.lines for uri in json.loads(line).get("uris", ())}
        self.assertLessEqual(named, set(stored(home)))
        self.assertEqual(cursor(home), last)

    def test_a_file_is_followed_over_kills_at_every_point_of_a_commit(self):
        """R002-12, R002-14, R002-18: killed in the middle, again and again, the daemon goes on
        after the cursor that is stored; nothing is fetched again that is there."""
        def run(home):
            world = World()
            feed, path = Feed(world), os.path.join(home.folder, "feed.jsonl")
            number = 0
            for point in CRASH_POINTS:
                for _ in range(6):
                    number += 1
                    last = feed.line(number, *([b"document %d" % number] if number % 3 else []))
                with open(path, "w", encoding="utf-8") as out:
                    out.write(feed.text())
                with Daemon(self.program, home, settings(world, path),
                            {"TIDEMARK_CRASH_AT": f"{point}:2"}) as daemon:
                    wait_until(daemon.ended, f"the kill at {point}")
            with Daemon(self.program, home, settings(world, path)) as daemon:
                reach(daemon, home, number)
                self.expect(home, feed, last)
                feed.line(number - 2, undo=True)
                last = feed.line(number - 1, b"another", fork="b", parent="a")
                with open(path, "a", encoding="utf-8") as out:
                    out.write(feed.text(len(feed.lines) - 2))
                wait_until(lambda: position(home) == number - 1 and cursor(home) == last,
                           "the other fork")
                daemon.stop()
            self.assertEqual(rows(home, "SELECT uri FROM document_refs "
                                        f"WHERE block_number > {number - 2}"),
                             [["ipfs://" + address(b"another")]])
            self.assertEqual(rows(home, "SELECT count(*) FROM quarantine"), [["0"]])
        self.both_stores(run)

    def test_a_pipe_and_its_bad_lines(self):
        """R002-12: lines come through a named pipe, from one writer after another; what is no line
        is in quarantine and said in the log, and the daemon goes on."""
        def run(home):
            world = World()
            feed, path = Feed(world), os.path.join(home.folder, "feed.pipe")
            os.mkfifo(path)
            feed.line(7, b"one")
            feed.lines.append('{"cursor": "c", "number": 8, "uris": "none"}')
            last = feed.line(9, b"two")
            with Daemon(self.program, home, settings(world, path)) as daemon:
                for line in feed.lines:
                    with open(path, "w", encoding="utf-8") as out:  # each its own writer
                        out.write(line + "\n")
                reach(daemon, home, 9)
                self.assertEqual(cursor(home), last)
                self.assertEqual(stored(home), sorted("ipfs://" + address(document)
                                                      for document in (b"one", b"two")))
                self.assertEqual(rows(home, "SELECT source, reason FROM quarantine"),
                                 [["content", "content.feed, line 2: `uris` is no list"]])
                self.assertIn("line 2", daemon.words())
                daemon.stop()
        self.both_stores(run)

    def test_an_address_is_one_however_an_indexer_writes_it(self):
        """R002-12: a second `ipfs/`, a query and a fragment say nothing about the document; the
        row has the address as it was told, and is found by any spelling."""
        def run(home):
            world = World()
            feed, path = Feed(world), os.path.join(home.folder, "feed.jsonl")
            cid = address(b"one")
            told = ["ipfs://" + name for name in (
                cid, "ipfs/" + cid, cid + "?filename=a.json", cid + "#page", "ipfs/" + cid + "/")]
            feed.line(1, b"one", uris=told)
            last = feed.line(2, b"one", uris=None)
            with open(path, "w", encoding="utf-8") as out:
                out.write(feed.text())
            with Daemon(self.program, home, settings(world, path)) as daemon:
                reach(daemon, home, 2)
                self.assertEqual(cursor(home), last)
                self.assertEqual(stored(home), sorted(told))
                self.assertEqual(rows(home, "SELECT DISTINCT canonical FROM ipfs_cache"),
                                 [["ipfs://" + cid]])
                daemon.stop()
            self.assertEqual(rows(home, "SELECT count(*) FROM quarantine"), [["0"]])
        self.both_stores(run)

    def test_a_server_is_asked_for_what_follows(self):
        """R002-18: the question names the cursor; after a kill it is the one that is stored."""
        def run(home):
            world, asked = World(), []
            feed = Feed(world)
            last = feed.line(1, b"one")

            def serve(query):
                asked.append(query)
                known = [json.loads(line)["cursor"] for line in feed.lines]
                return feed.text(known.index(query) + 1 if query in known else 0).encode()
            world.feed = serve
            address_of_feed = f"http://127.0.0.1:{world.port}/feed"
            with Daemon(self.program, home, settings(world, address_of_feed)) as daemon:
                reach(daemon, home, 1)
                daemon.kill()
            asked.clear()
            before, last = last, feed.line(2, b"two")
            with Daemon(self.program, home, settings(world, address_of_feed)) as daemon:
                reach(daemon, home, 2)
                self.expect(home, feed, last)
                daemon.stop()
            self.assertEqual(asked[0], before)
        self.both_stores(run)

    def test_standard_input_is_read_to_its_end(self):
        """The daemon stays when its standard input has ended, and says so."""
        with Home("sqlite") as home:
            world = World()
            feed = Feed(world)
            last = feed.line(5, b"only")
            read, write = os.pipe()
            threading.Thread(target=lambda: (os.write(write, feed.text().encode()),
                                             os.close(write)), daemon=True).start()
            with Daemon(self.program, home, settings(world, "-"), stdin=read) as daemon:
                os.close(read)
                reach(daemon, home, 5)
                self.assertEqual(cursor(home), last)
                daemon.stop()


if __name__ == "__main__":
    main()
