-- SPDX-License-Identifier: Apache-2.0
-- The news pipeline. Actors are interned; `posts` is the readable view of `post`.
CREATE TABLE actors (
    id BIGINT PRIMARY KEY,
    did TEXT COLLATE "C" NOT NULL UNIQUE,
    active BIGINT NOT NULL DEFAULT 1,
    status TEXT COLLATE "C",
    status_us BIGINT,
    handle TEXT COLLATE "C",
    handle_us BIGINT,
    display_name TEXT COLLATE "C",
    avatar TEXT COLLATE "C",
    profile_us BIGINT,
    pusher BIGINT NOT NULL DEFAULT 0 -- 1: shared five links or more, all of one site
);
CREATE INDEX actors_handle ON actors (handle);
CREATE INDEX actors_pusher ON actors (id) WHERE pusher = 1;

CREATE TABLE post (
    n BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    actor BIGINT NOT NULL REFERENCES actors (id),
    collection TEXT COLLATE "C" NOT NULL,
    rkey TEXT COLLATE "C" NOT NULL,
    kind BIGINT NOT NULL CHECK (kind IN (0, 1, 2)), -- 2: only kept for its links
    rev TEXT COLLATE "C",
    shared_us BIGINT NOT NULL,
    created_us BIGINT,
    body TEXT COLLATE "C",
    subject TEXT COLLATE "C",
    cid TEXT COLLATE "C",
    asof_seq BIGINT, -- read from a feed when so many commits were stored; null: live
    lent BIGINT NOT NULL DEFAULT 1, -- whether those who repost or quote it share its links
    UNIQUE (actor, collection, rkey)
);
CREATE INDEX post_shared ON post (shared_us, n);
CREATE INDEX post_seq ON post (seq, n);
CREATE INDEX post_subject ON post (subject) WHERE subject IS NOT NULL;

CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       timestamptz 'epoch' + p.created_us * interval '1 microsecond' AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq
FROM post p JOIN actors a ON a.id = p.actor WHERE p.kind < 2;

CREATE TABLE jetstream_state (
    id INTEGER PRIMARY KEY DEFAULT 1,
    cursor_time_us BIGINT NOT NULL,
    last_updated TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT single_row CHECK (id = 1)
);
