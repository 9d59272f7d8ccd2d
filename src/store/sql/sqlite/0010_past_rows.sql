-- SPDX-License-Identifier: Apache-2.0
-- What a document of a declared collection was like before a commit changed or deleted it: who
-- follows a query is told that it left only if it was in the result. `item` has the declared fields.
-- Of what was changed before this table was there nothing is known.
CREATE TABLE past_rows (
    collection TEXT NOT NULL,
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (collection, seq, key)
) WITHOUT ROWID;
CREATE INDEX past_rows_age ON past_rows (at_us);
INSERT INTO tail_floors (collection, seq)
SELECT DISTINCT d.collection, e.commit_seq FROM declared_fields d CROSS JOIN engine e WHERE true
ON CONFLICT (collection) DO UPDATE SET seq = excluded.seq;
