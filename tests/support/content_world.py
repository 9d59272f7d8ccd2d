# SPDX-License-Identifier: Apache-2.0
"""A simulated chain that names documents, its nodes and gateways, a daemon that follows it; and
what is stored, compared with what is true."""

import json
import os
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

from daemon_client import Daemon  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402

EVENTS = {"any": "any", "action": "action", "published": "Published(address,string)"}


class Chain(Simulator):
    """A running simulator of such a chain."""

    def post(self, path, **parameters):
        status, body = self.ask("POST", f"/_sim/content/{path}?"
                                + urllib.parse.urlencode(parameters))
        assert status == 200, body
        return body

    def act(self, what, count=1, empty=0):
        """What the chain is like then: its head and how often it was reorganised."""
        return json.loads(self.post("act", do=what, count=count, empty=empty))

    def manner(self, host, **manner):
        self.post("manner", host=host, **manner)

    def hosts(self):
        return json.loads(self.get("/_sim/content/hosts"))

    def truth(self, what, **parameters):
        return [json.loads(line) for line in lines(self.get(
            "/_sim/content/truth?" + urllib.parse.urlencode(dict(parameters, what=what))))]


class World:
    """A home, a chain and how a daemon is told to follow it."""

    def __init__(self, programs, home, options=(), event="any", depth=4, confirmations=0,
                 start=0, concurrency=20, heads=False):
        self.tidemark, sim = programs
        self.home, self.event, self.depth = home, event, depth
        self.confirmations, self.start = confirmations, start
        self.sim = Chain(sim, *options)
        hosts = self.sim.hosts()
        self.settings = (
            "bluesky.mode=polling", f"content.contract={hosts['contract']}",
            "content.rpc=" + ",".join(node["url"] for node in hosts["nodes"]),
            "content.gateways=" + ",".join(gateway["url"] for gateway in hosts["gateways"]),
            f"content.event={EVENTS[event]}", f"content.reorg_depth={depth}",
            f"content.confirmations={confirmations}", f"content.start_block={start}",
            f"content.concurrency={concurrency}")
        if heads:  # nodes tell of new blocks by themselves
            self.settings += ("content.heads=" + ",".join(
                node["url"].replace("http", "ws") for node in hosts["nodes"]),)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sim.__exit__()

    def daemon(self, crash_at=None):
        environment = {"TIDEMARK_CRASH_AT": crash_at} if crash_at else {}
        return Daemon(self.tidemark, self.home, self.settings, environment)

    def requests(self):
        """How often anybody was asked anything so far."""
        hosts = self.sim.hosts()
        return sum(host["requests"] for host in hosts["nodes"] + hosts["gateways"])

    # ---- what is stored ----

    def place(self):
        """(number, hash) of the position, or None."""
        rows = self.home.select("SELECT block_number, cursor FROM meta WHERE id = 'content'")
        if not rows:
            return None
        cursor = json.loads(rows[0]["cursor"])
        return rows[0]["block_number"], cursor.get("metadata", {}).get("custom", {}).get("hash")

    def documents(self):
        """uri -> (canonical, state, sha256)."""
        digest = "sha256hex(data)" if self.home.kind == "sqlite" else "encode(sha256(data), 'hex')"
        rows = self.home.select(
            f"SELECT c.uri, c.canonical, {digest} AS sha256, o.state, c.is_errored"
            " FROM ipfs_cache c LEFT JOIN owed o ON o.source = 'content' AND o.item = c.uri")
        return {row["uri"]: (row["canonical"],
                             row["state"] if row["is_errored"] else "stored", row["sha256"])
                for row in rows}

    def holes(self):
        """References below the position whose document is neither stored nor owed nor dead."""
        place = self.place()
        documents = self.documents()
        known = {canonical for canonical, state, _ in documents.values() if state}
        return [] if place is None else [
            row for row in self.home.select(
                f"SELECT block_number, uri FROM document_refs WHERE block_number <= {place[0]}")
            if row["uri"] not in documents or documents[row["uri"]][0] not in known]

    # ---- what is wrong with it ----

    def wrong_documents(self, named):
        """`named`: addresses that have to be there; those of orphaned blocks may be."""
        truth = {row["uri"]: row for row in self.sim.truth("documents")}
        may = named | {row["uri"] for row in self.sim.truth("orphaned", event=self.event)}
        have = self.documents()
        wrong = [("missing", uri) for uri in named - have.keys()]
        wrong += [("never named", uri) for uri in have.keys() - may]
        states = {}
        for uri, (canonical, state, sha256) in have.items():
            states.setdefault(canonical, set()).add(state)
            if uri in truth and state == "stored" and sha256 != truth[uri]["sha256"]:
                wrong.append(("other bytes", uri))
            if uri in truth and canonical != truth[uri]["canonical"]:
                wrong.append(("canonical", uri, canonical))
        # Every spelling of what is stored has it; of what is not, one carries the debt.
        for uri in have.keys() & truth.keys():
            found, right = states[have[uri][0]], truth[uri]["state"]
            if found != {right} and (right == "stored" or found - {None} != {right}):
                wrong.append(("state", uri, sorted(map(str, found)), right))
        debts = {row["item"] for row in self.home.select(
            "SELECT item FROM owed WHERE source = 'content'")}
        return wrong + [("debt without a row", uri) for uri in debts - have.keys()]

    def wrong_blocks(self, target, counts):
        """`counts`: how many documents blocks name, those that name any."""
        have = {row["number"]: row for row in self.home.select(
            "SELECT number, hash, parent, documents FROM chain_blocks")}
        truth = {row["block"]: row for row in self.sim.truth(
            "blocks", **{"from": max(self.start, min(have, default=0)), "to": target})}
        wrong = [("block missing", number) for number in counts.keys() - have.keys()]
        wrong += [("block of another chain", number) for number in have.keys() - truth.keys()]
        for number in have.keys() & truth.keys():
            row = have[number]
            if (row["hash"] and (row["hash"], row["parent"]) !=
                    (truth[number]["hash"], truth[number]["parent"])):
                wrong.append(("hash", number, row["hash"], truth[number]["hash"]))
            if row["documents"] != counts.get(number, 0):
                wrong.append(("count", number, row["documents"], counts.get(number, 0)))
        near = range(max(self.start, target - self.depth + 1), target + 1)
        return wrong + [("no hash", number) for number in near
                        if number not in have or not have[number]["hash"]]

    def difference(self):
        """[] when all that is stored is what is true of the chain now."""
        target = self.sim.truth("head")[0]["head"] - self.confirmations
        place = self.place()
        if target < self.start:
            return [] if place is None else [("position", place, None)]
        if place is None or place[0] != target:
            return [("position", place, target)]
        wrong = []
        right, = self.sim.truth("blocks", **{"from": target, "to": target})
        if place[1] != right["hash"]:
            wrong.append(("position's hash", place[1], right["hash"]))
        truth = self.sim.truth("references", event=self.event,
                               **{"from": self.start, "to": target})
        have = self.home.select("SELECT block_number AS block, ordinal, uri, space"
                                " FROM document_refs ORDER BY 1, 2")
        if have != truth:
            lost = [row for row in truth if row not in have]
            more = [row for row in have if row not in truth]
            wrong.append(("references", len(have), len(truth), lost[:2], more[:2]))
        counts = {}
        for row in truth:
            counts[row["block"]] = counts.get(row["block"], 0) + 1
        return (wrong + self.wrong_blocks(target, counts)
                + self.wrong_documents({row["uri"] for row in truth}))
