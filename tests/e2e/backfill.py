# SPDX-License-Identifier: Apache-2.0
"""Histories through the real program: the queue, its order and pace, resuming, gaps that close and
what is found gone in them, on both stores.

  backfill.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import sys
import threading
import time
from types import SimpleNamespace


HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import wait_until  # noqa: E402
from fake_appview import FakeAppView, now_us  # noqa: E402
from feed_bench import FeedBench, HOUR, MINUTE, main, queue_sql, values  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from truth_compare import begin_before_everything, last_wanted_us, to_us  # noqa: E402

# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)))


class Backfill(FeedBench):
    def test_a_cold_start_asks_for_no_page_more_than_it_needs(self):
        """R000-04 R000-08 R001-54 R001-61 R001-103 R001-132"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for i in range(30):
                    account, now = view.account(), now_us()
                    for k in range([0, 3, 49, 50, 51, 120][i % 6]):
                        account.post(now - (k + 1) * MINUTE)
                    for k in range(60):
                        account.post(now - 25 * HOUR - k * MINUTE)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    # 0, 3 and 49 end on the first page, 50 and 51 on the second, 120 on the third.
                    needed = {0: 1, 3: 1, 49: 2, 50: 2, 51: 2, 120: 3}
                    for i, did in enumerate(view.accounts):
                        requests = view.asked(did=did)
                        self.assertEqual(len(requests), needed[[0, 3, 49, 50, 51, 120][i % 6]],
                                         view.accounts[did].handle)
                        self.assertNotIn("cursor", requests[0]["params"])
                        self.assertEqual(requests[0]["params"]["limit"], ["50"])
                    self.assert_stored(daemon, view, since=now_us() - 24 * HOUR)
                    daemon.stop()
                self.assertEqual(self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE NOT backfill_completed"), "0")
                self.assertEqual(self.select(home, "SELECT count(*) FROM poll_state"), "0")
        self.both_stores(run)

    def test_the_most_urgent_goes_first_and_nobody_twice(self):
        """R001-63 R001-66 R001-104"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for _ in range(8):
                    view.account().post(now_us() - HOUR)
                self.follow(home, view)
                dids = list(view.accounts)
                for priority, chosen in ((3, dids[0:2]), (2, dids[2:4]), (1, dids[4:6]),
                                         (0, dids[6:8])):
                    self.run_sql(home, queue_sql(view, priority, now_us() - 24 * HOUR, chosen))
                with self.daemon(home, view, "backfill.max_concurrent=1") as daemon:
                    self.wait_for_queue(daemon, 0)
                    order = [request["params"]["actor"][0] for request in view.asked()]
                    self.assertEqual(order, dids[6:8] + dids[4:6] + dids[2:4] + dids[0:2])
                    self.assertEqual(view.under_way_max, 1)
                    daemon.stop()
        self.both_stores(run)

    def test_what_failed_before_the_clock_was_set_back_is_read(self):
        """A history that failed waits for half an hour at most, whatever the clock says."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for _ in range(4):
                    view.account().post(now_us() - HOUR)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR) + [
                    f"UPDATE backfill_queue SET attempts = 3, next_us = {now_us() + 5 * HOUR}"])
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    self.assert_stored(daemon, view)
                    daemon.stop()
        self.both_stores(run)

    def test_no_more_than_so_many_at_once_and_no_faster(self):
        """R001-64 R001-65 R001-105"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                view.gate = threading.Semaphore(0)
                for _ in range(24):
                    view.account().post(now_us() - HOUR)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                with self.daemon(home, view, "backfill.max_concurrent=3") as daemon:
                    wait_until(lambda: view.under_way == 3, "three at once")
                    view.gate.release(24)
                    self.wait_for_queue(daemon, 0)
                    self.assertEqual(view.under_way_max, 3)
                    daemon.stop()
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                with self.daemon(home, view, "backfill.max_concurrent=1",
                                 "backfill.rate_limit_ms=50") as daemon:
                    wait_until(lambda: len(view.asked()) == 25, "the first one")
                    began = time.monotonic()  # and it waits for its answer
                    view.gate.release(24)
                    self.wait_for_queue(daemon, 0)
                    others = view.asked()[25:]
                    # A request may arrive late, but none before it left.
                    self.assertGreaterEqual(others[-1]["at"] - began, 0.050 * (len(others) - 2))
                    daemon.stop()
        self.both_stores(run)

    def test_a_killed_program_goes_on_where_it_stood(self):
        """R000-16 R000-24 R001-54 R001-61"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for _ in range(6):
                    account = view.account()
                    for k in range(230):
                        account.post(now_us() - HOUR - k * 1000)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                slow = ("backfill.rate_limit_ms=30", "backfill.max_concurrent=2")
                for seen in (4, 9, 15, 22):
                    with self.daemon(home, view, *slow) as daemon:
                        wait_until(lambda: len(view.asked()) >= seen or daemon.ended(), "requests")
                        daemon.kill()
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    self.assert_stored(daemon, view)
                    daemon.stop()
                # Five pages each, and what was under way at each kill once more.
                self.assertGreaterEqual(len(view.asked()), 30)
                self.assertLessEqual(len(view.asked()), 30 + 4 * 2)
                self.assertEqual(self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE backfill_completed"), "6")
                with self.daemon(home, view) as daemon:  # and what is done stays done
                    daemon.wait_for(lambda health: health["backfill_queue_depth"] == 0, "a count")
                    daemon.stop()
                self.assertLessEqual(len(view.asked()), 30 + 4 * 2)
        self.both_stores(run)

    def test_a_gap_closes_with_what_was_deleted_and_edited_in_it(self):
        """R001-58"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now = now_us()
                accounts = [view.account() for _ in range(3)]
                friend = view.account()
                theirs = [friend.post(now - 9 * HOUR), friend.post(now - 9 * HOUR - MINUTE)]
                for account in accounts:
                    for k in range(130):
                        account.post(now - HOUR - k * MINUTE)
                    for k, post in enumerate(theirs):
                        account.repost(now - 4 * HOUR - k * MINUTE, post)
                del view.accounts[friend.did]
                self.follow(home, view)
                view.accounts[friend.did] = friend
                dids = [account.did for account in accounts]
                self.run_sql(home, queue_sql(view, 2, now - 24 * HOUR, dids))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    daemon.stop()
                gone = []
                for account in accounts:
                    gone += [account.items[k] for k in (0, 7, 60, 61, 100)]
                    gone.append(account.items[130])  # a repost
                    for item in gone[-6:]:
                        account.delete(item)
                    account.edit(account.items[30], "said otherwise https://else.example/")
                missed = [account.post(now - 2 * HOUR + 7000) for account in accounts]
                hidden = theirs[1]  # deleted: its reposts are shown no more, but are there
                friend.delete(hidden)
                view.order = lambda who: sorted(
                    (item for item in who.items if item["subject"] is not hidden),
                    key=lambda item: (min(item["seen"], item["created"]), item["cid"]),
                    reverse=True)
                began, ended = now - 3 * HOUR, now - HOUR
                self.run_sql(home, [
                    "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, "
                    f"seq) VALUES (1000000, 'jetstream', 'live', {began}, {ended}, 'test', "
                    f"{now}, 1)",
                    "INSERT INTO gap_sweep (gap_id, actor_did) VALUES " +
                    ", ".join(f"(1000000, '{did}')" for did in dids)])
                self.run_sql(home, queue_sql(view, 0, began - MINUTE, dids, at_us=now))
                self.run_sql(home, ["UPDATE engine SET next_n = 2000000"])
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    stored = self.stored(daemon)
                    gaps = daemon.walk("gaps")
                    daemon.stop()
                for item in missed:
                    self.assertIn(item["uri"], stored)
                shown = {item["uri"] for account in accounts for item in account.items}
                self.assertEqual(set(stored) & {item["uri"] for item in gone}, set())
                self.assertEqual(shown - set(stored), set())
                self.assertEqual(sum(row["text"] == "said otherwise https://else.example/"
                                     for row in stored.values()), 3)
                self.assertEqual(len(gaps), 1)
                self.assertEqual(self.select(home, "SELECT count(*) FROM gaps "
                                                   "WHERE closed_us IS NULL"), "0")
        self.both_stores(run)

    def test_what_was_deleted_while_nobody_listened_is_gone_when_read_again(self):
        """Whoever is followed again, or is back: the firehose did not tell of it meanwhile."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                for k in range(70):
                    account.post(now - HOUR - k * MINUTE)
                self.follow(home, view)
                for gone in ([], [account.items[k] for k in (0, 3, 60)]):
                    for item in gone:
                        account.delete(item)
                    self.run_sql(home, queue_sql(view, 1, now - 24 * HOUR))
                    with self.daemon(home, view) as daemon:
                        self.wait_for_queue(daemon, 0)
                        self.assertEqual(set(self.stored(daemon)),
                                         {item["uri"] for item in account.items})
                        daemon.stop()
        self.both_stores(run)

    def test_what_the_firehose_would_not_replay_is_read_from_feeds(self):
        """R001-58 R001-62"""
        def run(home):
            with Simulator(self.sim_program, "--events", "4000", "--start-us", "now", "--gap-us",
                           "4000000", "--accounts", "60", "--follows", "30",
                           "--retention-hours", "1") as sim:
                self.migrate(home)
                begin_before_everything(home, sim)
                self.follow_in(home, sim)
                view = SimpleNamespace(address=sim.address)
                endpoint = f"ws://127.0.0.1:{sim.port}/subscribe"
                with self.daemon(home, view, endpoint=endpoint) as daemon:
                    wait_until(lambda: self.select(
                        home, "SELECT count(*) FROM gaps WHERE closed_us IS NOT NULL") == "1" or
                        daemon.ended(), "a gap that closes")
                    self.wait_for_queue(daemon, 0)
                    stored = self.stored(daemon)
                    daemon.stop()
                records = [json.loads(line) for line in lines(sim.get("/_sim/truth?follows=1"))[1:]]
                everybody = {json.loads(line)["uri"] for line in lines(sim.get("/_sim/truth"))[1:]}
                since = sim.stats()["first_time_us"] - MINUTE
                wanted = {record["uri"] for record in records if to_us(record["createdAt"]) >= since
                          and (record["kind"] == "post" or record["subject"] in everybody)}
                self.assertGreater(len(wanted), 300)
                self.assertEqual(wanted - set(stored), set())
        self.both_stores(run)

    def follow_in(self, home, sim):
        """Whom the world's first account follows, their histories read; who they are."""
        accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
        rows = [(a["did"], a["handle"]) for a in accounts if a["followed"]]
        self.run_sql(home, ["INSERT INTO follows (did, handle) VALUES " + values(rows),
                            "UPDATE follows SET backfill_completed = TRUE",
                            "INSERT INTO circle (did, degree, sources) VALUES " +
                            values([(did, 1, 1) for did, _ in rows])])
        return [did for did, _ in rows]

    def test_what_the_host_still_has_is_replayed_and_nobody_is_asked(self):
        """R001-60: after 4 min 59 s, after exactly 5 min, after an hour. How long it was does not
        matter, only whether the host still has it."""
        def run(home):
            with Simulator(self.sim_program, "--events", "300", *PAST, "--gap-us", "1000",
                           "--accounts", "60", "--follows", "30") as sim:
                self.migrate(home)
                begin_before_everything(home, sim)
                dids = self.follow_in(home, sim)
                view = SimpleNamespace(address=sim.address)
                missed, asked = set(), []
                for outage_s in (0, 299, 300, 3600):
                    since = sim.stats()["last_time_us"]
                    for i, did in enumerate(dids if outage_s else []):
                        at_us = since + outage_s * 1000000 * (i + 1) // len(dids)
                        _, body = sim.ask("POST", f"/_sim/act?do=post&did={did}&at_us={at_us}")
                        missed.add(json.loads(body)["uri"])
                    end = last_wanted_us(sim)
                    with self.daemon(home, view, "retention.enabled=false",
                                     endpoint=f"ws://127.0.0.1:{sim.port}/subscribe") as daemon:
                        daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end,
                                        "the replay")
                        self.assertEqual(missed - set(self.stored(daemon)), set())
                        self.assertEqual(daemon.walk("gaps"), [])
                        self.wait_for_queue(daemon, 0)
                        daemon.stop()
                    asked.append(sim.stats()["requests"]["GET /xrpc/app.bsky.feed.getAuthorFeed"])
                self.assertEqual(len(missed), 90)
                # In the first run somebody came back who had left; then nobody was asked for.
                self.assertEqual(asked, asked[:1] * 4)
        self.both_stores(run)

    def test_what_histories_and_gaps_cost_in_a_month(self):
        """R001-155: all 342 follows new in one month, and two gaps that nobody could replay. A
        post as an AppView shows it is 2.5 kB; every account has more than a page of them."""
        people, follows, post_bytes = 12, 342, 2500

        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                now = now_us()
                for _ in range(people):
                    account = view.account()
                    for k in range(120):  # a busy day, and the days before
                        item = account.post(now - HOUR - k * 20 * MINUTE)
                        item["text"] += " " + "x" * (post_bytes - len(json.dumps(
                            account.show(item))))
                self.follow(home, view)
                dids = list(view.accounts)
                self.run_sql(home, queue_sql(view, 1, now - 24 * HOUR, dids))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    daemon.stop()
                new = sum(request["bytes"] for request in view.asked())
                began = now - 3 * HOUR
                self.run_sql(home, [
                    "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, "
                    f"seq) VALUES (1000000, 'jetstream', 'live', {began}, {now - HOUR}, 'test', "
                    f"{now}, 1)", "INSERT INTO gap_sweep (gap_id, actor_did) VALUES " +
                    ", ".join(f"(1000000, '{did}')" for did in dids),
                    "UPDATE engine SET next_n = 2000000"])
                self.run_sql(home, queue_sql(view, 0, began - MINUTE, dids, at_us=now))
                pages = len(view.asked())
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    daemon.stop()
                self.assertEqual(len(view.asked()) - pages, people)  # one page each is enough
                gap = sum(request["bytes"] for request in view.asked()[pages:])
                new, gap = new * follows / people / 1e6, 2 * gap * follows / people / 1e6
                print(f"new follows {new:.0f} MB, two gaps {gap:.0f} MB a month", flush=True)
                self.assertLess(new, 1000)
                self.assertLess(gap, 100)
        self.both_stores(run)

    def test_a_page_larger_than_a_batch_and_items_nobody_can_read(self):
        """R001-34: all of it is stored, what is malformed with its bytes and the reason."""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                for k in range(100):
                    links = " ".join(f"https://l{i}.example/{k}" for i in range(24))
                    account.post(now - HOUR - k * 1000, text=f"{k} {links}")
                bad = [{"post": {"uri": "at://did:plc:x/app.bsky.feed.post/1"}}, 7,
                       {"post": account.show(account.items[0]), "reason": {"$type": "new"}}]
                for raw in bad:
                    item = account.post(now - HOUR - 500)
                    item["raw"] = raw
                    account.serial += 1
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now - 24 * HOUR))
                with self.daemon(home, view, "backfill.posts_per_page=100") as daemon:
                    self.wait_for_queue(daemon, 0)
                    self.assertEqual(len(self.stored(daemon)), 100)
                    quarantine = daemon.walk("quarantine")
                    daemon.stop()
                self.assertEqual(len(quarantine), 3)
                self.assertEqual({row["source"] for row in quarantine}, {"feed"})
                self.assertEqual(self.select(home, "SELECT count(*) FROM post_links"), "2400")
                self.assertEqual(len(view.asked()), 2)
        self.both_stores(run)

    def test_an_account_that_is_gone_leaves_the_queue_and_is_looked_for_again(self):
        """R001-28"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                accounts = [view.account() for _ in range(4)]
                for account in accounts:
                    account.post(now_us() - HOUR)
                accounts[0].standing = "AccountDeactivated"
                accounts[1].standing = "InvalidRequest"
                view.faults = [{"method": "app.bsky.feed.getAuthorFeed", "did": accounts[2].did,
                                "status": 500, "count": 1}]
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    daemon.stop()
                self.assertEqual(self.select(home, "SELECT count(*) FROM actors WHERE active = 0"),
                                 "2")
                self.assertEqual(self.select(
                    home, f"SELECT status FROM actors WHERE did = '{accounts[0].did}'"),
                    "deactivated")
                self.assertEqual(self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE backfill_completed"), "2")
                seen = len(view.asked())
                with self.daemon(home, view) as daemon:  # within a day nobody asks
                    daemon.wait_for(lambda health: health["backfill_queue_depth"] == 0, "a count")
                    self.assertEqual(len(view.asked()), seen)
                    daemon.stop()
                accounts[0].standing = None
                self.run_sql(home, ["UPDATE actors SET status_us = status_us - 90000000000 "
                                    "WHERE active = 0"])
                with self.daemon(home, view) as daemon:
                    wait_until(lambda: self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE backfill_completed") == "3" or
                               daemon.ended(), "its return")
                    daemon.stop()
                self.assertEqual(self.select(home, "SELECT count(*) FROM actors WHERE active = 0"),
                                 "1")
        self.both_stores(run)

    def test_a_person_asks_for_more(self):
        """R000-24 R001-55 R001-56"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                for k in range(200):
                    account.post(now - HOUR - k * HOUR)
                self.follow(home, view)
                stranger = view.account()
                stranger.post(now - HOUR)
                self.run_sql(home, queue_sql(view, 2, now - 24 * HOUR, [account.did]))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    mark = self.select(home, "SELECT position FROM cursors WHERE source = 'feed'")
                    self.assertEqual(len(self.stored(daemon)), 50)  # the page is stored whole
                    for name in (account.did, "@" + stranger.handle):
                        code, words = self.command(home, "backfill", "--hours", "98", name)
                        self.assertEqual((code, "98 hours back" in words), (0, True), words)
                        self.wait_for_queue(daemon, 0)
                    self.assertEqual(len(self.stored(daemon)), 101)
                    self.assertEqual(self.select(
                        home, "SELECT position FROM cursors WHERE source = 'feed' "
                        f"AND stream = '{account.did}'"), mark)
                    code, words = self.command(home, "backfill", "nobody.example")
                    self.assertEqual((code, "knows no account" in words), (1, True), words)
                    self.assertEqual(self.command(home, "backfill", "--hours", "0", "x.y")[0], 2)
                    daemon.stop()
                # Without a daemon the request waits for one.
                self.assertEqual(self.command(home, "backfill", account.handle)[0], 0)
                self.assertEqual(self.select(home, "SELECT priority FROM backfill_queue"), "3")
                self.assertEqual(self.command(home, "backfill", "nobody.example")[0], 1)
        self.both_stores(run)


if __name__ == "__main__":
    main(Backfill)
