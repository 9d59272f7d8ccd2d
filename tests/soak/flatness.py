# SPDX-License-Identifier: Apache-2.0
"""Does a figure stay where it is, however much is taken in? Samples are compared by how many events
had been taken in, not by the clock: on a slow machine there are fewer of them, nothing else."""

import statistics

MIB = 1 << 20
WARM_UP_EVENTS = 20000  # of a life, before anything is compared
THIRD_MIN = 5           # samples in a third; fewer tell nothing

# What the product's own construction lets a figure gain once it is warm, and what it may have in
# any case; the rest is what a median of samples may be off.
RING = 16 * MIB       # of raw frames: fills when the store is slow, perhaps for the first time late
PAGE_CACHE = 8 * MIB  # of the writer; pages of the store come and go in it
# The writer moves the log of SQLite (4120 bytes a page) at 15,000 pages and waits for the product's
# readers then. The soak's own have no limit: meeting one it comes back at 22,500 pages, and one
# commit is added before it looks. A server keeps max_wal_size, which the soak sets to 64 MiB, and
# has a segment of 16 MiB that is written and the next one.
LOG_MOST = {"sqlite": 22500 * 4120 + 4 * MIB, "postgres": (64 + 2 * 16) * MIB}

# Some 430 posts come in a second and stay for a minute; a look meets them before the clean-up of
# each minute or after it, and on a busy machine that comes a minute late. The events of the first
# two minutes, when nothing leaves yet, may be two thirds of all when wires were cut and read again.
POSTS_MOST = 3 * 60 * 430


def bound(name, store):
    """(factor, addend, free): the last third may have that much more than the middle one, and so
    much in any case."""
    return {
        "rss": (1.15, RING + PAGE_CACHE, 0),
        "descriptors": (1.0, 8, 0),  # connections of whoever asks at that moment
        "wal": (1.5, 0, LOG_MOST[store]),
        "posts": (1.5, 0, POSTS_MOST),
        # Rows are counted: what is not there for a post of the present was left behind. What chance
        # does is 2 %, and 5 % on a busy machine, where the clean-up comes late; a tenth of all rows
        # left behind each minute is 13 % in a soak of five.
        "rows_per_post": (1.12, 0, 0),
        # Pages are not all equally full: SQLite's differ by 4 %, a server's by a third on
        # a busy machine, where its vacuum comes late.
        "bytes_per_post": ({"sqlite": 1.12, "postgres": 1.4}[store], 0, 0),
    }[name]


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


def verdict(samples, name, store):
    """None: too few samples; else {name, middle, last, most, flat}."""
    parts = thirds(samples, name)
    if parts is None:
        return None
    middle, last = map(statistics.median, parts)
    factor, addend, free = bound(name, store)
    most = max(middle * factor + addend, free)
    return {"name": name, "middle": middle, "last": last, "most": most, "flat": last <= most}


def lives_of(samples):
    """The samples of each life of the daemon."""
    lives = {}
    for sample in samples:
        lives.setdefault(sample["life"], []).append(sample)
    return list(lives.values())


def verdicts(samples, store):
    """What a process holds is judged life by life, what lies on disk over all of them."""
    found = [verdict(life, name, store) for life in lives_of(samples)
             for name in ("rss", "descriptors")]
    found += [verdict(samples, name, store)
              for name in ("wal", "posts", "rows_per_post", "bytes_per_post")]
    return [each for each in found if each is not None]
