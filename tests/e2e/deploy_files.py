# SPDX-License-Identifier: Apache-2.0
"""What lies in deploy/ fits the program: dashboard, proxies in front, launchd.

  deploy_files.py TIDEMARK TIDEMARK_SIM"""

import json
import os
import plistlib
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(HERE, "..", "..", "deploy")
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "crash"), HERE]

from both_stores import BothStores, main  # noqa: E402
from daemon_client import Daemon, wait_until  # noqa: E402
from sim_client import Simulator  # noqa: E402
from skeleton import settings  # noqa: E402

TOKEN = re.compile(r'"[^"]*"|#[^\n]*|[{};\n]|[^\s{};"]+')


def read_file(*names):
    with open(os.path.join(DEPLOY, *names), encoding="utf-8") as file:
        return file.read()


def read_blocks(text, end):
    """[[word..., block or None]...]: directives end with `end` or have a block in braces."""
    root, words = [], []
    open_at = [root]
    for token in TOKEN.findall(text):
        if token.startswith("#") or (token == "\n" and end != "\n"):
            continue
        if token == "{":
            open_at[-1].append([*words, []])
            open_at.append(open_at[-1][-1][-1])
            words = []
        elif token in (end, "}"):
            if words:
                assert end == "\n" or token == end, f"{words} has no end"
                open_at[-1].append([*words, None])
            words = []
            if token == "}":
                open_at.pop()
                assert open_at, "one brace too many"
        else:
            assert token != ";", words
            words.append(token)
    assert open_at == [root] and not words, "a brace is missing"
    return root


def find(block, *words):
    """The directives that begin so."""
    return [line for line in block if tuple(line[:len(words)]) == words]


class DeployFiles(BothStores):
    def listen(self):
        printed = subprocess.run([self.program, "config", "print", "-c", "/dev/null"], check=True,
                                 capture_output=True, text=True).stdout
        return re.search(r'(?m)^  listen: "(.+)"', printed).group(1)

    def test_every_number_of_the_dashboard_is_told(self):
        board = json.loads(read_file("grafana", "tidemark.json"))
        exprs = [target["expr"] for panel in board["panels"] for target in
                 panel.get("targets", ())]
        exprs += [variable["query"] for variable in board["templating"]["list"]
                  if variable["type"] == "query"]
        wanted = {name for expr in exprs for name in re.findall(r"tidemark_\w+", expr)}
        self.assertGreater(len(wanted), 40)
        for expr in exprs:
            self.assertRegex(expr, "tidemark_")
        variables = {variable["name"] for variable in board["templating"]["list"]}
        used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(board)))
        self.assertEqual(used, variables)

        def run(home):
            with Simulator(self.sim_program, "--events", "20") as sim, \
                    Daemon(self.program, home, settings(
                        sim, "content.rpc=http://127.0.0.1:9", "content.event=any",
                        "content.contract=0x" + "ab" * 20,
                        "content.gateways=http://127.0.0.1:9")) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")

                def told():
                    page = daemon.ask_raw("GET", "/metrics")[1].decode()
                    names = set(re.findall(r"(?m)^(tidemark_\w+)[ {]", page))
                    return names if "tidemark_store_bytes" in names else None
                self.assertEqual(wanted - wait_until(told, "the numbers"), set())
                daemon.stop()
        self.both_stores(run)

    def test_no_two_panels_lie_on_each_other(self):
        panels = json.loads(read_file("grafana", "tidemark.json"))["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells

    def test_nginx_passes_on_to_the_daemon_and_lets_websockets_through(self):
        conf = read_blocks(read_file("nginx.conf"), ";")
        upstream, = find(conf, "upstream")
        self.assertEqual(find(upstream[-1], "server"), [["server", self.listen(), None]])
        mapped, = find(conf, "map", "$http_upgrade")
        self.assertEqual(sorted(line[:2] for line in mapped[-1]), [['""', '""'],
                                                                  ["default", "upgrade"]])
        served, = [server[-1] for server in find(conf, "server") if find(server[-1], "location")]
        self.assertTrue(find(served, "listen", "443", "ssl"))
        place = find(served, "location", "/")[0][-1]
        self.assertIn(["proxy_pass", f"http://{upstream[1]}", None], place)
        for line in ("proxy_http_version 1.1", "proxy_set_header Host localhost",
                     "proxy_set_header X-Forwarded-Proto https",
                     "proxy_set_header X-Forwarded-Host $http_host",
                     "proxy_set_header Upgrade $http_upgrade",
                     f"proxy_set_header Connection {mapped[2]}", "proxy_buffering off"):
            self.assertIn([*line.split(), None], place)
        self.assertEqual(find(served, "client_max_body_size")[0][1], "16m")

    def test_feeds_behind_a_proxy_name_the_site(self):
        """What the two proxies send: the daemon's own name as Host, the site's beside it."""
        def feed(daemon, **headers):
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            _, _, body = daemon.fetch("GET", "/feed.xml", headers=sent)
            return re.search("<link>([^<]*)</link>", body.decode()).group(1)

        def run(home):
            with Simulator(self.sim_program, "--events", "20") as sim, \
                    Daemon(self.program, home, settings(sim)) as daemon:
                daemon.wait_for(lambda health: health["websocket_connected"], "the firehose")
                self.assertEqual(feed(daemon, Host="localhost:8080"), "http://localhost:8080/")
                site = {"Host": "localhost", "X_Forwarded_Proto": "https"}
                for name in ("news.example.org", "news.example.org:8443", "[2001:db8::1]:8443"):
                    self.assertEqual(feed(daemon, X_Forwarded_Host=name, **site),
                                     f"https://{name}/")
                for name in ("a b", "a/b", "a@b", "a<b", "a,b", "", "a" * 300):
                    self.assertEqual(feed(daemon, X_Forwarded_Host=name, **site),
                                     "https://localhost/")
                daemon.stop()
        self.both_stores(run)

    def test_caddy_passes_on_to_the_daemon(self):
        site, = read_blocks(read_file("Caddyfile"), "\n")
        proxy, = find(site[-1], "reverse_proxy")
        self.assertEqual(proxy[1], self.listen())  # websockets need nothing more here
        self.assertIn(["header_up", "Host", "localhost", None], proxy[-1])
        self.assertIn(["flush_interval", "-1", None], proxy[-1])
        self.assertEqual(find(find(site[-1], "request_body")[0][-1], "max_size")[0][1], "16MiB")

    def test_launchd_starts_what_systemd_starts(self):
        with open(os.path.join(DEPLOY, "org.tidemark.plist"), "rb") as file:
            job = plistlib.load(file)
        self.assertEqual(job["Label"], "org.tidemark")
        unit = read_file("tidemark.service")
        start = re.search(r"(?m)^ExecStart=@PREFIX@/bin/(.+)$", unit).group(1).split()
        program, *words = job["ProgramArguments"]
        self.assertEqual([os.path.basename(program), *words[:-1]], start[:-1])
        self.assertEqual(os.path.basename(words[-1]), os.path.basename(start[-1]))
        self.assertIs(job["KeepAlive"]["SuccessfulExit"], False)
        self.assertEqual(f"{job['ExitTimeOut']}", re.search(r"TimeoutStopSec=(\d+)", unit).group(1))
        self.assertEqual(f"{job['Umask']:04o}", re.search(r"UMask=(\d+)", unit).group(1))

    def test_secrets_that_the_unit_hands_over_are_read(self):
        unit = read_file("tidemark.service")
        names = re.findall(r"(?m)^#LoadCredential=(\w+):\S+$", unit)
        found = re.findall(r"(?m)^#Environment=(\w+)=%d/(\w+)$", unit)
        self.assertEqual([name for _, name in found], names)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("a-secret\n")
            given = {key: os.path.join(folder, name) for key, name in found}
            # It ends with 1 when a file that is named cannot be read.
            printed = subprocess.run(
                [self.program, "config", "print", "-c", "/dev/null"], check=True, text=True,
                capture_output=True, env=dict(os.environ, **given)).stdout
        for key, path in given.items():
            self.assertRegex(printed, rf'(?m)^ +\w+_file: "{path}" +# {key}$')

    def test_the_unit_leaves_the_daemon_the_calls_its_box_is_made_of(self):
        lines = re.findall(r"(?m)^SystemCallFilter=([^~].*)$", read_file("tidemark.service"))
        self.assertLessEqual({"landlock_add_rule", "landlock_create_ruleset",
                              "landlock_restrict_self", "seccomp"}, set(" ".join(lines).split()))


if __name__ == "__main__":
    main()
