# SPDX-License-Identifier: Apache-2.0
"""Those who are newly followed, through the real program: nothing they share is lost between the
history that was read and the stream that is heard. And whose word counts when nobody is followed
any more.

  new_follows.py TIDEMARK TIDEMARK_SIM"""

import http.server
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from follows import accounts, act, change, followed, listed, look, wanted  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402
from skeleton import PAST, begin_before_everything, stored_in  # noqa: E402


class EmptyLists:
    """An AppView that knows of nobody."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words):
            pass

        def do_GET(self):
            body = b'{"follows":[],"profiles":[],"feed":[]}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *why):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class NewFollows(BothStores):
    def simulator(self):
        return Simulator(self.sim_program, "--accounts", "60", "--follows", "25", "--events",
                         "100", *PAST, "--gap-us", "1000")

    def daemon(self, home, sim, *more):
        host = f"127.0.0.1:{sim.port}"
        daemon = Daemon(self.program, home,
                        (f"jetstream.endpoint=ws://{host}/subscribe", "jetstream.compress=false",
                         "jetstream.fallback_endpoint=", f"bluesky.appview=http://{host}",
                         f"bluesky.actors=[{accounts(sim)[0]['handle']}]",
                         "backfill.rate_limit_ms=0", "retention.enabled=false", *more))
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

    def test_an_appview_that_lists_nobody_is_not_believed_alone(self):
        """R001-52: the other one, which is asked then, lists them all."""
        def run(home):
            with self.simulator() as sim, EmptyLists() as liar:
                begin_before_everything(home, sim)
                with self.daemon(home, sim) as daemon:
                    first = listed(sim)
                    wait_until(lambda: followed(home) == first, "the first list")
                    daemon.stop()
                before = look(home, "SELECT listing FROM listings")
                views = f"bluesky.appview=[{liar.address}, http://127.0.0.1:{sim.port}]"
                with self.daemon(home, sim, views) as daemon:
                    wait_until(lambda: "not believed unless another AppView" in daemon.words(),
                               "a word of doubt")
                    self.assertEqual(followed(home), first)
                    wait_until(lambda: look(home, "SELECT listing FROM listings") != before,
                               "another list")
                    self.assertEqual(followed(home), first)
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
