# SPDX-License-Identifier: Apache-2.0
"""One cell of the fault matrix: a world, a store, a wire and a fault; some lives that end with kill
-9, and a last one after which what is stored must be what is true."""

import json
import os
import random
import subprocess
import time

from daemon_client import Daemon, Home, wait_until
from feed_truth import told_difference
from sim_client import Simulator, lines
from truth_compare import (WIRES, begin_before_everything, difference, differences, last_wanted_us,
                           stored_follows, stored_posts, true_follows, true_posts)

# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
METHODS = ("app.bsky.graph.getFollows", "app.bsky.feed.getAuthorFeed", "app.bsky.feed.getPosts")
EVERYBODY_COUNTS = "news.single_domain_percent=100"
WORDS_MAX = 3000
EVENTS_MAX = 1500  # of a cell: less than a v1 host is asked for again
RESERVE = 500      # of them, for the last life
LOOKS_MAX = 20     # without progress, before more happens all the same
CONVERGENCE_S = 150


class Cell:
    """The stream itself is what fails."""

    world = ("--events", "60")
    lives_max = 2 if "TIDEMARK_LONG" in os.environ else 1  # that end with a kill

    def __init__(self, programs, tally, fault, store, wire, seed):
        self.program, self.sim_program = programs
        self.tally, self.fault, self.store, self.wire, self.seed = tally, fault, store, wire, seed
        self.chance = random.Random(f"{seed} {fault.label} {store} {wire}")
        self.events, self.events_max = 0, EVENTS_MAX - RESERVE
        self.words = ""  # the daemon's last ones, when something is wrong

    def __str__(self):
        return f"seed={self.seed} fault={self.fault.label} store={self.store} wire={self.wire}"

    def run(self):
        try:
            with Home(self.store) as home:
                self.live(home)
        except Exception as error:  # any surprise is a violation, and the other cells go on
            self.tally.violated(f"{self}: {type(error).__name__}: {error}\n{self.words}")

    def live(self, home):
        try:
            self.live_through(home)
        except Exception:
            with open(os.path.join(home.folder, "log"), encoding="utf-8") as log:
                self.words = log.read()[-WORDS_MAX:]
            raise

    def live_through(self, home):
        tls = ("--tls", "--tls-save", f"{home.folder}/sim.pem") if self.is_secret() else ()
        with Simulator(self.sim_program, *self.world, "--seed",
                       str(self.chance.randrange(1 << 30)), *PAST, *tls) as sim:
            self.sim, self.home = sim, home
            self.prepare()
            self.suffer()
            self.finish()
            self.tally.cell_done(self.store, sim.fired(self.fault.name))

    # ---- the course of a cell ----

    def prepare(self):
        self.arm()
        begin_before_everything(self.home, self.sim)

    def suffer(self):
        for _ in range(self.chance.randint(1, self.lives_max)):
            self.live_and_die(self.chance.choice(("at once", "commits", "fault")))
        if self.fault.lossy:  # what a v1 host kept from us comes again after a new start
            self.live_and_die("fault")
            self.sim.ask("DELETE", "/_sim/fault")

    def finish(self):
        fired, self.events_max = 0, EVENTS_MAX
        with self.daemon() as daemon:
            self.step_on()
            if self.fault.quarantine and not self.fault.lossy:
                fired = self.fired()
                self.arm()  # once more where nobody is killed, so that a row must be there
            if not self.fault.lossy:
                self.wait(daemon, lambda: self.fired() > fired, f"{self.fault.label} to happen")
            self.wait_for_end(daemon)
            self.judge(daemon)
            daemon.stop()

    # ---- its means ----

    def is_secret(self):
        return self.fault.name == "tls"

    def arm(self, more=""):
        low, high = self.fault.after
        self.sim.arm(f"name={self.fault.name}&after={self.chance.randint(low, high)}"
                     f"&{self.fault.plan}{more}")

    def fired(self):
        return self.sim.fired(self.fault.name)

    def daemon(self):
        return Daemon(self.program, self.home, self.settings())

    def settings(self):
        chosen = [f"jetstream.endpoint={self.stream_origin()}{WIRES[self.wire]}",
                  "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
                  f"bluesky.appview=http://127.0.0.1:{self.sim.control_port}",
                  "cards.enabled=false", EVERYBODY_COUNTS]
        compress = self.fault.compress
        if compress is None:
            compress = self.chance.random() < 0.5
        chosen.append(f"jetstream.compress={str(compress).lower()}")
        if self.is_secret():
            chosen.append(f"fetch.ca_file={self.home.folder}/sim.pem")
        if compress and self.wire == "v1":
            path = f"{self.home.folder}/v1.zdict"
            with open(path, "wb") as file:
                file.write(self.sim.get("/_sim/dictionary"))
            chosen.append(f"jetstream.dictionary_file={path}")
        return chosen

    def stream_origin(self):
        scheme = "wss" if self.is_secret() else "ws"
        return f"{scheme}://127.0.0.1:{self.sim.port}"

    def step(self, low, high):
        """New events, as long as a v1 host would still send all of them again."""
        count = min(self.chance.randint(low, high), self.events_max - self.events)
        if count > 0:
            self.sim.step(count)
            self.events += count

    def step_on(self):
        """New events, among them one that the daemon must hear of."""
        known = last_wanted_us(self.sim)
        while last_wanted_us(self.sim) == known:
            assert self.events < self.events_max, "nothing happens that anybody wants"
            self.step(20, 100)

    def live_and_die(self, when):
        with self.daemon() as daemon:
            self.step(20, 200)
            if when == "commits":
                self.wait_for_commits(daemon, self.chance.randint(1, 5))
            elif when == "fault":
                self.wait(daemon, lambda: self.fired() > 0, "the fault")
            self.step(0, 60)
            try:  # any moment of the next fifth of a second is as good as another
                code = daemon.process.wait(self.chance.random() / 5)
                raise AssertionError(f"ended by itself with {code}")
            except subprocess.TimeoutExpired:
                daemon.kill()
                self.tally.killed()

    def wait_for_commits(self, daemon, goal):
        """So many, or all that there will be."""
        def reached():
            commits = (daemon.health() or {}).get("commit_seq", 0)
            return commits >= (goal if self.events < self.events_max else 1)
        self.wait(daemon, reached, "commits", lambda: (daemon.health() or {}).get("commit_seq"))

    def wait(self, daemon, condition, what, progress=None):
        """Lets more happen whenever what happened has had an effect: a slow machine gets time and
        does not use up the events of the cell."""
        progress = progress or (lambda: self.sim.stats()["frames"])
        seen, looks = None, 0

        def look():
            nonlocal seen, looks
            assert not daemon.ended(), f"ended before {what}"
            if condition():
                return True
            before, seen, looks = seen, progress(), looks + 1
            if seen != before or looks == LOOKS_MAX:
                self.step(1, 3)
                looks = 0
            return False
        wait_until(look, what)

    def wait_for_end(self, daemon):
        end = last_wanted_us(self.sim)
        daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the last event")

    def wait_for_none(self, daemon, look):
        """Waits until `look()` finds nothing that is wrong any more."""
        found = {}

        def is_right():
            assert not daemon.ended(), "ended while it caught up"
            found.clear()
            found.update({name: wrong for name, wrong in look().items() if wrong})
            return not found
        try:
            wait_until(is_right, "the store to be complete", CONVERGENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None

    # ---- the verdict ----

    def expected(self):
        truth = true_posts(self.sim)
        if self.fault.name != "skew":
            return truth
        off = int(self.fault.plan.split("=")[1])
        return {uri: (*row[:3], row[3] + off, row[4]) for uri, row in truth.items()}

    def is_excused(self):
        """A v2 number is resumed exactly: what a host kept to itself does not come again, and no
        sign of it is on the wire. A v1 host is asked again from a little before."""
        return self.fault.lossy and self.wire == "v2"

    def without_what_was_lost(self, rows):
        lost = [json.loads(line) for line in lines(self.sim.get("/_sim/lost"))]
        uris = {row["uri"] for row in lost if "uri" in row}
        dids = {row["did"] for row in lost if "uri" not in row}
        return {uri: row for uri, row in rows.items()
                if uri not in uris and uri.split("/")[2] not in dids}

    def judge_links(self, daemon):
        if self.is_excused():
            return
        what = ["links", "post_links", "trending"]
        if self.fault.name != "skew":  # its shares have other times
            what.append("shares")
        found = differences(daemon, self.sim, what)
        assert not found, f"the store differs: {found}"

    def judge(self, daemon):
        stored, truth = stored_posts(daemon), self.expected()
        if self.is_excused():
            stored, truth = self.without_what_was_lost(stored), self.without_what_was_lost(truth)
        found = difference(stored, truth)
        assert not found, f"the store differs: {found}"
        self.judge_links(daemon)
        assert self.fired() > 0, "the fault did not happen"
        open_gaps = [gap for gap in daemon.walk("gaps") if gap["closedAt"] is None]
        assert not open_gaps, f"gaps that nothing explains: {open_gaps}"
        spoilt = len(daemon.walk("quarantine"))
        assert spoilt == 0 or self.fault.quarantine, f"{spoilt} rows in quarantine"
        assert spoilt > 0 or self.fault.lossy or not self.fault.quarantine, "nothing in quarantine"


class AppviewCell(Cell):
    """One follows people, and it is the AppView that fails."""

    # Nobody follows anybody new: lists are read but once an hour.
    world = ("--events", "1", "--accounts", "60", "--follows", "12", "--noise", "0")
    lives_max = 1
    methods = METHODS

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.method = self.chance.choice(self.methods)

    def __str__(self):
        return f"{super().__str__()} ({self.method})"

    def arm(self, more=""):
        super().arm(f"{more}&collection={self.method}")

    def settings(self):
        return super().settings() + [f"bluesky.actors=[{self.me()}]", "backfill.rate_limit_ms=0"]

    def prepare(self):
        """A first life before anything happens: whom one follows is known. What comes later comes
        over the stream then, with all that a feed does not tell."""
        backfills = self.method == METHODS[1]
        begin_before_everything(self.home, self.sim)
        if backfills:  # which happens only for those who are new
            self.arm()
        with self.daemon() as daemon:
            daemon.wait_for(lambda _: not self.follows_missing(), "the follows")
            daemon.stop()
        if not backfills:
            self.arm()

    def wait_for_end(self, daemon):
        daemon.wait_for(lambda health: health["websocket_connected"], "a line")
        daemon.reload()  # who was away when the list was read is on it again

    def judge(self, daemon):
        """What is followed, and all that those people share, is there after a while."""
        def look():
            return {"follows": self.follows_missing(), **told_difference(daemon, self.sim)}
        self.wait_for_none(daemon, look)

    def follows_missing(self):
        """Who is not known to be followed; whoever left since is still known."""
        return true_follows(self.sim) - stored_follows(self.home, self.me())

    def me(self):
        return json.loads(lines(self.sim.get("/_sim/accounts"))[0])["did"]
