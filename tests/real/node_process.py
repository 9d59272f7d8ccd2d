# SPDX-License-Identifier: Apache-2.0
"""A server that somebody else wrote, as a process of a test: started, asked by JSON-RPC, ended."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from daemon_client import WAIT_S, wait_until


class Refused(Exception):
    """The server said no."""


class NodeProcess:
    """A command that serves JSON-RPC at `address`; `headers` go with every call. All that it wrote
    is gone at the end."""

    def __init__(self, name, command, address, headers=(), folder=None):
        self.name, self.address, self.headers = name, address, dict(headers)
        self.folder = folder or tempfile.mkdtemp(prefix=f"tidemark-{name}-")
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def words(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def wait(self, method, *params):
        """Waits until the server answers this."""
        def answers():
            assert self.process.poll() is None, f"{self.name} ended:\n{self.words()}"
            with contextlib.suppress(OSError, Refused):
                self.call(method, *params)
                return True
            return False
        wait_until(answers, self.name)

    def call(self, method, *params):
        question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        request = urllib.request.Request(self.address, question.encode(),
                                         {"content-type": "application/json", **self.headers})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                said = json.load(answer)
        except urllib.error.HTTPError as refusal:
            raise Refused(f"{method}: {refusal.code} {refusal.read().decode()}") from None
        if said.get("error"):
            raise Refused(f"{method}: {said['error']}")
        return said["result"]
