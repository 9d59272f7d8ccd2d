# SPDX-License-Identifier: Apache-2.0
"""Polling without a firehose, through the real program: cycles, positions, lines, refusals, on both
stores.

  polling.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import re
import sys
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Home, wait_until  # noqa: E402
from fake_appview import FakeAppView, now_us  # noqa: E402
from feed_bench import FeedBench, HOUR, MINUTE, main, values  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import begin_before_everything, last_wanted_us, to_us  # noqa: E402


def metric(daemon, name):
    words = daemon.ask_raw("GET", "/metrics")[1].decode()
    found = [line.split(" ")[1] for line in words.split("\n")
             if line.startswith(f"tidemark_{name} ")]
    return float(found[0]) if found else None


class Polling(FeedBench):
    mode = "polling"

    def cycle(self, home, view, *settings):
        """One cycle of a fresh program; its lines."""
        said = self.said(home)
        with self.daemon(home, view, *settings) as daemon:
            wait_until(lambda: "msg=cycle" in self.said(home)[len(said):] or daemon.ended(),
                       "the end of a cycle")
            daemon.stop()
        self.words = self.said(home)[len(said):]
        return [line for line in self.words.split("\n") if line.startswith("[")]

    def said(self, home):
        path = os.path.join(home.folder, "log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as log:
            return log.read()

    def state(self, home, account, column="last_cursor"):
        return self.select(home, f"SELECT {column} FROM poll_state "
                                 f"WHERE user_handle = '{account.handle}'")

    def test_new_accounts_are_read_back_a_day_and_then_only_what_is_new(self):
        """R000-01 R000-02 R000-11 R000-12 R000-15 R000-16 R000-17 R000-23 R000-34 R000-35 R000-41
        R000-48 R000-49 R000-55 R000-56 R000-57 R001-137"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now, accounts = now_us(), [view.account() for _ in range(6)]
                busy, idle, empty = accounts[0], accounts[1], accounts[2]
                for account in accounts:
                    for k in range(4):
                        account.post(now - (k + 2) * HOUR)
                empty.items.clear()
                self.follow(home, view)
                lines = self.cycle(home, view)
                self.assertEqual(sorted(line.split(" ")[0] for line in lines), ["[INITIAL]"] * 6)
                self.assertIn(f"[INITIAL] {busy.handle}: 4 posts, 4 URLs across 1 pages", lines)
                before = self.state(home, idle)
                self.assertRegex(before, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$")
                self.assertEqual(self.state(home, empty), "")
                for k in range(3):
                    busy.post(now - 3 * MINUTE + k)
                seen = len(view.asked())
                lines = self.cycle(home, view)
                self.assertEqual(lines, [f"[POLL] {busy.handle}: 3 posts, 3 URLs across 1 pages"])
                self.assertEqual(len(view.asked()) - seen, 6)
                self.assertNotIn("cursor", view.asked()[-1]["params"])
                self.assertEqual(self.state(home, idle), before)
                self.assertEqual(self.state(home, busy, "posts_fetched_count"), "7")
                self.assertEqual(self.cycle(home, view), [])
                first = empty.post(now_us() - MINUTE)
                self.assertEqual(self.cycle(home, view),
                                 [f"[POLL] {empty.handle}: 1 posts, 1 URLs across 1 pages"])
                self.assertNotEqual(self.state(home, empty), "")
                accounts[5].items.clear()  # an empty page changes no position
                kept = self.state(home, accounts[5])
                posts = self.select(home, "SELECT count(*) FROM posts")
                self.assertEqual(self.cycle(home, view), [])
                self.assertEqual(self.select(home, "SELECT count(*) FROM posts"), posts)
                with self.daemon(home, view) as daemon:  # nor is it believed at once that all went
                    wait_until(lambda: daemon.health() and metric(daemon, "poll_cycles_total") == 1,
                               "a cycle")
                    for name, value in (("accounts", 6), ("accounts_placed", 6),
                                        ("accounts_fresh", 0), ("accounts_initial", 0)):
                        self.assertEqual(metric(daemon, "poll_" + name), value, name)
                    self.assertEqual(self.state(home, accounts[5]), kept)
                    self.assert_stored(daemon, view)
                    self.assertIn(first["uri"], self.stored(daemon))
                    daemon.stop()
        self.both_stores(run)

    def test_a_burst_is_read_in_more_runs_than_one_and_loses_nothing(self):
        """R000-03 R000-10 R000-14 R000-18 R000-43 R000-47 R000-52 R000-53"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                account.post(now - 3 * HOUR)
                account.post(now - 3 * HOUR + 1000)
                self.follow(home, view)
                self.cycle(home, view)
                for k in range(150):
                    account.post(now - 2 * HOUR + k * 1000)
                seen = len(view.asked())
                lines = self.cycle(home, view)
                self.assertEqual(len(view.asked()) - seen, 4)
                name = account.handle
                self.assertEqual(lines, [
                    f"[POLL] {name}: High volume detected, fetching more pages",
                    f"[POLL] {name}: 150 posts, 150 URLs across 4 pages"])
                before = self.state(home, account)
                for k in range(777):
                    account.post(now - HOUR + k * 1000)
                self.cycle(home, view)
                self.assertEqual(len(view.asked()) - seen, 14)
                self.assertEqual(self.state(home, account), before)  # not before it is whole
                account.post(now - MINUTE)
                lines = self.cycle(home, view)
                # 6 more pages down to the mark, and one for what came since.
                self.assertEqual(len(view.asked()) - seen, 21)
                self.assertEqual(lines[-1], f"[POLL] {name}: 1 posts, 1 URLs across 1 pages")
                self.assertNotEqual(self.state(home, account), before)
                self.assertEqual(self.state(home, account, "posts_fetched_count"), "930")
                self.assertEqual(self.select(home, "SELECT count(*) FROM backfill_queue"), "0")
                self.assertEqual(self.cycle(home, view), [])
                with self.daemon(home, view) as daemon:
                    daemon.wait_for(lambda health: health["status"], "an answer")
                    self.assert_stored(daemon, view)
                    daemon.stop()
                # A new account of more pages than a run may read: two runs, one [INITIAL].
                other = view.account()
                for k in range(110):
                    other.post(now - HOUR + k * 1000)
                self.run_sql(home, [f"INSERT INTO follows (did, handle) VALUES "
                                    f"('{other.did}', '{other.handle}')"])
                small = ("polling.max_pages_per_user=2", "polling.posts_per_page=20")
                for pages, tag in ((2, "[INITIAL]"), (4, "[POLL]"), (7, "[POLL]")):
                    lines = self.cycle(home, view, *small)
                    self.assertEqual(len(view.asked(did=other.did)), pages)
                    self.assertEqual(view.asked()[-1]["params"]["limit"], ["20"])
                    self.assertIn(tag, lines[-1])
                self.cycle(home, view, *small)
                self.assertEqual(self.select(home, "SELECT count(*) FROM backfill_queue"), "0")
        self.both_stores(run)

    def test_a_rest_of_one_page_is_read_once(self):
        """R000-10 R000-52"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                account.post(now - 3 * HOUR)
                self.follow(home, view)
                small = ("polling.max_pages_per_user=2", "polling.posts_per_page=20")
                self.cycle(home, view, *small)
                for k in range(50):
                    account.post(now - HOUR + k * 1000)
                for pages in (3, 5, 6):  # two; the rest and what came since; what came since
                    self.cycle(home, view, *small)
                    self.assertEqual(len(view.asked()), pages)
                self.assertEqual(self.select(home, "SELECT count(*) FROM backfill_queue"), "0")
        self.both_stores(run)

    def test_what_the_queue_had_begun_is_read_to_its_end(self):
        """As after a change of mode, or a failure in the midst of a history."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                known, fresh = view.account(), view.account()
                for account in (known, fresh):
                    for k in range(120):
                        account.post(now_us() - (9 * 60 - k) * MINUTE)
                self.follow(home, view)
                self.run_sql(home, [f"DELETE FROM follows WHERE did = '{fresh.did}'"])
                self.cycle(home, view)
                self.follow_again(home, fresh)
                place = json.dumps({"token": "of long ago", "provider": "", "newest_us": 0,
                                    "newest_uri": "", "began_us": 1, "reached_us": 0})
                rows = [(account.did, k, now_us() - 10 * HOUR, place, "test", 1, 1, 1)
                        for k, account in enumerate((known, fresh))]
                self.run_sql(home, ["INSERT INTO backfill_queue (actor_did, priority, since_us, "
                                    "sweep, reason, next_us, queued_us, asked_us) VALUES " +
                                    values(rows)])
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    self.assert_stored(daemon, view)
                    daemon.stop()
        self.both_stores(run)

    def follow_again(self, home, account):
        self.run_sql(home, [f"INSERT INTO follows (did, handle) VALUES "
                            f"('{account.did}', '{account.handle}')"])

    def test_a_token_that_is_refused_starts_the_sweep_over(self):
        """R000-05 R000-21"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                for k in range(130):
                    account.post(now - HOUR + k * 1000)
                self.follow(home, view)
                self.cycle(home, view, "polling.max_pages_per_user=2")
                view.tokens.clear()
                self.cycle(home, view, "polling.max_pages_per_user=4", "polling.max_retries=0")
                # Once in vain with the old token, three pages from the top, one look at the top.
                self.assertEqual(len(view.asked()), 2 + 1 + 3 + 1)
                self.assertEqual(self.select(home, "SELECT count(*) FROM post"), "130")
                self.assertNotEqual(self.state(home, account), "")
        self.both_stores(run)

    def test_dates_that_lie_do_not_end_a_sweep(self):
        """R000-07 R000-09 R000-13 R000-20"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, friend, now = view.account(), view.account(), now_us()
                old = friend.post(now - 400 * 24 * HOUR)
                feed = [account.post(now - 3 * 365 * 24 * HOUR, pin=True)]
                feed += [account.post(now - HOUR - k * MINUTE) for k in range(8)]
                feed += [account.post(now - HOUR, created_us=now - 500 * 24 * HOUR)]
                feed += [account.repost(now - 2 * HOUR - k * MINUTE, old) for k in range(9)]
                last = account.post(now - 23 * HOUR)
                straddling = account.post(now - 30 * HOUR)
                beyond = [account.post(now - 31 * HOUR - k * MINUTE) for k in range(40)]
                feed += [last, straddling, *beyond]
                view.order = lambda who: feed if who is account else who.items
                self.follow(home, view)
                self.cycle(home, view, "polling.posts_per_page=10")
                self.assertEqual(len(view.asked(did=account.did)), 3)
                with self.daemon(home, view) as daemon:
                    daemon.wait_for(lambda health: health["status"], "an answer")
                    stored = self.stored(daemon)
                    daemon.stop()
                self.assertNotIn(feed[0]["uri"], stored)  # the pin in front
                self.assertIn(last["uri"], stored)
                self.assertIn(straddling["uri"], stored)  # a page is stored whole
                self.assertNotIn(beyond[-1]["uri"], stored)
                self.assertEqual({row["kind"] for uri, row in stored.items()
                                  if "repost" in uri}, {"repost"})
        self.both_stores(run)

    def test_what_retention_removed_does_not_come_back(self):
        """R000-09 R001-71: the cutoff does not filter a page, the window does."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, friend, now = view.account(), view.account(), now_us()
                old = friend.post(now - 400 * 24 * HOUR)
                kept = [account.post(now - HOUR), account.repost(now - 2 * HOUR, old),
                        account.post(now - 40 * HOUR)]
                for k in range(5):
                    account.post(now - (60 + k) * HOUR, text="https://again.example/")
                self.follow(home, view)
                settings = ("retention.enabled=true", "retention.window_hours=50",
                            "retention.keep_trending_threshold=1")
                for _ in range(3):
                    self.cycle(home, view, *settings)
                    self.assertEqual(self.select(home, "SELECT count(*) FROM posts"), "3")
                    self.assertEqual(self.select(home, "SELECT count(*) FROM links WHERE "
                                                 "normalized_url LIKE '%again%'"), "0")
                    self.assertEqual(self.select(home, "SELECT max(n_posts) FROM shares"), "1")
                with self.daemon(home, view, *settings) as daemon:
                    daemon.wait_for(lambda health: health["status"], "an answer")
                    self.assertEqual(set(self.stored(daemon)), {item["uri"] for item in kept})
                    daemon.stop()
        self.both_stores(run)

    def test_accounts_that_cannot_be_read_hold_up_nobody(self):
        """R000-25 R000-26 R000-27 R000-28 R000-29 R000-30 R000-31 R000-32 R000-50 R000-51 R000-54
        R000-59"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now, accounts = now_us(), [view.account() for _ in range(12)]
                for account in accounts:
                    account.post(now - HOUR)
                self.follow(home, view)
                self.cycle(home, view)
                positions = [self.state(home, account) for account in accounts]
                for account in accounts:
                    account.post(now - MINUTE)
                standings = ("InvalidRequest", "AccountDeactivated", "AccountTakedown")
                for account, standing in zip(accounts, standings):
                    account.standing = standing
                feed = "app.bsky.feed.getAuthorFeed"
                view.faults = [{"method": feed, "did": account.did, "status": status, "count": 1}
                               for account, status in zip(accounts[3:6], (403, 404, 410))]
                view.faults.append({"method": feed, "did": accounts[6].did, "status": 500,
                                    "count": 99, "body": {"error": "API error: 400"}})
                view.faults.append({"method": feed, "did": accounts[7].did, "status": 502,
                                    "count": 3, "body": b"<html>"})
                seen = len(view.asked())
                lines = self.cycle(home, view)
                for account, status in zip(accounts, (400, 400, 400, 403, 404, 410)):
                    self.assertEqual(len(view.asked(did=account.did)), 2)
                    self.assertRegex("\n".join(lines), (
                        rf"\[SKIP\] {account.handle}: Account unavailable "
                        rf"\(invalid/deleted/private\): API error: {status}"))
                self.assertEqual(len(view.asked(did=accounts[6].did)), 1 + 4)
                errors = [line for line in lines if line.startswith("[ERROR]")]
                self.assertEqual(len(errors), 1)
                self.assertIn(accounts[6].handle, errors[0])
                self.assertEqual(sum(line.startswith("[SKIP]") for line in lines), 6)
                self.assertEqual(sum(line.startswith("[POLL]") for line in lines), 5)
                for account, position in zip(accounts[:7], positions):
                    self.assertEqual(self.state(home, account), position)
                self.assertEqual(self.select(home, "SELECT count(*) FROM actors WHERE active = 0"),
                                 "3")
                view.faults, seen = [], len(view.asked())
                lines = self.cycle(home, view)  # those who are gone are left alone for a day
                self.assertEqual(len(view.asked()) - seen, 9)
                self.assertEqual(sorted(lines), sorted(
                    f"[POLL] {account.handle}: 1 posts, 1 URLs across 1 pages"
                    for account in accounts[3:7]))
                for account in accounts:
                    account.standing = None
                self.run_sql(home, ["UPDATE actors SET status_us = status_us - 90000000000 "
                                    "WHERE active = 0"])
                lines = self.cycle(home, view)
                self.assertEqual(len(lines), 3)
                self.assertEqual(self.select(home, "SELECT count(*) FROM actors WHERE active = 0"),
                                 "0")
        self.both_stores(run)

    def test_a_position_taken_back_by_hand_is_read_anew(self):
        """R000-06 R000-33 R000-39 R000-58"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now, accounts = now_us(), [view.account() for _ in range(5)]
                for account in accounts:
                    account.post(now - HOUR)
                self.follow(home, view)
                self.cycle(home, view)
                names = [account.handle for account in accounts]
                self.run_sql(home, [
                    f"DELETE FROM poll_state WHERE user_handle = '{names[0]}'",
                    f"UPDATE poll_state SET last_cursor = NULL WHERE user_handle = '{names[1]}'",
                    f"UPDATE poll_state SET last_cursor = '' WHERE user_handle = '{names[2]}'"])
                lines = self.cycle(home, view)
                self.assertEqual(sorted(lines), [
                    f"[INITIAL] {name}: 1 posts, 1 URLs across 1 pages"
                    for name in sorted(names[:3])])
                self.assertIn("msg=positions_lost level=warn", self.words)
                self.assertEqual(self.cycle(home, view), [])
                # A new name is no new account.
                self.run_sql(home, [f"UPDATE follows SET handle = 'new.example' "
                                    f"WHERE did = '{accounts[3].did}'"])
                self.assertEqual(self.cycle(home, view), [])
                self.assertEqual(self.select(home, "SELECT count(*) FROM poll_state"), "5")
                self.assertEqual(self.cycle(home, view), [])
        self.both_stores(run)

    def test_positions_are_an_accounts_own_whatever_it_is_called(self):
        """All whose handle cannot be verified are called the same, and two may change names."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now, accounts = now_us(), [view.account() for _ in range(4)]
                early, late, one, two = accounts
                early.handle = late.handle = "handle.invalid"
                for account, age in ((early, MINUTE), (one, HOUR), (two, MINUTE)):
                    account.post(now - age)
                self.follow(home, view)
                self.cycle(home, view)
                place = self.select(home, "SELECT last_cursor FROM poll_state "
                                          f"WHERE user_handle = '{early.did}'")
                self.assertNotEqual(place, "")
                for k in range(120):
                    late.post(now - 2 * HOUR - k * MINUTE)
                self.run_sql(home, [f"DELETE FROM poll_state WHERE user_handle = '{late.did}'"])
                self.assertEqual(self.cycle(home, view),
                                 [f"[INITIAL] {late.did}: 120 posts, 120 URLs across 3 pages"])
                self.assertEqual(self.cycle(home, view), [])
                self.assertEqual(self.select(home, "SELECT last_cursor FROM poll_state "
                                                   f"WHERE user_handle = '{early.did}'"), place)
                for k in range(60):
                    one.post(now - 3 * MINUTE - k * 1000)
                self.run_sql(home, [
                    f"UPDATE follows SET handle = '{name}' WHERE did = '{account.did}'"
                    for account, name in ((one, two.handle), (two, one.handle))])
                self.cycle(home, view)
                with self.daemon(home, view) as daemon:
                    wait_until(daemon.health, "the daemon")
                    self.assert_stored(daemon, view)
                    daemon.stop()
        self.both_stores(run)

    def test_a_name_that_somebody_else_had_brings_no_position_along(self):
        """Whoever had it was unfollowed since, and the row stays."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now, former, heir = now_us(), view.account(), view.account()
                heir.handle = former.handle
                former.post(now - MINUTE)
                heir.post(now - HOUR)
                for k in range(120):
                    heir.post(now - 2 * HOUR - k * MINUTE)
                self.follow(home, view)
                for table in ("follows", "circle"):
                    self.run_sql(home, [f"DELETE FROM {table} WHERE did = '{heir.did}'"])
                self.cycle(home, view)
                self.assertNotEqual(self.state(home, former), "")
                for table in ("follows", "circle"):
                    self.run_sql(home, [f"DELETE FROM {table}"])
                self.run_sql(home, ["INSERT INTO follows (did, handle) VALUES "
                                    f"('{heir.did}', '{heir.handle}')"])
                self.assertEqual(self.cycle(home, view),
                                 [f"[INITIAL] {heir.handle}: 121 posts, 121 URLs across 3 pages"])
                self.assertEqual(self.cycle(home, view), [])
                # A row that nobody is known to have left is the position of whoever has the name.
                self.run_sql(home, ["DELETE FROM cursors WHERE source = 'feed'"])
                self.assertEqual(self.cycle(home, view), [])
        self.both_stores(run)

    def test_what_is_deleted_or_edited_is_noticed(self):
        """R000-22"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, friend, now = view.account(), view.account(), now_us()
                theirs = [friend.post(now - 5 * HOUR - k * MINUTE) for k in range(3)]
                posts = [account.post(now - HOUR - k * MINUTE) for k in range(8)]
                reposts = [account.repost(now - 2 * HOUR - k * MINUTE, post)
                           for k, post in enumerate(theirs)]
                backdated = account.post(now - HOUR, created_us=now - 600 * 24 * HOUR)
                self.follow(home, view)
                self.cycle(home, view)
                account.delete(posts[0])  # where the position stands
                account.delete(posts[3])
                account.delete(reposts[0])
                account.edit(posts[5], "now it says something else")
                friend.delete(theirs[1])  # its repost is shown no more, but was not deleted
                view.order = lambda who: sorted(
                    (item for item in who.items if item["subject"] is not theirs[1]),
                    key=lambda item: (min(item["seen"], item["created"]), item["cid"]),
                    reverse=True)
                self.cycle(home, view)
                with self.daemon(home, view) as daemon:
                    daemon.wait_for(lambda health: health["status"], "an answer")
                    stored = self.stored(daemon)
                    daemon.stop()
                for gone in (posts[0], posts[3], reposts[0], theirs[1]):
                    self.assertNotIn(gone["uri"], stored)
                for there in (*posts[1:3], *posts[4:], reposts[1], reposts[2], backdated):
                    self.assertIn(there["uri"], stored)
                self.assertEqual(stored[posts[5]["uri"]]["text"], "now it says something else")
        self.both_stores(run)

    def compare(self, home, other, code):
        path = os.path.join(home.folder, "other.yaml")
        with open(path, "w", encoding="utf-8") as config:
            config.write(f"store:\n  url: {other.url}\n  data_dir: {other.folder}\n")
        found, words = self.command(home, "compare", "--json", path)
        self.assertEqual(found, code, words)
        return json.loads(words)

    def test_two_stores_are_compared_post_by_post(self):
        """R001-135 R001-136 R001-149"""
        def run(home):
            with Simulator(self.sim_program, "--events", "5000", "--start-us", "now", "--gap-us",
                           "4000000", "--accounts", "50") as sim, Home(home.kind) as other:
                view = SimpleNamespace(address=sim.address)
                self.migrate(home)
                self.migrate(other)
                rows = [(account["did"], account["handle"]) for account in
                        map(json.loads, lines(sim.get("/_sim/accounts")))]
                self.run_sql(other, [f"INSERT INTO follows (did, handle) VALUES {values(rows)}"])
                self.cycle(other, view)  # the poller's
                begin_before_everything(home, sim)
                firehose = (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
                            "bluesky.mode=firehose")
                with self.daemon(home, view, *firehose) as daemon:
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end,
                                    "the last event")
                    found = self.compare(home, other, 1)
                    # Feeds do not show what was backdated, nor reposts of what is gone.
                    self.assertEqual((found["onlyThere"], found["different"]), ([], []))
                    self.assertGreater(found["same"], 1000)
                    self.assertLess(len(found["onlyHere"]), found["here"] // 5)
                    daemon.stop()
                planted = self.select(home, "SELECT min(n) FROM post WHERE kind = 0 AND n IN "
                                            "(SELECT n FROM post WHERE body IS NOT NULL) "
                                            "AND shared_us > created_us")
                uri = self.select(home, f"SELECT uri FROM posts WHERE id = {planted}")
                self.assertNotIn(uri, found["onlyHere"])
                self.run_sql(home, [f"DELETE FROM post_links WHERE post_id = {planted}",
                                    f"DELETE FROM post WHERE n = {planted}"])
                again = self.compare(home, other, 1)
                self.assertEqual(again["onlyThere"], [uri])
                text = self.compare(other, home, 1)
                self.assertEqual(text["onlyHere"], [uri])
                self.run_sql(other, ["UPDATE post SET body = 'x' WHERE n = "
                                     "(SELECT max(n) FROM post WHERE kind = 0)"])
                self.assertEqual(len(self.compare(home, other, 1)["different"]), 1)
                self.assertEqual(self.compare(home, home, 0)["onlyHere"], [])
        self.both_stores(run)

    def test_polling_alone_stores_what_the_world_holds(self):
        """R000-19 R001-34 R001-88"""
        def run(home):
            with Simulator(self.sim_program, "--events", "6000", "--start-us", "now", "--gap-us",
                           "4000000", "--accounts", "60", "--follows", "30") as sim:
                view = SimpleNamespace(address=sim.address)
                self.migrate(home)
                accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
                followed = [account for account in accounts if account["followed"]]
                rows = [(account["did"], account["handle"]) for account in followed]
                self.run_sql(home, [f"INSERT INTO follows (did, handle) VALUES {values(rows)}"])
                self.cycle(home, view)
                self.assert_truth(home, view, sim)
                sim.step(900)
                self.cycle(home, view)
                self.assert_truth(home, view, sim)
        self.both_stores(run)

    def test_whom_a_list_names_is_read_by_the_poller_alone(self):
        """R000-01 R000-34 R000-41"""
        def run(home):
            with Simulator(self.sim_program, "--events", "3000", "--start-us", "now", "--gap-us",
                           "4000000", "--accounts", "60", "--follows", "30") as sim:
                accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
                listed = [json.loads(line) for line in lines(sim.get("/_sim/truth?what=follows"))]
                count = sum("did" in row for row in listed)
                with self.daemon(home, SimpleNamespace(address=sim.address),
                                 f"bluesky.actors=[{accounts[0]['handle']}]") as daemon:
                    wait_until(lambda: f"accounts={count} " in daemon.words() or daemon.ended(),
                               "a cycle over the list")
                    daemon.stop()
                read = re.findall(r"^\[INITIAL\] \S+ \d+ posts, \d+ URLs across (\d+) pages",
                                  self.said(home), re.MULTILINE)
                self.assertEqual(len(read), count)
                # Every reading that was asked for has its line, and none is left to be done.
                asked = lines(sim.get("/_sim/requests?path=/xrpc/app.bsky.feed.getAuthorFeed"))
                self.assertEqual(len(asked), sum(map(int, read)))
                self.assertEqual(self.select(home, "SELECT count(*) FROM backfill_queue"), "0")
                self.assertEqual(self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE NOT backfill_completed"), "0")
        self.both_stores(run)

    def test_a_position_that_is_reset_is_forgotten(self):
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                one, other = view.account(), view.account()
                for account in (one, other):
                    account.post(now_us() - HOUR)
                self.follow(home, view)
                self.assertEqual(len(self.cycle(home, view)), 2)
                self.assertEqual(self.command(home, "reset", "feed", one.did)[0], 0)
                self.assertEqual(self.cycle(home, view), [
                    f"[INITIAL] {one.handle}: 1 posts, 1 URLs across 1 pages"])
                self.assertEqual(self.command(home, "reset", "feed")[0], 0)
                self.assertEqual(len(self.cycle(home, view)), 2)
                self.assertEqual(self.cycle(home, view), [])
        self.both_stores(run)

    def test_a_reset_of_the_firehose_leaves_a_gap_that_ends(self):
        """No event will come that ends it: feeds show what happens since."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account = view.account()
                account.post(now_us() - HOUR)
                self.follow(home, view)
                self.cycle(home, view)
                for running in (False, True):
                    stood = now_us() - 2 * HOUR
                    self.run_sql(home, ["DELETE FROM gap_sweep", "DELETE FROM gaps",
                                        "INSERT INTO cursors VALUES ('jetstream', 'live', "
                                        f"'{{}}', {stood}, {stood}, 0)"])
                    if not running:
                        self.assertEqual(self.command(home, "reset", "jetstream")[0], 0)
                    with self.daemon(home, view) as daemon:
                        daemon.wait_for(lambda health: health["status"], "an answer")
                        if running:
                            self.assertEqual(self.command(home, "reset", "jetstream")[0], 0)
                        wait_until(lambda: self.select(
                            home, "SELECT count(*) FROM gaps WHERE closed_us IS NULL "
                                  f"AND from_us = {stood} AND to_us < {now_us() + HOUR}") == "1",
                            "the gap's end")
                        # Histories are read for it.
                        self.assertEqual(self.select(home, "SELECT count(*) FROM gap_sweep"), "1")
                        daemon.stop()
                    self.run_sql(home, [
                        f"UPDATE gaps SET to_us = to_us - {MINUTE}, "
                        f"detected_us = detected_us - {5 * MINUTE} WHERE closed_us IS NULL",
                        "UPDATE backfill_queue SET next_us = 1, asked_us = 1, queued_us = 1"])
                    with self.daemon(home, view) as daemon:  # feeds have settled since
                        self.wait_for_queue(daemon, 0)
                        daemon.stop()
                    self.assertEqual(self.select(home, "SELECT count(*) FROM gaps "
                                                       "WHERE closed_us IS NULL"), "0")
        self.both_stores(run)

    def assert_truth(self, home, view, sim):
        """All but what an AppView does not show: what was backdated by more than it is asked for,
        and reposts of what is gone."""
        records = [json.loads(line) for line in lines(sim.get("/_sim/truth?follows=1"))[1:]]
        everybody = {json.loads(line)["uri"] for line in lines(sim.get("/_sim/truth"))[1:]}
        day = now_us() - 23 * HOUR  # what is nearly as old may have been too old already
        with self.daemon(home, view) as daemon:
            daemon.wait_for(lambda health: health["status"], "an answer")
            stored = self.stored(daemon)
            daemon.stop()
        inactive = {json.loads(line)["did"] for line in lines(sim.get("/_sim/accounts"))
                    if json.loads(line)["status"] != "active"}
        wanted = {record["uri"]: record for record in records
                  if to_us(record["createdAt"]) >= day
                  and (record["kind"] == "post" or record["subject"] in everybody)}
        self.assertGreater(len(wanted), 500)
        self.assertEqual(set(wanted) - set(stored), set(), "missing")
        known = {record["uri"] for record in records}
        self.assertEqual({uri for uri in set(stored) - known
                          if stored[uri]["actorDid"] not in inactive}, set(), "too many")
        for uri, record in wanted.items():
            if record["kind"] == "post":
                self.assertEqual(stored[uri]["text"], record["text"].replace("\0", "\ufffd"))


if __name__ == "__main__":
    main(Polling)
