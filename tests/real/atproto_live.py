# SPDX-License-Identifier: Apache-2.0
"""As it happens: what people do on a real PDS comes through its firehose, to a daemon with the
configuration file of the second seed."""

import os

from atproto_case import HERE, RealNetwork, on_both_stores
from chronicle import Chronicle

CONFIG = os.path.join(HERE, "..", "data", "config_jetstream.yaml")


class Live(RealNetwork):
    @on_both_stores
    def test_live_posts_edits_and_deletes_are_stored_as_they_happen(self, home):
        """R001-20 R001-21 R001-22 R001-23 R001-25"""
        book = Chronicle()
        with self.daemon(home, config=CONFIG) as daemon:
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
            self.expect_trending(daemon, book, people)
            self.wait_for_rows(
                daemon,
                "SELECT normalized_url AS url, title FROM links WHERE share_count_total > 0",
                [{"url": self.story("e"), "title": "Page /e"},
                 {"url": self.story("f"), "title": "F"},
                 {"url": self.story("g"), "title": "Page /g"}])
            daemon.stop()

    @on_both_stores
    def test_accounts_that_leave_and_return_take_their_posts_along(self, home):
        """R001-27 R001-28 R001-29"""
        book = Chronicle()
        with self.daemon(home, config=CONFIG) as daemon:
            self.connected(daemon)
            ada, bob, cyd, dan = people = self.people("ada", "bob", "cyd", "dan")
            story = {"story": self.story("everybody")}
            posts = [book.post(who, "a story", story) for who in people]
            book.repost(ada, posts[1])
            book.post(bob, "what she says", quote=book.post(cyd, "more", {"more": self.story("c")}))
            self.check(daemon, book, people)
            for leave, come_back in ((book.deactivate, book.activate),
                                     (book.take_down, book.restore)):
                leave(bob)
                self.check(daemon, book, people)
                leave(cyd)
                self.check(daemon, book, people)
                self.expect_trending(daemon, book, people)
                come_back(cyd)
                come_back(bob)
                self.check(daemon, book, people)
            book.post(bob, "back with a story", story)
            book.remove(dan)
            ada.change_handle(ada.handle.split(".")[0] + "-renamed")
            self.check(daemon, book, people)
            self.wait_for_rows(daemon, "SELECT did, handle FROM actors WHERE active = 1",
                               [{"did": who.did, "handle": who.handle} for who in (ada, bob, cyd)])
            daemon.stop()

    @on_both_stores
    def test_what_happened_while_it_was_killed_is_replayed(self, home):
        """R001-41 R001-42"""
        book = Chronicle()
        ada, bob = people = self.people("ada", "bob")
        self.network.settle()
        with self.daemon(home, config=CONFIG) as daemon:
            self.connected(daemon)
            kept = book.post(ada, "a story", {"story": self.story("kept")})
            gone = book.post(bob, "another", {"another": self.story("gone")})
            self.check(daemon, book, people)
            daemon.kill()
        book.edit(ada, kept, "that story", {"story": self.story("kept"), "that": self.story("x")})
        book.delete(bob, gone)
        book.repost(bob, kept)
        book.deactivate(ada)
        for again in (False, True):
            with self.daemon(home, config=CONFIG) as daemon:
                self.check(daemon, book, people)
                self.assertEqual(daemon.walk("gaps"), [])
                if not again:
                    book.activate(ada)
                    book.post(ada, "here I am", {"here": self.story("kept")})
                daemon.kill()
