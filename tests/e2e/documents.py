# SPDX-License-Identifier: Apache-2.0
"""Collections that people declare: written, read, paged and grown over HTTP, on both stores.

  documents.py TIDEMARK TIDEMARK_SIM"""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from sim_client import Websocket  # noqa: E402

CHAT = os.path.join(HERE, "..", "..", "examples", "chat", "collections.yaml")
NOWHERE = ("jetstream.endpoint=ws://127.0.0.1:9", "jetstream.fallback_endpoint=")


def sql(home, text):
    """Runs it by another hand than the product's; the first column of the first row, as text."""
    if home.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(home.url[len("sqlite:"):], timeout=60)) as store:
            row = store.execute(text).fetchone()
            store.commit()
        return None if row is None else str(row[0])
    out = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", text, home.url],
                         check=True, capture_output=True, text=True).stdout
    return out.split("\n")[0]


class Chat(Daemon):
    def __init__(self, home, config=CHAT, environment=()):
        super().__init__(BothStores.program, home, (*NOWHERE, "serve.request_seconds=600"),
                         environment, config)
        if not environment:
            self.wait_until_it_answers()

    def wait_until_it_answers(self):
        self.wait_for(lambda health: True, "the daemon to answer")

    def data(self, command, status=200, **params):
        got, answer = self.ask("POST", "/api/data/" + command, params)
        assert got == status, f"{command} {str(params)[:300]}: {got} {str(answer)[:300]}"
        assert answer["success"] == (status == 200), answer
        return answer

    def create(self, collection, data, **more):
        return self.data("create", collection=collection, data=data, **more)


def message(number, **more):
    return dict({"id": f"m{number:04}", "roomId": "general", "status": "sent",
                 "timestamp": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z",
                 "text": f"message {number}"}, **more)


class Collections(BothStores):
    maxDiff = None

    def write_config(self, home, text):
        path = os.path.join(home.folder, "tidemark.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_the_example_passes_the_check(self):
        done = subprocess.run([self.program, "config", "check", "-c", CHAT], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_documents_are_created_read_changed_and_deleted(self):
        def run(home):
            with Chat(home) as daemon:
                made = daemon.create("chat_messages", message(1, mood={"a": [1, 2.5, None]}, n=7))
                self.assertEqual(list(made), ["success", "items", "seq"])
                self.assertEqual(made["items"], [
                    {"id": "m0001", "roomId": "general", "senderId": None, "senderName": None,
                     "text": "message 1", "status": "sent",
                     "timestamp": "2026-01-01T00:00:01.000Z",
                     "mood": {"a": [1, 2.5, None]}, "n": 7}])
                self.assertEqual(daemon.data("read", collection="chat_messages", id="m0001",
                                             minSeq=made["seq"])["item"], made["items"][0])
                changed = daemon.data("update", collection="chat_messages", id="m0001",
                                      data={"status": "read", "senderId": None, "mood": 1,
                                            "x": "y"})
                self.assertGreater(changed["seq"], made["seq"])
                self.assertEqual(changed["item"], dict(made["items"][0], status="read", mood=1,
                                                       x="y"))
                self.assertEqual(daemon.data("read", collection="chat_messages",
                                             id="m0001")["item"], changed["item"])
                unnamed = daemon.create("users", [{"name": "b"}, {"name": "a"}])
                for item in unnamed["items"]:
                    self.assertRegex(item["id"], r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")
                gone = daemon.data("delete", collection="chat_messages", id="m0001")
                self.assertGreater(gone["seq"], changed["seq"])
                for command, more in (("read", {}), ("delete", {}), ("update", {"data": {}})):
                    answer = daemon.data(command, 404, collection="chat_messages", id="m0001",
                                         **more)
                    self.assertEqual(answer["code"], "NOT_FOUND")
                daemon.stop()
        self.both_stores(run)

    def test_what_does_not_fit_is_refused_whole_and_in_words(self):
        def run(home):
            with Chat(home) as daemon:
                def refuse(code, status, words, command="create", **params):
                    answer = daemon.data(command, status, **params)
                    self.assertEqual(answer["code"], code)
                    self.assertIn(words, answer["error"])
                good = message(1)
                bad = ((message(2, timestamp="yesterday"), "data[1].timestamp: expected time"),
                       (message(2, text=5), "data[1].text: expected text (a string), found 5"),
                       (message(2, id=5), "data[1].id: expected a string"),
                       (message(1), "data[1].id: another document of this request has it"),
                       (message(2, roomId="r" * 2401), "data[1].roomId: expected at most 2400"),
                       ([], "data[1]: expected an object"))
                for document, words in bad:
                    refuse("BAD_DATA", 400, words, collection="chat_messages",
                           data=[good, document])
                refuse("BAD_DATA", 400, "data.size: expected int (a whole number of 64 bits), "
                       "found 1.5", collection="artifacts", data={"size": 1.5})
                refuse("BAD_DATA", 400, "data: expected", collection="users", data="x")
                refuse("LIMIT_RANGE", 400, "1 to 1000", collection="users", data=[])
                refuse("LIMIT_RANGE", 400, "1 to 1000", collection="users", data=[{}] * 1001)
                refuse("FORBIDDEN", 403, "built in", collection="posts", data={})
                refuse("UNKNOWN_COLLECTION", 404, "nope", collection="nope", data={})
                with concurrent.futures.ThreadPoolExecutor() as together:  # each is let wait
                    for done in [together.submit(refuse, "BEHIND", 503, "waited for 5 s", command,
                                                 collection="users", id="x", minSeq=10**9)
                                 for command in ("read", "list", "query-open")]:
                        done.result()
                self.assertEqual(daemon.walk("chat_messages"), [])
                daemon.create("chat_messages", good)
                refuse("CONFLICT", 409, "m0001", collection="chat_messages",
                       data=[message(2), good])
                refuse("BAD_DATA", 400, "keeps its id", "update", collection="chat_messages",
                       id="m0001", data={"id": "m0002"})
                refuse("BAD_DATA", 400, "data.text: expected text", "update",
                       collection="chat_messages", id="m0001", data={"text": False})
                self.assertEqual([row["id"] for row in daemon.walk("chat_messages")], ["m0001"])
                daemon.stop()
        self.both_stores(run)

    def test_a_batch_of_a_thousand_large_documents_is_stored(self):
        def run(home):
            with Chat(home) as daemon:
                many = [message(i, text="x" * 15000) for i in range(1000)]
                made = daemon.create("chat_messages", many, idempotencyKey="all of them")
                self.assertEqual([item["id"] for item in made["items"]],
                                 [f"m{i:04}" for i in range(1000)])
                self.assertEqual(
                    daemon.create("chat_messages", many, idempotencyKey="all of them"), made)
                status, answer = daemon.ask("POST", "/api/data/create", {
                    "collection": "chat_messages", "data": many[999:] + many[:500]})
                self.assertEqual((status, answer["code"]), (409, "CONFLICT"))
                status, answer = daemon.ask("POST", "/api/data/create", {
                    "collection": "chat_messages", "data": many[:9] + [{"timestamp": 1}]})
                self.assertEqual((status, answer["code"]), (400, "BAD_DATA"))
                self.assertIn("data[9].timestamp", answer["error"])
                unnamed = daemon.create("users", [{"name": "x" * 1000} for _ in range(100)])
                self.assertEqual(len({item["id"] for item in unnamed["items"]}), 100)
                self.assertEqual(len(daemon.walk("chat_messages", 100)), 1000)
                status, answer = daemon.ask("POST", "/api/data/create", {
                    "collection": "users", "data": {"name": "x" * (16 << 20)}})
                self.assertEqual((status, answer["code"]), (413, "TOO_LARGE"))
                status, answer = daemon.ask("POST", "/api/data/update", {
                    "collection": "users", "id": "u", "data": {"name": "x" * (1 << 20)}})
                self.assertEqual((status, answer["code"]), (413, "TOO_LARGE"))
                daemon.stop()
        self.both_stores(run)

    # R004-10 R004-44 R004-45 R004-46 R004-47 R004-48 R004-50
    def test_numbers_that_are_longer_when_written_out_are_stored(self):
        def run(home):
            with Chat(home) as daemon:
                numbers = b",".join([b"1e16"] * 44000)  # 10000000000000000.0 each

                def send(command, words):
                    connection = daemon.call()
                    connection.request("POST", "/api/data/" + command, words)
                    answer = connection.getresponse()
                    told = json.loads(answer.read())
                    connection.close()
                    self.assertEqual(answer.status, 200, str(told)[:300])
                    return told
                send("create", b'{"collection":"chat_messages","data":{"id":"new","more":[%s]}}'
                     % numbers)
                daemon.create("chat_messages", {"id": "old", "text": "x" * 100000})
                send("update", b'{"collection":"chat_messages","id":"old",'
                     b'"data":{"status":"sent","more":[%s]}}' % numbers)
                for name in ("new", "old"):
                    item = daemon.data("read", collection="chat_messages", id=name)["item"]
                    self.assertEqual(item["more"], [1e16] * 44000)
                daemon.stop()
        self.both_stores(run)

    def test_declared_collections_page_like_built_in_ones_with_their_own_defaults(self):
        def run(home):
            with Chat(home) as daemon:
                daemon.create("chat_messages", [message(i) for i in range(392)])
                opened = daemon.data("query-open", collection="chat_messages",
                                     filter={"roomId": "general", "status": "sent"})
                self.assertEqual((opened["totalCount"], opened["pageSize"]), (392, 100))
                daemon.create("chat_messages", message(999))  # behind the fence
                sizes, ids = [], []
                for _ in range(4):
                    page = daemon.data("query-next", queryHandle=opened["queryHandle"])
                    sizes.append(len(page["items"]))
                    ids += [item["id"] for item in page["items"]]
                self.assertEqual(sizes, [100, 100, 100, 92])
                self.assertEqual(ids, [f"m{i:04}" for i in reversed(range(392))])
                names = ["b", "A", "é", "a", None, "Z", "aa"]
                daemon.create("users", [{"name": name} for name in names])
                self.assertEqual([row["name"] for row in daemon.walk("users", 2)],
                                 [None, "A", "Z", "a", "aa", "b", "é"])
                times = ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z"]
                daemon.create("rooms", [{"id": t[6:7], "lastActivityAt": t} for t in times])
                self.assertEqual([row["id"] for row in daemon.walk("rooms", 1)], ["3", "2", "1"])
                daemon.create("artifacts", [{"id": t[6:7], "createdAt": t} for t in times])
                self.assertEqual([row["id"] for row in daemon.walk("artifacts")], ["3", "2", "1"])
                answer = daemon.data("query-open", 400, collection="users",
                                     orderBy=[{"field": "displayName"}])
                self.assertEqual(answer["code"], "NO_INDEX")
                answer = daemon.data("query-open", 400, collection="users", filter={"mood": 1})
                self.assertEqual(answer["code"], "UNKNOWN_FIELD")
                daemon.stop()
            config = self.write_config(home, "collections: {plain: {fields: {createdAt: time}}, "
                                             "few: {fields: {a: int}, page_size: 3}}")
            with Chat(home, config) as daemon:
                daemon.create("plain", [{"id": t[6:7], "createdAt": t} for t in times])
                self.assertEqual([row["id"] for row in daemon.walk("plain")], ["3", "2", "1"])
                self.assertEqual(daemon.data("query-open", collection="plain")["pageSize"], 100)
                self.assertEqual(daemon.data("query-open", collection="few")["pageSize"], 3)
                daemon.create("few", [{"id": str(i)} for i in range(5)])
                self.assertEqual([row["id"] for row in daemon.walk("few", 2)],
                                 ["4", "3", "2", "1", "0"])
                daemon.stop()
        self.both_stores(run)

    def test_a_row_is_found_by_its_id_whatever_the_filter(self):
        def run(home):
            with Chat(home) as daemon:
                daemon.create("chat_messages", [message(i) for i in range(30)])
                deep = {"status": "sent"}
                for _ in range(15):  # as deep as a filter may be
                    deep = {"$and": [deep]}
                for wanted in (deep, {"roomId": {"$in": ["general"] + ["x"] * 255}}):
                    opened = daemon.data("query-open", collection="chat_messages", pageSize=5,
                                         filter=wanted, around="m0010")
                    page = daemon.data("query-next", queryHandle=opened["queryHandle"])
                    self.assertIn("m0010", [row["id"] for row in page["items"]])
                daemon.data("query-open", 404, collection="chat_messages", around="m0010",
                            filter={"status": {"$ne": "sent"}})
                daemon.data("query-open", 404, collection="chat_messages", around="nobody")
                daemon.stop()
        self.both_stores(run)

    def test_a_request_sent_twice_is_done_once_also_after_a_kill(self):
        def run(home):
            request = {"collection": "chat_messages", "idempotencyKey": "k-1",
                       "data": [{"text": "a", "roomId": "r"}, {"text": "b", "more": [1]}]}
            points = ("after_rows", "before_commit", "after_commit", "before_ack")
            for point in points:
                request["idempotencyKey"] = "k-" + point
                with Chat(home) as daemon:
                    daemon.stop()
                with Chat(home, environment=(("TIDEMARK_CRASH_AT", point),)) as daemon:
                    with self.assertRaises(Exception):
                        daemon.wait_until_it_answers()  # a commit of its own may be the first
                        daemon.data("create", **request)
                    wait_until(daemon.ended, "the crash at " + point)
                    self.assertEqual(daemon.process.returncode, -signal.SIGKILL)
                with Chat(home) as daemon:
                    first = daemon.data("create", **request)
                    again = daemon.data("create", **request)
                    self.assertEqual(first, again)
                    daemon.kill()
                with Chat(home) as daemon:
                    self.assertEqual(daemon.data("create", **request), first)
                    rows = daemon.walk("chat_messages")
                    self.assertEqual(sorted(row["id"] for row in rows),
                                     sorted({row["id"] for row in rows}))
                    self.assertEqual(len(rows), 2 * (points.index(point) + 1))
                    other = dict(request, data={"text": "c"})
                    answer = daemon.data("create", 409, **other)
                    self.assertEqual(answer["code"], "CONFLICT")
                    daemon.stop()
        self.both_stores(run)

    def test_a_change_sent_twice_undoes_nothing_that_came_between(self):
        def run(home):
            with Chat(home) as daemon:
                def update(name, status=200, **more):
                    return daemon.data("update", status, collection="rooms", id="r",
                                       **{"data": {"name": name}, **more})

                def name():
                    return daemon.data("read", collection="rooms", id="r")["item"]["name"]

                daemon.create("rooms", {"id": "r", "name": "first", "topic": "tides"},
                              idempotencyKey="made")
                mine = update("mine", idempotencyKey="k")
                theirs = update("theirs")
                again = update("mine", idempotencyKey="k")
                self.assertEqual((name(), again["seq"]), ("theirs", mine["seq"]))
                self.assertEqual(again["item"], theirs["item"])
                for code, more in (("CONFLICT", {"name": "other", "idempotencyKey": "k"}),
                                   ("CONFLICT", {"name": "mine", "idempotencyKey": "made"}),
                                   ("BAD_REQUEST", {"name": "mine", "idempotencyKey": ""})):
                    answer = update(status=409 if code == "CONFLICT" else 400, **more)
                    self.assertEqual(answer["code"], code)
                # What was refused has done nothing, and may be asked for again.
                absent = {"collection": "rooms", "id": "none", "idempotencyKey": "later"}
                daemon.data("update", 404, data={"name": "x"}, **absent)
                daemon.create("rooms", {"id": "none"})
                daemon.data("update", data={"name": "x"}, **absent)
                gone = {"collection": "rooms", "id": "r", "idempotencyKey": "gone"}
                first = daemon.data("delete", **gone)
                self.assertEqual(daemon.data("delete", **gone), first)
                self.assertEqual(update("mine", idempotencyKey="k"),
                                 {"success": True, "item": None, "seq": mine["seq"]})
                daemon.data("delete", 404, collection="rooms", id="r")
                daemon.data("delete", 409, collection="rooms", id="none", idempotencyKey="gone")
                daemon.create("rooms", {"id": "r", "name": "made anew"})
                daemon.kill()
            with Chat(home) as daemon:
                self.assertEqual(daemon.data("delete", **gone), first)
                self.assertEqual(update("mine", idempotencyKey="k")["seq"], mine["seq"])
                self.assertEqual(name(), "made anew")
                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    same = [pool.submit(update, "once", idempotencyKey="at once")
                            for _ in range(16)]
                    self.assertEqual(len({one.result()["seq"] for one in same}), 1)
                daemon.stop()
        self.both_stores(run)

    def test_many_at_once_lose_no_change(self):
        def run(home):
            with Chat(home) as daemon:
                daemon.create("rooms", {"id": "r", "name": "r"})
                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    changes = [pool.submit(daemon.data, "update", collection="rooms", id="r",
                                           data={f"k{i}": i}) for i in range(40)]
                    same = [pool.submit(daemon.create, "users", {"name": "x"},
                                        idempotencyKey="once") for _ in range(16)]
                    seqs = [change.result()["seq"] for change in changes]
                    answers = [json.dumps(one.result()) for one in same]
                self.assertEqual(len(set(seqs)), 40)
                self.assertEqual(len(set(answers)), 1)
                room = daemon.data("read", collection="rooms", id="r")["item"]
                self.assertEqual({key: room.get(key) for key in (f"k{i}" for i in range(40))},
                                 {f"k{i}": i for i in range(40)})
                self.assertEqual(len(daemon.walk("users")), 1)
                daemon.stop()
        self.both_stores(run)

    # R004-34 R004-54 R004-55 R004-56 R004-58
    def test_the_old_list_goes_on_from_a_cursor_of_the_clients(self):
        def run(home):
            with Chat(home) as daemon:
                same = "2026-01-01T00:00:00.000Z"
                daemon.create("chat_messages", [message(i) for i in range(30)])
                daemon.create("chat_messages",
                              [message(i, timestamp=same, roomId="ties") for i in range(30, 60)])
                order = [{"field": "timestamp", "direction": "desc"}]

                def page(room, cursor=None):
                    return daemon.data("list", collection="chat_messages",
                                       filter={"roomId": room}, orderBy=order, limit=7,
                                       **({"cursor": cursor} if cursor else {}))
                seen, cursor = [], None
                while True:  # as the seed's widget does it
                    answer = page("general", cursor)
                    self.assertEqual(answer["totalCount"], 30)
                    seen += [item["id"] for item in answer["items"]]
                    if len(seen) >= answer["totalCount"]:
                        break
                    cursor = {"field": "timestamp", "direction": "before",
                              "value": answer["items"][-1]["timestamp"]}
                handle = daemon.walk("chat_messages", 9, filter={"roomId": "general"},
                                     orderBy=order)
                self.assertEqual(seen, [row["id"] for row in handle])
                seen, cursor = [], None
                while True:  # all of one time: the id breaks the ties
                    answer = page("ties", cursor)
                    seen += [item["id"] for item in answer["items"]]
                    if not answer["items"]:
                        break
                    last = answer["items"][-1]
                    if len(seen) == 14:
                        daemon.data("delete", collection="chat_messages", id=last["id"])
                    cursor = {"field": "timestamp", "direction": "before",
                              "value": last["timestamp"], "id": last["id"]}
                self.assertEqual(seen, [f"m{i:04}" for i in reversed(range(30, 60))])
                newer = daemon.data("list", collection="chat_messages", orderBy=order, cursor={
                    "field": "timestamp", "direction": "after", "value": message(27)["timestamp"]})
                self.assertEqual([item["id"] for item in newer["items"]], ["m0029", "m0028"])
                for wrong in ({"field": "text", "value": "x", "direction": "before"},
                              {"field": "timestamp", "value": 5, "direction": "before"},
                              {"field": "timestamp", "value": same, "direction": "up"},
                              {"field": "timestamp", "value": same, "direction": "after",
                               "id": "m0001"}):
                    daemon.data("list", 400, collection="chat_messages", orderBy=order,
                                cursor=wrong)
                self.assertEqual(len(daemon.data("list", collection="chat_messages")["items"]), 59)
                metrics = daemon.ask_raw("GET", "/metrics")[1].decode()
                used = int(re.search(r"^tidemark_list_cursors_total (\d+)$", metrics, re.M)[1])
                self.assertGreaterEqual(used, 9)
                daemon.stop()
        self.both_stores(run)

    def test_a_running_store_grows_with_its_declaration(self):
        def run(home):
            config = self.write_config(home, "collections: {notes: {fields: {text: text}}}")
            with Chat(home, config) as daemon:
                daemon.create("notes", [{"id": str(i), "text": "t", "rank": i} for i in range(50)])
                opened = daemon.data("query-open", collection="notes", pageSize=30)
                daemon.data("query-next", queryHandle=opened["queryHandle"])
                self.write_config(home, "collections: {notes: {fields: {text: text, rank: int}, "
                                        "sort: {field: rank, direction: asc}}, "
                                        "others: {fields: {a: int}}}")
                with concurrent.futures.ThreadPoolExecutor(4) as pool:  # while people write
                    writes = [pool.submit(daemon.create, "notes", {"id": f"w{i}", "rank": 100 + i})
                              for i in range(40)]
                    daemon.reload()
                    for write in writes:
                        write.result()
                wait_until(lambda: "grown" in daemon.words(), "the store to be grown")
                wait_until(lambda: "index_built" in daemon.words(), "the index")
                # What was opened before goes on as it was.
                page = daemon.data("query-next", queryHandle=opened["queryHandle"])
                self.assertEqual([row["id"] for row in page["items"]],
                                 [str(i) for i in reversed(range(20))])
                daemon.create("others", {"a": 1})
                daemon.create("notes", {"id": "new", "rank": -1})
                self.assertEqual(daemon.data("read", collection="notes", id="7")["item"],
                                 {"id": "7", "text": "t", "rank": 7})
                for row in daemon.walk("notes"):  # what was undeclared moves to its column
                    daemon.data("update", collection="notes", id=row["id"], data={})
                ranks = [row["rank"] for row in daemon.walk("notes", 20)]
                self.assertEqual(ranks, [-1, *range(50), *range(100, 140)])
                rows = daemon.walk("notes", filter={"rank": {"$gte": 48, "$lt": 100}})
                self.assertEqual([row["id"] for row in rows], ["48", "49"])
                self.write_config(home, "collections: {notes: {fields: {text: int}}}")
                daemon.reload()
                wait_until(lambda: "declaration_refused" in daemon.words(), "the refusal")
                self.assertIn("the store holds text as text", daemon.words())
                self.assertEqual(len(daemon.walk("others")), 1)
                daemon.stop()
            with Daemon(self.program, home, NOWHERE, (), config) as daemon:
                wait_until(daemon.ended, "the start to be refused")
                self.assertEqual(daemon.process.returncode, 1)
                self.assertIn("give the new field another name", daemon.words())
        self.both_stores(run)

    def grow(self, home, daemon, text):
        """Declares it while the daemon runs."""
        grown = daemon.words().count("msg=grown")
        self.write_config(home, text)
        daemon.reload()
        wait_until(lambda: daemon.words().count("msg=grown") > grown, "the store to be grown")

    def test_what_is_open_shows_a_field_that_is_declared_meanwhile(self):
        def run(home):
            config = self.write_config(home, "collections: {notes: {fields: {text: text}}}")
            with Chat(home, config) as daemon:
                port = wait_until(lambda: re.findall(r" port=(\d+)", daemon.words()), "the port")
                daemon.port = int(port[0])
                daemon.create("notes", [{"id": "a", "text": "t", "size": 5},
                                        {"id": "b", "text": "t", "size": 6},
                                        {"id": "c", "text": "other", "size": 6}])
                with Websocket(daemon, "/api/ws", host="localhost") as websocket:
                    def ask(command, **params):
                        websocket.send(1, json.dumps({"id": 1, "command": command,
                                                      "params": params}).encode())
                        return json.loads(websocket.texts(1)[0])["result"]

                    def told():
                        push = json.loads(websocket.texts(1)[0])
                        return [(change["op"], change["item"]) for change in push["changes"]]

                    handle = ask("query-open", collection="notes",
                                 filter={"text": "t"})["queryHandle"]
                    by_text = ask("query-open", collection="notes", filter={"text": "t"},
                                  orderBy=[{"field": "text"}], allowScan=True)["queryHandle"]
                    self.assertTrue(ask("query-tail", queryHandle=handle, push=True)["success"])
                    for at in (handle, by_text):
                        ask("query-next", queryHandle=at, page=0)
                    self.grow(home, daemon,
                              "collections: {notes: {fields: {size: int, text: text}}}")
                    daemon.data("update", collection="notes", id="a", data={"note": "hi"})
                    self.assertEqual(told(), [("update", {"id": "a", "size": 5, "text": "t",
                                                          "note": "hi"})])
                    daemon.create("notes", {"id": "d", "text": "t", "size": 7})
                    self.assertEqual(told(), [("enter", {"id": "d", "text": "t", "size": 7})])
                    daemon.data("update", collection="notes", id="b", data={"text": "none"})
                    self.assertEqual(told(), [("leave", {"id": "b"})])
                    for at in (handle, by_text):
                        page = ask("query-next", queryHandle=at, page=0)
                        self.assertEqual(page["items"], [{"id": "a", "size": 5, "text": "t",
                                                          "note": "hi"}])
                    # What a query asked for is not there any more: it says so, as after a restart.
                    self.write_config(home, "collections: {notes: {fields: {size: int}}}")
                    daemon.reload()
                    wait_until(lambda: "text" not in daemon.data(
                        "list", 400, collection="notes", filter={"x": 1})["error"].split(";")[1],
                        "the declaration")
                    daemon.data("update", collection="notes", id="a", data={"size": 8})
                    ended = json.loads(websocket.texts(1)[0])
                    self.assertEqual(ended["code"], "HANDLE_NOT_FOUND")
                    for at in (handle, by_text):
                        self.assertEqual(ask("query-next", queryHandle=at, page=0)["code"],
                                         "HANDLE_NOT_FOUND")
                daemon.stop()
        self.both_stores(run)

    def test_an_index_that_a_kill_left_unfinished_is_built_at_the_next_start(self):
        def run(home):
            config = self.write_config(home, "collections: {notes: {fields: {rank: int}, "
                                             "indexes: [[rank]]}}")
            with Chat(home, config) as daemon:
                daemon.create("notes", [{"rank": i % 7} for i in range(100)])
                daemon.kill()
            name = sql(home, "SELECT name FROM declared_indexes")
            sql(home, "UPDATE declared_indexes SET ready = 0")
            if home.kind == "postgres":  # as a build that was broken off leaves it
                sql(home, f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::"
                          "regclass")
            else:
                sql(home, f"DROP INDEX {name}")
            with Chat(home, config) as daemon:
                wait_until(lambda: "index_built" in daemon.words(), "the index")
                self.assertEqual(len(daemon.walk("notes", 9, orderBy=[{"field": "rank"}])), 100)
                daemon.stop()
            if home.kind == "postgres":
                self.assertEqual(sql(home, "SELECT indisvalid FROM pg_index WHERE indexrelid = "
                                           f"'{name}'::regclass"), "t")
        self.both_stores(run)


if __name__ == "__main__":
    main()
