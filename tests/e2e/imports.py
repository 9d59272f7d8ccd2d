# SPDX-License-Identifier: Apache-2.0
"""`tidemark import` beside a daemon and without one, its exit codes, and where keys must not be.

  imports.py TIDEMARK TIDEMARK_SIM"""

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Daemon, Home, wait_until  # noqa: E402
from ledger_world import CONNECTORS, EVM_STREAMS, World, shipped  # noqa: E402

PROGRAMS = sys.argv[1:3]
CANARY = "canary-key-3f9c1d"


class Imports(unittest.TestCase):
    def world(self, kind="sqlite", providers=("etherscan",), **choices):
        home = Home(kind)
        self.addCleanup(home.__exit__)
        world = World(PROGRAMS, home, providers, **choices)
        self.addCleanup(world.__exit__)
        return world

    def configure(self, world, before, after):
        with open(world.configuration, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(before, text)
        with open(world.configuration, "w", encoding="utf-8") as file:
            file.write(text.replace(before, after))

    def command(self, world, *words):
        return subprocess.run([PROGRAMS[0], *words, "-c", world.configuration],
                              capture_output=True, text=True, timeout=120, check=False)

    def test_a_daemon_keeps_its_accounts_complete_and_imports_when_asked(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(kind)
                self.configure(world, "ledger:\n", f"ledger:\n  accounts: ['{world.account}']\n")
                with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
                    daemon.wait_for(lambda _: True, "the daemon")
                    wait_until(lambda: world.sessions()[-1:] == ["completed"], "the first import")
                    self.assertEqual(world.difference(), {})
                    world.sim.act("mine", 5)
                    code, said, words = world.run()
                    self.assertEqual((code, said and said["status"]), (0, "completed"), words)
                    self.assertEqual(world.difference(), {})
                    self.assertTrue(all(part["complete"] for part in said["streams"]), said)
                    done = self.command(world, "import", "nowhere:1")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn("no connector serves nowhere", done.stderr)

    def test_a_daemon_shows_and_tells_what_the_command_alone_does(self):
        # Lines while it runs, a summary, the same result and exit codes.
        told = []
        for kind in ("alone", "daemon"):
            world = self.world()
            daemon = contextlib.nullcontext() if kind == "alone" else Daemon(
                PROGRAMS[0], world.home, config=world.configuration)
            with daemon as running:
                if running:
                    running.wait_for(lambda _: True, "the daemon")
                first = self.command(world, "import", world.account)
                code, said, words = world.run("--since", "2020-01-01")
                none = self.command(world, "import", "nowhere:1")
            self.assertEqual((first.returncode, code, none.returncode), (0, 0, 2), words)
            for stream in EVM_STREAMS:
                self.assertRegex(
                    first.stderr, rf"{stream}: +\d+ new, \d+ known · \d+ rows/s · block \d+ · "
                    r"etherscan \d+\.\d req/s · complete · \d+ batch")
            self.assertNotIn("\x1b", first.stderr)
            self.assertEqual(words, "")
            for part in said["sessions"]:
                self.assertEqual(part.pop("status"), "completed")
                for varying in ("id", "startedAt", "completedAt"):
                    self.assertTrue(part.pop(varying))
            told.append((first.stdout, said, none.stderr))
        self.assertEqual(told[0], told[1])
        self.assertRegex(told[0][0], r"completed, \d+ new, 0 known, 0 orphaned, 0 gaps\n")

    def test_a_daemon_tells_how_providers_and_accounts_fare(self):
        # Latency, error rate, state and last reason of each.
        world = self.world(providers=("etherscan", "routescan"))
        self.configure(world, "ledger:\n", f"ledger:\n  accounts: ['{world.account}']\n")
        world.sim.arm("name=ledger_http&status=503&count=1")
        with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
            accounts = daemon.wait_for(
                lambda health: (health["accounts"]["complete"], health["accounts"]["running"])
                == (1, 0), "the first import")["accounts"]
            self.assertEqual((accounts["count"], accounts["failed"]), (1, 0))
            self.assertGreaterEqual(accounts["oldest_success_seconds_ago"], 0)
            listed = json.loads(self.command(world, "providers", "--json").stdout)
            shown = {row["name"]: row for row in listed if row["source"] == "ethereum"}
            self.assertEqual(set(shown), {"etherscan", "routescan"})
            failed = [row for row in shown.values() if row["failures"]]
            self.assertEqual(len(failed), 1, shown)
            self.assertIn("503", failed[0]["reason"])
            self.assertGreater(failed[0]["error_percent"], 0)
            self.assertTrue(any(row["latency_ms"] is not None for row in shown.values()))
            self.assertEqual([row["current"] for row in shown.values()].count(True), 1)
            self.assertIn("1 accounts, 1 complete, 0 running, 0 failing; the oldest success",
                          self.command(world, "status").stdout)

    def test_what_a_history_owes_is_tried_again_when_a_person_says_so(self):
        # Before it is due, and also when it was given up.
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(kind, providers=("blockfrost",), platform="cardano")
                self.retry_owed(world)

    def retry_owed(self, world):
        with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            world.sim.arm("name=ledger_null&collection=blockfrost/detail&after=3&count=1")
            self.assertEqual(world.run()[0], 0)
            world.sim.arm("name=ledger_null&collection=blockfrost/detail&count=1")
            self.assertEqual(world.run()[0], 0)  # from now on it is not due for hours
            self.assertEqual(world.run()[0], 0)
            debt, = json.loads(self.command(world, "owed", "--json").stdout)
            self.assertEqual((debt["source"], debt["state"], debt["attempts"]),
                             (world.account, "owed", 2))
            for state in ("owed", "dead"):
                world.home.run_sql(f"UPDATE owed SET state = '{state}'")
                fails = int(state == "owed")
                world.sim.arm(f"name=ledger_null&collection=blockfrost/detail&count={fails}")
                done = self.command(world, "owed", "retry", str(debt["id"]))
                self.assertEqual(done.returncode, 0, done.stderr)
                wait_until(lambda: self.attempts(world) == {"owed": [3], "dead": []}[state],
                           "the retry")
            done = self.command(world, "owed", "retry", str(debt["id"]))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("nothing is owed under this id", done.stderr)
        rows = world.home.select("SELECT provider_data FROM raw_transactions")
        self.assertEqual([row for row in rows if '"detail"' not in str(row["provider_data"])], [])
        self.assertEqual(world.difference(), {})

    def test_a_debt_from_before_the_clock_was_set_back_is_tried(self):
        """No debt is put off for longer than 128 hours: one that seems to be is due."""
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(kind, providers=("blockfrost",), platform="cardano")
                world.sim.arm("name=ledger_null&collection=blockfrost/detail&after=3&count=1")
                self.assertEqual(world.run()[0], 0)
                for hours, left in ((127, [1]), (129, [])):
                    then_us = int((time.time() + hours * 3600) * 1e6)
                    world.home.run_sql(f"UPDATE owed SET next_us = {then_us};")
                    self.assertEqual(world.run()[0], 0)
                    self.assertEqual(self.attempts(world), left, f"{hours} hours ahead")
                self.assertEqual(world.difference(), {})

    def attempts(self, world):
        return [row["attempts"] for row in world.home.select("SELECT attempts FROM owed")]

    def test_whoever_stops_following_a_daemon_is_told_that_it_goes_on(self):
        world = self.world()
        with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            world.sim.arm("name=ledger_http&after=1&status=429&retry_after=15")
            process = world.begin()
            wait_until(lambda: world.sessions()[-1:] == ["started"], "a session")
            process.send_signal(signal.SIGINT)
            _, words = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, words)
            self.assertIn("the daemon goes on with it", words)
            wait_until(lambda: world.sessions()[-1:] != ["started"], "the rest of it")
            self.assertEqual(world.sessions()[-1:], ["completed"], daemon.words())
        self.assertEqual(world.difference(), {})

    def test_the_exit_code_says_what_to_do(self):
        world = self.world()
        for words, code, sentence in (
                (("import",), 2, "usage:"),
                (("import", "nowhere:1"), 2, "no connector serves nowhere"),
                (("import", "ethereum:0x12"), 2, "40 hexadecimal digits"),
                (("import", "--since", "yesterday", world.account), 2, "--since takes a date"),
                (("import", "--provider", "routescan", world.account), 2, "does not serve")):
            with self.subTest(words=words):
                done = self.command(world, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(sentence, done.stderr)
        self.configure(world, "    api_key: k\n", "")
        done = self.command(world, "import", world.account)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("providers.etherscan.api_key", done.stderr)
        with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            done = self.command(world, "import", world.account)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("providers.etherscan.api_key", done.stderr)

    def test_a_result_that_nobody_can_read_is_no_success(self):
        world = self.world()
        for option in ("--json", "--quiet"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(
                    [PROGRAMS[0], "import", world.account, option, "-c", world.configuration],
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("cannot write the output", done.stderr)
        self.assertEqual(world.difference(), {})

    def test_an_import_that_cannot_begin_leaves_nothing_behind(self):
        """No folder, no store: what is wrong is found before anything is made."""
        with tempfile.TemporaryDirectory() as folder:
            for words, code, sentence in (
                    (("kraken",), 3, "providers.kraken.api_key"),
                    (("--provider", "etherscan", "ethereum:0x" + "1" * 40), 3,
                     "providers.etherscan.api_key"),
                    (("bitcoin:bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "kraken"), 3,
                     "providers.kraken.api_key"),
                    (("nowhere:1",), 2, "no connector serves nowhere"),
                    (("csv:none.csv",), 2, "none.csv")):
                with self.subTest(words=words):
                    done = subprocess.run(
                        [os.path.abspath(PROGRAMS[0]), "import", "--set",
                         f"ledger.connectors={CONNECTORS}", *words],
                        cwd=folder, capture_output=True, text=True, timeout=120, check=False)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertIn(sentence, done.stderr)
                    self.assertEqual(os.listdir(folder), [])

    def test_what_may_never_end_is_no_exported_file(self):
        """A pipe to which nobody writes would be waited for, for ever."""
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            for path in (pipe, folder, "/dev/zero"):
                with self.subTest(path=path):
                    done = subprocess.run(
                        [os.path.abspath(PROGRAMS[0]), "import", "--set",
                         f"ledger.connectors={CONNECTORS}", "csv:" + path],
                        cwd=folder, capture_output=True, text=True, timeout=20, check=False)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(path + " is no file", done.stderr)

    def test_what_can_be_continued_ends_with_4_and_what_cannot_with_1(self):
        world = self.world()
        self.assertEqual(world.run()[0], 0)
        for kind in ("alone", "daemon"):
            daemon = contextlib.nullcontext() if kind == "alone" else Daemon(
                PROGRAMS[0], world.home, config=world.configuration)
            with self.subTest(kind=kind), daemon as running:
                if running:
                    running.wait_for(lambda _: True, "the daemon")
                # The only provider denies what is known.
                world.sim.arm("name=ledger_empty&collection=etherscan&count=1000000")
                done = self.command(world, "import", world.account)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("not believed", done.stderr)
                self.assertIn("run the same command again to go on from there", done.stderr)
                world.sim.ask("DELETE", "/_sim/fault")
                done = self.command(world, "import", world.account)
                self.assertEqual(done.returncode, 0, done.stderr)
                # What is stored of its position is unusable: that does not change by itself.
                world.home.run_sql("UPDATE cursors SET state = '{}' WHERE stream = 'token';")
                done = self.command(world, "import", world.account)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("stream token, is unusable", done.stderr)
                self.assertNotIn("again to go on", done.stderr)
                done = self.command(world, "reset", world.account, "token")
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.command(world, "import", world.account)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(world.difference(), {})

    def test_a_key_that_everybody_refuses_ends_with_3_beside_a_daemon_too(self):
        world = self.world(providers=("etherscan", "routescan"))
        self.configure(world, "ledger:\n", f"ledger:\n  accounts: ['{world.account}']\n")
        world.sim.arm("name=ledger_http&status=401&count=1000000&lasts=1")
        told = []
        for kind in ("alone", "daemon"):
            daemon = contextlib.nullcontext() if kind == "alone" else Daemon(
                PROGRAMS[0], world.home, config=world.configuration)
            with daemon as running:
                if running:
                    running.wait_for(lambda _: True, "the daemon")
                for words in ((), ("--json",)) * 2:
                    done = self.command(world, "import", world.account, *words)
                    told.append(done.returncode)
                    self.assertIn("providers.etherscan.api_key or providers.routescan.api_key",
                                  done.stdout + done.stderr)
        self.assertEqual(told, [3] * 8)

    def test_since_leaves_out_what_is_older_and_nothing_for_good(self):
        # The first two tell the block of a time, the others leave rows out.
        for providers, platform in ((("etherscan",), "ethereum"), (("blockscout",), "ethereum"),
                                    (("alchemy",), "ethereum"), (("blockstream",), "bitcoin"),
                                    (("solana",), "solana")):
            with self.subTest(providers=providers):
                world = self.world(providers=providers, platform=platform)
                rows = sorted(world.true_rows("normal"), key=lambda row: row["block"])
                block = rows[len(rows) // 2]["block"]
                since = world.sim.block_time(block)
                code, said, words = world.run("--since", since)
                self.assertEqual((code, said["status"]), (0, "completed"), words)
                stored = world.stored()
                self.assertTrue(all(row["block"] >= block for row in stored), stored[:3])
                wanted = {row["hash"] for row in rows if row["block"] >= block}
                self.assertEqual(wanted - {row["hash"] for row in stored}, set())
                covered = world.home.select("SELECT min(lo) AS lo FROM coverage")
                self.assertGreater(covered[0]["lo"], rows[0]["block"])
                if "etherscan" in providers or "blockscout" in providers:
                    asked = [request for request in world.requests() if "startblock" in request]
                    self.assertEqual({request["startblock"] for request in asked}, {str(block)})
                code, said, words = world.run()
                self.assertEqual((code, said["status"]), (0, "completed"), words)
                self.assertEqual(world.difference(), {})

    def numbers(self, world):
        """Rows as the store knows them: their numbers, and the commits that changed them last."""
        return {(row["n"], row["seq"]) for row in world.home.select(
            "SELECT n, seq FROM raw_transactions")}

    def test_a_part_that_is_read_again_adds_what_is_missing_and_the_rest_is_shown(self):
        # Coverage and what was never read: in the summary, in JSON, by `status` and over HTTP.
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(kind)
                code, said, words = world.run()
                self.assertEqual(code, 0, words)
                self.assertEqual(said["gaps"], [])
                for stream in said["streams"]:
                    self.assertIsNone(stream["covered"][0]["from"])
                    self.assertEqual((len(stream["covered"]), stream["missing"]), (1, []))
                self.repull(world)

    def repull(self, world):
        rows = sorted(world.true_rows("normal"), key=lambda row: row["block"])
        block = rows[len(rows) // 2]["block"]
        since = world.sim.block_time(block)
        before = self.numbers(world)
        world.home.run_sql("DELETE FROM raw_transactions WHERE stream = 'normal'"
                           f" AND block > {block} AND n % 2 = 0;")
        lost = before - self.numbers(world)
        self.assertGreater(len(lost), 0)
        self.assertEqual(self.command(world, "reset", world.account).returncode, 0)
        asked = len(world.requests())
        code, said, words = world.run("--since", since)
        self.assertEqual((code, said["status"]), (0, "completed"), words)
        self.assertEqual(sum(part["imported"] for part in said["streams"]), len(lost))
        self.assertEqual(len(self.numbers(world)), len(before))
        self.assertEqual(before - lost - self.numbers(world), set())  # nothing else was touched
        starts = {request["startblock"] for request in world.requests()[asked:]
                  if "startblock" in request}
        self.assertEqual(starts, {str(block)})
        self.see_missing(world, said, block)
        code, said, words = world.run()
        self.assertEqual((code, said["gaps"]), (0, []), words)
        self.assertEqual(sum(part["imported"] for part in said["streams"]), 0)
        self.assertEqual(world.difference(), {})

    def see_missing(self, world, said, block):
        """What lies below the block was never read since the position was forgotten."""
        hole = {"from": None, "to": block}
        self.assertEqual(
            sorted(said["gaps"], key=lambda gap: gap["stream"]),
            [dict(hole, account=world.account, stream=stream, reason="not read")
             for stream in sorted(EVM_STREAMS)])
        for stream in said["streams"]:
            self.assertEqual((stream["missing"], stream["covered"][0]["from"]), ([hole], block))
        end = {stream["stream"]: stream["covered"][0]["to"] for stream in said["streams"]}
        status = json.loads(self.command(world, "status", "--json").stdout)
        source, = [one for one in status["sources"] if one["source"] == world.account]
        for stream in source["streams"]:
            self.assertEqual((stream["covered"], stream["missing"]),
                             ([{"from": block, "to": end[stream["stream"]]}], [hole]))
        shown = self.command(world, "status").stdout
        self.assertRegex(shown, r"HISTORY +STREAM +COVERED +NOT READ")
        for stream in EVM_STREAMS:
            self.assertRegex(shown, rf"{stream} +{block} to {end[stream]} +up to {block}\n")
        since = world.sim.block_time(block)
        told = self.command(world, "import", "--since", since, world.account).stdout
        self.assertIn(", 4 gaps\n", told)
        for stream in EVM_STREAMS:
            self.assertRegex(told, rf"  {stream} .* complete .*  {block} to \d+\n")
            self.assertIn(f"  not read: {stream} up to {block}\n", told)
        with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            status, answer = daemon.ask("GET", "/api/status")
            self.assertEqual(status, 200)
            told, = [one for one in answer["sources"] if one["source"] == world.account]
            self.assertEqual([stream["covered"] + stream["missing"] for stream in told["streams"]],
                             [stream["covered"] + stream["missing"]
                              for stream in source["streams"]])
            daemon.stop()

    def test_a_choice_beside_a_daemon_holds_for_one_import(self):
        # A provider that is not preferred, and not all of the past; then all, from the first one.
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(kind, providers=("etherscan", "blockscout"))
                rows = sorted(world.true_rows("normal"), key=lambda row: row["block"])
                block = rows[len(rows) // 2]["block"]
                since = world.sim.block_time(block)
                asked = len(world.requests("etherscan"))  # by the line above
                with Daemon(PROGRAMS[0], world.home, config=world.configuration) as daemon:
                    daemon.wait_for(lambda _: True, "the daemon")
                    code, said, words = world.run("--provider", "blockscout", "--since", since)
                    self.assertEqual((code, said and said["status"]), (0, "completed"), words)
                    self.assertEqual(len(world.requests("etherscan")), asked)
                    self.assertEqual({part["provider"] for part in said["streams"]},
                                     {"blockscout"})
                    stored = world.stored()
                    self.assertTrue(all(row["block"] >= block for row in stored), stored[:3])
                    self.assertLessEqual({row["hash"] for row in rows if row["block"] >= block},
                                         {row["hash"] for row in stored})
                    code, said, words = world.run()
                    self.assertEqual((code, said and said["status"]), (0, "completed"), words)
                    self.assertGreater(len(world.requests("etherscan")), asked)
                    self.assertEqual(world.difference(), {})
                    daemon.stop()

    def test_a_file_that_has_grown_adds_what_is_new_and_bad_lines_are_kept(self):
        # Exitbook 1.8.15: a file was never read again, and lines that were no rows disappeared.
        world = self.world()
        path = os.path.join(world.home.folder, "history.csv")
        row = "1,main,BTC,Deposit,0.5,0,2024-01-01 10:00:00,,x"
        with open(path, "w", encoding="utf-8") as file:
            file.write("UID,Account Type,Currency,Side,Amount,Fee,Time(UTC),Remark,Type\n"
                       f"{row}\n{row}\n1,main,ETH\n{row.replace('0.5', 'much')}\n")
        with open(os.path.join(world.folder, "kucoin.yaml"), "w", encoding="utf-8") as file:
            file.write(shipped("kucoin"))
        done = self.command(world, "import", "csv:" + path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kucoin: completed, 2 new, 0 known", done.stdout)
        self.assertIn("2 in quarantine", done.stdout)
        with open(path, "a", encoding="utf-8") as file:
            file.write(row + "\n")
        done = self.command(world, "import", "csv:" + path)
        self.assertIn("kucoin: completed, 1 new, 2 known", done.stdout)
        self.assertEqual(len(world.home.select("SELECT id FROM quarantine")), 2)
        with open(path, "w", encoding="utf-8") as file:  # the same columns in other letters
            file.write("uid,account type,currency,SIDE,AMOUNT,FEE,time(utc),Remark,Type\n"
                       f"{row}\n{row.replace('0.5', '0.25')}\n")
        done = self.command(world, "import", "csv:" + path)
        self.assertIn("kucoin: completed, 1 new, 1 known", done.stdout)
        rows = [json.loads(row["normalized_data"]) for row in
                world.home.select("SELECT normalized_data FROM raw_transactions")]
        self.assertEqual(sorted(row["amount"] for row in rows), ["0.25", "0.5", "0.5", "0.5"])
        self.assertEqual({row["time"] for row in rows}, {1704103200000000})
        done = self.command(world, "import", "csv:" + world.configuration)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no connector knows a file with these columns", done.stderr)

    def test_a_long_file_is_stored_whole_and_one_that_cannot_be_is_no_success(self):
        world = self.world()
        path = os.path.join(world.home.folder, "long.csv")
        count = 65600  # more than a block may have
        with open(os.path.join(world.folder, "crowd.yaml"), "w", encoding="utf-8") as file:
            for line in ("version: 1", "provider: crowd", "platforms: {crowd: {}}",
                         "identifier: none", "streams:", "  moves:", '    csv: {header: "at,what"}',
                         '    records: {at: ""}', "    map: {block: /at, hash: /what}",
                         "    identity: {of: [row], equals: file}"):
                file.write(line + "\n")
        with open(path, "w", encoding="utf-8") as file:
            file.write("at,what\n" + "".join(f"7,{n}\n" for n in range(count)) + "7,5\n")
        done = self.command(world, "import", "--quiet", "csv:" + path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"crowd: completed, {count + 1} new, 0 known", done.stdout)
        with open(os.path.join(world.folder, "crowd.yaml"), "r+", encoding="utf-8") as file:
            text = file.read().replace("equals: file", "equals: block")
            file.seek(0)
            file.write(text)
        done = self.command(world, "import", "--quiet", "csv:" + path)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("block 7 has more than 65536 different rows", done.stderr)

    def test_since_leaves_out_older_rows_of_a_file_and_numbers_say_what_became_of_the_others(self):
        world = self.world()
        path = os.path.join(world.home.folder, "history.csv")
        row = "1,main,BTC,Deposit,0.5,0,{} 10:00:00,,x\n"
        days = ("2024-03-01", "2024-01-01", "2024-02-01", "2024-13-01")  # in no order
        with open(path, "w", encoding="utf-8") as file:
            file.write("UID,Account Type,Currency,Side,Amount,Fee,Time(UTC),Remark,Type\n"
                       + "".join(row.format(day) for day in days))
        with open(os.path.join(world.folder, "kucoin.yaml"), "w", encoding="utf-8") as file:
            file.write(shipped("kucoin"))
        for since, figures in (("2024-02-01", (2, 1, 1)), ("2024-01-01", (1, 0, 1))):
            done = self.command(world, "import", "--json", "--since", since, "csv:" + path)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout)
            self.assertEqual((said["sessions"][0]["imported"], said["older"],
                              said["quarantined"]), figures, said)
            self.assertEqual((said["orphaned"], said["owed"]), (0, 0))
        done = self.command(world, "import", "--provider", "etherscan", "csv:" + path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the file is of kucoin, not of etherscan", done.stderr)

    def test_a_key_of_several_lines_is_read_as_exchanges_hand_it_out(self):
        world = self.world(providers=("coinbase",), platform="coinbase")
        secret = world.sim.keys()["coinbase"]["secret"]
        folded = secret.replace("\n", "\\n")
        self.assertGreater(secret.count("\n"), 2)
        path = os.path.join(world.home.folder, "coinbase.pem")
        with open(path, "w", encoding="utf-8") as file:
            file.write(secret)
        os.chmod(path, 0o600)
        self.configure(world, f"    api_secret: '{folded}'\n", f"    api_secret_file: {path}\n")
        code, said, words = world.run()
        self.assertEqual((code, said and said["status"]), (0, "completed"), words)
        self.assertEqual(world.difference(), {})

    def test_a_secret_that_cannot_sign_is_a_matter_of_keys(self):
        for exchange in ("kraken", "coinbase"):
            world = self.world(providers=(exchange,), platform=exchange)
            folded = world.sim.keys()[exchange]["secret"].replace("\n", "\\n")
            given = f"    api_secret: '{folded}'\n"
            for secret in ("    api_secret: 'what is this?'\n", ""):
                self.configure(world, given, secret or "    enabled: true\n")
                done = self.command(world, "import", world.account)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"providers.{exchange}.api_key and api_secret", done.stderr)
                given = secret

    def test_a_key_is_in_no_file_and_in_no_word(self):
        world = self.world()
        self.configure(world, "api_key: k\n", f"api_key: {CANARY}\n")
        world.sim.arm("name=ledger_http&after=2&count=2")  # failures are talked about
        done = self.command(world, "import", world.account)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [done.stdout, done.stderr, self.command(world, "providers").stdout]
        with Daemon(PROGRAMS[0], world.home, settings=("log.level=debug",),
                    config=world.configuration) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            code, _, words = world.run()
            self.assertEqual(code, 0, words)
            said += [words, daemon.words(), json.dumps(daemon.ask("GET", "/api/status"))]
        self.assertNotIn(CANARY, "".join(said))
        for path in glob.glob(os.path.join(world.home.folder, "*")):
            if os.path.isfile(path) and path != world.configuration:
                with open(path, "rb") as file:
                    self.assertNotIn(CANARY.encode(), file.read(), path)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
