# SPDX-License-Identifier: Apache-2.0
"""Pictures of links and people through the real program: fetched when somebody looks, checked,
kept, and given out from here; never fetched because a request names an address. On both stores.

  pictures.py TIDEMARK TIDEMARK_SIM"""

import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, SocketConnection, wait_until  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402

FETCHING = ("being fetched", "too many pictures")
PNG = b"\x89PNG\r\n\x1a\n"


def name_of(owner, url):
    """As docs/API.md says it."""
    return f"{owner}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def picture_requests(sim, path=""):
    rows = [json.loads(line) for line in lines(sim.get("/_sim/requests"))]
    return [row["path"] for row in rows if row["path"].startswith(("/picture/" + path, "/img/"))]


class Pictures(BothStores):
    def simulator(self):
        return Simulator(self.sim_program, "--events", "5", "--slow-page-ms", "60000")

    def fill(self, home, urls):
        """A store whose links, from 1 on, have these pictures."""
        subprocess.run([self.program, "migrate", "-c", "/dev/null", "--set",
                        f"store.url={home.url}"], check=True, stdout=subprocess.DEVNULL)
        home.run_sql("".join(
            "INSERT INTO links (id, normalized_url, original_url, image_url) VALUES "
            f"({i}, 'https://e.example/{i}', 'https://e.example/{i}', '{url}');"
            for i, url in enumerate(urls, 1)))

    def daemon(self, home, sim, *settings):
        daemon = Daemon(self.program, home, (
            f"page.images_cdn=http://127.0.0.1:{sim.port}", "fetch.allow_private=true", *settings))
        daemon.wait_for(lambda _: True, "the start")
        return daemon

    def get(self, daemon, name, headers=()):
        status, told, body = daemon.fetch("GET", f"/image/{name}", headers=headers)
        return status, body, told

    def settled(self, daemon, name, asked=()):
        """The answer once it is known whether there is a picture."""
        def look():
            status, body, headers = self.get(daemon, name, asked)
            busy = status == 503 or any(word in body.decode("latin-1") for word in FETCHING)
            return None if busy else (status, body, headers)
        return wait_until(look, f"picture {name} to be had or not")

    def test_a_picture_is_fetched_once_and_given_from_here(self):
        def run(home):
            with self.simulator() as sim:
                url = f"http://127.0.0.1:{sim.port}/picture/good/7"
                self.fill(home, [url])
                name = name_of(1, url)
                with self.daemon(home, sim) as daemon:
                    self.assertEqual(picture_requests(sim), [])  # nobody has looked
                    status, body, headers = self.settled(daemon, name)
                    self.assertEqual(status, 200)
                    self.assertEqual(body, sim.get("/picture/good/7"))
                    self.assertTrue(body.startswith(PNG))
                    self.check_headers(headers)
                    again = self.settled(daemon, name, {"If-None-Match": headers["ETag"]})
                    self.assertEqual((again[0], again[1]), (304, b""))
                    self.assertEqual(again[2]["ETag"], headers["ETag"])
                    daemon.stop()
                with self.daemon(home, sim) as daemon:  # it is kept
                    self.assertEqual(self.settled(daemon, name)[1], body)
                    daemon.stop()
                # One of ours, and the test's own.
                self.assertEqual(len(picture_requests(sim)), 2)
        self.both_stores(run)

    def check_headers(self, headers):
        self.assertEqual(headers["Content-Type"], "image/png")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
        self.assertIn("immutable", headers["Cache-Control"])
        self.assertRegex(headers["ETag"], '^"[0-9a-f]{32}"$')

    def test_what_is_no_picture_is_refused_and_not_asked_for_again(self):
        wrong = {"html": "no picture of pixels", "svg": "no picture of pixels", "huge": "bytes",
                 "inward": "", "missing": "answers 404"}

        def run(home):
            with self.simulator() as sim:
                urls = [f"http://127.0.0.1:{sim.port}/picture/{kind}/1" for kind in wrong]
                self.fill(home, urls)
                with self.daemon(home, sim) as daemon:
                    for i, (kind, reason) in enumerate(wrong.items(), 1):
                        name = name_of(i, urls[i - 1])
                        status, body, headers = self.settled(daemon, name)
                        self.assertEqual(status, 404, body)
                        self.assertEqual(headers["Content-Type"], "application/json")
                        self.assertIn("it cannot be had", json.loads(body)["error"])
                        self.assertIn(reason, json.loads(body)["error"])
                        self.assertEqual(headers["Cache-Control"], "max-age=60")
                        self.assertEqual(self.settled(daemon, name)[:2], (404, body))
                        self.assertEqual(len(picture_requests(sim, kind)), 1)
                    daemon.stop()
                self.assertEqual(home.select("SELECT count(*) AS n FROM pictures "
                                             "WHERE data IS NOT NULL"), [{"n": 0}])
        self.both_stores(run)

    def test_a_request_names_no_address_and_no_link_that_is_not_there(self):
        def run(home):
            with self.simulator() as sim:
                url = f"http://127.0.0.1:{sim.port}/picture/good/7"
                self.fill(home, [url])
                with self.daemon(home, sim) as daemon:
                    for name in (name_of(1, url + "8"), name_of(2, url), "1", "1-", "x",
                                 f"http:%2F%2F127.0.0.1:{sim.port}%2Fpicture%2Fgood%2F7",
                                 f"1-{'0' * 16}?url={url}"):
                        self.assertEqual(self.settled(daemon, name)[0], 404, name)
                    daemon.stop()
                self.assertEqual(picture_requests(sim), [])
        self.both_stores(run)

    def test_private_addresses_are_not_asked(self):
        def run(home):
            with self.simulator() as sim:
                urls = [f"http://127.0.0.1:{sim.port}/picture/good/7",
                        "https://cdn.bsky.app/img/feed_thumbnail/plain/did:plc:a/b@jpeg"]
                self.fill(home, urls)
                with self.daemon(home, sim, "fetch.allow_private=false") as daemon:
                    for i, url in enumerate(urls, 1):
                        status, body, _ = self.settled(daemon, name_of(i, url))
                        self.assertEqual(status, 404)
                        self.assertRegex(json.loads(body)["error"], "not public|port")
                    daemon.stop()
                self.assertEqual(picture_requests(sim), [])
        self.both_stores(run)

    def test_a_slow_server_holds_nobody(self):
        def run(home):
            with self.simulator() as sim:
                urls = [f"http://127.0.0.1:{sim.port}/picture/{kind}/1"
                        for kind in ("slow", "good")]
                self.fill(home, urls)
                with self.daemon(home, sim) as daemon:
                    slow = SocketConnection(daemon.socket)
                    slow.request("GET", f"/image/{name_of(1, urls[0])}")
                    wait_until(lambda: picture_requests(sim, "slow"), "the slow one to be asked")
                    self.assertEqual(self.settled(daemon, name_of(2, urls[1]))[0], 200)
                    answer = slow.getresponse()  # long before its server is done
                    self.assertIn(answer.status, (404, 503))
                    if b"being fetched" in answer.read():
                        self.assertEqual(answer.headers["Cache-Control"], "no-store")
                    slow.close()
                    daemon.stop()
        self.both_stores(run)

    def test_pictures_of_posts_come_from_the_network_that_is_configured(self):
        def run(home):
            with self.simulator() as sim:
                url = "https://cdn.bsky.app/img/feed_thumbnail/plain/did:plc:a/b@jpeg"
                self.fill(home, [url])
                with self.daemon(home, sim) as daemon:
                    self.assertEqual(self.settled(daemon, name_of(1, url))[0], 200)
                    daemon.stop()
                self.assertEqual(picture_requests(sim),
                                 ["/img/feed_thumbnail/plain/did:plc:a/b@jpeg"])
        self.both_stores(run)

    def test_portraits_come_the_same_way_and_a_hostile_one_does_not(self):
        def run(home):
            with self.simulator() as sim:
                hostile = {f"did:plc:{kind}": f"http://127.0.0.1:{sim.port}/picture/{kind}/1"
                           for kind in ("svg", "html", "huge", "inward")}
                mine = "https://cdn.bsky.app/img/avatar/plain/did:plc:a/b@jpeg"
                self.fill(home, [])
                home.run_sql("".join(
                    f"INSERT INTO actors (id, did, avatar) VALUES ({i}, '{did}', '{url}');"
                    for i, (did, url) in enumerate([("did:plc:a", mine), *hostile.items()], 1)))
                with self.daemon(home, sim) as daemon:
                    status, body, headers = self.settled(daemon, name_of("did:plc:a", mine))
                    self.assertEqual(status, 200, body)
                    self.assertTrue(body.startswith(PNG))
                    self.check_headers(headers)
                    self.assertEqual(picture_requests(sim), [
                        "/img/avatar_thumbnail/plain/did:plc:a/b@jpeg"])
                    for did, url in hostile.items():
                        self.assertEqual(self.settled(daemon, name_of(did, url))[0], 404, did)
                    for name in (name_of("did:plc:a", mine + "x"), name_of("did:plc:b", mine)):
                        self.assertEqual(self.settled(daemon, name)[0], 404, name)
                    daemon.stop()
        self.both_stores(run)

    def test_they_are_turned_off_and_on_again_while_it_runs(self):
        def run(home):
            with self.simulator() as sim:
                url = f"http://127.0.0.1:{sim.port}/picture/good/7"
                self.fill(home, [url])
                config = os.path.join(home.folder, "tidemark.yaml")

                def choose(images):
                    with open(config, "w", encoding="utf-8") as file:
                        file.write(f"page: {{images: {images}}}\n")

                def is_off():
                    status, body, _ = self.get(daemon, name_of(1, url))
                    return status == 404 and b"turned off" in body
                choose("false")
                with Daemon(self.program, home, ["fetch.allow_private=true"],
                            config=config) as daemon:
                    daemon.wait_for(lambda _: True, "the start")
                    self.assertTrue(is_off())
                    choose("true")
                    daemon.reload()
                    wait_until(lambda: not is_off(), "pictures to be shown")
                    self.assertEqual(self.settled(daemon, name_of(1, url))[0], 200)
                    choose("false")
                    daemon.reload()
                    wait_until(is_off, "pictures not to be shown, though one is kept")
                    daemon.stop()
        self.both_stores(run)


if __name__ == "__main__":
    main()
