# SPDX-License-Identifier: Apache-2.0
"""Whom an account follows, and what those people did before or while nobody listened: read from a
real AppView."""

import datetime

import stored_news
from atproto_case import RealNetwork, on_both_stores
from chronicle import Chronicle


def ago(**time):
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**time)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
