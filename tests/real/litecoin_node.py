# SPDX-License-Identifier: Apache-2.0
"""A real node of the Bitcoin family: litecoind on a chain of its own, mined when it is told to."""

import base64
import collections
import decimal
import tempfile

from free_port import free_port
from node_process import NodeProcess

COIN = 10**8
MATURE = 100  # blocks until the reward of one can be spent
USER = "tidemark:tests"


class Litecoin(NodeProcess):
    """`wallet` owns coins and addresses; for every account that is followed a wallet with its name
    watches it."""

    def __init__(self):
        port = free_port()
        folder = tempfile.mkdtemp(prefix="tidemark-litecoind-")
        user, password = USER.split(":")
        self.key = base64.b64encode(USER.encode()).decode()
        self.root = f"http://127.0.0.1:{port}"
        super().__init__("litecoind", [
            "litecoind", "-regtest", f"-datadir={folder}", "-server", "-txindex=1",
            f"-rpcuser={user}", f"-rpcpassword={password}", f"-rpcport={port}",
            "-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1", "-listen=0", "-connect=0", "-dnsseed=0",
            "-fallbackfee=0.0002"], self.root, {"authorization": "Basic " + self.key}, folder)
        self.wait("getblockcount")
        self.call("createwallet", "bank")
        self.mine(MATURE + 10)

    def of(self, wallet, method, *params):
        """Asks in the name of a wallet."""
        self.address = f"{self.root}/wallet/{wallet}"
        try:
            return self.call(method, *params)
        finally:
            self.address = self.root

    def mine(self, blocks=1, to=None):
        return self.call("generatetoaddress", blocks, to or self.of("bank", "getnewaddress"))

    def mine_empty(self, blocks):
        """Blocks that leave everything waiting."""
        for _ in range(blocks):
            self.call("generateblock", self.of("bank", "getnewaddress"), [])

    def open_account(self):
        """An address with coins to come, whose keys the wallet `owner` has; it is watched."""
        self.call("createwallet", "owner")
        address = self.of("owner", "getnewaddress")
        self.call("createwallet", address, True)
        self.of(address, "importaddress", address, "", False)
        return address

    def pay(self, wallet, to, coins):
        return self.of(wallet, "sendtoaddress", to, coins)

    def give_up(self, blocks):
        """The last blocks are no longer part of the chain; their transactions wait again."""
        height = self.call("getblockcount") - blocks + 1
        self.call("invalidateblock", self.call("getblockhash", height))

    def mine_instead(self, txid, wallet, to):
        """A block with a transaction that spends what another one, which waits, wanted to."""
        coins = [{"txid": coin["txid"], "vout": coin["vout"]}
                 for coin in self.call("getrawtransaction", txid, True)["vin"]]
        worth = sum(decimal.Decimal(str(self.call("getrawtransaction", coin["txid"], True)[
            "vout"][coin["vout"]]["value"])) for coin in coins)
        plain = self.call("createrawtransaction", coins, {to: str(worth - decimal.Decimal("0.01"))})
        signed = self.of(wallet, "signrawtransactionwithwallet", plain)
        assert signed["complete"], signed
        self.call("generateblock", to, [signed["hex"]])

    def transactions(self):
        """All of the chain, then all that wait: (height or None, transaction)."""
        for height in range(self.call("getblockcount") + 1):
            for sent in self.call("getblock", self.call("getblockhash", height), 2)["tx"]:
                yield height, sent
        for txid in self.call("getrawmempool"):
            yield None, self.call("getrawtransaction", txid, True)

    def history(self, address):
        """txid: (height or None, what the address gained), from the transactions themselves."""
        paid, gains, heights = {}, collections.defaultdict(int), {}
        for height, sent in self.transactions():
            for coin in sent["vin"]:
                spent = paid.get((coin.get("txid"), coin.get("vout")))
                if spent is not None:
                    gains[sent["txid"]] -= spent
                    heights[sent["txid"]] = height
            for coin in sent["vout"]:
                if address in coin["scriptPubKey"].get("addresses", ()):
                    value = int(decimal.Decimal(str(coin["value"])) * COIN)
                    paid[sent["txid"], coin["n"]] = value
                    gains[sent["txid"]] += value
                    heights[sent["txid"]] = height
        return {txid: (heights[txid], gained) for txid, gained in gains.items()}


