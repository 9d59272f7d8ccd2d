# SPDX-License-Identifier: Apache-2.0
"""What a Tidemark store holds, read by its own database's means and over its public interface."""

import collections
import contextlib
import json
import sqlite3
import subprocess

from chronicle import Row, to_us


def rows(home, sql):
    """The answer of a SELECT as dictionaries."""
    if home.kind == "sqlite":
        store = sqlite3.connect(f"file:{home.url[7:]}?mode=ro", uri=True, timeout=60)
        store.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in store.execute(sql)]
        finally:
            store.close()
    answer = subprocess.run(
        ["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c",
         f"SELECT coalesce(json_agg(answer), '[]') FROM ({sql}) answer", home.url],
        check=True, text=True, capture_output=True).stdout
    return json.loads(answer)


def change(home, *statements):
    """Changes a store that no daemon has open."""
    if home.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(home.url[7:], timeout=60)) as store, store:
            for statement in statements:
                store.execute(statement)
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", home.url], check=True, text=True,
                       input=";\n".join(statements) + ";\n")


def posts(daemon):
    """uri -> Row of all posts that count, page by page through the interface."""
    found = daemon.walk("posts", page_size=7)
    uris = collections.Counter(row["uri"] for row in found)
    assert not uris or max(uris.values()) == 1, uris.most_common(1)
    subjects = {row["uri"]: row["subject"] for row in rows(
        daemon.home, "SELECT uri, subject FROM posts")}
    return {row["uri"]: Row(row["kind"], row["text"], created_us(row), subjects.get(row["uri"]))
            for row in found if row["active"]}


def created_us(row):
    """Of a repost nobody knows it who read it in a feed."""
    return to_us(row["createdAt"]) if row["kind"] == "post" else None


def post_links(home):
    found = rows(home, "SELECT p.uri AS uri, l.normalized_url AS url, pl.via AS via FROM post_links"
                 " pl JOIN posts p ON p.id = pl.post_id JOIN links l ON l.id = pl.link_id"
                 " WHERE p.active = 1")
    return {(row["uri"], row["url"], row["via"]) for row in found}


def shares(home):
    found = rows(home, "SELECT l.normalized_url AS url, a.did AS did, s.n_posts AS n FROM shares s"
                 " JOIN links l ON l.id = s.link_id JOIN actors a ON a.id = s.actor"
                 " WHERE a.active = 1")
    return {(row["url"], row["did"]): row["n"] for row in found}


def totals(home):
    found = rows(home, "SELECT normalized_url AS url, share_count_total AS n FROM links"
                 " WHERE share_count_total > 0")
    return {row["url"]: row["n"] for row in found}


def follows(home):
    """did -> (handle, display name)"""
    return {row["did"]: (row["handle"], row["display_name"]) for row in
            rows(home, "SELECT did, handle, display_name FROM follows")}
