# SPDX-License-Identifier: Apache-2.0
"""Everything at once on one store: people who are followed, over a stream and over their feeds; the
histories of an account and of an exchange; a chain that names documents; and readers who walk
through all that. One daemon follows it; what is stored is compared with what is true."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time

import content_world
import ledger_world
from daemon_client import Daemon, wait_until
from feed_truth import told_difference
from truth_compare import (WIRES, begin_before_everything, last_wanted_us,
                           stored_follows, true_follows)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

from sim_client import Simulator, lines  # noqa: E402

# The world begins two hours ago, so that no event of a test lies in the future.
PAST = ("--start-us", str(int((time.time() - 7200) * 1000000)), "--gap-us", "1000")
CONVERGENCE_S = 150
PAGE = 7
DOWN = (OSError, http.client.HTTPException)


class Reader:
    """Walks through all posts, again and again; a walk outlives the daemons it asks."""

    def __init__(self):
        self.handle, self.page, self.seen, self.walks = None, 0, set(), 0

    def turn(self, daemon):
        """One request. A daemon that dies meanwhile is asked the same once more, later."""
        try:
            if self.handle is None:
                self.open(daemon)
            else:
                self.go_on(daemon)
        except DOWN:
            return

    def open(self, daemon):
        status, answer = daemon.ask("POST", "/api/data/query-open",
                                    {"collection": "posts", "pageSize": PAGE})
        assert status == 200, answer
        self.handle, self.page, self.seen = answer["queryHandle"], 0, set()

    def go_on(self, daemon):
        status, answer = daemon.ask("POST", "/api/data/query-next",
                                    {"queryHandle": self.handle, "page": self.page})
        assert status == 200, answer
        # One that both ways bring gets the earlier time: what moves may be met again (docs/API.md).
        rows = [(row["uri"], row["sharedAt"]) for row in answer["items"]]
        assert len(set(rows)) == len(rows) and not self.seen & set(rows), (
            f"page {self.page} brings again: {self.seen & set(rows)}")
        self.seen.update(rows)
        self.page += 1
        if answer["hasMore"]:
            return
        handle, self.handle = self.handle, None
        self.walks += 1
        status, answer = daemon.ask("POST", "/api/data/query-close", {"queryHandle": handle})
        assert status == 200, answer


class WholeWorld:
    """A home, three simulators and one configuration."""

    def __init__(self, programs, home, chance, wire="v2"):
        self.program, sim = programs
        self.home, self.chance, self.wire = home, chance, wire
        self.reader = Reader()
        self.stack = contextlib.ExitStack()
        seed = str(chance.randrange(1, 1 << 30))
        self.news = self.stack.enter_context(Simulator(
            sim, "--events", "1", "--accounts", "60", "--follows", "12", "--noise", "0",
            "--seed", seed, *PAST))
        self.account = self.stack.enter_context(ledger_world.World(
            programs, home, ("etherscan", "blockscout"), sizes={"etherscan": 20, "blockscout": 30},
            options=("--chain-seed", seed, "--chain-blocks", "40")))
        account_text = self.configuration()
        self.exchange = self.stack.enter_context(ledger_world.World(
            programs, home, ("kraken",), "kraken",
            options=("--chain-seed", seed, "--chain-blocks", "40")))
        self.join_configurations(account_text)
        self.content = self.stack.enter_context(content_world.World(
            programs, home, depth=4, options=("--content-seed", seed, "--content-blocks", "30",
                                              "--content-documents", "500")))
        self.me = json.loads(lines(self.news.get("/_sim/accounts"))[0])["did"]
        begin_before_everything(home, self.news)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.stack.__exit__(*problem)

    def configuration(self):
        with open(os.path.join(self.home.folder, "tidemark.yaml"), encoding="utf-8") as file:
            return file.read()

    def join_configurations(self, account_text):
        """The exchange's file holds its provider; both accounts, and the other's providers join."""
        providers = account_text.split("providers:\n")[1]
        names = ", ".join(f"'{world.account}'" for world in (self.account, self.exchange))
        self.exchange.configure([self.configuration().replace(
            "ledger:\n", f"ledger:\n  accounts: [{names}]\n") + providers])

    def settings(self):
        return (f"jetstream.endpoint=ws://127.0.0.1:{self.news.port}{WIRES[self.wire]}",
                "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
                f"bluesky.appview=http://127.0.0.1:{self.news.control_port}",
                f"bluesky.actors=[{self.me}]", "backfill.rate_limit_ms=0",
                "news.single_domain_percent=100",
                *(each for each in self.content.settings if not each.startswith("bluesky.")))

    def daemon(self, *settings, **environment):
        return Daemon(self.program, self.home, (*self.settings(), *settings), environment,
                      config=self.exchange.configuration)

    def command(self, *words):
        """Another process on the same store, beside the daemon or without one."""
        return subprocess.run(
            [self.program, *words, "-c", self.exchange.configuration,
             *(word for each in self.settings() for word in ("--set", each))],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

    def verify(self):
        """A server needs a moment to see that a process is gone."""
        def settled():
            done = self.command("verify")
            return None if "has this store open" in done.stderr else done
        done = wait_until(settled, "the store to be free")
        assert done.returncode == 0, f"verify: {done.stdout}{done.stderr}"

    # ---- what happens ----

    def happen(self):
        """A little everywhere, or nothing."""
        chance = self.chance
        self.news.step(chance.randint(1, 15))
        if chance.random() < 0.2:
            self.account.sim.act("mine", chance.randint(1, 3))
        if chance.random() < 0.3:
            self.content.sim.act("mine", chance.randint(1, 3), chance.randint(0, 1))
        if chance.random() < 0.1:
            self.content.sim.act("reorg", chance.randint(1, self.content.depth))

    def meet(self):
        """A whole life before anything happens: whom one follows is known, and what they shared
        before. What comes later comes over the stream, with all that a feed does not tell."""
        with self.daemon() as daemon:
            daemon.wait_for(lambda health: health["websocket_connected"] and self.is_settled(),
                            "the follows")
            daemon.stop()

    def is_settled(self):
        """Nobody is left whose feed is still to be read."""
        return (not self.follows_missing() and not self.home.select(
            "SELECT did FROM follows WHERE NOT backfill_completed"))

    # ---- what is stored, and what is true ----

    def follows_missing(self):
        return true_follows(self.news) - stored_follows(self.home, self.me)

    def difference(self, daemon):
        """{} when everything that is true is stored, and nothing else."""
        found = {"follows": self.follows_missing(), **told_difference(daemon, self.news),
                 "account": self.account.difference(), "exchange": self.exchange.difference(),
                 "content": self.content.difference()}
        return {name: wrong for name, wrong in found.items() if wrong}

    def converge(self):
        """A last life in which nothing goes wrong."""
        self.home.run_sql("UPDATE owed SET next_us = 0 WHERE state = 'owed';")
        found = {}
        with self.daemon() as daemon:
            end = last_wanted_us(self.news)
            daemon.wait_for(lambda health: (health["cursor_time_us"] or 0) >= end, "the stream")

            def is_right():
                assert not daemon.ended(), f"ended by itself:\n{daemon.words()[-2000:]}"
                found["now"] = self.difference(daemon)
                return not found["now"]
            try:
                wait_until(is_right, "the truth", CONVERGENCE_S)
            except AssertionError as error:
                raise AssertionError(f"{error}: {found}\n{daemon.words()[-2000:]}") from None
            daemon.stop()
        self.verify()
