-- SPDX-License-Identifier: Apache-2.0
-- The news pipeline. Actors are interned; `posts` is the readable view of `post`.
CREATE TABLE actors (
    id INTEGER PRIMARY KEY,
    did TEXT NOT NULL UNIQUE,
    active INTEGER NOT NULL DEFAULT 1,
    status TEXT,
    status_us INTEGER,
    handle TEXT,
    handle_us INTEGER,
    display_name TEXT,
    avatar TEXT,
    profile_us INTEGER,
    pusher INTEGER NOT NULL DEFAULT 0 -- 1: shared five links or more, all of one site
);
CREATE INDEX actors_handle ON actors (handle);
CREATE INDEX actors_pusher ON actors (id) WHERE pusher = 1;

CREATE TABLE post (
    n INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    actor INTEGER NOT NULL REFERENCES actors (id),
    collection TEXT NOT NULL,
    rkey TEXT NOT NULL,
    kind INTEGER NOT NULL CHECK (kind IN (0, 1, 2)), -- 2: only kept for its links
    rev TEXT,
    shared_us INTEGER NOT NULL,
    created_us INTEGER,
    body TEXT,
    subject TEXT,
    cid TEXT,
    asof_seq INTEGER, -- read from a feed when so many commits were stored; null: live
    lent INTEGER NOT NULL DEFAULT 1, -- whether those who repost or quote it share its links
    UNIQUE (actor, collection, rkey)
);
CREATE INDEX post_shared ON post (shared_us, n);
CREATE INDEX post_seq ON post (seq);
CREATE INDEX post_subject ON post (subject) WHERE subject IS NOT NULL;

CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.created_us / 1000000.0, 'unixepoch') AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq
FROM post p JOIN actors a ON a.id = p.actor WHERE p.kind < 2;

CREATE TABLE jetstream_state (
    id INTEGER PRIMARY KEY DEFAULT 1,
    cursor_time_us BIGINT NOT NULL,
    last_updated TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT single_row CHECK (id = 1)
);
