# SPDX-License-Identifier: Apache-2.0
"""A client that means harm: whatever it writes, and wherever it writes it, stays text for the
database, the page and the log, on both stores.

  hostile.py TIDEMARK TIDEMARK_SIM"""

import os
import re
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import WAIT_S  # noqa: E402
from documents import Chat, message  # noqa: E402

FORGED = "time=2026-01-01T00:00:00Z level=error msg=forged"
WORDS = (
    "'; DROP TABLE engine; --",
    "\"; DROP TABLE engine; --",
    "x') OR 1=1 --",
    "' UNION SELECT name FROM sqlite_master --",
    "'; SELECT pg_sleep(3600); --",
    "$1 ?1 %s%n :x @y",
    "\\'; DELETE FROM commits; --",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "]]></description><item>",
    f"a line\r\n{FORGED}",
    f"\u2028\x1b[2J\x85{FORGED}",
    "../../../../etc/passwd",
)
ODD_HEADERS = ("User-Agent", "X-Forwarded-For", "If-None-Match", "Accept-Encoding", "Range")


class Hostile(BothStores):
    def ask(self, daemon, method, path, body=None, headers=()):
        status, told, words = daemon.fetch(method, path, body, headers)
        return status, told["Content-Type"] or "", words

    def check_values(self, daemon):
        """Each is stored as it is, and is found by itself and by nothing else."""
        for i, words in enumerate(WORDS):
            daemon.create("chat_messages", message(i, text=words, roomId=words))
        for words in WORDS:
            rows = daemon.walk("chat_messages", filter={"roomId": words})
            self.assertEqual([(row["roomId"], row["text"]) for row in rows], [(words, words)])

    def check_names(self, daemon):
        """In place of a name they are no name."""
        for words in WORDS:
            daemon.data("query-open", 404, collection=words)
            daemon.data("query-open", 400, collection="chat_messages", filter={words: "x"})
            daemon.data("query-open", 400, collection="chat_messages", orderBy=[{"field": words}])
            daemon.data("query-open", 400, collection="chat_messages",
                        filter={"text": {words: "x"}})
            daemon.data("query-next", 404, queryHandle=words)

    def check_requests(self, daemon):
        """In an address or a header they are refused or ignored, and no page repeats them."""
        for words in WORDS:
            quoted = urllib.parse.quote(words, safe="")
            for path in (f"/{quoted}", f"/?q={quoted}&order={quoted}", f"/links/{quoted}",
                         f"/feed.xml?q={quoted}", f"/api/trending?q={quoted}", f"/ipfs/{quoted}",
                         f"/image/{quoted}", f"/status?view={quoted}"):
                status, kind, answer = self.ask(daemon, "GET", path)
                self.assertIn(status, (200, 304, 400, 404), (path, answer[:300]))
                if "html" in kind or "xml" in kind:
                    self.assertNotIn(b"<script>alert", answer, path)
                    self.assertNotIn(b"<img src=x", answer, path)
                    self.assertNotIn(b"]]></description>", answer, path)
        for words in WORDS[:7]:
            status, _, answer = self.ask(daemon, "GET", "/api/trending", None,
                                         [(name, words) for name in ODD_HEADERS])
            self.assertIn(status, (200, 400, 416), answer[:300])
            status, _, answer = self.ask(daemon, "GET", "/api/status", None,
                                         [("Tidemark-Session", words)])
            self.assertEqual(status, 400, answer[:300])

    def check_log(self, daemon):
        """A line begins as the daemon's lines do, and none is a stranger's."""
        for line in daemon.words().splitlines():
            self.assertRegex(line, r"^component=[a-z_]+ ")
            self.assertNotIn("\x1b", line)
        self.assertIsNone(re.search(rf"^{FORGED}", daemon.words(), re.M))

    def test_what_a_client_writes_stays_text(self):
        def run(home):
            with Chat(home) as daemon:
                self.check_values(daemon)
                self.check_names(daemon)
                self.check_requests(daemon)
                self.check_values_stand(daemon)
                self.check_log(daemon)
                daemon.stop()
            done = subprocess.run([self.program, "verify", "--json", "-c", "/dev/null", "--set",
                                   f"store.url={home.url}", "--set",
                                   f"store.data_dir={home.folder}"], capture_output=True,
                                  text=True, timeout=WAIT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.both_stores(run)

    def check_values_stand(self, daemon):
        self.assertEqual({row["text"] for row in daemon.walk("chat_messages")}, set(WORDS))


if __name__ == "__main__":
    main()
