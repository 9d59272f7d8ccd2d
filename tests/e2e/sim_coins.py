# SPDX-License-Identifier: Apache-2.0
"""The simulated chain on the wires of those who list the transactions of Bitcoin and its kin."""

import json
import sys
import unittest

from ledger_client import Ledger

SIM = sys.argv.pop(1)
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def bech32_is_good(address):
    """The checksum of BIP 173, by its definition."""
    prefix, data = address.rsplit("1", 1)
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    values += [BECH32.index(c) for c in data]
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1ffffff) << 5 ^ value
        for i, generator in enumerate((0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                       0x2a1462b3)):
            check ^= generator if top >> i & 1 else 0
    return check == 1


class SimCoins(unittest.TestCase):
    def setUp(self):
        self.sim = Ledger(SIM, "--chain-mempool", "9", "--chain-blocks", "300")
        self.addCleanup(self.sim.__exit__)
        self.address = self.sim.accounts()[0]["bitcoin"]

    def get(self, path, **headers):
        status, _, body = self.sim.call("GET", path, headers=headers)
        return status, body

    def json(self, path, **headers):
        status, body = self.get(path, **headers)
        self.assertEqual(status, 200, (path, body))
        return json.loads(body)

    def truth(self, platform="bitcoin"):
        """Block by hash, None for those who wait."""
        address = self.sim.accounts()[0][platform]
        rows = self.sim.truth(f"{platform}:{address}", "normal")
        found = {row["hash"]: row["block"] for row in rows}
        self.assertEqual(len(found), len(rows))
        self.assertGreater(len(found), 150)
        return found

    def read_esplora(self, provider, first):
        found, page = [], self.json(f"/{provider}/address/{self.address}/{first}")
        while page:
            found += page
            page = self.json(f"/{provider}/address/{self.address}/txs/chain/{found[-1]['txid']}")
        return found

    def test_addresses_have_right_checksums(self):
        for account in self.sim.accounts():
            for platform in ("bitcoin", "litecoin", "cosmoshub", "cardano"):
                self.assertTrue(bech32_is_good(account[platform]), account[platform])

    def test_esplora_tells_the_truth_and_counts_it(self):
        truth = self.truth()
        found = self.read_esplora("blockstream", "txs")
        self.assertEqual({row["txid"]: row["status"].get("block_height") for row in found}, truth)
        self.assertEqual(len(found), len(truth))
        waiting = [row for row in found if not row["status"]["confirmed"]]
        self.assertGreater(len(waiting), 0)
        self.assertEqual(found[:len(waiting)], waiting)
        self.assertEqual(self.read_esplora("mempool", "txs/chain"), found[len(waiting):])
        self.assertEqual(self.json(f"/esplora/address/{self.address}/txs/mempool"), waiting)
        stats = self.json(f"/esplora/address/{self.address}")
        self.assertEqual((stats["chain_stats"]["tx_count"], stats["mempool_stats"]["tx_count"]),
                         (len(found) - len(waiting), len(waiting)))
        got = sum(out["value"] for row in found if row["status"]["confirmed"]
                  for out in row["vout"] if out.get("scriptpubkey_address") == self.address)
        self.assertEqual(stats["chain_stats"]["funded_txo_sum"], got)
        self.assertEqual(len(self.json(f"/esplora/address/{self.address}/txs")),
                         25 + len(waiting))

    def test_esplora_refuses_what_it_does_not_know(self):
        where = f"/esplora/address/{self.address}/txs/chain/"
        self.assertEqual(self.get(where + "zz")[0], 400)
        self.assertEqual(self.get(where + "00" * 32)[0], 404)
        self.assertEqual(self.get("/esplora/nothing")[0], 404)
        newest = self.json(f"/esplora/address/{self.address}/txs/chain")[0]["txid"]
        self.assertEqual(self.get(where + newest)[0], 200)

    def test_a_waiting_transaction_is_mined_under_its_name(self):
        waiting = [name for name, block in self.truth().items() if block is None]
        self.sim.act("mine", 20)
        after = self.truth()
        self.assertTrue(all(after[name] is not None for name in waiting))

    def test_offsets_of_blockchaincom_move_when_something_happens(self):
        found, truth = [], self.truth()
        while True:
            page = self.json(f"/blockchaincom/rawaddr/{self.address}?limit=50&offset={len(found)}")
            self.assertEqual(page["n_tx"], len(truth))
            found += page["txs"]
            if len(page["txs"]) < 50:
                break
        self.assertEqual({row["hash"]: row["block_height"] for row in found}, truth)
        self.assertEqual(len(found), len(truth))
        self.sim.act("mempool", 20)
        moved = self.json(f"/blockchaincom/rawaddr/{self.address}?limit=50&offset=50")["txs"]
        self.assertNotEqual(moved[0]["hash"], found[50]["hash"])

    def test_blockcypher_has_references_and_details(self):
        where = "/blockcypher/v1/btc/main"
        names, before, truth = [], "", self.truth()
        while True:
            page = self.json(f"{where}/addrs/{self.address}?limit=200{before}")
            names += [row["tx_hash"] for row in page["txrefs"]]
            if not page.get("hasMore"):
                break
            before = f"&before={page['txrefs'][-1]['block_height'] + 1}"
        waiting = [row["tx_hash"] for row in page["unconfirmed_txrefs"]]
        self.assertEqual(set(names + waiting), set(truth))
        self.assertGreater(len(names), len(set(names)))  # what pays itself is there twice
        detail = self.json(f"{where}/txs/{names[0]}")
        self.assertEqual((detail["hash"], detail["block_height"]), (names[0], truth[names[0]]))
        self.assertEqual(self.json(f"{where}/txs/{waiting[0]}")["block_height"], -1)
        self.sim.arm("name=ledger_null&collection=blockcypher")
        self.assertEqual(self.get(f"{where}/txs/{names[0]}")[0], 404)
        self.assertEqual(self.get(f"{where}/txs/{names[0]}")[0], 200)

    def test_tatum_knows_four_coins(self):
        for part, platform in (("bitcoin", "bitcoin"), ("litecoin", "litecoin"),
                               ("dogecoin", "dogecoin"), ("bcash", "bitcoin-cash")):
            found, address = [], self.sim.accounts()[0][platform]
            name = "skip" if part == "bcash" else "offset"
            while True:
                page = self.json(f"/tatum/v3/{part}/transaction/address/{address}?pageSize=50"
                                 f"&{name}={len(found)}", **{"x-api-key": "k"})
                found += page
                if len(page) < 50:
                    break
            key, height = ("txid", "blockheight") if part == "bcash" else ("hash", "blockNumber")
            self.assertEqual({row[key]: row.get(height) for row in found}, self.truth(platform))
        self.assertEqual(self.get(f"/tatum/v3/bitcoin/transaction/address/{self.address}")[0], 401)

    def test_a_reorganisation_forgets_txids(self):
        found = self.read_esplora("esplora", "txs/chain")
        self.sim.act("reorg", 30)
        after = self.truth()
        gone = [row["txid"] for row in found if row["txid"] not in after]
        self.assertGreater(len(gone), 0)
        self.assertEqual(self.get(f"/esplora/address/{self.address}/txs/chain/{gone[0]}")[0], 404)
        again = self.read_esplora("esplora", "txs")
        self.assertEqual({row["txid"]: row["status"].get("block_height") for row in again}, after)


if __name__ == "__main__":
    unittest.main()
