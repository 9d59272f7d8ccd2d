# SPDX-License-Identifier: Apache-2.0
"""A contract on a real EVM node whose events name documents on a real IPFS node: the daemon keeps
every one of them, in block order, through reorganisations and kills, on both stores.

  anvil_content.py TIDEMARK PACKAGES [TEST...]

PACKAGES is the folder into which tools/real-servers put both nodes."""

import contextlib
import http.client
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from anvil_node import Anvil, word  # noqa: E402
from both_stores import main  # noqa: E402
from daemon_client import Daemon, SocketConnection, wait_until  # noqa: E402
from helia_gateway import Helia  # noqa: E402
from node_case import NodeCase, on_both_stores  # noqa: E402
from stored_news import rows  # noqa: E402

PROGRAM, PACKAGES = sys.argv[1:3]
EVENT = "EditPublished(address,string)"
# How a document lies in blocks: one of its own, a few, deep trees, the oldest form of all.
FORMS = ({}, {"chunk": 1000}, {"chunk": 100, "children": 2}, {"chunk": 700, "raw": False},
         {"chunk": 1 << 16, "raw": False, "version": 0},
         {"chunk": 300, "children": 3, "raw": False, "version": 0})
SIZES = (1, 299, 1000, 4321, 20000)
LARGE = 3_000_000


class Chain:
    """Both nodes and a contract that says what it is told."""

    def __init__(self, ipfs):
        self.node, self.ipfs = Anvil(PACKAGES), ipfs
        self.chance = random.Random(7)
        self.contract = self.node.deploy_herald(EVENT)
        self.documents = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.node.__exit__()

    def add(self, document, **form):
        cid = self.ipfs.add(document, **form)
        self.documents[cid] = document
        return cid

    def publish(self, cid):
        uri = ("ipfs://" + cid).encode()
        padded = uri.hex().ljust(-(-len(uri) // 32) * 64, "0")
        self.node.send(self.node.accounts[0], self.contract, data="0x" + word(
            self.node.accounts[1]) + word(64) + word(len(uri)) + padded)

    def grow(self, blocks):
        """Blocks with none, some or many documents, new ones and old ones."""
        for _ in range(blocks):
            for _ in range(self.chance.choice((0, 0, 1, 3, 8))):
                known = list(self.documents)
                if known and self.chance.random() < 0.2:
                    self.publish(self.chance.choice(known))
                else:
                    self.publish(self.add(self.chance.randbytes(self.chance.choice(SIZES)),
                                          **self.chance.choice(FORMS)))
            self.node.mine()

    def named(self):
        """(block, URI) of every event that is on the chain now."""
        found = set()
        for log in self.node.call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest",
                                                  "address": self.contract}):
            data = bytes.fromhex(log["data"][2:])
            size = int.from_bytes(data[64:96], "big")
            found.add((int(log["blockNumber"], 16), data[96:96 + size].decode()))
        return found

    def settings(self):
        return ("bluesky.mode=polling", f"content.contract={self.contract}",
                f"content.rpc={self.node.address}", f"content.gateways={self.ipfs.address}",
                f"content.event={EVENT}", "content.reorg_depth=20")


def fetch(daemon, cid):
    connection = SocketConnection(daemon.socket)
    try:
        connection.request("GET", "/ipfs/" + cid)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class AnvilContent(NodeCase):
    @contextlib.contextmanager
    def world(self, _):
        with Helia(PACKAGES) as ipfs, Chain(ipfs) as chain:
            yield chain

    def reached(self, home, chain):
        head = chain.node.block(chain.node.head())
        number = int(head["number"], 16)
        return rows(home, "SELECT number, hash FROM chain_blocks ORDER BY number DESC LIMIT 1") == [
            {"number": number, "hash": head["hash"]}] and rows(
            home, "SELECT block_number FROM meta WHERE id = 'content'") == [
            {"block_number": number}]

    def check(self, daemon, home, chain):
        """Waits for the head; then what is stored and served is what both nodes say."""
        def followed():
            assert not daemon.ended(), daemon.words()
            return daemon.health() and self.reached(home, chain)
        wait_until(followed, "the head")
        named = chain.named()
        references = rows(home, "SELECT block_number, uri FROM document_refs")
        self.assertEqual({(row["block_number"], row["uri"]) for row in references}, named)
        self.assertEqual(rows(home, "SELECT item FROM owed"), [])
        kept = {row["uri"]: (row["size"], row["errors"]) for row in rows(
            home, "SELECT uri, length(data) AS size, CASE WHEN is_errored THEN 1 ELSE 0 END"
            " AS errors FROM ipfs_cache")}
        for _, uri in named:
            cid = uri[len("ipfs://"):]
            self.assertEqual(kept[uri], (len(chain.documents[cid]), 0))
            self.assertEqual(fetch(daemon, cid), (200, chain.documents[cid]))

    @on_both_stores
    def test_every_document_is_kept_and_what_the_chain_took_back_is_taken_back(self, home, chain):
        # R002-01 R002-14
        chain.grow(12)
        chain.publish(chain.add(chain.chance.randbytes(LARGE)))
        chain.grow(3)
        with Daemon(PROGRAM, home, chain.settings()) as daemon:
            self.check(daemon, home, chain)
            for depth in (1, 6, 3):
                before = chain.named()
                chain.node.reorganise(depth)
                self.check(daemon, home, chain)
                chain.grow(5)
                self.check(daemon, home, chain)
            self.assertNotEqual(before - chain.named(), set())
            daemon.stop()

    @on_both_stores
    def test_a_killed_daemon_goes_on_although_the_chain_changed_meanwhile(self, home, chain):
        # R002-18
        chain.grow(40)
        for depth in (2, 9):
            with Daemon(PROGRAM, home, chain.settings()) as daemon:
                wait_until(lambda d=daemon: self.has_begun(d, home), "the first document")
                daemon.kill()
            chain.node.reorganise(depth)
            chain.grow(4)
        with Daemon(PROGRAM, home, chain.settings()) as daemon:
            self.check(daemon, home, chain)
            daemon.kill()
        with Daemon(PROGRAM, home, chain.settings()) as daemon:
            self.check(daemon, home, chain)
            daemon.stop()

    def has_begun(self, daemon, home):
        try:
            return daemon.health() and rows(home, "SELECT uri FROM ipfs_cache LIMIT 1")
        except (OSError, http.client.HTTPException):
            return False


if __name__ == "__main__":
    main()
