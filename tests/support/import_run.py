# SPDX-License-Identifier: Apache-2.0
"""`tidemark import` of one account, run and killed, and the rows that it stored."""

import json
import os
import subprocess

IMPORT_S = 300


class ImportRun:
    """A program on a home; `account` and `configuration` are there before it is run."""

    def __init__(self, program, home):
        self.tidemark, self.home = program, home
        self.account = self.configuration = None

    def configure(self, lines):
        self.configuration = os.path.join(self.home.folder, "tidemark.yaml")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def begin(self, *options, crash_at=None):
        """An import that has just been started."""
        environment = dict(os.environ)
        if crash_at:
            environment["TIDEMARK_CRASH_AT"] = crash_at
        return subprocess.Popen(
            [self.tidemark, "import", self.account, "-c", self.configuration, "--json", *options],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process, patience=IMPORT_S):
        """Its exit code, what it says in JSON (None when it was killed), its words. One that still
        waits for a provider after `patience` seconds is killed."""
        try:
            said, words = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            said, words = process.communicate(timeout=IMPORT_S)
        return process.returncode, json.loads(said) if said else None, words

    def run(self, *options, crash_at=None, patience=IMPORT_S):
        """One import, to its end."""
        return self.end(self.begin(*options, crash_at=crash_at), patience)

    def stored(self):
        """Rows of the account, each a dictionary with its stream and provider."""
        rows = self.home.select(
            "SELECT t.stream, t.provider_name, t.hash, t.block, t.status, t.normalized_data"
            " FROM raw_transactions t JOIN account a ON a.id = t.account_id"
            f" WHERE a.name = '{self.account}'")
        for row in rows:
            data = row.pop("normalized_data")
            data = json.loads(data) if isinstance(data, str) else data
            row.update({key: data.get(key) for key in ("kind", "from", "to", "asset", "amount")})
        return rows

    def sessions(self):
        return [row["status"] for row in self.home.select(
            "SELECT s.status FROM import_sessions s JOIN account a ON a.id = s.account_id"
            f" WHERE a.name = '{self.account}' ORDER BY s.id")]
