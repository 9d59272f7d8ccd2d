# SPDX-License-Identifier: Apache-2.0
"""The web pages, the shortener and the sessions of tidemark-sim, good and bad."""

import base64
import gzip
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import time
import unittest

from sim_client import Simulator, lines

PROGRAM = sys.argv.pop(1)
PASSWORD = "tide-mark-sim1-pass"
PROFILE = "/xrpc/app.bsky.actor.getProfile?actor="


class Case(unittest.TestCase):
    def simulator(self, *options):
        sim = Simulator(PROGRAM, "--events", "10", *options)
        self.addCleanup(sim.__exit__)
        return sim

    def ask(self, sim, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", sim.port, timeout=60)
        connection.request(method, path, body,
                           {key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        try:
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


class Pages(Case):
    def setUp(self):
        self.sim = self.simulator("--slow-page-ms", "300")
        self.base = f"http://127.0.0.1:{self.sim.port}"

    def page(self, kind, **headers):
        return self.ask(self.sim, "GET", f"/web/{kind}/5", **headers)

    def test_a_good_page_has_a_card_and_says_html(self):
        status, headers, body = self.page("plain")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        for words in ("<title>Page 5 of plain</title>", 'property="og:title"',
                      'content="About 5 &amp; &lt;plain>"', f'content="{self.base}/web/image/5"'):
            self.assertIn(words, body.decode())

    def test_pages_name_the_article_they_are(self):
        self.assertIn(f'rel="canonical" href="{self.base}/web/plain/5"',
                      self.page("canonical")[2].decode())
        self.assertIn(f'property="og:url" content="{self.base}/web/plain/5"',
                      self.page("ogurl")[2].decode())
        self.assertIn("paper1.example", self.page("foreign")[2].decode())
        self.assertNotIn("og:", self.page("twitter")[2].decode())
        self.assertNotIn("<meta", self.page("title")[2].decode())

    def test_characters_come_in_the_encoding_that_is_said(self):
        for kind, encoding in (("latin1", "latin-1"), ("metalatin1", "latin-1"),
                               ("utf16", "utf-16")):
            self.assertIn(f"Page 5 of {kind} café", self.page(kind)[2].decode(encoding))

    def test_bodies_are_packed_cut_huge_or_of_another_kind(self):
        _, headers, body = self.page("gzip", Accept_Encoding="gzip")
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertIn(b"Page 5 of gzip", gzip.decompress(body))
        self.assertIn(b"Page 5 of gzip", self.page("gzip")[2])
        bomb = self.page("bomb")[2]
        self.assertLess(len(bomb), 200000)
        self.assertGreater(len(gzip.decompress(bomb)), 16000000)
        self.assertIn(b"Page 5 of chunked", self.page("chunked")[2])
        self.assertEqual(self.page("pdf")[1]["Content-Type"], "application/pdf")
        self.assertIsNone(self.page("notype")[1]["Content-Type"])
        self.assertTrue(self.page("picture")[2].startswith(b"\x89PNG"))
        huge, late = self.page("huge")[2], self.page("latecard")[2]
        self.assertGreater(min(len(huge), len(late)), 4000000)
        self.assertLess(huge.index(b"og:title"), 1000)
        self.assertGreater(late.index(b"og:title"), 4000000)
        self.assertRaises(http.client.IncompleteRead, self.page, "cut")
        self.assertIn(b"http://10.0.0.1/web/image/5", self.page("private")[2])

    def test_redirects_lead_on_in_circles_and_inward(self):
        for path, status, location in (("/web/loop/5", 302, "/web/loop/5"),
                                       ("/web/inward/5", 302, "http://127.0.0.9:9/inside"),
                                       ("/s/plain/5", 301, self.base + "/web/plain/5")):
            answer = self.ask(self.sim, "GET", path)
            self.assertEqual((answer[0], answer[1]["Location"]), (status, location))
        path, hops = "/web/chain/5", 0
        while not path.startswith("http"):
            path = self.ask(self.sim, "GET", path)[1]["Location"]
            hops += 1
        self.assertEqual((path, hops), (self.base + "/web/plain/5", 12))

    def test_statuses_and_planned_ones(self):
        for status in (404, 410, 429, 500, 503):
            self.assertEqual(self.page(f"status{status}")[0], status)
        self.assertEqual(self.page("status429")[1]["Retry-After"], "1")
        self.assertEqual(self.page("unheard-of")[0], 404)
        self.sim.arm("name=web&status=503&retry_after=4&collection=plain&count=1")
        self.assertEqual(self.page("title")[0], 200)
        answer = self.page("plain")
        self.assertEqual((answer[0], answer[1]["Retry-After"]), (503, "4"))
        self.assertEqual(self.page("plain")[0], 200)
        self.sim.arm("name=web&status=0")
        self.assertRaises((ConnectionError, http.client.HTTPException), self.page, "plain")
        self.assertEqual(self.sim.fired("web"), 2)

    def test_planned_misfortunes_of_the_pages_themselves(self):
        good = self.page("plain")[2]
        self.sim.arm("name=web_garbage")
        status, headers, body = self.page("plain")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertRaises(UnicodeDecodeError, body.decode)
        self.sim.arm("name=web_huge&bytes=3000000")
        self.assertEqual(self.page("plain")[2], b" " * 3000000)
        for plan in ("name=web_stall&ms=200", "name=web_slow&bytes=1&ms=200"):
            begin = time.monotonic()
            self.sim.arm(plan)
            self.assertEqual(self.page("plain")[2], good)
            self.assertGreater(time.monotonic() - begin, 0.15)
        self.assertEqual([self.sim.fired("web_" + name)
                          for name in ("garbage", "huge", "stall", "slow")], [1] * 4)

    def test_slow_pages_come_whole_in_the_end(self):
        for kind in ("slow", "silent"):
            begin = time.monotonic()
            self.assertIn(f"Page 5 of {kind}".encode(), self.page(kind)[2])
            self.assertGreater(time.monotonic() - begin, 0.2)

    def test_requests_are_remembered_with_their_times(self):
        self.page("plain")
        self.ask(self.sim, "GET", "/s/plain/7?a=1")
        told = [json.loads(line) for line in lines(self.sim.get("/_sim/requests"))]
        self.assertEqual([(r["path"], r["query"], r["status"]) for r in told],
                         [("/web/plain/5", "", 200), ("/s/plain/7", "a=1", 301)])
        self.assertLess(told[0]["at_us"], told[1]["at_us"])
        self.assertEqual(len(lines(self.sim.get("/_sim/requests?path=/s/"))), 1)


class Press(Case):
    def test_an_article_says_the_same_wherever_it_lies_and_in_every_run(self):
        """Its headline is the one of its paper, which has a name that stays on this machine."""
        def words(sim, kind):
            body = self.ask(sim, "GET", f"/web/{kind}/3")[2].decode()
            title = re.search("<title>([^<]+)</title>", body).group(1)
            self.assertIn(f"<h1>{title}</h1>", body)
            return title
        first, again = (self.simulator("--press", "--web-links", "100") for _ in range(2))
        other = self.simulator("--press", "--web-links", "100", "--seed", "2")
        self.assertEqual(words(first, "plain"), words(first, "canonical"))
        self.assertEqual(words(first, "plain"), words(again, "plain"))
        self.assertNotEqual(words(first, "plain"), words(first, "twitter"))
        self.assertNotEqual(words(first, "plain"), words(other, "plain"))
        link = json.loads(first.get("/_sim/link?n=49"))
        self.assertEqual(link["kind"], "canonical")
        self.assertRegex(link["merged"], rf"^http://[a-z]+\.localhost:{first.port}/web/plain/3$")


class Sessions(Case):
    def create(self, sim, who, password=PASSWORD):
        status, _, body = self.ask(sim, "POST", "/xrpc/com.atproto.server.createSession",
                                   json.dumps({"identifier": who, "password": password}))
        return status, json.loads(body)

    def refresh(self, sim, token):
        status, _, body = self.ask(sim, "POST", "/xrpc/com.atproto.server.refreshSession",
                                   Authorization="Bearer " + token)
        return status, json.loads(body)

    def profile(self, sim, did, token=None):
        headers = {"Authorization": "Bearer " + token} if token else {}
        status, _, body = self.ask(sim, "GET", PROFILE + did, **headers)
        return status, json.loads(body).get("error")

    def test_a_session_opens_what_is_closed_and_expires(self):
        sim = self.simulator("--require-auth", "--token-seconds", "10")
        me = json.loads(lines(sim.get("/_sim/accounts"))[0])
        self.assertEqual(self.profile(sim, me["did"]), (401, "AuthMissing"))
        self.assertEqual(self.create(sim, me["handle"], "wrong")[0], 401)
        status, session = self.create(sim, me["handle"])
        self.assertEqual((status, session["did"]), (200, me["did"]))
        access, once = session["accessJwt"], session["refreshJwt"]
        payload = access.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        self.assertEqual((claims["sub"], claims["exp"] - claims["iat"]), (me["did"], 10))
        self.assertEqual(self.profile(sim, me["did"], access), (200, None))
        self.assertEqual(self.profile(sim, me["did"], once), (400, "InvalidToken"))
        self.assertEqual(self.profile(sim, me["did"], access[:-1] + "x"), (400, "InvalidToken"))
        while self.profile(sim, me["did"], access)[0] == 200:
            time.sleep(0.05)
        self.assertEqual(self.profile(sim, me["did"], access), (400, "ExpiredToken"))
        status, second = self.refresh(sim, once)
        self.assertEqual(status, 200)
        self.assertEqual(self.profile(sim, me["did"], second["accessJwt"]), (200, None))
        self.assertEqual(self.refresh(sim, once)[0], 400)
        stats = sim.stats()
        self.assertEqual((stats["sessions_created"], stats["sessions_refreshed"]), (1, 1))
        self.assertGreater(stats["tokens_expired"], 1)

    def test_without_the_demand_anybody_may_ask(self):
        sim = self.simulator()
        me = json.loads(lines(sim.get("/_sim/accounts"))[0])
        self.assertEqual(self.profile(sim, me["did"]), (200, None))
        self.assertEqual(self.profile(sim, me["did"], "nonsense"), (400, "InvalidToken"))


class Tls(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "sim.pem")
        self.sim = self.simulator("--tls", "--tls-save", self.file)

    def ask_secretly(self, method, path):
        context = ssl.create_default_context(cafile=self.file)
        connection = http.client.HTTPSConnection("127.0.0.1", self.sim.port, timeout=60,
                                                 context=context)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_everything_is_spoken_over_tls(self):
        self.assertTrue(self.sim.address.startswith("https://"))
        with open(self.file, "rb") as file:
            self.assertEqual(self.ask_secretly("GET", "/_sim/certificate"), (200, file.read()))
        self.assertEqual(len(self.ask_secretly("GET", "/web/huge/1")[1]) // 4000000, 1)
        self.assertIn(self.sim.address.encode() + b"/web/plain/3",
                      self.ask_secretly("GET", "/web/canonical/3")[1])
        self.assertRaises((OSError, http.client.HTTPException), self.ask, self.sim, "GET",
                          "/web/plain/1")

    def test_a_handshake_fails_as_planned(self):
        for plan in ("name=tls&count=2", "name=tls&status=1&count=2"):
            self.sim.arm(plan)
            for _ in range(2):
                self.assertRaises(ssl.SSLError, self.ask_secretly, "GET", "/web/plain/1")
        self.assertEqual(self.ask_secretly("GET", "/web/plain/1")[0], 200)
        self.assertEqual(self.sim.fired("tls"), 4)


class Trouble(Case):
    def test_an_answer_may_come_late_and_call_itself_anything(self):
        sim = self.simulator()
        did = json.loads(lines(sim.get("/_sim/accounts"))[0])["did"]
        sim.arm("name=http_stall&ms=200")
        begin = time.monotonic()
        self.assertEqual(self.ask(sim, "GET", PROFILE + did)[0], 200)
        self.assertGreater(time.monotonic() - begin, 0.15)
        for status, name in ((400, "InvalidRequest"), (401, "ExpiredToken"), (403, "Forbidden"),
                             (404, "NotFound"), (410, "Gone"), (429, "RateLimitExceeded"),
                             (502, "InternalServerError"), (503, "ServiceUnavailable")):
            sim.arm(f"name=http&status={status}")
            answer = self.ask(sim, "GET", PROFILE + did)
            self.assertEqual((answer[0], json.loads(answer[2])["error"]), (status, name))
        sim.arm("name=http&status=400&error=ExpiredToken")
        self.assertIn(b"ExpiredToken", self.ask(sim, "GET", PROFILE + did)[2])
        self.assertEqual((sim.fired("http"), sim.fired("http_stall")), (9, 1))


if __name__ == "__main__":
    unittest.main()
