# SPDX-License-Identifier: Apache-2.0
"""The simulated chain on the wires of explorers of Ethereum: every page of every provider read by a
plain client adds up to the truth, and each misfortune happens when it was planned."""

import collections
import http.client
import json
import sys
import unittest
import urllib.parse

from ledger_client import Ledger

SIM = sys.argv.pop(1)
STREAMS = {"normal": "txlist", "internal": "txlistinternal", "token": "tokentx",
           "beacon": "txsBeaconWithdrawal"}


def told(row):
    """A row of the truth, as everybody has to tell it."""
    return (row["hash"], row["from"], row["to"], row["amount"], row["block"], row["status"])


def shown(row):
    """The same of an explorer's row."""
    failed = row.get("isError", "0") == "1"
    return (row.get("hash", row.get("transactionHash", "")), row.get("from", ""),
            row.get("to", row.get("address")), row["value"] if "value" in row
            else row["amount"] + "000000000", int(row["blockNumber"]),
            "failed" if failed else "confirmed")


class SimLedger(unittest.TestCase):
    def explore(self, sim, provider, stream, address, size):
        """The whole history, walked by block as the window asks for."""
        rows, start, page, window = collections.Counter(), 0, 1, 60
        while True:
            answer = sim.explorer(provider, action=STREAMS[stream], address=address, offset=size,
                                  page=page, startblock=start)
            found = answer["result"]
            block = collections.Counter(shown(row) for row in found)
            if page == 1:  # the block a page was cut in is read again from its beginning
                rows = collections.Counter({row: n for row, n in rows.items() if row[4] < start})
            rows += block
            if len(found) < size:
                return rows
            page += 1
            if page * size > window:
                start, page = int(found[-1]["blockNumber"]), 1

    def compare(self, rows, truth):
        self.assertEqual(collections.Counter(rows), collections.Counter(told(row) for row in truth))

    def test_every_explorer_tells_the_truth_page_by_page(self):
        for seed in range(1, 5):
            with Ledger(SIM, "--chain-seed", str(seed), "--chain-window", "60",
                        "--chain-burst", "9") as sim:
                address = sim.accounts()[seed % 2]["ethereum"]
                for provider in ("etherscan", "routescan", "blockscout"):
                    for stream in ("normal", "internal", "token"):
                        truth = sim.truth("ethereum:" + address, stream)
                        self.assertGreater(len(truth), 20)
                        for size in (20, 30):
                            self.compare(self.explore(sim, provider, stream, address, size), truth)
                truth = sim.truth("ethereum:" + address, "beacon")
                self.compare(self.explore(sim, "etherscan", "beacon", address, 20), truth)

    def test_the_chain_has_ties_crowds_and_deserts(self):
        with Ledger(SIM, "--chain-blocks", "400") as sim:
            address = sim.accounts()[0]["ethereum"]
            tokens = sim.truth("ethereum:" + address, "token")
            equal = collections.Counter(told(row) + (row["asset"],) for row in tokens)
            self.assertGreater(max(equal.values()), 1)
            by_block = collections.Counter(row["block"] for row in tokens)
            self.assertGreater(max(by_block.values()), 20)
            blocks = sorted(by_block)
            self.assertGreater(max(b - a for a, b in zip(blocks, blocks[1:])), 20)
            normal = sim.truth("ethereum:" + address, "normal")
            self.assertTrue(any(row["from"] == row["to"] for row in normal))
            self.assertTrue(any(row["to"] == "" for row in normal))
            self.assertTrue(any(int(row["amount"]) > 2**64 for row in normal))
            self.assertEqual(sim.truth("ethereum:" + address, "normal"), normal)
            again = self.explore(sim, "etherscan", "normal", address, 30)
            self.compare(again, normal)

    def test_quirks_of_explorers(self):
        with Ledger(SIM) as sim:
            address = sim.accounts()[0]["ethereum"]
            nobody = "0x" + "00" * 20
            self.assertEqual(sim.explorer("etherscan", action="txlist", address=nobody), {
                "status": "0", "message": "No transactions found", "result": []})
            self.assertEqual(sim.explorer("routescan", action="txlist", address=nobody), {
                "status": "1", "message": "OK", "result": []})
            self.assertEqual(sim.explorer("routescan", action="txlistinternal", address=nobody)
                             ["status"], "0")
            self.assertEqual(sim.explorer("blockscout", action="tokentx", address=nobody)
                             ["message"], "No token transfers found")
            wide = sim.explorer("etherscan", action="txlist", address=address, page=11, offset=1000)
            self.assertIn("Result window is too large", wide["message"])
            self.assertEqual(sim.explorer("etherscan", action="txlist", address=address, apikey="")
                             ["result"], "Missing/Invalid API Key")
            self.assertEqual(sim.explorer("routescan", action="txsBeaconWithdrawal",
                                          address=address)["status"], "0")
            traces = []
            for provider, key in (("etherscan", "traceId"), ("routescan", "traceId"),
                                  ("blockscout", "index")):
                row = sim.explorer(provider, action="txlistinternal", address=address)["result"][0]
                traces.append((provider, row[key]))
            self.assertNotEqual(traces[0][1], traces[1][1])
            asc = sim.explorer("etherscan", action="txlist", address=address)["result"]
            desc = sim.explorer("etherscan", action="txlist", address=address, sort="desc")
            self.assertEqual(desc["result"], asc[::-1])
            head = sim.explorer("etherscan", module="proxy", action="eth_blockNumber")["result"]
            self.assertEqual(int(head, 16), sim.act("mine", 0)["head"])

    def read_moralis(self, sim, address):
        found, cursor = [], None
        while True:
            status, _, body = sim.moralis(address, **({"cursor": cursor} if cursor else {}))
            self.assertEqual(status, 200)
            page = json.loads(body)
            found += page["result"]
            cursor = page["cursor"]
            if cursor is None:
                return found

    def test_moralis_tells_the_truth_in_snapshots(self):
        with Ledger(SIM, "--chain-burst", "15") as sim:
            address = sim.accounts()[1]["ethereum"]
            found = self.read_moralis(sim, address)
            hashes = [row["hash"] for row in found]
            self.assertEqual(len(hashes), len(set(hashes)))
            self.compare(
                [(row["hash"], row["from_address"], row["to_address"] or "", row["value"],
                  int(row["block_number"]), "confirmed" if row["receipt_status"] == "1"
                  else "failed") for row in found if address in (row["from_address"],
                                                                 row["to_address"])],
                sim.truth("ethereum:" + address, "normal"))
            for stream, part, side in (("token", "erc20_transfers", "_address"),
                                       ("internal", "internal_transactions", "")):
                self.compare(
                    [(row["hash"], move["from" + side], move["to" + side], move["value"],
                      int(row["block_number"]), "confirmed")
                     for row in found for move in row[part]],
                    sim.truth("ethereum:" + address, stream))
            cursor = json.loads(sim.moralis(address)[2])["cursor"]
            sim.act("mine", 30)
            page = json.loads(sim.moralis(address, cursor=cursor)[2])
            self.assertEqual(page["result"], found[7:14])
            self.assertEqual(sim.moralis(address, cursor=cursor, limit=8)[0], 400)
            sim.act("expire_tokens")
            self.assertEqual(sim.moralis(address, cursor=cursor)[0], 400)
            self.assertEqual(sim.call("GET", f"/moralis/wallets/{address}/history")[0], 401)

    def read_alchemy(self, sim, category, order, **sides):
        found, key = [], {}
        while True:
            page = sim.alchemy("alchemy_getAssetTransfers", {
                "category": category, "maxCount": "0x9", "fromBlock": "0x0", "order": order,
                "excludeZeroValue": False, "withMetadata": True, **sides, **key})["result"]
            found += page["transfers"]
            if "pageKey" not in page:
                return found
            key = {"pageKey": page["pageKey"]}

    def test_alchemy_tells_the_truth_from_both_sides(self):
        with Ledger(SIM, "--chain-burst", "15") as sim:
            address = sim.accounts()[0]["ethereum"]
            for stream, category in (("normal", ["external"]), ("internal", ["internal"]),
                                     ("token", ["erc20", "erc721"])):
                sent = self.read_alchemy(sim, category, "asc", fromAddress=address)
                got = self.read_alchemy(sim, category, "desc", toAddress=address)
                rows = [(row["hash"], row["from"], row["to"] or "",
                         str(int(row["rawContract"]["value"], 16)), int(row["blockNum"], 16))
                        for row in sent + [row for row in got if row["from"] != address]]
                self.assertEqual(collections.Counter(rows), collections.Counter(
                    told(row)[:5] for row in sim.truth("ethereum:" + address, stream)))
                numbers = [int(row["blockNum"], 16) for row in sent]
                self.assertEqual(numbers, sorted(numbers))
            some = sim.alchemy("alchemy_getAssetTransfers", {
                "category": ["external"], "fromAddress": address, "maxCount": "0x3"})["result"]
            self.assertTrue(all(row["value"] > 0 for row in some["transfers"]))
            bad = sim.alchemy("alchemy_getAssetTransfers", {
                "category": ["external"], "fromAddress": address, "pageKey": some["pageKey"]})
            self.assertIn("expired", bad["error"]["message"])

    def test_reorganisations_lose_and_keep(self):
        for seed in range(1, 6):
            with Ledger(SIM, "--chain-seed", str(seed)) as sim:
                address = "ethereum:" + sim.accounts()[0]["ethereum"]
                before = sim.truth(address, "normal")
                withdrawals = sim.truth(address, "beacon")
                head = sim.act("mine", 0)["head"]
                self.assertEqual(sim.act("reorg", 6), {"head": head + 1, "forks": 1})
                after = sim.truth(address, "normal")
                gone = sim.truth(address, "normal", orphaned=1)
                old = [row for row in before if row["block"] <= head - 6]
                self.assertEqual(after[:len(old)], old)
                self.assertEqual([row["hash"] for row in gone],
                                 [row["hash"] for row in before[len(old):]])
                self.assertTrue(all(row["block"] > head - 6 for row in after[len(old):]))
                self.compare(self.explore(sim, "etherscan", "normal", address[9:], 30), after)
                self.assertEqual([row for row in sim.truth(address, "beacon")
                                  if row["block"] <= head], withdrawals)

    def test_misfortunes_come_as_planned(self):
        with Ledger(SIM) as sim:
            address = sim.accounts()[0]["ethereum"]
            path = f"/etherscan/api?module=account&action=txlist&apikey=k&address={address}"
            sim.arm("name=ledger_http&collection=etherscan/normal&status=429&retry_after=3&after=1")
            self.assertEqual(sim.call("GET", path)[0], 200)
            self.assertEqual(sim.explorer("etherscan", action="tokentx", address=address)["status"],
                             "1")
            status, headers, _ = sim.call("GET", path)
            self.assertEqual((status, headers["Retry-After"]), (429, "3"))
            sim.arm("name=ledger_http&collection=etherscan&status=200")
            self.assertIn(b"<!doctype html>", sim.call("GET", path)[2])
            sim.arm("name=ledger_http&collection=etherscan&status=0")
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                sim.call("GET", path)
            good = sim.explorer("etherscan", action="txlist", address=address)
            sim.arm("name=ledger_error&collection=etherscan")
            self.assertIn("rate limit", sim.explorer("etherscan", action="txlist",
                                                     address=address)["result"])
            sim.arm("name=ledger_empty&collection=etherscan")
            self.assertEqual(sim.explorer("etherscan", action="txlist", address=address)["result"],
                             [])
            sim.arm("name=ledger_partial&collection=blockscout")
            part = sim.explorer("blockscout", action="txlist", address=address)
            self.assertEqual((part["status"], len(part["result"])), ("2", len(good["result"]) // 2))
            sim.arm("name=ledger_truncate&collection=etherscan")
            with self.assertRaises(ValueError):
                json.loads(sim.call("GET", path)[2])
            sim.arm("name=ledger_lag&collection=routescan&bytes=50")
            late = sim.explorer("routescan", action="txlist", address=address)["result"]
            self.assertLess(len(late), len(good["result"]))
            self.assertEqual(late[0]["hash"], good["result"][0]["hash"])
            plain = sim.explorer("etherscan", action="txlistinternal", address=address)["result"]
            sim.arm("name=ledger_trace&collection=etherscan")
            other = sim.explorer("etherscan", action="txlistinternal", address=address)["result"]
            self.assertNotEqual(plain[0]["traceId"], other[0]["traceId"])
            head = sim.act("mine", 0)["head"]
            sim.arm("name=ledger_insert&collection=etherscan&bytes=4")
            sim.explorer("etherscan", action="txlist", address=address)
            sim.arm("name=ledger_reorg&collection=etherscan&bytes=2")
            sim.explorer("etherscan", action="txlist", address=address)
            self.assertEqual(sim.act("mine", 0), {"head": head + 5, "forks": 1})
            cursor = json.loads(sim.moralis(address)[2])["cursor"]
            sim.arm("name=ledger_expire&collection=moralis")
            self.assertEqual([sim.moralis(address, cursor=cursor)[0] for _ in range(2)], [400, 200])
            sim.arm("name=ledger_stall&collection=etherscan&ms=50")
            self.assertEqual(sim.call("GET", path)[0], 200)
            fired = sim.stats()["faults"]
            self.assertEqual({name: fired["ledger_" + name] for name in (
                "http", "error", "empty", "partial", "truncate", "insert", "reorg", "expire",
                "stall")},
                {"http": 3, "error": 1, "empty": 1, "partial": 1, "truncate": 1, "insert": 1,
                 "reorg": 1, "expire": 1, "stall": 1})

    def test_a_provider_dies_on_page_three_while_a_cursor_is_held(self):
        with Ledger(SIM) as sim:
            address = sim.accounts()[0]["ethereum"]
            sim.arm("name=ledger_http&collection=moralis&after=2&count=1000&lasts=1")
            cursor = {}
            for _ in range(2):
                status, _, body = sim.moralis(address, **cursor)
                self.assertEqual(status, 200)
                cursor = {"cursor": json.loads(body)["cursor"]}
            self.assertEqual([sim.moralis(address, **cursor)[0] for _ in range(3)], [503] * 3)
            self.assertEqual(sim.explorer("etherscan", action="txlist", address=address)["status"],
                             "1")
            self.assertEqual(sim.fired("ledger_http"), 3)
            sim.ask("DELETE", "/_sim/fault?name=ledger_http")
            self.assertEqual(sim.moralis(address, **cursor)[0], 200)

    def test_every_request_is_kept_with_its_parameters(self):
        with Ledger(SIM) as sim:
            address = sim.accounts()[0]["ethereum"]
            sim.explorer("etherscan", action="txlist", address=address, startblock=77)
            sim.alchemy("eth_blockNumber")
            first, = sim.requests("/etherscan")
            self.assertEqual(dict(urllib.parse.parse_qsl(first["query"]))["startblock"], "77")
            second, = sim.requests("/alchemy")
            self.assertEqual(json.loads(second["body"])["method"], "eth_blockNumber")


if __name__ == "__main__":
    unittest.main()
