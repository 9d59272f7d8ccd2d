# SPDX-License-Identifier: Apache-2.0
"""What every test against the real network stands on: the network, the pages people link to, a
daemon that follows them, and the comparison of its store with the chronicle."""

import datetime
import functools
import http.server
import os
import threading
import unittest

import stored_news
from chronicle import difference, reference
from daemon_client import Daemon, Home, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 40
EXECUTED = {"sqlite": 0, "postgres": 0}


def ago(**time):
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**time)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


def on_both_stores(test):
    @functools.wraps(test)
    def run(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind), Home(kind) as home:
                self.network.settle()
                self.network.forget()  # what others did is nothing to this one
                test(self, home)
            EXECUTED[kind] += 1
    return run


class RealNetwork(unittest.TestCase):
    program = network = pages = None  # set before the tests run
    maxDiff = 4000

    def daemon(self, home, *more, actors=(), config="/dev/null"):
        settings = (f"jetstream.endpoint={self.network.bridge}/subscribe",
                    "jetstream.fallback_endpoint=", "jetstream.compress=false",
                    "jetstream.reconnect_delay_seconds=1",
                    "jetstream.wanted_collections=[app.bsky.feed.post, app.bsky.feed.repost]",
                    f"bluesky.appview={self.network.appview}", "fetch.allow_private=true",
                    "cards.enabled=true", "cards.per_host_ms=5",
                    f"bluesky.actors=[{', '.join(who.handle for who in actors)}]", *more)
        daemon = Daemon(self.program, home, settings, config=config)
        daemon.wait_for(lambda health: True, "the daemon to answer")  # the store is there then
        return daemon

    def connected(self, daemon):
        return daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")

    def people(self, *names):
        return [self.network.account(name) for name in names]

    def story(self, path):
        return self.pages.address(path)

    def followed(self, people):
        """Somebody who follows these people."""
        me = self.network.account("me")
        me.follow_all(people)
        return me

    def write_history(self, book, ada, bob, eve):
        """A day's worth of everything that people do; eve is a stranger."""
        hers = book.post(eve, "mine", {"mine": self.story("eve")}, createdAt=ago(hours=21))
        posts = [book.post(ada, f"post {number}, a story", {"story": self.story(number % 7)},
                           createdAt=ago(hours=20, minutes=-number)) for number in range(57)]
        at_once = ago(hours=3)
        for number in range(3):
            book.post(bob, f"tie {number}", {"tie": self.story("tie")}, createdAt=at_once)
        book.post(bob, "an answer", createdAt=ago(hours=2),
                  reply={"root": reference(posts[0]), "parent": reference(posts[0])})
        book.post(bob, "a card", card=(self.story("card"), "The card"), createdAt=ago(hours=2))
        book.post(ada, "what she says", quote=hers, createdAt=ago(hours=1))
        book.post(ada, "all of it", card=(self.story("media"), "M"), quote=hers,
                  createdAt=ago(minutes=59))
        book.repost(bob, hers)
        book.repost(bob, posts[3])
        book.repost(ada, book.post(bob, "to be shared", {"shared": self.story("shared")},
                                   createdAt=ago(minutes=58)))
        book.edit(ada, posts[5], "edited, a tale", {"tale": self.story("tale")})
        book.delete(ada, posts[6])
        ada.profile("Ada", pinnedPost=reference(posts[1]))
        return posts

    def check(self, daemon, book, people, patience_s=PATIENCE_S):
        """Waits until the store holds what the chronicle says, and says what differs if not."""
        self.network.settle()
        daemon.wait_for(lambda health: True, "the daemon")

        def differing():
            return {name: found for name, found in (
                ("posts", difference(stored_news.posts(daemon), book.posts(people))),
                ("links", difference(stored_news.post_links(daemon.home), book.post_links(people))),
                ("shares", difference(stored_news.shares(daemon.home), book.shares(people))),
                ("totals", difference(stored_news.totals(daemon.home), book.totals(people))),
            ) if found}
        try:
            wait_until(lambda: not daemon.ended() and not differing(), "the store", patience_s)
        except AssertionError:
            self.fail(f"{differing()}\n{daemon.words()}")
        self.assertEqual(daemon.walk("quarantine"), [])

    def expect_trending(self, daemon, book, people):
        """What people are shown: each link with the number of those who share it."""
        def shown():
            _, answer = daemon.ask("GET", "/api/trending?limit=100")
            return {link["url"]: link["shares"] for link in answer["links"]}
        try:
            wait_until(lambda: shown() == book.totals(people), "trending links", PATIENCE_S)
        except AssertionError:
            self.assertEqual(shown(), book.totals(people))

    def wait_for_rows(self, daemon, sql, expected, seconds=PATIENCE_S):
        """Waits until a SELECT gives these rows, in any order."""
        def found():
            return sorted(stored_news.rows(daemon.home, sql), key=repr)
        expected = sorted(expected, key=repr)
        try:
            wait_until(lambda: not daemon.ended() and found() == expected, sql, seconds)
        except AssertionError:
            self.assertEqual(found(), expected, daemon.words())

    def wait_for_words(self, daemon, words, times=1):
        """Waits until the log of this home has them so many times."""
        wait_until(lambda: daemon.words().count(words) == times, words, PATIENCE_S)
