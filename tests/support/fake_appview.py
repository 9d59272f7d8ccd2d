# SPDX-License-Identifier: Apache-2.0
"""An AppView whose feeds a test writes itself: order, dates, pins, refusals, all as told.

It pages as the real one was seen to: newest first by the earlier of the two dates, a token means
older than, the last page names none, and a token it did not issue itself is answered with 500.
Every request is kept with its time."""

import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAIT_S = 180
COLLECTIONS = {"post": "app.bsky.feed.post", "repost": "app.bsky.feed.repost"}


def iso(us):
    seconds, rest = divmod(us, 1000000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:03d}Z"


def now_us():
    return int(time.time() * 1000000) // 1000 * 1000


class Account:
    def __init__(self, view, number):
        self.view, self.number = view, number
        self.did = f"did:plc:{number:024d}".replace("0", "a").replace("1", "b").replace(
            "8", "c").replace("9", "d")
        self.handle = f"h{number}.example"
        self.items, self.refusal, self.standing, self.serial = [], None, None, 0

    def add(self, kind, seen_us, created_us=None, text="", subject=None, pin=False):
        self.serial += 1
        name = COLLECTIONS[kind]
        item = {"kind": kind, "seen": seen_us // 1000 * 1000,
                "created": (created_us or seen_us) // 1000 * 1000, "rkey": f"k{self.serial:06d}",
                "text": text or f"post {self.serial} https://site{self.number}.example/"
                f"{self.serial}", "subject": subject, "pin": pin}
        item["uri"] = f"at://{self.did}/{name}/{item['rkey']}"
        item["cid"] = f"bafyrei{self.number}x{self.serial:06d}"
        self.items.append(item)
        return item

    def post(self, seen_us, **more):
        return self.add("post", seen_us, **more)

    def repost(self, seen_us, subject, **more):
        return self.add("repost", seen_us, subject=subject, **more)

    def delete(self, item):
        self.items.remove(item)

    def edit(self, item, text):
        item["text"], item["cid"] = text, item["cid"] + "e"

    def author(self):
        return {"did": self.did, "handle": self.handle, "displayName": self.handle, "labels": []}

    def show(self, item):
        # A real one shows the date it sorts by.
        return {"uri": item["uri"], "cid": item["cid"], "author": self.author(),
                "record": {"$type": COLLECTIONS["post"], "text": item["text"],
                           "createdAt": iso(item["created"])},
                "indexedAt": iso(min(item["seen"], item["created"])), "labels": []}


class FakeAppView:
    def __init__(self):
        self.accounts, self.requests, self.tokens, self.faults = {}, [], {}, []
        self.lock, self.order = threading.Lock(), None
        self.under_way = self.under_way_max = 0
        self.gate = None  # a semaphore: every page of a feed takes one of it
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # who asked is gone: killed, as planned
        self.port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def account(self):
        account = Account(self, len(self.accounts) + 1)
        self.accounts[account.did] = account
        return account

    def asked(self, method="app.bsky.feed.getAuthorFeed", did=None):
        with self.lock:
            return [request for request in self.requests if request["method"] == method
                    and (did is None or request["params"].get("actor") == [did])]

    def find(self, uri):
        did, _, rkey = uri[5:].split("/")
        for item in self.accounts[did].items if did in self.accounts else []:
            if item["rkey"] == rkey:
                return self.accounts[did], item
        return None, None

    def answer(self, handler):
        address = urllib.parse.urlparse(handler.path)
        params = urllib.parse.parse_qs(address.query)
        method = address.path.rsplit("/", 1)[1]
        with self.lock:
            self.under_way += 1
            self.under_way_max = max(self.under_way, self.under_way_max)
            request = {"method": method, "params": params, "at": time.monotonic()}
            self.requests.append(request)
        if self.gate and method == "app.bsky.feed.getAuthorFeed":
            self.gate.acquire(timeout=WAIT_S)
        with self.lock:
            status, body, headers = self.reply(method, params)
            self.under_way -= 1
        words = body if isinstance(body, bytes) else json.dumps(body).encode()
        request["bytes"] = len(words)
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(words)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(words)

    def reply(self, method, params):
        for fault in self.faults:
            if fault["method"] == method and fault["count"] > 0 and \
                    fault.get("did") in (None, params.get("actor", [""])[0]):
                fault["count"] -= 1
                return fault["status"], fault.get("body", {"error": "InternalServerError"}), \
                    fault.get("headers", {})
        if method == "app.bsky.feed.getPosts":
            found = [self.find(uri) for uri in params["uris"]]
            return 200, {"posts": [who.show(item) for who, item in found if who]}, {}
        if method == "com.atproto.identity.resolveHandle":
            found = [who.did for who in self.accounts.values()
                     if who.handle == params["handle"][0]]
            return (200, {"did": found[0]}, {}) if found else \
                (400, {"error": "InvalidRequest", "message": "Unable to resolve handle"}, {})
        account = self.accounts.get(params["actor"][0])
        if method == "app.bsky.actor.getProfile":
            if account is None or account.standing:
                return 400, {"error": account.standing if account else "InvalidRequest",
                             "message": "Profile not found"}, {}
            return 200, account.author(), {}
        if account is None or account.standing:
            return 400, {"error": "InvalidRequest", "message": "Profile not found"}, {}
        return self.feed(account, params)

    def feed(self, account, params):
        items = list(self.order(account) if self.order else sorted(
            account.items, key=lambda item: (min(item["seen"], item["created"]), item["cid"]),
            reverse=True))
        limit, token = int(params["limit"][0]), params.get("cursor", [None])[0]
        if token is not None and token not in self.tokens:
            return 500, {"error": "InternalServerError", "message": "Internal Server Error"}, {}
        if token is not None:
            last = self.tokens[token]
            items = [item for item in items if
                     (min(item["seen"], item["created"]), item["cid"]) < last] \
                if self.order is None else items[self.tokens[token]:]
        body = {"feed": [self.item(account, item) for item in items[:limit]]}
        if len(items) > limit:
            name = f"tok {len(self.tokens)}&{account.number}"
            before = 0 if token is None else self.tokens[token]
            last = items[limit - 1]
            self.tokens[name] = before + limit if self.order else \
                (min(last["seen"], last["created"]), last["cid"])
            body["cursor"] = name
        return 200, body, {}

    def item(self, account, item):
        if "raw" in item:
            return item["raw"]
        if item["kind"] == "post":
            shown = {"post": account.show(item)}
            if item["pin"]:
                shown["reason"] = {"$type": "app.bsky.feed.defs#reasonPin"}
            return shown
        who, subject = self.find(item["subject"]["uri"])
        return {"post": who.show(subject),
                "reason": {"$type": "app.bsky.feed.defs#reasonRepost", "by": account.author(),
                           "uri": item["uri"], "cid": item["cid"],
                           "indexedAt": iso(item["seen"])}}
