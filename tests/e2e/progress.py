# SPDX-License-Identifier: Apache-2.0
"""How far a long piece of work is, for whoever waits for it: a bar with rate and what is left on a
terminal, lines elsewhere, nothing where nobody wants to know.

  progress.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from daemon_client import WAIT_S, wait_until  # noqa: E402
from fake_appview import FakeAppView, now_us  # noqa: E402
from feed_bench import FeedBench, HOUR, main, queue_sql, values  # noqa: E402
from ledger_world import EVM_STREAMS, World  # noqa: E402
from line_terminal import LineTerminal  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402

SCHEMA = len(os.listdir(os.path.join(HERE, "..", "..", "src", "store", "sql", "sqlite")))
FULL = "█" * 20


class Progress(FeedBench):
    def line(self, home, command, *words):
        return [self.program, command, "-c", "/dev/null", "--set", f"store.url={home.url}",
                "--set", f"store.data_dir={home.folder}", *words]

    def tell(self, home, command, *words, code=0):
        """What it says on stderr where that is no terminal; nothing goes to stdout."""
        done = subprocess.run(self.line(home, command, *words), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertNotIn("\033", done.stderr)
        self.assertNotIn("█", done.stderr)
        return done.stderr

    # ---- histories ----

    def history(self, run):
        """run(home, view, account, daemon): 320 hours of posts, whose pages go one by one."""
        def begin(home):
            with FakeAppView() as view:
                self.migrate(home)
                account, now = view.account(), now_us()
                for k in range(320):
                    account.post(now - k * HOUR)
                view.gate = threading.Semaphore(0)
                self.addCleanup(view.gate.release, 1000)
                with self.daemon(home, view) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                    run(home, view, account, daemon)
                    view.gate.release(1000)
                    daemon.stop()
        self.both_stores(begin)

    def test_a_history_on_a_terminal_has_a_bar_a_rate_and_an_end(self):
        def run(home, view, account, _):
            command = self.line(home, "backfill", "--hours", "300", account.handle)
            with LineTerminal(command) as seen:
                seen.wait_for(rf"^{account.did} · 0 accounts before it$")
                view.gate.release()  # 50 of them
                seen.wait_for(rf"^{account.did} \[███░{{17}}\] 16 %.* · 4\d of 300 hours")
                view.gate.release()
                seen.wait_for(r"\[██████░+\] 3\d %, \d+ .*left · 9\d of 300 hours, \d+\.\d/s")
                view.gate.release(1000)
                seen.wait_for(rf"^{account.did} was read 300 hours back$")
                self.assertEqual(seen.end(), 0)
                words = [line for line in seen.lines if line]
                self.assertEqual(len(words), 3, words)  # one line, however often it was drawn
                self.assertEqual(words[0], f"{account.did} will be read 300 hours back")
        self.history(run)

    def test_whoever_stops_waiting_does_not_stop_the_reading(self):
        def run(home, view, account, daemon):
            with LineTerminal(self.line(home, "backfill", account.handle)) as seen:
                seen.wait_for("before it$")
                seen.interrupt()
                self.assertEqual(seen.end(), 130)
                self.assertIn("the daemon goes on with it", seen.text())
            with LineTerminal(self.line(home, "backfill", "--no-wait", account.handle)) as seen:
                self.assertEqual(seen.end(), 0)
                self.assertNotIn("before it", seen.text())
            view.gate.release(1000)
            self.wait_for_queue(daemon, 0)
            self.assertGreaterEqual(len(self.stored(daemon)), 24)
        self.history(run)

    def test_a_history_without_a_terminal_is_waited_for_when_asked(self):
        def run(home, view, account, daemon):
            self.assertEqual(self.tell(home, "backfill", "--hours", "1", account.did),
                             f"{account.did} will be read 1 hour back\n")
            self.assertEqual(self.tell(home, "backfill", account.did),
                             f"{account.did} will be read 24 hours back\n")
            view.gate.release(1000)
            self.wait_for_queue(daemon, 0)
            words = self.tell(home, "backfill", "--wait", "--hours", "300", account.handle)
            said = words.splitlines()
            self.assertEqual(said[0], f"{account.did} will be read 300 hours back")
            self.assertEqual(said[-1], f"{account.did} was read 300 hours back")
            self.assertGreaterEqual(len(self.stored(daemon)), 300)
            self.assertEqual(self.tell(home, "backfill", "--wait", "--quiet", account.did), "")
            account.standing = "AccountDeactivated"
            words = self.tell(home, "backfill", "--wait", "--quiet", account.did, code=1)
            self.assertIn("cannot be read: the account is deactivated", words)
            words = self.tell(home, "backfill", "--wait", "--no-wait", account.did, code=2)
            self.assertIn("opposites", words)
        self.history(run)

    def test_a_reading_that_fails_is_told_while_it_waits(self):
        def run(home, view, account, _):
            view.faults = [{"method": "app.bsky.feed.getAuthorFeed", "status": 500, "count": 1000,
                            "body": {"error": "Bad\033[2J", "message": "no\033[2J"}}]
            view.gate.release(1000)
            with LineTerminal(self.line(home, "backfill", account.did)) as seen:
                seen.wait_for(rf"^{account.did} · tried again in \d+ s: ")
                seen.interrupt()
                self.assertEqual(seen.end(), 130)
        self.history(run)

    def test_without_a_daemon_there_is_nobody_to_wait_for(self):
        def run(home):
            self.migrate(home)
            words = self.tell(home, "backfill", "--wait", "did:plc:somebody", code=1)
            self.assertIn("no daemon runs", words)
            with LineTerminal(self.line(home, "backfill", "did:plc:somebody")) as seen:
                self.assertEqual(seen.end(), 0)
            self.assertEqual(self.select(home, "SELECT count(*) FROM backfill_queue"), "1")
        self.both_stores(run)

    def test_the_status_tells_rate_and_end_of_the_queue(self):
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for _ in range(8):
                    view.account().post(now_us() - HOUR)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                view.gate = threading.Semaphore(0)
                self.addCleanup(view.gate.release, 1000)
                with self.daemon(home, view) as daemon:
                    daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                    view.gate.release(5)

                    def told():
                        work = daemon.ask("GET", "/api/status")[1]["progress"]["backfill"]
                        return (work["completed"], work["queued"]) == (5, 3) and \
                            work["per_minute"] > 0
                    wait_until(told, "five that are read")
                    words = subprocess.run(self.line(home, "status"), check=True, text=True,
                                           capture_output=True, timeout=WAIT_S).stdout
                    self.assertRegex(words, r"(?m)^history 3 to read, 3 being read, 5 read; "
                                            r"\d+ a minute, \d+ (s|min) left$")
                    view.gate.release(1000)
                    self.wait_for_queue(daemon, 0)
                    wait_until(lambda: daemon.ask("GET", "/api/status")[1]["progress"]["backfill"]
                               ["per_minute"] == 0, "rest")
                    daemon.stop()
        self.both_stores(run)

    # ---- the schema ----

    def test_the_steps_of_the_schema_are_counted(self):
        def run(home):
            with LineTerminal(self.line(home, "migrate")) as seen:
                self.assertEqual(seen.end(), 0)
                shown, end = [line for line in seen.lines if line]
                self.assertRegex(shown, rf"^schema \[{FULL}\] 100 % · {SCHEMA} of {SCHEMA} steps")
                self.assertEqual(end, f"the schema is at version {SCHEMA}: {SCHEMA} steps applied")
            with LineTerminal(self.line(home, "migrate")) as seen:  # nothing is due
                self.assertEqual(seen.end(), 0)
                self.assertNotIn("100 %", seen.text())
            self.assertEqual(self.tell(home, "migrate", "--quiet"), "")
        self.both_stores(run)

    def test_a_terminal_that_cannot_be_drawn_on_gets_lines(self):
        def run(home):
            with LineTerminal(self.line(home, "migrate"), kind="dumb") as seen:
                self.assertEqual(seen.end(), 0)
                self.assertNotIn("█", seen.text())
                self.assertRegex(seen.lines[0], rf"^schema \d+ %.* of {SCHEMA} steps")
        self.both_stores(run)

    def test_the_steps_are_lines_where_there_is_no_terminal(self):
        def run(home):
            said = self.tell(home, "migrate").splitlines()
            self.assertRegex(said[0], rf"^schema \d+ %.* · \d+ of {SCHEMA} steps")
            self.assertEqual(said[-1], f"the schema is at version {SCHEMA}: {SCHEMA} steps applied")
        self.both_stores(run)

    def test_a_quiet_migration_says_only_what_went_wrong(self):
        def run(home):
            self.assertEqual(self.tell(home, "migrate", "--quiet"), "")
            home.run_sql("INSERT INTO schema_migrations (version, name, checksum, applied_us) "
                         f"VALUES ({SCHEMA + 1}, 'later', 'x', 1);")
            self.assertIn("newer tidemark", self.tell(home, "migrate", "--quiet", code=1))
        self.both_stores(run)

    # ---- accounts ----

    def test_an_import_draws_its_streams_in_place(self):
        def run(home):
            world = World((self.program, self.sim_program), home, ("etherscan",))
            self.addCleanup(world.__exit__)
            command = [self.program, "import", world.account, "-c", world.configuration]
            with LineTerminal(command, columns=200) as seen:
                self.assertEqual(seen.end(), 0)
                for stream in EVM_STREAMS:
                    drawn = [line for line in seen.lines if f" {stream}: " in line]
                    self.assertEqual(len(drawn), 1, seen.text())
                    self.assertRegex(drawn[0], r"\d+ new, .* rows/s · .* · complete · \d+ batch")
            done = subprocess.run([*command, "--quiet"], capture_output=True, text=True,
                                  timeout=WAIT_S, check=True)
            self.assertEqual(done.stderr, "")
            self.assertIn("completed, 0 new", done.stdout)
        self.both_stores(run)

    # ---- from polling to the firehose ----

    def test_the_accounts_behind_handles_are_counted(self):
        def run(home):
            with Simulator(self.sim_program, "--events", "10", "--accounts", "60") as sim:
                self.migrate(home)
                names = [json.loads(line)["handle"] for line in lines(sim.get("/_sim/accounts"))]
                self.run_sql(home, ["INSERT INTO poll_state (user_handle, last_polled_at, "
                                    "posts_fetched_count) VALUES " +
                                    values([(name, "2026-01-01T00:00:00Z", 0) for name in names])])
                here = ("--set", f"bluesky.appview={sim.address}")
                done = subprocess.run(self.line(home, "migrate-follows", "--json", *here),
                                      capture_output=True, text=True, timeout=WAIT_S, check=True)
                self.assertEqual(done.stderr, "")
                self.assertEqual(json.loads(done.stdout)["followed"], len(names))
                home.run_sql("DELETE FROM follows;")
                said = self.tell(home, "migrate-follows", *here).splitlines()
                self.assertEqual(said[0], f"accounts 0 % · 0 of {len(names)} handles")
                self.assertEqual(said[-1], f"followed: {len(names)} of {len(names)}")
                home.run_sql("DELETE FROM follows;")
                with LineTerminal(self.line(home, "migrate-follows", *here)) as seen:
                    self.assertEqual(seen.end(), 0)
                    shown, end = [line for line in seen.lines if line]
                    self.assertRegex(shown, rf"^accounts \[{FULL}\] 100 % · "
                                            rf"{len(names)} of {len(names)} handles")
                    self.assertEqual(end, said[-1])
        self.both_stores(run)


if __name__ == "__main__":
    main(Progress)
