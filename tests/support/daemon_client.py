# SPDX-License-Identifier: Apache-2.0
"""What a test needs to run a tidemark daemon on either store and to talk to it."""

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid

WAIT_S = 180  # a busy machine is slower than one thinks
TRY_AGAIN = (b'"code":"BUSY"', b'"code":"DEADLINE"')


def wait_until(condition, what, seconds=WAIT_S, pause=0.005):
    """Bounded polling of a condition; what it answered when it held."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(pause)


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(self.path)


class Home:
    """A fresh folder and a fresh store, `sqlite` or `postgres`; leaves nothing behind."""

    def __init__(self, kind):
        self.kind = kind
        self.folder = tempfile.mkdtemp(prefix="tidemark-home-")
        self.database = None
        if kind == "sqlite":
            self.url = f"sqlite:{self.folder}/tidemark.db"
        else:
            server = os.environ["TIDEMARK_TEST_POSTGRES"]
            self.database = "t" + uuid.uuid4().hex
            self.server_sql(f"CREATE DATABASE {self.database} TEMPLATE template0")
            self.url = server.rsplit("/", 1)[0] + "/" + self.database

    def server_sql(self, sql):
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", sql,
                        os.environ["TIDEMARK_TEST_POSTGRES"]], check=True)

    def run_sql(self, script):
        """What an operator types into the database's own shell."""
        if self.kind == "sqlite":
            store = sqlite3.connect(self.url[len("sqlite:"):], timeout=WAIT_S)
            store.executescript(script)
            store.close()
        else:
            subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url],
                           input=script, text=True, check=True)

    def select(self, question):
        """Read by another hand than the product's: a dictionary per row."""
        if self.kind == "sqlite":
            store = sqlite3.connect(self.url[len("sqlite:"):], timeout=WAIT_S)
            try:
                store.row_factory = sqlite3.Row
                store.create_function("sha256hex", 1, lambda data: None if data is None else
                                      hashlib.sha256(data).hexdigest())
                return [dict(row) for row in store.execute(question)]
            finally:
                store.close()
        done = subprocess.run(["psql", "-qAtX", self.url, "-c",
                               f"SELECT row_to_json(t) FROM ({question}) t"],
                              capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.database:
            self.server_sql(f"DROP DATABASE {self.database} WITH (FORCE)")
        shutil.rmtree(self.folder)


class Daemon:
    """`tidemark run` on a home, spoken to through its socket."""

    def __init__(self, program, home, settings=(), environment=(), config="/dev/null",
                 stdin=subprocess.DEVNULL, before_it_runs=None):
        self.home = home
        self.socket = os.path.join(home.folder, "tidemark.sock")
        self.log = os.path.join(home.folder, "log")
        command = [program, "run", "-c", config]
        own = (f"store.url={home.url}", f"store.data_dir={home.folder}",
               "serve.listen=127.0.0.1:0", "serve.health_listen=",
               "bluesky.appview=http://127.0.0.1:9", "cards.enabled=false",  # nobody but us
               "page.images_cdn=http://127.0.0.1:9",
               f"jetstream.cursor_file={home.folder}/jetstream_cursor.txt")
        for setting in (*own, *settings):
            command += ["--set", setting]
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log,
                                            env=dict(os.environ, **dict(environment)),
                                            preexec_fn=before_it_runs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def words(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def ended(self):
        return self.process.poll() is not None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """A clean stop: SIGTERM, exit code 0."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT_S)
        assert code == 0, f"ended with {code}:\n{self.words()}"

    def reload(self):
        """What an operator does to have configuration and follows read again."""
        self.process.send_signal(signal.SIGHUP)

    def call(self):
        """A connection on which nothing is said."""
        connection = SocketConnection(self.socket)
        connection.connect()
        return connection

    def fetch_once(self, method, path, body=None, headers=()):
        """Status, headers and bytes of an answer."""
        connection = SocketConnection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def fetch(self, method, path, body=None, headers=()):
        """The answer of a daemon that may have too much to do for a moment, as docs/API.md says."""
        def settled():
            status, told, answer = self.fetch_once(method, path, body, headers)
            later = status == 503 and any(code in answer for code in TRY_AGAIN)
            return None if later else (status, told, answer)
        return wait_until(settled, f"an answer to {path}")

    def ask_once(self, method, path, body=None):
        status, _, answer = self.fetch_once(method, path, body)
        return status, answer

    def ask_raw(self, method, path, body=None):
        status, _, answer = self.fetch(method, path, body)
        return status, answer

    def ask(self, method, path, body=None):
        status, answer = self.ask_raw(method, path, body)
        return status, json.loads(answer)

    def health(self):
        """The health page, or None while the daemon does not answer."""
        try:
            return self.ask("GET", "/health")[1]
        except (OSError, http.client.HTTPException):
            return None

    def metric(self, name):
        """What /metrics says of one that has no labels."""
        status, words = self.ask_once("GET", "/metrics")
        assert status == 200, words
        return next(float(line.split(" ")[1]) for line in words.decode().split("\n")
                    if line.startswith(name + " "))

    def wait_for(self, condition, what):
        """Waits until `condition(health)` holds."""
        def look():
            assert not self.ended(), f"the daemon ended while waiting for {what}:\n{self.words()}"
            health = self.health()
            return health if health and condition(health) else None
        return wait_until(look, what)

    def memory(self):
        """Bytes that it has in memory, with what a sanitizer notes about them."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) << 10

    def shadows(self):
        """What a byte takes in memory: a sanitizer for threads adds four."""
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            return 5 if "libtsan" in maps.read() else 1

    def walk(self, collection, page_size=500, **options):
        """Every row of a collection, page by page."""
        status, opened = self.ask("POST", "/api/data/query-open",
                                  dict(options, collection=collection, pageSize=page_size))
        assert status == 200, opened
        rows, page = [], 0
        while True:
            status, answer = self.ask("POST", "/api/data/query-next",
                                      {"queryHandle": opened["queryHandle"], "page": page})
            assert status == 200, answer
            rows += answer["items"]
            if not answer["hasMore"]:
                break
            page += 1
        self.ask("POST", "/api/data/query-close", {"queryHandle": opened["queryHandle"]})
        return rows
