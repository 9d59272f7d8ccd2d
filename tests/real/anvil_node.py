# SPDX-License-Identifier: Apache-2.0
"""A real EVM node: anvil, which mines when it is told to, and contracts that do nothing but log."""

import os

from daemon_client import wait_until
from free_port import free_port
from node_process import NodeProcess

GAS = "0x200000"


def word(text):
    """An address or number as 32 bytes."""
    return (text[2:] if isinstance(text, str) else f"{text:x}").lower().rjust(64, "0")


class Anvil(NodeProcess):
    """The chain grows with mine() and by nothing else."""

    def __init__(self, packages):
        program = os.path.join(os.path.abspath(packages),
                               "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil")
        port = free_port()
        super().__init__("anvil", [program, "--host", "127.0.0.1", "--port", str(port), "--silent",
                                   "--no-mining", "--order", "fifo"], f"http://127.0.0.1:{port}")
        self.wait("eth_chainId")
        self.accounts = self.call("eth_accounts")

    def head(self):
        return int(self.call("eth_blockNumber"), 16)

    def block(self, number):
        return self.call("eth_getBlockByNumber", hex(number), True)

    def send(self, sender, to=None, value=0, data="0x"):
        """Hands in a transaction; its hash."""
        transaction = {"from": sender, "value": hex(value), "data": data, "gas": GAS}
        return self.call("eth_sendTransaction", transaction | ({"to": to} if to else {}))

    def mine(self):
        """One block, with all that was handed in."""
        before = self.head()
        self.call("evm_mine")
        wait_until(lambda: self.head() == before + 1, "a block")

    def reorganise(self, depth):
        """The last blocks never were: empty ones stand in their place."""
        self.call("anvil_reorg", depth, [])

    def deploy(self, code):
        """A contract whose code is this."""
        size = len(code) // 2
        assert size < 256
        maker = f"60{size:02x}600c60003960{size:02x}6000f3"  # returns what follows it
        sent = self.send(self.accounts[0], data="0x" + maker + code)
        self.mine()
        return self.call("eth_getTransactionReceipt", sent)["contractAddress"]

    def topic(self, signature):
        return self.call("web3_sha3", "0x" + signature.encode().hex())

    def deploy_token(self):
        """transfer: logs Transfer(caller, first word, second word)."""
        topic = self.topic("Transfer(address,address,uint256)")[2:]
        return self.deploy("602035600052" "600035" "33" "7f" + topic + "60206000a3" "00")

    def transfer(self, token, sender, to, amount):
        return self.send(sender, token, data="0x" + word(to) + word(amount))

    def deploy_herald(self, signature):
        """Logs what it is called with under the topic of an event."""
        topic = self.topic(signature)[2:]
        return self.deploy("366000600037" "7f" + topic + "366000a1" "00")
