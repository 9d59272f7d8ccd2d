# SPDX-License-Identifier: Apache-2.0
"""Following a result: by asking, by websocket and by events, while others write, through broken
connections and kills, on both stores. What a client has in the end must be what is there.

  tail.py TIDEMARK TIDEMARK_SIM"""

import http.client
import json
import os
import random
import re
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, WAIT_S, wait_until  # noqa: E402
from sim_client import Closed, Websocket  # noqa: E402

CHAT = os.path.join(HERE, "..", "..", "examples", "chat", "collections.yaml")
NOWHERE = ("jetstream.endpoint=ws://127.0.0.1:9", "jetstream.fallback_endpoint=")
MESSAGES = "chat_messages"
LAST = "the last one"


class Chat(Daemon):
    def __init__(self, home, *settings):
        # What was given back is not memory in use, also where a sanitizer holds on to it.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"
        super().__init__(BothStores.program, home, (*NOWHERE, *settings),
                         {"ASAN_OPTIONS": sanitizer}, config=CHAT)
        self.wait_for(lambda health: True, "the daemon to answer")
        starts = home.starts = getattr(home, "starts", 0) + 1
        ports = wait_until(lambda: re.findall(r" port=(\d+)", self.words())[starts - 1:],
                           "the port to be told")
        self.port = int(ports[0])

    def data(self, command, **params):
        status, answer = self.ask("POST", "/api/data/" + command, params)
        assert status == 200, f"{command} {str(params)[:200]}: {status} {str(answer)[:300]}"
        return answer


def open_over(websocket, **params):
    """The handle of a query; a daemon that is too busy for it now is asked again."""
    def opened():
        websocket.send(1, json.dumps({"id": 1, "command": "query-open", "params": params}).encode())
        return json.loads(websocket.texts(1)[0])["result"].get("queryHandle")

    return wait_until(opened, "a query")


def message(key, chance, **more):
    return dict({"id": key, "roomId": chance.choice("ab"), "status": chance.choice("xyz"),
                 "timestamp": f"2026-01-01T00:00:{chance.randrange(60):02}Z",
                 "text": str(chance.random())}, **more)


def write(daemon, number, turns):
    """One of several who create, change and delete at the same time, each its own documents."""
    chance, there = random.Random(number), set()
    for _ in range(turns):
        key = f"w{number}-{chance.randrange(turns // 3)}"
        if key not in there:
            daemon.data("create", collection=MESSAGES, data=message(key, chance))
            there.add(key)
        elif chance.random() < 0.4:
            daemon.data("delete", collection=MESSAGES, id=key)
            there.remove(key)
        else:
            change = message(key, chance)
            del change["id"]
            daemon.data("update", collection=MESSAGES, id=key, data=change)


class Client(threading.Thread):
    """Reads all pages of a query and follows it; a change that was told beats what a page shows."""

    def __init__(self, daemon, follow, **query):
        super().__init__()
        self.daemon_process, self.follow, self.query = daemon, follow, query
        self.told, self.shown, self.seq = {}, {}, None
        self.failure = None
        self.opened = daemon.data("query-open", collection=MESSAGES, pageSize=7, **query)
        self.handle = self.opened["queryHandle"]
        self.seq = self.opened["seq"]
        self.breaks, self.walked = 0, False

    def run(self):
        try:
            pages = threading.Thread(target=self.read_pages)
            pages.start()
            self.follow(self)
            pages.join()
            assert self.walked
        except Exception as failure:  # told by the main thread
            self.failure = failure

    def read_pages(self):
        page = 0
        while not self.walked:
            answer = self.daemon_process.data("query-next", queryHandle=self.handle, page=page)
            for item in answer["items"]:
                self.shown[item["id"]] = item
            page, self.walked = page + 1, not answer["hasMore"]

    def hear(self, answer):
        """Whether the last one came."""
        for change in answer["changes"]:
            item = change["item"]
            assert change["seq"] <= answer["seq"]
            self.told[item["id"]] = None if change["op"] == "leave" else item
        assert answer["seq"] >= self.seq
        self.seq = answer["seq"]
        return any(change["item"]["id"] == LAST for change in answer["changes"])

    def result(self):
        both = dict(self.shown, **self.told)
        return {key: item for key, item in both.items() if item is not None}


def by_asking(client):
    while not client.hear(client.daemon_process.data(
            "query-tail", queryHandle=client.handle, since=client.seq, wait=30000)):
        pass


def open_socket(client):
    websocket = Websocket(client.daemon_process, "/api/ws", host="localhost")
    ask = {"id": 1, "command": "query-tail",
           "params": {"queryHandle": client.handle, "since": client.seq, "push": True}}
    websocket.send(1, json.dumps(ask).encode())
    answer = json.loads(websocket.texts(1)[0])
    assert answer == {"id": 1, "result": {"success": True, "seq": client.seq}}, answer
    return websocket


def by_websocket(client, messages=17):
    """Breaks the connection after the first message and then after so many, again and again."""
    while True:
        with open_socket(client) as websocket:
            for _ in range(messages if client.breaks else 1):
                push = json.loads(websocket.texts(1)[0])
                assert push["push"] == "tail" and push["queryHandle"] == client.handle, push
                if client.hear(push):
                    return
        client.breaks += 1


def by_events(client, events=13):
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", client.daemon_process.port,
                                                timeout=WAIT_S)
        connection.request("GET", f"/api/events?queryHandle={client.handle}",
                           headers={"Last-Event-ID": str(client.seq)})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        for _ in range(events if client.breaks else 1):
            event = {}
            while (line := answer.readline().decode().rstrip("\n")) or not event:
                if not line.startswith((":", "retry")) and line:
                    name, _, value = line.partition(": ")
                    event[name] = value
            if client.hear(json.loads(event["data"])):
                assert int(event["id"]) == client.seq
                connection.close()
                return
        client.breaks += 1
        connection.close()


class Tail(BothStores):
    maxDiff = None

    def present(self, daemon, **query):
        return {item["id"]: item for item in daemon.walk(MESSAGES, **query)}

    def check(self, daemon, clients):
        daemon.data("create", collection=MESSAGES,
                    data=message(LAST, random.Random(0), roomId="a", status="x"))
        for client in clients:
            client.join(WAIT_S)
            self.assertFalse(client.is_alive(), "the last change never came")
            if client.failure is not None:
                raise client.failure
            self.assertEqual(client.result(), self.present(daemon, **client.query))

    def test_history_and_tail_are_the_present(self):
        def run(home):
            ascending = [{"field": "timestamp", "direction": "asc"}]
            room = {"filter": {"roomId": "a"}}
            with Chat(home) as daemon:
                write(daemon, 0, 60)
                clients = [Client(daemon, by_asking), Client(daemon, by_asking, **room),
                           Client(daemon, by_websocket), Client(daemon, by_events),
                           Client(daemon, by_websocket, orderBy=ascending),
                           Client(daemon, by_websocket, filter={"status": {"$ne": "y"}}),
                           Client(daemon, by_events, **room)]
                writers = [threading.Thread(target=write, args=(daemon, number, 90))
                           for number in range(1, 5)]
                for thread in clients + writers:
                    thread.start()
                for writer in writers:
                    writer.join()
                self.check(daemon, clients)
                self.assertTrue(all(client.breaks > 0 for client in clients[2:5]))
                daemon.stop()
        self.both_stores(run)

    def test_a_long_way_through_what_others_changed_is_not_the_end(self):
        def run(home):
            with Chat(home) as daemon:
                opened = daemon.data("query-open", collection=MESSAGES, filter={"roomId": "rare"})
                for part in range(4):  # more than is read at a time
                    daemon.data("create", collection=MESSAGES, data=[
                        {"id": f"{part}-{n}", "roomId": "a"} for n in range(900)])
                daemon.data("create", collection=MESSAGES, data={"id": "it", "roomId": "rare"})
                for wait in (0, 60000):
                    handle = opened["queryHandle"]
                    told = daemon.data("query-tail", queryHandle=handle, wait=wait)
                    while wait == 0 and not told["changes"]:  # its time was up on the way
                        self.assertGreater(told["seq"], opened["seq"])
                        opened["seq"] = told["seq"]
                        told = daemon.data("query-tail", queryHandle=handle, since=told["seq"])
                    self.assertEqual([change["item"]["id"] for change in told["changes"]], ["it"])
                daemon.stop()
        self.both_stores(run)

    def test_a_room_is_not_told_of_other_rooms(self):
        def run(home):
            def put(key, **fields):
                daemon.data("create", collection=MESSAGES, data=dict(fields, id=key))

            def change(key, **fields):
                daemon.data("update", collection=MESSAGES, id=key, data=fields)

            with Chat(home) as daemon:
                for key in ("mine", "moves", "goes"):
                    put(key, roomId="a", status="x")
                for key in ("other", "theirs"):
                    put(key, roomId="b", status="x")
                clients = [Client(daemon, by_asking, filter={"roomId": "a"}),
                           Client(daemon, by_websocket, filter={"roomId": "a", "status": "x"}),
                           Client(daemon, by_events, filter={"roomId": "a"})]
                for client in clients:
                    client.read_pages()
                put("foreign", roomId="b")
                change("other", text="new")
                change("other", roomId="c")
                daemon.data("delete", collection=MESSAGES, id="theirs")
                daemon.data("delete", collection=MESSAGES, id="foreign")
                change("moves", roomId="b")
                change("moves", roomId="c")
                change("mine", unseen=1)
                daemon.data("delete", collection=MESSAGES, id="goes")
                for client in clients:
                    client.start()
                self.check(daemon, clients)
                for client in clients:
                    self.assertEqual(set(client.told), {"moves", "mine", "goes", LAST})
                    self.assertIsNone(client.told["moves"])
                daemon.stop()
        self.both_stores(run)

    def test_a_tail_ends_with_its_query_and_with_its_session(self):
        def ask(daemon, method, path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WAIT_S)
            connection.request(method, path, body and json.dumps(body),
                               {"Tidemark-Session": "7" * 32})
            return connection

        def run(home):
            with Chat(home, "serve.session_grace_seconds=1") as daemon:
                def open_query():
                    with ask(daemon, "POST", "/api/data/query-open",
                             {"collection": MESSAGES}).getresponse() as answer:
                        return json.load(answer).get("queryHandle")

                handle = wait_until(open_query, "a query")
                events = ask(daemon, "GET", f"/api/events?queryHandle={handle}").getresponse()
                self.assertEqual(events.readline(), b"retry: 1000\n")
                ask(daemon, "POST", "/api/data/query-close",
                    {"queryHandle": handle}).getresponse().close()
                words = events.read().decode()
                self.assertIn("event: refused", words)
                self.assertIn('"code":"HANDLE_NOT_FOUND"', words)
                with Websocket(daemon, "/api/ws", ("Tidemark-Session: " + "7" * 32,),
                               host="localhost") as websocket:
                    handle = open_over(websocket, collection=MESSAGES)
                    poll = ask(daemon, "POST", "/api/data/query-tail",
                               {"queryHandle": handle, "wait": 60000})
                    wait_until(lambda: b"tails_live 1" in daemon.ask_raw("GET", "/metrics")[1],
                               "the poll to wait")
                answer = poll.getresponse()
                self.assertEqual((answer.status, json.load(answer)["code"]),
                                 (404, "HANDLE_NOT_FOUND"))
                daemon.stop()
        self.both_stores(run)

    def test_a_query_that_is_followed_does_not_expire(self):
        def run(home):
            with Chat(home, "serve.handle_idle_seconds=15") as daemon:
                def there():
                    handles = daemon.ask("GET", "/api/admin/handles")[1]["handles"]
                    return {each["handle"] for each in handles}

                followed = [Client(daemon, None) for _ in range(2)]
                other = Client(daemon, None)
                events = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WAIT_S)
                events.request("GET", f"/api/events?queryHandle={followed[1].handle}")
                with open_socket(followed[0]), events.getresponse():
                    self.assertIn(other.handle, there())
                    wait_until(lambda: other.handle not in there(), "the other one to expire")
                    for client in followed:
                        self.assertIn(client.handle, there())
                        client.read_pages()
                events.close()
                daemon.stop()
        self.both_stores(run)

    def test_a_tail_goes_on_after_a_kill(self):
        def run(home):
            with Chat(home) as daemon:
                write(daemon, 0, 30)
                client = Client(daemon, None)
                client.read_pages()
                websocket = open_socket(client)
                write(daemon, 1, 20)
                self.assertFalse(client.hear(json.loads(websocket.texts(1)[0])))
                daemon.kill()
                with self.assertRaises(Closed):
                    while True:
                        client.hear(json.loads(websocket.texts(1)[0]))
                websocket.close()
            with Chat(home) as daemon:
                write(daemon, 2, 20)
                client.daemon_process = daemon
                client.follow = by_websocket
                client.start()
                self.check(daemon, [client])
                daemon.stop()
        self.both_stores(run)

    def test_who_does_not_listen_costs_little_and_misses_nothing(self):
        def run(home):
            keys = [f"m{number}" for number in range(1000)]
            chance = random.Random(7)

            def rewrite(daemon, letter):
                for at in range(0, len(keys), 50):
                    daemon.data("create", collection=MESSAGES,
                                data=[message(key + letter, chance, text=letter * 10000)
                                      for key in keys[at:at + 50]])

            with Chat(home, "serve.handle_idle_seconds=86400") as daemon:
                listener = Client(daemon, by_websocket)
                listener.follow = lambda client: by_websocket(client, 10 ** 9)
                listener.start()
                rewrite(daemon, "p")  # it has met all it may meet
                before = daemon.memory()
                slow = [Client(daemon, None) for _ in range(16)]
                sockets = [open_socket(client) for client in slow]
                rewrite(daemon, "q")
                wait_until(lambda: len([key for key in listener.told if key.endswith("q")]) == 1000,
                           "what was written")
                grown = daemon.memory() - before
                print(f"store={home.kind} unread=160MB grown={grown >> 20}MiB")
                self.assertLess(grown, (120 << 20) * daemon.shadows(), "160 MB were not read")
                for client, websocket in zip(slow, sockets):
                    while len(client.told) < 1000:
                        try:
                            client.hear(json.loads(websocket.texts(1)[0]))
                        except Closed:  # it was silent for longer than a server waits
                            websocket = open_socket(client)
                    websocket.close()
                    client.follow = by_websocket
                    client.start()
                self.check(daemon, [listener, *slow])
                daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
