-- SPDX-License-Identifier: Apache-2.0
-- What a post says about its own text: its languages and hashtags, separated by commas, and its rich
-- text as JSON. NULL: it says nothing, or was stored before this was kept.
ALTER TABLE post ADD COLUMN langs TEXT;
ALTER TABLE post ADD COLUMN tags TEXT;
ALTER TABLE post ADD COLUMN facets TEXT;

-- The view and what hangs on it, with three columns more.
DROP VIEW posts;
CREATE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.created_us / 1000000.0, 'unixepoch') AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq, p.langs AS langs, p.tags AS tags,
       p.facets AS facets
FROM post p JOIN actors a ON a.id = p.actor WHERE p.kind < 2;
CREATE TRIGGER posts_delete INSTEAD OF DELETE ON posts
BEGIN
    UPDATE shares SET old_posts = old_posts + 1,
        old_us = max(coalesce(old_us, OLD.shared_us), OLD.shared_us)
    WHERE (link_id, actor) IN (SELECT link_id, actor FROM post_links WHERE post_id = OLD.id);
    DELETE FROM post WHERE n = OLD.id;
END;
