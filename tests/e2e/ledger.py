# SPDX-License-Identifier: Apache-2.0
"""`tidemark import` against simulated explorers, on both stores: what is stored is what exists,
each row once, through whoever answers.

  ledger.py TIDEMARK TIDEMARK_SIM"""

import collections
import json
import math
import os
import signal
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Home, wait_until  # noqa: E402
from ledger_world import EVM_STREAMS, SHOWN_BY, World  # noqa: E402

PROGRAMS = sys.argv[1:3]
ACTIONS = {"txlist": "normal", "txlistinternal": "internal", "tokentx": "token",
           "txsBeaconWithdrawal": "beacon"}
EXPLORERS = ("etherscan", "routescan", "blockscout")
REPLAY_BLOCKS = 2
DEAD = "&count=1000000&lasts=1"


class Case(unittest.TestCase):
    maxDiff = 4000

    def world(self, providers, kind="sqlite", **more):
        home = Home(kind)
        self.addCleanup(home.__exit__)
        world = World(PROGRAMS, home, providers, **more)
        self.addCleanup(world.__exit__)
        return world

    def complete(self, world, *options):
        """An import that has to end well; what it said."""
        code, said, words = world.run(*options)
        self.assertEqual((code, said and said["status"]), (0, "completed"), (said, words))
        self.assertEqual(world.difference(), {})
        self.assertEqual(world.sessions()[-1], "completed")
        self.assertTrue(all(stream["complete"] for stream in said["streams"]), said)
        return said

    def imported(self, said):
        return {stream["stream"]: stream["imported"] for stream in said["streams"]}


class FirstImport(Case):
    def test_what_is_stored_is_what_exists_on_both_stores(self):
        # R003-31 R003-54
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(("etherscan",), kind=kind)
                said = self.complete(world)
                for stream in EVM_STREAMS:
                    self.assertEqual(self.imported(said)[stream], len(world.true_rows(stream)))

    def test_a_first_import_makes_few_requests_and_an_idle_one_a_single_one_per_stream(self):
        world = self.world(("etherscan",), options=("--chain-blocks", "400"))
        self.complete(world)
        asked = collections.Counter(ACTIONS.get(r.get("action")) for r in world.requests())
        for stream in EVM_STREAMS:
            pages = math.ceil(len(world.true_rows(stream)) / 1000)
            self.assertLessEqual(asked[stream], pages + 2, stream)
        before = len(world.requests())
        said = self.complete(world)
        again = world.requests()[before:]
        self.assertEqual(sorted(ACTIONS[r["action"]] for r in again), sorted(EVM_STREAMS), again)
        self.assertEqual(set(self.imported(said).values()), {0})

    def test_pages_that_cut_blocks_lose_nothing(self):
        # R003-47; pages are so small that some blocks take several
        world = self.world(("etherscan",), sizes={"etherscan": 10}, window=200,
                           options=("--chain-blocks", "300", "--chain-burst", "12"))
        self.complete(world)
        self.assertTrue(any("page" in r and int(r["page"]) > 1 for r in world.requests()))

    def test_a_history_of_exactly_full_pages_is_complete_and_stays_so(self):
        # Exitbook 1.8.8
        world = self.world(("etherscan",))
        size = len(world.true_rows("normal"))
        world.write_connectors({"etherscan": size}, 10000)
        self.complete(world)
        said = self.complete(world)
        self.assertEqual(set(self.imported(said).values()), {0})

    def test_an_account_without_a_history_is_complete_and_found_later(self):
        # R003-29
        world = self.world(("etherscan", "routescan"), options=(
            "--chain-blocks", "1", "--chain-density", "0", "--chain-burst", "0"))
        code, said, words = world.run()
        self.assertEqual(code, 0, (said, words))
        world.sim.act("mempool", 40)
        world.sim.act("mine", 8)
        self.complete(world)
        self.assertGreater(len(world.true_rows("normal")), 0)


class EveryProvider(Case):
    """Whoever is asked: a batch says of which stream it is, what came, where the stream stands and
    whether that is all."""

    def rows_form(self, world):
        """The one form of all rows."""
        rows = world.home.select(
            "SELECT stream, provider_name, length(event_id) AS id_len, status, normalized_data,"
            " CASE WHEN provider_data IS NULL THEN 0 ELSE 1 END AS raw FROM raw_transactions")
        forms = set()
        for row in rows:
            data = row["normalized_data"]
            data = json.loads(data) if isinstance(data, str) else data
            forms.add((row["id_len"], row["raw"], tuple(sorted(data))))
            self.assertIn(row["status"], ("pending", "confirmed", "failed"))
        self.assertEqual(len(forms), 1, forms)
        return forms.pop()

    def check_streams(self, world, said):
        provider, = world.providers
        stored = {row["stream"]: row["state"] for row in world.home.select(
            f"SELECT stream, state FROM cursors WHERE source = '{world.account}'")}
        batches = {row["stream"]: row["batches"]
                   for row in world.home.select("SELECT stream, batches FROM session_streams")}
        self.assertEqual(set(stored), {stream["stream"] for stream in said["streams"]})
        for stream in said["streams"]:
            state = stored[stream["stream"]]
            state = json.loads(state) if isinstance(state, str) else state
            self.assertEqual(stream["provider"], provider)
            self.assertEqual(state["metadata"]["providerName"], provider)
            self.assertIs(state["metadata"]["isComplete"], stream["complete"])
            self.assertIn("value", state["primary"])
            self.assertGreaterEqual(state["totalFetched"], stream["imported"])
            self.assertGreaterEqual(batches[stream["stream"]], 1)

    def test_batches_of_all_providers_have_one_form(self):
        # R003-19 R003-20 R003-32
        forms = collections.defaultdict(list)
        for platform, providers in SHOWN_BY.items():
            for provider in providers:
                with self.subTest(provider=provider):
                    world = self.world((provider,), platform=platform)
                    self.check_streams(world, self.complete(world))
                    forms[self.rows_form(world)].append(provider)
        self.assertEqual(len(forms), 1, forms)
        self.assertEqual(len(list(forms.values())[0]), sum(map(len, SHOWN_BY.values())))


class Parts(Case):
    """Streams in parts that the source lists: wallets, token accounts."""

    def test_what_moved_only_tokens_is_found_below_the_token_accounts(self):
        # Exitbook 1.8.11: those of Token-2022 were left out.
        world = self.world(("solana",), platform="solana", sizes={"solana": 7})
        self.complete(world)
        alone = ({row["hash"] for row in world.sim.truth(world.account, "token")}
                 - {row["hash"] for row in world.sim.truth(world.account, "normal")})
        streams = {row["hash"]: row["stream"] for row in world.stored()}
        self.assertEqual({streams[hash] for hash in alone}, {"token", "token_2022"})
        first = len(world.requests())
        said = self.complete(world)
        self.assertEqual(set(self.imported(said).values()), {0})
        self.assertLess(len(world.requests()) - first, first // 2)

    def test_a_part_that_is_listed_later_is_read_to_its_beginning(self):
        world = self.world(("solana",), platform="solana", sizes={"solana": 7})
        world.sim.arm("name=ledger_partial&collection=solana/tokens&count=2")
        self.assertEqual(world.run()[0], 0)
        self.assertNotEqual(world.difference(), {})
        self.complete(world)
        world.sim.act("mine", 20)
        self.complete(world)

    def test_an_exchange_is_asked_for_what_is_new_only(self):
        world = self.world(("coinbase",), platform="coinbase", options=("--chain-blocks", "400"))
        self.complete(world)
        pages = math.ceil(len(world.true_rows("normal")) / 100)
        self.assertGreater(pages, 2)
        self.assertEqual(len(world.requests()), 1 + pages + 1)  # the list, and an empty wallet
        for blocks in (0, 5):
            world.sim.act("mine", blocks)
            before, known = len(world.requests()), len(world.stored())
            self.complete(world)
            self.assertEqual(len(world.requests()) - before, 3)  # the list, and each wallet once
            self.assertEqual(len(world.stored()) > known, blocks > 0)


class NextImport(Case):
    def test_new_blocks_are_found_and_nothing_else_is_imported(self):
        world = self.world(("etherscan",))
        self.complete(world)
        before = {stream: len(world.true_rows(stream)) for stream in EVM_STREAMS}
        world.sim.act("mine", 60)
        said = self.complete(world)
        for stream in EVM_STREAMS:
            self.assertEqual(self.imported(said)[stream],
                             len(world.true_rows(stream)) - before[stream])

    def test_what_a_reorganisation_took_is_marked_and_what_came_back_is_not(self):
        for seed, providers in ((1, EXPLORERS[:1]), (2, EXPLORERS[:1]), (34, EXPLORERS[:2])):
            with self.subTest(seed=seed, providers=providers):
                world = self.world(providers, options=("--chain-seed", str(seed)))
                self.complete(world)
                world.sim.act("reorg", 6)
                self.complete(world)
                alive = {row["hash"] for row in world.true_rows("normal")}
                gone = [row for row in world.true_rows("normal", orphaned=1)
                        if row["hash"] not in alive]
                marked = [row for row in world.stored()
                          if row["status"] == "orphaned" and row["stream"] == "normal"]
                self.assertEqual({row["hash"] for row in gone}, {row["hash"] for row in marked})


    def test_what_was_not_shown_for_a_while_is_there_again(self):
        world = self.world(("etherscan",))
        self.complete(world)
        world.sim.arm("name=ledger_lag&collection=etherscan&bytes=8&count=1000")
        code, said, words = world.run()
        self.assertEqual(code, 0, (said, words))
        self.assertGreater(world.sim.fired("ledger_lag"), 0)
        self.assertEqual([row for row in world.stored() if row["status"] == "orphaned"], [])
        world.sim.ask("DELETE", "/_sim/fault")
        self.complete(world)

    def test_rows_between_pages_that_moved_are_not_lost(self):
        """What is newest is not shown for a page, and all that follows has another number."""
        world = self.world(("blockchaincom",), platform="bitcoin", sizes={"blockchaincom": 10})
        self.assertGreater(len(world.true_rows("normal")), 30)
        world.sim.arm("name=ledger_lag&collection=blockchaincom&bytes=30&after=2&count=1")
        self.complete(world)
        self.assertEqual(world.sim.fired("ledger_lag"), 1)


class Switching(Case):
    def first_requests(self, world, provider):
        """The first request of each stream."""
        found = {}
        for request in world.requests(provider):
            if request.get("action") in ACTIONS:
                found.setdefault(ACTIONS[request["action"]], request)
        return found

    def test_the_next_provider_begins_where_the_last_one_was_less_the_window(self):
        # R003-40 R003-41 R003-47
        world = self.world(("etherscan", "routescan"), sizes={"etherscan": 20},
                           options=("--chain-blocks", "300"))
        world.sim.arm("name=ledger_http&collection=etherscan/token&after=2" + DEAD)
        self.complete(world)
        self.assertGreater(world.sim.fired("ledger_http"), 0)
        rows = [row for row in world.stored()
                if row["stream"] == "token" and row["provider_name"] == "etherscan"]
        position = max(row["block"] for row in rows)
        asked = [r for r in world.requests("routescan") if r["action"] == "tokentx"]
        self.assertEqual(int(asked[0]["startblock"]), position - REPLAY_BLOCKS)
        starts = [int(r["startblock"]) for r in asked if r.get("page", "1") == "1"]
        self.assertEqual(starts.count(position - REPLAY_BLOCKS), 1)
        self.assertTrue(all(start >= position - REPLAY_BLOCKS for start in starts), starts)

    def test_equal_transfers_are_stored_as_often_as_there_are_through_all_explorers(self):
        # R003-54, Exitbook 1.8.4: providers disagree about the ids of internal calls
        world = self.world(EXPLORERS, sizes={"etherscan": 20, "routescan": 30},
                           options=("--chain-blocks", "300"))
        for stream in ("normal", "internal", "token"):
            world.sim.arm(f"name=ledger_http&collection=etherscan/{stream}&after=1&count=3&lasts=1")
            world.run()
        world.sim.ask("DELETE", "/_sim/fault")
        self.complete(world)
        rows = [world.key(row) for row in world.stored() if row["stream"] == "token"]
        self.assertGreater(max(collections.Counter(rows).values()), 1)

    def test_who_is_asked_after_one_that_gave_too_little_reads_it_all(self):
        world = self.world(("blockstream", "tatum"), platform="bitcoin")
        self.assertGreater(len(world.true_rows("normal")), 250)
        world.sim.arm("name=ledger_partial&collection=blockstream&after=8&count=1")
        self.complete(world)
        self.assertEqual(world.sim.fired("ledger_partial"), 1)
        self.assertGreater(len(world.requests("tatum")), 0)

    def test_an_empty_answer_where_rows_are_known_is_not_believed(self):
        world = self.world(("etherscan", "routescan"))
        self.complete(world)
        world.sim.act("mine", 30)
        world.sim.arm("name=ledger_empty&collection=etherscan/token&count=1000")
        self.complete(world)
        self.assertGreater(world.sim.fired("ledger_empty"), 0)
        self.assertEqual([row for row in world.stored() if row["status"] == "orphaned"], [])

    def test_every_misfortune_alone_changes_nothing(self):
        # R003-18 R003-42
        for plan in ("http&status=500", "http&status=429&retry_after=1", "http&status=0",
                     "http&status=200", "error", "truncate", "partial", "insert&bytes=3", "trace"):
            with self.subTest(plan=plan):
                world = self.world(EXPLORERS, sizes={name: 25 for name in EXPLORERS})
                world.sim.arm(f"name=ledger_{plan}&collection=etherscan&after=2")
                code, said, words = world.run()
                self.assertEqual(code, 0, (said, words))
                self.assertGreater(world.sim.fired("ledger_" + plan.split("&")[0]), 0)
                self.complete(world)

    def test_a_key_that_all_refuse_ends_the_import_with_what_to_do(self):
        # R003-43
        for status in (401, 403):
            with self.subTest(status=status):
                world = self.world(("etherscan", "moralis"))
                world.sim.arm(f"name=ledger_http&status={status}" + DEAD)
                code, said, words = world.run()
                self.assertEqual((code, said["status"]), (3, "failed"), (said, words))
                self.assertIn(f"etherscan: HTTP {status}; moralis: HTTP {status} (auth)", words)
                self.assertIn("providers.etherscan.api_key or providers.moralis.api_key", words)
                self.assertLessEqual(len(world.requests()), 2 * len(EVM_STREAMS))
                world.sim.ask("DELETE", "/_sim/fault")
                self.complete(world)

    def test_who_waits_for_the_dead_can_stop_and_go_on_later(self):
        # R003-27 R003-43
        world = self.world(("etherscan", "routescan"), sizes={"etherscan": 25, "routescan": 25})
        world.sim.arm("name=ledger_http&after=6" + DEAD)
        process = world.begin()
        wait_until(lambda: world.sim.fired("ledger_http") > 0, "the dead")
        process.send_signal(signal.SIGINT)
        code, said, words = world.end(process)
        self.assertEqual((code, said["status"]), (130, "cancelled"), (said, words))
        self.assertEqual(world.sessions(), ["cancelled"])
        stored = len(world.stored())
        self.assertGreater(stored, 0)
        world.sim.ask("DELETE", "/_sim/fault")
        said = self.complete(world)
        self.assertEqual(sum(self.imported(said).values()) + stored, len(world.stored()))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
