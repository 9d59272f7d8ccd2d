-- SPDX-License-Identifier: Apache-2.0
-- Account histories as they are written and paged through. A session is meant by its account and
-- the time it began; what it brought is counted per stream.
CREATE UNIQUE INDEX import_sessions_start ON import_sessions (account_id, started_us);

CREATE TABLE session_streams (
    session_id INTEGER NOT NULL REFERENCES import_sessions (id) ON DELETE CASCADE,
    stream TEXT NOT NULL,
    provider TEXT,
    complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
    imported INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, stream)
) WITHOUT ROWID;

-- What each stream of a session brought, as one JSON list.
CREATE VIEW sessions_shown AS
SELECT s.id AS id, (SELECT json_group_array(json_object('stream', x.stream, 'provider', x.provider,
        'imported', x.imported, 'skipped', x.skipped,
        'complete', json(CASE x.complete WHEN 1 THEN 'true' ELSE 'false' END)))
        FROM session_streams x WHERE x.session_id = s.id) AS streams
FROM import_sessions s;

CREATE INDEX raw_transactions_place ON raw_transactions (account_id, stream, block);
CREATE INDEX raw_transactions_time ON raw_transactions (timestamp_us, n);
CREATE INDEX raw_transactions_seq ON raw_transactions (seq);
CREATE INDEX account_seq ON account (seq);
CREATE INDEX import_sessions_seq ON import_sessions (seq);

-- Nothing leaves these: who follows them may begin at any commit.
INSERT INTO tail_floors (collection, seq)
VALUES ('transactions', 0), ('accounts', 0), ('import_sessions', 0);
