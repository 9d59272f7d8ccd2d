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
    profile_us INTEGER
);

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
    seq INTEGER NOT NULL DEFAULT 0,
    domain TEXT,
    reader_url TEXT, -- a gift: the same article, unlocked
    flags INTEGER NOT NULL DEFAULT 0,
    card_us INTEGER, -- when a card was had, or given up
    below_us INTEGER -- since when it has been too little shared to be kept
);
CREATE INDEX links_total ON links (share_count_total, id);
CREATE INDEX links_seq ON links (seq);
CREATE INDEX links_domain ON links (domain, id);

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

CREATE INDEX shares_window ON shares (link_id, last_us, actor);
CREATE INDEX shares_actor ON shares (actor);

CREATE VIEW trending_links AS
SELECT l.id AS id, l.normalized_url AS normalized_url, l.original_url AS original_url,
       l.title AS title, l.description AS description, l.image_url AS image_url,
       count(DISTINCT p.actor) AS share_count, max(p.shared_us) AS last_shared_us
FROM links l JOIN post_links pl ON pl.link_id = l.id JOIN post p ON p.n = pl.post_id
GROUP BY l.id;

CREATE TABLE jetstream_state (
    id INTEGER PRIMARY KEY DEFAULT 1,
    cursor_time_us BIGINT NOT NULL,
    last_updated TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT single_row CHECK (id = 1)
);
