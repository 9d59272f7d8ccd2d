# SPDX-License-Identifier: Apache-2.0
"""Secrets given to the daemon must not come out of it: not in logs, pages, metrics, the database,
error messages, the printed configuration or a core.

  canary.py TIDEMARK TIDEMARK_SIM"""

import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support")]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon  # noqa: E402
from sim_client import Simulator, lines  # noqa: E402

KEY, SECRET, PASSWORD, TOKEN = ("canary-key-1f83d9ab", "canary-secret-5be0cd19",
                                "canary-password-9b05688c", "canary-path-510e527fade682d1")
APP_PASSWORD, JWT = "canary-app-9b05688c2b3e6c1f", "eyJ"  # every token begins so
CANARIES = (KEY, SECRET, PASSWORD, TOKEN, APP_PASSWORD, JWT)


def with_password(url):
    return url.replace("postgres@", f"postgres:{PASSWORD}@", 1)


def everything_stored(home):
    """The database as bytes."""
    if home.kind == "postgres":
        return subprocess.run(["pg_dump", home.url], check=True, capture_output=True).stdout
    content = b""
    for name in os.listdir(home.folder):
        path = os.path.join(home.folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                content += file.read()
    return content


class Echo(http.server.BaseHTTPRequestHandler):
    """An explorer that says the key again, in records, one of them unreadable, and in refusals."""

    def do_GET(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        record = {"blockNumber": "7", "timeStamp": "1700000000", "hash": "0x" + "ab" * 32,
                  "nonce": "1", "from": "0x" + "01" * 20, "to": "0x" + "02" * 20, "value": "5",
                  "isError": "0", "gasUsed": "1", "gasPrice": "1", "echo": asked.get("apikey")}
        answer = {"status": "0", "message": "NOTOK",
                  "result": f"Invalid API Key {asked.get('apikey')}"}
        if asked.get("action") == "txlist":
            answer = {"status": "1", "message": "OK",
                      "result": [record, dict(record, timeStamp="never", hash="0x" + "cd" * 32)]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Canary(BothStores):
    def settings(self, home, sim):
        secret = home.folder + ".secret"
        with open(secret, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        self.addCleanup(os.unlink, secret)
        me = json.loads(lines(sim.get("/_sim/accounts"))[0])["handle"]
        return (f"bluesky.pds=http://127.0.0.1:{sim.port}", f"bluesky.identifier={me}",
                f"bluesky.app_password={APP_PASSWORD}", f"bluesky.actors=[{me}]",
                f"jetstream.endpoint=ws://127.0.0.1:{sim.port}/subscribe?key={TOKEN}",
                "jetstream.fallback_endpoint=", "jetstream.reconnect_delay_seconds=1",
                f"providers.etherscan.api_key={KEY}",
                f"providers.kraken.api_secret_file={secret}", "log.level=debug")

    def expect_silence(self, where, content):
        if isinstance(content, str):
            content = content.encode()
        for canary in CANARIES:
            self.assertNotIn(canary.encode(), content, f"{where} gives a secret away")

    def talk(self, home, *arguments, environment=()):
        done = subprocess.run([self.program, *arguments], capture_output=True, check=False,
                              env=dict(os.environ, **dict(environment)))
        self.expect_silence(" ".join(arguments[:2]), done.stdout + done.stderr)

    def run_on(self, home):
        sim = Simulator(self.sim_program, "--events", "300", "--password", APP_PASSWORD)
        try:
            settings = self.settings(home, sim)
            if home.kind == "postgres":
                settings += (f"store.url={with_password(home.url)}",)
            flags = [part for setting in settings for part in ("--set", setting)]
            with Daemon(self.program, home, settings) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "a connection")
                sim.wait_until(lambda stats: stats["sessions_created"] == 1)
                daemon.wait_for(lambda health: health["follows_count"], "follows")
                self.expect_no_core(daemon)
                for path in ("/health", "/metrics", "/api/status", "/nothing"):
                    status, body = daemon.ask_raw("GET", path)
                    self.expect_silence(f"{path} ({status})", body)
                self.talk(home, "status", "--set", f"store.data_dir={home.folder}", *flags)
                self.talk(home, "providers", "--set", f"store.data_dir={home.folder}", *flags)
                sim.process.terminate()
                sim.process.wait()
                daemon.wait_for(lambda health: not health["websocket_connected"], "its loss")
                self.expect_silence("/api/status", daemon.ask_raw("GET", "/api/status")[1])
                daemon.stop()
                self.expect_silence("the log", daemon.words())
            self.expect_silence("the store", everything_stored(home))
            self.talk(home, "config", "print", *flags)
            self.talk(home, "config", "check", *flags, "--set", "polling.posts_per_page=101")
            self.talk(home, "run", *flags, "--set",
                      f"store.url=postgresql://u:{PASSWORD}@127.0.0.1:1/none")
        finally:
            sim.process.kill()
            sim.process.wait()
            sim.process.stdout.close()

    def expect_no_core(self, daemon):
        """Neither a file nor a program that collects cores gets the memory of one that crashed."""
        with open(f"/proc/{daemon.process.pid}/limits", encoding="utf-8") as limits:
            core = [line.split()[4:6] for line in limits if line.startswith("Max core")]
        self.assertEqual(core, [["1", "1"]])

    def import_on(self, home):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as echo:
            threading.Thread(target=echo.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{echo.server_port}"
            self.talk(home, "import", "--set", f"store.url={home.url}", "--set",
                      f"store.data_dir={home.folder}", "--set", "log.level=debug", "--set",
                      f"providers.etherscan.base_url={address}", "--set",
                      f"providers.etherscan.api_key={KEY}", "--provider", "etherscan",
                      "ethereum:0x" + "01" * 20)
            echo.shutdown()
        self.expect_silence("the store", everything_stored(home))
        for table, column in (("raw_transactions", "provider_data"), ("quarantine", "raw"),
                              ("import_sessions", "error")):
            told = json.dumps(home.select(f"SELECT {column} AS told FROM {table}"), default=str)
            self.assertIn("********" if home.kind == "sqlite" or column != "raw" else "2a" * 8,
                          told, table)

    def test_what_a_provider_echoes_is_not_kept(self):
        self.both_stores(self.import_on)

    def test_no_secret_leaves_the_daemon(self):
        self.both_stores(self.run_on)


if __name__ == "__main__":
    main()
