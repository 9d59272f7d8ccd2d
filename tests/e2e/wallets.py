# SPDX-License-Identifier: Apache-2.0
"""`tidemark import bitcoin:zpub...`: the addresses of a wallet are found, and only those that have
to be are asked for.

  wallets.py TIDEMARK TIDEMARK_SIM"""

import collections
import http.server
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import Daemon, Home  # noqa: E402
from ledger_world import shipped  # noqa: E402
from wallet import Wallet  # noqa: E402

TIDEMARK = sys.argv[1]
# BIP84's own example.
ZPUB = ("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDK"
        "f31mGDtKsAYz2oz2AGutZYs")
XPRV = ("xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3"
        "TGtRBeJgk33yuGBxrMPHi")
GAP = 3
WAIT_S = 120
PAGE = 25
WALLET = Wallet(ZPUB)


class Explorer:
    """Esplora's shapes over a table of histories; counts who was asked for."""

    def __init__(self):
        self.histories = collections.defaultdict(list)  # address: hashes, oldest first
        self.asked = collections.Counter()
        self.broken = set()
        self.held = None  # who asks for it waits until it is let go
        self.reached, self.let_go = threading.Event(), threading.Event()
        explorer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, said = explorer.answer(self.path)
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:  # who asked is gone
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def use(self, chain, number, rows):
        address = WALLET.address(chain, number)
        have = len(self.histories[address])
        self.histories[address] += [f"{chain:02x}{number:04x}{have + i:058x}" for i in range(rows)]

    def answer(self, path):
        found = re.fullmatch(r"/address/(\w+)(/txs/(chain|mempool)(/(\w+))?)?", path)
        if not found:
            return 404, {}
        address, token = found[1], found[5]
        self.asked[address] += 1
        if address == self.held:
            self.reached.set()
            self.let_go.wait(WAIT_S)
        if address in self.broken:
            return 410, {}
        rows = self.histories.get(address, [])
        if not found[2]:
            return 200, {"chain_stats": {"tx_count": len(rows)}}
        if found[3] == "mempool":
            return 200, []
        newest = list(enumerate(rows))[::-1]
        at = len(rows) - rows.index(token) if token else 0
        return 200, [{"txid": txid, "fee": 1, "vin": [],
                      "vout": [{"value": 5, "scriptpubkey_address": address}],
                      "status": {"block_height": 100 + place, "block_time": 1700000000 + place}}
                     for place, txid in newest[at:at + PAGE]]


class Case(unittest.TestCase):
    def open(self, kind="sqlite"):
        self.home = Home(kind)
        self.addCleanup(self.home.__exit__)
        self.explorer = Explorer()
        self.addCleanup(self.explorer.__exit__)
        folder = os.path.join(self.home.folder, "connectors")
        os.makedirs(folder)
        with open(os.path.join(folder, "blockstream.yaml"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^rate:.*$", "rate: {per_second: 1000, burst: 1000, concurrency: 4}",
                              shipped("blockstream"), flags=re.M))
        self.settings = (f"ledger.connectors={folder}", f"ledger.gap_limit={GAP}",
                         f"providers.blockstream.base_url={self.explorer.address}")

    def begin_import(self, account="bitcoin:" + ZPUB, form="--json"):
        command = [TIDEMARK, "import", account, *([form] if form else [])]
        for setting in (f"store.url={self.home.url}", f"store.data_dir={self.home.folder}",
                        *self.settings):
            command += ["--set", setting]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end_import(self, process):
        said, words = process.communicate(timeout=WAIT_S)
        return process.returncode, said and json.loads(said), words

    def run_import(self, *account):
        return self.end_import(self.begin_import(*account))

    def break_off(self, number):
        """An import that a signal ends while an address is being read; what it said."""
        self.explorer.held = WALLET.address(0, 5)
        process = self.begin_import()
        self.assertTrue(self.explorer.reached.wait(WAIT_S))
        process.send_signal(number)
        ended = self.end_import(process)
        self.explorer.let_go.set()
        self.explorer.held = None
        return ended

    def rows(self, sql):
        if self.home.kind == "sqlite":
            store = sqlite3.connect(self.home.url[len("sqlite:"):])
            found = [list(map(str, row)) for row in store.execute(sql)]
            store.close()
            return found
        out = subprocess.run(["psql", "-qXAt", "-F", "\t", "-c", sql, self.home.url], text=True,
                             capture_output=True, check=True).stdout
        return [line.split("\t") for line in out.splitlines()]

    def addresses(self, *ends):
        return {WALLET.address(chain, number)
                for chain, end in enumerate(ends) for number in range(end)}

    def expect_stored(self):
        """Every row of every address that was read is there once, under its address."""
        stored = collections.Counter(map(tuple, self.rows(
            "SELECT a.identifier, t.hash FROM raw_transactions t"
            " JOIN account a ON a.id = t.account_id")))
        self.assertEqual(stored, collections.Counter(
            (address, txid) for address, rows in self.explorer.histories.items()
            for txid in rows if address in self.explorer.asked))

    def normal(self, said):
        return {stream["stream"]: stream for stream in said["streams"]}["normal"]


class Wallets(Case):
    def test_addresses_are_read_until_enough_in_a_row_are_unused_on_both_stores(self):
        for kind in ("sqlite", "postgres"):
            with self.subTest(store=kind):
                self.open(kind)
                for place in ((0, 0, 30), (0, 2, 1), (0, 5, 2), (1, 1, 4), (0, 11, 7)):
                    self.explorer.use(*place)
                code, said, words = self.run_import()
                self.assertEqual((code, said["status"]), (0, "completed"), (said, words))
                # The last used are 5 and 1; what lies beyond the gap is not looked at.
                self.assertEqual(set(self.explorer.asked), self.addresses(9, 5))
                self.expect_stored()
                # The parent's result is the sum.
                self.assertEqual((self.normal(said)["imported"], self.normal(said)["complete"]),
                                 (37, True))
                self.assertEqual(said["sessions"][0]["imported"], 37)
                self.assertEqual(said["account"], "bitcoin:" + ZPUB)
                children = self.rows("SELECT c.identifier, c.type FROM account c"
                                     " JOIN account p ON p.id = c.parent_id"
                                     f" WHERE p.name = 'bitcoin:{ZPUB}'")
                self.assertEqual({row[0] for row in children}, self.addresses(9, 5))
                self.assertEqual({row[1] for row in children}, {"derived"})

    def test_a_later_import_looks_beyond_the_last_used_address_again(self):
        self.open()
        self.explorer.use(0, 1, 2)
        self.assertEqual(self.run_import()[0], 0)
        self.assertEqual(set(self.explorer.asked), self.addresses(5, 3))
        self.explorer.use(0, 4, 1)
        self.explorer.use(1, 2, 3)
        self.explorer.use(0, 1, 1)
        code, said, words = self.run_import()
        self.assertEqual(code, 0, (said, words))
        self.assertEqual(set(self.explorer.asked), self.addresses(8, 6))
        self.assertEqual(self.normal(said)["imported"], 5)
        self.expect_stored()
        code, said, _ = self.run_import()
        self.assertEqual((code, self.normal(said)["imported"]), (0, 0))
        self.assertEqual(set(self.explorer.asked), self.addresses(8, 6))

    def test_an_address_that_cannot_be_read_is_not_taken_for_unused(self):
        self.open()
        self.explorer.use(0, 2, 4)
        self.explorer.broken = {WALLET.address(0, 2)}
        code, said, words = self.run_import()
        self.assertNotEqual(code, 0)
        self.assertEqual(said["status"], "failed", (said, words))
        self.assertFalse(self.normal(said)["complete"])
        self.assertIn(WALLET.address(0, 2), words)
        self.explorer.broken = set()
        code, said, words = self.run_import()
        self.assertEqual((code, said["status"]), (0, "completed"), (said, words))
        self.assertEqual(set(self.explorer.asked), self.addresses(6, 3))
        self.expect_stored()

    def test_a_wallet_that_was_interrupted_goes_on(self):
        for number, expected in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(signal=number):
                self.open()
                for place in ((0, 0, 3), (0, 3, 30), (0, 5, 2), (1, 2, 1)):
                    self.explorer.use(*place)
                code, said, words = self.break_off(number)
                self.assertEqual(code, expected, (said, words))
                if said:
                    self.assertEqual(said["status"], "cancelled")
                    self.assertFalse(self.normal(said)["complete"])
                code, said, words = self.run_import()
                self.assertEqual((code, said["status"]), (0, "completed"), (said, words))
                self.assertEqual(set(self.explorer.asked), self.addresses(9, 6))
                self.expect_stored()
                left = self.rows("SELECT count(*) FROM import_sessions WHERE status = 'started'")
                self.assertEqual(left, [["0"]])

    def test_an_address_that_was_imported_before_joins_its_wallet(self):
        self.open()
        self.explorer.use(0, 0, 3)
        self.assertEqual(self.run_import("bitcoin:" + WALLET.address(0, 0))[0], 0)
        code, said, words = self.run_import()
        self.assertEqual(code, 0, (said, words))
        self.assertEqual(self.normal(said)["imported"], 0)
        # It counts as used, although nothing of it is new.
        self.assertEqual(set(self.explorer.asked), self.addresses(4, 3))
        self.assertEqual(len(self.rows("SELECT 1 FROM account WHERE parent_id IS NOT NULL")), 7)

    def test_people_are_told_how_much_of_the_wallet_is_used(self):
        self.open()
        self.explorer.use(0, 1, 2)
        process = self.begin_import(form=None)
        said, words = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 0, words)
        self.assertIn(": completed, 2 new, 0 known", said)
        self.assertIn("1 of 8 addresses used", said)

    def test_a_private_key_is_refused_and_never_repeated(self):
        self.open()
        code, said, words = self.run_import("bitcoin:" + XPRV)
        self.assertEqual((code, said), (2, ""))
        self.assertIn("private", words)
        self.assertNotIn(XPRV[:12], words)
        self.assertEqual(self.explorer.asked, {})

    def test_a_mistyped_key_is_refused(self):
        self.open()
        code, _, words = self.run_import("bitcoin:" + ZPUB[:-1] + "t")
        self.assertEqual(code, 2)
        self.assertIn("mistyped", words)

    def test_a_daemon_reads_wallets_too(self):
        self.open()
        self.explorer.use(1, 0, 6)
        with Daemon(TIDEMARK, self.home, self.settings) as daemon:
            daemon.wait_for(lambda _: True, "the daemon")
            code, said, words = self.run_import()
            self.assertEqual((code, said["status"]), (0, "completed"), (said, words))
            self.assertEqual(self.normal(said)["imported"], 6)
            self.assertEqual(set(self.explorer.asked), self.addresses(3, 4))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
