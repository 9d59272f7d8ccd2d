# SPDX-License-Identifier: Apache-2.0
"""What the program says of its commands is what the man page and the shell's completion say.

  command_pages.py TIDEMARK"""

import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EVERYWHERE = {"--help", "--set", "--config"}
WITHOUT_SETTINGS = {"token", "version", "help"}


def read_file(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


class CommandPages(unittest.TestCase):
    program = None
    pages = {}  # what was asked once

    def run_program(self, *words):
        return subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60, check=False)

    def helped(self):
        """{command: its help}"""
        if self.pages:
            return self.pages
        listed = self.run_program("--help")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        commands = re.findall(r"(?m)^  ([a-z-]+) +\S", listed.stdout)
        self.assertGreater(len(commands), 20)
        pages = {}
        for command in commands:
            said = self.run_program(command, "--help")
            self.assertEqual((said.returncode, said.stderr), (0, ""), command)
            self.assertTrue(said.stdout.startswith(f"usage: tidemark {command}"), said.stdout)
            self.assertEqual(said.stdout, self.run_program("help", command).stdout)
            self.assertEqual(said.stdout, self.run_program(command, "-h").stdout)
            pages[command] = said.stdout
        self.pages.update(pages)
        return pages

    @staticmethod
    def options(words):
        return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", words)) - EVERYWHERE

    def completed(self, *words):
        """What the completion offers after these words."""
        ask = ('. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark; '
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", ask, os.path.join(ROOT, "deploy", "completion.bash"),
                               "tidemark", *words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_the_completion_offers_every_command_and_option(self):
        pages = self.helped()
        offered = self.completed("")
        self.assertEqual({word for word in offered if word[0] != "-"}, {*pages, "help"})
        self.assertEqual(self.completed("help", ""), {*pages, "help"})
        for command, page in pages.items():
            offered = self.completed(command, "-")
            self.assertEqual({word for word in offered if word[:2] == "--"} - EVERYWHERE,
                             self.options(page), command)
            takes = command not in WITHOUT_SETTINGS
            self.assertEqual({"-c", "--set"} <= offered, takes, command)
            self.assertIn("--help", offered, command)

    def test_files_are_completed_through_their_folders(self):
        chat = os.path.join(ROOT, "examples", "chat")
        for words in (("run", "-c"), ("status", "--config"), ("compare",), ("connector", "check"),
                      ("connector", "try")):
            self.assertEqual(self.completed(*words, os.path.join(ROOT, "examples", "ch")), {chat})
            self.assertEqual(self.completed(*words, os.path.join(chat, "")),
                             {os.path.join(chat, "collections.yaml")})

    def test_other_shells_complete_the_same(self):
        """Their files are lists, so they can be compared without the shells."""
        pages = self.helped()
        abouts = dict(re.findall(r"(?m)^  ([a-z-]+) +(.+)$", self.run_program("--help").stdout))
        zsh, fish = read_file("deploy", "completion.zsh"), read_file("deploy", "completion.fish")
        listed = dict(re.findall(r"(?m)^        '([a-z-]+):(.+)'$", zsh))
        self.assertEqual({name: words for name, words in listed.items() if name != "help"}, abouts)
        listed = dict(re.findall(r"-n \$any -a ([a-z-]+) -d '(.+)'", fish))
        self.assertEqual({name: words for name, words in listed.items() if name != "help"}, abouts)
        in_zsh = {name: set(options.split())
                  for names, options in
                  re.findall(r"(?m)^    ([a-z| -]+)\) options=\((.+)\) ;;", zsh)
                  for name in names.split(" | ")}
        for command, page in pages.items():
            options = self.options(page)
            self.assertEqual(in_zsh.get(command, set()), options, command)
            in_fish = re.findall(rf'-n "\$in {command}" -l ([a-z-]+)', fish)
            self.assertEqual({"--" + name for name in in_fish}, options, command)

    def test_the_man_page_knows_every_command_and_option(self):
        pages = self.helped()
        page = read_file("docs", "tidemark.1")
        synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
        written = {}
        for part in synopsis.split("\n.Nm\n")[1:]:
            names, *rest = part.split("\n")
            options = {"-" + word for word in re.findall(r"\bFl (-[a-z-]+)", " ".join(rest))}
            for name in names.removeprefix(".Cm ").split(" | "):
                self.assertNotIn(name, written)
                written[name] = options
        self.assertEqual(set(written), {*pages, "help"})
        for command, words in pages.items():
            self.assertEqual(written[command], self.options(words), command)
        told = re.findall(r"(?m)^\.It Cm ([a-z-]+)", page)
        self.assertEqual(set(told), set(written))
        self.assertEqual(len(set(told) - {"connector"}), len([x for x in told if x != "connector"]))

    def test_an_option_that_is_told_is_understood(self):
        for command, page in self.helped().items():
            for option in self.options(page):
                # The last word sees to it that nothing is done.
                said = self.run_program(command, option, "value", "--no-such-option")
                self.assertEqual(said.returncode, 2, (command, option))
                self.assertNotIn(f"option '{option}'", said.stderr, (command, option))
            unknown = self.run_program(command, "--no-such-option")
            self.assertEqual((unknown.returncode, unknown.stdout), (2, ""), command)
            self.assertIn("usage: tidemark", unknown.stderr)

    def test_help_is_a_command_like_others(self):
        listed = self.run_program("help")
        for words in (("help", "--help"), ("help", "-h"), ("help", "help")):
            said = self.run_program(*words)
            self.assertEqual((said.returncode, said.stdout, said.stderr), (0, listed.stdout, ""))

    def test_wrong_words_are_named(self):
        for words, said in ((("statsu",), 'there is no command "statsu" (did you mean status?)'),
                            (("xyzzy",), "usage: tidemark COMMAND"),
                            (("help", "statsu"), 'there is no command "statsu"'),
                            (("help", "status", "more"), "usage: tidemark COMMAND"),
                            (("-c", "x.yaml", "status"), '"-c" comes after the command'),
                            (("status", "now"), '"now" is one word too many'),
                            (("backup",), "a word is missing"),
                            (("reset", "a", "b", "c"), '"c" is one word too many'),
                            (("token", "a", "all"), '"all" is no list of scopes'),
                            (("token", "a b", "read"), '"a b" is no name for a token'),
                            (("import", "--since", "soon", "kraken"), "--since takes a date"),
                            (("owed", "retry", "x"), "retry takes the ID that `tidemark owed`"),
                            (("quarantine", "drop", "-"), "drop takes the ID that"),
                            (("digest", "--hours", "0"), "--hours takes 1 to 8760"),
                            (("digest", "--limit", "x"), "--limit takes 1 to 100"),
                            (("digest", "--min-shares", "-1"), "--min-shares takes 1 to 1000000"),
                            (("digest", "--format", "pdf"), "takes text, markdown or html"),
                            ((), "usage: tidemark COMMAND")):
            done = self.run_program(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    CommandPages.program = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
