# SPDX-License-Identifier: Apache-2.0
"""What comparable importers get wrong, as tests that `tidemark import` gets right: each is a defect
that was seen elsewhere. The numbers are those of the study of one of them.

  ledger_defects.py TIDEMARK TIDEMARK_SIM"""

import collections
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Home  # noqa: E402
from import_run import ImportRun  # noqa: E402
from ledger_world import World, shipped  # noqa: E402

PROGRAMS = sys.argv[1:3]
DEAD = "&count=1000000&lasts=1"
QUIET = ("--chain-burst", "0")
MADE_UP = """\
version: 1
provider: madeup
platforms:
  madeup: {}
identifier: none
base_url: https://tides.example
auth: {in: header, name: X-Tide, required: true}
priority: 10
rate: {per_second: 5}
responses:
- {when: {at: /trouble, exists: true}, do: next_provider}
streams:
  tides:
    request:
      path: /tides
      query: {since: $token, most: $size}
    order: asc
    page:
      by: token
      size: 20
      next: {from: last_record, at: /key}
      stop: [{flag: {at: /rest, in: ["0"]}}]
    resume: {kind: none}
    records: {at: /tides, shape: entries, key_as: key}
    map:
      hash: /key
      time: {at: /at_ms, cast: unix_ms}
      from: /giver
      to: /taker
      asset: {const: WATER}
      amount: /level
    count: {at: /all}
    identity: {of: [platform, hash]}
"""


class Repository(http.server.BaseHTTPRequestHandler):
    """Commits as they lie in a history, five a page, and issues by when something was said of them
    last, a hundred a page; after the pages with the numbers in `spoken`, something is."""
    commits, issues, spoken = [], {}, []
    asked = 0

    def list_issues(self, query):
        found = sorted((day, number) for number, day in Repository.issues.items()
                       if day >= query.get("since", ""))
        Repository.asked += 1
        if Repository.asked in Repository.spoken:  # once this page has been read
            Repository.issues[found[5][1]] = f"2025-01-01T00:00:{Repository.asked:02}Z"
        return [{"id": number, "number": number, "updated_at": day, "user": {"login": "a"}}
                for day, number in found]

    def do_GET(self):
        place, _, words = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(words))
        page = int(query.pop("page", 1))
        size, found = int(query.get("per_page", 30)), []
        if place.endswith("/commits"):
            size = 5
            found = [{"sha": sha, "commit": {"author": {"name": "a", "date": day}}}
                     for sha, day in Repository.commits]
        elif place.endswith("/issues"):
            found = self.list_issues(query)
        body = json.dumps(found[(page - 1) * size:page * size]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if page * size < len(found):
            more = urllib.parse.urlencode({**query, "page": page + 1})
            self.send_header("Link", f'<{self.server.address}{place}?{more}>; rel="next"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Defects(unittest.TestCase):
    maxDiff = 4000

    def world(self, providers, platform="ethereum", kind="sqlite", **more):
        home = Home(kind)
        self.addCleanup(home.__exit__)
        world = World(PROGRAMS, home, providers, platform, **more)
        self.addCleanup(world.__exit__)
        return world

    def complete(self, world):
        """An import that has to end well: how many rows were imported, and its requests."""
        before = len(world.requests())
        code, said, words = world.run()
        self.assertEqual((code, said and said["status"]), (0, "completed"), (said, words))
        self.assertEqual(world.difference(), {})
        return sum(stream["imported"] for stream in said["streams"]), world.requests()[before:]

    def add_rows(self, world, stream="normal"):
        """Mines until there is something new; how much."""
        before = len(world.true_rows(stream))
        while len(world.true_rows(stream)) < before + 5:
            world.sim.act("mine", 1)
        return len(world.true_rows(stream)) - before

    def owed(self, world):
        """What `tidemark owed` shows."""
        done = subprocess.run([world.tidemark, "owed", "--json", "-c", world.configuration],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def reset(self, world, account):
        subprocess.run([world.tidemark, "reset", account, "-c", world.configuration],
                       check=True, capture_output=True)

    def test_an_account_is_forgotten_however_its_address_is_written(self):
        world = self.world(("etherscan",), options=QUIET)
        self.complete(world)
        address = world.account.replace("ethereum:0x", "")
        self.reset(world, "ethereum:0x" + address.upper())
        self.assertEqual(world.home.select("SELECT stream FROM cursors"), [])

    def test_new_rows_of_newest_first_sources_are_found(self):
        # Exitbook 1.8.1
        for provider in ("blockstream", "mempool", "blockchaincom", "tatum", "blockcypher"):
            with self.subTest(provider=provider):
                world = self.world((provider,), "bitcoin", options=QUIET)
                first, _ = self.complete(world)
                self.assertGreater(first, 60)
                added = self.add_rows(world)
                self.assertEqual(self.complete(world)[0], added)

    def test_new_entries_of_kraken_are_found_although_it_is_paged_by_offset(self):
        # R003-56 R003-58 R003-59. Exitbook 1.8.2
        world = self.world(("kraken",), "kraken", options=QUIET)
        self.assertGreater(self.complete(world)[0], 120)
        added = self.add_rows(world)
        self.assertEqual(self.complete(world)[0], added)

    def test_an_exported_file_and_the_list_it_was_exported_from_are_one_history(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(("kraken",), "kraken", options=QUIET, kind=kind)
                path = os.path.join(world.home.folder, "ledgers.csv")
                names = "refid time type subtype aclass asset amount fee balance".split()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(",".join(["txid", *names]) + "\n")
                    for key, entry in list(world.sim.kraken(1)["result"]["ledger"].items())[::5]:
                        entry["time"] = time.strftime("%Y-%m-%d %H:%M:%S",
                                                      time.gmtime(float(entry["time"])))
                        file.write(",".join([key, *(str(entry.get(name, ""))
                                                    for name in names)]) + "\n")
                done = subprocess.run([world.tidemark, "import", "csv:" + path, "-c",
                                       world.configuration], capture_output=True, text=True,
                                      check=True)
                self.assertIn("10 new", done.stdout)
                total = len(world.true_rows("normal"))
                self.assertEqual(self.complete(world)[0], total - 10)
                self.assertEqual(self.complete(world)[0], 0)
                subprocess.run(done.args, check=True, capture_output=True)
                added = self.add_rows(world)
                self.assertEqual(self.complete(world)[0], added)

    def test_nonces_rise_although_the_clock_went_back(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                world = self.world(("kraken",), "kraken", options=QUIET, kind=kind)
                self.complete(world)
                # A process whose clock was an hour fast reserved these, and used one of them.
                (row,) = world.home.select("SELECT max(nonce) AS nonce FROM import_sessions")
                world.home.run_sql("UPDATE import_sessions SET nonce = nonce + 3600000;")
                used = row["nonce"] + 3600000
                self.assertEqual(world.sim.kraken(used)["error"], [])
                added = self.add_rows(world)
                self.assertEqual(self.complete(world)[0], added)
                self.assertEqual(world.sim.kraken(used + 1)["error"], ["EAPI:Invalid nonce"])
                (row,) = world.home.select("SELECT max(nonce) AS nonce FROM import_sessions")
                self.assertEqual(world.sim.kraken(row["nonce"] + 1)["error"], [])

    def test_a_dying_provider_with_a_token_in_its_hand_is_replaced(self):
        # R003-38 R003-45. Exitbook 1.8.3
        world = self.world(("moralis", "etherscan"), sizes={"moralis": 20})
        world.sim.arm("name=ledger_http&collection=moralis&after=6" + DEAD)
        self.complete(world)
        self.assertGreater(world.sim.fired("ledger_http"), 0)
        self.assertTrue(any("cursor" in request for request in world.requests("moralis")))
        self.assertEqual({row["provider_name"] for row in world.stored()}, {"moralis", "etherscan"})

    def test_the_rest_of_a_cut_block_is_not_lost(self):
        # Exitbook 1.8.6, and 1.8.16: internal calls as Blockscout spells them
        for provider in ("routescan", "blockscout"):
            world = self.world((provider,), sizes={provider: 30}, window=900)
            self.complete(world)

    def test_waiting_transactions_do_not_end_a_history(self):
        # Exitbook 1.8.7
        world = self.world(("blockstream",), "bitcoin", options=("--chain-mempool", "9"))
        self.complete(world)
        self.assertTrue(any(row["status"] == "pending" for row in world.stored()))

    def test_lists_without_keys_are_read_by_number_to_their_end(self):
        # Nodes of Cosmos never hand out a key, and a page after the last full one is an error.
        for size in (1, 7, 20, 50):
            with self.subTest(size=size):
                world = self.world(("cosmos",), "cosmoshub", sizes={"cosmos": size}, options=QUIET)
                self.assertGreater(self.complete(world)[0], 50)
                added = self.add_rows(world)
                self.assertEqual(self.complete(world)[0], added)

    def test_what_came_later_on_a_day_is_found_although_a_day_is_left_out(self):
        # NearBlocks shows what came after a day, not what came on it.
        world = self.world(("nearblocks",), "near", options=QUIET)
        self.complete(world)
        added = self.add_rows(world)
        self.assertEqual(self.complete(world)[0], added)

    def test_what_another_stream_has_shown_to_wait_is_not_missing(self):
        # One lists what waits apart, the other counts it with the rest.
        world = self.world(("blockstream", "blockchaincom"), "bitcoin",
                           options=("--chain-mempool", "9"))
        self.complete(world)
        self.assertTrue(any(row["stream"] == "mempool" for row in world.stored()))
        code, said, words = world.run("--provider", "blockchaincom")
        self.assertEqual((code, said["status"]), (0, "completed"), (said, words))
        self.assertEqual(world.difference(), {})

    def test_the_last_row_of_all_gets_into_a_block_again(self):
        # A reorganisation put it back to those that wait, which are another stream's.
        world = self.world(("blockstream",), "bitcoin", options=QUIET)
        while True:  # the newest is the last of a first page that is not full
            self.complete(world)
            (account,) = world.home.select("SELECT last_cursor FROM accounts")
            last = json.loads(account["last_cursor"])["normal"]["lastTransactionId"]
            (row,) = world.home.select("SELECT block, (SELECT max(block) FROM raw_transactions) AS "
                                       f"top FROM raw_transactions WHERE event_id = x'{last}'")
            if row["top"] - row["block"] < 6:
                break
            self.add_rows(world)
        world.home.run_sql("UPDATE raw_transactions SET stream = 'mempool', status = 'pending', "
                           f"block = NULL WHERE event_id = x'{last}';")
        self.complete(world)

    def repository(self):
        """An import of what `Repository` shows."""
        Repository.commits, Repository.issues, Repository.spoken, Repository.asked = [], {}, (), 0
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        server.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = Home("sqlite")
        self.addCleanup(home.__exit__)
        run = ImportRun(PROGRAMS[0], home)
        run.account = "github:owner/name"
        folder = os.path.join(home.folder, "connectors")
        os.mkdir(folder)
        with open(os.path.join(folder, "github.yaml"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^rate:.*$", "rate: {per_second: 1000, burst: 1000}",
                              shipped("github"), flags=re.M))
        run.configure(["store:", f"  url: {home.url}", f"  data_dir: {home.folder}", "ledger:",
                       f"  connectors: {folder}", "providers:",
                       "  github:", f"    base_url: {server.address}"])
        return run

    def test_issues_of_which_something_is_said_meanwhile_hide_no_others(self):
        run = self.repository()
        days = {1000 + i: f"2024-01-01T00:{i // 60:02}:{i % 60:02}Z" for i in range(350)}
        at_once = {2000 + i: "2024-01-02T00:00:00Z" for i in range(250)}  # more than a page
        Repository.issues, Repository.spoken = {**days, **at_once}, (1, 2)
        for _ in range(2):
            code, said, words = run.run()
            self.assertEqual(code, 0, (said, words))
            self.assertEqual(sorted(int(row["hash"]) for row in run.stored()),
                             sorted(Repository.issues))
        self.assertLessEqual(Repository.asked, 9)

    def test_commits_that_a_merge_brings_are_found_below_those_that_are_known(self):
        run = self.repository()
        main = [(f"m{day:02}", f"2024-01-{day:02}T00:00:00Z") for day in range(20, 0, -1)]
        branch = [("b2", "2024-01-06T00:00:00Z"), ("b1", "2024-01-05T00:00:00Z")]
        ahead = ("ahead", "2099-01-01T00:00:00Z")
        for commits in (main, [ahead] + main[:3] + branch + main[3:],
                        [("next", "2024-01-21T00:00:00Z"), ahead] + main[:3] + branch + main[3:]):
            Repository.commits = commits
            code, said, words = run.run()
            self.assertEqual(code, 0, (said, words))
            self.assertEqual(sorted(row["hash"] for row in run.stored()),
                             sorted(sha for sha, _ in commits))

    def test_what_failed_stays_so_when_somebody_shows_it_who_does_not_tell(self):
        world = self.world(("etherscan", "alchemy"))
        self.complete(world)
        failed = sorted(row["hash"] for row in world.stored() if row["status"] == "failed")
        self.assertGreater(len(failed), 0)
        self.reset(world, world.account)
        code, said, words = world.run("--provider", "alchemy")
        self.assertEqual(code, 0, (said, words))
        self.assertEqual(sum(stream["imported"] for stream in said["streams"]), 0)
        self.assertEqual(failed, sorted(
            row["hash"] for row in world.stored() if row["status"] == "failed"))

    def test_a_finished_history_of_two_lists_is_asked_for_again_and_stays_finished(self):
        # Exitbook 1.8.9
        world = self.world(("cosmos",), "cosmoshub")
        self.complete(world)
        for _ in range(2):
            imported, requests = self.complete(world)
            self.assertEqual(imported, 0)
            self.assertEqual(len(requests), 2, requests)  # one of each list
        added = self.add_rows(world)
        self.assertEqual(self.complete(world)[0], added)

    def test_a_detail_that_is_not_there_does_not_drop_its_transaction(self):
        # Exitbook 1.8.11
        for provider, platform in (("solana", "solana"), ("blockcypher", "bitcoin"),
                                   ("blockfrost", "cardano")):
            with self.subTest(provider=provider):
                world = self.world((provider,), platform, options=QUIET)
                world.sim.arm(f"name=ledger_null&collection={provider}/detail&after=3&count=2")
                code, said, words = world.run()
                self.assertIn(code, (0, 4), (said, words))
                self.assertEqual(world.sim.fired("ledger_null"), 2)
                self.assertEqual(len(self.owed(world)), 2)
                before = len(world.stored())
                imported, _ = self.complete(world)  # what is owed comes, and nothing is new
                self.assertEqual((imported, len(world.stored())), (0, before))
                self.assertEqual(self.owed(world), [])
                parts = world.home.select("SELECT provider_data FROM raw_transactions")
                self.assertEqual([part for part in parts
                                  if '"detail"' not in str(part["provider_data"])], [])

    def test_streams_read_through_different_providers_have_no_holes(self):
        # Exitbook 1.8.12
        world = self.world(("moralis", "etherscan"), sizes={"moralis": 30})
        world.sim.arm("name=ledger_http&collection=etherscan/normal" + DEAD)
        self.complete(world)

    def test_a_page_that_was_too_short_is_found_by_counting(self):
        for provider, platform in (("subscan", "polkadot"), ("blockstream", "bitcoin"),
                                   ("blockchaincom", "bitcoin")):
            with self.subTest(provider=provider):
                world = self.world((provider,), platform, options=QUIET)
                world.sim.arm(f"name=ledger_partial&collection={provider}")
                code, said, words = world.run()
                self.assertIn(code, (0, 4), (said, words))
                self.assertEqual(world.sim.fired("ledger_partial"), 1)
                self.add_rows(world)
                self.complete(world)

    def test_a_page_that_was_too_short_is_found_by_what_follows_it(self):
        for provider, platform in (("tatum", "bitcoin"), ("solana", "solana")):
            with self.subTest(provider=provider):
                world = self.world((provider,), platform, options=QUIET, sizes={provider: 20})
                world.sim.arm(f"name=ledger_partial&collection={provider}/normal&after=1")
                self.complete(world)
                self.assertEqual(world.sim.fired("ledger_partial"), 1)

    def test_a_kill_between_two_lists_loses_neither(self):
        killed = 0
        for provider, platform, size in (("alchemy", "ethereum", 1000),
                                         ("cosmos", "cosmoshub", 100)):  # more it does not give
            for page in (1, 2, 3, 4):  # each list is one page, or two
                with self.subTest(provider=provider, page=page):
                    world = self.world((provider,), platform, sizes={provider: size})
                    killed += world.run(crash_at=f"ledger_page_stored:{page}")[0] == -9
                    self.complete(world)
        self.assertGreaterEqual(killed, 4)

    def test_an_exhausted_direction_is_not_begun_again(self):
        # Exitbook 1.8.13
        world = self.world(("alchemy",), sizes={"alchemy": 20})
        self.complete(world)
        first = collections.Counter()
        for request in world.requests():
            body = json.loads(request["body"])
            if body["method"] == "alchemy_getAssetTransfers" and "pageKey" not in body["params"][0]:
                side = "from" if "fromAddress" in body["params"][0] else "to"
                first[side, body["params"][0]["category"][0]] += 1
        self.assertEqual(len(first), 6)
        self.assertEqual(set(first.values()), {1}, first)

    def test_an_empty_page_after_a_full_one_is_checked_with_another_provider(self):
        for providers, platform in ((("tatum", "blockchaincom"), "bitcoin"),
                                    (("solana", "helius"), "solana")):
            with self.subTest(providers=providers):
                world = self.world(providers, platform, options=QUIET,
                                   sizes={name: 20 for name in providers})
                world.sim.arm(f"name=ledger_empty&collection={providers[0]}/normal&after=1")
                self.complete(world)
                self.assertEqual(world.sim.fired("ledger_empty"), 1)

    def test_an_empty_list_beside_a_full_one_is_asked_for_again(self):
        for after in range(6):  # the first pages of two directions of three lists
            with self.subTest(after=after):
                world = self.world(("alchemy", "etherscan"), sizes={"alchemy": 20})
                world.sim.arm(f"name=ledger_empty&collection=alchemy&after={after}")
                world.run(crash_at="after_commit:9")
                self.complete(world)
                self.assertEqual(world.sim.fired("ledger_empty"), 1)

    def test_a_token_that_expires_costs_nothing(self):
        for provider in ("moralis", "alchemy"):
            with self.subTest(provider=provider):
                world = self.world((provider,), sizes={provider: 20})
                world.sim.arm(f"name=ledger_expire&collection={provider}&after=2&count=2")
                self.complete(world)
                self.assertEqual(world.sim.fired("ledger_expire"), 2)

    def test_a_waiting_transaction_is_confirmed_when_it_was_mined(self):
        # Exitbook 1.8.14
        for providers in (("blockchaincom",), ("blockstream",), ("tatum", "blockcypher")):
            with self.subTest(providers=providers):
                world = self.world(providers, "bitcoin", options=("--chain-mempool", "9"))
                self.complete(world)
                world.sim.act("mempool", 9)
                self.complete(world)  # nothing else is new: the last row that came waits
                waiting = {row["hash"] for row in world.stored() if row["status"] == "pending"}
                self.assertGreater(len(waiting), 0)
                world.sim.act("mine", 12)
                self.complete(world)
                after = {row["hash"]: row["status"] for row in world.stored()}
                self.assertEqual({after[name] for name in waiting}, {"confirmed"})

    def test_a_provider_nobody_has_needs_only_its_description(self):
        # R003-37
        world = self.world((), "madeup")
        world.providers = ("madeup",)
        with open(os.path.join(world.folder, "madeup.yaml"), "w", encoding="utf-8") as file:
            file.write(MADE_UP.replace("per_second: 5", "per_second: 1000, burst: 100"))
        world.write_configuration()
        self.assertGreater(self.complete(world)[0], 100)
        added = self.add_rows(world)
        self.assertEqual(self.complete(world)[0], added)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
