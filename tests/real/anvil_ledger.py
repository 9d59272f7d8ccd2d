# SPDX-License-Identifier: Apache-2.0
"""The history of an account on a real EVM node, imported through a connector: what is stored is
what the node says when the test asks it, through reorganisations and kills, on both stores.

  anvil_ledger.py TIDEMARK PACKAGES [TEST...]

PACKAGES is the folder into which tools/real-servers put the node."""

import collections
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from anvil_node import Anvil  # noqa: E402
from both_stores import main  # noqa: E402
from daemon_client import wait_until  # noqa: E402
from import_run import ImportRun  # noqa: E402
from node_case import NodeCase, on_both_stores  # noqa: E402

PROGRAM, PACKAGES = sys.argv[1:3]
FIELDS = ("hash", "kind", "from", "to", "asset", "amount", "block", "status")
NODES = os.path.join(HERE, "..", "..", "examples", "nodes")
SLOW = "rate: {per_second: 12, burst: 1}"


class Chain:
    """A node, a token on it, and people who send coins and tokens to each other."""

    def __init__(self):
        self.node = Anvil(PACKAGES)
        self.chance = random.Random(5)
        self.token = self.node.deploy_token()
        self.people = self.node.accounts[1:4]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.node.__exit__()

    def grow(self, blocks):
        """Blocks of all sizes; equal transfers in one block and to oneself are among them."""
        for _ in range(blocks):
            for _ in range(self.chance.choice((0, 0, 1, 2, 5))):
                sender, to = (self.chance.choice(self.people) for _ in range(2))
                amount = self.chance.choice((0, 1, 10**18, 2**200))
                if self.chance.random() < 0.5:
                    self.node.send(sender, to, value=min(amount, 10**18))
                else:
                    for _ in range(self.chance.choice((1, 1, 2))):
                        self.node.transfer(self.token, sender, to, amount)
            self.node.mine()

    def rows(self, account):
        """What the node says about an account, read block by block and log by log."""
        node, account, found = self.node, account.lower(), collections.Counter()
        for number in range(node.head() + 1):
            for sent in node.block(number)["transactions"]:
                sender, to = sent["from"].lower(), (sent["to"] or "").lower()
                if account in (sender, to):
                    found[sent["hash"], "normal", sender, to, "ETH", str(int(sent["value"], 16)),
                          number, "confirmed"] += 1
        for log in node.call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest",
                                             "address": self.token}):
            sender, to = ("0x" + topic[-40:] for topic in log["topics"][1:])
            if account in (sender, to):
                found[log["transactionHash"], "token", sender, to, log["address"].lower(),
                      str(int(log["data"], 16)), int(log["blockNumber"], 16), "confirmed"] += 1
        return found


class Account(ImportRun):
    def __init__(self, home, chain, rate=None):
        super().__init__(PROGRAM, home)
        self.chain, self.person = chain, chain.people[0]
        self.account = "anvil:" + self.person.lower()
        self.connectors(rate)
        self.configure(["store:", f"  url: {home.url}", f"  data_dir: {home.folder}", "ledger:",
                        f"  connectors: {home.folder}/connectors", "providers:", "  evm_node:",
                        f"    base_url: {chain.node.address}"])

    def connectors(self, rate=None):
        with open(os.path.join(NODES, "evm_node.yaml"), encoding="utf-8") as file:
            text = file.read().replace("size: 500}", "size: 9}")  # many pages of few blocks
        assert "size: 9}" in text
        os.makedirs(os.path.join(self.home.folder, "connectors"), exist_ok=True)
        with open(os.path.join(self.home.folder, "connectors", "evm_node.yaml"), "w",
                  encoding="utf-8") as file:
            file.write(re.sub(r"^rate:.*$", rate, text, flags=re.M) if rate else text)

    def found(self, orphaned=False):
        return collections.Counter(
            tuple(row[field] if field == "block" else row[field] or "" for field in FIELDS)
            for row in self.stored() if (row["status"] == "orphaned") == orphaned)


class AnvilLedger(NodeCase):
    def world(self, _):
        return Chain()

    def complete(self, account):
        """An import that has to end well, with what the node says now; what it said."""
        code, said, words = account.run()
        self.assertEqual((code, said and said["status"]), (0, "completed"), (said, words))
        self.assertEqual(account.sessions()[-1], "completed")
        self.assertTrue(all(stream["complete"] for stream in said["streams"]), said)
        truth = account.chain.rows(account.person)
        self.assertEqual((account.found() - truth, truth - account.found()),
                         (collections.Counter(), collections.Counter()))
        return {stream["stream"]: stream["imported"] for stream in said["streams"]}

    @on_both_stores
    def test_what_is_stored_is_what_the_node_says_and_a_next_run_adds_the_new(self, home, chain):
        # R003-31
        account = Account(home, chain)
        chain.grow(30)
        first = chain.rows(account.person)
        self.assertEqual(sum(self.complete(account).values()), first.total())
        self.assertGreater(max(chain.rows(account.person).values()), 0)
        self.assertEqual(set(self.complete(account).values()), {0})
        chain.grow(10)
        self.assertEqual(sum(self.complete(account).values()),
                         (chain.rows(account.person) - first).total())

    @on_both_stores
    def test_what_a_reorganisation_took_is_marked(self, home, chain):
        account = Account(home, chain)
        chain.grow(20)
        self.complete(account)
        ever = {row[0] for row in chain.rows(account.person)}
        for depth in (1, 7, 3):
            chain.node.reorganise(depth)
            chain.grow(4)
            self.complete(account)
            alive = {row[0] for row in chain.rows(account.person)}
            ever |= alive
            self.assertEqual({row[0] for row in account.found(orphaned=True)}, ever - alive)
        self.assertNotEqual(ever, alive)

    @on_both_stores
    def test_a_killed_import_goes_on_although_the_chain_changed_meanwhile(self, home, chain):
        # R003-26
        chain.grow(60)
        account = Account(home, chain, rate=SLOW)
        for stop in (3, 12):
            process = account.begin()
            wait_until(lambda stop=stop: self.count(account) >= stop, "the first rows")
            process.kill()
            process.communicate()
            self.assertEqual(process.returncode, -9)
            chain.node.reorganise(6)
            chain.grow(8)
        account.connectors()
        self.complete(account)
        self.assertEqual(set(self.complete(account).values()), {0})

    def count(self, account):
        try:
            return account.found().total()
        except Exception:  # there is no table yet
            return 0


if __name__ == "__main__":
    main()
