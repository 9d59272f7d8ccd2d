# SPDX-License-Identifier: Apache-2.0
"""`tidemark status --watch` on a terminal of any size, and where there is none.

  watch.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, WAIT_S, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import PAST, begin_before_everything, last_wanted_us, settings  # noqa: E402
from terminal_process import TerminalProcess, set_size  # noqa: E402

BEFORE = "what stood here before"
SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Terminal:
    """As much of one as is needed; whatever else it is told is an error, and so is a line that
    does not fit."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.main, self.other = [BEFORE], None
        self.cursor_shown = True
        self.colored = False
        self.row = self.column = 0
        self.frames = 0
        self.rest = b""

    @property
    def lines(self):
        return self.main if self.other is None else self.other

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)

    def obey(self, private, number, letter):
        if private:
            on = letter == b"h"
            if number == b"1049":
                self.other = [] if on else None
            elif number == b"25":
                self.cursor_shown = on
            else:
                raise AssertionError((private, number, letter))
        elif letter == b"H" and not number:
            self.row = self.column = 0
            self.frames += 1
        elif letter == b"K" and not number:
            self.put_line(self.line()[:self.column])
        elif letter == b"J" and not number:
            self.put_line(self.line()[:self.column])
            del self.lines[self.row + 1:]
        elif letter == b"m":
            self.colored = self.colored or number not in (b"", b"0")
        else:
            raise AssertionError((private, number, letter))

    def line(self):
        while len(self.lines) <= self.row:
            self.lines.append("")
        return self.lines[self.row]

    def put_line(self, line):
        self.line()
        self.lines[self.row] = line

    def write(self, character):
        assert self.other is not None or character in "^CZ", f"{character!r} on the main screen"
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            assert self.row < self.rows, "it scrolls"
        else:
            assert character >= " ", repr(character)
            assert self.column < self.columns, f"too wide: {self.line()!r}"
            line = self.line().ljust(self.column)
            self.put_line(line[:self.column] + character + line[self.column + 1:])
            self.column += 1

    def feed(self, data):
        data = self.rest + data
        while data:
            match = SEQUENCE.match(data)
            if match:
                self.obey(*match.groups())
                data = data[match.end():]
            elif data[0] == 0x1b:
                break  # the rest of it is to come
            else:
                size = 1 if data[0] < 0x80 else 2 if data[0] < 0xe0 else 3 if data[0] < 0xf0 else 4
                if len(data) < size:
                    break
                self.write(data[:size].decode())
                data = data[size:]
        self.rest = data


class Watched(TerminalProcess):
    """The command on a terminal."""

    def __init__(self, command, rows, columns, environment=()):
        self.terminal = Terminal(rows, columns)
        super().__init__(command, rows, columns, environment)

    def feed(self, data):
        self.terminal.feed(data)

    def text(self):
        return self.terminal.text()

    def wait_for(self, condition, what):
        """Until the condition holds of a frame that is whole."""
        self.wait_until(lambda: condition(self.terminal), what)

    def resize(self, rows, columns):
        """What was drawn for the old size and is under way is not judged by the new one."""
        terminal, frames = self.terminal, self.terminal.frames
        terminal.rows = max(terminal.rows, rows)
        terminal.columns = max(terminal.columns, columns)
        set_size(self.fd, rows, columns)
        self.wait_for(lambda now: now.frames > frames + 1, "two frames")
        terminal.rows, terminal.columns = rows, columns
        self.wait_for(lambda now: now.frames > frames + 3, "two more frames")

    def suspend(self):
        """Ctrl-Z, as a shell sees it."""
        self.press(b"\x1a")
        self.wait_for(lambda terminal: terminal.other is None, "the main screen")
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        return os.WIFSTOPPED(status)

    def end_by(self, number):
        os.kill(self.pid, number)
        return self.end()

    def end_by_key(self):
        self.interrupt()
        return self.end()


class Teletype(TerminalProcess):
    """A terminal that only prints."""

    def __init__(self, *words):
        self.seen = b""
        super().__init__(*words)

    def feed(self, data):
        self.seen += data

    def text(self):
        return self.seen.decode(errors="replace")


class Tmux:
    """A command in a real tmux, after a line that stood there before, before one with its exit
    code."""

    def __init__(self, folder, command, columns, rows):
        self.socket = os.path.join(folder, "tmux")
        script = f"trap : INT; echo {BEFORE}; {shlex.join(command)}; echo ended $?; exec cat"
        self.tell("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tell("kill-server")

    def tell(self, *words):
        environment = {**os.environ, "TERM": "screen"}
        environment.pop("TMUX", None)
        return subprocess.run(["tmux", "-S", self.socket, *words], env=environment, text=True,
                              check=True, capture_output=True, timeout=WAIT_S).stdout

    def screen(self):
        return self.tell("capture-pane", "-p").rstrip("\n").split("\n")

    def modes(self):
        """Whether the other screen is shown, and whether the cursor is."""
        return self.tell("display-message", "-p", "#{alternate_on} #{cursor_flag}").split()


class Watch(BothStores):
    def command(self, home, *words):
        return [self.program, "status", "--watch", *words, "-c", "/dev/null",
                "--set", f"store.url={home.url}", "--set", f"store.data_dir={home.folder}"]

    def following(self, run):
        """run(home) while a daemon has stored all that a simulator sent."""
        def begin(home):
            with Simulator(self.sim_program, "--events", "300", *PAST) as sim:
                begin_before_everything(home, sim)
                with Daemon(self.program, home, settings(sim)) as daemon:
                    end = last_wanted_us(sim)
                    daemon.wait_for(lambda health: health["cursor_time_us"] == end, "the end")
                    run(home, sim)
                    daemon.stop()
        self.both_stores(begin)

    def test_the_whole_terminal_shows_all_and_is_given_back(self):
        def run(home, sim):
            watched = Watched(self.command(home), 30, 200)
            # Where a replay ended the host is called anew, and it is not live for a moment.
            live = re.compile(rf"(?m)^jetstream +live +127\.0\.0\.1:{sim.port} +live "
                              r"+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+ \w+")
            watched.wait_for(lambda terminal: terminal.frames > 2 and
                             live.search(terminal.text()), "three frames and a live stream")
            shown = watched.terminal.text()
            self.assertTrue(watched.terminal.colored)
            self.assertFalse(watched.terminal.cursor_shown)
            self.assertRegex(shown, r"(?m)^daemon  healthy, up \d+ s, pid \d+$")
            self.assertRegex(shown, rf"(?m)^store   {home.kind}, [\d.]+ [KM]iB, schema \d+, commit")
            self.assertRegex(shown, r"(?m)^writer  writing, \d+ batches wait$")
            self.assertRegex(shown, r"(?m)^SOURCE +STATE +PROVIDER +STREAM +CURSOR +LAG +RATE "
                                    r"+GAPS +OWED +DEAD +QUARANTINE$")
            self.assertEqual(watched.end_by_key(), 130)
            self.assertEqual(watched.terminal.main, [BEFORE])
            self.assertIsNone(watched.terminal.other)
            self.assertTrue(watched.terminal.cursor_shown)
        self.following(run)

    def test_it_fits_a_terminal_that_changes_its_size(self):
        def run(home, _):
            watched = Watched(self.command(home), 30, 200)
            watched.wait_for(lambda terminal: "QUARANTINE" in terminal.text(), "the last column")
            watched.resize(5, 31)  # the terminal fails when more is drawn
            self.assertEqual(len(watched.terminal.lines), 5)
            self.assertNotIn("QUARANTINE", watched.terminal.text())
            watched.resize(40, 160)
            watched.wait_for(lambda terminal: "QUARANTINE" in terminal.text(), "the last column")
            self.assertEqual(watched.end_by(signal.SIGTERM), 130)
            self.assertIsNone(watched.terminal.other)
        self.following(run)

    def test_what_is_live_comes_first_and_people_have_one_line(self):
        def run(home, _):
            place = '{"primary":{"type":"timeUs","value":%d},"lastTransactionId":""}'
            home.run_sql("INSERT INTO cursors VALUES " + ", ".join(
                f"('feed', 'did:plc:{i:03}', '{place % (i + 10 ** 15)}', 0, 6, 0)"
                for i in range(140)) + ";")
            home.run_sql("INSERT INTO gaps VALUES (991, 'aaa', 's', 1, 2, 'lost', 3, NULL, 1);")
            watched = Watched(self.command(home), 24, 200)
            watched.wait_for(lambda terminal: "feed" in terminal.text() and
                             re.search(r"(?m)^jetstream +live", terminal.text()), "both sources")
            shown = watched.terminal.text()
            self.assertRegex(shown, r"(?m)^feed +- +- +1\d\d accounts +- +- +- +0 ")
            self.assertNotIn("did:plc", shown)
            names = [line.split(" ")[0] for line in shown.split("\n")]
            self.assertLess(names.index("jetstream"), names.index("aaa"))
            self.assertLess(names.index("aaa"), names.index("feed"))
            self.assertNotIn(" more ", shown)
            lines = len(shown.rstrip("\n").split("\n"))
            watched.resize(5, 100)
            watched.wait_for(lambda terminal: f"... {lines - 4} more lines" in terminal.lines[-1],
                             "what is cut to be told")
            self.assertEqual(watched.end_by(signal.SIGTERM), 130)
        self.following(run)

    def test_it_works_in_tmux(self):
        def run(home, _):
            with Tmux(home.folder, self.command(home), 160, 30) as tmux:
                wait_until(lambda: "QUARANTINE" in "\n".join(tmux.screen()), "the view")
                self.assertEqual(tmux.modes(), ["1", "0"])
                self.assertTrue(tmux.screen()[0].startswith("daemon  healthy"), tmux.screen())
                tmux.tell("resize-window", "-x", "60", "-y", "8")
                wait_until(lambda: "QUARANTINE" not in "\n".join(tmux.screen()) and
                           tmux.screen()[0].startswith("daemon  healthy"), "a smaller view")
                self.assertLessEqual(len(tmux.screen()), 8)
                tmux.tell("resize-window", "-x", "160", "-y", "30")
                wait_until(lambda: "QUARANTINE" in "\n".join(tmux.screen()), "the view")
                tmux.tell("send-keys", "C-c")
                wait_until(lambda: "ended 130" in tmux.screen(), "the end")
                self.assertEqual(tmux.modes(), ["0", "1"])
                self.assertEqual(tmux.screen()[0], BEFORE)  # nothing of the view is left
                self.assertNotIn("SOURCE", "\n".join(tmux.screen()))
        self.following(run)

    def test_no_color_is_heeded_and_a_missing_store_is_told(self):
        def run(home):
            watched = Watched(self.command(home), 24, 300, {"NO_COLOR": "1"}.items())
            watched.wait_for(lambda terminal: terminal.frames > 2, "three frames")
            self.assertIn("tidemark migrate", watched.terminal.text())
            subprocess.run([self.program, "migrate", *self.command(home)[3:]], check=True,
                           capture_output=True)
            watched.wait_for(lambda terminal: "not running" in terminal.text(), "the store")
            self.assertFalse(watched.terminal.colored)
            self.assertEqual(watched.end_by_key(), 130)
        self.both_stores(run)

    def test_a_stop_gives_the_terminal_back_until_it_goes_on(self):
        def run(home, _):
            watched = Watched(self.command(home), 30, 200)
            watched.wait_for(lambda terminal: terminal.frames > 0, "a frame")
            self.assertTrue(watched.suspend())
            self.assertEqual(watched.terminal.main[0], BEFORE)
            self.assertTrue(watched.terminal.cursor_shown)
            frames = watched.terminal.frames
            os.kill(watched.pid, signal.SIGCONT)
            watched.wait_for(lambda terminal: terminal.frames > frames + 1, "two more frames")
            self.assertIn("SOURCE", watched.terminal.text())
            self.assertFalse(watched.terminal.cursor_shown)
            self.assertEqual(watched.end_by_key(), 130)
        self.following(run)

    def test_without_a_terminal_it_is_written_again_and_again(self):
        def run(home, _):
            for words, complete in (((), "QUARANTINE"), (("--json",), '"success":true')):
                process = subprocess.Popen(self.command(home, *words), stdout=subprocess.PIPE,
                                           text=True)
                lines = []
                while sum(complete in line for line in lines) < 2:
                    lines.append(process.stdout.readline())
                    self.assertTrue(lines[-1], lines)
                process.send_signal(signal.SIGINT)
                rest = process.stdout.read()
                self.assertEqual(process.wait(WAIT_S), 130)
                process.stdout.close()
                self.assertNotIn("\033", "".join(lines) + rest)
                if words:
                    answer = json.loads(lines[1])
                    self.assertEqual(answer["progress"]["backfill"]["running"], 0)
                    self.assertIsNone(answer["progress"]["documents"])
                    self.assertGreater(answer["store"]["bytes"], 0)
                    # All that came was a replay: nobody waited for it, and it is not timed.
                    self.assertEqual(answer["progress"]["commit_seconds"],
                                     {"p50": None, "p95": None, "p99": None})
        self.following(run)

    def test_a_terminal_that_obeys_nothing_is_told_nothing(self):
        def run(home):
            where = self.command(home)[3:]
            subprocess.run([self.program, "migrate", *where], check=True, capture_output=True)
            for command in (self.command(home), [self.program, "follows", *where],
                            [self.program, "verify", *where]):
                dumb = Teletype(command, 24, 80, {"TERM": "dumb"}.items())
                dumb.wait_until(lambda seen=dumb: seen.text().count("\n") > 0, "a line")
                if "--watch" in command:
                    dumb.wait_until(lambda seen=dumb: seen.text().count("store ") > 1, "another")
                    dumb.interrupt()
                self.assertEqual(dumb.end(), 130 if "--watch" in command else 0)
                self.assertNotIn("\033", dumb.text())
        self.both_stores(run)

    def test_a_place_before_everything_is_no_time(self):
        def run(home):
            words = self.command(home)[3:]
            subprocess.run([self.program, "migrate", *words], check=True, capture_output=True)
            cursor = ('{"primary":{"type":"timeUs","value":0},"lastTransactionId":"",'
                      '"totalFetched":0}')
            home.run_sql(f"INSERT INTO cursors VALUES ('feed', 'did:x', '{cursor}', 0, 6, 0);")
            out = subprocess.run([self.program, "status", *words], check=True, capture_output=True,
                                 text=True).stdout
            self.assertRegex(out, r"did:x +nothing yet +- ")
            # A person who says nothing is not behind.
            later = cursor.replace('"value":0', '"value":1700000000000000')
            home.run_sql(f"UPDATE cursors SET state = '{later}';")
            out = subprocess.run([self.program, "status", *words], check=True, capture_output=True,
                                 text=True).stdout
            self.assertRegex(out, r"did:x +2023-11-14 22:13:20 +- ")
            self.assertNotIn("1970", out)
        self.both_stores(run)


if __name__ == "__main__":
    main()
