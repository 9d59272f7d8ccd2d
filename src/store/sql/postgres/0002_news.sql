-- SPDX-License-Identifier: Apache-2.0
-- The news pipeline. Actors are interned; `posts` is the readable view of `post`.
CREATE TABLE actors (
    id BIGINT PRIMARY KEY,
    did TEXT COLLATE "C" NOT NULL UNIQUE,
    active BIGINT NOT NULL DEFAULT 1,
    status TEXT COLLATE "C",
    status_us BIGINT,
    handle TEXT COLLATE "C",
    handle_us BIGINT
);

CREATE TABLE post (
    n BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    actor BIGINT NOT NULL REFERENCES actors (id),
    collection TEXT COLLATE "C" NOT NULL,
    rkey TEXT COLLATE "C" NOT NULL,
    kind BIGINT NOT NULL CHECK (kind IN (0, 1)),
    rev TEXT COLLATE "C",
    shared_us BIGINT NOT NULL,
    created_us BIGINT,
    body TEXT COLLATE "C",
    subject TEXT COLLATE "C",
    UNIQUE (actor, collection, rkey)
);
CREATE INDEX post_shared ON post (shared_us, n);
CREATE INDEX post_seq ON post (seq);

CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       timestamptz 'epoch' + p.created_us * interval '1 microsecond' AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq
FROM post p JOIN actors a ON a.id = p.actor;

CREATE FUNCTION posts_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM post WHERE n = OLD.id;
    RETURN OLD;
END $$;
CREATE TRIGGER posts_delete INSTEAD OF DELETE ON posts
FOR EACH ROW EXECUTE FUNCTION posts_delete();

CREATE TABLE links (
    id BIGINT PRIMARY KEY,
    normalized_url TEXT COLLATE "C" NOT NULL UNIQUE,
    original_url TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C",
    description TEXT COLLATE "C",
    image_url TEXT COLLATE "C",
    share_count_total BIGINT NOT NULL DEFAULT 0,
    first_shared_us BIGINT,
    last_shared_us BIGINT,
    seq BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE post_links (
    post_id BIGINT NOT NULL REFERENCES post (n) ON DELETE CASCADE,
    link_id BIGINT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    via TEXT COLLATE "C" NOT NULL DEFAULT 'post',
    PRIMARY KEY (post_id, link_id)
);
CREATE INDEX post_links_link ON post_links (link_id);

CREATE TABLE shares (
    link_id BIGINT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    actor BIGINT NOT NULL REFERENCES actors (id),
    last_us BIGINT NOT NULL,
    n_posts BIGINT NOT NULL,
    PRIMARY KEY (link_id, actor)
);

CREATE VIEW trending_links AS
SELECT l.id AS id, l.normalized_url AS normalized_url, l.original_url AS original_url,
       l.title AS title, l.description AS description, l.image_url AS image_url,
       count(DISTINCT p.actor) AS share_count, max(p.shared_us) AS last_shared_us
FROM links l JOIN post_links pl ON pl.link_id = l.id JOIN post p ON p.n = pl.post_id
GROUP BY l.id;

CREATE TABLE poll_state (
    user_handle TEXT COLLATE "C" PRIMARY KEY,
    last_cursor TEXT COLLATE "C",
    last_polled_at TIMESTAMP,
    posts_fetched_count INTEGER DEFAULT 0
);

CREATE TABLE follows (
    did TEXT COLLATE "C" PRIMARY KEY,
    handle TEXT COLLATE "C" NOT NULL,
    display_name TEXT COLLATE "C",
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
