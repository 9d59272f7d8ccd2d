# SPDX-License-Identifier: Apache-2.0
"""A store that an earlier tidemark filled, on both stores: every step of the schema is taken with
rows in the tables, none is lost, and the daemon goes on where the earlier one stopped.

  upgrade.py TIDEMARK TIDEMARK_SIM"""

import glob
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from daemon_client import WAIT_S, Daemon, Home  # noqa: E402
from sim_client import Simulator  # noqa: E402
from truth_compare import (COLLECTIONS, begin_before_everything, difference,  # noqa: E402
                           last_wanted_us, stored_posts, true_posts)

STEPS = os.path.join(HERE, "..", "..", "src", "store", "sql")
FIRST = 2  # with it there is something to lose
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
# The steps fill or empty these themselves.
NOT_CARRIED = ("schema_migrations", "tail_floors", "pictures")
# What a table was called before a version.
RENAMED = ((19, "share", "shares"),)
# Of the parts that do not run in this test.
MORE = """
UPDATE engine SET next_n = 900005;
INSERT INTO account (id, name, type, platform, identifier, created_us)
VALUES (1, 'cold', 'blockchain', 'bitcoin', 'bc1q', 5);
INSERT INTO import_sessions (id, account_id, status, imported, started_us)
VALUES (1, 1, 'completed', 0, 6), (2, 1, 'started', 0, 7);
INSERT INTO raw_transactions (n, account_id, provider_name, stream, event_id, block, status)
VALUES (900001, 1, 'esplora', 'normal', 'a', 7, 'confirmed'),
       (900002, 1, 'esplora', 'normal', 'b', NULL, 'pending');
INSERT INTO ipfs_cache (n, uri, data, is_errored, block)
VALUES (900003, 'ipfs://a', 'bytes', FALSE, 3), (900004, 'ipfs://b', NULL, TRUE, 4);
"""


def steps_of(kind):
    """[(version, name, text)] as the sources have them."""
    found = []
    for path in sorted(glob.glob(os.path.join(STEPS, kind, "*.sql"))):
        version, name = re.fullmatch(r"(\d+)_(\w+)\.sql", os.path.basename(path)).groups()
        with open(path, encoding="utf-8") as file:
            found.append((int(version), name, file.read()))
    return found


def columns_of(home):
    """{table: [column]}; views are left out."""
    question = ("SELECT s.name AS part_of, i.name AS name FROM sqlite_schema s "
                "JOIN pragma_table_info(s.name) i WHERE s.type = 'table'"
                if home.kind == "sqlite" else
                "SELECT table_name AS part_of, column_name AS name FROM information_schema.columns "
                "JOIN information_schema.tables USING (table_schema, table_name) "
                "WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
    columns = {}
    for row in home.select(question):
        columns.setdefault(row["part_of"], []).append(row["name"])
    return columns


def former_names(version):
    """{name now: name in a store of that version}"""
    return {now: then for since, now, then in RENAMED if version < since}


def rows_of(home, columns, former=None):
    """{table: [{column: value}]} of so many tables, at one go."""
    former = former or {}
    if home.kind == "sqlite":
        return {table: home.select(f"SELECT {', '.join(names)} FROM {former.get(table, table)}")
                for table, names in columns.items()}
    rows = {table: [] for table in columns}
    for row in home.select(" UNION ALL ".join(
            f"SELECT '{table}' AS part_of, to_jsonb(x) AS cells "
            f"FROM (SELECT {', '.join(names)} FROM {former.get(table, table)}) x"
            for table, names in columns.items())):
        rows[row["part_of"]].append(row["cells"])
    return rows


def put_rows(home, columns, rows, former):
    """In place of what is there. All that is referred to comes along, in any order."""
    rows = {former.get(table, table): some for table, some in rows.items()}
    columns = {former.get(table, table): names for table, names in columns.items()}
    if home.kind == "postgres":
        home.run_sql("SET session_replication_role = replica;\n" + "".join(
            f"DELETE FROM {table};\n"
            f"INSERT INTO {table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE "
            f"SELECT {', '.join(names)} FROM json_populate_recordset(NULL::public.{table}, "
            f"$rows${json.dumps(rows[table])}$rows$);\n" for table, names in columns.items()))
        return
    store = sqlite3.connect(home.url[len("sqlite:"):])
    with store:
        for table, names in columns.items():
            store.execute(f"DELETE FROM {table}")
            store.executemany(f"INSERT INTO {table} ({', '.join(names)}) "
                              f"VALUES ({', '.join('?' * len(names))})",
                              [[row[name] for name in names] for row in rows[table]])
    store.close()


def sort_rows(rows):
    return {table: sorted(some, key=repr) for table, some in rows.items()}


def make_old(home, version, filled):
    """The store as a program of that version would have left it; the columns that were carried."""
    script = ("BEGIN;\nCREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT "
              "NOT NULL, checksum TEXT NOT NULL, applied_us BIGINT NOT NULL);\n")
    for number, name, text in steps_of(home.kind)[:version]:
        checksum = hashlib.sha256(text.encode()).hexdigest()
        script += (f"{text}\nINSERT INTO schema_migrations "
                   f"VALUES ({number}, '{name}', '{checksum}', 1);\n")
    home.run_sql(script + "COMMIT;")
    former, there = former_names(version), columns_of(home)
    shared = {table: [name for name in names if name in there.get(former.get(table, table), ())]
              for table, names in columns_of(filled).items() if table not in NOT_CARRIED}
    shared = {table: names for table, names in shared.items() if names}
    put_rows(home, shared, rows_of(filled, shared), former)
    return shared


def texts(posts):
    """Without what old stores did not keep: languages, hashtags, rich text."""
    return {uri: (*row[:2], row[2][0], *row[3:]) for uri, row in posts.items()}


class Upgrade(unittest.TestCase):
    program = sim_program = None

    def command(self, home, name):
        done = subprocess.run(
            [self.program, name, "-c", "/dev/null", "--set", f"store.url={home.url}", "--set",
             f"store.data_dir={home.folder}"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def go_on(self, home, sim):
        """Until everything that has happened is in the store."""
        end = last_wanted_us(sim)
        settings = (f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe",
                    "jetstream.fallback_endpoint=", "retention.enabled=false",
                    f"jetstream.wanted_collections=[{', '.join(COLLECTIONS)}]")
        with Daemon(self.program, home, settings) as daemon:
            daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the end")
            self.assertFalse(difference(texts(stored_posts(daemon)), texts(true_posts(sim))))
            daemon.stop()

    def upgrade(self, kind):
        with Home(kind) as filled, Simulator(self.sim_program, "--events", "400", *PAST) as sim:
            begin_before_everything(filled, sim)
            self.go_on(filled, sim)
            filled.run_sql(MORE)
            newest = len(steps_of(kind))
            for version in range(FIRST, newest):
                with self.subTest(store=kind, version=version), Home(kind) as home:
                    carried = make_old(home, version, filled)
                    before = sort_rows(rows_of(home, carried, former_names(version)))
                    self.assertEqual(before, sort_rows(rows_of(filled, carried)))
                    self.assertTrue(before["post"])
                    self.command(home, "migrate")
                    self.assertEqual(sort_rows(rows_of(home, carried)), before)
                    self.command(home, "verify")
                    sim.step(10)
                    self.go_on(home, sim)

    def test_every_step_is_taken_with_rows_on_sqlite(self):
        self.upgrade("sqlite")

    def test_every_step_is_taken_with_rows_on_postgresql(self):
        self.upgrade("postgres")


if __name__ == "__main__":
    Upgrade.program, Upgrade.sim_program = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
