# SPDX-License-Identifier: Apache-2.0
"""A simulated chain, the providers that show it, and `tidemark import` of one of its accounts; and
what is stored, compared with what is true."""

import collections
import glob
import os
import re
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

from import_run import ImportRun  # noqa: E402
from ledger_client import Ledger  # noqa: E402

CONNECTORS = os.path.join(HERE, "..", "..", "connectors")
EVM_STREAMS = ("normal", "internal", "token", "beacon")
# Who shows a platform that the simulator has a chain for.
SHOWN_BY = {
    "ethereum": ("etherscan", "routescan", "blockscout", "moralis", "alchemy"),
    "bitcoin": ("blockstream", "mempool", "blockchaincom", "blockcypher", "tatum"),
    "solana": ("solana", "helius"),
    "polkadot": ("subscan",),
    "cardano": ("blockfrost",),
    "cosmoshub": ("cosmos",),
    "xrp": ("xrpl",),
    "near": ("nearblocks",),
    "kraken": ("kraken",),
    "coinbase": ("coinbase",),
}
# What a row has to say about itself, by platform; the others know a transaction by its name and its
# place, exchanges by its name alone.
FIELDS = {"ethereum": ("hash", "kind", "from", "to", "asset", "amount", "block", "status"),
          "kraken": ("hash",), "coinbase": ("hash",), "madeup": ("hash",)}
PLACED = ("hash", "block", "status")
SINGLE = ("kraken", "coinbase", "madeup")  # platforms with one account
MUTE = {"alchemy", "blockfrost"}  # do not say what failed
# Pages of these have their size from the provider, or it takes a whole block.
FIXED_SIZE = ("blockstream", "mempool", "blockcypher", "kraken", "coinbase", "github")


def shipped(provider):
    """The connector that comes with the program."""
    found = glob.glob(os.path.join(CONNECTORS, "*", provider + ".yaml"))
    assert len(found) == 1, f"connectors of {provider}: {found}"
    with open(found[0], encoding="utf-8") as file:
        return file.read()


class World(ImportRun):
    """A home, a simulator and a configuration. `sizes` gives providers another page size; `window`
    is how far numbered pages reach, `rate` how often a provider may be asked."""

    def __init__(self, programs, home, providers, platform="ethereum", number=0, sizes=(),
                 window=10000, options=(), rate="{per_second: 1000, burst: 1000, concurrency: 4}"):
        program, sim = programs
        super().__init__(program, home)
        self.platform, self.providers, self.rate = platform, tuple(providers), rate
        self.sim = Ledger(sim, "--chain-window", str(window), *options)
        own = self.sim.accounts()[number]
        self.account = platform if platform in SINGLE else f"{platform}:{own[platform]}"
        self.write_connectors(dict(sizes), window)
        self.write_configuration()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sim.__exit__()

    def write_connectors(self, sizes, window):
        """The shipped ones without their patience, so that a test does not wait for it."""
        self.folder = os.path.join(self.home.folder, "connectors")
        os.makedirs(self.folder, exist_ok=True)
        for provider in self.providers:
            text = shipped(provider)
            text = re.sub(r"^rate:.*$", f"rate: {self.rate}", text, flags=re.M)
            if provider in sizes and provider not in FIXED_SIZE:
                text = re.sub(r"\bsize: \d+", f"size: {sizes[provider]}", text)
                text = text.replace('"0x3e8"', f'"{sizes[provider]:#x}"')
            text = re.sub(r"window_max: \d+", f"window_max: {window}", text)
            with open(os.path.join(self.folder, provider + ".yaml"), "w",
                      encoding="utf-8") as file:
                file.write(text)

    def write_configuration(self):
        keys = self.sim.keys()
        lines = ["store:", f"  url: {self.home.url}", f"  data_dir: {self.home.folder}",
                 "ledger:", f"  connectors: {self.folder}", "providers:"]
        for place, provider in enumerate(self.providers):
            key = keys.get(provider, {"key": "k", "secret": None})
            lines += [f"  {provider}:", f"    base_url: {self.sim.address}/{provider}",
                      f"    api_key: {key['key']}", f"    priority: {place + 1}"]
            if key["secret"]:  # one of several lines is written as exchanges hand it out
                folded = key["secret"].replace("\n", "\\n")
                lines.append(f"    api_secret: '{folded}'")
        self.configure(lines)

    def streams(self):
        """The streams of the truth."""
        if self.platform == "ethereum":
            return EVM_STREAMS if "etherscan" in self.providers else EVM_STREAMS[:3]
        return ("normal",)

    def stored(self):
        rows = super().stored()
        if self.platform in ("xrp", "cosmoshub"):  # capital letters, as they came or not
            for row in rows:
                row["hash"] = row["hash"].upper()
        return rows

    def key(self, row):
        """What two rows are compared by; nothing and an empty text are the same. Some do not say
        what failed."""
        values = dict(row)
        if row["status"] == "failed" and MUTE & set(self.providers):
            values["status"] = "confirmed"
        return tuple(values.get(field) if field == "block" else values.get(field) or ""
                     for field in FIELDS.get(self.platform, PLACED))

    def true_rows(self, stream, orphaned=0):
        truth = self.sim.truth(self.account, stream, orphaned)
        if self.platform == "solana":  # a transaction is one, whatever it moved
            truth += self.sim.truth(self.account, "token", orphaned)
            truth = list({row["hash"]: row for row in truth}.values())
        for row in truth:
            if stream == "beacon":
                row["hash"] = str(row["index"])
            elif self.platform == "kraken":  # the row is known by what its entry refers to
                row["hash"] = "R" + row["hash"][1:]
        return truth

    def difference(self):
        """{} when what is stored is what is true: every row once, what is gone is marked."""
        wrong, stored = {}, self.stored()
        for stream in self.streams():
            rows = [row for row in stored
                    if self.platform != "ethereum" or row["stream"] == stream]
            gone = {row["hash"] for row in self.true_rows(stream, orphaned=1)}
            truth = self.true_rows(stream)
            lost = gone - {row["hash"] for row in truth}
            have = collections.Counter(
                self.key(row) for row in rows if row["status"] != "orphaned"
                and not (row["hash"] in lost and self.is_untold(row, truth)))
            want = collections.Counter(self.key(row) for row in truth)
            for name, found in (("missing", want - have), ("too many", have - want)):
                if found:
                    wrong[f"{stream} {name}"] = list(found.items())[:3] + [sum(found.values())]
            strange = [row for row in rows
                       if row["status"] == "orphaned" and row["hash"] not in gone]
            if strange:
                wrong[f"{stream} orphaned"] = strange[:3]
        return wrong

    def is_untold(self, row, truth):
        """No provider tells of a row that left the mempool and is in no block; and the only one,
        without a count and a head, may just be late with what is newer than all it shows."""
        late = self.providers in (("moralis",), ("routescan",), ("blockscout",))
        newest = max((other["block"] or 0 for other in truth), default=0)
        return row["status"] == "pending" or (late and row["block"] > newest)

    def requests(self, provider=None):
        """Requests so far as dictionaries of their parameters, with `provider` and `status`."""
        found = []
        for name in (provider,) if provider else self.providers:
            for line in self.sim.requests(f"/{name}/"):
                parameters = dict(urllib.parse.parse_qsl(line["query"]))
                found.append(dict(parameters, provider=name, http_status=line["status"],
                                  path=line["path"], body=line.get("body"), at_us=line["at_us"]))
        return sorted(found, key=lambda request: request["at_us"])
