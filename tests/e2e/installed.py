# SPDX-License-Identifier: Apache-2.0
"""What `make install` leaves behind works, and what is missing to build is named.

Needs build/tidemark, so it is a step of .ci/run and no test of a variant: installed.py"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PREFIX = "/opt/tidemark"


def run(*words, **more):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, **more)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="tidemark-installed-")
        done = run("make", "install", f"DESTDIR={cls.home}", f"PREFIX={PREFIX}")
        assert done.returncode == 0, done.stdout + done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home)

    def path(self, *parts):
        return os.path.join(self.home, PREFIX.lstrip("/"), *parts)

    def test_the_program_runs_from_where_it_was_put(self):
        done = subprocess.run([self.path("bin", "tidemark"), "version"], capture_output=True,
                              text=True, check=False, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("tidemark "), done.stdout)

    def test_every_connector_is_there_and_good(self):
        folder = self.path("share", "tidemark", "connectors")
        files = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        shipped = [name for _, _, names in os.walk(os.path.join(ROOT, "connectors"))
                   for name in names]
        self.assertEqual(sorted(map(os.path.basename, files)), sorted(shipped))
        done = subprocess.run([self.path("bin", "tidemark"), "connector", "check", *files],
                              capture_output=True, text=True, check=False, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_man_page_can_be_read(self):
        page = self.path("share", "man", "man1", "tidemark.1")
        done = subprocess.run(["mandoc", "-T", "utf8", "-W", "warning", page], text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tidemark", done.stdout)

    def test_the_service_starts_what_was_installed(self):
        with open(self.path("lib", "systemd", "system", "tidemark.service"),
                  encoding="utf-8") as unit:
            words = unit.read()
        self.assertIn(f"ExecStart={PREFIX}/bin/tidemark run", words)
        self.assertNotIn("@PREFIX@", words)

    def test_the_shell_completes_commands(self):
        script = self.path("share", "bash-completion", "completions", "tidemark")
        ask = (f". {script}; COMP_WORDS=(tidemark ver); COMP_CWORD=1; _tidemark; "
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=False)
        self.assertEqual(sorted(done.stdout.split()), ["verify", "version"], done.stderr)

    def test_a_missing_package_is_named_with_what_installs_it(self):
        build = os.path.join(self.home, "build")
        done = run("meson", "setup", build, env={**os.environ, "PKG_CONFIG_LIBDIR": "/nowhere"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("apt-get install libuv1-dev", done.stdout)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    wrong = len(result.failures) + len(result.errors)
    print(f"tests={result.testsRun} failed={wrong}")
    sys.exit(1 if wrong else 0)
