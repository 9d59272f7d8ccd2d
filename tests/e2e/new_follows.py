# SPDX-License-Identifier: Apache-2.0
"""Those who are newly followed, through the real program: nothing they share is lost between the
history that was read and the stream that is heard.

  new_follows.py TIDEMARK TIDEMARK_SIM"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from follows import accounts, act, change, followed, listed, look, wanted  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from skeleton import PAST, begin_before_everything, stored_in  # noqa: E402


class NewFollows(BothStores):
    def simulator(self):
        return Simulator(self.sim_program, "--accounts", "60", "--follows", "25", "--events",
                         "100", *PAST, "--gap-us", "1000")

    def daemon(self, home, sim):
        host = f"127.0.0.1:{sim.port}"
        daemon = Daemon(self.program, home,
                        (f"jetstream.endpoint=ws://{host}/subscribe", "jetstream.compress=false",
                         "jetstream.fallback_endpoint=", f"bluesky.appview=http://{host}",
                         f"bluesky.actors=[{accounts(sim)[0]['handle']}]",
                         "backfill.rate_limit_ms=0", "retention.enabled=false"))
        daemon.wait_for(lambda health: True, "a word")
        return daemon

    def readings(self, sim, did):
        """How often the feed of an account was asked for."""
        path = "/_sim/requests?path=/xrpc/app.bsky.feed.getAuthorFeed"
        return sum(did in line for line in lines(sim.get(path)))

    def test_a_history_is_read_only_once_what_follows_it_is_heard(self):
        """The store knows of a follow at once, the stream's filter only after that was read."""
        def run(home):
            with self.simulator() as sim:
                begin_before_everything(home, sim)
                with self.daemon(home, sim) as daemon:
                    first = listed(sim)
                    wait_until(lambda: followed(home) == first and wanted(sim) == first and
                               not look(home, "SELECT 1 FROM backfill_queue"), "the first list")
                    new = next(a["did"] for a in accounts(sim)[1:] if a["status"] == "active" and
                               a["did"] not in first)
                    change(home, "INSERT INTO circle (did, degree, sources) "
                                 f"VALUES ('{new}', 1, 1)")
                    # Nobody is told; the queue finds it by itself.
                    change(home, "INSERT INTO backfill_queue (actor_did, priority, since_us, "
                                 "reason, next_us, queued_us, asked_us) "
                                 f"VALUES ('{new}', 1, 0, 'newly followed', 1, 1, 1)")
                    wait_until(lambda: self.readings(sim, new) > 0, "the history")
                    self.assertIn(new, wanted(sim))
                    last = act(sim, f"post&did={new}")["uri"]
                    wait_until(lambda: last in stored_in(daemon), "what is shared after it")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
