# SPDX-License-Identifier: Apache-2.0
"""The real nginx and the real Caddy in front of the daemon, with the files of deploy/, over TLS.

  fronts.py TIDEMARK TIDEMARK_SIM [CASE.TEST...]"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import socket
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", folder) for folder in ("support", "e2e")] + [HERE]

from both_stores import EXECUTED, BothStores, main  # noqa: E402
from daemon_client import Home, WAIT_S  # noqa: E402
from front_server import PERSON, SITE, Caddy, Nginx  # noqa: E402
from front_site import Site  # noqa: E402
from sim_client import Refused  # noqa: E402

OWN, FOREIGN = f"https://{SITE}", "https://elsewhere.example"
BODY_MAX = 16 << 20
ASSET = re.compile(rb'"(/assets/[\w-]+\.([0-9a-f]{16})\.\w+)"')
LINK = re.compile(rb"<link>([^<]*)</link>")
LISTED = {"collection": "notes", "limit": 1}
HEARD_S = 2  # some of these are waited for to go on; what they hide is found, or not, afterwards
SHAPES = (
    "Content-Length: {five}\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\n"
    "Transfer-Encoding: chunked", "Content-Length: {five}\r\nTransfer-Encoding : chunked",
    "Content-Length: {five}\r\nTransfer-Encoding: xchunked", "Content-Length: {five}\r\n"
    "Transfer-Encoding:\tchunked", "Content-Length: {five}\r\nTransfer-Encoding: chunked, identity",
    "Content-Length: {five}\r\nX: x\nTransfer-Encoding: chunked", "Content-Length: {five}\r\n"
    "X: x\r\n Transfer-Encoding: chunked", "Content-Length: {whole}\r\nContent-Length: 0",
    "Content-Length: 0\r\nContent-Length: {whole}", "Content-Length: +{whole}",
    "Content-Length: {whole}, 0", "Content-Length : {whole}", "Content-Length: {whole}",
    "Content-Length: {whole}\r\nExpect: 100-continue",
    "Content-Length: {whole}\r\nConnection: Content-Length",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    "Content-Length: {whole}",
)


def on_every_site(test):
    """The test gets a site on each store."""
    def run(self):
        for kind, site in self.sites.items():
            with self.subTest(store=kind):
                test(self, site)
                EXECUTED[kind] += 1
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class Fronts:
    """What holds behind either proxy; the sites stay for all tests of a class."""
    kind = None

    @classmethod
    def setUpClass(cls):
        cls.sites = {}
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        for kind in EXECUTED:
            home = stack.enter_context(Home(kind))
            cls.sites[kind] = Site(stack, (cls.program, cls.sim_program), home, cls.kind)

    # ---- who may ----

    @on_every_site
    def test_nobody_is_answered_without_a_name(self, site):
        for path in ("/", "/status", "/api/status", "/feed.xml", "/api/trending"):
            status, headers, _ = site.fetch("GET", path)
            self.assertEqual((status, headers["WWW-Authenticate"].split(" ")[0]), (401, "Basic"))
        for said in ("Bearer tmk_wrong", "bearer tmk_wrong", "Bearer  ", "Basic YWxpY2U6d3Jvbmc=",
                     f"Basic {PERSON}", "Digest x"):
            self.assertEqual(site.fetch("GET", "/", headers={"Authorization": said})[0], 401, said)

    @on_every_site
    def test_a_person_reads_with_a_password_and_a_program_with_its_token(self, site):
        for path in ("/", "/status", "/api/status", "/feed.json"):
            for who in (site.person, site.bearer):
                self.assertEqual(site.fetch("GET", path, headers=who)[0], 200, path)
        made = {"collection": "notes", "data": {"text": "mine"}}
        self.assertEqual(site.fetch("POST", "/api/data/create", made, site.bearer)[0], 200)
        status, _, answer = site.fetch("POST", "/api/data/create", made, site.person)
        self.assertEqual((status, json.loads(answer)["code"]), (403, "FORBIDDEN"))
        self.assertNotIn(site.token, site.front.words())

    @on_every_site
    def test_pages_of_other_sites_may_not_ask(self, site):
        for who in (site.person, site.bearer):
            for origin, wanted in ((OWN, 200), (FOREIGN, 403), ("null", 403), (OWN + ".evil", 403)):
                self.assertEqual(site.fetch("POST", "/api/data/list", LISTED,
                                            {**who, "Origin": origin})[0], wanted, origin)
            site.websocket(f"Authorization: {who['Authorization']}", f"Origin: {OWN}").close()
            with self.assertRaises(Refused) as refused:
                site.websocket(f"Authorization: {who['Authorization']}", f"Origin: {FOREIGN}")
            self.assertEqual(refused.exception.status, 403)
        # A browser asks first, without a name, whether it may.
        asked = {"Access-Control-Request-Method": "POST"}
        status, headers, _ = site.fetch("OPTIONS", "/api/data/list", None, {**asked, "Origin": OWN})
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, OWN))
        _, headers, _ = site.fetch("OPTIONS", "/api/data/list", None, {**asked, "Origin": FOREIGN})
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    @on_every_site
    def test_metrics_are_not_shown(self, site):
        for path in ("/metrics", "/metrics?x=1", "/%6detrics", "//metrics", "/./metrics",
                     "/x/../metrics", "/metrics/", "/METRICS", "/metrics%3f", "/metrics%00"):
            for who in (site.person, site.bearer, {}):
                status, _, answer = site.fetch("GET", path, headers=who)
                self.assertNotEqual(status, 200, path)
                self.assertNotIn(b"tidemark_", answer, path)
        self.assertIn(b"tidemark_", site.daemon.ask_raw("GET", "/metrics")[1])

    # ---- what arrives ----

    @on_every_site
    def test_the_page_and_its_files_arrive_as_the_daemon_sent_them(self, site):
        for path in ("/", "/status"):
            status, headers, page = site.fetch("GET", path, headers=site.person)
            self.assertEqual(status, 200)
            self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
            files = dict(ASSET.findall(page))
            self.assertGreater(len(files), 2)
            for file, name in files.items():
                file = file.decode()
                status, headers, body = site.fetch("GET", file, headers=site.person)
                self.assertEqual(hashlib.sha256(body).hexdigest()[:16].encode(), name, file)
                self.assertIn("max-age=31536000, immutable", headers["Cache-Control"])
                tag = {**site.person, "If-None-Match": headers["ETag"]}
                self.assertEqual(site.fetch("GET", file, headers=tag)[0], 304)
        self.assertIn(b'class="link"', site.fetch("GET", "/", headers=site.person)[2])

    @on_every_site
    def test_it_travels_compressed(self, site):
        page = site.fetch("GET", "/", headers=site.person)[2]
        style, = re.findall(r"/assets/page\.[0-9a-f]+\.css", page.decode())
        for path in ("/", style):
            plain = site.fetch("GET", path, headers=site.person)[2]
            small = {**site.person, "Accept-Encoding": "gzip"}
            status, headers, body = site.fetch("GET", path, headers=small)
            self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
            self.assertLess(len(body), len(plain))

    @on_every_site
    def test_feeds_name_the_site_and_nobody_else(self, site):
        for more in ({}, {"X-Forwarded-Host": "elsewhere.example", "X-Forwarded-Proto": "http"}):
            status, _, feed = site.fetch("GET", "/feed.xml", headers={**site.person, **more})
            self.assertEqual((status, LINK.search(feed).group(1)), (200, f"{OWN}/".encode()))
        # A name that is not the site's: another site of the same machine, or nobody's.
        foreign = {**site.bearer, "Host": "elsewhere.example"}
        self.assertNotIn(b"<link>", site.fetch("GET", "/feed.xml", headers=foreign)[2])

    @on_every_site
    def test_who_comes_without_tls_is_sent_to_it(self, site):
        connection = http.client.HTTPConnection("127.0.0.1", site.front.plain_port, timeout=WAIT_S)
        with contextlib.closing(connection):
            connection.request("GET", "/?hours=6", headers={"Host": SITE})
            answer = connection.getresponse()
            self.assertIn(answer.status, (301, 308))
            self.assertRegex(answer.headers["Location"], rf"^https://{SITE}(:\d+)?/\?hours=6$")

    @on_every_site
    def test_a_query_is_paged_to_its_end(self, site):
        for i in range(0, 130, 13):
            site.ask("create", collection="notes",
                     data=[{"text": f"page {i + j}"} for j in range(13)])
        opened = site.ask("query-open", collection="notes", pageSize=20,
                          filter={"text": {"$prefix": "page "}})
        rows, more = [], True
        while more:
            page = site.ask("query-next", queryHandle=opened["queryHandle"])
            rows += [item["text"] for item in page["items"]]
            more = page["hasMore"]
        self.assertEqual(sorted(rows), sorted(f"page {i}" for i in range(130)))
        self.assertTrue(site.ask("query-close", queryHandle=opened["queryHandle"])["success"])

    # ---- what is told ----

    @on_every_site
    def test_a_websocket_tells_a_new_row(self, site):
        for greeting in (f"Authorization: Bearer {site.token}",
                         f"Sec-WebSocket-Protocol: tidemark, tidemark.bearer.{site.token}"):
            with site.websocket(greeting) as websocket:
                def ask(command, **params):
                    websocket.send(1, json.dumps({"id": 1, "command": command,
                                                  "params": params}).encode())
                    return json.loads(websocket.texts(1)[0])["result"]
                handle = ask("query-open", collection="notes")["queryHandle"]
                self.assertTrue(ask("query-tail", queryHandle=handle, push=True)["success"])
                site.add_note("pushed")
                changes = []
                while not changes:  # one without any says that nothing happened so far
                    changes = json.loads(websocket.texts(1)[0])["changes"]
                self.assertEqual([change["item"]["text"] for change in changes], ["pushed"])
        with self.assertRaises(Refused) as refused:
            site.websocket("Sec-WebSocket-Protocol: tidemark, tidemark.bearer.tmk_wrong")
        self.assertEqual(refused.exception.status, 401)

    @on_every_site
    def test_events_tell_a_new_row_while_the_stream_goes_on(self, site):
        """Over HTTP/2, as a browser asks; then as HTTP/1.1."""
        for version in ("--http2", "--http1.1"):
            status, _, answer = site.fetch("POST", "/api/data/query-open", {"collection": "notes"},
                                           {**site.person, "Origin": OWN})
            self.assertEqual(status, 200, answer)
            handle = json.loads(answer)["queryHandle"]
            stream = site.curl(f"/api/events?queryHandle={handle}", version, headers=site.person)
            try:
                self.assertEqual(stream.stdout.readline(), "retry: 1000\n")
                for i in range(3):
                    site.add_note(f"event {i}")
                    told = next(line for line in stream.stdout if f"event {i}" in line)
                    self.assertTrue(told.startswith("data: "), told)
                self.assertIsNone(stream.poll())
            finally:
                stream.kill()
                stream.communicate()

    @on_every_site
    def test_a_browser_gets_http_2(self, site):
        asked = site.curl("/", "-o", os.devnull, "-w", "%{http_version} %{http_code}",
                          headers=site.person)
        self.assertEqual(asked.communicate(timeout=WAIT_S)[0], "2 200")

    # ---- how much ----

    def upload(self, site, size, *versions):
        """The status for a create whose body is this long, over each version of HTTP."""
        documents = [{"text": "large", "more": ""} for _ in range(16)]
        body = {"collection": "notes", "data": documents}
        each, rest = divmod(size - len(json.dumps(body)), len(documents))
        for i, document in enumerate(documents):
            document["more"] = "x" * (each + (rest if i == 0 else 0))
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
            json.dump(body, file)
            file.flush()
            self.assertEqual(os.path.getsize(file.name), size)
            for version in versions:
                asked = site.curl("/api/data/create", version, "-o", os.devnull, "-w",
                                  "%{http_code}", "--data-binary", f"@{file.name}",
                                  headers={**site.bearer, "Content-Type": "application/json"})
                yield asked.communicate(timeout=2 * WAIT_S)[0]

    @on_every_site
    def test_documents_of_16_mib_are_let_through_and_no_more(self, site):
        self.assertEqual(list(self.upload(site, BODY_MAX, "--http2", "--http1.1")), ["200"] * 2)
        # curl 7.88 takes a stream that ends before its body was sent for a broken one.
        self.assertEqual(list(self.upload(site, BODY_MAX + 1, "--http1.1")), ["413"])
        self.assertEqual(site.notes().count("large"), 32)


    # ---- one request that looks like two ----

    def send_raw(self, site, request):
        """What comes back for bytes that no client would send."""
        plain = socket.create_connection(("127.0.0.1", site.front.port), timeout=WAIT_S)
        with site.front.tls.wrap_socket(plain, server_hostname=SITE) as connection:
            got = b""
            with contextlib.suppress(OSError):
                connection.sendall(request)
                connection.settimeout(HEARD_S)
                got = connection.recv(1 << 16)
        return got

    @on_every_site
    def test_no_request_hides_another_one(self, site):
        """The hidden one names the daemon itself, whom no visitor of the proxy may mean: a row of
        it is there only if the daemon read what the proxy took for a body."""
        with socket.create_connection(("127.0.0.1", site.daemon.port), WAIT_S) as connection:
            connection.sendall(site.hidden("open"))
            self.assertIn(b" 200 ", connection.recv(1 << 16).split(b"\r\n")[0])
        self.assertIn("open", site.notes())
        hidden = site.hidden("smuggled")
        whole = len(hidden)
        head = (f"POST /api/data/list HTTP/1.1\r\nHost: {SITE}\r\n"
                f"Authorization: Bearer {site.token}\r\n")
        for shape in SHAPES:
            lines = shape.format(whole=whole, five=whole + 5)
            body = b"" if "chunked" not in shape else b"0\r\n\r\n"
            self.send_raw(site, (head + lines + "\r\n\r\n").encode() + body + hidden)
            for _ in range(3):  # who comes next is answered what was asked
                self.assertTrue(site.ask("list", **LISTED)["success"], shape)
        self.assertNotIn("smuggled", site.notes())


class NginxFront(Fronts, BothStores):
    kind = Nginx


class CaddyFront(Fronts, BothStores):
    kind = Caddy


if __name__ == "__main__":
    main()
