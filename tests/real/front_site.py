# SPDX-License-Identifier: Apache-2.0
"""A site as its visitors have it: a daemon, a real proxy in front of it, and TLS in between."""

import base64
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess

from daemon_client import Daemon, WAIT_S, wait_until
from front_server import PASSWORD, PERSON, SITE, serve_settings, write
from sim_client import Simulator, Websocket, lines

COLLECTIONS = "collections: {notes: {fields: {text: text}}}\n"


def make_token(program, name, scopes):
    """(the line, the token)"""
    made = subprocess.run([program, "token", name, scopes], check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    return made.stdout, made.stderr.strip()


class TlsConnection(http.client.HTTPSConnection):
    """To the site by its name, wherever it listens."""

    def __init__(self, front):
        super().__init__(SITE, timeout=WAIT_S, context=front.tls)
        self.front = front

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.front.port), timeout=WAIT_S)
        self.sock = self.front.tls.wrap_socket(plain, server_hostname=SITE)


class Site:
    """`token` is a program's, `front` the proxy, `daemon` what stands behind it."""

    def __init__(self, stack, programs, home, kind):
        program, sim_program = programs
        tokens, config = (os.path.join(home.folder, name) for name in ("tokens", "tidemark.yaml"))
        page_line, page = make_token(program, "page", "read")
        line, self.token = make_token(program, "program", "read,write")
        write(tokens, page_line + line)
        write(config, serve_settings(kind.file, tokens) + COLLECTIONS)
        self.sim = stack.enter_context(Simulator(
            sim_program, "--events", "0", "--start-us", "now", "--links", "40"))
        accounts = [json.loads(line) for line in lines(self.sim.get("/_sim/accounts"))]
        self.sharer = next(account["did"] for account in accounts if account["followed"])
        self.daemon = stack.enter_context(Daemon(program, home, (
            f"bluesky.actors={accounts[0]['handle']}",
            f"bluesky.appview=http://127.0.0.1:{self.sim.port}",
            f"jetstream.endpoint=ws://127.0.0.1:{self.sim.port}",
            "jetstream.fallback_endpoint="), config=config))
        found = wait_until(lambda: re.search(r" port=(\d+)", self.daemon.words()), "the port")
        self.daemon.port = int(found.group(1))
        self.front = stack.enter_context(kind(self.daemon.port, page))
        wait_until(lambda: self.daemon.ask_once("POST", "/api/data/list", {
            "collection": "notes"})[0] == 200, "the collection")
        self.sim.wait_until(lambda stats: stats["connections"] > 0)
        self.shared, pages = 0, [json.loads(self.sim.get(f"/_sim/link?n={n}")) for n in range(40)]
        self.pages = [page["n"] for page in pages if page["news"]]
        self.share()
        self.share()

    def share(self):
        """One more link is news."""
        status, answer = self.sim.ask("POST", f"/_sim/act?do=post&did={self.sharer}&shape=link"
                                              f"&link={self.pages[self.shared]}&spelling=0")
        assert status == 200, answer
        self.shared += 1
        wait_until(lambda: len(self.daemon.ask("GET", "/api/trending?limit=100")[1]["links"]) ==
                   self.shared, "the link")

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def person(self):
        words = base64.b64encode(f"{PERSON}:{PASSWORD}".encode()).decode()
        return {"Authorization": f"Basic {words}"}

    def fetch(self, method, path, body=None, headers=()):
        """Status, headers and bytes of an answer, over a connection of its own."""
        connection = TlsConnection(self.front)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body),
                               dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def ask(self, command, **params):
        """A command of the API by a program with its token; its result."""
        status, _, answer = self.fetch("POST", f"/api/data/{command}", params, self.bearer)
        assert status == 200, (command, status, answer)
        return json.loads(answer)

    def curl(self, path, *options, headers=(), **process):
        """The same by another client, over HTTP/2; a running process."""
        named = [word for header in dict(headers).items() for word in ("-H", ": ".join(header))]
        return subprocess.Popen(
            ["curl", "-sS", "--http2", "-N", "--max-time", str(WAIT_S), "--noproxy", "*",
             "--cacert", self.front.certificate, "--connect-to",
             f"{SITE}:443:127.0.0.1:{self.front.port}",
             *named, *options, f"https://{SITE}{path}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True, **process)

    def websocket(self, *headers):
        return Websocket(self.front, "/api/ws", headers, host=SITE, tls=self.front.tls)

    def hidden(self, text):
        """The bytes of a request that only the daemon itself would answer, for one more row."""
        body = json.dumps({"collection": "notes", "data": {"text": text}})
        return (f"POST /api/data/create HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                f"{self.token}\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

    def add_note(self, text):
        """A new row, made behind the proxy's back."""
        status, answer = self.daemon.ask("POST", "/api/data/create",
                                         {"collection": "notes", "data": {"text": text}})
        assert status == 200, answer

    def notes(self):
        return [row["text"] for row in self.daemon.walk("notes")]
