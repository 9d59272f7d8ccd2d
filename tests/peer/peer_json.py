# SPDX-License-Identifier: Apache-2.0
"""JSON as our reader, Python's and jansson read it: made-up documents, most of them damaged. All
take or all refuse a document, and what was taken is the same, member by member, down to equal
names.

  peer_json.py PEER_READER [SEED]

Known to divide them, and looked for by name: numbers and depths beyond our bounds; what jansson
refuses (lone surrogates, numbers beyond 64 bits with a sign, a mark of the byte order), that a byte
0 ends a document for it, and that of equal names it keeps the last. TIDEMARK_SEED names the first
seed."""

import json
import math
import os
import random
import re
import subprocess
import sys

from jansson import Jansson

COUNT = 200000 if "TIDEMARK_LONG" in os.environ else 20000
DEPTH_MAX = 64
WORDS = ['"a"', '"\\u0041\\n"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\u0000x"', '"é"', '""', "0",
         "-0", "1", "-12", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
         "-9223372036854775809", "1.5", "1e3", "1E-400", "5e-324", "0.1e+1",
         "1.7976931348623157e308", "1e999", "123456789.123456789", "true", "false", "null"]
PIECES = ['"', "\\", "{", "}", "[", "]", ",", ":", " ", "\t", "\n", "\r", "\x00", "\x0b", "\x1f",
          "01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity", "tru", "\\u12", "\\x", "'a'", "//",
          "\ufeff", "\u2028", "\\ud800\\u0041", "\\/"]
BYTES = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]


class Pairs(list):
    """An object: its members in their order, equal names too."""


def make(chance, depth):
    kind = chance.random()
    if depth == 0 or kind < 0.5:
        return chance.choice(WORDS)
    inner = [make(chance, depth - 1) for _ in range(chance.randrange(4))]
    blank = chance.choice(["", "", " ", "\n\t"])
    if kind < 0.75:
        return "[" + ("," + blank).join(inner) + blank + "]"
    names = ['"a"', '"b"', '"\\u0061"', '"\\ud800"', '""']
    return "{" + ",".join(f"{chance.choice(names)}{blank}:{item}" for item in inner) + "}"


def damage(chance, document):
    at = chance.randrange(len(document) + 1)
    kind = chance.randrange(6)
    if kind == 0:
        return document[:at]
    if kind == 1:
        return document[:at] + document[at + 1:]
    if kind == 2:
        return document[:at] + chance.choice(BYTES) + document[at:]
    if kind == 3:
        return document[:at] + bytes([chance.randrange(256)]) + document[at + 1:]
    return document[:at] + chance.choice(PIECES).encode("utf-8") + document[at:]


def documents(seed):
    for number in range(COUNT):
        chance = random.Random(seed * 1000003 + number)
        document = make(chance, chance.randrange(5)).encode("utf-8", "surrogatepass")
        for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
            document = damage(chance, document)
        if number % 500 == 0:
            deep = chance.randrange(DEPTH_MAX - 3, DEPTH_MAX + 3)
            document = b"[" * deep + b"]" * deep
        yield document


def canonical(value):
    """As we store it: no U+0000, no lone surrogate."""
    if isinstance(value, str):
        return re.sub("[\x00\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, Pairs):
        return Pairs((canonical(name), canonical(item)) for name, item in value)
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        return {canonical(name): canonical(item) for name, item in value.items()}
    return value


def depth_of(value):
    if isinstance(value, Pairs):
        return 1 + max((depth_of(item) for _, item in value), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 1


def out_of_bounds(value):
    if isinstance(value, Pairs):
        return any(out_of_bounds(item) for _, item in value)
    if isinstance(value, list):
        return any(out_of_bounds(item) for item in value)
    if isinstance(value, float):
        return math.isinf(value)
    return type(value) is int and not -2**63 <= value < 2**64


def refuse(word):
    raise ValueError(word)


def python_reads(document):
    """(value,) or None."""
    try:
        text = document.decode("utf-8").removeprefix("\ufeff")
        return (json.loads(text, object_pairs_hook=Pairs, parse_constant=refuse),)
    except ValueError:
        return None


def same(ours, theirs):
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, Pairs):
        return (len(ours) == len(theirs)
                and all(a[0] == b[0] and same(a[1], b[1]) for a, b in zip(ours, theirs)))
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(same(a, b) for a, b in zip(ours, theirs))
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[n], theirs[n]) for n in ours)
    return ours == theirs


def judge(document, answer):
    """What is wrong, or None."""
    theirs = python_reads(document)
    if theirs is None:
        return "only we take it" if answer.startswith("+") else None
    beyond = depth_of(theirs[0]) > DEPTH_MAX or out_of_bounds(theirs[0])
    if answer.startswith("-"):
        return None if beyond else f"only we refuse it: {answer}"
    if beyond:
        return "it is beyond our bounds, and taken"
    ours = python_reads(answer[1:].encode("utf-8"))
    if ours is None or not same(ours[0], canonical(theirs[0])):
        return f"read as {answer}"
    return None


def last_of_equals(value):
    if isinstance(value, Pairs):
        return {name: last_of_equals(item) for name, item in value}
    if isinstance(value, list):
        return [last_of_equals(item) for item in value]
    return value


def beyond_jansson(value):
    """What it refuses, or may: there is no more to it than what is named above."""
    if isinstance(value, Pairs):
        return any(beyond_jansson(part) for pair in value for part in pair)
    if isinstance(value, list):
        return any(beyond_jansson(item) for item in value)
    if isinstance(value, str):
        return re.search("[\ud800-\udfff]", value) is not None
    return type(value) is int and not -2**63 <= value < 2**63


def judge_with(jansson, document, answer):
    """What is wrong, or None; Python has agreed."""
    theirs = jansson.reads(document)
    if answer.startswith("-"):
        taken = python_reads(document)
        beyond = taken is not None and (depth_of(taken[0]) > DEPTH_MAX or out_of_bounds(taken[0]))
        known = theirs is None or beyond or b"\0" in document
        return None if known else "only jansson takes it"
    if theirs is None:
        known = document.startswith(b"\xef\xbb\xbf") or beyond_jansson(python_reads(document)[0])
        return None if known else "only jansson refuses it"
    ours = last_of_equals(python_reads(answer[1:].encode("utf-8"))[0])
    return None if same(ours, canonical(theirs[0])) else f"jansson reads {theirs[0]!r}"


def main():
    seed = int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("TIDEMARK_SEED", 8))
    inputs = list(documents(seed))
    told = "".join(document.hex() + "\n" for document in inputs)
    answers = subprocess.run([sys.argv[1], "json"], input=told.encode(), capture_output=True,
                             check=True).stdout.decode("utf-8").split("\n")[:-1]
    assert len(answers) == len(inputs), f"{len(answers)} answers to {len(inputs)} documents"
    taken = sum(answer.startswith("+") for answer in answers)
    jansson = Jansson()
    wrong = 0
    for document, answer in zip(inputs, answers):
        fault = judge(document, answer) or judge_with(jansson, document, answer)
        if fault is not None:
            wrong += 1
            print(f"FAILED seed {seed}: {document!r}: {fault}")
    print(f"peer_json: {len(inputs)} documents from seed {seed}, {taken} taken, {wrong} differ")
    # One that takes all or none compares nothing.
    sys.exit(1 if wrong or not len(inputs) / 10 < taken < len(inputs) * 9 / 10 else 0)


if __name__ == "__main__":
    main()
