# SPDX-License-Identifier: Apache-2.0
"""Whom an account follows, and what those people did before or while nobody listened: read from a
real AppView."""

import stored_news
from atproto_case import PATIENCE_S, RealNetwork, ago, on_both_stores
from atproto_network import POST
from chronicle import Chronicle

# As the seed prints them, for PostgreSQL: on posts of today they change nothing.
CLEAN_UP = ("""DELETE FROM posts
WHERE created_at < NOW() - INTERVAL '24 hours'""", """DELETE FROM links
WHERE id NOT IN (
  SELECT DISTINCT link_id
  FROM post_links pl
  JOIN posts p ON pl.post_id = p.id
  WHERE p.created_at > NOW() - INTERVAL '24 hours'
)
AND id NOT IN (
  -- Keep links with 5+ shares (trending threshold)
  SELECT link_id
  FROM post_links
  GROUP BY link_id
  HAVING COUNT(*) >= 5
)""", "TRUNCATE poll_state")


class Follows(RealNetwork):
    crowd = None

    @classmethod
    def setUpClass(cls):
        """More people than fit on one page of a list."""
        if cls.crowd is None:
            cls.crowd = [cls.network.account("crowd") for _ in range(103)]
            for number, who in enumerate(cls.crowd):
                if number % 3 == 0:
                    who.profile(f"Námé № {number} 🌊")

    def expect_follows(self, daemon, people):
        self.network.settle()
        expected = [{"did": who.did, "handle": who.handle, "display_name": who.name}
                    for who in people]
        self.wait_for_rows(daemon, "SELECT did, handle, display_name FROM follows", expected)

    @on_both_stores
    def test_the_list_of_follows_is_kept_as_it_is(self, home):
        """R001-44 R001-48 R001-49 R001-50 R001-52"""
        me, you, ada, bob = self.people("me", "you", "ada", "bob")
        me.follow_all(self.crowd)
        edge = me.follow(ada)
        you.follow_all(self.crowd[:2])
        self.network.settle()
        with self.daemon(home, actors=(me, you)) as daemon:
            self.expect_follows(daemon, [*self.crowd, ada])
            me.delete(edge)
            me.follow(bob)
            bob.profile("Bób")
            self.network.settle()
            daemon.reload()
            self.expect_follows(daemon, [*self.crowd, bob])
            bob.change_handle(bob.handle.split(".")[0] + "-renamed")
            bob.profile("Robert")
            self.network.settle()
            daemon.reload()
            self.expect_follows(daemon, [*self.crowd, bob])
            daemon.stop()

    @on_both_stores
    def test_without_an_appview_the_stored_follows_count(self, home):
        me, ada, bob = self.people("me", "ada", "bob")
        me.follow(ada)
        self.network.settle()
        with self.daemon(home, actors=(me,)) as daemon:
            self.expect_follows(daemon, [ada])
            daemon.stop()
        book = Chronicle()
        with self.daemon(home, "bluesky.appview=http://127.0.0.1:9", actors=(me,)) as daemon:
            self.connected(daemon)
            book.post(bob, "nobody hears me", {"hears": self.story("unheard")})
            book.post(ada, "a story", {"story": self.story("heard")})
            self.check(daemon, book, [ada])
            daemon.stop()


class Histories(RealNetwork):
    @on_both_stores
    def test_what_was_posted_before_the_start_is_read_behind_the_firehose(self, home):
        """R001-34 R001-49 R001-54 R001-61 R001-69"""
        book = Chronicle()
        ada, bob, eve, zoe = self.people("ada", "bob", "eve", "zoe")
        people = [ada, bob, zoe]
        me = self.followed(people)
        posts = self.write_history(book, ada, bob, eve)
        self.network.settle()
        with self.daemon(home, actors=(me,)) as daemon:
            self.check(daemon, book, people)
            self.wait_for_rows(daemon, "SELECT did FROM follows WHERE backfill_completed",
                               [{"did": who.did} for who in people])
            book.edit(ada, posts[7], "edited live", {"live": self.story("live")})
            book.delete(ada, posts[8])
            book.post(zoe, "my first words", {"first": self.story(1)})
            book.deactivate(bob)
            self.check(daemon, book, people)
            book.activate(bob)
            self.check(daemon, book, people)
            self.expect_trending(daemon, book, people)
            daemon.stop()
        if home.kind == "postgres":
            stored_news.change(home, *CLEAN_UP)
        with self.daemon(home, actors=(me,)) as daemon:
            book.delete(ada, posts[9])
            self.check(daemon, book, people)
            daemon.stop()

    @on_both_stores
    def test_who_is_followed_later_brings_a_history(self, home):
        """R001-05 R001-49"""
        book = Chronicle()
        ada, bob = self.people("ada", "bob")
        me = self.followed([ada])
        for who in (ada, bob):
            book.post(who, "an old story", {"story": self.story("old")}, createdAt=ago(hours=9))
        self.network.settle()
        with self.daemon(home, actors=(me,)) as daemon:
            self.check(daemon, book, [ada])
            book.post(bob, "not heard yet", {"heard": self.story("bob")})
            book.post(ada, "a marker")
            self.check(daemon, book, [ada])
            edge = me.follow(bob)
            self.network.settle()
            daemon.reload()
            self.check(daemon, book, [ada, bob])
            me.delete(edge)
            self.network.settle()
            daemon.reload()
            self.wait_for_rows(daemon, "SELECT did FROM follows", [{"did": ada.did}])
            bob.create(POST, {"text": "to be heard by nobody"})
            book.post(ada, "another marker")
            self.check(daemon, book, [ada, bob])
            self.expect_trending(daemon, book, [ada])
            daemon.stop()

    def away_for(self, home, hours):
        """Makes a stopped daemon's store look as if it had stopped so many hours ago."""
        (cursor,) = stored_news.rows(
            home, "SELECT position FROM cursors WHERE source = 'jetstream' AND stream = 'live'")
        was, back = cursor["position"], hours * 3600 * 1000000
        stored_news.change(
            home, f"UPDATE cursors SET position = position - {back}, "
            f"state = replace(state, '{was}', '{was - back}') WHERE source = 'jetstream'",
            f"UPDATE post SET shared_us = shared_us - {back} WHERE rev IS NOT NULL")

    @on_both_stores
    def test_who_was_away_at_the_start_is_read_on_return(self, home):
        book = Chronicle()
        ada, bob = people = self.people("ada", "bob")
        me = self.followed(people)
        for who in people:
            book.post(who, "an old story", {"story": self.story("old")}, createdAt=ago(hours=9))
        book.deactivate(bob)
        self.network.settle()
        with self.daemon(home, actors=(me,)) as daemon:
            self.check(daemon, book, people)
            self.wait_for_rows(daemon, "SELECT did FROM follows", [{"did": ada.did}])
            book.activate(bob)
            self.network.settle()
            daemon.reload()
            self.check(daemon, book, people)
            daemon.stop()

    @on_both_stores
    def test_a_gap_of_the_firehose_is_closed_by_what_the_appview_knows(self, home):
        """R001-58"""
        book = Chronicle()
        ada, bob, eve, cyd, dan, fay = self.people("ada", "bob", "eve", "cyd", "dan", "fay")
        people = [ada, bob, cyd, dan, fay]
        me = self.followed(people)
        posts = self.write_history(book, ada, bob, eve)
        for who in (cyd, dan, fay):
            book.post(who, "one story", {"story": self.story(1)}, createdAt=ago(hours=4))
        self.network.settle()
        keep_all = "retention.window_hours=96"
        with self.daemon(home, keep_all, actors=(me,)) as daemon:
            self.check(daemon, book, people)
            kept = book.post(bob, "live, stays", {"live": self.story("live")})
            gone = book.post(bob, "live, goes", {"goes": self.story("goes")})
            again = book.repost(ada, kept)
            book.post(ada, "of another time", {"time": self.story("time")},
                      createdAt="2023-01-01T00:00:00.000Z")
            self.check(daemon, book, people)
            daemon.stop()
        self.away_for(home, 30)
        book.edit(ada, posts[10], "edited unseen", {"unseen": self.story("unseen")})
        book.edit(bob, kept, "live, and edited", {"live": self.story("live2")})
        for who, what in ((ada, posts[0]), (ada, posts[11]), (bob, gone), (ada, again)):
            book.delete(who, what)
        book.post(bob, "unheard", {"unheard": self.story("unheard")})
        book.repost(bob, posts[12])
        book.deactivate(cyd)
        book.take_down(fay)
        book.remove(dan)
        self.network.settle()
        self.network.forget()
        with self.daemon(home, keep_all, actors=(me,)) as daemon:
            self.connected(daemon)
            book.post(ada, "the first that is heard again")
            self.check(daemon, book, people)
            # It reaches up to now: it closes when feeds had their two minutes to show all of it.
            self.wait_for_rows(daemon, "SELECT count(*) AS n, count(closed_us) AS closed FROM gaps",
                               [{"n": 1, "closed": 1}], 120 + PATIENCE_S)
            book.activate(cyd)
            book.restore(fay)
            self.check(daemon, book, people)
            daemon.stop()
