# SPDX-License-Identifier: Apache-2.0
"""Documents that are JSON objects, asked for by the fields that were declared; both stores.

  document_rows.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from content import World, address, reach, stored  # noqa: E402
from content_feed import CRASH_POINTS, Feed, settings  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402

CONFIG = """
content: {collection: articles}
collections:
  articles:
    fields: {title: text, year: int}
    indexes: [[year]]
"""
OLD, NEW = {"title": "ebb", "year": 1999, "tags": ["x"]}, {"title": "flood", "year": 2026}
OTHERS = ({"title": 5}, [1, 2], "text")
LARGE = {"title": "large", "text": "x" * (1 << 20)}


def uri(document):
    return "ipfs://" + address(document)


class DocumentRows(BothStores):
    def test_fields_of_documents_can_be_asked_for(self):
        """Killed at every point of a commit: a row is there with its document, once, or neither
        is. What is no object, too large or does not fit is a document without a row."""
        def run(home):
            world = World()
            feed = Feed(world)
            path, config = (os.path.join(home.folder, name) for name in ("feed", "config.yaml"))
            texts = [json.dumps(data).encode() for data in (OLD, NEW, LARGE, *OTHERS)]
            for number, text in enumerate((*texts, b"{no json"), 1):
                feed.line(number, text)
            for name, content in ((path, feed.text()), (config, CONFIG)):
                with open(name, "w", encoding="utf-8") as out:
                    out.write(content)
            for point in CRASH_POINTS:
                with Daemon(self.program, home, settings(world, path),
                            {"TIDEMARK_CRASH_AT": f"{point}:1"}, config=config) as daemon:
                    wait_until(daemon.ended, f"the kill at {point}")
            with Daemon(self.program, home, settings(world, path), config=config) as daemon:
                reach(daemon, home, len(feed.lines))
                self.assertEqual(len(stored(home)), len(feed.lines))
                rows = {row["id"]: row for row in daemon.walk("articles")}
                self.assertEqual(set(rows), {uri(texts[0]), uri(texts[1])})
                old = rows[uri(texts[0])]
                self.assertEqual({key: old[key] for key in OLD}, OLD)
                late = daemon.walk("articles", filter={"year": {"$gte": 2000}})
                self.assertEqual([row["title"] for row in late], ["flood"])
                daemon.stop()
            said = [line for line in daemon.words().split("\n") if "msg=no_row" in line]
            self.assertTrue(any("document.title: expected text" in line for line in said), said)
        self.both_stores(run)

    def test_documents_that_were_stored_before_get_their_rows(self):
        """Killed at every point of its commits it goes on where it was: every document has its row
        in the end, once, those of new blocks, too; and what was taken out is put back on demand."""
        def run(home):
            world = World()
            feed = Feed(world)
            path, config = (os.path.join(home.folder, name) for name in ("feed", "config.yaml"))

            def tell(first):
                with open(path, "a" if first else "w", encoding="utf-8") as out:
                    out.write(feed.text(first))

            def document(number):
                return json.dumps({"title": f"{number}", "year": number}).encode()

            for number in range(1, 161):
                feed.line(number, document(number), b"[%d]" % number)
            tell(0)
            with Daemon(self.program, home, settings(world, path)) as daemon:
                reach(daemon, home, 160)
                daemon.stop()
            with open(config, "w", encoding="utf-8") as out:
                out.write(CONFIG)
            for point in CRASH_POINTS:
                with Daemon(self.program, home, settings(world, path),
                            {"TIDEMARK_CRASH_AT": f"{point}:3"}, config=config) as daemon:
                    wait_until(daemon.ended, f"the kill at {point}")
            for number in range(161, 171):
                feed.line(number, document(number))
            tell(160)
            with Daemon(self.program, home, settings(world, path), config=config) as daemon:
                reach(daemon, home, 170)
                daemon.wait_for(lambda _: len(daemon.walk("articles")) >= 170, "all rows")
                rows = daemon.walk("articles")
                self.assertEqual({row["id"]: row["year"] for row in rows},
                                 {uri(document(n)): n for n in range(1, 171)})
                home.run_sql("DELETE FROM data_articles WHERE year > 140;")
                for dry, year in ((True, 140), (False, 170)):
                    status, told = daemon.ask("POST", "/api/admin/reconcile", {"dryRun": dry})
                    self.assertEqual((status, told["rows"], told["missing"]), (200, 30, 0), told)
                    self.assertEqual(max(row["year"] for row in daemon.walk("articles")), year)
                daemon.stop()
        self.both_stores(run)

    def test_a_collection_that_is_not_declared_is_refused(self):
        def run(home):
            with Daemon(self.program, home,
                        (*settings(World(), "/dev/null"), "content.collection=papers")) as daemon:
                wait_until(daemon.ended, "its end")
            self.assertNotEqual(daemon.process.returncode, 0)
            self.assertIn("content.collection names papers, which is not declared",
                          daemon.words())
        self.both_stores(run)


if __name__ == "__main__":
    main()
