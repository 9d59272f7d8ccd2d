# SPDX-License-Identifier: Apache-2.0
"""Every shipped connector against a simulated provider of its shape: the first page of each stream
is judged good, no record of it is refused, and its rows are rows of the truth.

  connector_shapes.py TIDEMARK TIDEMARK_SIM"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from ledger_client import Ledger

TIDEMARK, SIM = (os.path.abspath(path) for path in sys.argv[1:3])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Which of a file's platforms the simulator has a chain for.
PLATFORMS = ("ethereum", "bitcoin", "solana", "polkadot", "near", "cosmoshub", "xrp", "cardano",
             "kraken", "coinbase", "github", "madeup")
# Streams whose simulated lists are empty.
EMPTY = {("nearblocks", "receipts"), ("nearblocks", "balance-changes"),
         ("nearblocks", "token-transfers")}


def described(path):
    """Name, platform and streams that are asked for, as a person reads them in the file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"^provider: (\S+)$", text, re.M).group(1)
    block = re.search(r"^platforms:\n((?:  .*\n)+)", text, re.M).group(1)
    named = re.findall(r"^  ([\w-]+):", block, re.M)
    platform = next((one for one in PLATFORMS if one in named), None)
    streams = []
    for part in re.split(r"^  (?=[\w-]+:\n)", text[text.index("\nstreams:\n"):], flags=re.M)[1:]:
        if "    request:" in part:
            streams.append(part[:part.index(":")])
    return name, platform, streams


class ConnectorShapes(unittest.TestCase):
    def ask(self, sim, path, name, account, stream):
        secret = {"kraken": sim.keys()["kraken"], "coinbase": sim.keys()["coinbase"]}.get(
            name, {"key": "k", "secret": ""})
        with tempfile.NamedTemporaryFile("w", prefix="tidemark-secret-") as file:
            file.write(secret["secret"])
            file.flush()
            words = [TIDEMARK, "connector", "try", path, account, "--stream", stream, "--json",
                     "--set", f"providers.{name}.base_url=http://127.0.0.1:{sim.port}/{name}",
                     "--set", f"providers.{name}.api_key={secret['key']}"]
            if secret["secret"]:
                words += ["--set", f"providers.{name}.api_secret_file={file.name}"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60,
                                  cwd=tempfile.gettempdir())
        self.assertEqual(done.returncode, 0, f"{name} {stream}: {done.stderr}")
        return json.loads(done.stdout)

    def check_stream(self, sim, path, name, platform, stream):
        addresses = sim.accounts()[0]
        account = f"{platform}:{addresses.get(platform)}"
        if platform in ("kraken", "coinbase"):
            account = platform
        elif platform == "github":
            account = "github:owner/name"
        found = self.ask(sim, path, name, account, stream)
        self.assertEqual(found["refused"], [], f"{name} {stream}")
        if (name, stream) in EMPTY:
            self.assertEqual(found["rows"], [])
            return
        self.assertEqual(found["verdict"], "ok", f"{name} {stream}: {found['why']}")
        self.assertGreater(len(found["rows"]), 0, f"{name} {stream}")
        if platform == "ethereum":
            self.compare_evm(sim, addresses["ethereum"], name, stream, found["rows"])
        elif platform != "github":
            whole = account if ":" in account else f"{platform}:{addresses[platform]}"
            truth = "token" if stream.startswith("token") else "normal"
            self.compare_others(sim, whole, name, truth, found["rows"])

    def compare_evm(self, sim, address, name, stream, rows):
        told = {(row["hash"], row["from"], row["to"], row["amount"], row["block"], row["status"])
                for row in sim.truth("ethereum:" + address, stream)}
        failed = {row[0] for row in told if row[5] == "failed"}
        for row in rows:
            # Alchemy does not say which ones failed.
            status = "failed" if row["hash"] in failed and stream == "normal" else row["status"]
            self.assertIn((row["hash"] if stream != "beacon" else "", row["from"] or "",
                           row["to"] or "", row["amount"], row["block"], status), told,
                          f"{name} {stream}")

    def compare_others(self, sim, account, name, truth, rows):
        address = account.split(":")[1]
        told = {row["hash"]: row for row in sim.truth(account, truth)}
        for row in rows:
            key = row["id"] if name in ("kraken", "coinbase") else row["hash"]
            self.assertIn(key, told, name)
            truth = told[key]
            waits = truth["status"] == "pending"
            self.assertEqual(row["status"] == "pending", waits, name)
            if row["block"] is not None:
                self.assertEqual(row["block"], truth["block"], name)
            # What the account gained: what came, less what it sent and paid for it.
            if name in ("blockstream", "mempool", "blockchaincom"):
                came = int(truth["amount"]) if truth["to"] == address else 0
                went = int(truth["amount"]) + int(truth["fee"]) if truth["from"] == address else 0
                self.assertEqual(int(row["amount"]), came - went, name)

    def test_every_connector_reads_its_shape(self):
        asked = 0
        with Ledger(SIM, "--chain-seed", "3", "--chain-mempool", "5") as sim:
            files = sorted(glob.glob(os.path.join(ROOT, "connectors", "*", "*.yaml")))
            files.append(os.path.join(ROOT, "tests", "data", "connectors", "madeup.yaml"))
            for path in files:
                name, platform, streams = described(path)
                for stream in streams:
                    with self.subTest(provider=name, stream=stream):
                        self.check_stream(sim, path, name, platform, stream)
                        asked += 1
        self.assertGreater(asked, 40)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
