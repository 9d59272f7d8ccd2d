# SPDX-License-Identifier: Apache-2.0
"""The history of an account on a real Bitcoin node, imported through a connector: what is stored is
what the chain and the mempool say, through reorganisations, on both stores.

  litecoin_ledger.py TIDEMARK [PACKAGES] [TEST...]

litecoind itself is a Debian package: apt-get install litecoind."""

import contextlib
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from both_stores import main  # noqa: E402
from import_run import ImportRun  # noqa: E402
from litecoin_node import Litecoin  # noqa: E402
from node_case import NodeCase, on_both_stores  # noqa: E402

PROGRAM = sys.argv[1]
NODES = os.path.join(HERE, "..", "..", "examples", "nodes")


class Account(ImportRun):
    """An address that gets and spends coins, and its import."""

    def __init__(self, home, node):
        super().__init__(PROGRAM, home)
        self.node, self.address = node, node.open_account()
        self.account = "litecoin:" + self.address
        folder = os.path.join(home.folder, "connectors")
        os.makedirs(folder)
        shutil.copy(os.path.join(NODES, "bitcoin_node.yaml"), folder)
        self.configure(["store:", f"  url: {home.url}", f"  data_dir: {home.folder}", "ledger:",
                        f"  connectors: {folder}", "providers:", "  bitcoin_node:",
                        f"    base_url: {node.root}", f"    api_key: {node.key}"])

    def rows(self):
        """What is stored, as the node's history has it, and the names of what is marked."""
        rows = self.stored()
        alive = {row["hash"]: (row["block"], int(row["amount"])) for row in rows
                 if row["status"] in ("confirmed", "pending")}
        return alive, {row["hash"] for row in rows if row["status"] == "orphaned"}


class LitecoinLedger(NodeCase):
    @contextlib.contextmanager
    def world(self, home):
        with Litecoin() as node:
            yield Account(home, node)

    def complete(self, account):
        """An import that has to end well; how many rows it brought."""
        code, said, words = account.run()
        self.assertEqual((code, said and said["status"]), (0, "completed"), (said, words))
        return said["streams"][0]["imported"]

    def expect_truth(self, account, orphaned=()):
        alive, marked = account.rows()
        self.assertEqual(alive, account.node.history(account.address))
        self.assertEqual(marked, set(orphaned))

    def fill(self, account, node):
        """Coins in and out, rewards, equal amounts, and one transaction that waits."""
        for coins in (1.5, 1.5, 0.1):
            node.pay("bank", account.address, coins)
        node.mine()
        node.mine(2, account.address)
        node.pay("owner", node.of("bank", "getnewaddress"), 0.25)
        node.mine()
        node.pay("bank", account.address, 3)

    @on_both_stores
    def test_what_is_stored_is_what_the_chain_and_the_mempool_say(self, _, account):
        # R003-31; a waiting transaction is the same one once it is mined
        node = account.node
        self.fill(account, node)
        self.assertEqual(self.complete(account), 7)
        self.expect_truth(account)
        self.assertIn("pending", {row["status"] for row in account.stored()})
        node.mine()
        self.complete(account)
        self.expect_truth(account)
        self.assertEqual({row["status"] for row in account.stored()}, {"confirmed"})
        self.assertEqual(self.complete(account), 0)

    @on_both_stores
    def test_what_a_reorganisation_took_is_marked_and_what_came_back_is_not(self, _, account):
        node = account.node
        self.fill(account, node)
        late = node.pay("bank", account.address, 7)
        lost = {node.call("getblock", block)["tx"][0] for block in node.mine(3, account.address)}
        self.complete(account)
        self.expect_truth(account)
        node.give_up(3)
        self.complete(account)  # what has left its block is given up ...
        self.assertEqual(account.rows()[1], lost | {late, *self.waiting(node, account)})
        self.complete(account)  # ... and waits again
        self.expect_truth(account, lost)
        node.mine(4)
        self.complete(account)
        self.expect_truth(account, lost)
        self.assertEqual(account.rows()[0][late][0], node.call("getblockcount") - 3)

    @on_both_stores
    def test_what_lost_against_another_transaction_is_marked_and_stays_so(self, _, account):
        node = account.node
        self.fill(account, node)
        node.mine()
        lost = node.pay("owner", node.of("bank", "getnewaddress"), 1.45)
        node.mine()
        self.assertIn(lost, node.history(account.address))
        self.complete(account)
        self.expect_truth(account)
        node.give_up(1)
        node.mine_instead(lost, "owner", node.of("bank", "getnewaddress"))
        for _ in range(2):
            self.complete(account)
            self.expect_truth(account, {lost})

    def waiting(self, node, account):
        return {txid for txid, (height, _) in node.history(account.address).items()
                if height is None}

    @on_both_stores
    def test_what_another_chain_says_is_believed_and_the_old_one_when_it_is_back(self, _,
                                                                                 account):
        node = account.node
        self.fill(account, node)
        node.mine()
        first = node.mine(1, account.address)[0]
        lost = node.call("getblock", first)["tx"][0]
        self.complete(account)
        before = node.history(account.address)
        node.call("invalidateblock", first)
        other = node.mine(1)[0]
        self.complete(account)
        self.expect_truth(account, {lost})
        node.call("invalidateblock", other)
        node.call("reconsiderblock", first)
        self.complete(account)
        self.expect_truth(account)
        self.assertEqual(node.history(account.address), before)


if __name__ == "__main__":
    main()
