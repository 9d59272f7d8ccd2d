# SPDX-License-Identifier: Apache-2.0
"""The real nginx and the real Caddy as processes of a test, each with the file of deploy/ that is
shipped for it. Changed is only what must differ where others have the ports 80 and 443 and no
authority knows the site: ports, certificates, and what the file asks its owner to fill in."""

import os
import re
import socket
import ssl
import subprocess
import tempfile

from daemon_client import WAIT_S, wait_until
from free_port import free_port
from node_process import NodeProcess

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy")
SITE = "news.example.org"
PERSON, PASSWORD = "alice", "under the pier"


def shipped(name):
    with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
        return file.read()


def serve_settings(name, tokens):
    """What the file's comment says of tidemark.yaml."""
    words = re.sub(r"\n# ", " ", shipped(name))
    told = re.search(r"In tidemark\.yaml: `(serve: \{.*?\})`", words).group(1)
    assert told.count("...") == 1, told
    return told.replace("...", tokens) + "\n"


def adapt(text, changes):
    """Every change is one that the file has room for."""
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def say(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout.strip()


def write(path, text):
    with open(path, "w", encoding="utf-8",
              opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)


class Front(NodeProcess):
    """Listens on `port` for SITE, with a certificate that `tls` trusts; `plain_port` is the one
    without TLS. Passes on to the daemon on `upstream`, and shows `token` for people."""
    name = file = authority = None

    def __init__(self, upstream, token):
        self.port, self.plain_port = free_port(), free_port()
        self.upstream, self.token = f"127.0.0.1:{upstream}", token
        folder = tempfile.mkdtemp(prefix=f"tidemark-{self.name}-")
        command = self.prepare(folder)
        super().__init__(self.name, command, f"https://{SITE}", folder=folder)
        self.certificate = os.path.join(folder, self.authority)
        try:
            wait_until(self.answers, self.name)
        except BaseException:
            self.__exit__()
            raise
        self.tls = ssl.create_default_context(cafile=self.certificate)

    def prepare(self, folder):
        """Writes what the program reads; the command."""
        raise NotImplementedError

    def answers(self):
        """Whether it listens with a certificate for the site that can be checked."""
        assert self.process.poll() is None, f"{self.name} ended:\n{self.words()}"
        try:
            trust = ssl.create_default_context(cafile=self.certificate)
            with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as dialled, \
                    trust.wrap_socket(dialled, server_hostname=SITE):
                return True
        except OSError:  # among them: no such file, a handshake that failed
            return False


class Nginx(Front):
    name, file, authority = "nginx", "nginx.conf", "certificate.pem"

    def prepare(self, folder):
        names = ("certificate.pem", "key.pem", "users")
        keys = {name: os.path.join(folder, name) for name in names}
        say("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", f"/CN={SITE}", "-addext", f"subjectAltName=DNS:{SITE}",
            "-keyout", keys["key.pem"], "-out", keys["certificate.pem"])
        write(keys["users"], f"{PERSON}:{say('openssl', 'passwd', '-6', PASSWORD)}\n")
        changes = {
            "listen 80;": f"listen 127.0.0.1:{self.plain_port};", "listen [::]:80;": "",
            "listen 443 ssl": f"listen 127.0.0.1:{self.port} ssl", "listen [::]:443 ssl http2;": "",
            "server 127.0.0.1:8080;": f"server {self.upstream};",
            f"/etc/ssl/{SITE}/fullchain.pem": keys["certificate.pem"],
            f"/etc/ssl/{SITE}/privkey.pem": keys["key.pem"],
            "/etc/nginx/tidemark.users": keys["users"], "tmk_0000": self.token,
        }
        write(os.path.join(folder, "site.conf"), adapt(shipped(self.file), changes))
        # What Debian's own nginx.conf has around a site, in this folder and as one process.
        temporary = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        write(os.path.join(folder, "nginx.conf"),
              f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\n"
              f"events {{}}\nhttp {{\n{temporary}    access_log {folder}/access;\n    gzip on;\n"
              f"    include {folder}/site.conf;\n}}\n")
        return ["nginx", "-p", folder, "-e", "stderr", "-c", os.path.join(folder, "nginx.conf")]


class Caddy(Front):
    name, file = "caddy", "Caddyfile"
    authority = "data/pki/authorities/local/root.crt"

    def prepare(self, folder):
        hashed = say("caddy", "hash-password", "--plaintext", PASSWORD)
        changes = {
            "127.0.0.1:8080": self.upstream, "$2a$14$0000": hashed, "tmk_0000": self.token,
        }
        write(os.path.join(folder, "Caddyfile"),
              f"{{\n\tadmin off\n\thttp_port {self.plain_port}\n\thttps_port {self.port}\n"
              f"\tdefault_bind 127.0.0.1\n\tlocal_certs\n\tskip_install_trust\n"
              f"\tstorage file_system {folder}/data\n}}\n\n" + adapt(shipped(self.file), changes))
        home = [f"{name}={folder}" for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")]
        return ["env", *home, "caddy", "run", "--adapter", "caddyfile", "--config",
                os.path.join(folder, "Caddyfile")]
