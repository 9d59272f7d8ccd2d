# SPDX-License-Identifier: Apache-2.0
"""Does a figure stay where it is, however much is taken in? Samples are compared by how many events
had been taken in, not by the clock: on a slow machine there are fewer of them, nothing else."""

import statistics

MIB = 1 << 20
WARM_UP_EVENTS = 20000  # of a life, before anything is compared
THIRD_MIN = 5           # samples in a third; fewer tell nothing

# name -> (factor, addend, free): what the last third may have more than the middle one, and what
# it may have in any case. A ring of raw frames that fills for the first time is 16 MiB, a page
# cache has its own bound; a log is moved at 40 to 60 MiB (SQLite) or from 64 MiB on (PostgreSQL).
BOUNDS = {
    "rss": (1.15, 24 * MIB, 0),
    "descriptors": (1.0, 8, 0),
    "wal": (1.5, 0, 112 * MIB),
    "bytes_per_post": (1.5, 0, 0),
}


def thirds(samples, name):
    """The values of the middle and of the last third, by events; None when there are too few."""
    known = [sample for sample in samples if sample.get(name) is not None]
    known = [sample for sample in known
             if sample["taken"] - samples[0]["taken"] >= WARM_UP_EVENTS]
    if not known:
        return None
    begin, end = known[0]["taken"], known[-1]["taken"]
    parts = [[], [], []]
    for sample in known:
        part = 3 * (sample["taken"] - begin) // max(1, end - begin)
        parts[min(2, part)].append(sample[name])
    return parts[1:] if min(map(len, parts)) >= THIRD_MIN else None


def verdict(samples, name):
    """None: too few samples; else {name, middle, last, most, flat}."""
    parts = thirds(samples, name)
    if parts is None:
        return None
    middle, last = map(statistics.median, parts)
    factor, addend, free = BOUNDS[name]
    most = max(middle * factor + addend, free)
    return {"name": name, "middle": middle, "last": last, "most": most, "flat": last <= most}


def lives_of(samples):
    """The samples of each life of the daemon."""
    lives = {}
    for sample in samples:
        lives.setdefault(sample["life"], []).append(sample)
    return list(lives.values())


def verdicts(samples):
    """What a process holds is judged life by life, what lies on disk over all of them."""
    found = [verdict(life, name) for life in lives_of(samples) for name in ("rss", "descriptors")]
    found += [verdict(samples, name) for name in ("wal", "bytes_per_post")]
    return [each for each in found if each is not None]
