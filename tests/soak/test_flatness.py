# SPDX-License-Identifier: Apache-2.0
"""The judge of the soak, with leaks planted into its samples: it finds them, however fast or slowly
they came, and accuses nobody who only warms up."""

import os
import sys
import unittest

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from flatness import MIB, verdicts  # noqa: E402


def samples(events_each=2400, count=300, lives=1, **figures):
    """A record; a figure is a function of the events taken in this life."""
    found = []
    for second in range(count):
        life = second * lives // count
        in_life = (second - life * count // lives) * events_each
        sample = {"second": second, "life": life, "taken": second * events_each, "rss": 40 * MIB,
                  "descriptors": 40, "wal": 40 * MIB, "posts": 45000,
                  "rows_per_post": 1.2, "bytes_per_post": 900.0}
        sample.update({name: figure(in_life) for name, figure in figures.items()})
        found.append(sample)
    return found


def accused(record, store="sqlite"):
    return sorted({each["name"] for each in verdicts(record, store) if not each["flat"]})


class Flatness(unittest.TestCase):
    def test_what_stays_is_flat_and_was_judged(self):
        self.assertEqual(accused(samples()), [])
        self.assertEqual(len(verdicts(samples(lives=3), "sqlite")), 3 * 2 + 4)

    def test_memory_lost_with_every_event_is_found_in_each_life(self):
        leak = samples(lives=2, count=800, rss=lambda taken: 40 * MIB + 300 * taken)
        self.assertEqual(accused(leak), ["rss"])
        self.assertEqual(sum(not each["flat"] for each in verdicts(leak, "sqlite")), 2)

    def test_a_slow_machine_is_judged_by_events_too(self):
        leak = samples(events_each=240, count=3000, rss=lambda taken: 40 * MIB + 300 * taken)
        self.assertEqual(accused(leak), ["rss"])

    def test_lost_descriptors_are_found(self):
        self.assertEqual(accused(samples(descriptors=lambda taken: 40 + taken // 10000)),
                         ["descriptors"])

    def test_a_log_that_is_never_moved_is_found(self):
        for store in ("sqlite", "postgres"):
            self.assertEqual(accused(samples(wal=lambda taken: 600 * taken), store), ["wal"])

    def test_a_log_beyond_what_its_store_keeps_is_found_when_it_grew(self):
        grown = samples(wal=lambda taken: (50 if taken < 400000 else 100) * MIB)
        self.assertEqual(accused(grown, "sqlite"), ["wal"])
        self.assertEqual(accused(grown, "postgres"), ["wal"])

    def test_forgetting_more_slowly_than_posts_come_is_found(self):
        piling_up = samples(count=1800, posts=lambda taken: 35000 + taken // 15)
        self.assertEqual(accused(piling_up, "postgres"), ["posts"])
        cleaned = samples(posts=lambda taken: 30000 + taken // 8 % 30000)
        self.assertEqual(accused(cleaned), [])

    def test_posts_that_only_begin_to_be_are_not_piling_up(self):
        filling = samples(posts=lambda taken: 25000 if taken < 480000 else 45000)
        self.assertEqual(accused(filling), [])

    def test_a_store_that_grows_although_it_forgets_is_found(self):
        self.assertEqual(accused(samples(bytes_per_post=lambda taken: 200 + taken / 100)),
                         ["bytes_per_post"])

    def test_a_tenth_of_the_rows_left_behind_each_minute_is_found_in_five(self):
        # Ten samples to a look into the store, as the soak does it.
        def leaking(first):
            record = samples()
            for second, sample in enumerate(record):
                sample["rows_per_post"] = sample["bytes_per_post"] = None
                if second % 10 == 0:
                    left = 1 + 0.1 * second / 60
                    sample.update(rows_per_post=1.2 * left, bytes_per_post=first * left)
            return record
        self.assertEqual(accused(leaking(400.0)), ["bytes_per_post", "rows_per_post"])
        self.assertEqual(accused(leaking(750.0), "postgres"), ["rows_per_post"])

    def test_what_chance_does_to_rows_and_pages_is_no_leak(self):
        record = samples(rows_per_post=lambda taken: 1.2 + 0.02 * (taken // 2400 % 3),
                         bytes_per_post=lambda taken: 400.0 + 15 * (taken // 2400 % 3))
        self.assertEqual(accused(record), [])

    def test_warming_up_is_no_leak(self):
        warm = samples(rss=lambda taken: 40 * MIB + min(taken, 30000) * 1000)
        self.assertEqual(accused(warm), [])

    def test_too_short_a_life_is_not_judged(self):
        self.assertEqual(verdicts(samples(count=8), "sqlite"), [])


if __name__ == "__main__":
    unittest.main()
