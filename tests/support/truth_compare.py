# SPDX-License-Identifier: Apache-2.0
"""The store against what is true: what a daemon has stored, what tidemark-sim says it should have,
and what differs, in a size people can read. On both stores, by the names people query by hand."""

import csv
import datetime
import io
import json
import os
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

from sim_client import lines  # noqa: E402

WIRES = {"v1": "/subscribe", "v2": "/xrpc/network.bsky.jetstream.subscribeEvents"}
COLLECTIONS = ("app.bsky.feed.post", "app.bsky.feed.repost")
SHOWN_MAX = 3
TRENDING_MAX = 100  # links of one answer
SHARERS_MAX = 20    # people named with each


def to_us(text):
    """ISO 8601 to microseconds, by other code than the product's."""
    if text is None:
        return None
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (since.days * 86400 + since.seconds) * 1000000 + since.microseconds


def begin_before_everything(home, sim):
    """An operator's cursor file: start at the first event."""
    with open(os.path.join(home.folder, "jetstream_cursor.txt"), "w", encoding="utf-8") as file:
        file.write(f"{sim.stats()['first_time_us'] - 1}\n")


def last_wanted_us(sim):
    """The time of the last event that a client of posts and reposts is sent."""
    end = sim.stats()["events"]
    step = 200
    for begin in range(max(0, end - step), -step, -step):
        for line in reversed(sim.events(max(0, begin), step)):
            event = json.loads(line)
            if event["kind"] != "commit" or event["commit"]["collection"] in COLLECTIONS:
                return event["time_us"]
    return None


def sql(home, question):
    """The rows of a question to the database itself, as lists of texts; NULL is ''."""
    if home.kind == "sqlite":
        store = sqlite3.connect(f"file:{home.url[7:]}?mode=ro", uri=True, timeout=60)
        try:
            return [["" if cell is None else str(cell) for cell in row]
                    for row in store.execute(question)]
        finally:
            store.close()
    answer = subprocess.run(["psql", "-qX", "--csv", "-t", "-v", "ON_ERROR_STOP=1", "-c", question,
                             home.url], check=True, text=True, capture_output=True).stdout
    return list(csv.reader(io.StringIO(answer, newline="")))


# ---- what is true ------------------------------------------------------------------------------

def truth(sim, what, scope=""):
    return [json.loads(line) for line in lines(sim.get(f"/_sim/truth?what={what}{scope}"))[1:]]


def truly_said(row):
    """What somebody wrote: text, languages, hashtags, and which part of it stands for what."""
    return (row.get("text"), row.get("langs"), row.get("tags"),
            tuple(map(tuple, row.get("facets", ()))))


def true_posts(sim, scope=""):
    return {row["uri"]: (row["rev"], row["kind"], truly_said(row), row["time_us"],
                         to_us(row["createdAt"])) for row in truth(sim, "posts", scope)}


def firm_and_fluid(rows, key, value):
    """What must be stored as it is, and the keys of what may be stored or not."""
    firm = {key(row): value(row) for row in rows if "fluid" not in row}
    return firm, {key(row) for row in rows if "fluid" in row}


def true_post_links(sim, scope=""):
    return firm_and_fluid(truth(sim, "post_links", scope), lambda row: (row["uri"], row["url"]),
                          lambda row: row["via"])


def true_shares(sim, scope=""):
    return firm_and_fluid(truth(sim, "shares", scope), lambda row: (row["url"], row["did"]),
                          lambda row: (row["n_posts"], row["last_us"]))


def true_links(sim, scope=""):
    return firm_and_fluid(truth(sim, "links", scope), lambda row: row["url"], lambda row: True)


def true_trending(sim, hours, scope=""):
    """By link: how many people share it in the window at least, and at most."""
    since = int((time.time() - hours * 3600) * 1000000)
    return {row["url"]: (row["people"], row["people_max"])
            for row in truth(sim, "trending", f"&since_us={since}{scope}")}


def folded_trending(sim, scope="", name=lambda url: url, doubtful=lambda row: False):
    """The same for all times, where links go by another name or some posts may be missing."""
    news = {row["url"] for row in truth(sim, "links", scope) if row["news"]}
    sure, all_people = {}, {}
    for row in truth(sim, "post_links", scope):
        if row["url"] in news:
            url, did = name(row["url"]), row["uri"].split("/")[2]
            all_people.setdefault(url, set()).add(did)
            if "fluid" not in row and not doubtful(row):
                sure.setdefault(url, set()).add(did)
    return {url: (len(sure.get(url, ())), len(people)) for url, people in all_people.items()}


def true_follows(sim, actor=None):
    return {row["did"] for row in truth(sim, "follows", f"&actor={actor}" if actor else "")}


# ---- what is stored ----------------------------------------------------------------------------

def said(row):
    """The same as it is stored; links and tags are all that a simulated text is marked with."""
    facets = tuple((facet["index"]["byteStart"], facet["index"]["byteEnd"],
                    feature["$type"].split("#")[1], feature.get("uri", feature.get("tag")))
                   for facet in row["facets"] or () for feature in facet["features"])
    return row["text"], row["langs"], row["tags"], facets


def stored_posts(daemon):
    """The posts and reposts of active accounts; a row that comes twice is an error."""
    rows = daemon.walk("posts")
    assert len({row["uri"] for row in rows}) == len(rows), "a row came twice"
    return {row["uri"]: (row["rev"], row["kind"], said(row), to_us(row["sharedAt"]),
                         to_us(row["createdAt"])) for row in rows if row["active"]}


ACTIVE = "(SELECT did FROM actors WHERE active = 1)"


def stored_post_links(home):
    rows = sql(home, "SELECT p.uri, l.normalized_url, x.via FROM post_links x "
               "JOIN posts p ON p.id = x.post_id JOIN links l ON l.id = x.link_id "
               f"WHERE p.actor_did IN {ACTIVE}")
    found = {(uri, url): via for uri, url, via in rows}
    assert len(found) == len(rows), "a link of a post came twice"
    return found


def stored_shares(home):
    rows = sql(home, "SELECT l.normalized_url, a.did, s.n_posts, s.last_us FROM shares s "
               "JOIN links l ON l.id = s.link_id JOIN actors a ON a.id = s.actor "
               f"WHERE a.did IN {ACTIVE}")
    found = {(url, did): (int(posts), int(last)) for url, did, posts, last in rows}
    assert len(found) == len(rows), "a share came twice"
    return found


def stored_links(home):
    """Links that somebody active shares; one that nobody shares any more may stay for a while."""
    return {row[0]: True for row in sql(
        home, "SELECT DISTINCT l.normalized_url FROM links l "
        "JOIN post_links x ON x.link_id = l.id JOIN posts p ON p.id = x.post_id "
        f"WHERE p.actor_did IN {ACTIVE}")}


def shown_trending(daemon, hours):
    """What anybody is shown: [(link, people, how many are named)], best first."""
    status, answer = daemon.ask("GET", f"/api/trending?hours={hours}&limit={TRENDING_MAX}")
    assert status == 200, answer
    urls = dict(sql(daemon.home, "SELECT id, normalized_url FROM links"))
    return [(urls.get(link["id"], link["url"]), link["shares"],
             len({sharer["did"] for sharer in link["sharers"]})) for link in answer["links"]]


def stored_follows(home, owner):
    return {row[0] for row in sql(home, f"SELECT did FROM follow_edge WHERE owner = '{owner}'")}


# ---- what differs ------------------------------------------------------------------------------

def difference(stored, expected, fluid=frozenset()):
    """{} when they are equal but for what is fluid."""
    kinds = {
        "missing": [(key, expected[key]) for key in expected if key not in stored],
        "too many": [(key, stored[key]) for key in stored
                     if key not in expected and key not in fluid],
        "not equal": [(key, stored[key], expected[key]) for key in expected
                      if key in stored and stored[key] != expected[key] and key not in fluid]}
    return {kind: (len(found), found[:SHOWN_MAX]) for kind, found in kinds.items() if found}


def trending_difference(shown, expected):
    """{} when the ranking shows whom it should, in order, and leaves nobody out who belongs in."""
    urls = [url for url, _, _ in shown]
    least = shown[-1][1] if len(shown) == TRENDING_MAX else 0
    kinds = {
        "twice": [url for url in urls if urls.count(url) > 1],
        "missing": [(url, people) for url, people in expected.items()
                    if people[0] > least and url not in urls],
        "not equal": [(url, count, expected.get(url)) for url, count, _ in shown
                      if not 1 <= count or not
                      expected.get(url, (0, 0))[0] <= count <= expected.get(url, (0, 0))[1]],
        "badly named": [row for row in shown if row[2] != min(row[1], SHARERS_MAX)],
        "out of order": [(a, b) for a, b in zip(shown, shown[1:]) if a[1] < b[1]]}
    return {kind: (len(found), found[:SHOWN_MAX]) for kind, found in kinds.items() if found}


def differences(daemon, sim, what=("posts",), scope=""):
    """{} when the store of the running daemon holds exactly what is true. What there is to compare:
    posts, links, post_links, shares, and trending, which is what people are shown."""
    home, found = daemon.home, {}
    for name in what:
        if name == "posts":
            found[name] = difference(stored_posts(daemon), true_posts(sim, scope))
        elif name == "links":
            found[name] = difference(stored_links(home), *true_links(sim, scope))
        elif name == "post_links":
            found[name] = difference(stored_post_links(home), *true_post_links(sim, scope))
        elif name == "shares":
            found[name] = difference(stored_shares(home), *true_shares(sim, scope))
        elif name == "trending":
            found[name] = trending_difference(shown_trending(daemon, 24),
                                              true_trending(sim, 24, scope))
        else:
            raise ValueError(name)
    return {name: each for name, each in found.items() if each}
