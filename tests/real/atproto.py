# SPDX-License-Identifier: Apache-2.0
"""The news pipeline against real atproto servers: a PDS on which people act, the AppView that
indexes it, and its firehose. What is stored must be exactly what was posted, on both stores.

  atproto.py TIDEMARK PACKAGES

PACKAGES is the folder into which tools/real-servers put the servers."""

import functools
import http.server
import os
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support")]

import stored_news  # noqa: E402
from atproto_network import Network  # noqa: E402
from chronicle import Chronicle, difference  # noqa: E402
from daemon_client import Daemon, Home, wait_until  # noqa: E402

EXECUTED = {"sqlite": 0, "postgres": 0}


class Pages(http.server.ThreadingHTTPServer):
    """The web pages that people link to: every address has a title of its own."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            page = f"<html><head><title>Page {self.path}</title></head></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Answer)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def address(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


def on_both_stores(test):
    @functools.wraps(test)
    def run(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind), Home(kind) as home:
                test(self, home)
            EXECUTED[kind] += 1
    return run


class RealNetwork(unittest.TestCase):
    program = packages = None
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.network = cls.enterClassContext(Network(cls.packages))
        cls.pages = Pages()
        cls.addClassCleanup(cls.pages.stop)

    def daemon(self, home, *more):
        settings = (f"jetstream.endpoint={self.network.bridge}/subscribe",
                    "jetstream.fallback_endpoint=", "jetstream.compress=false",
                    "jetstream.reconnect_delay_seconds=1",
                    "jetstream.wanted_collections=[app.bsky.feed.post, app.bsky.feed.repost]",
                    f"bluesky.appview={self.network.appview}", "fetch.allow_private=true", *more)
        return Daemon(self.program, home, settings)

    def connected(self, daemon):
        return daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")

    def people(self, *names):
        return [self.network.account(name) for name in names]

    def story(self, path):
        return self.pages.address(path)

    def check(self, daemon, book, people):
        """Waits until the store holds what the chronicle says, and says what differs if not."""
        self.network.settle()

        def differing():
            return {name: found for name, found in (
                ("posts", difference(stored_news.posts(daemon), book.posts(people))),
                ("links", difference(stored_news.post_links(daemon.home), book.post_links(people))),
                ("shares", difference(stored_news.shares(daemon.home), book.shares(people))),
            ) if found}
        try:
            wait_until(lambda: not daemon.ended() and not differing(), "the store", 20)
        except AssertionError:
            self.fail(f"{differing()}\n{daemon.words()}")
        self.assertEqual(daemon.walk("quarantine"), [])

    @on_both_stores
    def test_live_posts_edits_and_deletes_are_stored_as_they_happen(self, home):
        """R001-20 R001-21 R001-22 R001-23 R001-25"""
        book = Chronicle()
        with self.daemon(home) as daemon:
            self.connected(daemon)
            ada, bob = people = self.people("ada", "bob")
            plain = book.post(ada, "Nur Text, ohne Verweis: <&> \u2028 \U0001f30a")
            one = book.post(ada, "see here & there", {"here": self.story("a?x=1&y=2")})
            two = book.post(bob, "two of them: héé, zwei", {"héé": self.story("b"),
                                                            "zwei": self.story("c")})
            card = book.post(bob, "a card", card=(self.story("d"), "A title & more"))
            book.post(ada, "quoting", {"quoting": self.story("e")}, quote=card)
            book.post(bob, "both", card=(self.story("f"), "F"), quote=one)
            again = book.repost(bob, one)
            book.repost(ada, two)
            self.check(daemon, book, people)
            book.edit(ada, one, "see there instead", {"there": self.story("g")})
            book.edit(bob, card, "a card no more")
            self.check(daemon, book, people)
            book.delete(ada, plain)
            book.delete(bob, two)
            book.delete(bob, again)
            self.check(daemon, book, people)
            daemon.stop()


if __name__ == "__main__":
    RealNetwork.program, RealNetwork.packages = sys.argv[1:3]
    outcome = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    assert EXECUTED["sqlite"] == EXECUTED["postgres"] > 0, EXECUTED
    sys.exit(not outcome.wasSuccessful())
