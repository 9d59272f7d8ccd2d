-- SPDX-License-Identifier: Apache-2.0
-- The news pipeline. Actors are interned; `posts` is the readable view of `post`.
CREATE TABLE actors (
    id INTEGER PRIMARY KEY,
    did TEXT NOT NULL UNIQUE,
    active INTEGER NOT NULL DEFAULT 1,
    status TEXT,
    status_us INTEGER,
    handle TEXT,
    handle_us INTEGER
);

CREATE TABLE post (
    n INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    actor INTEGER NOT NULL REFERENCES actors (id),
    collection TEXT NOT NULL,
    rkey TEXT NOT NULL,
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    rev TEXT,
    shared_us INTEGER NOT NULL,
    created_us INTEGER,
    body TEXT,
    subject TEXT,
    UNIQUE (actor, collection, rkey)
);
CREATE INDEX post_shared ON post (shared_us, n);
CREATE INDEX post_seq ON post (seq);

CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.created_us / 1000000.0, 'unixepoch') AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq
FROM post p JOIN actors a ON a.id = p.actor;

CREATE TRIGGER posts_delete INSTEAD OF DELETE ON posts
BEGIN
    DELETE FROM post WHERE n = OLD.id;
END;

CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    normalized_url TEXT NOT NULL UNIQUE,
    original_url TEXT NOT NULL,
    title TEXT,
    description TEXT,
    image_url TEXT,
    share_count_total INTEGER NOT NULL DEFAULT 0,
    first_shared_us INTEGER,
    last_shared_us INTEGER,
    seq INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE post_links (
    post_id INTEGER NOT NULL REFERENCES post (n) ON DELETE CASCADE,
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    via TEXT NOT NULL DEFAULT 'post',
    PRIMARY KEY (post_id, link_id)
) WITHOUT ROWID;
CREATE INDEX post_links_link ON post_links (link_id);

CREATE TABLE shares (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    actor INTEGER NOT NULL REFERENCES actors (id),
    last_us INTEGER NOT NULL,
    n_posts INTEGER NOT NULL,
    PRIMARY KEY (link_id, actor)
) WITHOUT ROWID;

CREATE VIEW trending_links AS
SELECT l.id AS id, l.normalized_url AS normalized_url, l.original_url AS original_url,
       l.title AS title, l.description AS description, l.image_url AS image_url,
       count(DISTINCT p.actor) AS share_count, max(p.shared_us) AS last_shared_us
FROM links l JOIN post_links pl ON pl.link_id = l.id JOIN post p ON p.n = pl.post_id
GROUP BY l.id;

CREATE TABLE poll_state (
    user_handle TEXT PRIMARY KEY,
    last_cursor TEXT,
    last_polled_at TIMESTAMP,
    posts_fetched_count INTEGER DEFAULT 0
);

CREATE TABLE follows (
    did TEXT PRIMARY KEY,
    handle TEXT NOT NULL,
    display_name TEXT,
    added_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    last_seen_at TIMESTAMP,
    backfill_completed BOOLEAN DEFAULT FALSE
);
CREATE INDEX idx_follows_did ON follows (did);
CREATE INDEX idx_follows_handle ON follows (handle);

CREATE TABLE jetstream_state (
    id INTEGER PRIMARY KEY DEFAULT 1,
    cursor_time_us BIGINT NOT NULL,
    last_updated TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT single_row CHECK (id = 1)
);
