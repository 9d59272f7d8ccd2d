# SPDX-License-Identifier: Apache-2.0
"""A node that tells new blocks over a websocket, a fake one, and a daemon that listens to it.

  content_heads.py TIDEMARK TIDEMARK_SIM"""

import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
import content_world  # noqa: E402
from content import World, reach, rows, stored  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Heads:
    """Tells the heads of a world to whoever subscribes."""

    def __init__(self, world):
        self.world, self.peers, self.lock = world, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.questions = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.greet, args=(peer,), daemon=True).start()

    def greet(self, peer):
        stream = peer.makefile("rb")
        key = b""
        for line in iter(stream.readline, b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"sec-websocket-key":
                key = value.strip()
        accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
        peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            frame = self.read_frame(stream)
            if frame is None or frame[0] == 8:
                peer.close()
                return
            if frame[0] == 9:
                peer.sendall(bytes([0x8A, len(frame[1])]) + frame[1])
            elif frame[0] == 1:
                question = json.loads(frame[1])
                self.send(peer, {"jsonrpc": "2.0", "id": question["id"], "result": "0x9"})
                with self.lock:
                    self.questions.append((question["method"], question["params"]))
                    self.peers.append(peer)

    @staticmethod
    def read_frame(stream):
        head = stream.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", stream.read(2))[0]
        mask, payload = stream.read(4), stream.read(size)
        return head[0] & 15, bytes(c ^ mask[i % 4] for i, c in enumerate(payload))

    @staticmethod
    def send(peer, message):
        payload = json.dumps(message).encode()
        size = len(payload)
        size = bytes([size]) if size < 126 else struct.pack(">BH", 126, size)
        peer.sendall(b"\x81" + size + payload)

    def tell(self):
        """The newest block, to all who listen."""
        with self.world.lock:
            head = self.world.header(len(self.world.blocks) - 1)
        with self.lock:
            for peer in self.peers:
                self.send(peer, {"jsonrpc": "2.0", "method": "eth_subscription",
                                 "params": {"subscription": "0x9", "result": head}})

    def drop(self):
        """Hangs up on everybody, and on everybody who calls."""
        self.listener.close()
        with self.lock:
            for peer in self.peers:
                peer.shutdown(socket.SHUT_RDWR)
            self.peers.clear()


def told(daemon):
    for line in daemon.ask_raw("GET", "/metrics")[1].decode().splitlines():
        if line.startswith("tidemark_chain_heads_total "):
            return int(line.split()[1])
    return 0


class ContentHeads(BothStores):
    def test_heads_are_heard_and_polling_goes_on_without(self):
        """R002-01, R002-18: a head that is told is read; a reorganisation that is told is found by
        the blocks' parents; without the socket the chain is followed as ever."""
        self.both_stores(self.follow)

    def follow(self, home):
        world = World()
        heads = Heads(world)
        first = world.add(b"first")
        listening = f"content.heads=ws://127.0.0.1:{heads.port}"
        with Daemon(self.program, home, (*world.settings(), listening)) as daemon:
            reach(daemon, home, 1)
            wait_until(lambda: heads.peers, "the subscription")
            self.assertEqual(heads.questions[0], ("eth_subscribe", ["newHeads"]))
            second = world.add(b"second")
            heads.tell()
            wait_until(lambda: told(daemon) == 1, "the head to be heard")
            reach(daemon, home, 2)
            with world.lock:
                world.blocks[-1:] = []
            other = world.add(b"other", fork="b")
            world.add(fork="b")
            heads.tell()
            reach(daemon, home, 3)
            self.assertEqual(rows(home, "SELECT uri FROM document_refs WHERE block_number > 1"),
                             [["ipfs://" + other[0]]])
            heads.drop()
            third = world.add(b"third", fork="b")
            reach(daemon, home, 4)
            daemon.stop()
        self.assertEqual(stored(home), sorted("ipfs://" + cid
                                              for cid in first + second + other + third))

    def test_a_simulated_chain_is_heard_over_reorganisations_and_hang_ups(self):
        """R002-18: nodes that tell of new blocks, and hang up, lead to what is true."""
        def run(home):
            with content_world.World((self.program, self.sim_program), home, heads=True) as world:
                with world.daemon() as daemon:
                    def settle():
                        daemon.wait_for(lambda _: not world.difference(), "the truth")

                    def of_nodes(what):
                        return sum(node[what] for node in world.sim.hosts()["nodes"])
                    wait_until(lambda: of_nodes("listening") == 1, "the subscription")
                    world.sim.act("mine", 1)
                    world.sim.act("reorg", 2)
                    self.assertEqual(of_nodes("heads"), 2)
                    wait_until(lambda: told(daemon) == 2, "both heads to be heard")
                    settle()
                    world.sim.manner("node", hang_up=100)
                    world.sim.act("mine", 3)
                    self.assertEqual((of_nodes("dropped"), of_nodes("heads")), (1, 2))
                    world.sim.manner("node")
                    settle()
                    wait_until(lambda: of_nodes("listening") == 1, "the subscription anew")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
