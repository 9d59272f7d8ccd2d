# SPDX-License-Identifier: Apache-2.0
"""The operator's page, the metrics and the command `status` tell the same of one daemon: every
number that two of them show is compared, in a world that has everything and has come to rest.

  same_numbers.py TIDEMARK TIDEMARK_SIM"""

import html.parser
import json
import math
import os
import random
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import wait_until  # noqa: E402
from whole_world import WholeWorld  # noqa: E402

COUNTS = ("gaps", "owed", "dead", "quarantine")
HANDLES = 3
AGREE_S = 120
VOID = {"meta", "link", "img", "input", "br", "hr"}


class Page(html.parser.HTMLParser):
    """What stands on /status: facts and rows of tables by section, and bars by name."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.section, self.cell = [], None, None
        self.facts, self.tables, self.bars, self.labels, self.headings = {}, {}, {}, [], []
        self.feed(text)
        self.close()
        assert not self.stack, f"not closed: {self.stack}"

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "section":
            self.section = attrs["id"]
            self.facts[self.section], self.tables[self.section] = {}, []
        elif tag == "tr":
            self.tables[self.section].append([])
        elif tag in ("td", "th", "dt", "dd", "h2"):
            self.cell = ""
        elif tag == "progress":
            self.bars[attrs["aria-label"]] = (int(attrs["value"]), int(attrs["max"]))
        elif tag == "svg":
            self.labels.append(attrs["aria-label"])

    def handle_endtag(self, tag):
        opened = self.stack.pop()
        assert opened == tag, f"{opened} is closed by {tag}"
        if tag in ("td", "th"):
            self.tables[self.section][-1].append(self.cell.strip())
        elif tag == "dt":
            self.name = self.cell
        elif tag == "dd":
            self.facts[self.section][self.name] = self.cell
        elif tag == "h2":
            self.headings.append(self.cell)

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def rows(self, section):
        """The rows of a table, each by the names of its columns."""
        head, *rows = self.tables[section]
        return [dict(zip(head, row)) for row in rows]


def metrics_of(text):
    """{name{labels}: value}; of histograms only what they count."""
    return {name: float(value) for name, value in
            (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")}


def numbers_in(words):
    return [int(number) for number in re.findall(r"\d+", words)]


def span(seconds):
    """A time of some length, in words."""
    seconds = int(seconds)
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else (
        f"{seconds // 3600} h {seconds // 60 % 60} min")


def size_words(size, units=("KiB", "MiB", "GiB")):
    size /= 1024
    unit = 0
    while size >= 1024 and unit < len(units) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {units[unit]}"


class Views:
    """What the three show now, each number by a name: {name: {view: value}}."""

    def __init__(self, world, daemon):
        self.shown = {}
        self.status = self.answer(daemon, "/api/status")
        self.metrics = metrics_of(daemon.ask_raw("GET", "/metrics")[1].decode())
        self.page = Page(daemon.ask_raw("GET", "/status")[1].decode())
        self.words = world.command("status").stdout
        self.command = json.loads(world.command("status", "--json").stdout)
        self.take_sources()
        self.take_progress()
        self.take_providers()
        self.take_daemon()

    @staticmethod
    def answer(daemon, path):
        status, answer = daemon.ask("GET", path)
        assert status == 200, answer
        return answer

    def put(self, name, **views):
        self.shown[name] = views

    def line(self, first):
        """The numbers of the line that begins so."""
        found = [line for line in self.words.splitlines() if line.startswith(first)]
        return numbers_in(found[0][len(first):]) if found else []

    def take_sources(self):
        rows = {row["Source"]: row for row in self.page.rows("sources")}
        table = self.words[self.words.index("\nSOURCE"):].lstrip("\n").split("\n\n")[0]
        lines = [line.split() for line in table.splitlines()]
        # Long names are cut there.
        words = {name: line[-4:] for name in rows for line in lines
                 if line[0] == name or (line[0][-1] == "…" and name.startswith(line[0][:-1]))}
        for source in self.status["sources"]:
            name = source["source"]
            for place, count in enumerate(COUNTS):
                column = {"gaps": "Open gaps"}.get(count, count.capitalize())
                self.put(f"{name} {count}", api=source[count], page=int(rows[name][column]),
                         words=int(words[name][place]))
        for count, metric in zip(COUNTS, ("gaps_open", "owed", "dead", "quarantined")):
            self.put(f"all {count}", metrics=self.metrics[f"tidemark_{metric}"],
                     api=sum(source[count] for source in self.status["sources"]))
        live = next(source for source in self.status["sources"] if source["source"] == "jetstream")
        rate = re.match(r"[0-9.]+", rows["jetstream"]["Events"])  # none in the first seconds
        self.put("rate", metrics=round(self.metrics["tidemark_events_per_second"], 1),
                 api=round(live["rate"] or 0, 1), page=float(rate[0]) if rate else 0)
        line = next(line for line in self.words.splitlines() if line.startswith("jetstream "))
        self.put("lag", metrics=span(self.metrics["tidemark_cursor_lag_seconds"]),
                 api=span(live["lag_seconds"]), page=rows["jetstream"]["Lag"],
                 words=re.search(r"  (\d+ (?:s|min|h \d+ min))  ", line)[1])
        self.put("events", metrics=self.metrics["tidemark_events_total"], api=live["events"])

    def take_progress(self):
        progress, facts = self.status["progress"], self.page.facts["progress"]
        ledger = "tidemark_ledger_accounts"
        for group, keys, fact, line, metrics in (
                ("backfill", ("queued", "running", "completed", "failed"), "Histories", "history ",
                 ("tidemark_backfill_queue_depth", "tidemark_backfill_running",
                  "tidemark_backfill_completed_total", "tidemark_backfill_failed_total")),
                ("imports", ("accounts", "complete", "running", "failing"), "Imports", "imports ",
                 (ledger, f"{ledger}_complete", "tidemark_ledger_imports_running",
                  f"{ledger}_failing")),
                ("documents", ("block", "head"), "Chain", "content block ",
                 ("tidemark_content_block", "tidemark_chain_head_block")),
                ("documents", ("waiting", "fetching", "stored", "owed"), "Documents", None,
                 ("tidemark_content_waiting", "tidemark_content_fetching", None,
                  "tidemark_content_owed"))):
            page = numbers_in(facts[fact])
            words = self.line(line) if line else self.line("content block ")[2:]
            for place, (key, metric) in enumerate(zip(keys, metrics)):
                views = {"api": progress[group][key], "page": page[place]}
                if metric:
                    views["metrics"] = self.metrics[metric]
                if place < len(words):
                    views["words"] = words[place]
                self.put(f"{group} {key}", **views)
        self.put("open queries", metrics=self.metrics["tidemark_handles_open"],
                 api=progress["handles_open"], page=int(facts["Open queries"]))
        for share in ("p50", "p95", "p99"):
            self.put(f"latency {share}", api=progress["commit_seconds"][share] or 0,
                     metrics=self.metrics[f"tidemark_event_commit_{share}_seconds"])

    def take_providers(self):
        rows = {(row["Source"], row["Provider"]): row for row in self.page.rows("providers")}
        for told in self.status["providers"]:
            source, name = told["source"], told["name"]
            labels = f'{{platform="{source}",provider="{name}"}}'
            for count, column in (("successes", "Good"), ("failures", "Failed")):
                shown = rows[source, name][column]
                if told[count] is None:  # nobody counts: that is not none
                    self.put(f"{source} {name} {count}", api="\u2013", page=shown)
                    continue
                views = {"api": told[count], "page": int(shown)}
                metric = f"tidemark_ledger_provider_{count}{labels}"
                if metric in self.metrics:
                    views["metrics"] = self.metrics[metric]
                self.put(f"{source} {name} {count}", **views)

    def take_daemon(self):
        store, facts = self.status["store"], self.page.facts["daemon"]
        line = next(line for line in self.words.splitlines() if line.startswith("store "))
        size = re.search(r"([0-9.]+ [KMG]iB), schema (\d+), commit (\d+), epoch (\d+)", line)
        self.put("size", metrics=self.metrics["tidemark_store_bytes"], api=store["bytes"])
        self.put("size in words", words=size[1], api=size_words(store["bytes"]))
        self.put("size on the page", page=self.page.facts["progress"]["Database"],
                 api=f"{store['bytes'] / 1048576:.1f} MiB")
        self.put("commits", api=self.status["commit_seq"], page=int(facts["Commits"]),
                 words=int(size[3]))
        self.put("schema", api=store["schema"], page=numbers_in(facts["Store"])[-1],
                 words=int(size[2]))
        self.put("epoch", api=store["epoch"], page=int(facts["Epoch"]), words=int(size[4]))
        self.put("batches waiting", metrics=self.metrics["tidemark_writer_queue_depth"],
                 api=self.status["daemon"]["queued"], page=int(facts["Batches waiting"]),
                 words=self.line("writer ")[0])
        self.put("follows", metrics=self.metrics["tidemark_follows"],
                 page=int(facts["Accounts followed"]))
        for told in (self.status, self.command):
            told["daemon"].pop("uptime_seconds")
        self.put("the API's object", api=json.dumps(self.status), words=json.dumps(self.command))

    def differences(self):
        def same(one, other):
            return one == other or (not isinstance(one, str) and not isinstance(other, str)
                                    and math.isclose(one, other, rel_tol=1e-6))
        for name, views in self.shown.items():
            assert len(views) > 1, f"nothing to compare {name} with"
        return {name: views for name, views in self.shown.items()
                if not all(same(next(iter(views.values())), value) for value in views.values())}


def what_went_wrong(home):
    """Work of a source that nobody follows, so that nobody changes it, and a history for later."""
    now_us = int(time.time() * 1e6)
    blob = "x'00'" if home.kind == "sqlite" else "'\\x00'::bytea"
    return f"""
        INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) VALUES
            (9001, 'archive', 'live', {now_us - 7200000000}, {now_us - 3600000000}, 'a cut', 1, 1);
        INSERT INTO owed (id, source, stream, item, state, attempts, next_us, since_us, seq) VALUES
            (9001, 'archive', '', 'a', 'dead', 5, -1, 1, 1),
            (9002, 'archive', '', 'b', 'dead', 5, -1, 1, 1),
            (9003, 'archive', '', 'c', 'owed', 1, {now_us + 86400000000}, 1, 1);
        INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, times, seq)
            VALUES (9001, 'archive', NULL, {blob}, NULL, 36, 'not JSON', {now_us}, 4, 1);
        INSERT INTO backfill_queue (actor_did, priority, since_us, next_us, queued_us, asked_us)
            SELECT did, 2, 1, {now_us + 86400000000}, {now_us}, {now_us} FROM circle
            WHERE degree = 1 ORDER BY did LIMIT 1;"""


class SameNumbers(BothStores):
    def test_page_metrics_and_command_agree_on_every_number(self):
        self.both_stores(self.compare)

    def compare(self, home):
        programs = (self.program, self.sim_program)
        with WholeWorld(programs, home, random.Random(7)) as world:
            world.meet()
            home.run_sql(what_went_wrong(home))
            with world.daemon() as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"]
                                and health["accounts"]["complete"] == 2, "the accounts")
                world.news.step(20)
                for _ in range(HANDLES):
                    status, answer = daemon.ask("POST", "/api/data/query-open",
                                                {"collection": "posts"})
                    self.assertEqual(status, 200, answer)
                views = self.wait_for_rest(world, daemon)
                self.check_what_is_shown(views)
                daemon.stop()

    def wait_for_rest(self, world, daemon):
        """Each answer is of its own moment: they are read until nothing happened in between."""
        found = {}

        def agree():
            try:
                found["views"] = Views(world, daemon)
            except KeyError as missing:  # one knows already what another does not
                found["wrong"] = f"{missing} is not everywhere"
                return False
            found["wrong"] = found["views"].differences()
            documents = found["views"].status["progress"]["documents"]
            return not found["wrong"] and documents["block"] == documents["head"]
        try:
            wait_until(agree, "the three to agree", AGREE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found['wrong']}\n{daemon.words()[-2000:]}") from None
        return found["views"]

    def check_what_is_shown(self, views):
        """This world has some of everything, and the page shows it."""
        archive = [row for row in views.page.rows("sources") if row["Source"] == "archive"][0]
        self.assertEqual([archive[name] for name in ("Open gaps", "Owed", "Dead", "Quarantine")],
                         ["1", "1", "2", "1"])
        progress = views.status["progress"]
        self.assertEqual(progress["handles_open"], HANDLES)
        self.assertEqual(progress["imports"]["accounts"], 2)
        self.assertGreater(progress["documents"]["stored"], 0)
        self.assertEqual(progress["backfill"]["queued"], 1)
        self.assertEqual(views.page.bars["Accounts whose history is complete"], (2, 2))
        self.assertEqual(views.page.bars["Blocks whose documents all have a row"],
                         (progress["documents"]["block"], progress["documents"]["head"]))
        self.assertEqual(views.page.bars["Histories that were read"][1],
                         progress["backfill"]["completed"] + 1)
        self.assertIn("Gaps of the last 24 hours: 1 open, 0 filled", views.page.labels)
        self.assertIn("Providers", views.page.headings)
        self.assertGreater(len(views.page.rows("cursors")), 3)
        used = [row for row in views.page.rows("providers") if row["In use"] == "yes"]
        self.assertGreater(len(used), 0)


if __name__ == "__main__":
    main()
