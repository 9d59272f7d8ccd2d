# SPDX-License-Identifier: Apache-2.0
"""The commands, as a person types them: on both stores, with and without a running daemon.

  cli.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, Home, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import (NO_DIFFERENCE, PAST, begin_before_everything, difference,  # noqa: E402
                      last_wanted_us, settings, stored_in, truth_of)

LISTS = ("follows", "gaps", "owed", "quarantine", "providers", "handles")
READS = (*LISTS, "status", "verify")
BOTH_CHECKS = {"schema", "engine", "ingest_numbers", "commit_numbers", "coverage", "gaps",
               "documents", "content", "tombstones", "post_links", "shares", "share_counts",
               "share_totals", "standing", "inherited", "import_sessions", "jetstream_state",
               "cursors"}
SCHEMA = len(os.listdir(os.path.join(HERE, "..", "..", "src", "store", "sql", "sqlite")))
# The cursor file stays what an operator wrote, however long a test takes.
KEPT = "jetstream.cursor_save_interval_seconds=3600"
CURSOR = '{"primary":{"type":"timeUs","value":5},"lastTransactionId":"","totalFetched":0}'


def run_sql(home, sql):
    """By another hand than the product's, with foreign keys and checks off."""
    if home.kind == "sqlite":
        with sqlite3.connect(home.url[len("sqlite:"):], timeout=WAIT_S) as store:
            store.executescript("PRAGMA ignore_check_constraints = ON;" + sql)
        store.close()
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c",
                        "SET session_replication_role = replica;" + sql, home.url], check=True)


def ask_sql(home, sql):
    """The first column of the first row, as text."""
    if home.kind == "sqlite":
        with sqlite3.connect(home.url[len("sqlite:"):], timeout=WAIT_S) as store:
            row = store.execute(sql).fetchone()
        store.close()
        return None if row is None else str(row[0])
    out = subprocess.run(["psql", "-qXAt", "-c", sql, home.url], check=True, capture_output=True,
                         text=True).stdout
    return out.split("\n")[0] if out.strip() else None


class Locked:
    """Somebody else's transaction, in whose presence nothing can be committed."""

    def __init__(self, home):
        self.home = home
        self.store = self.psql = None

    def __enter__(self):
        if self.home.kind == "sqlite":
            self.store = sqlite3.connect(self.home.url[len("sqlite:"):], timeout=WAIT_S,
                                         isolation_level=None)
            self.store.execute("BEGIN IMMEDIATE")
            return self
        self.psql = subprocess.Popen(["psql", "-qXAt", self.home.url], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write("BEGIN; LOCK TABLE engine IN EXCLUSIVE MODE;\n\\echo locked\n")
        self.psql.stdin.flush()
        assert self.psql.stdout.readline() == "locked\n"
        return self

    def __exit__(self, *_):
        if self.store:
            self.store.execute("ROLLBACK")
            self.store.close()
        else:
            self.psql.communicate("ROLLBACK;\n", timeout=WAIT_S)


class Impostor:
    """Listens where the daemon should, and gives everybody the same bytes, the first other ones."""

    def __init__(self, home, answer, first=()):
        self.path = os.path.join(home.folder, "tidemark.sock")
        self.answer = answer
        self.first = list(first)
        self.socket = socket.socket(socket.AF_UNIX)
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def answer_to(self, head):
        if head.startswith(b"GET /api/admin/store "):  # as an older daemon does
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
        return self.first.pop(0) if self.first else self.answer

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                asked = b""
                while chunk := peer.recv(65536):
                    asked += chunk
                    head, _, body = asked.partition(b"\r\n\r\n")
                    size = re.search(rb"Content-Length: (\d+)", head)
                    if size and len(body) >= int(size.group(1)):
                        peer.sendall(self.answer_to(head))
                        break

    def __enter__(self):
        self.socket.bind(self.path)
        self.socket.listen()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(WAIT_S)
        os.unlink(self.path)


class Cli(BothStores):
    def tell(self, home, command, *words, code=0, folder=None):
        """Runs a command and checks its exit code; (stdout, stderr)."""
        result = subprocess.run(
            [self.program, command, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
             "--set", f"store.data_dir={folder or home.folder}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(result.returncode, code, (command, words, result.stdout, result.stderr))
        return result.stdout, result.stderr

    def tell_json(self, home, command, *words, code=0):
        out, _ = self.tell(home, command, "--json", *words, code=code)
        return json.loads(out)

    def failing(self, home, code):
        """The names of the checks that fail, with how often."""
        answer = self.tell_json(home, "verify", code=code)
        self.assertEqual(answer["ok"], code == 0)
        names = {check["name"] for check in answer["checks"]}
        self.assertEqual(names - {"integrity", "foreign_keys"}, BOTH_CHECKS)
        for check in answer["checks"]:
            self.assertEqual(check["first"] is None, check["failures"] == 0, check)
        return {check["name"]: check["failures"] for check in answer["checks"] if check["failures"]}

    def follow_to_the_end(self, daemon, sim):
        end = last_wanted_us(sim)
        daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the last event")
        self.assertEqual(difference(stored_in(daemon), truth_of(sim)), NO_DIFFERENCE)

    # ---- usage ----

    def test_wrong_usage_is_told_and_help_is_given(self):
        def run(home):
            for command in (*READS, "migrate", "reset", "backup", "run", "config", "doctor"):
                out, _ = self.tell(home, command, "--help")
                self.assertTrue(out.startswith(f"usage: tidemark {command}"), out)
                out, words = self.tell(home, command, "--no-such-flag", code=2)
                self.assertEqual(out, "")
                self.assertIn("usage: tidemark", words)
            for command in (*READS, "migrate", "doctor"):
                self.tell(home, command, "a-word-too-many", code=2)
            self.tell(home, "reset", code=2)
            self.tell(home, "reset", "a", "b", "c", code=2)
            self.tell(home, "backup", code=2)
            self.tell(home, "backup", "a", "b", code=2)
            self.tell(home, "no-such-command", code=2)
            self.tell(home, "migrate-follows", "--rollback", "--truncate", code=2)
            self.tell(home, "status", "--set", "polling.interval_minutes=0", code=1)
            self.assertEqual([name for name in os.listdir(home.folder) if ".db" in name], [])
        self.both_stores(run)

    def test_words_promise_nothing_that_nobody_knows(self):
        def run(home):
            self.tell(home, "migrate")
            _, words = self.tell(home, "backfill", "did:plc:unknown")
            self.assertEqual(words, (
                "did:plc:unknown is not known here: the next daemon asks the AppView for it\n"
                "did:plc:unknown is, if there is such an account, read 24 hours back\n"))
            self.assertEqual(self.tell(home, "backfill", "--quiet", "did:plc:unknown"), ("", ""))
            firehose = ("migrate-follows", "--truncate", "--set", "bluesky.mode=firehose")
            self.assertEqual(self.tell(home, *firehose)[1], "poll_state: 0 rows removed\n")
            self.assertEqual(json.loads(self.tell(home, *firehose, "--json")[0]), {"removed": 0})
        self.both_stores(run)

    def test_a_folder_of_connectors_that_is_not_there_is_a_problem(self):
        def run(home):
            nowhere = f"ledger.connectors={home.folder}/nowhere"
            _, words = self.tell(home, "config", "check", "--set", nowhere, code=1)
            self.assertIn(f"--set: cannot read the connectors in {home.folder}/nowhere", words)
            self.tell(home, "config", "check")
        self.both_stores(run)

    def test_no_flag_is_left_out_in_silence(self):
        def run(home):
            actors = [word for i in range(40) for word in ("--actor", f"a{i}.example")]
            _, words = self.tell(home, "run", *actors, "--actor", "nobody", code=1)
            self.assertIn('--actor: bluesky.actors has the entry "nobody"', words)
            self.assertNotIn("--set", words)
            changes = ["--set", "log.level=warn"] * 62  # and two that every command gets here
            _, words = self.tell(home, "run", *changes, "--actor", "nobody", code=1)
            self.assertIn('bluesky.actors has the entry "nobody"', words)
            _, words = self.tell(home, "run", "--set", "log.level=warn", *changes, code=2)
            self.assertIn("--set may be given 64 times", words)
        self.both_stores(run)

    # ---- stores nobody can use ----

    def test_a_store_that_is_not_there_is_told_and_not_made(self):
        def run(home):
            missing = "there is no store" if home.kind == "sqlite" else "never set up"
            for words in (*((command,) for command in READS), ("reset", "jetstream"),
                          ("backup", f"{home.folder}/copy")):
                out, said = self.tell(home, *words, code=1)
                self.assertEqual(out, "")
                self.assertIn(missing, said)
                self.assertIn("tidemark migrate", said)
            self.assertEqual(os.listdir(home.folder), [])
            self.assertIn(f"{SCHEMA} steps applied", self.tell(home, "migrate")[1])
            self.assertIn("0 steps applied", self.tell(home, "migrate")[1])
            self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    def test_a_store_that_is_missed_in_the_wrong_folder_is_told_with_that_folder(self):
        with Home("sqlite") as home:
            said = subprocess.run([self.program, "status", "-c", "/dev/null"], cwd=home.folder,
                                  capture_output=True, text=True, timeout=WAIT_S,
                                  check=False).stderr
            self.assertIn(f"no store at {os.path.realpath(home.folder)}/data/tidemark.db", said)

    def test_a_password_in_the_address_of_a_store_is_never_shown(self):
        for address in ("u:%s@[::1/db", "u:%%zz%s@h/db", "u:a@%s@h/db", "u:a/%s@h/db",
                        "u:a?%s@h/db", "u:%s@127.0.0.1:1/db", "u:%s@h:x/db"):
            with self.subTest(address=address), Home("sqlite") as home:
                home.url = "postgresql://" + address % "hunter2"
                out, words = self.tell(home, "status", code=1)
                self.assertEqual(out, "")
                self.assertIn("cannot connect" if "127" in address else "store.url", words)
                self.assertNotIn("hunter2", words)

    def test_a_store_newer_than_the_program_is_left_alone(self):
        def run(home):
            self.tell(home, "migrate")
            run_sql(home, "INSERT INTO schema_migrations (version, name, checksum, applied_us) "
                          f"VALUES ({SCHEMA + 1}, 'later', 'x', 1)")
            for words in (*((command,) for command in READS), ("migrate",), ("reset", "jetstream"),
                          ("backup", f"{home.folder}/copy")):
                self.assertIn("install a newer tidemark", self.tell(home, *words, code=1)[1])
            self.assertEqual(ask_sql(home, "SELECT epoch FROM engine"), "0")
            self.assertFalse(os.path.exists(f"{home.folder}/copy"))
        self.both_stores(run)

    def test_a_store_that_cannot_be_read_is_told_and_not_changed(self):
        def run(home):
            commands = (*((command,) for command in READS), ("migrate",), ("reset", "jetstream"),
                        ("backup", f"{home.folder}/copy"))
            if home.kind == "postgres":
                good, home.url = home.url, home.url + "_not_there"
                for words in commands:
                    self.assertIn("cannot connect", self.tell(home, *words, code=1)[1])
                home.url = good
                return
            path = home.url[len("sqlite:"):]
            with open(path, "wb") as file:
                file.write(b"This is a letter, not a database.\n" * 200)
            with open(path, "rb") as file:
                before = file.read()
            for words in commands:
                self.assertIn("not a database", self.tell(home, *words, code=1)[1])
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)
            self.assertFalse(os.path.exists(f"{home.folder}/copy"))
        self.both_stores(run)

    # ---- looking ----

    def plant_rows(self, home):
        run_sql(home, "".join(
            f"INSERT INTO gaps VALUES ({i}, 'content', 's', {i}, {i + 1}, 'why', 3, NULL, 0);"
            for i in range(1, 1202)))
        run_sql(home, "INSERT INTO owed (id, source, stream, item, state, reason, since_us, seq) "
                      "VALUES (2000, 'content', 's', 'a\033[2Jb', 'owed', 'late', 5, 0), "
                      "(2001, 'content', 's', 'c', 'dead', 'lost', 5, 0);"
                      "INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, "
                      "at_us, seq) VALUES (3000, 'content', 'host', 'x', 'raw', 3, 'bad', 7, 0);"
                      "INSERT INTO providers (source, name, state, reason, updated_us) "
                      "VALUES ('content', 'rpc', 'open', 'timed out', 9);"
                      f"INSERT INTO cursors VALUES ('content', 's', '{CURSOR}', 5, 6, 0);"
                      "UPDATE engine SET next_n = 5000")

    def check_lists(self, home):
        gaps = self.tell_json(home, "gaps")
        self.assertEqual([gap["id"] for gap in gaps], [str(i) for i in range(1201, 0, -1)])
        self.assertEqual(gaps[-1]["from"], "1970-01-01T00:00:00.000001Z")
        out, _ = self.tell(home, "gaps")
        self.assertEqual(len(out.splitlines()), 1202)
        self.assertRegex(out.splitlines()[0], r"^ *ID +SOURCE +STREAM +FROM")
        owed = [row for row in self.tell_json(home, "owed") if row["source"] == "content"]
        self.assertEqual([(row["item"], row["state"]) for row in owed],
                         [("c", "dead"), ("a\033[2Jb", "owed")])
        out, _ = self.tell(home, "owed")
        self.assertNotIn("\033", out)  # what a stranger wrote cannot steer the terminal
        self.assertIn("a?[2Jb", out)
        row, = self.tell_json(home, "quarantine")
        self.assertEqual((row["raw"], row["reason"], row["provider"]), ("raw", "bad", "host"))
        self.assertIn("host", self.tell(home, "quarantine")[0])
        stored = [row for row in self.tell_json(home, "providers") if row["source"] == "content"]
        self.assertEqual([(row["name"], row["state"], row["reason"]) for row in stored],
                         [("rpc", "open", "timed out")])
        self.assertIn("timed out", self.tell(home, "providers")[0])
        status = self.tell_json(home, "status")
        source, = [row for row in status["sources"] if row["source"] == "content"]
        self.assertEqual([source[key] for key in ("gaps", "owed", "dead", "quarantine")],
                         [1201, 1, 1, 1])
        self.assertEqual(source["streams"][0]["cursor"]["primary"]["value"], 5)
        self.assertEqual(status["store"]["kind"], home.kind)
        self.assertEqual(status["store"]["schema"], SCHEMA)
        return status

    def test_lists_and_status_are_the_same_with_and_without_a_daemon(self):
        def run(home):
            self.tell(home, "migrate")
            self.plant_rows(home)
            still = self.check_lists(home)
            self.assertIsNone(still["daemon"])
            self.assertEqual(self.tell_json(home, "handles"), [])
            self.assertIn("not running", self.tell(home, "status")[0])
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                # The older wire is called anew where a replay ended: not live for a moment.
                with Daemon(self.program, home, settings(sim, wire="v2")) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    live = self.check_lists(home)
                    self.assertEqual(list(live), list(still))
                    self.assertEqual(list(live["sources"][0]), list(still["sources"][0]))
                    self.assertEqual(live["daemon"]["pid"], daemon.process.pid)
                    source, = [row for row in live["sources"] if row["source"] == "jetstream"]
                    self.assertEqual((source["state"], source["provider"]),
                                     ("live", f"127.0.0.1:{sim.port}"))
                    provider = self.tell_json(home, "providers")[0]
                    self.assertEqual((provider["name"], provider["current"]),
                                     (f"127.0.0.1:{sim.port}", True))
                    out, _ = self.tell(home, "status")
                    self.assertRegex(out, r"(?m)^daemon  healthy, up ")
                    self.assertRegex(out, r"(?m)^jetstream  live +127")
                    # R004-61
                    daemon.ask("POST", "/api/data/query-open", {"collection": "posts"})
                    handle, = self.tell_json(home, "handles")
                    self.assertEqual((handle["collection"], handle["state"]), ("posts", "open"))
                    self.assertIn("nothing to do", self.tell(home, "migrate")[1])
                    daemon.stop()
        self.both_stores(run)

    def test_a_store_that_another_daemon_writes_is_left_to_it(self):
        def run(home):
            elsewhere = os.path.join(home.folder, "elsewhere")
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    before = ask_sql(home, "SELECT epoch FROM engine")
                    for words in (*((command,) for command in READS), ("reset", "jetstream"),
                                  ("migrate",), ("backup", f"{home.folder}/copy")):
                        said = self.tell(home, *words, code=1, folder=elsewhere)[1]
                        self.assertIn(f"another tidemark (pid {daemon.process.pid}", said)
                        if home.kind == "postgres":
                            self.assertRegex(said, r"pid \d+ on \S+ at 127\.0\.0\.1:0\)")
                    self.assertEqual(ask_sql(home, "SELECT epoch FROM engine"), before)
                    daemon.stop()
        self.both_stores(run)

    # ---- verify ----

    PLANTED = (
        ({"gaps"}, "INSERT INTO gaps VALUES (1, 's', 't', 5, 5, 'why', 3, NULL, 0)",
         "DELETE FROM gaps"),
        ({"coverage"}, "INSERT INTO coverage VALUES ('s', 't', 1, 10), ('s', 't', 5, 20), "
                       "('s', 'other', 5, 20)", "DELETE FROM coverage"),
        ({"engine"}, "INSERT INTO leases VALUES ('other', 'x', NULL, 99, 1)",
         "DELETE FROM leases WHERE name = 'other'"),
        ({"ingest_numbers"}, "INSERT INTO actors (id, did) VALUES (900000, 'did:plc:n')",
         "DELETE FROM actors WHERE id = 900000"),
        ({"commit_numbers"}, "INSERT INTO gaps VALUES (1, 's', 't', 5, 6, 'why', 3, NULL, 900000)",
         "DELETE FROM gaps"),
        ({"cursors"}, "INSERT INTO cursors VALUES ('s', 't', '{\"primary\":7}', 5, 6, 0)",
         "DELETE FROM cursors WHERE source = 's'"),
        ({"tombstones"},
         "INSERT INTO actors (id, did) VALUES (1, 'did:plc:t');"
         "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us) "
         "VALUES (1, 0, 1, 'c', 'r', 0, '3b', 5), (2, 0, 1, 'c', 'newer', 0, '3d', 5);"
         "INSERT INTO tombstones VALUES ('posts', 'did:plc:t/c/r', '3b', 1, 0, 1), "
         "('posts', 'did:plc:t/c/newer', '3c', 2, 0, 1)",
         "DELETE FROM tombstones; DELETE FROM post; DELETE FROM actors"),
        ({"post_links", "foreign_keys"}, "INSERT INTO post_links (post_id, link_id, via) "
                                         "VALUES (77, 78, 'post')", "DELETE FROM post_links"),
        ({"shares", "foreign_keys"}, "INSERT INTO share (link_id, actor, last_us, n_posts, "
                                     "old_posts) VALUES (77, 78, 1, 1, 1)", "DELETE FROM share"),
        ({"share_totals"}, "INSERT INTO links (id, normalized_url, original_url, "
                           "share_count_total) VALUES (77, 'x', 'x', 1)", "DELETE FROM links"),
        ({"import_sessions"},
         "INSERT INTO account (id, name, type, platform, identifier, created_us) "
         "VALUES (1, 'kraken', 'exchange', 'kraken', '', 1);"
         "INSERT INTO import_sessions (id, account_id, status, imported, started_us) "
         "VALUES (2, 1, 'completed', 3, 1)", "DELETE FROM import_sessions; DELETE FROM account"),
        ({"content"},
         "INSERT INTO meta VALUES ('content', '{}', 7);"
         "INSERT INTO document_refs VALUES (7, 0, 'ipfs://a', NULL), (8, 0, 'ipfs://b', NULL)",
         "DELETE FROM document_refs; DELETE FROM meta"),
        ({"integrity"},
         "INSERT INTO owed (id, source, stream, item, state, since_us, seq) "
         "VALUES (1, 's', 't', 'i', 'odd', 1, 0)", "DELETE FROM owed"),
    )

    def test_verify_names_every_planted_violation(self):
        def run(home):
            only_here = set() if home.kind == "sqlite" else {"integrity", "foreign_keys"}
            self.tell(home, "migrate")
            run_sql(home, "UPDATE engine SET next_n = 1000")
            self.assertEqual(self.failing(home, 0), {})
            planted = (*self.PLANTED, ({"jetstream_state"},
                                       "INSERT INTO jetstream_state (id, cursor_time_us) "
                                       "VALUES (1, 5)", "DELETE FROM jetstream_state"))
            for names, wrong, undo in planted:
                if names - only_here == set():
                    continue  # PostgreSQL checks its own rows
                run_sql(home, wrong)
                found = self.failing(home, 1)
                self.assertEqual(set(found), names - only_here, wrong)
                if names != {"shares", "foreign_keys"}:
                    self.assertEqual(set(found.values()) - {2}, {1}, found)
                out, said = self.tell(home, "verify", code=1)
                for name in names - only_here:
                    self.assertRegex(out, rf"(?m)^FAILED +{name} ")
                self.assertIn(f"{len(found)} failed", said)
                run_sql(home, undo)
                self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    def test_verify_asks_a_running_daemon(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    self.assertEqual(self.failing(home, 0), {})
                    run_sql(home, "INSERT INTO gaps VALUES (1, 's', 't', 5, 5, 'why', 3, NULL, 0);"
                                  "INSERT INTO cursors VALUES ('s', 't', 'no {json', 5, 6, 0)")
                    self.assertEqual(self.failing(home, 1), {"gaps": 1, "cursors": 1})
                    self.tell(home, "status")  # a bad cursor does not spoil the rest
                    self.assertEqual(
                        [row["streams"][0]["cursor"] for row in
                         self.tell_json(home, "status")["sources"] if row["source"] == "s"],
                        ["no {json"])
                    run_sql(home, "UPDATE jetstream_state SET cursor_time_us = 5")
                    self.assertEqual(self.failing(home, 1),
                                     {"gaps": 1, "cursors": 1, "jetstream_state": 1})
                    daemon.stop()
        self.both_stores(run)

    # ---- backup ----

    def documented(self, begin, **names):
        """A command that the page for operators has under "Backup", with names filled in."""
        with open(os.path.join(HERE, "..", "..", "docs", "OPERATING.md"), encoding="utf-8") as page:
            part = page.read().split("\n## Backup\n")[1].split("\n## ")[0]
        found = re.search(rf"(?:^    |`)({begin} [^`\n]*?)(?:`|   |\n)", part, re.M).group(1)
        return [re.sub(r"[A-Z]{3,}", lambda match: names[match.group()], word)
                for word in found.split()]

    def copy_store(self, home, to, daemon_runs):
        """A copy of the store in the other home, made as an operator makes it."""
        copy = os.path.join(home.folder, f"copy-{daemon_runs}")
        made = self.documented("tidemark backup", FILE=copy)
        self.assertIn("copied", self.tell(home, *made[1:])[1])
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        self.assertIn("is there already", self.tell(home, "backup", copy, code=1)[1])
        said = self.tell(home, "backup", f"{home.folder}/no/such/folder/copy", code=1)[1]
        self.assertIn("No such file", said)
        self.assertEqual([name for name in os.listdir(home.folder) if "partial" in name], [])
        if home.kind == "postgres":
            subprocess.run(self.documented("pg_restore", URL=to.url, FILE=copy), check=True)
        else:
            shutil.move(copy, to.url[len("sqlite:"):])

    def continue_from_copy(self, copy, sim):
        begin_before_everything(copy, sim)
        self.assertEqual(self.failing(copy, 0), {})
        self.assertGreater(int(ask_sql(copy, "SELECT position FROM cursors")), 0)
        with Daemon(self.program, copy, settings(sim)) as daemon:
            self.follow_to_the_end(daemon, sim)
            self.assertEqual(daemon.walk("gaps"), [])
            daemon.stop()
        self.assertEqual(self.failing(copy, 0), {})

    def test_a_restored_backup_goes_on_where_it_was_made(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "2000", *PAST) as sim, \
                    Home(home.kind) as warm, Home(home.kind) as cold:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    daemon.wait_for(lambda _: ask_sql(home, "SELECT 1 FROM cursors"), "a position")
                    sim.step(500)
                    self.copy_store(home, warm, True)
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                self.copy_store(home, cold, False)
                sim.step(500)
                self.continue_from_copy(warm, sim)
                self.continue_from_copy(cold, sim)
        self.both_stores(run)

    # ---- whose store it is ----

    def test_a_daemon_with_another_store_is_not_asked(self):
        def run(home):
            with Home("sqlite") as other, \
                    Simulator(self.sim_program, "--events", "200", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    before = ask_sql(home, "SELECT state FROM cursors WHERE source = 'jetstream'")
                    for words in (("reset", "jetstream"), ("status",), ("verify",), ("migrate",),
                                  ("gaps",), ("query", "posts"), ("backfill", "did:plc:a")):
                        told = self.tell(other, *words, code=1, folder=home.folder)[1]
                        self.assertIn("has another store", told, words)
                        self.assertIn(f"sqlite:{os.path.realpath(other.folder)}/tidemark.db", told)
                        self.assertNotIn("password", told)
                    self.assertEqual(before, ask_sql(home, "SELECT state FROM cursors "
                                                           "WHERE source = 'jetstream'"))
                    self.tell(home, "status")
                    # Who names the folder alone means whoever is there.
                    subprocess.run([self.program, "status", "-c", "/dev/null", "--set",
                                    f"store.data_dir={home.folder}"], check=True,
                                   stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_S)
                    daemon.stop()
        self.both_stores(run)

    # ---- reset ----

    def connections(self, daemon):
        """The positions the daemon asked its host for, one per connection."""
        return re.findall(r"cursor_us=(\d+) msg=connected", daemon.words())

    def test_reset_without_a_daemon_forgets_and_the_next_run_converges(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                    before = self.connections(daemon)
                posts = ask_sql(home, "SELECT count(*) FROM post")
                self.assertIn("no position of other is stored",
                              self.tell(home, "reset", "other", code=1)[1])
                self.assertIn("no position of jetstream/other is stored",
                              self.tell(home, "reset", "jetstream", "other", code=1)[1])
                kept = os.path.join(home.folder, "jetstream_cursor.txt")
                self.assertIn("1 position", self.tell(home, "reset", "--set",
                                                      f"jetstream.cursor_file={kept}",
                                                      "jetstream", "live")[1])
                self.assertEqual(ask_sql(home, "SELECT count(*) FROM cursors"), "0")
                self.assertEqual(ask_sql(home, "SELECT count(*) FROM jetstream_state"), "0")
                self.assertEqual(ask_sql(home, "SELECT count(*) FROM post"), posts)
                self.assertEqual(self.failing(home, 0), {})
                # What the run itself had left in the cursor file is forgotten, too.
                self.assertFalse(os.path.exists(kept))
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    # It began where the first run had begun.
                    self.assertEqual(self.connections(daemon)[len(before)], before[0])
                    daemon.stop()
                self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    def test_what_a_reset_passes_over_is_a_gap(self):
        def run(home):
            kept = os.path.join(home.folder, "jetstream_cursor.txt")
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                stood = int(ask_sql(home, "SELECT cursor_time_us FROM jetstream_state"))
                sim.step(200)  # that nobody hears
                self.tell(home, "reset", "--set", f"jetstream.cursor_file={kept}", "jetstream")
                self.assertEqual(ask_sql(home, "SELECT count(*) FROM gaps WHERE closed_us IS NULL"),
                                 "1")
                with Daemon(self.program, home, settings(sim)) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "a connection")
                    sim.step(200)
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the end")
                    first = int(ask_sql(home, f"SELECT min(shared_us) FROM post "
                                              f"WHERE shared_us > {stood}"))
                    gap, = home.select("SELECT from_us, to_us, reason FROM gaps "
                                       "WHERE closed_us IS NULL")
                    self.assertEqual((gap["from_us"], gap["reason"]),
                                     (stood, "its position was forgotten"))
                    # Other events than posts may have come before the first of them.
                    self.assertTrue(stood < gap["to_us"] <= first, (gap, first))
                    daemon.stop()
                self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    @staticmethod
    def events_counted(daemon):
        status = daemon.ask("GET", "/api/status")[1]
        return next(s["events"] for s in status["sources"] if s["source"] == "jetstream")

    @staticmethod
    def totals(daemon):
        """What is counted since the start, by name."""
        words = daemon.ask_raw("GET", "/metrics")[1].decode()
        return {name: float(value) for name, value in
                re.findall(r"^(tidemark_\w+_total) (\S+)$", words, re.MULTILINE)}

    def test_reset_of_a_running_source_makes_it_begin_anew(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                chosen = settings(sim, KEPT)
                with Daemon(self.program, home, chosen) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    self.assertIn("no position of other is stored",
                                  self.tell(home, "reset", "other", code=1)[1])
                    for _ in range(2):
                        sim.step(300)  # it is taking events in while it is reset
                        counted, before = self.events_counted(daemon), self.connections(daemon)
                        totals = self.totals(daemon)
                        self.tell(home, "reset", "jetstream")
                        self.assertGreaterEqual(self.events_counted(daemon), counted)
                        now = self.totals(daemon)
                        self.assertEqual([name for name in totals if now[name] < totals[name]], [])
                        wait_until(lambda: before[0] in self.connections(daemon)[len(before):],
                                   "a connection from where the first began")
                        self.follow_to_the_end(daemon, sim)
                    # Without an operator's cursor file a new store begins live, and so does this.
                    os.unlink(os.path.join(home.folder, "jetstream_cursor.txt"))
                    self.tell(home, "reset", "jetstream", "live")
                    wait_until(lambda: "0" in self.connections(daemon), "a connection to live")
                    self.assertEqual(ask_sql(home, "SELECT count(*) FROM cursors"), "0")
                    self.assertEqual(self.failing(home, 0), {})
                    sim.step(300)
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    def test_reset_is_durable_when_the_daemon_is_killed_after_the_answer(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, KEPT)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    sim.arm("name=refuse&count=1000000")
                    self.tell(home, "reset", "jetstream")
                    daemon.kill()
                self.assertEqual(ask_sql(home, "SELECT count(*) FROM cursors"), "0")
                self.assertEqual(sim.ask("DELETE", "/_sim/fault")[0], 200)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
        self.both_stores(run)

    def wait_for_waiting_batch(self, daemon):
        """Until the reset stands at the writer, which cannot write: it has stopped its source."""
        def stands():
            sources = daemon.ask("GET", "/api/status")[1].get("sources", ())
            return any((source["source"], source["state"]) == ("jetstream", "stopped")
                       for source in sources)

        wait_until(stands, "the reset to stop its source")
        daemon.wait_for(lambda health: health["writer_trouble"], "a writer in trouble")
        told = [reason for reason in daemon.health()["reasons"] if "writ" in reason]
        self.assertEqual(len(told), 1, told)

    def start(self, home, *words):
        return subprocess.Popen(
            [self.program, *words, "-c", "/dev/null", "--set", f"store.url={home.url}",
             "--set", f"store.data_dir={home.folder}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_reset_waits_for_a_store_that_cannot_be_written(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, KEPT, wire="v2")) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    with Locked(home):
                        asked = self.start(home, "reset", "jetstream")
                        self.wait_for_waiting_batch(daemon)
                        self.assertIsNone(asked.poll())
                        said = self.tell(home, "reset", "jetstream", code=1)[1]
                        self.assertIn("another operator's errand", said)
                    _, said = asked.communicate(timeout=WAIT_S)
                    self.assertEqual(asked.returncode, 0, said)
                    self.follow_to_the_end(daemon, sim)
                    places = self.connections(daemon)
                    self.assertGreaterEqual(places.count(places[0]), 2)
                    daemon.stop()
        self.both_stores(run)

    def test_a_stop_does_not_wait_for_a_reset_that_cannot_be_made(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "1500", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim, KEPT, wire="v2")) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    with Locked(home):
                        asked = self.start(home, "reset", "jetstream")
                        self.wait_for_waiting_batch(daemon)
                        daemon.process.send_signal(signal.SIGTERM)
                        _, said = asked.communicate(timeout=WAIT_S)
                        self.assertEqual(asked.returncode, 1, said)
                        self.assertIn("may or may not be made", said)
                        self.assertEqual(daemon.process.wait(WAIT_S), 1)
                        self.assertIn("not_all_committed", daemon.words())
                with Daemon(self.program, home, settings(sim)) as daemon:
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                self.assertEqual(self.failing(home, 0), {})
        self.both_stores(run)

    # ---- answers nobody should give ----

    def test_an_answer_that_breaks_off_is_a_failure(self):
        whole = b'{"success":true}'
        answers = (b"", b"nonsense", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n" + whole,
                   b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + whole,
                   b"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n" + whole,
                   b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{,}",
                   b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}",
                   b'HTTP/1.1 409 No\r\nContent-Length: 17\r\n\r\n{"error":"later"}')

        def run(home):
            for answer in answers:
                with Impostor(home, answer):
                    for words in (("status",), ("status", "--json"), ("gaps",), ("providers",),
                                  ("handles",), ("verify",), ("reset", "jetstream"), ("migrate",)):
                        out, said = self.tell(home, *words, code=1)
                        self.assertEqual(out, "")
                        self.assertRegex(said, "broke off|not JSON|status 500|later|does not an")
        self.both_stores(run)

    def test_a_daemon_with_too_much_to_do_is_asked_again(self):
        def answer(status, body):
            return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

        def run(home):
            whole = answer("200 OK", '{"sources":[]}')
            for code in ("BUSY", "DEADLINE"):
                full = answer("503 No", json.dumps({"code": code, "error": "later"}))
                with Impostor(home, whole, [full, full]) as impostor:
                    self.assertEqual(self.tell(home, "status", "--json")[0].strip(),
                                     '{"sources":[]}')
                    self.assertEqual(impostor.first, [])
            with Impostor(home, full):
                self.assertIn("later", self.tell(home, "status", code=1)[1])
        self.both_stores(run)

    # ---- SIGHUP ----

    def open_files(self, daemon):
        folder = f"/proc/{daemon.process.pid}/fd"
        found = set()
        for name in os.listdir(folder):
            try:
                found.add(os.readlink(os.path.join(folder, name)))
            except FileNotFoundError:
                pass  # closed meanwhile
        return found

    def test_sighup_takes_over_what_can_change_and_names_the_rest(self):
        def run(home):
            config = os.path.join(home.folder, "tidemark.yaml")
            logs = [os.path.join(home.folder, name) for name in ("first.log", "second.log")]

            def write(text):
                with open(config, "w", encoding="utf-8") as file:
                    file.write(text)

            def words(path):
                if not os.path.exists(path):
                    return ""
                with open(path, encoding="utf-8") as file:
                    return file.read()

            write(f"log: {{file: {logs[0]}, level: info}}\njetstream: {{compress: true}}\n")
            with Simulator(self.sim_program, "--events", "100", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim), config=config) as daemon:
                    daemon.wait_for(lambda health: health["commit_seq"] > 0, "a commit")
                    write(f"log: {{file: {logs[1]}, format: json}}\njetstream: {{compress: false, "
                          "max_reconnect_attempts: 7}\nretention: {window_hours: 2}\n")
                    daemon.process.send_signal(signal.SIGHUP)
                    wait_until(lambda: '"reloaded"' in words(logs[1]), "the new log")
                    lines = [json.loads(line) for line in words(logs[1]).splitlines()]
                    self.assertEqual([line["metadata"]["setting"] for line in lines
                                      if line["event_type"] == "restart_needed"],
                                     ["jetstream.compress"])
                    write(f"log: {{file: {logs[0]}, level: loud}}\n")
                    daemon.process.send_signal(signal.SIGHUP)
                    wait_until(lambda: '"reload_refused"' in words(logs[1]), "the refusal")
                    lines = [json.loads(line) for line in words(logs[1]).splitlines()]
                    problem, = [line["metadata"]["reason"] for line in lines
                                if line["event_type"] == "problem"]
                    self.assertIn("log.level", problem)
                    self.assertIn("tidemark.yaml:1:", problem)
                    write(f"log: {{file: {logs[0]}, level: error}}\n")
                    length = len(words(logs[0]))
                    daemon.process.send_signal(signal.SIGHUP)
                    wait_until(lambda: logs[0] in self.open_files(daemon), "the first log again")
                    self.assertEqual(len(words(logs[0])), length)
                    sim.step(100)
                    self.follow_to_the_end(daemon, sim)
                    daemon.stop()
                    self.assertEqual(words(logs[0])[length:], "")  # info is below error
        self.both_stores(run)


if __name__ == "__main__":
    main()
