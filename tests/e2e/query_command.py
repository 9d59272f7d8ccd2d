# SPDX-License-Identifier: Apache-2.0
"""`tidemark query`, as a person types it: on both stores, with and without a running daemon.

  query_command.py TIDEMARK TIDEMARK_SIM"""

import csv
import io
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, WAIT_S, wait_until  # noqa: E402

ROWS = 250
# Words that would break a careless line of CSV, a terminal or a question.
REASONS = ('plain', 'a, b', 'say "hi"', 'two\nlines', '\x1b[2J', 'größer', '')


def plant(home):
    """Gaps 1 to ROWS, by another hand than the product's."""
    rows = ", ".join(
        "({0}, 's{1}', 't{0}', {0}, {2}, '{3}', {0}000000, 1)".format(
            n, n % 3, n + 1, REASONS[n % len(REASONS)].replace("'", "''"))
        for n in range(1, ROWS + 1))
    home.run_sql(f"INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) "
                 f"VALUES {rows}; UPDATE engine SET next_n = {ROWS + 1};")


CHAT = os.path.join(HERE, "..", "..", "examples", "chat", "collections.yaml")


class QueryCommand(BothStores):
    config = "/dev/null"

    def tell(self, home, *words, code=0):
        done = subprocess.run(
            [self.program, *words, "-c", self.config, "--set", f"store.url={home.url}",
             "--set", f"store.data_dir={home.folder}"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def everywhere(self, check):
        """Calls `check(home)` on both stores, without a daemon and with one."""
        def run(home):
            self.tell(home, "migrate")
            plant(home)
            without = check(home)
            with Daemon(self.program, home, ("bluesky.mode=polling",)) as daemon:
                daemon.wait_for(lambda health: True, "the daemon")
                self.assertEqual(check(home), without)
        self.both_stores(run)

    def rows(self, home, *words):
        return [json.loads(line) for line in
                self.tell(home, "query", "gaps", "--json", *words)[0].splitlines()]

    # R004-19
    def test_json_lines_are_all_rows_in_the_collections_order(self):
        def check(home):
            rows = self.rows(home, "--page-size", "100")
            self.assertEqual([row["id"] for row in rows],
                             [str(n) for n in range(ROWS, 0, -1)])
            self.assertEqual(rows[0]["reason"], REASONS[ROWS % len(REASONS)])
            self.assertEqual(rows, self.rows(home, "--page-size", "7"))
            return rows
        self.everywhere(check)

    def test_filter_order_and_limit_are_as_asked(self):
        def check(home):
            rows = self.rows(home, "--where", '{"source": "s1"}', "--order", "id:asc",
                             "--limit", "5", "--page-size", "2")
            self.assertEqual([row["id"] for row in rows], ["1", "4", "7", "10", "13"])
            self.assertEqual(self.rows(home, "--limit", "0"), [])
            return rows
        self.everywhere(check)

    def test_csv_reads_back_as_what_was_stored(self):
        def check(home):
            out, words = self.tell(home, "query", "gaps", "--csv", "--order", "id")
            lines = list(csv.reader(io.StringIO(out, newline="")))
            self.assertEqual(lines[0][:3], ["id", "source", "stream"])
            reason = lines[0].index("reason")
            self.assertEqual([line[reason] for line in lines[1:]],
                             [REASONS[n % len(REASONS)] for n in range(1, ROWS + 1)])
            self.assertEqual(lines[1][lines[0].index("closedAt")], "")
            self.assertEqual(words, "")
            return out
        self.everywhere(check)

    def test_csv_without_a_row_is_the_line_of_names(self):
        def check(home):
            names = self.tell(home, "query", "gaps", "--csv", "--limit", "1")[0].splitlines()[0]
            for words in (("--where", '{"source": "none"}'), ("--limit", "0")):
                self.assertEqual(self.tell(home, "query", "gaps", "--csv", *words)[0], names + "\n")
            self.assertEqual(self.tell(home, "query", "gaps", "--limit", "0"), ("", ""))
            return names
        self.everywhere(check)

        def check_declared(home, daemon):
            empty = self.tell(home, "query", "rooms", "--csv")[0]
            self.create(daemon, {"id": "a"})
            out = self.tell(home, "query", "rooms", "--csv")[0]
            self.assertEqual(empty, out.splitlines()[0] + "\n")
        self.with_chat(check_declared)

    def test_a_table_without_a_row_says_so(self):
        def check(home):
            nobody = ("--where", '{"source": "none"}')
            self.assertEqual(self.tell(home, "query", "gaps", *nobody), ("", "none\n"))
            self.assertEqual(self.tell(home, "query", "gaps", "--json", *nobody), ("", ""))
        self.everywhere(check)

    def test_a_table_cannot_be_steered_by_what_strangers_wrote(self):
        def check(home):
            out, _ = self.tell(home, "query", "gaps", "--limit", "12", "--page-size", "5")
            self.assertNotIn("\x1b", out)
            lines = out.splitlines()
            self.assertRegex(lines[0], r"^id +source +stream +from +to +reason")
            self.assertEqual(len(lines), 13, "titles stand once")
            return out
        self.everywhere(check)

    def test_what_cannot_be_asked_is_told(self):
        def check(home):
            for words, sentence in (
                    (("unheard_of",), 'there is no collection "unheard_of"; there are posts, '),
                    (("gap",), 'there is no collection "gap" (did you mean gaps?); there are '),
                    (("gaps", "--where", '{"nope": 1}'), "nope"),
                    (("gaps", "--order", "nope:asc"), "nope"),
                    (("gaps", "--order", "id:sideways"), "direction"),
                    (("gaps", "--order", "reason"), "choose another, or add --allow-scan")):
                self.assertIn(sentence, self.tell(home, "query", *words, code=1)[1])
            scanned = self.rows(home, "--order", "reason", "--allow-scan")
            reasons = [row["reason"] for row in scanned]
            self.assertEqual(reasons, sorted(reasons, key=str.encode))
            self.assertEqual(len(reasons), ROWS)
            for words in (("gaps", "--where", '{"id": 1}, "x": {}'), ("gaps", "--where", "[]"),
                          ("gaps", "--where", "{"), ("gaps", "--page-size", "0"),
                          ("gaps", "--page-size", "1001"), ("gaps", "--limit", "-1"),
                          ("gaps", "--json", "--csv"), ()):
                out, sentence = self.tell(home, "query", *words, code=2)
                self.assertEqual(out, "")
                self.assertNotEqual(sentence, "")
        self.everywhere(check)

    def test_a_tail_needs_a_daemon(self):
        def run(home):
            self.tell(home, "migrate")
            _, words = self.tell(home, "query", "gaps", "--tail", code=1)
            self.assertIn("no daemon runs", words)
        self.both_stores(run)

    def with_chat(self, check, *settings):
        """Calls `check(home, daemon)` on both stores, with the chat's collections made."""
        def run(home):
            with Daemon(self.program, home, ("bluesky.mode=polling", *settings),
                        config=CHAT) as daemon:
                daemon.wait_for(lambda health: True, "the daemon")
                wait_until(lambda: daemon.ask("POST", "/api/data/list",
                                              {"collection": "rooms"})[0] == 200, "tables")
                check(home, daemon)
        self.config = CHAT
        self.both_stores(run)

    def create(self, daemon, *documents):
        status, answer = daemon.ask("POST", "/api/data/create",
                                    {"collection": "rooms", "data": list(documents)})
        self.assertEqual(status, 200, answer)

    def test_declared_collections_are_the_same_without_their_daemon(self):
        def check(home, daemon):
            self.create(daemon, *({"id": f"r{n}", "name": f"room {n}", "seats": n,
                                   "lastActivityAt": f"2026-01-01T00:{n:02}:00Z"}
                                  for n in range(30)))
            words = ("query", "rooms", "--json", "--page-size", "7")
            live, _ = self.tell(home, *words)
            named, _ = self.tell(home, *words, "--where", '{"name": "room 7"}')
            daemon.stop()
            self.assertEqual(self.tell(home, *words)[0], live)
            self.assertEqual(self.tell(home, *words, "--where", '{"name": "room 7"}')[0], named)
            self.assertEqual([json.loads(line)["seats"] for line in live.splitlines()],
                             list(range(29, -1, -1)))
            self.assertEqual(len(named.splitlines()), 1)
        self.with_chat(check)

    def test_a_field_without_a_column_is_told(self):
        def check(home, daemon):
            self.create(daemon, {"id": "b", "lastActivityAt": "2026-01-02T00:00:00Z"},
                        {"id": "a", "lastActivityAt": "2026-01-01T00:00:00Z", "late": 1})
            for words, told in ((("--page-size", "1"), True), (("--page-size", "2"), False)):
                out, sentence = self.tell(home, "query", "rooms", "--csv", *words)
                self.assertEqual("late" in out, not told)
                self.assertEqual("no column" in sentence, told)
        self.with_chat(check)

    # R004-19
    def test_a_tail_goes_on_with_what_changes(self):
        def check(home, daemon):
            self.create(daemon, {"id": "old", "lastActivityAt": "2026-01-01T00:00:00Z"})
            command = [self.program, "query", "rooms", "--tail", "--json", "-c", CHAT,
                       "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
                first = json.loads(tail.stdout.readline())
                self.assertEqual((first["op"], first["item"]["id"]), ("enter", "old"))
                self.create(daemon, {"id": "new"})
                second = json.loads(tail.stdout.readline())
                self.assertEqual((second["op"], second["item"]["id"]), ("enter", "new"))
                daemon.ask("POST", "/api/data/delete", {"collection": "rooms", "id": "old"})
                third = json.loads(tail.stdout.readline())
                self.assertEqual((third["op"], third["item"]), ("leave", {"id": "old"}))
                self.assertLess(first["seq"], second["seq"])
                self.assertLess(second["seq"], third["seq"])
                tail.kill()
        self.with_chat(check)

    def test_a_document_as_deep_as_one_may_be_is_listed_and_followed(self):
        levels = 62  # below the request and its data, which are two of 64
        tree = json.loads("[" * levels + "]" * levels)

        def check(home, daemon):
            def create(name, value):
                return daemon.ask("POST", "/api/data/create",
                                  {"collection": "rooms", "data": {"id": name, "tree": value}})
            self.assertEqual(create("deeper", [tree])[0], 400)
            self.assertEqual(create("deep", tree)[0], 200)
            command = [self.program, "query", "rooms", "--tail", "--json", "-c", CHAT,
                       "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
                self.assertEqual(json.loads(tail.stdout.readline())["item"]["tree"], tree)
                self.assertEqual(create("another", tree)[0], 200)
                self.assertEqual(json.loads(tail.stdout.readline())["item"]["tree"], tree)
                tail.kill()
            for words in (("--json",), ("--csv",), ()):
                self.assertEqual(self.tell(home, "query", "rooms", *words)[0].count("[" * levels),
                                 0 if words == () else 2)
            daemon.stop()
            for line in self.tell(home, "query", "rooms", "--json")[0].splitlines():
                self.assertEqual(json.loads(line)["tree"], tree)
        self.with_chat(check)

    def test_who_reads_slowly_reads_all_of_it(self):
        rooms = [{"id": f"{n:03}", "name": "x" * 2000} for n in range(300)]

        def check(home, daemon):
            command = [self.program, "query", "rooms", "--json", "-c", CHAT,
                       "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]
            self.create(daemon, *rooms)
            for change in ({"topic": "new"}, None):  # of the row read last
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True) as query:
                    seen = [json.loads(query.stdout.readline())["id"]]
                    wait_until(lambda: all(handle["idleSeconds"] > 0 for handle in daemon.ask(
                        "GET", "/api/admin/handles")[1]["handles"]), "its end")
                    if change:
                        daemon.ask("POST", "/api/data/update",
                                   {"collection": "rooms", "id": "200", "data": change})
                    seen += [json.loads(line)["id"] for line in query.stdout]
                    words = query.stderr.read()
                self.assertEqual(query.returncode, 1 if change else 0, words)
                told = [room["id"] for room in reversed(rooms)]
                self.assertEqual(seen, told[:100] if change else told)
                if change:
                    self.assertIn("cannot go on behind the row told last", words)
        self.with_chat(check, "serve.handle_idle_seconds=1")

    # R004-19
    def test_a_tail_outlives_its_daemon(self):
        def start(home):
            daemon = Daemon(self.program, home, ("bluesky.mode=polling",), config=CHAT)
            daemon.wait_for(lambda health: True, "the daemon")
            wait_until(lambda: daemon.ask("POST", "/api/data/list",
                                          {"collection": "rooms"})[0] == 200, "tables")
            return daemon

        def check(home, daemon):
            command = [self.program, "query", "rooms", "--tail", "--json", "-c", CHAT,
                       "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]
            self.create(daemon, {"id": "0"})
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as tail:
                told = [json.loads(tail.stdout.readline())]
                self.create(daemon, {"id": "1"})
                told.append(json.loads(tail.stdout.readline()))
                for number, end in enumerate((daemon.stop, daemon.kill)):
                    end()
                    self.assertRegex(tail.stderr.readline(), "waiting for it")
                    with start(home) as daemon:
                        self.create(daemon, {"id": str(2 * number + 2)})
                        self.create(daemon, {"id": str(2 * number + 3)})
                        told += [json.loads(tail.stdout.readline()) for _ in range(2)]
                        self.assertRegex(tail.stderr.readline(), "going on after seq")
                        if number == 0:
                            daemon.stop()
                self.assertEqual([(each["op"], each["item"]["id"]) for each in told],
                                 [("enter", str(number)) for number in range(6)])
                tail.kill()
        self.with_chat(check)

    def test_a_tail_that_missed_too_much_says_so(self):
        def check(home, daemon):
            command = [self.program, "query", "rooms", "--tail", "--json", "-c", CHAT,
                       "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]
            self.create(daemon, {"id": "0"})
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as tail:
                tail.stdout.readline()
                daemon.stop()
                home.run_sql("INSERT INTO tail_floors (collection, seq) "
                             "SELECT 'rooms', commit_seq + 1 FROM engine;"
                             "UPDATE engine SET commit_seq = commit_seq + 2;")
                with Daemon(self.program, home, ("bluesky.mode=polling",), config=CHAT):
                    self.assertEqual(tail.wait(WAIT_S), 1)
                    self.assertIn("is not known any more", tail.stderr.read())
        self.with_chat(check)


if __name__ == "__main__":
    main()
