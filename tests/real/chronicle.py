# SPDX-License-Identifier: Apache-2.0
"""A chronicle: people act on the real network through it, and it remembers what they did. From that
alone, without looking at Tidemark or at any server, it says what a store has to hold."""

import collections
import datetime

from atproto_network import POST, REPOST

# created_us is None for a repost.
Row = collections.namedtuple("Row", "kind text created_us subject")


def to_us(text):
    """ISO 8601 to microseconds."""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (since.days * 86400 + since.seconds) * 1000000 + since.microseconds


def facets_of(text, addresses):
    """Links over the places where the words stand in the text, counted in bytes."""
    facets = []
    for words, address in addresses.items():
        start = len(text[:text.index(words)].encode())
        facets.append({"index": {"byteStart": start, "byteEnd": start + len(words.encode())},
                       "features": [{"$type": "app.bsky.richtext.facet#link", "uri": address}]})
    return facets


def embed_of(card, quote):
    """A card (address, title) or a quoted post, or the one beside the other."""
    external = card and {"$type": "app.bsky.embed.external",
                         "external": {"uri": card[0], "title": card[1], "description": ""}}
    record = quote and {"$type": "app.bsky.embed.record", "record": reference(quote)}
    if external and record:
        return {"$type": "app.bsky.embed.recordWithMedia", "record": record, "media": external}
    return external or record


def reference(made):
    return {"uri": made["uri"], "cid": made["cid"]}


class Chronicle:
    def __init__(self):
        self.records = {}  # uri -> record as it stands now
        self.links = {}    # uri -> addresses that the post itself carries
        self.revs = {}     # uri -> revision of the last write
        self.silent = set()  # DIDs whose posts do not count now

    # ---- what people do ----

    def post(self, who, text, facets=None, card=None, quote=None, **more):
        """Somebody posts; `facets` is {words: address}. Answers what the PDS made of it."""
        made = who.create(POST, self._content(text, facets, card, quote, more))
        self._note(made, facets, card)
        return made

    def edit(self, who, made, text, facets=None, card=None, quote=None):
        content = self._content(text, facets, card, quote, {})
        edited = who.put(made["uri"], {**content, "createdAt": made["record"]["createdAt"]})
        self._note(edited, facets, card)
        return edited

    def repost(self, who, subject):
        made = who.create(REPOST, {"subject": reference(subject)})
        self._note(made, None, None)
        return made

    def delete(self, who, made):
        who.delete(made["uri"])
        for book in (self.records, self.links, self.revs):
            del book[made["uri"]]

    def deactivate(self, who):
        who.deactivate()
        self.silent.add(who.did)

    def activate(self, who):
        who.activate()
        self.silent.discard(who.did)

    def take_down(self, who):
        who.take_down()
        self.silent.add(who.did)

    def restore(self, who):
        who.take_down(False)
        self.silent.discard(who.did)

    def remove(self, who):
        who.remove()
        self.silent.add(who.did)

    @staticmethod
    def _content(text, facets, card, quote, more):
        embed = embed_of(card, quote)
        return {"text": text, **({"facets": facets_of(text, facets)} if facets else {}),
                **({"embed": embed} if embed else {}), **more}

    def _note(self, made, facets, card):
        own = list((facets or {}).values()) + ([card[0]] if card else [])
        self.records[made["uri"]] = made["record"]
        self.links[made["uri"]] = list(dict.fromkeys(own))
        self.revs[made["uri"]] = made["rev"]

    # ---- what a store has to hold, when these people are followed ----

    def posts(self, people):
        """uri -> Row of every act of sharing that counts."""
        counted = {who.did for who in people} - self.silent
        return {uri: self._row(record) for uri, record in self.records.items()
                if did_of(uri) in counted}

    def post_links(self, people):
        """(uri, address, via) of every link of every post that counts."""
        found = set()
        for uri in self.posts(people):
            own = self.links[uri]
            found |= {(uri, address, "post") for address in own}
            subject, via = self._subject(self.records[uri])
            if subject in self.records and did_of(subject) not in self.silent:
                found |= {(uri, address, via) for address in self.links[subject]
                          if address not in own}
        return found

    def shares(self, people):
        """(address, did) -> number of that person's posts with it."""
        return dict(collections.Counter((address, did_of(uri))
                                        for uri, address, _ in self.post_links(people)))

    def totals(self, people):
        """address -> number of people who share it"""
        return dict(collections.Counter(address for address, _ in self.shares(people)))

    def _row(self, record):
        subject, _ = self._subject(record)
        if record["$type"] == REPOST:
            return Row("repost", None, None, subject)
        return Row("post", record["text"], to_us(record["createdAt"]), subject)

    @staticmethod
    def _subject(record):
        if record["$type"] == REPOST:
            return record["subject"]["uri"], "repost"
        embed = record.get("embed", {})
        quoted = embed.get("record", {})
        quoted = quoted.get("record", quoted)
        return quoted.get("uri"), "quote"


def did_of(uri):
    return uri.split("/")[2]


def difference(stored, truth):
    """What differs, in a size people can read; nothing differs: {}."""
    if not isinstance(truth, dict):
        stored, truth = dict.fromkeys(stored), dict.fromkeys(truth)
    found = {"missing": [(key, truth[key]) for key in truth if key not in stored][:3],
             "too many": [(key, stored[key]) for key in stored if key not in truth][:3],
             "not equal": [(key, stored[key], truth[key]) for key in truth
                           if key in stored and stored[key] != truth[key]][:3]}
    return {name: rows for name, rows in found.items() if rows}
