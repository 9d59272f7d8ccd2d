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
    profile_us BIGINT
);

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
    UNIQUE (actor, collection, rkey)
);
CREATE INDEX post_shared ON post (shared_us, n);
CREATE INDEX post_seq ON post (seq);
CREATE INDEX post_subject ON post (subject) WHERE subject IS NOT NULL;

CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       timestamptz 'epoch' + p.created_us * interval '1 microsecond' AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq
FROM post p JOIN actors a ON a.id = p.actor WHERE p.kind < 2;

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
    seq BIGINT NOT NULL DEFAULT 0,
    domain TEXT COLLATE "C",
    reader_url TEXT COLLATE "C", -- a gift: the same article, unlocked
    flags BIGINT NOT NULL DEFAULT 0,
    card_us BIGINT, -- when a card was had, or given up
    below_us BIGINT -- since when it has been too little shared to be kept
);
CREATE INDEX links_total ON links (share_count_total, id);
CREATE INDEX links_seq ON links (seq);
CREATE INDEX links_domain ON links (domain, id);

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
