-- SPDX-License-Identifier: Apache-2.0
-- Up to which commit the deletes of a collection may have left no trace: who followed it only up to
-- an earlier one has to read it anew. What was deleted before this table was there left none.
CREATE TABLE tail_floors (
    collection TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tail_floors (collection, seq)
SELECT c.collection, e.commit_seq
FROM engine e CROSS JOIN (SELECT 'posts.n' AS collection UNION ALL SELECT 'links') c;
