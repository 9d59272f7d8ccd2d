-- SPDX-License-Identifier: Apache-2.0
-- What is shared, and who shares it.
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
CREATE INDEX links_total ON links (share_count_total, id, last_shared_us, flags);
CREATE INDEX links_seq ON links (seq);
CREATE INDEX links_domain ON links (domain, id);
CREATE INDEX links_last ON links (last_shared_us, id);
CREATE INDEX links_below ON links (below_us);

-- Addresses that turned out to be another link's.
CREATE TABLE link_aliases (
    normalized_url TEXT PRIMARY KEY,
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX link_aliases_link ON link_aliases (link_id);
CREATE INDEX link_aliases_seq ON link_aliases (seq);

CREATE TABLE post_links (
    post_id INTEGER NOT NULL REFERENCES post (n) ON DELETE CASCADE,
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    via TEXT NOT NULL DEFAULT 'post',
    actor INTEGER, -- who shares the link by it; null: nobody, the post is only kept for its links
    PRIMARY KEY (post_id, link_id)
) WITHOUT ROWID;
CREATE INDEX post_links_link ON post_links (link_id, actor, post_id);

-- Who shared a link: n_posts = old_posts + stored posts, last_us the latest of both.
CREATE TABLE shares (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    actor INTEGER NOT NULL REFERENCES actors (id),
    last_us INTEGER NOT NULL,
    n_posts INTEGER NOT NULL,
    old_posts INTEGER NOT NULL DEFAULT 0, -- of them, posts no longer kept ...
    old_us INTEGER,                       -- ... and their latest
    counted INTEGER NOT NULL DEFAULT 0,   -- whether share_count_total has it
    PRIMARY KEY (link_id, actor)
) WITHOUT ROWID;
CREATE INDEX shares_window ON shares (link_id, last_us, actor, counted);
CREATE INDEX shares_actor ON shares (actor, counted, link_id);

-- Accounts whose standing changed and whose shares and posts have not all followed yet.
CREATE TABLE standing (
    actor INTEGER PRIMARY KEY REFERENCES actors (id)
) WITHOUT ROWID;

-- What one commit works on; empty between commits.
CREATE TABLE touched_posts (
    n INTEGER PRIMARY KEY,
    subject_n INTEGER,
    own INTEGER NOT NULL, -- 1: its own links are written anew
    keep_us INTEGER -- of an old post: when somebody last shared by it; null: nobody
) WITHOUT ROWID;
CREATE TABLE touched_shares (
    link_id INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    PRIMARY KEY (link_id, actor)
) WITHOUT ROWID;

CREATE VIEW trending_links AS
SELECT l.id AS id, l.normalized_url AS normalized_url, l.original_url AS original_url,
       l.title AS title, l.description AS description, l.image_url AS image_url,
       count(DISTINCT p.actor) AS share_count, max(p.shared_us) AS last_shared_us
FROM links l JOIN post_links pl ON pl.link_id = l.id JOIN post p ON p.n = pl.post_id
WHERE p.kind < 2
GROUP BY l.id;

-- Whoever deletes here forgets the post, not that its links were shared.
CREATE TRIGGER posts_delete INSTEAD OF DELETE ON posts
BEGIN
    UPDATE shares SET old_posts = old_posts + 1,
        old_us = max(coalesce(old_us, OLD.shared_us), OLD.shared_us)
    WHERE (link_id, actor) IN (SELECT link_id, actor FROM post_links WHERE post_id = OLD.id);
    DELETE FROM post WHERE n = OLD.id;
END;
