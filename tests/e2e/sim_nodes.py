# SPDX-License-Identifier: Apache-2.0
"""The simulated chain on the wires of nodes, other explorers and exchanges."""

import base64
import hashlib
import json
import sys
import time
import unittest
import urllib.parse

from ledger_client import Ledger

SIM = sys.argv.pop(1)
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
G = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
     0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)


def add(a, b):
    """The sum of two points of P-256."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = ((3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) if a == b
             else (b[1] - a[1]) * pow(b[0] - a[0], -1, P))
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    total = None
    while k:
        total = add(total, point) if k & 1 else total
        point, k = add(point, point), k >> 1
    return total


def es256(pem, message):
    """r and s for a private key in PEM; the nonce is not random, which is fine for a test."""
    der = base64.b64decode("".join(pem.strip().split("\n")[1:-1]))
    at = der.index(b"\x02\x01\x01\x04\x20") + 5
    secret = int.from_bytes(der[at:at + 32], "big")
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    k = int.from_bytes(hashlib.sha256(der + message).digest(), "big") % N
    r = times(k, G)[0] % N
    s = pow(k, -1, N) * (digest + r * secret) % N
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Case(unittest.TestCase):
    def setUp(self):
        self.sim = Ledger(SIM, "--chain-blocks", "250")
        self.addCleanup(self.sim.__exit__)

    def truth(self, platform):
        """Status by hash, newest last."""
        address = self.sim.accounts()[0][platform]
        rows = self.sim.truth(f"{platform}:{address}", "normal")
        self.assertGreater(len(rows), 120)
        return {row["hash"]: row["status"] for row in rows}

    def json(self, method, path, body=None, **headers):
        status, _, data = self.sim.call(method, path, body, headers)
        self.assertEqual(status, 200, (path, data))
        return json.loads(data)


class Nodes(Case):
    def rpc(self, path, method, *params):
        return self.json("POST", path, json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def signatures(self, **options):
        address = self.sim.accounts()[0]["solana"]
        return self.rpc("/solana", "getSignaturesForAddress", address, options)

    def test_solana_lists_signatures_newest_first(self):
        found, before = [], {}
        while True:
            page = self.signatures(limit=50, **before)["result"]
            found += page
            if len(page) < 50:
                break
            before = {"before": page[-1]["signature"]}
        truth = self.truth("solana")
        self.assertEqual({row["signature"]: "failed" if row["err"] else "confirmed"
                          for row in found}, truth)
        self.assertEqual([row["signature"] for row in found], list(truth)[::-1])
        newer = self.signatures(until=found[9]["signature"])["result"]
        self.assertEqual(newer, found[:9])
        self.assertIn("error", self.signatures(limit=1001))
        self.assertIn("error", self.signatures(before="1" * 64))
        detail = self.rpc("/helius/?api-key=k", "getTransaction", found[0]["signature"], {})
        self.assertEqual(detail["result"]["slot"], found[0]["slot"])
        self.sim.arm("name=ledger_null&collection=solana/detail")
        self.assertIsNone(self.rpc("/solana", "getTransaction", found[0]["signature"])["result"])
        self.assertIsNone(self.rpc("/solana", "getTransaction", "1" * 64)["result"])

    def test_solana_lists_token_accounts_and_their_signatures(self):
        owner = self.sim.accounts()[0]["solana"]
        told, listed = [], {}
        for program in ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
                        "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"):
            value = self.rpc("/solana", "getTokenAccountsByOwner", owner, {"programId": program},
                             {"encoding": "jsonParsed"})["result"]["value"]
            told.append([row["pubkey"] for row in value])
        self.assertTrue(all(told), told)
        for account in sum(told, []):
            first = self.rpc("/solana", "getSignaturesForAddress", account, {"limit": 2})["result"]
            rest = self.rpc("/solana", "getSignaturesForAddress", account,
                            {"before": first[-1]["signature"]})["result"]
            slots = [row["slot"] for row in first + rest]
            self.assertEqual(slots, sorted(slots, reverse=True))
            listed.update({row["signature"]: row["slot"] for row in first + rest})
        rows = self.sim.truth(f"solana:{owner}", "token")
        self.assertEqual(listed, {row["hash"]: row["block"] for row in rows})

    def test_xrpl_walks_by_marker_both_ways(self):
        account = self.sim.accounts()[0]["xrp"]
        lists = []
        for forward in (True, False):
            found, marker = [], {}
            while True:
                page = self.json("POST", "/xrpl", json.dumps({"method": "account_tx", "params": [{
                    "account": account, "forward": forward, "ledger_index_min": -1,
                    "ledger_index_max": -1, "limit": 40, **marker}]}))["result"]
                found += page["transactions"]
                if "marker" not in page:
                    break
                marker = {"marker": page["marker"]}
            lists.append(found)
        self.assertEqual(lists[0], lists[1][::-1])
        self.assertEqual({row["tx"]["hash"]: "confirmed" if row["meta"]["TransactionResult"]
                          == "tesSUCCESS" else "failed" for row in lists[0]}, self.truth("xrp"))

    def test_cosmos_has_senders_and_receivers_apart(self):
        address, found = self.sim.accounts()[0]["cosmoshub"], {}
        for event in ("coin_spent.spender", "coin_received.receiver"):
            count, number = 0, 1
            where = "/cosmos/cosmos/tx/v1beta1/txs?" + urllib.parse.urlencode({
                "query": f"{event}='{address}'", "limit": 20, "order_by": "ORDER_BY_DESC"})
            while True:
                page = self.json("GET", f"{where}&page={number}")
                found.update((row["txhash"], "failed" if row["code"] else "confirmed")
                             for row in page["tx_responses"])
                count, number = count + len(page["tx_responses"]), number + 1
                self.assertIsNone(page["pagination"])
                if count == int(page["total"]):
                    break
            status, _, data = self.sim.call("GET", f"{where}&page={number}", None, {})
            self.assertEqual(status, 500)
            self.assertIn(f"page should be within [1, {number - 1}]", str(data))
        self.assertEqual(found, self.truth("cosmoshub"))


class Explorers(Case):
    def test_subscan_counts_what_it_lists(self):
        found, address = [], self.sim.accounts()[0]["polkadot"]
        truth = self.truth("polkadot")
        while True:
            page = self.json("POST", "/subscan/api/v2/scan/transfers", json.dumps(
                {"address": address, "page": len(found) // 100, "row": 100}),
                **{"X-API-Key": "k"})["data"]
            self.assertEqual(page["count"], len(truth))
            found += page["transfers"] or []
            if len(page["transfers"] or []) < 100:
                break
        self.assertEqual({row["hash"]: "confirmed" if row["success"] else "failed"
                          for row in found}, truth)

    def test_nearblocks_goes_on_by_cursor_or_day(self):
        found, cursor, address = [], "", self.sim.accounts()[0]["near"]
        where = f"/nearblocks/v1/account/{address}/txns-only?per_page=25&order=asc"
        while True:
            page = self.json("GET", where + cursor)
            found += page["txns"]
            if "cursor" not in page:
                break
            cursor = "&cursor=" + page["cursor"]
        self.assertEqual({row["transaction_hash"]: "confirmed" if row["outcomes"]["status"]
                          else "failed" for row in found}, self.truth("near"))
        self.assertEqual(self.json("GET", where + "&after_date=2025-12-31")["txns"], found[:25])
        self.assertEqual(self.json("GET", where + "&after_date=2026-01-01")["txns"], [])  # that day

    def test_blockfrost_lists_hashes_by_page(self):
        key, address = {"project_id": "k"}, self.sim.accounts()[0]["cardano"]
        where, truth = "/blockfrost/api/v0/", self.truth("cardano")
        for order, expected in (("asc", list(truth)), ("desc", list(truth)[::-1])):
            found, page = [], 1
            while True:
                rows = self.json("GET", f"{where}addresses/{address}/transactions?order={order}"
                                 f"&count=100&page={page}", **key)
                found, page = found + rows, page + 1
                if len(rows) < 100:
                    break
            self.assertEqual([row["tx_hash"] for row in found], expected)
        middle = found[40]["block_height"]
        rows = self.json("GET", f"{where}addresses/{address}/transactions?order=asc&from={middle}",
                         **key)
        self.assertEqual(rows[0]["block_height"], middle)
        detail = self.json("GET", f"{where}txs/{found[0]['tx_hash']}", **key)
        self.assertEqual(detail["block_height"], found[0]["block_height"])
        self.assertIn("outputs", self.json("GET", f"{where}txs/{found[0]['tx_hash']}/utxos", **key))
        self.assertEqual(self.sim.call("GET", f"{where}addresses/addr1nobody/transactions", None,
                                       key)[0], 404)

    def test_github_pages_by_links(self):
        found, path = [], "/github/repos/a/b/issues?state=all&direction=asc&per_page=40"
        while path:
            status, headers, body = self.sim.call("GET", path)
            self.assertEqual(status, 200)
            found += json.loads(body)
            links = dict((part.split("; ")[1], part.split("; ")[0][1:-1])
                         for part in headers.get("Link", "").split(", ") if part)
            path = links.get('rel="next"', "").replace(self.sim.address, "")
        self.assertEqual([str(row["id"]) for row in found], list(self.truth("madeup")))
        since = found[-20]["created_at"]
        recent = self.json("GET", f"/github/repos/a/b/issues?direction=asc&since={since}")
        self.assertEqual(recent[0]["created_at"], since)
        self.assertEqual(recent[-1], found[-1])
        self.assertEqual(len(self.json("GET", "/github/repos/a/b/commits")), 30)

    def test_an_api_that_nobody_has(self):
        found, since = {}, ""
        while True:
            page = self.json("GET", f"/madeup/tides?most=30{since}", **{"X-Tide": "k"})
            found.update(page["tides"])
            if page["rest"] == 0:
                break
            since = "&since=" + list(page["tides"])[-1]
        self.assertEqual(list(found), list(self.truth("madeup")))
        self.assertEqual(page["all"], len(found))
        self.assertEqual(self.sim.call("GET", "/madeup/tides")[0], 401)


class Exchanges(Case):
    def setUp(self):
        super().setUp()
        self.keys = self.sim.keys()
        self.nonce = 1000

    def kraken(self, secret=None, nonce=None, **form):
        self.nonce += 1
        return self.sim.kraken(nonce or self.nonce, secret, **form)

    def test_kraken_checks_who_asks(self):
        self.assertEqual(self.kraken()["error"], [])
        self.assertEqual(self.kraken(nonce=5)["error"], ["EAPI:Invalid nonce"])
        self.assertEqual(self.kraken(nonce=self.nonce - 1)["error"], ["EAPI:Invalid nonce"])
        wrong = base64.b64encode(b"somebody else").decode()
        self.assertEqual(self.kraken(secret=wrong)["error"], ["EAPI:Invalid signature"])
        self.sim.arm("name=ledger_error&collection=kraken")
        self.assertEqual(self.kraken()["error"], ["EAPI:Rate limit exceeded"])

    def test_kraken_lists_newest_first_by_offset_and_bounds(self):
        found, truth = {}, self.truth("kraken")
        while True:
            page = self.kraken(ofs=len(found))["result"]
            self.assertEqual(page["count"], len(truth))
            found.update(page["ledger"])
            if len(page["ledger"]) < 50:
                break
        names = list(found)
        self.assertEqual(names, list(truth)[::-1])
        bounded = self.kraken(end=names[20], start=names[30])["result"]
        self.assertEqual(list(bounded["ledger"]), names[20:30])
        self.assertEqual(bounded["count"], 10)
        times_seen = [found[name]["time"] for name in names]
        later = self.kraken(start=times_seen[40])["result"]
        self.assertEqual(list(later["ledger"]), [name for name, at in zip(names, times_seen)
                                                 if at > times_seen[40]][:50])

    def coinbase(self, path, secret=None, signed_path=None, life=120):
        key, now = self.keys["coinbase"], int(time.time())
        where = (signed_path or path).split("?")[0]
        claims = {"iss": "coinbase-cloud", "sub": key["key"], "nbf": now, "exp": now + life,
                  "aud": ["retail_rest_api_proxy"], "uri": f"GET api.coinbase.com{where}"}
        head = {"alg": "ES256", "kid": key["key"], "typ": "JWT", "nonce": str(time.monotonic_ns())}
        message = b".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
        token = message + b"." + base64url(es256(secret or key["secret"], message))
        return self.sim.call("GET", "/coinbase" + path, None, {
            "Authorization": "Bearer " + token.decode(), "CB-VERSION": "2018-05-30"})

    def test_coinbase_checks_who_asks(self):
        self.assertEqual(self.coinbase("/v2/accounts?limit=100")[0], 200)
        self.assertEqual(self.coinbase("/v2/accounts", signed_path="/v2/user")[0], 401)
        self.assertEqual(self.coinbase("/v2/accounts", life=-1)[0], 401)
        self.assertEqual(self.coinbase("/v2/accounts", life=3600)[0], 401)
        with Ledger(SIM) as other:
            self.assertEqual(self.coinbase("/v2/accounts",
                                           secret=other.keys()["coinbase"]["secret"])[0], 401)
        self.assertEqual(self.sim.call("GET", "/coinbase/v2/accounts")[0], 401)

    def test_coinbase_lists_wallets_and_goes_on_by_uri(self):
        wallets = json.loads(self.coinbase("/v2/accounts")[2])["data"]
        self.assertEqual(len(wallets), 2)
        for wallet, expected in zip(wallets, (list(self.truth("coinbase")), [])):
            found, path = [], f"/v2/accounts/{wallet['id']}/transactions?limit=60&order=asc"
            while path:
                page = json.loads(self.coinbase(path)[2])
                found += page["data"]
                path = page["pagination"]["next_uri"]
            self.assertEqual([row["id"] for row in found], expected)


if __name__ == "__main__":
    unittest.main()
