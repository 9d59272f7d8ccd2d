# SPDX-License-Identifier: Apache-2.0
"""What a test needs to talk to tidemark-sim: the process, its control, and a plain websocket."""

import base64
import hashlib
import http.client
import json
import os
import socket
import struct
import subprocess
import time

WAIT_S = 180


class Simulator:
    """A running tidemark-sim; leaves nothing behind."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, *options], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = self.control_port = int(self.address.rsplit(":", 1)[1])
        if self.address.startswith("https:"):  # the second line is the same without TLS
            plain = self.process.stdout.readline().strip()
            self.control_port = int(plain.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(WAIT_S)
        self.process.stdout.close()
        assert code == 0, f"tidemark-sim ended with {code}"

    def ask(self, method, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=WAIT_S)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def get(self, path):
        status, body = self.ask("GET", path)
        assert status == 200, (path, status, body)
        return body

    def stats(self):
        return json.loads(self.get("/_sim/stats"))

    def fired(self, name):
        return self.stats()["faults"][name]

    def arm(self, plan):
        status, body = self.ask("POST", "/_sim/fault?" + plan)
        assert status == 200, body

    def step(self, events):
        status, body = self.ask("POST", f"/_sim/step?events={events}")
        assert status == 200, body

    def events(self, start=0, count=1000000):
        return lines(self.get(f"/_sim/events?from={start}&count={count}"))

    def wait_until(self, condition):
        end = time.monotonic() + WAIT_S
        while not condition(self.stats()):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.01)


def lines(body):
    return [line for line in body.decode().split("\n") if line]


class Refused(Exception):
    def __init__(self, status, headers, body):
        super().__init__(f"{status} {body!r}")
        self.status, self.headers, self.body = status, headers, body


class Closed(Exception):
    """The stream ended; code is None without a close frame."""

    def __init__(self, code=None, reason=b""):
        super().__init__(f"{code} {reason!r}")
        self.code, self.reason = code, reason


class Websocket:
    def __init__(self, simulator, path, headers=(), host="sim", tls=None):
        """To anything with a `port`; `tls`: a context for it."""
        self.socket = socket.create_connection(("127.0.0.1", simulator.port), timeout=WAIT_S)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.buffer = b""
        self.pings = 0
        key = base64.b64encode(os.urandom(16)).decode()
        head = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket",
                "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                *headers, "", ""]
        self.socket.sendall("\r\n".join(head).encode())
        try:
            while b"\r\n\r\n" not in self.buffer:
                self._more()
        except Closed:
            self.close()
            raise
        answer, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status = int(answer.split(b" ")[1])
        fields = dict(line.split(b": ", 1) for line in answer.split(b"\r\n")[1:])
        small = {name.lower(): value for name, value in fields.items()}  # as proxies spell them
        if status != 101:
            while len(self.buffer) < int(small[b"content-length"]):
                self._more()
            self.close()
            raise Refused(status, fields, self.buffer)
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.fields = fields
        assert small[b"sec-websocket-accept"] == base64.b64encode(digest)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def _more(self):
        try:
            chunk = self.socket.recv(1 << 18)
        except ConnectionError:
            chunk = b""
        if not chunk:
            raise Closed()
        self.buffer += chunk

    def _take(self, size):
        while len(self.buffer) < size:
            self._more()
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def send(self, opcode, payload):
        mask = os.urandom(4)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        try:
            self.socket.sendall(head + mask + masked)
        except ConnectionError:
            raise Closed() from None

    def frame(self):
        """The next data frame as (opcode, payload); answers pings on the way."""
        while True:
            first, size = struct.unpack("!BB", self._take(2))
            assert first & 0x70 == 0 and size < 128, "bad frame head"
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            payload = self._take(size)
            opcode = first & 15
            if opcode == 9:
                self.pings += 1
                self.send(10, payload)
            elif opcode == 8:
                raise Closed(struct.unpack("!H", payload[:2])[0], payload[2:])
            else:
                return opcode, payload

    def texts(self, count):
        got = []
        for _ in range(count):
            opcode, payload = self.frame()
            assert opcode == 1
            got.append(payload.decode())
        return got

    def rest(self):
        """All texts until the stream ends, and how it ended."""
        got = []
        try:
            while True:
                got.append(self.frame()[1].decode(errors="replace"))
        except Closed as end:
            return got, end
