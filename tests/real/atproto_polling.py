# SPDX-License-Identifier: Apache-2.0
"""Without any firehose: what the first seed describes, against a real AppView, with its own
configuration file and its own SQL."""

import os
import re

import stored_news
from atproto_case import HERE, RealNetwork, ago, on_both_stores
from chronicle import Chronicle, did_of

CONFIG = os.path.join(HERE, "..", "data", "config_polling.yaml")
POLLING = ("bluesky.mode=polling", "polling.interval_minutes=1")
CYCLE_S = 150

# As the seed prints them.
DISTRIBUTION = """SELECT
    COUNT(CASE WHEN last_cursor IS NOT NULL AND last_cursor != ''
               THEN 1 END) as has_cursor,
    COUNT(CASE WHEN last_cursor IS NULL OR last_cursor = ''
               THEN 1 END) as no_cursor
FROM poll_state"""
ONE_ACCOUNT = """SELECT user_handle, last_cursor, last_polled_at
FROM poll_state
WHERE user_handle = '{}'"""
WITHOUT = """SELECT user_handle, last_polled_at
FROM poll_state
WHERE last_cursor IS NULL OR last_cursor = ''
ORDER BY last_polled_at DESC"""
RESET = "DELETE FROM poll_state WHERE user_handle = '{}'"


class Polling(RealNetwork):
    def lines(self, daemon, tag):
        """handle -> number of posts, of all lines with this tag so far"""
        found = re.findall(rf"\[{tag}\] (\S+): (\d+) posts, \d+ URLs across", daemon.words())
        return {handle: int(posts) for handle, posts in found}

    def counts(self, book, people):
        uris = [did_of(uri) for uri in book.posts(people)]
        return {who.handle: uris.count(who.did) for who in people}

    @on_both_stores
    def test_polling_alone_stores_what_was_posted(self, home):
        """R000-06 R000-12 R000-19 R000-25 R000-35 R000-36 R000-37 R000-38 R000-39"""
        book = Chronicle()
        ada, bob, eve, cyd, zoe = self.people("ada", "bob", "eve", "cyd", "zoe")
        people = [ada, bob, cyd, zoe]
        me = self.followed(people)
        posts = self.write_history(book, ada, bob, eve)
        book.post(cyd, "a story", {"story": self.story("old")}, createdAt=ago(hours=5))
        connections = self.network.settle()["connections"]
        with self.daemon(home, *POLLING, actors=(me,), config=CONFIG) as daemon:
            self.check(daemon, book, people)
            first = self.counts(book, people)
            self.wait_for_words(daemon, "accounts=4")
            self.assertEqual(self.lines(daemon, "INITIAL"), first)
            self.expect_positions(daemon, first)
            book.edit(ada, posts[41], "edited, a tale", {"tale": self.story("tale")})
            book.delete(ada, posts[40])
            book.post(zoe, "my first words", {"first": self.story(1)})
            book.repost(bob, posts[42])
            book.deactivate(cyd)
            self.check(daemon, book, people, CYCLE_S)
            self.wait_for_words(daemon, "[POLL] ", times=2)  # told once it is stored
            self.assertEqual(self.lines(daemon, "POLL"), {zoe.handle: 1, bob.handle: 1})
            self.assertIn(f"[SKIP] {cyd.handle}: ", daemon.words())
            self.assertEqual(self.lines(daemon, "INITIAL"), first)
            daemon.stop()
        stored_news.change(home, RESET.format(bob.handle))
        book.activate(cyd)
        self.network.settle()
        with self.daemon(home, *POLLING, actors=(me,), config=CONFIG) as daemon:
            self.check(daemon, book, people)
            self.wait_for_words(daemon, f"[INITIAL] {bob.handle}: ", times=2)
            daemon.stop()
        self.assertEqual(self.network.settle()["connections"], connections)

    def expect_positions(self, daemon, posts):
        placed = {handle: count for handle, count in posts.items() if count > 0}
        self.wait_for_rows(daemon, DISTRIBUTION, [{"has_cursor": len(placed),
                                                   "no_cursor": len(posts) - len(placed)}])
        self.wait_for_rows(daemon, "SELECT user_handle, posts_fetched_count AS n FROM poll_state",
                           [{"user_handle": handle, "n": count} for handle, count in posts.items()])
        for handle in placed:
            (row,) = stored_news.rows(daemon.home, ONE_ACCOUNT.format(handle))
            self.assertRegex(row["last_cursor"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$")
        self.assertEqual([row["user_handle"] for row in stored_news.rows(daemon.home, WITHOUT)],
                         [handle for handle in posts if handle not in placed])
