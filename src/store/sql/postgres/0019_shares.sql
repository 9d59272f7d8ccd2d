-- SPDX-License-Identifier: Apache-2.0
-- Who shared which link, for people who look: by DID, where the table has an interned number.
ALTER TABLE shares RENAME TO share;
CREATE VIEW shares AS
SELECT s.link_id AS link_id, a.did AS actor_did, s.last_us AS last_us, s.n_posts AS n_posts,
       s.actor AS actor, s.counted AS counted
FROM share s JOIN actors a ON a.id = s.actor;

-- Whoever deletes here forgets the post, not that its links were shared.
CREATE OR REPLACE FUNCTION posts_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE share SET old_posts = old_posts + 1, old_us = greatest(old_us, OLD.shared_us)
    WHERE (link_id, actor) IN (SELECT link_id, actor FROM post_links WHERE post_id = OLD.id);
    DELETE FROM post WHERE n = OLD.id;
    RETURN OLD;
END $$;
