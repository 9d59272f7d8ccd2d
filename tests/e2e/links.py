# SPDX-License-Identifier: Apache-2.0
"""Links through the real program: out of posts, onto pages, merged into one; posts of others that
were shared; on both stores. What is stored must equal what the simulator knows by other code.

  links.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from card_compare import (SILENT, card_state, count_difference, found_out,  # noqa: E402
                          nothing_untried, page_requests, post_link_difference, unsure_links)
from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from fake_appview import now_us  # noqa: E402
from feed_bench import HOUR  # noqa: E402
from jetstream import follow_sql, run_sql  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from skeleton import PAST, begin_before_everything, last_wanted_us  # noqa: E402
from truth_compare import truth  # noqa: E402

SEED = int(os.environ.get("TIDEMARK_SEED", "20251115"))
KILLS = 40 if "TIDEMARK_LONG" in os.environ else 8


def ask_store(home, sql):
    """What an operator sees in the database's own shell: rows of texts."""
    if home.kind == "sqlite":
        store = sqlite3.connect(home.url[7:], timeout=60)
        rows = store.execute(sql).fetchall()
        store.close()
        return [[None if value is None else str(value) for value in row] for row in rows]
    answer = subprocess.run(["psql", "-qXAt", "-F", "\x1f", "-P", "null=\x1e", "-c", sql, home.url],
                            check=True, text=True, capture_output=True).stdout
    return [[None if value == "\x1e" else value for value in line.split("\x1f")]
            for line in answer.split("\n") if line]


def settings(sim, *more):
    return (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
            "jetstream.fallback_endpoint=", "jetstream.compress=false",
            "jetstream.reconnect_delay_seconds=1", f"bluesky.appview=http://127.0.0.1:{sim.port}",
            "cards.enabled=true", "cards.per_host_ms=5", "cards.in_flight=16",
            "fetch.allow_private=true", *more)


def trending(daemon, urls):
    """How many people share each of these now, as the ranking says."""
    status, answer = daemon.ask("GET", "/api/trending?hours=24&limit=100")
    assert status == 200, answer
    return {link["url"]: link["shares"] for link in answer["links"] if link["url"] in urls}


class Links(BothStores):
    def simulator(self, *options, events=1500):
        return Simulator(self.sim_program, "--events", str(events), "--links", "400", *PAST,
                         "--gap-us", "1000", "--slow-page-ms", "1500", *options)

    def wait_for_end(self, daemon, home, sim, source="cards"):
        """Everything was read, and all that is owed to it was tried."""
        end = last_wanted_us(sim)
        daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the last event")
        wait_until(lambda: nothing_untried(home, source), "all that is owed to be tried")

    def check_shares(self, home, sim, scope="", merged=None):
        """Who shares what, through which post, and how often; `merged` says which link an address
        turned out to be."""
        unsure = unsure_links(sim)
        found, count = post_link_difference(home, sim, scope, merged, unsure)
        self.assertEqual(found, {})
        self.assertEqual(count_difference(home, sim, scope, merged, unsure), {})
        return count

    def check_cards(self, home, sim):
        """Every page that says something about itself gave its link a card, in its own words
        unless a post had brought others."""
        without, other, count = card_state(home, sim)
        self.assertEqual((without, other), ([], {}))
        return count

    def check_headlines(self, home, sim):
        """Posts and pages say the same of an article, and it is what the simulator says."""
        self.assertEqual(card_state(home, sim)[0], [])
        said = {row["merged"]: row["title"] for row in truth(sim, "links") if "title" in row}
        shown = ask_store(home, "SELECT normalized_url, title FROM links WHERE title <> ''")
        self.assertEqual([row for row in shown if row[1] != said.get(row[0], row[1])], [])
        sites = {url.split("/")[2].split(":")[0] for url, _ in shown if url in said}
        self.assertGreater(len(sites), 10)
        for site in sites:
            self.assertRegex(site, r"^[a-z]+\.localhost$")

    def act(self, sim, **what):
        status, body = sim.ask("POST", "/_sim/act?" + urllib.parse.urlencode(what))
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def share_again(self, daemon, home, sim, url):
        """One more post with the same link; waits until it is stored."""
        number, spelling = next(
            (n, page["spellings"].index(url)) for n in range(400)
            for page in [json.loads(sim.get(f"/_sim/link?n={n}"))] if url in page["spellings"])
        did = json.loads(lines(sim.get("/_sim/accounts"))[-1])["did"]
        self.act(sim, do="post", did=did, shape="link", link=number, spelling=spelling)
        self.wait_for_end(daemon, home, sim)

    def test_pages_fill_cards_and_merge_links(self):
        """R001-18 R001-19 R001-20 R001-32"""
        def run(home):
            with self.simulator("--web-links", "100") as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.wait_for_end(daemon, home, sim)
                    merged = found_out(sim)
                    self.assertGreater(sum(url != to for url, to in merged.items()), 5)
                    self.assertGreater(self.check_shares(home, sim, merged=merged), 100)
                    self.assertGreater(self.check_cards(home, sim), 20)
                    # The hostile ones are known, with their reason.
                    dead = ask_store(home, "SELECT item, reason FROM owed WHERE state = 'dead' "
                                           "AND source = 'cards'")
                    kinds = {item.split("/")[4]: reason for item, reason in dead}
                    self.assertLessEqual(set(kinds), SILENT)
                    self.assertIn("404", kinds["status404"])
                    self.assertIn("redirects", kinds["loop"])
                    # A short address that was found out is not asked again.
                    short = next(url for url, to in merged.items() if "/s/" in url and url != to)
                    self.share_again(daemon, home, sim, short)
                    self.check_shares(home, sim, merged=found_out(sim))
                    asked = [row["path"] for row in page_requests(sim)]
                    self.assertEqual(asked.count(short.split(str(sim.port))[1]), 1)
                    daemon.stop()
        self.both_stores(run)

    def test_papers_with_names_are_read_like_any_site(self):
        """As `make run` shows the network: many sites, none of which leaves this machine."""
        def run(home):
            with self.simulator("--web-links", "100", "--press", events=300) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.wait_for_end(daemon, home, sim)
                    self.assertGreater(self.check_shares(home, sim, merged=found_out(sim)), 20)
                    self.check_headlines(home, sim)
                    daemon.stop()
        self.both_stores(run)

    def test_strangers_do_not_reach_private_addresses(self):
        def run(home):
            with self.simulator("--web-links", "100", events=300) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home,
                            settings(sim, "fetch.allow_private=false")) as daemon:
                    self.wait_for_end(daemon, home, sim)
                    dead = ask_store(home, "SELECT reason FROM owed WHERE source = 'cards'")
                    self.assertGreater(len(dead), 10)
                    for reason, in dead:
                        self.assertRegex(reason, "not public|port")
                    self.assertEqual(page_requests(sim), [])
                    daemon.stop()
        self.both_stores(run)

    def test_a_host_is_asked_at_its_pace(self):
        def run(home):
            with self.simulator("--web-links", "100", events=120) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home,
                            settings(sim, "cards.per_host_ms=100")) as daemon:
                    self.wait_for_end(daemon, home, sim)
                    times = [row["at_us"] for row in page_requests(sim)]
                    self.assertGreater(len(times), 10)
                    # No request arrives before it left; the first may be late.
                    self.assertGreater(times[-1] - times[0], 50000 * (len(times) - 1))
                    daemon.stop()
        self.both_stores(run)

    def test_edits_and_deletes_move_the_counts(self):
        """R001-21 R001-22 R001-23 R001-25 R001-26"""
        def run(home):
            with self.simulator("--accounts", "20", events=20) as sim:
                people = [json.loads(line)["did"] for line in lines(sim.get("/_sim/accounts"))]
                url = [json.loads(sim.get(f"/_sim/link?n={n}"))["url"] for n in (390, 391)]

                def counts():
                    rows = dict(ask_store(home, "SELECT normalized_url, share_count_total "
                                                "FROM links"))
                    posts = ask_store(home, "SELECT count(*) FROM posts")[0][0]
                    return rows.get(url[0], "0"), rows.get(url[1], "0"), int(posts)
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, "cards.enabled=false")) as daemon:
                    self.wait_for_end(daemon, home, sim, "nobody")
                    base = counts()[2]

                    def expect(first, second, posts):
                        self.wait_for_end(daemon, home, sim, "nobody")
                        self.assertEqual(counts(), (first, second, base + posts))
                        self.assertEqual(trending(daemon, url), {
                            link: int(count) for link, count in zip(url, (first, second))
                            if count != "0"})
                    mine, other = (self.act(sim, do="post", did=did, shape="link", link=390,
                                            spelling=0)["uri"] for did in people[5:7])
                    expect("2", "0", 2)
                    self.act(sim, do="edit", uri=mine, link=391, spelling=0)
                    expect("1", "1", 2)
                    self.act(sim, do="edit", uri=mine, link=390, spelling=1)
                    expect("2", "0", 2)
                    self.act(sim, do="delete", uri=mine)
                    expect("1", "0", 1)
                    self.check_shares(home, sim)
                    daemon.kill()
                # What was seen before and comes again changes nothing.
                begin_before_everything(home, sim)
                run_sql(home, ["DELETE FROM cursors", "DELETE FROM jetstream_state"])
                with Daemon(self.program, home, settings(sim, "cards.enabled=false")) as daemon:
                    expect_end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: health["cursor_time_us"] == expect_end, "it")
                    self.assertEqual(counts(), ("1", "0", base + 1))
                    daemon.stop()
                # R001-24: by hand, in the database's own shell
                run_sql(home, (["PRAGMA foreign_keys = ON"] if home.kind == "sqlite" else []) +
                        [f"DELETE FROM posts WHERE uri = '{other}'"])
                self.assertEqual(ask_store(home, "SELECT count(*) FROM post_links WHERE post_id "
                                                 "NOT IN (SELECT n FROM post)"), [["0"]])
        self.both_stores(run)

    def test_gifts_archives_and_pictures_under_their_real_names(self):
        """One article under many addresses counts once a person; what is no news does not rank."""
        def run(home):
            with self.simulator("--named-sites", "50") as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, "cards.enabled=false")) as daemon:
                    self.wait_for_end(daemon, home, sim, "nobody")
                    self.assertGreater(self.check_shares(home, sim), 100)
                    pages = {row["url"]: row["news"] for row in truth(sim, "links")}
                    self.assertIn(False, pages.values())
                    people = {row["url"]: (row["people"], row["people_max"])
                              for row in truth(sim, "trending")}
                    shown = trending(daemon, set(pages))
                    self.assertGreater(len(shown), 20)
                    self.assertEqual([url for url in shown if not pages[url]], [])
                    wrong = {url: (count, people.get(url)) for url, count in shown.items()
                             if not people[url][0] <= count <= people[url][1]}
                    self.assertEqual(wrong, {})
                    # Whoever opens a gift for others opens it for the reader of this page.
                    gifts = ask_store(home, "SELECT normalized_url, reader_url FROM links "
                                            "WHERE reader_url IS NOT NULL")
                    self.assertGreater(len(gifts), 0)
                    for url, reader in gifts:
                        self.assertNotEqual(url, reader)
                        self.assertNotIn("?", url)
                        self.assertIn("?", reader)
                    daemon.stop()
        self.both_stores(run)

    def test_killed_at_random_nothing_is_lost(self):
        """R001-42: nothing lost and nothing counted twice"""
        def run(home):
            chance = random.Random(SEED)
            with self.simulator("--web-links", "100", events=500) as sim:
                begin_before_everything(home, sim)
                for i in range(KILLS):
                    with Daemon(self.program, home, settings(sim)) as daemon:
                        goal = len(page_requests(sim)) + chance.randrange(1, 8)
                        wait_until(lambda: len(page_requests(sim)) >= goal or
                                   (i > 2 and nothing_untried(home, "cards")), "pages")
                        daemon.kill()
                    sim.step(chance.randrange(10, 60))
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.wait_for_end(daemon, home, sim)
                    self.check_shares(home, sim, merged=found_out(sim))
                    self.check_cards(home, sim)
                    daemon.stop()
        self.both_stores(run)

    def test_what_was_put_off_before_the_clock_was_set_back_is_due(self):
        """Pages and posts of others wait for an hour or so at most, whatever the clock says."""
        def run(home):
            with self.simulator("--web-links", "100", events=300) as sim:
                with Daemon(self.program, home, settings(sim)) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    daemon.stop()
                later = now_us() + 5 * HOUR
                pages = [json.loads(sim.get(f"/_sim/link?n={n}"))["url"] for n in range(4)]
                posts = [row["uri"] for row in truth(sim, "posts") if row["kind"] == "post"][:4]
                owed = [("cards", "page", url) for url in pages]
                owed += [("appview", "posts", uri) for uri in posts]
                run_sql(home, ["INSERT INTO owed (id, source, stream, item, state, attempts, "
                               "next_us, since_us, seq) VALUES " + ", ".join(
                                   f"({i}, '{source}', '{stream}', '{item}', 'owed', 0, {later}, "
                                   "1, 1)" for i, (source, stream, item) in
                                   enumerate(owed, 9000000))])
                with Daemon(self.program, home, settings(sim)) as daemon:
                    for source in ("cards", "appview"):
                        wait_until(lambda: nothing_untried(home, source), f"all of {source}")
                    daemon.stop()
        self.both_stores(run)

    def test_what_a_stranger_edits_is_seen_with_the_next_repost(self):
        """Nobody tells of a stranger's edit; who shares the post again shows that it changed."""
        def run(home):
            with self.simulator("--accounts", "20", "--follows", "8", "--noise", "0",
                                events=1) as sim:
                begin_before_everything(home, sim)
                accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
                stranger = next(row["did"] for row in accounts[1:] if not row["followed"])
                friends = [row["did"] for row in accounts if row["followed"]][:3]
                pages = [json.loads(sim.get(f"/_sim/link?n={n}"))["url"] for n in (390, 391)]
                chosen = settings(sim, "cards.enabled=false",
                                  f"bluesky.actors=[{accounts[0]['did']}]")

                def inherited(daemon, *expected):
                    wait_until(lambda: sorted(ask_store(
                        home, "SELECT l.normalized_url, count(*) FROM post_links x "
                              "JOIN links l ON l.id = x.link_id JOIN posts p ON p.id = x.post_id "
                              "WHERE x.via <> 'post' GROUP BY l.normalized_url")) ==
                        sorted([url, str(count)] for url, count in expected), f"{expected}")
                with Daemon(self.program, home, chosen) as daemon:
                    daemon.wait_for(lambda _: len(ask_store(home, "SELECT did FROM circle")) == 8,
                                    "the follows")
                    post = self.act(sim, do="post", did=stranger, shape="link", link=390,
                                    spelling=0)["uri"]
                    self.act(sim, do="repost", did=friends[0], subject=post)
                    inherited(daemon, (pages[0], 1))
                    self.act(sim, do="edit", uri=post, link=391, spelling=0)
                    self.act(sim, do="repost", did=friends[1], subject=post)
                    inherited(daemon, (pages[1], 2))
                    asked = sim.stats()["requests"]["GET /xrpc/app.bsky.feed.getPosts"]
                    self.act(sim, do="post", did=friends[2], shape="quote", subject=post)
                    inherited(daemon, (pages[1], 3))
                    self.assertEqual(
                        sim.stats()["requests"]["GET /xrpc/app.bsky.feed.getPosts"], asked)
                    daemon.stop()
        self.both_stores(run)

    def test_posts_of_others_lend_their_links(self):
        """R001-20: reposts and quotes of people nobody here follows"""
        def run(home):
            with self.simulator("--accounts", "60", "--follows", "20", events=4000) as sim:
                begin_before_everything(home, sim)
                accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
                chosen = settings(sim, "cards.enabled=false",
                                  f"bluesky.actors=[{accounts[0]['did']}]")
                with Daemon(self.program, home, chosen) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    daemon.stop()
                run_sql(home, follow_sql([row["did"] for row in accounts if row["followed"]]))
                with Daemon(self.program, home, chosen) as daemon:
                    self.wait_for_end(daemon, home, sim, "appview")
                    self.assertGreater(self.check_shares(home, sim, "&follows=1"), 100)
                    counts = dict(ask_store(home, "SELECT kind, count(*) FROM post GROUP BY kind"))
                    self.assertGreater(int(counts["2"]), 10)
                    # By 25: far fewer questions than posts.
                    asked = sim.stats()["requests"]["GET /xrpc/app.bsky.feed.getPosts"]
                    self.assertLess(asked, int(counts["2"]))
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
