-- SPDX-License-Identifier: Apache-2.0
-- Who shared which link, for people who look: by DID, where the table has an interned number. What
-- hangs on the table follows its name.
ALTER TABLE shares RENAME TO share;
CREATE VIEW shares AS
SELECT s.link_id AS link_id, a.did AS actor_did, s.last_us AS last_us, s.n_posts AS n_posts,
       s.actor AS actor, s.counted AS counted
FROM share s JOIN actors a ON a.id = s.actor;
