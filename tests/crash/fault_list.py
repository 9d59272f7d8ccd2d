# SPDX-License-Identifier: Apache-2.0
"""Every misfortune of the fault matrix: what is armed, where it may happen, what it may leave."""

DICTIONARY = "network.bsky.jetstream.getZstdDictionary"


class Fault:
    def __init__(self, name, plan, wires=("v1", "v2"), lossy=False, quarantine=False,
                 compress=None, label=None, after=(10, 150), victim="stream", final=False):
        self.name, self.plan, self.wires, self.lossy = name, plan, wires, lossy
        self.quarantine, self.compress, self.after = quarantine, compress, after
        self.victim = victim  # what fails: the stream, the appview or a page
        self.final = final    # a page that met it is not asked again
        self.label = label or name


def refusal(status, more=""):
    return Fault("refuse", f"status={status}{more or '&count=2'}", label=f"refuse-{status}",
                 after=(0, 0))


def appview(name, plan, label):
    return Fault(name, plan, ("v1", "v2", "polling"), label=label, after=(0, 0), victim="appview")


def page(name, plan, label, final=False, after=(0, 12)):
    return Fault(name, plan, label=label, after=after, victim="page", final=final)


FAULTS = [
    Fault("reset", ""), Fault("disconnect", ""), Fault("cut", ""), Fault("close", ""),
    Fault("too_slow", "", wires=("v2",)), Fault("stall", "ms=1200"), Fault("slow", "ms=400"),
    Fault("duplicate", "count=50", after=(0, 5)), Fault("reorder", "count=20", after=(0, 9)),
    Fault("drop", "count=3", lossy=True), Fault("cutover", "", lossy=True, after=(0, 0)),
    Fault("omit", "collection=app.bsky.feed.repost", lossy=True, after=(0, 20)),  # reposts
    Fault("garbage", "count=3", quarantine=True), Fault("truncate", "count=3", quarantine=True),
    Fault("truncate", "lossy=1", lossy=True, quarantine=True, label="truncate-lossy"),
    Fault("huge", "bytes=5000000"), Fault("wrong_dictionary", "", compress=True),
    Fault("http", f"collection={DICTIONARY}&status=500", ("v2",), compress=True, after=(0, 0),
          label="dictionary-500"),
    Fault("http", f"collection={DICTIONARY}&status=200", ("v2",), compress=True, after=(0, 0),
          label="dictionary-html"),
    Fault("http_truncate", f"collection={DICTIONARY}", ("v2",), compress=True, after=(0, 0),
          label="dictionary-truncated"),
    Fault("skew", "us=-2500000", label="skew"), Fault("tls", "count=2", after=(0, 0)),
    Fault("tls", "status=1&count=2", after=(0, 0), label="tls-stranger"),
    *(refusal(status) for status in (0, 200, 400, 403, 404, 410, 500, 502, 503)),
    refusal(429, "&retry_after=1"), refusal(401, "&count=1"),
    *(appview("http", f"status={status}", f"appview-{status}")
      for status in (0, 200, 400, 401, 403, 404, 410, 500, 502, 503)),
    appview("http", "status=429&retry_after=1", "appview-429"),
    appview("http_truncate", "", "appview-truncated"),
    appview("http_stall", "ms=700", "appview-stall"),
    *(page("web", f"status={status}", f"page-{status}", final=True) for status in (404, 410)),
    *(page("web", f"status={status}", f"page-{status}") for status in (0, 500, 502, 503)),
    page("web", "status=429&retry_after=1", "page-429"),
    page("web_garbage", "", "page-garbage", final=True),
    page("web_huge", "", "page-huge", final=True),
    page("web_stall", "ms=700", "page-stall"),
    page("web_slow", "bytes=4&ms=700", "page-slow"),
    page("tls", "", "page-tls", after=(0, 0)),
    page("tls", "status=1", "page-tls-stranger", final=True, after=(0, 0)),
]
