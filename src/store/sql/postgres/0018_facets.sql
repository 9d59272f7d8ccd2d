-- SPDX-License-Identifier: Apache-2.0
-- What a post says about its own text: its languages and hashtags, separated by commas, and its rich
-- text as JSON. NULL: it says nothing, or was stored before this was kept.
ALTER TABLE post ADD COLUMN langs TEXT COLLATE "C";
ALTER TABLE post ADD COLUMN tags TEXT COLLATE "C";
ALTER TABLE post ADD COLUMN facets TEXT COLLATE "C";

CREATE OR REPLACE VIEW posts AS
SELECT p.n AS id, a.did AS actor_did, p.collection AS collection, p.rkey AS rkey,
       'at://' || a.did || '/' || p.collection || '/' || p.rkey AS uri,
       CASE p.kind WHEN 0 THEN 'post' ELSE 'repost' END AS kind, p.body AS text,
       timestamptz 'epoch' + p.created_us * interval '1 microsecond' AS created_at,
       p.shared_us AS shared_us, p.rev AS rev, p.subject AS subject, a.handle AS handle,
       a.active AS active, p.n AS n, p.seq AS seq, p.langs AS langs, p.tags AS tags,
       p.facets AS facets
FROM post p JOIN actors a ON a.id = p.actor WHERE p.kind < 2;
