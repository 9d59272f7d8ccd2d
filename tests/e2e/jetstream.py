# SPDX-License-Identifier: Apache-2.0
"""The firehose through the real program: both wires, compressed and not, through what a network
does to it, on both stores. What is stored must equal what was sent, and every fault must have
happened.

  jetstream.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, SocketConnection, wait_until  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from skeleton import (NO_DIFFERENCE, PAST, begin_before_everything, difference,  # noqa: E402
                      last_wanted_us, stored_in, truth_of)
from truth_compare import to_us  # noqa: E402

V2_PATH = "/xrpc/network.bsky.jetstream.subscribeEvents"
WIRES = {"v1": "/subscribe", "v2": V2_PATH}


def endpoint(sim, path):
    return f"ws://127.0.0.1:{sim.port}{path}"


def settings(sim, path, *more, fallback=""):
    return (f"jetstream.endpoint={endpoint(sim, path)}",
            f"jetstream.fallback_endpoint={fallback}",
            "jetstream.reconnect_delay_seconds=1", *more)


def plain(sim, path, *more, **options):
    return settings(sim, path, "jetstream.compress=false", "retention.enabled=false", *more,
                    **options)


def connections(daemon, sim):
    """How often a host was called, but for second looks where a replay ended."""
    def agreed():
        """Its words, when both sides know of the same connections."""
        words = daemon.words()
        total = sim.stats()["connections_total"]
        return words if words.count("msg=connected") == total else None
    words = wait_until(agreed, "both sides to know of the same connections")
    looks = words.split("where its replay ended")[1:]  # a look may have no connection yet
    return words.count("msg=connected") - sum("msg=connected" in rest for rest in looks)


def dictionary_file(home, sim):
    """The dictionary of the simulator's v1 wire, as an operator configures it."""
    path = os.path.join(home.folder, "v1.zdict")
    with open(path, "wb") as file:
        file.write(sim.get("/_sim/dictionary"))
    return f"jetstream.dictionary_file={path}"


def parameters(sim):
    """What the last handshake asked for."""
    return urllib.parse.parse_qs(sim.stats()["last_query"])


def followed_dids(sim):
    accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
    return [account["did"] for account in accounts if account["followed"]]


def other_dids(sim):
    accounts = [json.loads(line) for line in lines(sim.get("/_sim/accounts"))]
    return [account["did"] for account in accounts[1:] if not account["followed"]]


def run_sql(home, statements):
    """What an operator types into the database's own shell."""
    if home.kind == "sqlite":
        with sqlite3.connect(home.url[7:], timeout=60) as store:
            for statement in statements:
                store.execute(statement)
        store.close()
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", home.url], check=True, text=True,
                       input=";\n".join(statements) + ";\n")


def stored_cursor(home):
    """The committed position, read from the database itself."""
    question = "SELECT cursor_time_us FROM jetstream_state WHERE id = 1"
    if home.kind == "sqlite":
        store = sqlite3.connect(home.url[7:], timeout=60)
        answer = store.execute(question).fetchone()[0]
        store.close()
    else:
        answer = subprocess.run(["psql", "-qXAt", "-c", question, home.url], check=True, text=True,
                                capture_output=True).stdout
    return int(answer)


def follow_sql(dids):
    step = 500
    return ["INSERT INTO follows (did, handle) VALUES " +
            ", ".join(f"('{did}', 'h{at + i}.example')" for i, did in enumerate(dids[at:at + step]))
            + " ON CONFLICT (did) DO NOTHING" for at in range(0, len(dids), step)]


def metric(daemon, name):
    connection = SocketConnection(daemon.socket)
    connection.request("GET", "/metrics")
    words = connection.getresponse().read().decode()
    connection.close()
    for line in words.split("\n"):
        if line.startswith(f"tidemark_{name} "):
            return float(line.split(" ")[1])
    raise AssertionError(f"no metric {name}")


class Jetstream(BothStores):
    maxDiff = 2000

    def simulator(self, *options, events=1500):
        return Simulator(self.sim_program, "--events", str(events), *PAST, "--gap-us", "1000",
                         *options)

    def wait_for_end(self, daemon, sim):
        end = last_wanted_us(sim)
        daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the last event")

    def check(self, daemon, sim, gaps=0, quarantine=None):
        self.wait_for_end(daemon, sim)
        self.assertEqual(difference(stored_in(daemon), truth_of(sim)), NO_DIFFERENCE)
        self.assertEqual(len(daemon.walk("gaps")), gaps)
        if quarantine is not None:
            self.assertEqual(len(daemon.walk("quarantine")), quarantine)

    @staticmethod
    def wait_for_packing(daemon, packed):
        """The older wire is called anew where a replay ended: not live for a moment."""
        wait_until(lambda: metric(daemon, "compressed") == int(packed), f"packing: {packed}")

    def test_both_wires_plain_and_compressed_give_the_same_rows(self):
        """R001-03 R001-11 R001-91 R001-15"""
        def run(home):
            sizes = {}
            for wire, path in WIRES.items():
                for compress in (False, True):
                    with Home(home.kind) as fresh, self.simulator() as sim:
                        begin_before_everything(fresh, sim)
                        more = dictionary_file(fresh, sim) if wire == "v1" else "log.level=info"
                        chosen = settings(sim, path, f"jetstream.compress={str(compress).lower()}",
                                          more)
                        with Daemon(self.program, fresh, chosen) as daemon:
                            self.check(daemon, sim, quarantine=0)
                            self.wait_for_packing(daemon, compress)
                            asked = parameters(sim)
                            name = "wantedCollections" if wire == "v1" else "collections"
                            self.assertEqual(asked[name],
                                             ["app.bsky.feed.post", "app.bsky.feed.repost"])
                            key = "compress" if wire == "v1" else "zstdDictionary"
                            self.assertEqual(key in asked, compress)
                            if wire == "v1" and compress:
                                self.assertEqual(asked["compress"], ["true"])
                            stats = sim.stats()
                            self.assertEqual(connections(daemon, sim), 1)
                            sizes[wire, compress] = stats["frame_bytes"] / stats["frames"]
                            daemon.stop()
            for wire in WIRES:
                self.assertLess(sizes[wire, True], sizes[wire, False] * 0.7)
        self.both_stores(run)

    def test_the_wire_of_a_bare_host_is_found_out(self):
        def run(home):
            for only, route in ((("--v1-only",), "GET /subscribe"), ((), "GET " + V2_PATH)):
                for compress in ("false", "true"):
                    with Home(home.kind) as fresh, self.simulator(*only, events=300) as sim:
                        begin_before_everything(fresh, sim)
                        chosen = settings(sim, "", f"jetstream.compress={compress}",
                                          dictionary_file(fresh, sim))
                        with Daemon(self.program, fresh, chosen) as daemon:
                            self.check(daemon, sim)
                            self.wait_for_packing(daemon, compress == "true")
                            self.assertGreater(sim.stats()["requests"][route], 0)
                            self.assertEqual(connections(daemon, sim), 1)
                            self.assertNotIn("level=error", daemon.words())
                            daemon.stop()
        self.both_stores(run)

    def test_a_wrong_dictionary_loses_nothing_and_is_told_once(self):
        def run(home):
            for path in WIRES.values():
                with Home(home.kind) as fresh, self.simulator(
                        "--fault", "name=wrong_dictionary&after=200&count=1") as sim:
                    begin_before_everything(fresh, sim)
                    chosen = settings(sim, path, dictionary_file(fresh, sim))
                    with Daemon(self.program, fresh, chosen) as daemon:
                        self.check(daemon, sim, quarantine=0)
                        self.assertEqual(sim.fired("wrong_dictionary"), 1)
                        self.assertEqual(daemon.words().count("msg=uncompressed"), 1)
                        self.assertEqual(connections(daemon, sim), 2)
                        self.assertEqual(metric(daemon, "compressed"), 0)
                        daemon.stop()
        self.both_stores(run)

    def test_without_a_usable_dictionary_the_stream_is_plain(self):
        def run(home):
            junk = os.path.join(home.folder, "junk.zdict")
            with open(junk, "wb") as file:
                file.write(b"<html>not found</html>")
            for value in ("", junk, junk + ".not-there"):
                with Home(home.kind) as fresh, self.simulator(events=300) as sim:
                    begin_before_everything(fresh, sim)
                    chosen = settings(sim, "/subscribe", f"jetstream.dictionary_file={value}")
                    with Daemon(self.program, fresh, chosen) as daemon:
                        self.check(daemon, sim)
                        self.assertEqual(daemon.words().count("msg=uncompressed"), 1)
                        self.assertNotIn("compress", parameters(sim))
                        daemon.stop()
        self.both_stores(run)

    def test_a_fetched_dictionary_is_kept_and_a_stale_one_replaced(self):
        def run(home):
            kept = os.path.join(home.folder, "jetstream.zdict")
            fetches = "GET /xrpc/network.bsky.jetstream.getZstdDictionary"
            with self.simulator(events=300) as sim:
                begin_before_everything(home, sim)
                for fetched in (1, 1, 2):
                    with Daemon(self.program, home, settings(sim, V2_PATH)) as daemon:
                        sim.step(50)
                        self.check(daemon, sim)
                        self.assertEqual(metric(daemon, "compressed"), 1)
                        daemon.stop()
                    self.assertEqual(sim.stats()["requests"][fetches], fetched)
                    if sim.stats()["connections_total"] == 2:
                        with open(kept, "r+b") as file:  # another number: the host knows it not
                            file.seek(4)
                            file.write(b"\x01\x02\x03\x04")
                self.assertIn("UnknownZstdDictionary", daemon.words())
        self.both_stores(run)

    def test_a_dictionary_is_loaded_once_and_serves_every_message_and_connection(self):
        """R001-12: the configured file is read at the start and not needed after it; what a host
        hands out is fetched once."""
        def run(home):
            fetches = "GET /xrpc/network.bsky.jetstream.getZstdDictionary"
            for wire, path in WIRES.items():
                with Home(home.kind) as fresh, self.simulator(events=300) as sim:
                    begin_before_everything(fresh, sim)
                    configured = dictionary_file(fresh, sim)
                    with Daemon(self.program, fresh, settings(sim, path, configured)) as daemon:
                        self.check(daemon, sim)
                        os.remove(configured.split("=")[1])
                        for times in (1, 2, 3):
                            sim.arm("name=disconnect&count=1")
                            sim.step(100)
                            sim.wait_until(lambda stats: stats["connections_total"] > times)
                            self.check(daemon, sim, quarantine=0)
                            self.wait_for_packing(daemon, True)
                        self.assertEqual(sim.fired("disconnect"), 3)
                        self.assertNotIn("dictionary", daemon.words())
                        self.assertEqual(sim.stats()["requests"].get(fetches, 0),
                                         0 if wire == "v1" else 1)
                        daemon.stop()
        self.both_stores(run)

    def test_frames_that_are_twice_late_or_nonsense_do_no_harm(self):
        """R001-30"""
        plans = {"garbage": "after=20&count=5", "truncate": "after=30&count=4",
                 "duplicate": "after=3&count=200", "reorder": "after=5&count=100"}

        def run(home):
            for path in WIRES.values():
                for compress in ("false", "true"):
                    with Home(home.kind) as fresh, self.simulator() as sim:
                        for name, plan in plans.items():
                            sim.arm(f"name={name}&{plan}")
                        begin_before_everything(fresh, sim)
                        chosen = settings(sim, path, f"jetstream.compress={compress}",
                                          dictionary_file(fresh, sim))
                        with Daemon(self.program, fresh, chosen) as daemon:
                            self.check(daemon, sim)
                            for name in plans:
                                self.assertGreater(sim.fired(name), 0, name)
                            # Equal garbage is one row with a count; what was cut is four.
                            self.assertEqual(len(daemon.walk("quarantine")), 5)
                            self.assertEqual(connections(daemon, sim), 1)
                            daemon.stop()
        self.both_stores(run)

    def test_broken_connections_are_made_again_without_loss(self):
        plans = {"close": "after=150", "disconnect": "after=250", "cut": "after=350",
                 "reset": "after=450", "huge": "after=500&bytes=5000000", "stall":
                 "after=60&ms=1500", "slow": "after=40&ms=300"}

        def run(home):
            for wire, path in WIRES.items():
                with Home(home.kind) as fresh, self.simulator() as sim:
                    for name, plan in plans.items():
                        sim.arm(f"name={name}&{plan}")
                    if wire == "v2":
                        sim.arm("name=too_slow&after=550")
                    begin_before_everything(fresh, sim)
                    with Daemon(self.program, fresh, settings(sim, path)) as daemon:
                        self.check(daemon, sim, quarantine=0)
                        for name in plans:
                            self.assertEqual(sim.fired(name), 1, name)
                        self.assertEqual(sim.fired("too_slow"), int(wire == "v2"))
                        self.assertGreater(sim.stats()["connections_total"], 4)
                        daemon.stop()
        self.both_stores(run)

    def test_refusals_are_waited_out(self):
        def run(home):
            for path in WIRES.values():
                for status in (403, 429, 500, 0):
                    with Home(home.kind) as fresh, self.simulator(
                            "--fault", f"name=refuse&status={status}&count=1", events=300) as sim:
                        begin_before_everything(fresh, sim)
                        with Daemon(self.program, fresh, plain(sim, path)) as daemon:
                            self.check(daemon, sim)
                            self.assertEqual(sim.fired("refuse"), 1)
                            daemon.stop()
        self.both_stores(run)

    def test_only_followed_accounts_are_stored_and_told_to_a_v1_server(self):
        """R001-05 R001-06 R001-07 R001-09 R001-10"""
        def run(home):
            for wire, path in WIRES.items():
                with Home(home.kind) as fresh, self.simulator() as sim:
                    begin_before_everything(fresh, sim)
                    dids = followed_dids(sim)
                    actor = "bluesky.actors=[me.example]"
                    with Daemon(self.program, fresh, plain(sim, path, actor)) as daemon:
                        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                        if wire == "v1":  # nobody is followed yet: the server waits for a word
                            self.assertEqual(sim.stats()["frames"], 0)
                        daemon.stop()
                    run_sql(fresh, follow_sql(dids))
                    with Daemon(self.program, fresh, plain(sim, path, actor)) as daemon:
                        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                        wanted = set(dids)
                        truth = {uri: row for uri, row in truth_of(sim).items()
                                 if uri.split("/")[2] in wanted}

                        # On v2 the line before followed nobody and moved on: only what is new.
                        if wire == "v1":
                            wait_until(lambda: difference(stored_in(daemon), truth)
                                       == NO_DIFFERENCE, "the followed accounts' rows")
                            update = json.loads(sim.get("/_sim/update"))
                            self.assertEqual(sorted(update), ["payload", "type"])
                            self.assertEqual(update["type"], "options_update")
                            self.assertEqual(sorted(update["payload"]),
                                             ["wantedCollections", "wantedDids"])
                            self.assertEqual(sorted(update["payload"]["wantedDids"]), sorted(dids))
                            self.assertEqual(parameters(sim)["requireHello"], ["true"])
                            self.assertLess(len(sim.stats()["last_query"]), 2048)
                            before = sim.stats()["options_updates"]
                            sim.arm("name=disconnect&count=1")
                            sim.step(200)
                            wait_until(lambda: sim.stats()["options_updates"] > before,
                                       "the filter on the new connection")
                        else:
                            sim.step(500)
                            self.wait_for_end(daemon, sim)
                            self.assertGreater(metric(daemon, "filtered_total"), 100)
                            self.assertEqual(sim.stats()["options_updates"], 0)
                        authors = {uri.split("/")[2] for uri in stored_in(daemon)}
                        self.assertTrue(authors)
                        self.assertLessEqual(authors, wanted)
                        daemon.stop()
        self.both_stores(run)

    def test_a_follow_change_needs_no_new_connection(self):
        """R001-08"""
        def run(home):
            with self.simulator(events=200) as sim:
                begin_before_everything(home, sim)
                chosen = plain(sim, "/subscribe", "bluesky.actors=[me.example]")
                with Daemon(self.program, home, chosen) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    daemon.stop()
                first, more = followed_dids(sim), other_dids(sim)[:30]
                run_sql(home, follow_sql(first))
                before = connections(daemon, sim)
                with Daemon(self.program, home, chosen) as daemon:
                    sim.wait_until(lambda stats: stats["options_updates"] > 0)
                    gone = first[:10]
                    run_sql(home, follow_sql(more) +
                            [f"DELETE FROM follows WHERE did = '{did}'" for did in gone])
                    daemon.process.send_signal(signal.SIGHUP)
                    wanted = set(first[10:]) | set(more)
                    wait_until(lambda: set(json.loads(sim.get("/_sim/update"))["payload"][
                        "wantedDids"]) == wanted, "the new filter")
                    since = sim.stats()["last_time_us"]
                    sim.step(1500)
                    truth = truth_of(sim)
                    new = {uri for uri, row in truth.items()
                           if row[3] > since and uri.split("/")[2] in wanted}
                    self.assertTrue({uri.split("/")[2] for uri in new} & set(more))
                    wait_until(lambda: new <= set(stored_in(daemon)), "the new follows' posts")
                    late = {uri for uri, row in stored_in(daemon).items() if row[3] > since}
                    self.assertLessEqual({uri.split("/")[2] for uri in late}, wanted)
                    self.assertEqual(connections(daemon, sim), before + 1)
                    daemon.stop()
        self.both_stores(run)

    def test_more_follows_than_a_server_takes_are_filtered_here(self):
        """R001-13"""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                dids = followed_dids(sim)
                letters = "abcdefghijklmnopqrstuvwxyz234567"
                made = ["did:plc:" + "".join(letters[i // 32 ** k % 32] for k in range(24))
                        for i in range(12000 - len(dids))]
                chosen = plain(sim, "/subscribe", "bluesky.actors=[me.example]")
                with Daemon(self.program, home, chosen) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    daemon.stop()
                run_sql(home, follow_sql(dids + made))
                with Daemon(self.program, home, chosen) as daemon:
                    self.wait_for_end(daemon, sim)
                    wanted = set(dids)
                    truth = {uri: row for uri, row in truth_of(sim).items()
                             if uri.split("/")[2] in wanted}
                    self.assertEqual(difference(stored_in(daemon), truth), NO_DIFFERENCE)
                    self.assertNotIn("requireHello", parameters(sim))
                    self.assertEqual(sim.stats()["options_updates"], 0)
                    self.assertEqual(metric(daemon, "filter_accounts"), 12000)
                    sim.wait_until(lambda stats: stats["connections"] == 1)
                    daemon.stop()
        self.both_stores(run)

    def test_from_host_to_host_and_wire_to_wire_nothing_is_lost(self):
        """R001-38 R001-90"""
        def run(home):
            with self.simulator("--seq-base", "500000") as one, self.simulator() as two:
                begin_before_everything(home, one)
                chosen = settings(one, V2_PATH, dictionary_file(home, two),
                                  fallback=endpoint(two, "/subscribe"))
                with Daemon(self.program, home, chosen) as daemon:
                    for turn in range(4):
                        for sim in (one, two):
                            sim.step(300)
                        self.check(daemon, one)
                        here, there = (one, two) if turn % 2 == 0 else (two, one)
                        # It calls again where a replay ended.
                        wait_until(lambda: here.stats()["connections"] == 1, "the line")
                        here.arm("name=refuse&count=100")
                        here.arm("name=disconnect")
                        before = there.stats()["connections_total"]
                        for sim in (one, two):
                            sim.step(100)
                        wait_until(lambda: there.stats()["connections_total"] > before,
                                   "the other host")
                        cursor = int(parameters(there)["cursor"][0])
                        # A number means something at its own host only: a stranger gets a time.
                        self.assertGreater(cursor, 10 ** 15)
                        here.ask("DELETE", "/_sim/fault")
                        self.check(daemon, there)
                    daemon.stop()
        self.both_stores(run)

    def test_a_cursor_too_old_makes_a_gap_with_exact_bounds(self):
        def run(home):
            for wire, path in WIRES.items():
                start = int((time.time() - 60 * 3600) * 1000000)
                with Home(home.kind) as fresh, Simulator(
                        self.sim_program, "--events", "100", "--start-us", str(start), "--gap-us",
                        "60000000", "--retention-hours", "1") as sim:
                    begin_before_everything(fresh, sim)
                    with Daemon(self.program, fresh, plain(sim, path)) as daemon:
                        self.wait_for_end(daemon, sim)
                        known = len(daemon.walk("gaps"))
                        daemon.stop()
                    last = last_wanted_us(sim)
                    sim.step(600)
                    with Daemon(self.program, fresh, plain(sim, path)) as daemon:
                        self.wait_for_end(daemon, sim)
                        gaps = daemon.walk("gaps")
                        self.assertEqual(len(gaps), known + 1)
                        gap = max(gaps, key=lambda row: to_us(row["to"]))
                        floor = sim.stats()["replay_floor"]
                        replayed = map(json.loads, sim.events(floor))
                        first = next(event["time_us"] for event in replayed
                                     if event["kind"] != "commit" or event["commit"]["collection"]
                                     in ("app.bsky.feed.post", "app.bsky.feed.repost"))
                        self.assertEqual(to_us(gap["to"]), first)
                        rewind = 15000000 if wire == "v1" else 2000000
                        self.assertEqual(to_us(gap["from"]), last - rewind)
                        if wire == "v2":
                            self.assertIn("CursorTooOld", daemon.words())
                            self.assertIn("OutdatedCursor", daemon.words())
                        truth = lines(sim.get(f"/_sim/truth?from_us={first}"))[1:]
                        stored = stored_in(daemon)
                        self.assertEqual([row for row in map(json.loads, truth)
                                          if row["uri"] not in stored], [])
                        daemon.stop()
        self.both_stores(run)

    def test_a_quiet_stream_is_no_gap(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "50", "--start-us",
                           str(int((time.time() - 20 * 3600) * 1000000)), "--gap-us",
                           "1000000000") as sim:
                begin_before_everything(home, sim)
                for _ in range(3):
                    with Daemon(self.program, home, plain(sim, "/subscribe")) as daemon:
                        self.check(daemon, sim)
                        daemon.stop()
                    sim.step(2)
        self.both_stores(run)

    def test_what_a_replay_left_out_at_its_end_comes_soon(self):
        """Without a new start, and without a word of the host that anything is missing."""
        def run(home):
            with Simulator(self.sim_program, "--events", "300", *PAST, "--gap-us", "1000") as sim:
                begin_before_everything(home, sim)
                sim.arm("name=cutover&bytes=40")
                with Daemon(self.program, home, plain(sim, "/subscribe")) as daemon:
                    self.wait_for_end(daemon, sim)
                    wait_until(lambda: difference(stored_in(daemon), truth_of(sim))
                               == NO_DIFFERENCE, "what was left out")
                    self.assertEqual((sim.fired("cutover"), daemon.walk("gaps")), (1, []))
                    self.assertEqual(sim.stats()["connections_total"], 2)
                    daemon.stop()
        self.both_stores(run)

    def test_it_ends_soon_whatever_it_waits_for(self):
        """R001-14: while a host does not answer, in the midst of TLS, and idle"""
        def run(home):
            for scheme in ("ws", "wss"):
                with socket.create_server(("127.0.0.1", 0)) as listener:
                    address = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/subscribe"
                    with Daemon(self.program, home,
                                (f"jetstream.endpoint={address}",
                                 "jetstream.fallback_endpoint=")) as daemon:
                        listener.settimeout(60)
                        peer, _ = listener.accept()
                        self.assertTrue(peer.recv(1))  # it has said its word and waits
                        daemon.stop()
                        peer.close()
            with self.simulator(events=10) as sim:
                with Daemon(self.program, home, plain(sim, "/subscribe")) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    daemon.stop()
        self.both_stores(run)

    def test_the_cursor_file_follows_the_database(self):
        """R001-40 R001-41 R001-96"""
        def run(home):
            path = os.path.join(home.folder, "a", "folder", "cursor.txt")
            with self.simulator(events=800) as sim:
                os.makedirs(os.path.dirname(path))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"{sim.stats()['first_time_us'] - 1}\n")

                def read():
                    with open(path, encoding="utf-8") as file:
                        content = file.read()
                    self.assertRegex(content, r"\A\d{16}\n\Z")
                    return int(content)
                chosen = plain(sim, "/subscribe", f"jetstream.cursor_file={path}",
                               "jetstream.cursor_save_interval_seconds=1")
                with Daemon(self.program, home, chosen) as daemon:
                    self.check(daemon, sim)
                    end = last_wanted_us(sim)
                    wait_until(lambda: read() == end, "the file")
                    sim.step(300)
                    self.wait_for_end(daemon, sim)
                    self.assertLessEqual(read(), last_wanted_us(sim))
                    daemon.stop()
                self.assertEqual(read(), last_wanted_us(sim))
                # The database knows better than the file.
                with open(path, "w", encoding="utf-8") as file:
                    file.write("1999999999999999\n")
                with Daemon(self.program, home, chosen) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                    self.assertLess(int(parameters(sim)["cursor"][0]), 1999999999999999)
                    sim.step(100)
                    self.check(daemon, sim)
                    daemon.stop()
                # Killed at any time the file is whole and not ahead of the database.
                for _ in range(5):
                    with Daemon(self.program, home, chosen) as daemon:
                        sim.step(40)
                        end = last_wanted_us(sim)
                        wait_until(lambda: read() == end, "the file")
                        sim.step(40)
                        daemon.kill()
                    self.assertLessEqual(read(), stored_cursor(home))
                # A folder that cannot be made is said clearly.
                blocked = f"jetstream.cursor_file={path}/below/a/file"
                with Daemon(self.program, home, (*chosen, blocked)) as daemon:
                    self.assertEqual(daemon.process.wait(60), 1)
                    self.assertIn("jetstream.cursor_file", daemon.words())
                other = os.path.join(home.folder, "made", "for", "it.txt")
                with Daemon(self.program, home,
                            (*chosen, f"jetstream.cursor_file={other}")) as daemon:
                    sim.step(50)
                    self.check(daemon, sim)
                    daemon.stop()
                self.assertTrue(os.path.exists(other))
                # Neither database nor file: from now on.
                with Home(home.kind) as fresh:
                    with Daemon(self.program, fresh, plain(sim, "/subscribe")) as daemon:
                        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
                        self.assertNotIn("cursor", parameters(sim))
                        daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
