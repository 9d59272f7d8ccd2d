# SPDX-License-Identifier: Apache-2.0
"""Histories through the real program: the queue, its order and pace, resuming, gaps that close and
what is found gone in them, on both stores.

  backfill.py TIDEMARK TIDEMARK_SIM"""

import os
import sys


HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from fake_appview import FakeAppView, now_us  # noqa: E402
from feed_bench import FeedBench, HOUR, MINUTE, main, queue_sql  # noqa: E402


class Backfill(FeedBench):
    def test_a_cold_start_asks_for_no_page_more_than_it_needs(self):
        """R000-04 R000-08 R001-54 R001-61 R001-103"""
        def run(home):
            with FakeAppView() as view:
                self.migrate(home)
                for i in range(30):
                    account, now = view.account(), now_us()
                    for k in range([0, 3, 49, 50, 51, 120][i % 6]):
                        account.post(now - (k + 1) * MINUTE)
                    for k in range(60):
                        account.post(now - 25 * HOUR - k * MINUTE)
                self.follow(home, view)
                self.run_sql(home, queue_sql(view, 2, now_us() - 24 * HOUR))
                with self.daemon(home, view) as daemon:
                    self.wait_for_queue(daemon, 0)
                    # 0, 3 and 49 end on the first page, 50 and 51 on the second, 120 on the third.
                    needed = {0: 1, 3: 1, 49: 2, 50: 2, 51: 2, 120: 3}
                    for i, did in enumerate(view.accounts):
                        requests = view.asked(did=did)
                        self.assertEqual(len(requests), needed[[0, 3, 49, 50, 51, 120][i % 6]],
                                         view.accounts[did].handle)
                        self.assertNotIn("cursor", requests[0]["params"])
                        self.assertEqual(requests[0]["params"]["limit"], ["50"])
                    self.assert_stored(daemon, view, since=now_us() - 24 * HOUR)
                    daemon.stop()
                self.assertEqual(self.select(home, "SELECT count(*) FROM follows "
                                                   "WHERE NOT backfill_completed"), "0")
        self.both_stores(run)


if __name__ == "__main__":
    main(Backfill)
