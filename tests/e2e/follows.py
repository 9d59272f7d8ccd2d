# SPDX-License-Identifier: Apache-2.0
"""Whom our accounts follow, through the real program: lists that grow, shrink and break off,
accounts that rename, leave and come back, on both stores. What is stored must equal what the
AppView lists, and no connection is made anew for it.

  follows.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from jetstream import connections  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from skeleton import PAST, begin_before_everything, stored_in, truth_of  # noqa: E402

GET_FOLLOWS = "app.bsky.graph.getFollows"
REQUESTS = f"GET /xrpc/{GET_FOLLOWS}"
STRANGERS = 120000  # more than a lookup of the daemon may answer


def look(home, question):
    """Rows of a question, as lists of texts, asked in the database's own shell."""
    if home.kind == "sqlite":
        store = sqlite3.connect(f"file:{home.url[7:]}?mode=ro", uri=True, timeout=60)
        rows = [[None if value is None else str(value) for value in row]
                for row in store.execute(question)]
        store.close()
        return rows
    answer = subprocess.run(["psql", "-qXAt", "-F", "\t", "-P", "null=<null>", "-c", question,
                             home.url], check=True, text=True, capture_output=True).stdout
    return [[None if value == "<null>" else value for value in line.split("\t")]
            for line in answer.split("\n") if line]


def change(home, statement):
    """What an operator types in there."""
    if home.kind == "sqlite":
        with sqlite3.connect(home.url[7:], timeout=60) as store:
            store.execute(statement)
        store.close()
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", statement, home.url],
                       check=True)


def lose(home):
    """The disk is gone: the store, and the files beside it."""
    if home.kind == "postgres":
        change(home, "SET client_min_messages = warning; DROP SCHEMA public CASCADE; "
               "CREATE SCHEMA public")
    for name in os.listdir(home.folder):
        if name != "log":
            os.remove(os.path.join(home.folder, name))


def column(home, question):
    return {row[0] for row in look(home, question)}


def followed(home):
    return column(home, "SELECT did FROM follows")


def accounts(sim):
    return [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]


def listed(sim, did=None):
    """Whom the AppView would list."""
    what = "/_sim/truth?what=follows" + ("" if did is None else f"&actor={did}")
    return {json.loads(line)["did"] for line in lines(sim.get(what)) if "did" in json.loads(line)}


def expected_after(sim, before):
    """Whom the first account follows: those who are there, and those who were and are away."""
    return {account["did"] for account in accounts(sim) if account["followed"] and
            (account["status"] == "active" or
             (account["did"] in before and account["status"] != "deleted"))}


def act(sim, what):
    status, body = sim.ask("POST", f"/_sim/act?do={what}")
    assert status == 200, body
    return json.loads(body)


def follow(sim, did, method="POST"):
    status, body = sim.ask(method, f"/_sim/follow?did={did}")
    assert status == 200, body


def wanted(sim):
    """Whom the last options_update asked for; nobody before the first."""
    update = sim.get("/_sim/update")
    return set(json.loads(update)["payload"]["wantedDids"]) if update.strip() else set()


class Follows(BothStores):
    def simulator(self, *options):
        return Simulator(self.sim_program, "--accounts", "300", "--follows", "130", "--events",
                         "400", *PAST, "--gap-us", "1000", *options)

    def daemon(self, home, sim, actors, *more):
        host = f"127.0.0.1:{sim.port}"
        daemon = Daemon(self.program, home,
                        (f"jetstream.endpoint=ws://{host}/subscribe", "jetstream.compress=false",
                         "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
                         f"bluesky.appview=http://{host}",
                         f"bluesky.actors=[{', '.join(actors)}]",
                         "backfill.rate_limit_ms=0", "polling.retry_backoff_ms=100", *more))
        daemon.wait_for(lambda health: True, "a word")
        return daemon

    def wait_for_follows(self, home, sim, expected):
        wait_until(lambda: followed(home) == expected, f"{len(expected)} follows")
        wait_until(lambda: wanted(sim) == expected, "the filter")
        self.assertEqual(column(home, "SELECT did FROM circle WHERE degree = 1"), expected)

    def wait_for_histories(self, home, dids):
        """Until what those shared before is read."""
        wait_until(lambda: dids <= column(home, "SELECT did FROM follows WHERE backfill_completed")
                   and not look(home, "SELECT 1 FROM backfill_queue"), "the history of follows")

    def readings(self, sim, did):
        """How often the feed of an account was asked for."""
        path = "/_sim/requests?path=/xrpc/app.bsky.feed.getAuthorFeed"
        return sum(did in line for line in lines(sim.get(path)))

    def refresh(self, daemon):
        daemon.process.send_signal(signal.SIGHUP)

    def test_lists_grow_and_shrink_on_one_connection(self):
        """R001-08 R001-44 R001-45 R001-48 R001-49 R001-50 R001-51 R001-52 R001-117"""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                known = {account["did"]: account for account in accounts(sim)}
                me = accounts(sim)[0]["handle"]
                with self.daemon(home, sim, [me]) as daemon:
                    first = listed(sim)
                    self.assertGreater(len(first), 100)  # more than a page
                    self.wait_for_follows(home, sim, first)
                    before = connections(daemon, sim)
                    rows = look(home, "SELECT did, handle, display_name FROM follows")
                    self.assertEqual({tuple(row) for row in rows},
                                     {(did, known[did]["handle"], known[did]["displayName"])
                                      for did in first})
                    new = next(did for did in known if did not in first and
                               did != accounts(sim)[0]["did"] and
                               known[did]["status"] == "active")
                    gone, renamed, away, deleted = sorted(first)[:4]
                    self.wait_for_histories(home, first)
                    read = self.readings(sim, renamed)
                    follow(sim, new)
                    follow(sim, gone, "DELETE")
                    act(sim, f"handle&did={renamed}")
                    act(sim, f"account&did={away}&status=deactivated")
                    act(sim, f"account&did={deleted}&status=deleted")
                    self.refresh(daemon)
                    expected = (first | {new}) - {gone, deleted}
                    self.wait_for_follows(home, sim, expected)
                    handle = {a["did"]: a["handle"] for a in accounts(sim)}[renamed]
                    self.assertNotEqual(handle, known[renamed]["handle"])
                    wait_until(lambda: look(home, "SELECT handle FROM follows WHERE did = "
                                            f"'{renamed}'") == [[handle]], "the new handle")
                    # Whoever is away stays in the filter; only who is new is read back.
                    self.assertIn(away, wanted(sim))
                    self.wait_for_histories(home, {new})
                    self.assertGreater(self.readings(sim, new), 0)
                    self.assertEqual(self.readings(sim, renamed), read)
                    since = sim.stats()["last_time_us"]
                    sim.step(1500)
                    fresh = {uri for uri, row in truth_of(sim).items()
                             if row[3] > since and uri.split("/")[2] in expected}
                    wait_until(lambda: fresh <= set(stored_in(daemon)), "the follows' posts")
                    authors = {uri.split("/")[2] for uri, row in stored_in(daemon).items()
                               if row[3] > since}
                    self.assertLessEqual(authors, expected)
                    self.assertEqual(connections(daemon, sim), before)
                    daemon.wait_for(lambda health: health["follows_count"] == len(expected),
                                    "the number of follows")
                    daemon.stop()
        self.both_stores(run)

    def test_who_is_followed_after_the_opening_comes_from_the_tail_only(self):
        """R004-40: the page shows those who were there, and the tail says who came."""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                with self.daemon(home, sim, [accounts(sim)[0]["handle"]]) as daemon:
                    first = listed(sim)
                    self.wait_for_follows(home, sim, first)
                    status, opened = daemon.ask("POST", "/api/data/query-open",
                                                {"collection": "follows", "pageSize": 1000})
                    self.assertEqual((status, opened["totalCount"]), (200, len(first)))
                    new = next(account["did"] for account in accounts(sim)[1:] if
                               account["did"] not in first and account["status"] == "active")
                    follow(sim, new)
                    self.refresh(daemon)
                    self.wait_for_follows(home, sim, first | {new})
                    asked = {"queryHandle": opened["queryHandle"]}
                    _, page = daemon.ask("POST", "/api/data/query-next", asked)
                    self.assertEqual({item["did"] for item in page["items"]}, first)
                    _, told = daemon.ask("POST", "/api/data/query-tail", asked)
                    self.assertEqual([change["item"]["did"] for change in told["changes"]
                                      if change["op"] == "enter"], [new])
                    daemon.stop()
        self.both_stores(run)

    def test_those_written_in_by_hand_are_shown_and_others_come_beside_them(self):
        """Whoever fills the table of a fresh store uses numbers that the engine did not give."""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                self.command(home, sim, "migrate")
                me, *others = accounts(sim)
                known = [account for account in others if account["did"] in listed(sim)][:60]
                for account in known:
                    change(home, "INSERT INTO follows (did, handle) VALUES "
                           f"('{account['did']}', '{account['handle']}')")
                with self.daemon(home, sim, []) as daemon:
                    self.assertEqual({row["did"] for row in daemon.walk("follows")},
                                     {account["did"] for account in known})
                    for account in others[-2:]:
                        change(home, "INSERT INTO follows (did, handle) VALUES "
                               f"('{account['did']}', '{account['handle']}')")
                    daemon.stop()
                with self.daemon(home, sim, [me["handle"]]) as daemon:
                    self.wait_for_follows(home, sim, listed(sim))
                    self.assertEqual({row["did"] for row in daemon.walk("follows")}, listed(sim))
                    daemon.stop()
        self.both_stores(run)

    def test_a_list_that_breaks_off_changes_nothing(self):
        """R001-52 R001-47"""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                with self.daemon(home, sim, [accounts(sim)[0]["handle"]],
                                 "backfill.max_retries=0") as daemon:
                    first = listed(sim)
                    self.wait_for_follows(home, sim, first)
                    gone = sorted(first)[0]
                    follow(sim, gone, "DELETE")
                    resolved = sim.stats()["requests"]["GET /xrpc/app.bsky.actor.getProfiles"]
                    for plan in ("name=http&status=500", "name=http&status=200",
                                 "name=http_truncate"):
                        failures = daemon.words().count("msg=not_listed")
                        sim.arm(f"{plan}&collection={GET_FOLLOWS}&after=1&count=1000")
                        self.refresh(daemon)
                        wait_until(lambda: daemon.words().count("msg=not_listed") > failures,
                                   "a list that broke off")
                        self.assertEqual(followed(home), first)
                        self.assertEqual(wanted(sim), first)
                        sim.ask("DELETE", "/_sim/fault")
                    self.assertEqual(sim.stats()["requests"]
                                     ["GET /xrpc/app.bsky.actor.getProfiles"], resolved)
                    self.refresh(daemon)
                    self.wait_for_follows(home, sim, first - {gone})
                    daemon.stop()
        self.both_stores(run)

    def test_killed_while_reading_it_goes_on_with_what_is_stored(self):
        """R001-06 R001-45"""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                me = accounts(sim)[0]["handle"]
                with self.daemon(home, sim, [me]) as daemon:
                    first = listed(sim)
                    self.wait_for_follows(home, sim, first)
                    gone = sorted(first)[0]
                    follow(sim, gone, "DELETE")
                    sim.arm(f"name=http_stall&collection={GET_FOLLOWS}&after=1&ms=60000")
                    self.refresh(daemon)
                    wait_until(lambda: look(home, "SELECT count(*) FROM follow_page") == [["100"]],
                               "the first page")
                    daemon.kill()
                self.assertEqual(followed(home), first)
                sim.ask("DELETE", "/_sim/fault")
                sim.arm(f"name=http&status=503&collection={GET_FOLLOWS}&count=1000000")
                updates = sim.stats()["options_updates"]
                with self.daemon(home, sim, [me]) as daemon:
                    sim.wait_until(lambda stats: stats["options_updates"] > updates)
                    self.assertEqual(wanted(sim), first)
                    sim.step(500)
                    fresh = {uri for uri in truth_of(sim) if uri.split("/")[2] in first}
                    wait_until(lambda: fresh <= set(stored_in(daemon)), "the follows' posts")
                    wait_until(lambda: "msg=not_listed" in daemon.words(), "a word about it")
                    sim.ask("DELETE", "/_sim/fault")
                    self.refresh(daemon)
                    expected = expected_after(sim, first)
                    self.assertNotIn(gone, expected)
                    self.wait_for_follows(home, sim, expected)
                    self.assertEqual(look(home, "SELECT count(*) FROM follow_page"), [["0"]])
                    daemon.stop()
        self.both_stores(run)

    def test_each_of_our_accounts_keeps_its_own_list(self):
        """R001-44"""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                people = [a for a in accounts(sim) if a["status"] == "active"]
                me, also = people[0], people[7]
                first = listed(sim)
                alone = next(a["did"] for a in people[8:] if a["did"] not in first)
                shared = next(a["did"] for a in people[8:] if a["did"] in first)
                for subject in (alone, shared):
                    act(sim, f"follow&did={also['did']}&subject={subject}")
                second = listed(sim, also["did"])
                self.assertLessEqual({alone, shared}, second)
                with self.daemon(home, sim, [me["handle"], also["did"]]) as daemon:
                    self.wait_for_follows(home, sim, first | second)
                    sources = dict(look(home, "SELECT did, sources FROM circle"))
                    self.assertEqual((sources[alone], sources[shared]), ("1", "2"))
                    follow(sim, shared, "DELETE")  # the other one still follows
                    self.refresh(daemon)
                    wait_until(lambda: dict(look(home, "SELECT did, sources FROM circle"))
                               .get(shared) == "1", "one source less")
                    daemon.stop()
                with self.daemon(home, sim, [me["handle"]]) as daemon:
                    self.wait_for_follows(home, sim, listed(sim))
                    self.assertEqual(look(home, "SELECT count(*) FROM listings"), [["1"]])
                    daemon.stop()
        self.both_stores(run)

    def test_a_login_is_kept_alive_and_kept_secret(self):
        """R000-25"""
        def run(home):
            password = "canary-pass-word-12"
            secret = os.path.join(home.folder, "password")
            with open(secret, "w", encoding="utf-8") as file:
                file.write(password + "\n")
            with self.simulator("--require-auth", "--password", password,
                                "--token-seconds", "61") as sim:
                me = accounts(sim)[0]["handle"]
                with self.daemon(home, sim, [me], "bluesky.appview=http://127.0.0.1:9",
                                 f"bluesky.pds=http://127.0.0.1:{sim.port}",
                                 f"bluesky.identifier={me}",
                                 f"bluesky.app_password_file={secret}") as daemon:
                    first = listed(sim)
                    self.wait_for_follows(home, sim, first)
                    self.assertEqual(sim.stats()["sessions_created"], 1)

                    def renewed():
                        self.refresh(daemon)
                        return sim.stats()["sessions_refreshed"] > 0
                    wait_until(renewed, "a renewal before the end")
                    sim.arm(f"name=http&status=400&error=ExpiredToken&collection={GET_FOLLOWS}")
                    gone = sorted(first)[0]
                    follow(sim, gone, "DELETE")
                    self.refresh(daemon)
                    self.wait_for_follows(home, sim, first - {gone})
                    self.assertEqual(sim.fired("http"), 1)
                    self.assertEqual(sim.stats()["sessions_created"], 1)
                    daemon.stop()
                    self.assertNotIn(password, daemon.words())
                    self.assertNotIn("eyJ", daemon.words())
        self.both_stores(run)

    def command(self, home, sim, *words, code=0):
        """A command without a daemon; what it wrote on either channel."""
        done = subprocess.run([self.program, *words, "-c", "/dev/null",
                               "--set", f"store.url={home.url}",
                               "--set", f"store.data_dir={home.folder}",
                               "--set", f"bluesky.appview=http://127.0.0.1:{sim.port}",
                               "--set", "backfill.rate_limit_ms=0",
                               "--set", "polling.retry_backoff_ms=100"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_polled_accounts_become_follows_and_back(self):
        """R001-46 R001-130 R001-131 R001-132 R001-133 R001-134"""
        def run(home):
            question = "SELECT user_handle, last_cursor, last_polled_at, posts_fetched_count " \
                       "FROM poll_state ORDER BY 1"
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                self.command(home, sim, "migrate")
                me = accounts(sim)[0]["handle"]
                people = [a for a in accounts(sim) if a["did"] in listed(sim)][:58]
                names = [a["handle"] for a in people] + ["nobody.example", "gone.example"]
                for name in names:
                    change(home, "INSERT INTO poll_state VALUES "
                           f"('{name}', '2026-01-01T00:00:00.000Z', NULL, 3)")
                before = look(home, question)
                sim.arm("name=http&status=503&count=1000000")
                self.command(home, sim, "migrate-follows", code=1)
                self.assertEqual(followed(home), set())
                sim.ask("DELETE", "/_sim/fault")
                asked = sim.stats()["requests"]["GET /xrpc/app.bsky.actor.getProfiles"]
                out, _ = self.command(home, sim, "migrate-follows", "--json")
                self.assertEqual(json.loads(out), {"followed": 58, "unresolved":
                                                   ["gone.example", "nobody.example"]})
                self.assertEqual(sim.stats()["requests"]
                                 ["GET /xrpc/app.bsky.actor.getProfiles"], asked + 3)
                self.assertEqual(look(home, question), before)
                self.assertEqual({tuple(row) for row in look(home, "SELECT did, handle, "
                                                             "display_name FROM follows")},
                                 {(a["did"], a["handle"], a["displayName"]) for a in people})
                self.assertEqual(column(home, "SELECT actor_did FROM backfill_queue"),
                                 {a["did"] for a in people})
                _, words = self.command(home, sim, "migrate-follows")  # known ones are not asked
                self.assertIn("nobody.example", words)
                self.assertEqual(sim.stats()["requests"]
                                 ["GET /xrpc/app.bsky.actor.getProfiles"], asked + 4)
                # The actor's own list takes over; until the cutover nothing is cleaned up.
                with self.daemon(home, sim, [me], "bluesky.mode=firehose",
                                 "retention.enabled=false") as daemon:
                    expected = expected_after(sim, {a["did"] for a in people})
                    self.wait_for_follows(home, sim, expected)
                    wait_until(lambda: look(home, "SELECT count(*) FROM listings") == [["1"]],
                               "the end of the old list")
                    posts = {uri for uri in truth_of(sim) if uri.split("/")[2] in expected}
                    wait_until(lambda: posts <= set(stored_in(daemon)), "the follows' posts")
                    _, words = self.command(home, sim, "migrate-follows", code=1)
                    self.assertIn("stop it first", words)
                    daemon.stop()
                self.assertEqual(look(home, question), before)
                _, words = self.command(home, sim, "migrate-follows", "--truncate", code=1)
                self.assertIn("in use", words)
                self.assertEqual(len(look(home, question)), len(names))
                _, words = self.command(home, sim, "migrate-follows", "--truncate", "--set",
                                        "bluesky.mode=firehose")
                self.assertEqual(words, f"poll_state: {len(names)} rows removed\n")
                self.assertEqual(look(home, question), [])
                self.command(home, sim, "migrate-follows", "--rollback")
                rows = dict((row[0], row[1]) for row in look(home, question))
                self.assertEqual(set(rows), column(home, "SELECT handle FROM follows"))
                authors = {uri.split("/")[2] for uri in posts}
                handles = dict(look(home, "SELECT did, handle FROM follows"))
                for did, handle in handles.items():
                    self.assertEqual(rows[handle] is not None, did in authors, handle)
        self.both_stores(run)

    def test_without_news_nobody_is_asked_for_any(self):
        def run(home):
            with self.simulator() as sim:
                me = accounts(sim)[0]["did"]
                with self.daemon(home, sim, [me], "bluesky.mode=off") as daemon:
                    self.assertEqual(daemon.health()["status"], "healthy")
                    daemon.stop()
                stats = sim.stats()
                self.assertEqual(stats["connections_total"], 0)
                asked = {path for path, count in stats["requests"].items() if count > 0}
                self.assertEqual([path for path in asked if "/xrpc/" in path], [])
                self.assertEqual(look(home, "SELECT count(*) FROM follows"), [["0"]])
        self.both_stores(run)

    def test_an_operator_has_the_lists_read_now(self):
        """R001-44: on demand; what comes of it is what a refresh by time brings."""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                self.command(home, sim, "migrate")
                _, words = self.command(home, sim, "follows", "refresh", code=1)
                self.assertIn("no daemon runs", words)
                with self.daemon(home, sim, [accounts(sim)[0]["handle"]]) as daemon:
                    first = listed(sim)
                    self.wait_for_follows(home, sim, first)
                    gone = sorted(first)[0]
                    follow(sim, gone, "DELETE")
                    pages = sim.stats()["requests"][REQUESTS]
                    self.assertEqual(self.command(home, sim, "follows", "refresh"),
                                     ("", "the follows of 1 account are being read\n"))
                    self.wait_for_follows(home, sim, first - {gone})
                    self.assertEqual(sim.stats()["requests"][REQUESTS], pages + 2)
                    changes = [line for line in daemon.words().splitlines()
                               if line.startswith("component=follows") and " msg=read " in line]
                    self.assertTrue(changes)
                    self.assertEqual([line for line in changes if "added=0 removed=0" in line], [])
                    shown = json.loads(self.command(home, sim, "follows", "--json")[0])
                    self.assertEqual({row["did"] for row in shown}, first - {gone})
                    handles = [row["handle"] for row in shown]
                    self.assertEqual(handles, sorted(handles))
                    self.assertIn(handles[0], self.command(home, sim, "follows")[0])
                    daemon.stop()
                with self.daemon(home, sim, []) as daemon:
                    _, words = self.command(home, sim, "follows", "refresh", code=1)
                    self.assertIn("set bluesky.actors", words)
                    daemon.stop()
        self.both_stores(run)

    def test_a_circle_that_no_single_reading_holds_is_read_whole(self):
        """The bound on what a reading may hold is no bound on how many are followed."""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                with self.daemon(home, sim, [accounts(sim)[0]["handle"]]) as daemon:
                    count = len(listed(sim)) + STRANGERS
                    self.wait_for_follows(home, sim, listed(sim))
                    sim.arm(f"name=http&status=500&collection={GET_FOLLOWS}&count=100000")
                    change(home, "INSERT INTO circle (did, degree, sources) WITH RECURSIVE i(n) AS "
                           f"(SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {STRANGERS}) "
                           "SELECT 'did:web:stranger' || n, 2, 1 FROM i")
                    daemon.reload()  # which looks at what is stored; the list itself is not given
                    wait_until(lambda: f" removed=0 count={count} msg=read"
                               in daemon.words(), "all of them to be read")
                    daemon.stop()
        self.both_stores(run)

    def test_a_lost_store_is_filled_again_without_a_backup(self):
        """R001-146: as docs/OPERATING.md says, the window is what the network itself still has."""
        def run(home):
            began = str(int((time.time() - 20 * 3600) * 1000000))
            with Simulator(self.sim_program, "--accounts", "40", "--follows", "25", "--events",
                           "600", "--start-us", began, "--gap-us", "100000000") as sim:
                me = accounts(sim)[0]["handle"]
                for more in (80, 0):  # some of it came live the first time
                    with self.daemon(home, sim, [me], "bluesky.mode=firehose") as daemon:
                        self.wait_for_follows(home, sim, listed(sim))
                        sim.step(more)
                        self.wait_for_histories(home, listed(sim))
                        shown = {json.loads(line)["uri"]
                                 for line in lines(sim.get("/_sim/truth"))[1:]}
                        truth = [json.loads(line)
                                 for line in lines(sim.get("/_sim/truth?follows=1"))[1:]]
                        # No feed shows a repost of what is gone.
                        wanted_now = {row["uri"] for row in truth
                                      if row["kind"] == "post" or row["subject"] in shown}
                        wait_until(lambda: wanted_now <= set(stored_in(daemon)), "all posts")
                        self.assertGreater(len(wanted_now), 50)
                        daemon.stop()
                    lose(home)
            with open(os.path.join(HERE, "..", "..", "docs", "OPERATING.md"),
                      encoding="utf-8") as page:
                self.assertIn("News need no backup", page.read())
        self.both_stores(run)

    def test_those_whom_enough_follows_follow_count_as_second_degree(self):
        def run(home):
            with Simulator(self.sim_program, "--accounts", "40", "--follows", "5", "--events",
                           "50", *PAST, "--noise", "0") as sim:
                begin_before_everything(home, sim)
                people = [a["did"] for a in accounts(sim)]
                first = sorted(listed(sim))
                often, once = [did for did in people[1:] if did not in first][:2]
                for source in first[:3]:
                    act(sim, f"follow&did={source}&subject={often}")
                act(sim, f"follow&did={first[0]}&subject={once}")
                second = "bluesky.second_degree"
                with self.daemon(home, sim, [people[0]], f"{second}.enabled=true",
                                 f"{second}.sources_min=2") as daemon:
                    wait_until(lambda: look(home, "SELECT did, sources FROM circle WHERE "
                                            "degree = 2") == [[often, "3"]], "the second degree")
                    wait_until(lambda: wanted(sim) == set(first) | {often}, "the filter")
                    self.assertEqual(followed(home), set(first))
                    daemon.stop()
                with self.daemon(home, sim, [people[0]]) as daemon:  # not wanted any more
                    wait_until(lambda: look(home, "SELECT count(*) FROM circle WHERE "
                                            "degree = 2") == [["0"]], "nobody of it")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
